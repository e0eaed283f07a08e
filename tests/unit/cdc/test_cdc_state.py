"""What lies beside a table of cdc follows the table, whatever was done to its columns; without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

STATE = "shop.orders__cdc_state"
MODE = "delta.columnMapping.mode"


def columns_of(types: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in types.items()]


def macros(known: dict[str, str]) -> tuple[SimpleNamespace, list[str]]:
    """The macros beside a state table with these columns, and what they send."""
    floodmark = load(this="shop.orders")
    sent: list[str] = []
    floodmark._execute = sent.extend
    floodmark._state_relation = lambda: STATE
    floodmark._columns_of = lambda query=None, relation=None: columns_of(known)
    floodmark._unfit_columns = lambda known, columns: []
    floodmark._model_id = lambda: "shop.orders"
    return floodmark, sent


def fitted(known: dict[str, str], table: dict[str, str]) -> list[str]:
    floodmark, sent = macros(known)
    floodmark._fit_state(STATE, columns_of(table))
    return [sql.removeprefix(f"alter table {STATE} ") for sql in sent]


@pytest.mark.parametrize(
    ("known", "table", "sent"),
    [
        ({"v": "int"}, {"v": "int"}, []),
        ({"v": "int"}, {"V": "bigint"}, ["alter column `v` type bigint"]),
        ({"v": "int"}, {"v": "decimal(12,2)"}, ["alter column `v` type decimal(12,2)"]),
        ({"v": "date"}, {"v": "timestamp_ntz"}, ["alter column `v` type timestamp_ntz"]),
        ({"p": "struct<a:int>"}, {"p": "struct<a:bigint>"}, ["alter column `p`.`a` type bigint"]),
        ({"v": "int"}, {"v": "int", "n": "string"}, ["add columns (`n` string)"]),
        # Fields may come in the middle, stand elsewhere, or be gone.
        ({"p": "struct<a:int,c:int>"}, {"p": "struct<a:int,b:string,c:int>"}, ["add columns (`p`.`b` string)"]),
        ({"p": "array<struct<c:int>>"}, {"p": "array<struct<b:string,c:int>>"}, ["add columns (`p`.element.`b` string)"]),
        ({"p": "struct<a:int,c:int>"}, {"p": "struct<c:int,a:int>"}, []),
        ({"p": "struct<a:int,c:int>"}, {"p": "struct<c:int>"}, []),
        ({"gone": "int", "v": "int"}, {"v": "int"}, []),
    ],
)  # fmt: skip
def test_it_gets_what_the_table_has_got(
    known: dict[str, str], table: dict[str, str], sent: list[str]
) -> None:
    found = [sql for sql in fitted(known, table) if not sql.startswith("set tblproperties")]
    assert found == sent


@pytest.mark.parametrize(
    ("of_state", "of_table", "name", "switched"),
    [
        ({}, {MODE: "name"}, "net price", ["'name'"]),
        # A table that is there takes this mode alone.
        ({}, {MODE: "id"}, "net price", ["'name'"]),
        ({MODE: "id"}, {MODE: "id"}, "net price", []),
        ({}, {MODE: "name"}, "price", []),
        ({}, {}, "net price", ["'name'"]),
    ],
)
def test_the_table_may_have_got_its_mapping_later(
    of_state: dict[str, str], of_table: dict[str, str], name: str, switched: list[str]
) -> None:
    floodmark, sent = macros({"v": "int"})
    floodmark._present_relation = lambda: True
    floodmark._properties_of = lambda relation: of_state if relation == STATE else of_table
    floodmark._fit_state(STATE, columns_of({"v": "int", name: "int"}))
    assert sent == [
        f"alter table {STATE} set tblproperties ('{MODE}' = {mode})" for mode in switched
    ] + [f"alter table {STATE} add columns (`{name}` int)"]


@pytest.mark.parametrize(
    ("known", "table", "wrong"),
    [
        ("int", "int", []),
        ("varchar(5)", "varchar(9)", []),
        ("struct<a:int,c:int>", "struct<c:int,b:int,a:int>", []),
        ("int", "string", ["v as int where the table has string"]),
        ("bigint", "int", ["v as bigint where the table has int"]),
        ("map<string,int>", "map<string,bigint>", ["v as map<string,int> where the table has map<string,bigint>"]),
        ("struct<a:int>", "struct<a:string>", ["v as struct<a:int> where the table has struct<a:string>"]),
    ],
)  # fmt: skip
def test_any_other_type_does_not_fit(known: str, table: str, wrong: list[str]) -> None:
    assert load()._unfit_columns(columns_of({"v": known}), columns_of({"V": table})) == [
        text.replace("v as", "V as", 1) for text in wrong
    ]


def test_what_does_not_fit_is_refused_by_name() -> None:
    floodmark, _ = macros({"v": "int"})
    floodmark._unfit_columns = lambda known, columns: ["v as int where the table has string"]
    with pytest.raises(Refused, match=f"{STATE}, which holds .* has v as int where the table"):
        floodmark._fit_state(STATE, columns_of({"v": "string"}))


def test_what_is_remembered_is_read_by_name() -> None:
    """A UNION takes fields by their place, so they are put in the table's order first."""
    known = {"id": "int", "p": "struct<a:int,c:int>", "_floodmark_kind": "string"}
    floodmark, _ = macros(known)
    same = floodmark._remembered(columns_of({"ID": "int", "p": "struct<a:int,c:int>"}))
    assert same["from"] == STATE
    other = columns_of({"id": "int", "p": "struct<c:int,b:string,a:int>", "new": "int"})
    moved = floodmark._remembered(other)
    assert [column["name"] for column in moved["columns"]] == ["id", "p", "_floodmark_kind"]
    assert "named_struct('c', `p`.`c`, 'b', cast(null as string), 'a', `p`.`a`)" in moved["from"]
    assert moved["from"].startswith("(select `id`, if(`p` is null") and STATE in moved["from"]


def test_what_is_written_has_its_own_fields() -> None:
    floodmark = load()
    state = columns_of({"id": "int", "p": "struct<a:int,c:int>", "_floodmark_at": "timestamp"})
    source: dict[str, Any] = {"resolved": "resolved"}
    same = floodmark._scd2_state_rows_sql(source, state, "true", columns_of({"id": "int"}))
    assert "named_struct" not in same
    table = columns_of({"id": "int", "p": "struct<c:int>"})
    sql = floodmark._scd2_state_rows_sql(source, state, "true", table)
    assert "named_struct('a', cast(null as int), 'c', `p`.`c`)) as `p`" in sql


DAY = 86_400_000_000
#: When a run is, 2024-03-31.
NOW = 19_813 * DAY


def without_quarantine() -> SimpleNamespace:
    floodmark = load()
    floodmark._now = lambda: NOW
    floodmark._quarantine_relation = lambda relation: "held"
    floodmark._has_quarantine = lambda quarantine: False
    return floodmark


@pytest.mark.parametrize(
    ("lookback", "mark", "family", "since"),
    [
        (None, "2024-03-30 00:00:00.000000", "timestamp", "2024-02-29 00:00:00.000000"),
        # Runs are rare: what came soon behind the mark is only read now.
        (None, "2024-01-31 00:00:00.000000", "timestamp", "2024-01-01 00:00:00.000000"),
        ("2 days", "2024-03-30 00:00:00.000000", "timestamp", "2024-02-27 00:00:00.000000"),
        ("2 days", "2024-03-30 00:00:00.000000", "date", "2024-02-27 00:00:00.000000"),
        # The lookback is of the mark, and not of now.
        ("2 days", "2024-01-31 00:00:00.000000", "timestamp_ntz", "2023-12-30 00:00:00.000000"),
        # The mark may lie ahead.
        ("1 hour", "2024-03-31 12:00:00.000000", "timestamp", "2024-03-01 00:00:00.000000"),
        # Numbers tell no time, and the first batch reads nothing again.
        (5, "1000", "sequence", "2024-03-01 00:00:00.000000"),
        ("2 days", None, "timestamp", "2024-03-01 00:00:00.000000"),
    ],
)
def test_a_delete_counts_until_no_event_before_its_end_is_read_any_more(
    lookback: Any, mark: str | None, family: str, since: str
) -> None:
    """An event that was ignored would bring the row back."""
    floodmark = without_quarantine()
    settings = {"cdc": {"tombstone_ttl": "30 days"}, "watermark": {"lookback": lookback}}
    run = {"settings": settings, "state": {"committed": {"mark": mark, "family": family}}}
    assert floodmark._alive_sql(run) == (
        f"(_floodmark_kind <> 'delete' or _floodmark_at > timestamp'{since}+00:00')"
    )


@pytest.mark.parametrize("family", ["sequence", "version"])
def test_of_numbers_the_commit_that_was_read_last_tells_the_time(family: str) -> None:
    """Within a day: over Thrift it is of the session's zone."""
    floodmark = without_quarantine()
    settings = {"cdc": {"tombstone_ttl": "30 days"}, "watermark": {"lookback": None}}
    committed = {"mark": "9", "family": family, "upstream_at": "2024-02-01 10:00:00.123000"}
    run = {"settings": settings, "state": {"committed": committed}}
    assert "timestamp'2024-01-01 10:00:00.000000+00:00'" in floodmark._alive_sql(run)


def test_a_delete_counts_as_long_as_it_is_remembered() -> None:
    floodmark = without_quarantine()
    first = {"settings": {"cdc": {"tombstone_ttl": "1 day"}, "watermark": None}, "state": {}}
    assert "timestamp'2024-03-30 00:00:00.000000+00:00'" in floodmark._alive_sql(first)


@pytest.mark.parametrize(
    ("start", "ttl", "asked", "bounds"),
    [
        (None, "1 day", {"backfill": {}}, "`n` <= 30"),
        # What lies below `start` was never loaded, but for what the backfill loads.
        (3, "1 day", {"backfill": {}}, "`n` >= 3 and `n` <= 30"),
        (8, "1 day", {"backfill": {}}, "`n` >= 5 and `n` <= 30"),
        (None, None, {"backfill": {}}, None),
        # A restatement reads all of the feed itself.
        (None, "1 day", {"restate": {"from": "1"}}, None),
    ],
)
def test_a_backfill_reads_the_deletes_of_its_keys_wherever_they_lie(
    start: int | None, ttl: str | None, asked: dict[str, Any], bounds: str | None
) -> None:
    """An upsert that was ignored when it came would bring its key back where they are forgotten."""
    floodmark = load()
    floodmark._partition_values_sql = lambda run, columns, sql: sql
    floodmark._without_replaced_sql = lambda run, columns, sql: sql
    floodmark._restated_events_sql = lambda run, batch, sql, type: sql
    cdc = {"tombstone_ttl": ttl, "deletes": "op = 'd'", "truncates": None, "sequence": "seq"}
    run: dict[str, Any] = {
        "settings": {"cdc": cdc, "unique_key": ["k"], "watermark": {"start": start}},
        "state": {"committed": {"mark": "30"}},
        "sql": "select * from feed where /*floodmark:bounds `n`*/ true /*floodmark:end*/",
    }
    batch = {
        "kind": "backfill", "asked": asked, "family": "sequence", "lookback": 0, "nulls": "error",
        "low_position": 4, "high_position": 9, "start_position": None,
    }  # fmt: skip
    columns = columns_of({"k": "int", "_floodmark_sequence": "bigint"})
    sql = floodmark._staged_events_sql(run, batch, columns, "the range")
    found = re.findall(r"select \* from feed where \((.*)\)", sql)
    assert found == ([bounds] if bounds else [])
    assert ("on d.`k` <=> e.`k` and not e._floodmark_truncate" in sql) == (bounds is not None)
    batch["kind"] = "incremental"
    assert "from feed" not in floodmark._staged_events_sql(run, batch, columns, "the range")


@pytest.mark.parametrize(("ttl", "micros"), [("30 days", 30 * DAY), ("200000000 days", 2**63 - 1)])
def test_a_delete_counts_for_rows_that_wait_in_the_quarantine(ttl: str, micros: int) -> None:
    """A row may come as late as the delete is remembered, and wait as long: only the sum is too long."""
    floodmark = load()
    floodmark._now = lambda: NOW
    floodmark._quarantine_relation = lambda relation: "held"
    floodmark._has_quarantine = lambda quarantine: quarantine == "held"
    run = {"settings": {"cdc": {"tombstone_ttl": ttl}, "watermark": None}}
    sql = floodmark._alive_sql(run)
    assert (
        f" > least({floodmark._position_literal(NOW - floodmark._parse_duration(ttl), 'timestamp')}, ("
        in sql
    )
    assert sql.endswith(
        f"(select timestamp_micros(unix_micros(min(_floodmark_quarantined_at)) - {micros}) from held "
        "where _floodmark_state = 'open')))"
    )
    # The statement that tells whether there is one is only sent where deletes are forgotten.
    floodmark._has_quarantine = lambda quarantine: pytest.fail("nobody need ask")
    run["settings"]["cdc"]["tombstone_ttl"] = None
    assert floodmark._alive_sql(run) == "true"
