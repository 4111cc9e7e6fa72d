"""Every command: where it is written, how it is called, and what it does in a sentence."""

from rota.cli.command import Command
from rota.cli.schedule_commands import SCHEDULES

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
    "amend": Command(
        "rota.cli.amend:amend",
        "rota amend ID... | FILTERS --to-... [OPTIONS]",
        "Change the priority, queue, time, time limit or tags of tasks that wait.",
    ),
    "delete": Command(
        "rota.cli.amend:delete",
        "rota delete ID... | FILTERS [OPTIONS]",
        "Delete tasks that are over, for good.",
    ),
    "actions list": Command(
        "rota.cli.actions:list_",
        "rota actions list [OPTIONS]",
        "List changes of many tasks that go on by themselves, newest first.",
    ),
    "actions show": Command(
        "rota.cli.actions:show",
        "rota actions show ID [OPTIONS]",
        "Show an action and how far it is.",
    ),
    "actions stop": Command(
        "rota.cli.actions:stop",
        "rota actions stop ID [OPTIONS]",
        "Stop an action after the run that is under way.",
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
    **SCHEDULES,
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
    "keys create": Command(
        "rota.cli.keys:create",
        "rota keys create NAME --role ROLE [OPTIONS]",
        "Make a key for calls over HTTP and print it, this once.",
    ),
    "keys list": Command(
        "rota.cli.keys:list_",
        "rota keys list [OPTIONS]",
        "List keys: what each may do, and when it was used last.",
    ),
    "keys revoke": Command(
        "rota.cli.keys:revoke",
        "rota keys revoke ID... [OPTIONS]",
        "Revoke keys for good.",
    ),
    "audit list": Command(
        "rota.cli.audit:list_",
        "rota audit list [OPTIONS]",
        "List who changed what, the newest first.",
    ),
    "alerts list": Command(
        "rota.cli.alerts:list_",
        "rota alerts list [OPTIONS]",
        "List alerts that have fired, newest first.",
    ),
    "alerts rules": Command(
        "rota.cli.alerts:rules",
        "rota alerts rules [OPTIONS]",
        "List the alert rules: the seven that Rota comes with, and your own.",
    ),
    "alerts set": Command(
        "rota.cli.alerts:set_",
        "rota alerts set NAME [OPTIONS]",
        "Change an alert rule, or make one; what is not given stays.",
    ),
    "alerts delete": Command(
        "rota.cli.alerts:delete",
        "rota alerts delete NAME... [OPTIONS]",
        "Remove alert rules; one of the seven goes back to its defaults.",
    ),
    "alerts silence": Command(
        "rota.cli.alerts:silence",
        "rota alerts silence RULE|ALERT... --for LENGTH [OPTIONS]",
        "Tell nobody of a rule's alerts, or of one alert, for a while.",
    ),
    "alerts test": Command(
        "rota.cli.alerts:send_test",
        "rota alerts test [OPTIONS]",
        "Send a test message to every webhook that is on, and say what came of it.",
    ),
    "webhooks create": Command(
        "rota.cli.webhooks:create",
        "rota webhooks create URL [OPTIONS]",
        "Make a webhook, and print its secret: it is shown this once.",
    ),
    "webhooks list": Command(
        "rota.cli.webhooks:list_",
        "rota webhooks list [OPTIONS]",
        "List the webhooks, and how their deliveries went.",
    ),
    "webhooks set": Command(
        "rota.cli.webhooks:set_",
        "rota webhooks set ID [OPTIONS]",
        "Change a webhook, or switch it on or off; what is not given stays.",
    ),
    "webhooks rotate": Command(
        "rota.cli.webhooks:rotate",
        "rota webhooks rotate ID [OPTIONS]",
        "Give a webhook a new secret and print it; for a day the old one counts too.",
    ),
    "webhooks delete": Command(
        "rota.cli.webhooks:delete",
        "rota webhooks delete ID... [OPTIONS]",
        "Remove webhooks; what is still to be delivered to them is dropped.",
    ),
    "webhooks test": Command(
        "rota.cli.webhooks:send_test",
        "rota webhooks test ID [OPTIONS]",
        "Send a webhook a test message at once and say what came of it.",
    ),
    "sessions list": Command(
        "rota.cli.sessions:list_",
        "rota sessions list [OPTIONS]",
        "List the workers that are at work.",
    ),
    "sessions show": Command(
        "rota.cli.sessions:show",
        "rota sessions show ID [OPTIONS]",
        "Show a worker's session.",
    ),
    "sessions drain": Command(
        "rota.cli.sessions:drain",
        "rota sessions drain ID [OPTIONS]",
        "Ask a worker to end once it is through with what it holds.",
    ),
    "worker": Command(
        "rota.cli.worker:worker",
        "rota worker [APP] [OPTIONS]",
        "Run the tasks of an app until told to stop.",
    ),
    "server": Command(
        "rota.cli.server:server",
        "rota server [APP] [OPTIONS]",
        "Answer HTTP until told to stop: the API, workers in any language, metrics.",
    ),
    "dev": Command(
        "rota.cli.dev:dev",
        "rota dev [APP] [OPTIONS]",
        "Run server, worker and scheduler in one, and again when a Python file changes.",
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
    "doctor": Command(
        "rota.cli.doctor:doctor",
        "rota doctor [OPTIONS]",
        "Say what is not as it should be, and what to do about it.",
    ),
    "login": Command(
        "rota.cli.login:login",
        "rota login URL [OPTIONS]",
        "Keep a key for a server, so that commands need no token for it.",
    ),
    "logout": Command(
        "rota.cli.login:logout",
        "rota logout URL [OPTIONS]",
        "Forget the key of a server; the key itself stays good.",
    ),
    "config show": Command(
        "rota.cli.config_show:config_show",
        "rota config show [OPTIONS]",
        "Show each setting with its source; passwords and keys are masked.",
    ),
    "completion": Command(
        "rota.cli.completion:completion",
        "rota completion bash|zsh|fish [OPTIONS]",
        "Print a script with which a shell completes commands, options and their words.",
    ),
    "version": Command("rota.cli.version:version", "rota version [OPTIONS]", "Print the version."),
}

NOUNS = {
    "actions": "Follow and stop changes of many tasks that go on by themselves.",
    "dead-letters": "Find, edit, replay and discard what failed for good.",
    "schedules": "Recurring work: when it runs, what it has done, and crontabs that move over.",
    "queues": "How queues are shared out, bounded and paused.",
    "tenants": "Each tenant's part beside the others, its bound and its pause.",
    "kinds": "Which kinds of task are started at present.",
    "config": "Which settings count, and where they come from.",
    "keys": "Who may call a server over HTTP, and how far each key reaches.",
    "audit": "Who changed what, when and from where.",
    "sessions": "The workers that are at work.",
    "limits": "Caps and rates of queues, tenants, and tenants in queues.",
    "alerts": "What is watched, what was too high, and silence.",
    "webhooks": "The endpoints that are told of alerts.",
}
"""What several commands begin with."""
