"""What the page on dead letters shows is what happens."""

import re
from pathlib import Path

from rota import Rota, State
from tests.support.hands import Hands

PAGE = Path(__file__).parents[2] / "docs/how-to/dead-letters.md"


def test_the_examples_of_the_page_run_one_after_another(app: Rota, hands: Hands) -> None:
    """R4.4: as they stand on the page, on dead letters such as it speaks of."""

    @app.task(queue="sms")
    def send_result(student_id: int, phone: str) -> None: ...

    app.submit_many(send_result.bind(n, phone="") for n in range(3))
    hands.fail("sms", "timed out after 30 s", type_="ProviderTimeout")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    said: list[tuple[object, ...]] = []
    names = {"app": app, "print": lambda *values: said.append(values)}

    # Correcting comes first: what was replayed cannot be corrected any more.
    for block in (blocks[0], blocks[3], blocks[1], blocks[2], blocks[4]):
        exec(block, names)  # noqa: S102 - our own page

    assert said[0] == (3, "send_result", "ProviderTimeout", "timed out after <n> s")
    assert (3, 0, 0) in said
    assert app.tasks.count() == {State.FAILED: 3, State.READY: 3}
    assert len(blocks) == 5
