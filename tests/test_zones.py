"""Zones come from the pinned data alone, by the names that these list (R6.2, B085, B086)."""

import zoneinfo
from datetime import UTC, datetime, timedelta
from importlib.resources import files
from pathlib import Path

import pytest

from rota import zones
from rota.errors import InvalidSchedule


class TestAName:
    @pytest.mark.parametrize(
        "name",
        ["UTC", "Europe/Kyiv", "America/Argentina/Ushuaia", "Etc/GMT+5", "US/Eastern", "EST"],
    )
    def test_of_the_data_is_taken(self, name: str) -> None:
        assert zones.check_zone(name) == name
        assert zones.zone(name).key == name

    @pytest.mark.parametrize(
        "name",
        [
            *("", "Mars/Olympus", "Europe", "Europe/", "CEST", "+01:00", "UTC+1", "Factory"),
            *("localtime", "posixrules", "posix/Europe/Berlin", "right/Europe/Berlin"),
            *("/etc/localtime", "../zones", "Europe/../Europe/Berlin", "./UTC", "zone.tab"),
            *("Europe/Berlin\n", " UTC", "UTC\0", "tzdata.zi", "__init__.py", "\ud800"),
            *(None, 5, b"UTC", ["UTC"]),
        ],
    )
    def test_that_is_none_is_refused_by_field(self, name: object) -> None:
        """B085"""
        with pytest.raises(InvalidSchedule) as refusal:
            zones.check_zone(name, "timezone")

        assert refusal.value.field == "timezone"
        assert "IANA" in str(refusal.value)

    def test_in_another_case_is_refused_with_the_right_one(self) -> None:
        with pytest.raises(InvalidSchedule, match="did you mean 'Europe/Berlin'"):
            zones.zone("europe/berlin")


def test_what_the_machine_has_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """B085: the machine says that Berlin is Tokyo."""
    (tmp_path / "Europe").mkdir()
    source = files("tzdata").joinpath("zoneinfo", "Asia", "Tokyo")
    (tmp_path / "Europe" / "Berlin").write_bytes(source.read_bytes())
    zoneinfo.reset_tzpath([str(tmp_path)])
    zones.zone.cache_clear()
    try:
        noon = datetime(2026, 7, 1, 12, tzinfo=UTC)

        assert noon.astimezone(zones.zone("Europe/Berlin")).utcoffset() == timedelta(hours=2)
    finally:
        zoneinfo.reset_tzpath()


def test_a_zone_is_read_once() -> None:
    assert zones.zone("Europe/Berlin") is zones.zone("Europe/Berlin")


def test_every_name_can_be_read() -> None:
    assert len(zones.names()) > 400
    assert all(
        zones.zone(name).utcoffset(datetime(2026, 1, 1)) is not None for name in zones.names()
    )


def test_the_version_is_that_of_the_data() -> None:
    """B085: it is part of what a node tells about itself."""
    assert zones.version()[:4].isdigit()
    assert (
        zones.version()
        == (files("tzdata").joinpath("zoneinfo", "tzdata.zi").read_text().split()[2])
    )
