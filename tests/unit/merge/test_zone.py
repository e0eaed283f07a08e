"""The names of a time zone, and what depends on it, without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


UTC = (
    "UTC Etc/UTC etc/utc Z +00:00 -00:00 +00 +0 GMT GMT0 Etc/GMT+0 UTC+00:00 Zulu Etc/Universal UCT UT"
    " Greenwich +00:00:00"
)


@pytest.mark.parametrize("zone", UTC.split())
def test_names_of_utc_are_one_zone(floodmark: SimpleNamespace, zone: str) -> None:
    assert floodmark._zone_name(zone) == "UTC"


@pytest.mark.parametrize(
    "zone", ["Asia/Tokyo", "Europe/London", "+01:00", "Etc/GMT+1", "GMT+00:30", "UTC-1", "WET"]
)
def test_other_zones_keep_their_names(floodmark: SimpleNamespace, zone: str) -> None:
    assert floodmark._zone_name(zone) == zone


@pytest.mark.parametrize(
    ("family", "kind", "ways", "depends"),
    [
        ("timestamp", "date", ["day"], True),
        ("timestamp", "string", ["yyyy-MM"], True),
        ("timestamp", "timestamp", ["day"], True),
        ("timestamp", "date", [], True),
        ("timestamp_ntz", "date", ["day"], False),
        ("timestamp_ntz", "timestamp", ["day"], True),
        ("timestamp_ntz", "timestamp_ntz", ["day"], False),
        ("timestamp_ntz", "string", ["yyyy-MM-dd"], False),
        ("timestamp_ntz", "int", ["yyyy"], False),
        # An hour that the clock leaves out is another one.
        ("timestamp_ntz", "string", ["yyyy-MM-dd HH"], True),
        ("timestamp_ntz", "int", ["yyyyMMddHH"], True),
        ("timestamp_ntz", "timestamp_ntz", ["hour"], True),
        # All rows are of midnight.
        ("timestamp_ntz", "timestamp_ntz", ["day", "hour"], False),
        ("date", "int", ["yyyyMMdd"], False),
        ("date", "string", ["yyyyMMddHH"], False),
    ],
)
def test_what_depends_on_the_zone(
    floodmark: SimpleNamespace, family: str, kind: str, ways: list[str], depends: bool
) -> None:
    assert floodmark._depends_on_zone(family, kind, ways) is depends
