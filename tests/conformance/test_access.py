"""What the store keeps of access: keys, log-ins, the audit record, shared secrets (R8.5)."""

import asyncio
import hashlib

import pytest
from msgspec import structs

from rota.access import (
    AuditEntry,
    AuditFilter,
    Key,
    Login,
    Outcome,
    Revoked,
    Role,
    Scope,
    Via,
)
from rota.clock import Micros
from rota.config import DAY, HOUR, KEEP_AUDIT, SECOND
from rota.retention import RETENTION
from rota.store.base import Store
from tests.support.factories import NOW, Make
from tests.support.places import Place

ADMIN = (Role.ADMIN,)
EVERYTHING = AuditFilter()


def a_key(id_: str, *roles: Role, made: Micros = NOW, **fields: object) -> Key:
    return structs.replace(
        Key(
            id=id_,
            name=f"{id_}-app",
            secret_hash=hashlib.sha256(id_.encode()).digest(),
            roles=roles or ADMIN,
            created_at=made,
        ),
        **fields,
    )


BOARD = a_key(
    "board",
    Role.SUBMIT,
    Role.READ,
    made=NOW + 1,
    scope=Scope(tenant="board", queues=("sms", "mail"), payloads=False),
    created_by='somebody "else"',
    expires_at=NOW + DAY,
)


async def test_a_key_is_read_as_it_was_stored(store: Store, other: Store) -> None:
    """S12: by every server; of its secret there is the hash."""
    first = a_key("first")
    await store.add_key(first)
    await store.add_key(BOARD)

    assert await other.find_key("board") == BOARD
    assert await other.keys() == [BOARD, first]
    assert await other.find_key("nobody") is None


async def test_a_repeat_makes_no_second_key_and_changes_none(store: Store) -> None:
    """F5: the answer to the first may have been lost."""
    await store.add_key(BOARD)
    await store.add_key(structs.replace(BOARD, roles=ADMIN))

    assert await store.keys() == [BOARD]


async def test_a_revoked_key_says_since_when(store: Store) -> None:
    """R8.5: a repeat does not move it."""
    await store.add_key(BOARD)

    assert await store.revoke_key("board", NOW + 5) is Revoked.DONE
    assert await store.revoke_key("board", NOW + 9) is Revoked.DONE
    assert await store.revoke_key("nobody", NOW) is Revoked.NOT_FOUND

    assert await store.find_key("board") == structs.replace(BOARD, revoked_at=NOW + 5)


NO_ADMIN = {
    "there is no other": a_key("other", Role.OPERATE),
    "the other is revoked": a_key("other", revoked_at=NOW),
    "the other has expired": a_key("other", expires_at=NOW + 5),
    "the other is bound to a tenant": a_key("other", scope=Scope(tenant="board")),
    "the other is bound to a queue": a_key("other", scope=Scope(queues=("sms",))),
}


@pytest.mark.parametrize("other", NO_ADMIN.values(), ids=NO_ADMIN)
async def test_the_last_admin_cannot_be_revoked(store: Store, other: Key) -> None:
    """R8.5: nobody could make a key over HTTP any more."""
    first = a_key("first")
    await store.add_key(first)
    await store.add_key(other)

    assert await store.revoke_key("first", NOW + 5) is Revoked.LAST_ADMIN
    assert await store.find_key("first") == first

    await store.add_key(a_key("third", expires_at=NOW + 6))
    assert await store.revoke_key("first", NOW + 5) is Revoked.DONE


async def test_an_expired_admin_may_go(store: Store) -> None:
    """It opens nothing, so nothing is lost."""
    await store.add_key(a_key("first", expires_at=NOW))

    assert await store.revoke_key("first", NOW + 5) is Revoked.DONE


async def test_of_admins_revoked_at_once_one_is_left(store: Store, other: Store) -> None:
    """R8.5: however the calls fall together."""
    names = [f"admin-{n}" for n in range(6)]
    for name in names:
        await store.add_key(a_key(name))

    answers = await asyncio.gather(
        *((store, other)[n % 2].revoke_key(name, NOW) for n, name in enumerate(names))
    )

    assert sorted(answers) == [Revoked.DONE] * 5 + [Revoked.LAST_ADMIN]
    assert sum(key.live(NOW) for key in await store.keys()) == 1


async def test_the_last_use_only_moves_forward(store: Store) -> None:
    """Several servers write it in batches, in any order."""
    await store.add_key(BOARD)
    login = Login(
        id_hash=b"\x00\xff" * 16, key_id="board", created_at=NOW, seen_at=NOW, ends_at=NOW + DAY
    )
    await store.add_login(login)

    await store.touch_used({"board": NOW + 60, "nobody": NOW}, {login.id_hash: NOW + 60})
    await store.touch_used({"board": NOW + 30}, {login.id_hash: NOW + 30, b"nobody": NOW})
    await store.touch_used({}, {})

    found = await store.find_key("board")
    assert found is not None
    assert found.last_used_at == NOW + 60
    assert await store.find_login(login.id_hash) == structs.replace(login, seen_at=NOW + 60)


async def test_a_login_is_there_until_it_is_ended(store: Store, other: Store) -> None:
    """B172: on every server."""
    login = Login(id_hash=b"x" * 32, key_id="board", created_at=NOW, seen_at=NOW, ends_at=NOW + 9)
    await store.add_login(login)

    assert await other.find_login(login.id_hash) == login
    assert await other.find_login(b"y" * 32) is None
    await other.drop_login(login.id_hash)
    assert await store.find_login(login.id_hash) is None


def entries(count: int, **fields: object) -> list[AuditEntry]:
    make = Make()
    return [
        structs.replace(
            AuditEntry(
                id=make.id(),
                at=NOW + n * SECOND,
                key_id="first",
                key_name="first-app",
                via=Via.KEY,
                action="limit.update",
            ),
            **fields,
        )
        for n in range(count)
    ]


async def test_the_audit_record_is_read_newest_first_page_by_page(store: Store) -> None:
    """S17: with everything that an entry says."""
    noted = entries(7)
    noted[3] = structs.replace(
        noted[3],
        key_id="board",
        via=Via.SESSION,
        tenant="board",
        target='{"queue":"sms"}',
        request_id="r-1",
        address="::1",
        outcome=Outcome.REFUSED,
        count=412,
        change='{"max_running":[100,200]}',
        reason="provider 'down'",
    )
    await store.record(noted)
    await store.record(noted[:2])
    await store.record([])

    newest = await store.audit(EVERYTHING, None, 4)
    rest = await store.audit(EVERYTHING, newest[-1].id, 50)
    assert newest + rest == noted[::-1]


FILTERS = {
    "by the key": AuditFilter(key_id="board"),
    "by what was done": AuditFilter(action="key.create"),
    "by the tenant": AuditFilter(tenant="board"),
    "by the way in": AuditFilter(via=Via.CLI),
    "by the outcome": AuditFilter(outcome=Outcome.FAILED),
    "by the time": AuditFilter(since=NOW + 2 * SECOND, until=NOW + 3 * SECOND),
}


@pytest.mark.parametrize("where", FILTERS.values(), ids=FILTERS)
async def test_the_audit_record_is_searched(store: Store, where: AuditFilter) -> None:
    """S17: every field of the filter finds the one entry that has it."""
    noted = entries(5)
    noted[2] = structs.replace(
        noted[2],
        key_id="board",
        action="key.create",
        tenant="board",
        via=Via.CLI,
        outcome=Outcome.FAILED,
    )
    await store.record(noted)

    assert await store.audit(where, None, 50) == [noted[2]]


async def test_nothing_changes_an_entry(store: Store, place: Place) -> None:
    """S17: append-only, whoever tries."""
    await store.record(entries(1))

    with pytest.raises(Exception, match="the audit record is not changed"):
        await place.run("update audit set key_name = 'somebody else'")


async def test_a_secret_is_made_once_for_all(store: Store, other: Store) -> None:
    """What one server signed, another recognises."""
    fresh = [bytes([n]) * 32 for n in range(8)]

    made = await asyncio.gather(
        *((store, other)[n % 2].secret("login", one, NOW) for n, one in enumerate(fresh))
    )

    assert len(set(made)) == 1
    assert made[0] in fresh
    assert await store.secret("cursors", b"other", NOW) == b"other"


async def test_what_is_over_for_long_goes(store: Store) -> None:
    """S17, R9.5: the audit record and keys after 90 days, log-ins when they end."""
    await store.record(entries(3))
    keys = {
        "live": a_key("live"),
        "revoked": a_key("revoked", revoked_at=NOW),
        "expired": a_key("expired", expires_at=NOW),
        "late": a_key("late", revoked_at=NOW + DAY),
    }
    for key in keys.values():
        await store.add_key(key)
    login = Login(id_hash=b"x", key_id="live", created_at=NOW, seen_at=NOW, ends_at=NOW + HOUR)
    await store.add_login(login)

    await store.prune(NOW + HOUR - 1, RETENTION, 100)
    assert await store.find_login(b"x") == login
    await store.prune(NOW + KEEP_AUDIT + SECOND, RETENTION, 100)

    assert await store.find_login(b"x") is None
    assert {key.id for key in await store.keys()} == {"live", "late"}
    assert [entry.at for entry in await store.audit(EVERYTHING, None, 50)] == [
        NOW + 2 * SECOND,
        NOW + SECOND,
    ]


async def test_a_dump_of_the_store_opens_nothing(store: Store, place: Place) -> None:
    """S12: there is the hash of 256 random bits, and nothing that could be shown."""
    await store.add_key(BOARD)

    (stored,) = await place.rows("select secret_hash from access_key")
    assert bytes(stored[0]) == hashlib.sha256(b"board").digest()
