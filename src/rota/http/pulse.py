"""The heartbeat's own line to a server, for a thread of its own (case B130)."""

import http.client
import ssl
import threading

import msgspec

from rota.clock import Clock
from rota.config import SECOND
from rota.errors import SessionGone, StoreUnavailable
from rota.http.failures import failure
from rota.http.link import Address
from rota.http.wire import Heard, encode, instant_of
from rota.model import Beat, CancelRequest, Micros

ANSWER_SECONDS = 5.0
"""A renewal that takes longer has failed: there must be time for another within the lease."""

_heard = msgspec.json.Decoder(Heard)


class HttpPulse:
    """Renews a session's lease over one connection; every call waits for the answer."""

    def __init__(self, address: Address, clock: Clock) -> None:
        self._address = address
        self._clock = clock
        self._line: http.client.HTTPConnection | None = None
        self._lock = threading.Lock()
        self._seq = 0
        self._time: tuple[Micros, float] | None = None

    def beat(self, session_id: str, now: Micros, lease_until: Micros) -> Beat:
        self._seq += 1
        body = encode({"seq": self._seq, "lease": (lease_until - now) / SECOND})
        path = f"{self._address.path}/v1/sessions/{session_id}/heartbeat"
        try:
            heard = _heard.decode(self._ask("POST", path, body))
        except SessionGone:
            return Beat(alive=False)
        except msgspec.DecodeError as error:
            raise StoreUnavailable(f"{self._address} answers strangely: {error}") from error
        self._time = (instant_of(heard.server_time), self._clock.monotonic())
        return Beat(True, self._requests(heard), heard.state not in ("active", ""))

    def clock(self) -> Micros:
        if self._time is None:
            return self._clock.now()
        told, at = self._time
        return told + round((self._clock.monotonic() - at) * SECOND)

    def close(self) -> None:
        with self._lock:
            self._drop()

    def _requests(self, heard: Heard) -> tuple[CancelRequest, ...]:
        told = instant_of(heard.server_time)
        return tuple(
            CancelRequest(
                one.id,
                one.fence,
                None if one.deadline_s is None else told + round(one.deadline_s * SECOND),
            )
            for one in heard.cancel
        )

    def _ask(self, method: str, path: str, body: bytes) -> bytes:
        headers = {**self._address.headers, "Content-Type": "application/json"}
        with self._lock:
            try:
                line = self._connected()
                line.request(method, path, body, headers)
                answer = line.getresponse()
                found = answer.read()
            except (OSError, http.client.HTTPException) as error:
                self._drop()
                raise StoreUnavailable(f"{self._address} cannot be reached: {error}") from error
        if answer.status == 404:
            raise SessionGone("")  # a server that knows nothing of it: it is over
        if answer.status >= 300:
            told = {name.title(): value for name, value in answer.headers.items()}
            raise failure(answer.status, found, told, repr(self._address))
        return found

    def _connected(self) -> http.client.HTTPConnection:
        if self._line is None:
            host, port = self._address.host, self._address.port
            if self._address.secure:
                context = ssl.create_default_context()
                self._line = http.client.HTTPSConnection(
                    host, port, timeout=ANSWER_SECONDS, context=context
                )
            else:
                self._line = http.client.HTTPConnection(host, port, timeout=ANSWER_SECONDS)
        return self._line

    def _drop(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
