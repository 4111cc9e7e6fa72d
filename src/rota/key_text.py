"""How a key is written: `rota_<id:12>_<secret:43>_<check:6>`, digits of base 62 (S12).

The check lets scanners of leaked secrets recognise a key, and slips of typing be told, without a
look into the store.
"""

import hashlib
import re
import zlib
from typing import Final

from msgspec import Struct

ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ID_DIGITS: Final = 12
SECRET_DIGITS: Final = 43
"""So many hold 256 bits."""
CHECK_DIGITS: Final = 6
ENTROPY_BYTES: Final = 32 + 9
"""What a new key takes of chance: the secret's 256 bits and the id's 71."""

_WRITTEN: Final = re.compile(
    rf"(rota_([0-9A-Za-z]{{{ID_DIGITS}}})_([0-9A-Za-z]{{{SECRET_DIGITS}}}))"
    rf"_([0-9A-Za-z]{{{CHECK_DIGITS}}})",
    re.ASCII,
)


class Written(Struct, frozen=True):
    """The parts of a key as somebody shows it; its text is never kept."""

    id: str
    secret: str

    @property
    def text(self) -> str:
        """The key as it is shown once and sent with every call."""
        head = f"rota_{self.id}_{self.secret}"
        return f"{head}_{_check(head)}"

    @property
    def secret_hash(self) -> bytes:
        """What the store keeps; 256 random bits need no slow hash."""
        return hashlib.sha256(self.secret.encode()).digest()


def write(entropy: bytes) -> Written:
    """Return a new key made of `ENTROPY_BYTES` of the system's chance.

    >>> write(bytes(ENTROPY_BYTES)).text
    'rota_000000000000_0000000000000000000000000000000000000000000_44t9lF'
    """
    if len(entropy) != ENTROPY_BYTES:
        raise ValueError(f"a key takes {ENTROPY_BYTES} bytes of chance, not {len(entropy)}")
    secret, id_ = entropy[:32], entropy[32:]
    return Written(
        _digits(int.from_bytes(id_) % 62**ID_DIGITS, ID_DIGITS),
        _digits(int.from_bytes(secret), SECRET_DIGITS),
    )


def read(text: str) -> Written | None:
    """Return the parts of a key; None if it is none, or mistyped.

    >>> read("rota_000000000000_secret_000000") is None
    True
    """
    match = _WRITTEN.fullmatch(text)
    if match is None or match[4] != _check(match[1]):
        return None
    return Written(match[2], match[3])


def _check(head: str) -> str:
    return _digits(zlib.crc32(head.encode()), CHECK_DIGITS)


def _digits(value: int, count: int) -> str:
    found = []
    for _ in range(count):
        value, digit = divmod(value, 62)
        found.append(ALPHABET[digit])
    return "".join(reversed(found))
