"""What lies in deploy/ is what this version understands: commands, probes, signals, metrics."""

import re
import shlex
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from rota.cli import build, command_first, named
from rota.figure_views import scale
from rota.figures import Scale
from rota.server.routes import table
from rota.server.settings import ServerSettings

DEPLOY = Path(__file__).parents[1] / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def documents() -> Iterator[Any]:
    for file in MANIFESTS:
        yield from yaml.safe_load_all(file.read_text())


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every `rota` command that is started, by where it stands."""
    for document in documents():
        for container in _containers(document):
            yield f"kubernetes {document['metadata']['name']}", container["args"]
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    for name, service in compose["services"].items():
        if "build" in service:
            yield f"compose {name}", service["command"]
    for file in UNITS:
        words = shlex.split(unit(file)["Service"]["ExecStart"].replace("%i", "sms"))
        yield f"systemd {file.name}", words[1:]
    for file in [*MANIFESTS, DEPLOY / "compose.yaml", DEPLOY / "README.md"]:
        for found in re.findall(r"keys create [\w -]+\w", file.read_text()):
            yield f"comment {file.name}", found.split()


def unit(file: Path) -> ConfigParser:
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(file)
    return parser


def _containers(document: Any) -> list[Any]:
    pod = document["spec"].get("template", {}).get("spec", {})
    return list(pod.get("containers", []))


COMMANDS = list(commands())


@pytest.mark.parametrize(
    ("place", "words"), COMMANDS, ids=[f"{n} {place}" for n, (place, _) in enumerate(COMMANDS)]
)
def test_every_command_is_one_that_there_is(place: str, words: list[str]) -> None:
    ordered = command_first(words)
    command, bound, *_ = build(named(ordered)).parse_args(ordered, print_error=False)
    assert command.__module__.startswith("rota.cli."), place
    assert bound.arguments or words == ["migrate"]


def test_pods_have_longer_to_end_than_their_workers_take() -> None:
    """R3.6: what runs is finished, the rest handed back."""
    for document in documents():
        for container in _containers(document):
            if container["args"][0] == "worker":
                spec = document["spec"]["template"]["spec"]
                assert spec["terminationGracePeriodSeconds"] > 30
                assert "replicas" not in document["spec"], "they are the autoscaler's"


def test_keda_reads_a_number_that_the_server_tells() -> None:
    """R9.6."""
    (scaled,) = [one for one in documents() if one["kind"] == "ScaledObject"]
    (trigger,) = scaled["spec"]["triggers"]
    assert trigger["metadata"]["url"].endswith("/v1/scaling")
    _, queue, number = trigger["metadata"]["valueLocation"].split(".")
    told = scale(
        Scale(
            queue=queue, paused=False, ready=3, oldest_ready=1.0, running=0, slots=50,
            utilisation=0.0, arriving=0.0, leaving=0.0, errors=None, backlog_per_slot=0.1,
            wanted_slots=3,
        )
    )  # fmt: skip
    assert isinstance(told[number], int)


def test_the_hpa_s_rule_names_a_metric_that_the_server_has() -> None:
    text = (DEPLOY / "kubernetes" / "hpa.yaml").read_text()
    source = Path(__file__).parents[1] / "src" / "rota" / "server" / "metrics.py"
    names = set(re.findall(r"\brota_store_\w+", text))
    assert names == {"rota_store_tasks"}
    assert all(f'"{name}"' in source.read_text() for name in names)
    (hpa,) = [one for one in documents() if one["kind"] == "HorizontalPodAutoscaler"]
    metric = hpa["spec"]["metrics"][0]["external"]["metric"]["name"]
    assert f"as: {metric}" in text


def test_autoscalers_and_deployments_speak_of_the_same() -> None:
    names = {one["metadata"]["name"] for one in documents() if one["kind"] == "Deployment"}
    targets = {
        one["spec"]["scaleTargetRef"]["name"]
        for one in documents()
        if "scaleTargetRef" in one.get("spec", {})
    }
    assert targets <= names


def test_units_keep_the_address_of_the_store_out_of_sight() -> None:
    """S11: neither on the command line nor in a unit that everybody can read."""
    for file in UNITS:
        service = unit(file)["Service"]
        assert service["EnvironmentFile"] == "/etc/rota/rota.env"
        assert "--url" not in service["ExecStart"]
        assert service["NoNewPrivileges"] == "yes"
    for name in ("compose.yaml", *(f"kubernetes/{file.name}" for file in MANIFESTS)):
        text = (DEPLOY / name).read_text()
        assert not re.search(r"postgresql://\w+:(?!PASSWORD@)", text)


# -- Kubernetes, as far as it can be known without one ---------------------------------------------

KNOWN: dict[tuple[str, str], set[str]] = {
    ("apps/v1", "Deployment"): {"replicas", "selector", "strategy", "template"},
    ("v1", "Service"): {"selector", "ports"},
    ("policy/v1", "PodDisruptionBudget"): {"minAvailable", "selector"},
    ("batch/v1", "Job"): {"backoffLimit", "ttlSecondsAfterFinished", "template"},
    ("autoscaling/v2", "HorizontalPodAutoscaler"): {
        "scaleTargetRef", "minReplicas", "maxReplicas", "metrics", "behavior",
    },
    ("keda.sh/v1alpha1", "TriggerAuthentication"): {"secretTargetRef"},
    ("keda.sh/v1alpha1", "ScaledObject"): {
        "scaleTargetRef", "pollingInterval", "cooldownPeriod", "minReplicaCount",
        "maxReplicaCount", "fallback", "triggers",
    },
}  # fmt: skip
"""The kinds of things and what each may say of itself; an unknown field is dropped in silence."""

POD = {
    "terminationGracePeriodSeconds", "automountServiceAccountToken", "securityContext",
    "containers", "restartPolicy",
}  # fmt: skip
CONTAINER = {
    "name", "image", "args", "env", "ports", "livenessProbe", "readinessProbe", "resources",
    "securityContext",
}  # fmt: skip
PODS = [one for one in documents() if "template" in one.get("spec", {})]


def the_pod(document: Any) -> Any:
    return document["spec"]["template"]["spec"]


def named_of(one: Any) -> str:
    return f"{one['kind']} {one['metadata']['name']}"


@pytest.mark.parametrize("document", [*documents()], ids=named_of)
def test_everything_is_of_a_kind_that_there_is_and_says_what_that_may(document: Any) -> None:
    assert set(document) == {"apiVersion", "kind", "metadata", "spec"}
    assert set(document["spec"]) <= KNOWN[document["apiVersion"], document["kind"]]
    if "template" in document["spec"]:
        pod = the_pod(document)
        assert set(pod) <= POD
        for container in pod["containers"]:
            assert set(container) <= CONTAINER
            assert set(container["resources"]) == {"requests", "limits"}


@pytest.mark.parametrize("document", PODS, ids=named_of)
def test_pods_may_run_where_the_most_is_forbidden(document: Any) -> None:
    """S11: what the standard `restricted` wants, and a root that cannot be written."""
    pod = the_pod(document)
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert f"USER {pod['securityContext']['runAsUser']}\n" in (DEPLOY / "Dockerfile").read_text()
    for container in pod["containers"]:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }


@pytest.mark.parametrize("document", PODS, ids=named_of)
def test_ports_are_those_that_the_command_listens_on(document: Any) -> None:
    (container,) = the_pod(document)["containers"]
    ports = {port["name"]: port["containerPort"] for port in container.get("ports", ())}
    words = dict(word.partition("=")[::2] for word in container["args"])
    assert ports.get("metrics") == (int(words.get("--metrics-port", 0)) or None)
    if "server" in container["args"]:
        assert ports["http"] == int(words.get("--port", ServerSettings().port))
    noted = document["spec"]["template"].get("metadata", {}).get("annotations", {})
    if noted:
        # Whoever goes by these has no key, and comes from another machine.
        assert noted["prometheus.io/port"] == str(ports["metrics"])
        assert noted["prometheus.io/path"] == "/metrics"
        assert words["--metrics-host"] == "0.0.0.0"  # noqa: S104 - in a pod of its own
    for probe in ("livenessProbe", "readinessProbe"):
        if probe in container:
            asked = container[probe]["httpGet"]
            assert asked["port"] in ports
            assert asked["path"] in {route.path for route in table()}


def test_services_and_budgets_find_their_pods_and_never_the_port_without_a_key() -> None:
    labels = [one["spec"]["template"]["metadata"]["labels"] for one in PODS if "replicas" in
              one["spec"] or one["kind"] == "Deployment"]  # fmt: skip
    for one in documents():
        selector = one["spec"].get("selector", {})
        selector = selector.get("matchLabels", selector)
        assert not selector or selector in labels, named_of(one)
        if one["kind"] == "Service":
            assert [port["targetPort"] for port in one["spec"]["ports"]] == ["http"]
        if one["kind"] == "Deployment":
            assert one["spec"]["selector"]["matchLabels"] in labels


def test_every_variable_is_one_that_something_reads() -> None:
    """A name that is mistyped would be ignored."""
    source = Path(__file__).parents[1] / "src" / "rota"
    read = "".join(file.read_text() for file in source.rglob("*.py"))
    given = {one["name"] for document in PODS for c in _containers(document) for one in c["env"]}
    for file in [*UNITS, DEPLOY / "Dockerfile", DEPLOY / "compose.yaml"]:
        given |= set(re.findall(r"\bROTA_\w+", file.read_text()))
    assert {"ROTA_URL", "ROTA_APP", "ROTA_LOG_FORMAT"} <= given
    assert [name for name in given if f'"{name}"' not in read] == []


def test_secrets_are_named_where_they_are_made() -> None:
    """A pod that names a secret or a key of it which nobody makes never starts."""
    text = "".join(file.read_text() for file in MANIFESTS)
    made = set(re.findall(r"secret generic (\S+) --from-literal=(\w+)=", text))
    wanted = {
        (source["name"], source["key"])
        for document in PODS
        for container in _containers(document)
        for one in container["env"]
        if (source := one.get("valueFrom", {}).get("secretKeyRef"))
    }
    for one in documents():
        for ref in one["spec"].get("secretTargetRef", ()):
            wanted.add((ref["name"], ref["key"]))
    assert wanted == made
