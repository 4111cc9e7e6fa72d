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
