"""The committed dump of the schema is the schema that the migrations make."""

from tests.support.places import Place
from tests.support.schema_dump import dump, dump_file


async def test_the_committed_dump_is_what_the_migrations_make(place: Place) -> None:
    """R8.6: no change of the schema goes unseen in a review; `make schema` writes it anew."""
    committed = dump_file(place.dialect).read_text(encoding="utf-8")

    assert await dump(place) == committed
