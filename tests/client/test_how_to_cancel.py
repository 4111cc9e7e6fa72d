"""What the page on cancelling shows is what happens."""

import re
from pathlib import Path

from rota import Rota, State
from tests.support.hands import Hands

PAGE = Path(__file__).parents[2] / "docs/how-to/cancel.md"


def test_the_examples_of_the_page_run_one_after_another(app: Rota, hands: Hands) -> None:
    """R5.1, R5.3, R7.8: as they stand on the page."""

    @app.task
    def report(day: str) -> None: ...

    other_id = report.submit("a").id
    hands.complete(result='"sent"')
    task_id = report.using(delay="1h").submit("b").id
    app.submit_many(report.using(queue="sms", tags=["results"]).bind(str(n)) for n in range(3))
    said: list[tuple[object, ...]] = []
    names = {
        "app": app,
        "task_id": task_id,
        "other_id": other_id,
        "print": lambda *values: said.append(values),
    }

    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)  # noqa: S102 - our own page

    assert (names["outcome"], names["result"]) == ("completed", "sent")
    assert said[0] == (3, 3, 0, 0)
    assert app.tasks.count() == {State.COMPLETED: 1, State.CANCELLED: 4}
