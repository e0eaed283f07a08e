"""What the steps behind a first load know of the partitions that it made; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

COLUMNS = [{"name": "ts", "type": "timestamp"}, {"name": "Part", "type": "date"}]


def source_of(*ways: str) -> dict[str, Any]:
    counts = {"rows_read": 1, "zone": "UTC", "ways": list(ways)}
    return {"columns": COLUMNS, "counts": counts, "stage": "stage", "sql": "select 1"}


def batch_of(replaces: bool) -> dict[str, Any]:
    return {"kind": "first_load", "replaces": replaces, "family": "timestamp", "asked": None}


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros; `sent` has the statements, `known` the properties that were set."""
    loaded = load()
    loaded.sent, loaded.known = [], []
    for name in ("_drop_what_is_not_delta", "_write_moments_as_utc", "_take_counts"):
        setattr(loaded, name, lambda *_: None)
    loaded._model_id = lambda: "shop.orders"
    loaded._kept_sql = lambda run, source: source["sql"]
    loaded._made_properties = lambda run, columns: {}
    loaded._replace_table_sql = lambda sql, properties: properties
    loaded._apply_once = lambda table, batch, sql: loaded.sent.append(sql)
    loaded._require_landed = lambda batch: {}
    loaded._finish = lambda run, batch, landed, source: {}
    loaded._set_properties = loaded.known.append
    loaded._ways_with_held_rows = lambda *_, **__: []
    return loaded


def test_each_step_is_held_to_the_steps_before(floodmark: SimpleNamespace) -> None:
    """All of the first step lay on one day: as if the table were by month, too."""
    run: dict[str, Any] = {"settings": {"strategy": "insert_overwrite", "partition_by": ["part"]}}
    run["settings"]["watermark"] = {"column": "ts"}
    run["zone"] = None
    floodmark._apply(run, batch_of(True), source_of("month", "day"))
    wide = {"column": "part", "ways": ["month", "day"]}
    assert floodmark.sent == [{"floodmark.zone": "UTC", **floodmark._partitions_property(wide)}]
    assert run["zone"] == {"session": "UTC", "kept": "UTC", "partitions": wide}
    floodmark._keep_partitions(run, batch_of(False), source_of("day"))
    narrow = {"column": "part", "ways": ["day"]}
    assert floodmark.known == [floodmark._partitions_property(narrow)]
    floodmark._keep_partitions(run, batch_of(False), source_of("week", "day"))
    assert len(floodmark.known) == 1
    with pytest.raises(Refused, match=r"got \"Part by month\"; expected part by day"):
        floodmark._keep_partitions(run, batch_of(False), source_of("month"))


def test_other_strategies_make_no_partitions(floodmark: SimpleNamespace) -> None:
    assert floodmark._made_partitions({"settings": {"strategy": "merge"}}, {}, {}) is None
    assert floodmark._partition_properties(None) == {}
