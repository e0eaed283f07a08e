"""How partitions follow from the watermark, and what is asked of a table for them; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("family", "first"),
    [
        ("timestamp", "cast(unix_micros(min(cast(`ts` as timestamp))) as string)"),
        ("timestamp_ntz", "cast(min(cast(`ts` as timestamp_ntz)) as string)"),
        ("date", "cast(min(cast(`ts` as date)) as string)"),
    ],
)
def test_positions_are_of_the_upstreams_type(family: str, first: str) -> None:
    """The table may have another, such as a time without a zone, which unix_micros does not take."""
    floodmark, sent = load(), []
    found = {f"differ_{i}": 0 for i in range(9)} | {"rows": 1}
    floodmark._query_json = lambda sql: sent.append(sql) or [found]
    run = {"settings": {"watermark": {"column": "ts"}, "partition_by": ["day"]}}
    columns: list[dict[str, Any]] = [
        {"name": "ts", "type": "timestamp_ntz"},
        {"name": "day", "type": "date"},
    ]
    floodmark._derivation(run, columns, family, "shop.orders")
    (sql,) = sent
    assert f"'first', {first}, 'last', {first.replace('min(', 'max(')}, " in sql


@pytest.mark.parametrize(("is_empty", "low"), [(True, 40), (False, 24)])
def test_rows_below_start_are_looked_for_where_there_are_some(is_empty: bool, low: int) -> None:
    """An empty table that somebody made may not have the columns yet by which they are found."""
    sent: list[str] = []
    floodmark = load(
        run_query=lambda sql: sent.append(sql) or SimpleNamespace(rows=[[1]]), this="shop.orders"
    )
    floodmark._future_cap = lambda watermark: 70
    floodmark._position_unit = lambda family: 1
    run = {
        "settings": {"watermark": SimpleNamespace(column="ts", sql=None), "partition_by": ["day"]},
        "target": {"is_empty": is_empty},
    }
    batch = {"family": "timestamp", "start_position": 41, "low_position": None, "high_position": 60}
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "day", "type": "date"}]
    found = {"least": "1970-01-02", "greatest": "1970-01-03"}
    edges = {"low": 25, "high": 73}
    bounds = floodmark._rounded_bounds(run, batch, columns, found, edges)
    assert bounds == {"low_position": low, "high_position": 70}
    assert len(sent) == (0 if is_empty else 1)


@pytest.mark.parametrize(
    ("kind", "kept", "said"),
    [
        (
            "replay",
            {"column": "day", "ways": ["month", "day"]},
            'floodmark_replay.set: got {"at": "now()"}; expected day to follow from at by day in each row, as in shop.t. '
            "Set day as well when you replay: an expression sees the row as it is in the quarantine, not what another "
            "one gives",
        ),
        ("replay", None, "expected day to follow from at in each row, as in shop.t. Set day"),
        # What changed is the model.
        ("replay", {"column": "month", "ways": ["month"]}, "expected month by month as the rows"),
        (
            "incremental",
            {"column": "day", "ways": ["day"]},
            'partition_by: got "day by month"; expected day by day as the rows of shop.t have them. Change',
        ),
        ("incremental", None, "expected partitions as the rows of shop.t have them. Change"),
    ],
)
def test_what_is_said_of_partitions_that_do_not_follow(
    kind: str, kept: dict[str, Any] | None, said: str
) -> None:
    floodmark = load(this="shop.t")
    floodmark._model_id = lambda: "shop.t"
    run = {"settings": {"watermark": {"column": "at"}}}
    batch = {"kind": kind, "asked": {"replay": {"set": {"at": "now()"}}, "part": "rows"}}
    staged = None if kind == "replay" else ["month"]
    with pytest.raises(Refused) as refused:
        floodmark._refuse_partitions(run, batch, {"name": "day"}, kept, staged)
    assert said in " ".join(str(refused.value).split())
