"""A worker of the first version at this server (http-and-cli.md §5, compatibility; R8.6)."""

from typing import Any

from rota.engine import Engine
from tests.server.hand import Hand
from tests.support.asking import Asker
from tests.support.factories import Make
from tests.support.worker_v1 import ANSWERS, REQUESTS


def has(answer: Any, shape: Any) -> bool:
    """Whether an answer has all the fields of a shape; it may have more."""
    if isinstance(shape, dict) and isinstance(answer, dict):
        return all(name in answer and has(answer[name], shape[name]) for name in shape)
    if isinstance(shape, list) and isinstance(answer, list):
        return not shape or all(has(one, shape[0]) for one in answer)
    return not isinstance(answer, dict | list) or shape is None


async def test_what_the_first_version_sends_is_understood(
    asker: Asker, engine: Engine, make: Make
) -> None:
    """Each request as it was, and each answer with at least what it had then."""
    tasks = make.tasks(8, queue="sms", payload='{"student_id":7}')
    await engine.submit(tasks)
    worker = asker.using("worker")
    hand = Hand(worker)
    answers: dict[str, Any] = {}
    for verb, body in REQUESTS:
        items = [i | {"id": t.id} for i, t in zip(body.get("items", ()), tasks, strict=False)]
        sent = body | ({"items": items} if items else {})
        told = await (hand.ask(verb, sent) if verb else worker.ask("POST", "/v1/sessions", sent))
        assert told.status in (200, 201), (verb, told.json)
        answers[verb] = told.json
        if verb == "claim":
            answers["held"] = (await hand.ask("held")).json
        hand.session = answers[""]["session"]

    assert len(answers["claim"]["tasks"]) == len(tasks)
    for verb, shape in ANSWERS.items():
        assert has(answers[verb], shape), (verb, answers[verb])
    assert [item["verdict"] for item in answers["finish"]["items"]] == ["applied"] * len(tasks)


async def test_a_worker_of_versions_to_come_may_speak_this_one(asker: Asker) -> None:
    """It names all that it speaks; the server picks."""
    told = await Hand(asker.using("worker")).open(protocol=[1, 2, 3])

    assert (told.status, told.json["protocol"]) == (201, 1)
