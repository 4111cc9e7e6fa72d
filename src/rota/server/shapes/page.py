"""The shape of a page of whatever it is."""

from typing import Generic, TypeVar

from msgspec import Struct

T = TypeVar("T")


class Page(Struct, Generic[T], frozen=True):
    """Some of what there is, in order; `next` is the cursor of what follows, null at the end."""

    items: list[T]
    next: str | None
    as_of: str
