"""The commands of recurring work: see `rota.cli.commands`."""

from rota.cli.command import Command

SCHEDULES = {
    "schedules list": Command(
        "rota.cli.schedules:list_",
        "rota schedules list [OPTIONS]",
        "List schedules by name: when each runs next, and what it has done.",
    ),
    "schedules show": Command(
        "rota.cli.schedules:show",
        "rota schedules show NAME [OPTIONS]",
        "Show a schedule: its rule, its policies, the next runs, the last slots.",
    ),
    "schedules slots": Command(
        "rota.cli.schedules:slots",
        "rota schedules slots NAME [OPTIONS]",
        "List what became of a schedule's slots, newest first.",
    ),
    "schedules preview": Command(
        "rota.cli.schedules_preview:preview",
        'rota schedules preview "EXPR" [OPTIONS]\n       rota schedules preview --every LENGTH',
        "Print when a rule runs next, and the reason for each surprise.",
    ),
    "schedules create": Command(
        "rota.cli.schedules_change:create",
        'rota schedules create NAME KIND "EXPR" [K=V | K:=JSON]... [OPTIONS]\n'
        "       rota schedules create NAME KIND [K=V | K:=JSON]... --every LENGTH [OPTIONS]",
        "Make a schedule: a rule, and the task that each of its slots becomes.",
    ),
    "schedules update": Command(
        "rota.cli.schedules_change:update",
        'rota schedules update NAME ["EXPR"] [K=V | K:=JSON]... [OPTIONS]',
        "Change what a schedule says; what is not given stays.",
    ),
    "schedules pause": Command(
        "rota.cli.schedules_control:pause",
        "rota schedules pause NAME... [OPTIONS]",
        "Let schedules fire nothing until they are resumed.",
    ),
    "schedules resume": Command(
        "rota.cli.schedules_control:resume",
        "rota schedules resume NAME... [OPTIONS]",
        "Let paused schedules fire again, from now on.",
    ),
    "schedules run-now": Command(
        "rota.cli.schedules_control:run_now",
        "rota schedules run-now NAME [OPTIONS]",
        "Make a task of a schedule at once, besides its slots.",
    ),
    "schedules backfill": Command(
        "rota.cli.schedules_control:backfill",
        "rota schedules backfill NAME --from INSTANT --to INSTANT [OPTIONS]",
        "Make tasks of the slots in a range that have none.",
    ),
    "schedules import": Command(
        "rota.cli.schedules_import:import_",
        "rota schedules import FILE|- [OPTIONS]",
        "Make schedules of the lines of a crontab.",
    ),
    "schedules delete": Command(
        "rota.cli.schedules_control:delete",
        "rota schedules delete NAME... [OPTIONS]",
        "Remove schedules and the record of their slots; their tasks are left alone.",
    ),
}
