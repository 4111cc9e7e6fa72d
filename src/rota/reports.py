"""What a change of many tasks did, in numbers; `plus` adds the answers of a further run."""

from collections import Counter
from collections.abc import Iterable

from msgspec import Struct

from rota.actions import AmendOutcome, DeleteOutcome
from rota.model import Accepted, CancelOutcome, RetryOutcome


class CancelReport(Struct, frozen=True):
    """What became of the tasks that a cancel met (R5.1, R5.3)."""

    matched: int = 0
    completed: int = 0
    accepted: int = 0
    too_late: int = 0
    not_found: int = 0

    def plus(self, answers: Iterable[CancelOutcome]) -> "CancelReport":
        """Return the sum with the answers of a further run."""
        counts = Counter(answers)
        return CancelReport(
            self.matched + sum(counts.values()),
            self.completed + counts[CancelOutcome.COMPLETED],
            self.accepted + counts[CancelOutcome.ACCEPTED],
            self.too_late + counts[CancelOutcome.TOO_LATE],
            self.not_found + counts[CancelOutcome.NOT_FOUND],
        )


class RetryReport(Struct, frozen=True):
    """What became of the tasks that a retry met."""

    matched: int = 0
    completed: int = 0
    not_retryable: int = 0
    not_found: int = 0

    def plus(self, answers: Iterable[RetryOutcome]) -> "RetryReport":
        """Return the sum with the answers of a further run."""
        counts = Counter(answers)
        return RetryReport(
            self.matched + sum(counts.values()),
            self.completed + counts[RetryOutcome.COMPLETED],
            self.not_retryable + counts[RetryOutcome.NOT_RETRYABLE],
            self.not_found + counts[RetryOutcome.NOT_FOUND],
        )


class AmendReport(Struct, frozen=True):
    """What became of the tasks that an amendment met (R5.4)."""

    matched: int = 0
    done: int = 0
    not_waiting: int = 0
    not_found: int = 0

    def plus(self, answers: Iterable[AmendOutcome]) -> "AmendReport":
        """Return the sum with the answers of a further run."""
        counts = Counter(answers)
        return AmendReport(
            self.matched + sum(counts.values()),
            self.done + counts[AmendOutcome.DONE],
            self.not_waiting + counts[AmendOutcome.NOT_WAITING],
            self.not_found + counts[AmendOutcome.NOT_FOUND],
        )


class DeleteReport(Struct, frozen=True):
    """What became of the tasks that a deletion met."""

    matched: int = 0
    done: int = 0
    not_finished: int = 0
    not_found: int = 0

    def plus(self, answers: Iterable[DeleteOutcome]) -> "DeleteReport":
        """Return the sum with the answers of a further run."""
        counts = Counter(answers)
        return DeleteReport(
            self.matched + sum(counts.values()),
            self.done + counts[DeleteOutcome.DONE],
            self.not_finished + counts[DeleteOutcome.NOT_FINISHED],
            self.not_found + counts[DeleteOutcome.NOT_FOUND],
        )


class ReplayReport(Struct, frozen=True):
    """What became of the dead letters that a replay met (R4.4).

    `made` are new tasks, `existing` those that an earlier replay had made, and `skipped` is what
    is no dead letter or was discarded.
    """

    matched: int = 0
    made: int = 0
    existing: int = 0
    skipped: int = 0

    def plus(self, answers: Iterable[Accepted | None]) -> "ReplayReport":
        """Return the sum with the answers of a further run."""
        counts = Counter(answer and answer.created for answer in answers)
        return ReplayReport(
            self.matched + sum(counts.values()),
            self.made + counts[True],
            self.existing + counts[False],
            self.skipped + counts[None],
        )


class SettleReport(Struct, frozen=True):
    """How many dead letters were discarded, or restored; `skipped` is where nothing was to do."""

    matched: int = 0
    done: int = 0
    skipped: int = 0

    def plus(self, answers: Iterable[bool]) -> "SettleReport":
        """Return the sum with the answers of a further run."""
        counts = Counter(answers)
        return SettleReport(
            self.matched + sum(counts.values()),
            self.done + counts[True],
            self.skipped + counts[False],
        )
