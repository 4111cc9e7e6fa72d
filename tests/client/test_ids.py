"""Ids are UUIDs of version 7 that only rise, made one by one or many at a time."""

from rota.clock import Ids, Micros, born, new_rng, parse_id

NOW: Micros = 1_764_547_199_999_000


def test_one_id_is_made_as_many_are() -> None:
    one_by_one, many = Ids(new_rng(1)), Ids(new_rng(1))
    instants = [NOW + 400 * step for step in range(100)]
    assert [one_by_one.new(at) for at in instants] == [many.many(at, 1)[0] for at in instants]


def test_ids_only_rise_though_the_clock_steps_back() -> None:
    ids = Ids(new_rng(1))
    made = [ids.new(NOW), *ids.many(NOW, 3), ids.new(NOW - 5_000_000), ids.new(NOW + 1_000)]
    assert made == sorted(set(made))


def test_an_id_is_in_its_usual_form_and_tells_when_it_was_made() -> None:
    made = Ids(new_rng(1)).new(NOW)
    assert parse_id(made) == made
    assert (made[14], made[19] in "89ab", born(made)) == ("7", True, NOW)
