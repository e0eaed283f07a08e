"""The partitions of a SELECT that filters what it has grouped or ranked; without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

HAVING = "select cast(ts as date) as day, max(ts) as ts from raw.up where filter group by 1 having count(*) >= 3"
RANKED = "row_number() over (partition by id order by ts) as nr"
COLUMNS = [{"name": "day", "type": "date"}, {"name": "ts", "type": "timestamp"}]


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros; `asked` has what a _derivation was asked of, `found` what it finds next."""
    loaded = load(this="shop.orders")
    loaded.asked, loaded.found = [], []
    loaded._model_id = lambda: "shop.orders"

    def derivation(run: Any, columns: Any, family: str, from_sql: str) -> dict[str, Any]:
        loaded.asked.append(from_sql)
        return loaded.found.pop(0)

    loaded._derivation = derivation
    return loaded


def run_of(sql: str = HAVING, **zone: Any) -> dict[str, Any]:
    kept = {"column": "day", "ways": ["month", "day"]}
    return {
        "sql": sql,
        "settings": {
            "strategy": "insert_overwrite",
            "watermark": {"column": "ts"},
            "partition_by": ["day"],
        },
        "upstream": {"relation": "raw.up", "column": "at"},
        "zone": {"partitions": kept} | zone,
        "guarded": False,
    }


def batch_of(**more: Any) -> dict[str, Any]:
    batch = {"kind": "incremental", "replaces": False, "family": "timestamp", "nulls": "error"}
    return batch | {"low_position": 4, "high_position": 9, "lookback": 0, "start_position": None, **more}  # fmt: skip


@pytest.mark.parametrize(
    ("sql", "filters"),
    [
        (HAVING, True),
        (f"select * from (select id, {RANKED} from raw.up where filter) where nr = 1", True),
        (
            f"with a as (select {RANKED} from up), b as (select * from a where nr = 1) select *",
            True,
        ),
        (f"select id from raw.up qualify {RANKED} = 1", True),
        ("select * from (select day, count(*) as n from up group  by day) where n > 2", True),
        # What is filtered before it is grouped or ranked.
        ("select id, ts, cast(ts as date) as day from raw.up where filter", False),
        ("select day, count(*) as n from (select * from raw.up where filter) group by day", False),
        (f"select id, {RANKED} from raw.up where filter", False),
        (
            f"with a as (select {RANKED} from up where filter) select 'having' as where_ from a",
            False,
        ),
        # What may have been loaded long ago.
        (HAVING.replace("filter", "ts > now() - interval 3 days"), False),
        (HAVING.replace("filter", "ts > (select max(ts) from shop.orders)"), False),
    ],
)
def test_which_selects_filter_groups(floodmark: SimpleNamespace, sql: str, filters: bool) -> None:
    assert floodmark._filters_groups(sql) is filters


def test_the_upstreams_rows_count_in_each_way_that_fits(floodmark: SimpleNamespace) -> None:
    at = "cast(`at` as timestamp)"
    bounds = floodmark._bounds_predicate("`at`", batch_of())
    month, day = (
        f"select {at} as `ts`, cast(date_trunc('{unit}', {at}) as date) as `day` from raw.up where `at` is not null and {bounds}"
        for unit in ("month", "day")
    )
    assert floodmark._due_rows_sql(run_of(), batch_of(), COLUMNS) == f"{month}\nunion all {day}"


def test_a_partition_that_is_the_watermark_stands_there_once(floodmark: SimpleNamespace) -> None:
    """Spark does not know which of two columns of one name is meant."""
    run = run_of("select day, count(*) from raw.up where filter group by 1 having count(*) > 2")
    run["settings"]["watermark"] = {"column": "DAY"}
    run["table_columns"] = COLUMNS[:1]
    batch = batch_of(family="date", low_position=0, high_position=86_400_000_000)
    day = {"rows": 1, "ways": ["day"], "first": "1970-01-02", "last": "1970-01-02"}
    near = day | {"least": "1970-01-02", "greatest": "1970-01-02", "units": ["day"]}
    floodmark._rounded_select = lambda run, batch, columns, near: "rounded"
    floodmark.found = [near, near, day, near]
    for found in (near, NONE):
        assert floodmark._with_due_rows(run, batch, COLUMNS[:1], found)["is_due"]
    source = {"columns": COLUMNS[:1], "stage": "stage", "counts": near}
    floodmark._ways_with_held_rows(run, batch, source, COLUMNS[0], of_all=True)
    literal, due, given, held = floodmark.asked[0].splitlines()[2], *floodmark.asked[1:]
    assert literal == "union all select date'1970-01-02'"
    assert re.findall(r"select (.*) from", due) == ["cast(`at` as date) as `day`"]
    assert given == "(\nselect `day` as `DAY` from (\nrounded\n))"
    assert held == "(select `DAY` from stage union all select `DAY` from shop.orders)"


@pytest.mark.parametrize(
    ("run", "more"),
    [
        (run_of("select ts, day from raw.up where filter"), {}),
        (run_of(partitions=None), {}),
        (run_of(partitions={"column": "week", "ways": ["week"]}), {}),
        (run_of() | {"zone": None}, {}),
        (run_of(), {"judged_by": "dead"}),
    ],
)
def test_where_they_do_not_count(
    floodmark: SimpleNamespace, run: dict[str, Any], more: dict[str, Any]
) -> None:
    found = {"rows": 0, "ways": [], "units": []}
    assert floodmark._with_due_rows(run, batch_of(**more), COLUMNS, found) is found
    assert not floodmark.asked


NEAR = {"rows": 2, "ways": [], "units": [], "first": "5", "last": "9"}
NEAR |= {"least": "1970-01-01", "greatest": "1970-01-01"}
NONE = {"rows": 0, "ways": ["month", "day"], "units": ["month", "day"]}


@pytest.mark.parametrize(
    ("found", "given", "is_due"),
    [
        # Nothing passes of the new rows alone: the whole partitions tell how the SELECT partitions.
        (NONE, {"rows": 1, "ways": ["day"]}, True),
        (NONE, {"rows": 0, "ways": ["day"]}, True),
        (NONE, {"rows": 1, "ways": ["year"]}, False),
        (NEAR | {"ways": ["day"]}, None, True),
        (NEAR | {"ways": ["week"]}, None, False),
    ],
)
def test_a_select_that_partitions_in_another_way_is_left_to_the_check(
    floodmark: SimpleNamespace, found: dict[str, Any], given: dict[str, Any] | None, is_due: bool
) -> None:
    floodmark._rounded_select = lambda run, batch, columns, near: "rounded"
    floodmark.found = [NEAR, given]
    near = floodmark._with_due_rows(run_of(), batch_of(), COLUMNS, found)
    assert near.get("is_due", False) is is_due
    if is_due:
        assert (near["units"], near["least"]) == (["month", "day"], "1970-01-01")
    else:
        assert near is found
    # What the SELECT gave of the new rows stays in the range.
    literals = "\nunion all select timestamp'1970-01-01 00:00:00.000005+00:00', date'1970-01-01'"
    assert [literals in sql for sql in floodmark.asked[:1]] == ([bool(found["rows"])] if given or is_due else [])  # fmt: skip


@pytest.mark.parametrize(("due", "least"), [(None, "b"), ({"least": "a", "greatest": "z"}, "a")])
def test_a_batch_replaces_what_it_was_read_for(
    floodmark: SimpleNamespace, due: dict[str, Any] | None, least: str
) -> None:
    floodmark.found = [{"rows": 1, "units": ["day"], "ways": ["day"], "zone": "UTC", "least": "b"}]
    source = {"columns": COLUMNS, "stage": "stage"}
    counts = floodmark._partition_counts(run_of(), batch_of(due_range=due), source)
    assert (counts["rows_read"], counts["least"]) == (1, least)


@pytest.mark.parametrize("has_none", [True, False])
def test_rows_go_where_nothing_of_their_partition_passes(
    floodmark: SimpleNamespace, has_none: bool
) -> None:
    asked: list[str] = []
    floodmark._has_no_rows = lambda relation: asked.append(relation) or has_none
    counts = {"rows_read": 0, "least": "2024-01-02", "greatest": "2024-01-03"}
    source = {"columns": COLUMNS, "stage": "stage", "counts": counts}
    batch = batch_of(due_range={"is_due": True})
    assert floodmark._overwrite_changes(run_of(), batch, source) is not has_none
    assert asked == ["shop.orders where `day` between date'2024-01-02' and date'2024-01-03'"]
    # Of any other SELECT an empty batch replaces nothing.
    assert not floodmark._overwrite_changes(run_of(), batch_of(due_range=None), source)
    assert len(asked) == 1


DAYS = {"rows": 1, "least": "2024-01-02", "greatest": "2024-01-03"}
WITHIN = "try_cast(text as date) between date'2024-01-02' and date'2024-01-03'"


@pytest.mark.parametrize(
    ("sql", "more", "found", "within"),
    [
        (HAVING, {"due_range": DAYS}, [], WITHIN),
        (HAVING, {"due_range": None}, [], None),
        (HAVING, {}, [], None),
        # Nobody knows any more what a dead run was read for.
        (HAVING, {"is_taken_over": True, "judged_by": "dead"}, [DAYS], WITHIN),
        (HAVING, {"is_taken_over": True}, [{"rows": 0}], None),
        ("select ts, day from raw.up where filter", {"is_taken_over": True}, [], None),
    ],
)
def test_open_rows_of_what_it_was_read_for_came_again(
    floodmark: SimpleNamespace,
    sql: str,
    more: dict[str, Any],
    found: list[dict[str, Any]],
    within: str | None,
) -> None:
    """Also where nothing of their partition passes, so that no row tells of it."""
    floodmark.found = found
    run = run_of(sql) | {"table_columns": COLUMNS}
    assert floodmark._due_again_sql(run, batch_of(**more), "text") == within
    assert floodmark.found == []


def test_what_a_dead_run_staged_of_such_a_select_is_staged_anew(floodmark: SimpleNamespace) -> None:
    floodmark._select_columns_of = lambda run, batch, sql: COLUMNS
    assert floodmark._overwrite_selected(run_of(), batch_of(), "select") == []
    plain = run_of("select ts, day from raw.up where filter")
    assert floodmark._overwrite_selected(plain, batch_of(), "select") == COLUMNS
