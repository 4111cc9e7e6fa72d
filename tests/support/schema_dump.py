"""Writes the schema that the migrations make, so that a review sees every change: `make schema`.

python -m tests.support.schema_dump
"""

import asyncio
import re
import subprocess
import tempfile
from pathlib import Path

from rota.contrib._postgres_wheel import find_programs
from rota.contrib.embedded import EmbeddedPostgres
from tests.support.places import Dialect, Place

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "schema"

# What pg_dump says besides the schema: comments, settings, and a password against psql commands.
NOISE = re.compile(r"^(--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict )")


def dump_file(dialect: Dialect) -> Path:
    """Where the dump of a dialect is kept."""
    return FOLDER / f"{dialect}.sql"


async def dump(place: Place) -> str:
    """Migrate an empty place and return its schema, the same text on every machine."""
    store = place.store()
    await store.migrate()
    await store.close()
    if place.dialect == "sqlite":
        rows = await place.rows("""
            select sql from sqlite_schema
            where sql is not null and name not like 'sqlite_%'
            order by tbl_name, type = 'index', name
        """)
        return "\n\n".join(f"{sql};" for (sql,) in rows) + "\n"
    return await asyncio.to_thread(_pg_dump, place.address)


def _pg_dump(url: str) -> str:
    program = str(find_programs() / "pg_dump")
    options = ("--schema-only", "--no-owner", "--no-privileges", "--schema=rota")
    command = [program, *options, f"--dbname={url}"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines = [line for line in text.splitlines() if not NOISE.match(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


def main() -> None:
    """Write the dumps of both dialects anew."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with EmbeddedPostgres() as server, tempfile.TemporaryDirectory() as folder:
        places = (
            Place("sqlite", str(Path(folder) / "rota.db")),
            Place("postgres", server.create_database("schema")),
        )
        for place in places:
            dump_file(place.dialect).write_text(asyncio.run(dump(place)), encoding="utf-8")


if __name__ == "__main__":
    main()
