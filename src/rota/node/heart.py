"""The heartbeat: it renews the session's lease and says when it can no longer be trusted."""

import logging
import threading
from collections.abc import Callable, Sequence

from rota.clock import Clock, Rng
from rota.config import LEASE_MARGIN_SHARE, SECOND
from rota.errors import AccessRefused, StoreError
from rota.model import CancelRequest, Micros
from rota.outage import pause
from rota.store.base import Pulse

log = logging.getLogger("rota.worker")

SOONEST = 1.0
"""However much happens, so many seconds lie between two beats."""


class Heart:
    """Beats from a thread and a connection of its own, so that no handler costs the lease (B130).

    A beat may hang for longer than the lease holds; whoever runs handlers watches `trusted_for`.
    `on_lost` is called once, from that thread, when the session is over or the lease could not be
    renewed in time; `on_cancels` with the tasks that are asked to stop, at each beat again (R5.2),
    and `on_drain`, likewise, if the worker is asked to end in good order (R3.6).
    Trust in the lease counts from when the renewal was sent, on the monotonic clock (R3.4, case
    B163).
    """

    def __init__(
        self,
        pulse: Pulse,
        session_id: str,
        *,
        lease: Micros,
        clock: Clock,
        rng: Rng,
        on_lost: Callable[[], None],
        on_cancels: Callable[[Sequence[CancelRequest]], None] = lambda _: None,
        on_drain: Callable[[], None] = lambda: None,
    ) -> None:
        self._pulse = pulse
        self._session_id = session_id
        self._lease = lease
        self._clock = clock
        self._rng = rng
        self._on_lost = on_lost
        self._on_cancels = on_cancels
        self._on_drain = on_drain
        self._length = lease / SECOND
        self._trusted_until = clock.monotonic() + self._length * (1 - LEASE_MARGIN_SHARE)
        self._tries = 0
        self._over = threading.Event()
        self._sign = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rota-heart", daemon=True)

    def start(self) -> None:
        """Begin to beat."""
        self._thread.start()

    def stop(self) -> None:
        """Stop beating and let go of the connection; waits for a beat that is under way."""
        self._over.set()
        self._sign.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join()

    def nudge(self) -> None:
        """Beat soon, for a task may be asked to stop; never more than once a second."""
        self._sign.set()

    @property
    def trusted(self) -> bool:
        """Say whether the lease surely still holds."""
        return self.trusted_for > 0

    @property
    def trusted_for(self) -> float:
        """How many seconds the lease surely still holds; 0 if it may be over."""
        left = 0.0 if self._over.is_set() else self._trusted_until - self._clock.monotonic()
        return max(left, 0.0)

    @property
    def age(self) -> float:
        """How many seconds ago the renewal was sent that holds now."""
        sent = self._trusted_until - self._length * (1 - LEASE_MARGIN_SHARE)
        return max(self._clock.monotonic() - sent, 0.0)

    def beat(self) -> float | None:
        """Renew once; return the seconds until the next beat, or None if the lease is lost."""
        sent = self._clock.monotonic()
        try:
            now = self._clock.now()
            answer = self._pulse.beat(self._session_id, now, now + self._lease)
            self._clock.observe(self._pulse.clock(), self._clock.monotonic())
        except StoreError as error:
            return self._after_failure(error)
        self._tries = 0
        if not answer.alive:
            log.warning("session %s is over; its tasks run elsewhere", self._session_id)
            return None
        self._trusted_until = sent + self._length * (1 - LEASE_MARGIN_SHARE)
        if answer.cancels:
            self._on_cancels(answer.cancels)
        if answer.drain:
            self._on_drain()
        return self._length / 3

    def _after_failure(self, error: StoreError) -> float | None:
        left = self._trusted_until - self._clock.monotonic()
        if left <= 0:
            log.error("the lease of session %s could not be renewed: %s", self._session_id, error)
            return None
        self._tries += 1
        return min(pause(self._tries, self._rng), max(left, 0.01), self._length / 6)

    def _run(self) -> None:
        wait: float | None = self._length / 3
        try:
            while wait is not None and not self._is_over_after(wait):
                wait = self.beat()
            if wait is None:
                self._over.set()
                self._on_lost()
        except AccessRefused as error:
            log.error("session %s cannot go on: %s", self._session_id, error)
            self._over.set()
            self._on_lost()
        except Exception:
            # A heart that stops in silence would be a lease lost in silence.
            log.exception("the heartbeat of session %s failed", self._session_id)
            self._over.set()
            self._on_lost()
        finally:
            self._pulse.close()

    def _is_over_after(self, seconds: float) -> bool:
        """Wait for so long, or until nudged, but not shorter than `SOONEST`."""
        least = min(seconds, SOONEST)
        over = self._over.wait(least)
        if not over and least < seconds:
            self._sign.wait(seconds - least)
            over = self._over.is_set()
        self._sign.clear()
        return over
