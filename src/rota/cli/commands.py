"""Every command: where it is written, how it is called, and what it does in a sentence."""

from typing import NamedTuple


class Command(NamedTuple):
    """A command: where it is written, how it is called, and what it does in a sentence."""

    path: str
    usage: str
    summary: str


COMMANDS = {
    "submit": Command(
        "rota.cli.submit:submit",
        "rota submit KIND [K=V | K:=JSON]... [OPTIONS]\n       rota submit [KIND] --batch FILE|-",
        "Store a task, or a file of tasks, durably.",
    ),
    "list": Command(
        "rota.cli.listing:list_tasks", "rota list [OPTIONS]", "List tasks, newest first."
    ),
    "show": Command(
        "rota.cli.show:show",
        "rota show ID [OPTIONS]",
        "Show a task: its timeline, attempts, errors, payload and result.",
    ),
    "explain": Command(
        "rota.cli.explain:explain",
        "rota explain ID [OPTIONS]",
        "Say why a task waits, runs or is over, with the numbers.",
    ),
    "wait": Command(
        "rota.cli.wait:wait",
        "rota wait ID [OPTIONS]",
        "Wait until a task is over and print its result.",
    ),
    "cancel": Command(
        "rota.cli.change:cancel",
        "rota cancel ID... | FILTERS [OPTIONS]",
        "Cancel tasks that have not started; ask those that run to stop.",
    ),
    "retry": Command(
        "rota.cli.change:retry",
        "rota retry ID... | FILTERS [OPTIONS]",
        "Run failed and scheduled tasks at once.",
    ),
    "dead-letters list": Command(
        "rota.cli.dead_letters:list_",
        "rota dead-letters list [OPTIONS]",
        "List the tasks that failed for good, newest first.",
    ),
    "dead-letters groups": Command(
        "rota.cli.dead_letters:groups",
        "rota dead-letters groups [OPTIONS]",
        "Show what failed alike, the largest group first.",
    ),
    "dead-letters show": Command(
        "rota.cli.dead_letters:show",
        "rota dead-letters show ID [OPTIONS]",
        "Show a dead letter: every error with its traceback, payload and timeline.",
    ),
    "dead-letters edit": Command(
        "rota.cli.settling:edit",
        "rota dead-letters edit ID [OPTIONS]",
        "Change the payload of a dead letter before it is replayed.",
    ),
    "dead-letters replay": Command(
        "rota.cli.settling:replay",
        "rota dead-letters replay ID... | FILTERS [OPTIONS]",
        "Make of each dead letter a new task that runs now, once.",
    ),
    "dead-letters discard": Command(
        "rota.cli.settling:discard",
        "rota dead-letters discard ID... | FILTERS --reason TEXT [OPTIONS]",
        "Set dead letters aside with a reason; restore undoes it.",
    ),
    "dead-letters restore": Command(
        "rota.cli.settling:restore",
        "rota dead-letters restore ID... | FILTERS [OPTIONS]",
        "Undo a discard, as long as the dead letters are kept.",
    ),
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
    "queues list": Command(
        "rota.cli.queues:list_",
        "rota queues list [OPTIONS]",
        "List queues: what waits, how it is shared out, and which are paused.",
    ),
    "queues show": Command(
        "rota.cli.queues:show",
        "rota queues show NAME [OPTIONS]",
        "Show a queue: its settings, what waits, and its limits.",
    ),
    "queues set": Command(
        "rota.cli.queues:set_",
        "rota queues set NAME [OPTIONS]",
        "Change how a queue is shared out; what is not given stays.",
    ),
    "queues pause": Command(
        "rota.cli.queues:pause",
        "rota queues pause NAME... [OPTIONS]",
        "Let no task of a queue start until it is resumed.",
    ),
    "queues resume": Command(
        "rota.cli.queues:resume",
        "rota queues resume NAME... [OPTIONS]",
        "Let tasks of a queue start again.",
    ),
    "queues reset": Command(
        "rota.cli.queues:reset",
        "rota queues reset NAME... [OPTIONS]",
        "Forget the settings of queues, back to the defaults.",
    ),
    "tenants list": Command(
        "rota.cli.tenants:list_",
        "rota tenants list [OPTIONS]",
        "List the tenants that have settings or limits.",
    ),
    "tenants show": Command(
        "rota.cli.tenants:show",
        "rota tenants show NAME [OPTIONS]",
        "Show a tenant: its settings, what waits, and its limits.",
    ),
    "tenants set": Command(
        "rota.cli.tenants:set_",
        "rota tenants set NAME [OPTIONS]",
        "Change a tenant's part; what is not given stays.",
    ),
    "tenants pause": Command(
        "rota.cli.tenants:pause",
        "rota tenants pause NAME... [OPTIONS]",
        "Let no task of a tenant start until it is resumed.",
    ),
    "tenants resume": Command(
        "rota.cli.tenants:resume",
        "rota tenants resume NAME... [OPTIONS]",
        "Let tasks of a tenant start again.",
    ),
    "tenants reset": Command(
        "rota.cli.tenants:reset",
        "rota tenants reset NAME... [OPTIONS]",
        "Forget the settings of tenants, back to the defaults.",
    ),
    "kinds list": Command(
        "rota.cli.kinds:list_",
        "rota kinds list [OPTIONS]",
        "List the kinds of task, and which are paused.",
    ),
    "kinds pause": Command(
        "rota.cli.kinds:pause",
        "rota kinds pause NAME... [OPTIONS]",
        "Let no task of a kind start until it is resumed.",
    ),
    "kinds resume": Command(
        "rota.cli.kinds:resume",
        "rota kinds resume NAME... [OPTIONS]",
        "Let tasks of a kind start again.",
    ),
    "limits list": Command(
        "rota.cli.limits:list_",
        "rota limits list [OPTIONS]",
        "List limits, and how much of each is in use.",
    ),
    "limits set": Command(
        "rota.cli.limits:set_",
        "rota limits set --queue NAME | --tenant NAME [OPTIONS]",
        "Cap the running tasks, or bound the rate of starts, of a queue or tenant.",
    ),
    "limits delete": Command(
        "rota.cli.limits:delete",
        "rota limits delete --queue NAME | --tenant NAME [OPTIONS]",
        "Remove a limit.",
    ),
    "worker": Command(
        "rota.cli.worker:worker",
        "rota worker [APP] [OPTIONS]",
        "Run the tasks of an app until told to stop.",
    ),
    "migrate": Command(
        "rota.cli.migrate:migrate",
        "rota migrate [OPTIONS]",
        "Bring the store's schema up to date.",
    ),
    "demo": Command(
        "rota.cli.demo:demo",
        "rota demo [OPTIONS]",
        "Send 200,000 messages, kill a worker meanwhile, and count what arrived.",
    ),
    "version": Command("rota.cli.version:version", "rota version [OPTIONS]", "Print the version."),
}

NOUNS = {
    "dead-letters": "Find, edit, replay and discard what failed for good.",
    "schedules": "Recurring work: when it runs, what it has done, and crontabs that move over.",
    "queues": "How queues are shared out, bounded and paused.",
    "tenants": "Each tenant's part beside the others, its bound and its pause.",
    "kinds": "Which kinds of task are started at present.",
    "limits": "Caps and rates of queues, tenants, and tenants in queues.",
}
"""What several commands begin with."""
