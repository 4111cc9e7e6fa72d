"""Shares by weight, carried over (R7.1): the same as giving slot after slot to who is behind."""

from math import lcm

from hypothesis import given
from hypothesis import strategies as st

from rota.policy.tally import Tally

NAMES = "abcd"


def strides_of(weights: dict[str, int]) -> dict[str, int]:
    common = lcm(*weights.values())
    return {name: common // weight for name, weight in weights.items()}


def serve(tally: Tally[str], strides: dict[str, int], slots: int) -> dict[str, int]:
    shares = tally.split(strides, slots)
    tally.charge((name, shares[name] * strides[name], True) for name in strides)
    return shares


weighted = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 60), min_size=1).map(strides_of)


class TestSplit:
    @given(weighted, st.lists(st.integers(0, 300), max_size=8))
    def test_slots_at_once_are_split_like_slots_one_by_one(
        self, strides: dict[str, int], sizes: list[int]
    ) -> None:
        """R7.1: the shares hold when slots come free one at a time."""
        at_once: Tally[str] = Tally()
        singly: Tally[str] = Tally()
        for slots in sizes:
            shares = serve(at_once, strides, slots)
            one_by_one = dict.fromkeys(strides, 0)
            for _ in range(slots):
                for name, count in serve(singly, strides, 1).items():
                    one_by_one[name] += count

            assert shares == one_by_one

    @given(
        st.lists(
            st.tuples(
                st.sets(st.sampled_from(NAMES), min_size=1),
                st.integers(0, 40),
                st.lists(st.integers(0, 40), min_size=4, max_size=4),
            )
        )
    )
    def test_all_slots_are_given_whatever_was_had_before(
        self, claims: list[tuple[set[str], int, list[int]]]
    ) -> None:
        """R7.1: work-conserving."""
        strides = strides_of({"a": 50, "b": 30, "c": 15, "d": 5})
        tally: Tally[str] = Tally()
        for names, slots, most in claims:
            active = {name: strides[name] for name in sorted(names)}
            shares = tally.split(active, slots)
            bounds = dict(zip(NAMES, most, strict=True))
            had = {name: min(shares[name], bounds[name]) for name in active}
            tally.charge((n, had[n] * active[n], had[n] == shares[n]) for n in active)

            assert sum(shares.values()) == slots
            assert min(shares.values()) >= 0


class TestCharge:
    def test_who_was_away_has_saved_nothing_up(self) -> None:
        """R7.1"""
        tally: Tally[str] = Tally()
        serve(tally, {"a": 1}, 1000)

        assert serve(tally, {"a": 1, "b": 1}, 10) == {"a": 5, "b": 5}

    def test_who_goes_away_and_comes_back_has_not_paid_off_what_it_had(self) -> None:
        """R7.1: a class whose tasks come one at a time gets its share and not each next slot."""
        tally: Tally[str] = Tally()
        served = {"a": 0, "b": 0}
        away = False
        for _ in range(1000):
            shares = serve(tally, {"a": 1} if away else {"a": 1, "b": 9}, 1)
            away = shares.get("b") == 1
            for name, count in shares.items():
                served[name] += count

        assert served == {"a": 900, "b": 100}

    def test_when_all_had_gone_they_start_level(self) -> None:
        """R7.1: a class that worked alone while there was room for all is not held back for it."""
        tally: Tally[str] = Tally()
        tally.charge([("a", 1000, False)])

        assert serve(tally, {"a": 1, "b": 1}, 10) == {"a": 5, "b": 5}
