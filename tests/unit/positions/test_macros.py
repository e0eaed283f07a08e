"""Macros rendered without Spark and without dbt: text halves and arithmetic."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest

from tests.support.macros import MACROS, Refused, load

HOUR, DAY = 3_600_000_000, 86_400_000_000


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


def test_a_loop_that_has_an_end_leaves_it() -> None:
    """Jinja asks a loop's condition of every number, also behind the last turn: 0.6 s a node, once."""
    asking = re.compile(r"{%-? *for \w+ in range\([^%]* if ")
    assert not [path for path in MACROS.rglob("*.sql") if asking.search(path.read_text())]


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2 hours", 2 * HOUR),
        ("1 day", DAY),
        ("3 WEEKS", 21 * DAY),
        ("10 microseconds", 10),
        ("5 milliseconds", 5000),
        ("1 minute", 60_000_000),
        ("0 seconds", 0),
        ("1 month", None),
        ("-1 day", None),
        ("1.5 hours", None),
        ("hours", None),
        ("7", None),
        (7, None),
        (None, None),
    ],
)
def test_parse_duration(floodmark: SimpleNamespace, text: Any, micros: int | None) -> None:
    assert floodmark._parse_duration(text) == micros


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01", 0),
        ("1970-01-02 00:00", DAY),
        ("1970-01-01T01:00:00Z", HOUR),
        ("1970-01-01 00:00:00.000001", 1),
        ("1970-01-01 00:00:00.5+00:00", 500_000),
        ("1969-12-31 23:59:59.999999", -1),
        ("2024-02-29", 1709164800 * 1_000_000),
        ("2024-02-32", None),
        ("2024-13-01", None),
        ("2024-01-01 24:00", None),
        ("2024-01-01 10:00+02:00", None),
        ("yesterday", None),
        ("20240101", None),
    ],
)
def test_parse_timestamp(floodmark: SimpleNamespace, text: str, micros: int | None) -> None:
    assert floodmark._parse_timestamp(text) == micros


@pytest.mark.parametrize("text", ["2023-02-29", "2024-02-30", "2023-04-31", "1900-02-29"])
def test_days_that_no_month_has_are_no_timestamps(floodmark: SimpleNamespace, text: str) -> None:
    assert floodmark._parse_timestamp(text) is None


@pytest.mark.parametrize(
    ("position", "family", "text", "literal"),
    [
        (1, "timestamp", "1970-01-01 00:00:00.000001", "timestamp'{}+00:00'"),
        (-1, "timestamp", "1969-12-31 23:59:59.999999", "timestamp'{}+00:00'"),
        (DAY, "timestamp_ntz", "1970-01-02 00:00:00.000000", "timestamp_ntz'{}'"),
        (DAY, "date", "1970-01-02 00:00:00.000000", "date'1970-01-02'"),
        (10**37 + 1, "sequence", "1" + "0" * 36 + "1", "{}"),
        (9007199254740993, "sequence", "9007199254740993", "{}"),
        (-5, "sequence", "-5", "{}"),
    ],
)
def test_positions_print_and_parse_back(
    floodmark: SimpleNamespace, position: int, family: str, text: str, literal: str
) -> None:
    assert floodmark._position_print(position, family) == text
    assert floodmark._position_parse(text, family) == position
    assert floodmark._position_literal(position, family) == literal.format(text)


def test_no_position_prints_and_parses_as_none(floodmark: SimpleNamespace) -> None:
    assert floodmark._position_print(None, "timestamp") is None
    assert floodmark._position_parse(None, "sequence") is None


@pytest.mark.parametrize(
    ("kind", "family"),
    [
        ("timestamp", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("date", "date"),
        ("bigint", "sequence"),
        ("decimal(38,0)", "sequence"),
        ("decimal(10,2)", None),
        ("string", None),
        ("double", None),
    ],
)
def test_position_family(floodmark: SimpleNamespace, kind: str, family: str | None) -> None:
    assert floodmark._position_family(kind) == family


def bounds(**batch: Any) -> dict[str, Any]:
    return {
        "family": "sequence",
        "low_position": None,
        "high_position": None,
        "start_position": None,
        "lookback": 0,
        "nulls": "error",
    } | batch


@pytest.mark.parametrize(
    ("batch", "predicate"),
    [
        (bounds(low_position=3, high_position=9), "(n > 3 and n <= 9)"),
        (bounds(low_position=3, high_position=9, lookback=2), "(n > 1 and n <= 9)"),
        (bounds(high_position=9), "(n <= 9)"),
        (bounds(start_position=4, high_position=9), "(n >= 4 and n <= 9)"),
        (bounds(low_position=5, start_position=4, high_position=9), "(n > 5 and n <= 9)"),
        (bounds(), "(1 = 0)"),
        (bounds(nulls="include"), "(1 = 0 or n is null)"),
        (bounds(unbounded=True), "(n is not null)"),
        (bounds(high_position=9, nulls="include"), "(n <= 9 or n is null)"),
        (
            bounds(family="timestamp", low_position=HOUR, high_position=DAY, lookback=HOUR),
            "(n > timestamp'1970-01-01 00:00:00.000000+00:00' "
            "and n <= timestamp'1970-01-02 00:00:00.000000+00:00')",
        ),
        (
            bounds(family="date", low_position=2 * DAY, high_position=3 * DAY, lookback=HOUR),
            "(n > date'1970-01-02' and n <= date'1970-01-04')",
        ),
    ],
)
def test_bounds_predicate(
    floodmark: SimpleNamespace, batch: dict[str, Any], predicate: str
) -> None:
    assert floodmark._bounds_predicate("n", batch) == predicate


@pytest.mark.parametrize(
    ("first", "last", "step", "family", "high"),
    [
        (1, 100, None, "sequence", 100),
        (1, 100, 10, "sequence", 10),
        (95, 100, 10, "sequence", 100),
        (1, 100, 1, "sequence", 1),
        (None, None, 10, "sequence", None),
        (0, 10 * DAY, DAY, "timestamp", DAY - 1),
        (0, 10 * DAY, DAY, "date", 0),
        (0, 10 * DAY, 7 * DAY, "date", 6 * DAY),
        (0, 10 * DAY, HOUR, "date", 0),
    ],
)
def test_step_high(
    floodmark: SimpleNamespace,
    first: int | None,
    last: int | None,
    step: int | None,
    family: str,
    high: int | None,
) -> None:
    assert floodmark._step_high(first, last, step, family) == high


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("plain", "'plain'"),
        ("O'Brien", r"'O\'Brien'"),
        ("back\\slash", r"'back\\slash'"),
        ("\\'", r"'\\\''"),
        ("two\nlines\r", r"'two\nlines\r'"),
        ("", "''"),
        (5, "'5'"),
        (None, "null"),
        (jinja2.Undefined(), "null"),
    ],
)
def test_string_literal(floodmark: SimpleNamespace, value: Any, literal: str) -> None:
    assert floodmark._string_literal(value) == literal


def test_quoted(floodmark: SimpleNamespace) -> None:
    assert floodmark._quoted("my key") == "`my key`"
    assert floodmark._quoted("tick`s") == "`tick``s`"
    assert floodmark._quoted_csv(["a", "b"], "t.") == "t.`a`, t.`b`"


def test_a_refusal_names_every_problem(floodmark: SimpleNamespace) -> None:
    problems = [
        {"setting": "a", "got": "it's", "expected": "x", "todo": "Do this"},
        {"setting": "b", "expected": "y", "todo": "Do that"},
    ]
    with pytest.raises(Refused) as refused:
        floodmark._refuse(problems)
    assert str(refused.value) == (
        "floodmark refuses model 'shop.orders': 2 problems\n"
        '  - a: got "it\'s"; expected x. Do this\n'
        "  - b: expected y. Do that"
    )


def test_every_marker_of_a_select_gets_the_bounds(floodmark: SimpleNamespace) -> None:
    sql = (
        "select 1 where /*floodmark:bounds `n`*/ true /*floodmark:end*/\n"
        "union all select 2 where /*floodmark:bounds o.`n`*/ true /*floodmark:end*/"
    )
    batch = bounds(low_position=1, high_position=2) | {"files": None}
    assert floodmark._select_of(batch, sql) == (
        "select 1 where (`n` > 1 and `n` <= 2)\nunion all select 2 where (o.`n` > 1 and o.`n` <= 2)"
    )
    in_capitals = sql + sql.replace("o.", "O.")
    assert floodmark._select_of(batch, in_capitals).count("/*floodmark") == 0


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ("ref('orders')", "orders"),
        ("ref('shop', 'orders')", "orders"),
        ("ref('orders', v='1')", "orders.v1"),
        ('ref("shop", "orders", version = 2)', "orders.v2"),
        ("ref('orders', v=var('which'))", "orders"),
        ("source('raw', 'orders'), preimages=true", "raw.orders"),
        ("ref('orders')) }} join {{ floodmark.changes(ref('orders', v=1)", None),
        ("ref('orders')) }} join {{ floodmark.changes(ref('Orders')", None),
    ],
)
def test_the_upstream_of_changes(
    floodmark: SimpleNamespace, arguments: str, name: str | None
) -> None:
    code = "select * from {{ floodmark.changes(" + arguments + ") }}"
    left_out = "{# from {{ floodmark.changes(ref('old')) }}\n#}"
    assert floodmark._changes_name(left_out + code) == name


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("seq", ["seq"]),
        ("`My Column`", ["my column"]),
        ("cast(seq as bigint)", ["seq"]),
        ("struct(day, seq)", ["day", "seq"]),
        ("coalesce(updated_at, date'2024-01-01')", ["updated_at"]),
        ("date(day)", ["day"]),
        ("cast(day as date)", ["day"]),
        ("payload.seq", []),
        ("to_day + seq_nr", []),
        ("op = 'day'", ["op"]),
        ("`event date`", []),
        ("`Event`", ["event"]),
        ("struct(`event date`, seq)", ["seq"]),
        ("updated_at::date", ["updated_at"]),
        ("updated_at :: DATE", ["updated_at"]),
        ("extract(year from day)", ["day"]),
        ("case when op = 'x' then seq else day end", ["op", "seq", "day"]),
        ("`end`", ["end"]),
        ("`payload`.seq + payload.`day`", []),
    ],
)
def test_the_columns_that_an_expression_names(
    floodmark: SimpleNamespace, expression: str, names: list[str]
) -> None:
    columns = ["seq", "My Column", "day", "updated_at", "payload", "op", "struct"]
    columns += ["event", "date", "year", "end"]
    found = [name.lower() for name in columns if floodmark._is_named(name, [expression])]
    assert sorted(found) == sorted(names)


@pytest.mark.parametrize(
    ("value", "distance"),
    [
        (5, 5),
        ("5", 5),
        (5.0, 5),
        (0, 0),
        ("0 hours", 0),
        ("05 minutes", 300_000_000),
        (-5, None),
        (True, None),
        ("soon", None),
    ],
)
def test_distance(floodmark: SimpleNamespace, value: Any, distance: int | None) -> None:
    assert floodmark._distance(value) == distance


def column(name: str, kind: str) -> dict[str, str]:
    return {"name": name, "type": kind}


def merge_text(columns: list[dict[str, str]], counts: dict[str, Any], **config: Any) -> str:
    floodmark = load(config=config)
    run = {"settings": {"unique_key": ["id"], "watermark": {"column": "ts"}, "strategy": "merge"}}
    source = {
        "sql": "select * from stage",
        "stage": "stage",
        "columns": columns,
        "counts": counts,
    }
    text = floodmark._merge_sql(run, source, [c["name"] for c in columns])
    return re.sub(r"\s+", " ", text).strip()


COLUMNS = [column("id", "bigint"), column("v", "string"), column("ts", "timestamp")]


def test_merge_joins_within_the_key_range() -> None:
    text = merge_text(COLUMNS, {"min_0": "1", "max_0": "9", "null_0": 0})
    assert "using ( select * from stage ) as DBT_INTERNAL_SOURCE" in text
    assert (
        "on DBT_INTERNAL_SOURCE.`id` = DBT_INTERNAL_DEST.`id` and (DBT_INTERNAL_DEST.`id` "
        "between cast('1' as bigint) and cast('9' as bigint)) when matched"
    ) in text
    assert "DBT_INTERNAL_SOURCE.`ts` > DBT_INTERNAL_DEST.`ts`" in text
    assert text.endswith(
        "when not matched then insert (`id`, `v`, `ts`) values (DBT_INTERNAL_SOURCE.`id`, "
        "DBT_INTERNAL_SOURCE.`v`, DBT_INTERNAL_SOURCE.`ts`)"
    )


def test_merge_with_null_keys_looks_at_null_keys_too() -> None:
    text = merge_text(COLUMNS, {"min_0": "1", "max_0": "9", "null_0": 2})
    assert "on DBT_INTERNAL_SOURCE.`id` <=> DBT_INTERNAL_DEST.`id` and" in text
    assert "and cast('9' as bigint) or DBT_INTERNAL_DEST.`id` is null)" in text


def test_merge_of_repeated_keys_takes_the_latest() -> None:
    text = merge_text(COLUMNS, {"repeated": 1})
    assert (
        "row_number() over (partition by `id` order by `ts` desc nulls last, named_struct('a', xxhash64(0, "
        in text
    )
    assert "where _floodmark_rank = 1" in text


def test_merge_without_the_watermark_column_updates_what_differs() -> None:
    text = merge_text(COLUMNS[:2], {})
    assert re.search(r"when matched and named_struct\(.*\) <> named_struct\(.*\) then update", text)


def test_merge_columns_are_narrowed_by_the_config() -> None:
    text = merge_text(COLUMNS, {}, merge_update_columns=["V"])
    assert re.search(r"update set DBT_INTERNAL_DEST.`v` = DBT_INTERNAL_SOURCE.`v` when not", text)
    text = merge_text(COLUMNS, {}, merge_exclude_columns=["v"])
    assert "DBT_INTERNAL_DEST.`v` = " not in text


def test_merge_takes_incremental_predicates() -> None:
    text = merge_text(COLUMNS, {}, incremental_predicates=["DBT_INTERNAL_DEST.day > 1"])
    assert "<=> DBT_INTERNAL_DEST.`id` and (DBT_INTERNAL_DEST.day > 1) when matched" in text


@pytest.mark.parametrize(
    ("text", "kind", "literal"),
    [
        ("612762", "string", r"'a\'b'"),
        ("247B617D", "string", r"'\u0024{a}'"),
        ("4DFC6C", "string", "cast(X'4DFC6C' as string)"),
        ("323032342D3035", "varchar(7)", "'2024-05'"),
        ("1", "timestamp", "timestamp_micros(1)"),
        ("2024-01-01", "date", "date'2024-01-01'"),
        ("2024-01-01 00:00:00", "timestamp_ntz", "timestamp_ntz'2024-01-01 00:00:00'"),
        ("1.10", "decimal(10,2)", "cast('1.10' as decimal(10,2))"),
    ],
)
def test_range_literals(floodmark: SimpleNamespace, text: str, kind: str, literal: str) -> None:
    assert floodmark._range_literal(text, kind) == literal


@pytest.mark.parametrize(
    ("kind", "expressions"),
    [
        ("varchar(7)", "try_cast(date_format(t, 'yyyy-MM') as string)"),
        ("char(10)", "try_cast(date_format(t, 'yyyy-MM-dd') as string)"),
        ("smallint", "try_cast(date_format(t, 'yyyy') as smallint)"),
    ],
)
def test_partitions_of_tables_made_by_hand_follow_from_a_time(
    floodmark: SimpleNamespace, kind: str, expressions: str
) -> None:
    found = [each["expression"] for each in floodmark._partition_expressions("t", kind)]
    assert expressions in found


def columns_of(**types: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": kind, "ddl": kind} for name, kind in types.items()]


@pytest.mark.parametrize(
    ("mode", "select", "awaited", "at_once"),
    [
        ("ignore", {"new": "int"}, [], False),
        ("append_new_columns", {"new": "int"}, [], True),
        ("append_new_columns", {}, [], False),
        ("fail", {}, [], True),
        ("sync_all_columns", {}, [], True),
        ("ignore", {"new": "int"}, ["new"], True),
        ("ignore", {"v": "date"}, [], True),
    ],
)
def test_partitions_read_again_are_compared_in_the_columns_that_both_have(
    mode: str, select: dict[str, str], awaited: list[str], at_once: bool
) -> None:
    """What on_schema_change leaves out is no difference, nor is a column that the table may generate."""
    asked: list[str] = []

    def run_query(sql: str) -> Any:
        asked.append(sql)
        return SimpleNamespace(rows=[])

    floodmark = load(run_query=run_query)
    run = {
        "settings": SimpleNamespace(on_schema_change=mode, partition_by=["day"]),
        "table_columns": columns_of(row_number="bigint", day="date", v="int", twice="int"),
        "awaited": awaited,
    }
    source = {
        "columns": columns_of(**{"day": "date", "v": "int"} | select),
        "stage": "stage",
        "counts": {"least": "2024-05-01", "greatest": "2024-05-02"},
    }
    assert floodmark._changes_partitions(run, source) is at_once
    if not at_once:
        (sql,) = asked
        assert "`v`" in sql and "`new`" not in sql and "`twice`" not in sql


@pytest.mark.parametrize(
    ("mode", "select", "at_once"),
    [
        ("ignore", {"new": "int"}, False),
        ("append_new_columns", {"new": "int"}, True),
        ("append_new_columns", {}, False),
        ("fail", {}, True),
        ("sync_all_columns", {}, True),
        ("fail", {"twice": "bigint"}, True),
        ("sync_all_columns", {"twice": "int"}, False),
    ],
)
def test_a_merge_refuses_a_column_that_is_gone_though_no_row_changes(
    mode: str, select: dict[str, str], at_once: bool
) -> None:
    """on_schema_change is asked of a batch that reads rows again and finds all of them as they were."""
    asked: list[str] = []
    floodmark = load(
        run_query=lambda sql: asked.append(sql) or SimpleNamespace(rows=[[0]]), this="shop.orders"
    )
    floodmark._wins_predicate = floodmark._latest_sql = lambda *_: "true"
    floodmark._key_predicates = lambda *_: ["true"]
    run = {
        "settings": SimpleNamespace(on_schema_change=mode),
        "table_columns": columns_of(id="int", v="int", twice="int"),
    }
    source = {"columns": columns_of(**{"id": "int", "v": "int"} | select)}
    assert floodmark._count_changes(run, source) == (1 if at_once else 0)
    assert len(asked) == (0 if at_once else 1)


def made_by_hand(strategy: str, mode: str = "ignore", **more: Any) -> dict[str, Any]:
    watermark = SimpleNamespace(column="ts", start=more.pop("start", None))
    settings = SimpleNamespace(
        strategy=strategy,
        on_schema_change=mode,
        unique_key=["id", "gone"],
        partition_by=["day"],
        watermark=watermark,
    )
    target = {"is_empty": more.pop("is_empty", True)}
    return {"settings": settings, "table_columns": columns_of(v="int"), "target": target} | more


@pytest.mark.parametrize(
    ("run", "refused"),
    [
        (made_by_hand("merge"), {"unique_key": "id"}),
        (made_by_hand("merge", awaited=["id"]), {}),
        (made_by_hand("merge", "append_new_columns"), {}),
        (made_by_hand("merge", "append_new_columns", is_empty=False), {"unique_key": "id"}),
        (made_by_hand("insert_overwrite", "sync_all_columns", is_empty=False), {"partition_by": "day"}),
        (made_by_hand("merge", "fail"), {"unique_key": "id"}),
        (made_by_hand("insert_overwrite"), {"partition_by": "day"}),
        (made_by_hand("insert_overwrite", start=1), {"partition_by": "day", "watermark.column": "ts"}),
        (made_by_hand("append"), {}),
        (made_by_hand("merge", table_columns=columns_of(ID="int")), {}),
    ],
)  # fmt: skip
def test_a_table_without_a_column_that_finds_its_rows_is_refused(
    run: dict[str, Any], refused: dict[str, str]
) -> None:
    floodmark = load()
    failed: list[str] = []
    problems: list[dict[str, str]] = []

    def refuse(found: list[dict[str, str]], rejects: str) -> None:
        problems.extend(found)
        failed.append(rejects)

    floodmark._refuse = refuse
    columns = columns_of(id="int", v="int", day="date", ts="timestamp")
    floodmark._check_table_columns(
        run, {"kind": "incremental", "replaces": False, "family": "timestamp"}, columns
    )
    assert {problem["setting"]: problem["got"] for problem in problems} == refused
    assert len(failed) == (1 if refused else 0)
    for problem in problems:
        added = f"add columns (`{problem['got']}` "
        way_out = (
            added
            if run["target"]["is_empty"]
            else "Run once with --full-refresh: the rows that are there have no value"
        )
        assert way_out in problem["todo"]


@pytest.mark.parametrize("mode", ["ignore", "append_new_columns", "sync_all_columns", "fail"])
@pytest.mark.parametrize("scd_type", [1, 2])
def test_a_snapshot_compares_what_had_no_type_before(mode: str, scd_type: int) -> None:
    """`n` was kept out of the table while it was untyped: it is no column that came since."""
    snapshot = SimpleNamespace(version=None, compared=[], excepted=[], scd_type=scd_type)
    floodmark = load()
    run = {
        "settings": SimpleNamespace(
            snapshot=snapshot, unique_key=["id"], on_schema_change=mode, strategy="snapshot_diff"
        ),
        "target": SimpleNamespace(is_delta=True),
        "awaits": ["n"],
    }
    table = columns_of(id="int", v="int", _floodmark_hash="struct<a:bigint,b:bigint>")
    batch = SimpleNamespace(replaces=False)
    select = columns_of(id="int", v="int", n="bigint", new="int")
    run["awaited"] = floodmark._awaited_names(run, batch, select, table)
    assert run["awaited"] == ["n"]
    source = {
        "columns": select if mode != "fail" else select[:3],
        "table": table,
        "hashed": {"compared": ["v"], "beside": [], "added": []},
        "scd_type": scd_type,
    }
    floodmark._choose_compared(run, batch, source)
    assert set(source["compared"]) == {"n", "v"} | (
        {"new"} if mode == "sync_all_columns" else set()
    )
    assert source["rehash"]
    assert source["added"] == (["new"] if mode == "append_new_columns" else [])


def event(batch_id: int, kind: str, target_version: int | None = None) -> dict[str, Any]:
    """An event of the ledger, as far as the state of a model depends on it."""
    return {"batch_id": batch_id, "event": kind, "target_version": target_version}


def folded(floodmark: SimpleNamespace, *events: dict[str, Any]) -> tuple[Any, ...]:
    """The numbers of a state: last, finished, planned, committed, landed."""
    state = floodmark._fold_events(list(events))
    numbers = [
        state[name] and state[name]["batch_id"] for name in ("planned", "committed", "landed")
    ]
    return (state["last_batch_id"], state["finished_id"], *numbers)


def test_a_model_that_has_no_event_has_no_state(floodmark: SimpleNamespace) -> None:
    assert folded(floodmark) == (None, None, None, None, None)


def test_the_last_batch_may_be_unfinished(floodmark: SimpleNamespace) -> None:
    events = [
        event(3, "planned"),
        event(2, "committed"),
        event(2, "planned"),
        event(1, "committed", 0),
    ]
    assert folded(floodmark, *events) == (3, 2, 3, 2, 1)


@pytest.mark.parametrize("order", [1, -1])
def test_events_of_one_batch_come_in_any_order(floodmark: SimpleNamespace, order: int) -> None:
    twice = [event(2, "planned"), event(2, "committed", 7), event(2, "committed")][::order]
    assert folded(floodmark, *twice) == (2, 2, 2, 2, 2)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(("version", "committed"), [(7, 2), (None, 1)])
def test_of_failed_and_committed_the_target_decides(
    floodmark: SimpleNamespace, order: int, version: int | None, committed: int
) -> None:
    both = [event(2, "committed", version), event(2, "failed"), event(2, "planned")][::order]
    state = folded(floodmark, *both, event(1, "committed", 5))
    assert state == (2, 2, 2, committed, committed)


def test_struct_types_fall_into_their_fields(floodmark: SimpleNamespace) -> None:
    fields = floodmark._struct_fields(
        "struct<a:int,b:struct<c:decimal(10,2),d:array<int>>,m:map<string,struct<x:int>>,`my: fi``eld`:string>"
    )
    assert [(field["name"], field["type"]) for field in fields] == [
        ("a", "int"),
        ("b", "struct<c:decimal(10,2),d:array<int>>"),
        ("m", "map<string,struct<x:int>>"),
        ("my: fi`eld", "string"),
    ]


def test_leaves_are_the_fields_that_are_no_structs(floodmark: SimpleNamespace) -> None:
    leaves = floodmark._leaves("s", "`s`", "s", "struct<a:int,b:struct<c:string,`d.e`:date>>")
    assert [(leaf["path"], leaf["sql"], leaf["type"]) for leaf in leaves] == [
        ("s.a", "`s`.`a`", "int"),
        ("s.b.c", "`s`.`b`.`c`", "string"),
        ("s.b.`d.e`", "`s`.`b`.`d.e`", "date"),
    ]


@pytest.mark.parametrize(
    ("type_", "ordered"),
    [
        ("bigint", True),
        ("struct<a:int,b:timestamp>", True),
        ("interval day to second", True),
        ("map<string,int>", False),
        ("struct<a:map<string,int>>", False),
        ("variant", False),
        ("interval", False),
        ("void", False),
    ],
)
def test_a_sequence_needs_a_type_with_an_order(
    floodmark: SimpleNamespace, type_: str, ordered: bool
) -> None:
    assert floodmark._has_no_order(type_) is not ordered


def cdc_of(**cdc: Any) -> Any:
    config = {"incremental_strategy": "cdc", "unique_key": "k", "cdc": cdc}
    return load(config=config)


def test_cdc_settings_take_what_auto_cdc_takes() -> None:
    settings = cdc_of(
        sequence_by=["at", "seq"], stored_as_scd_type="2", ignore_null_updates=["v"]
    )._cdc_settings()
    assert settings["sequence"].endswith("struct(at, seq))") and settings["scd_type"] == 2
    assert settings["ignore_null_updates"] == ["v"] and settings["start_at"] == "__start_at"
    one = cdc_of(sequence_by="seq", except_column_list="op")._cdc_settings()
    assert one["sequence"] == "seq" and one["except_column_list"] == ["op"]
    assert one["ignore_null_updates"] is False and one["scd_type"] == 1


def test_every_problem_of_cdc_is_named_at_once() -> None:
    problems = cdc_of(
        stored_as_scd_type=1,
        column_list=["k"],
        except_column_list=["v"],
        start_at="from",
        tombstone_ttl="soon",
        apply_as_deletes=True,
        sequence="seq",
    )._cdc_problems()
    assert sorted(problem["setting"] for problem in problems) == [
        "cdc.apply_as_deletes",
        "cdc.column_list",
        "cdc.sequence",
        "cdc.sequence_by",
        "cdc.start_at",
        "cdc.tombstone_ttl",
    ]


def test_texts_that_are_not_utf8_are_no_range(floodmark: SimpleNamespace) -> None:
    """Delta keeps other texts as the least and the greatest of their file."""
    least, greatest = floodmark._range_counts("min_0", "max_0", "varchar(9)", "`k`", "`k`")
    guard = "if(count_if(not is_valid_utf8(`k`)) > 0, null, hex(cast("
    assert least == f"'min_0', {guard}min(`k`) as binary)))"
    assert greatest == f"'max_0', {guard}max(`k`) as binary)))"
    assert floodmark._range_counts("a", "b", "int", "l", "g")[0] == "'a', cast(min(l) as string)"
    run = SimpleNamespace(settings=SimpleNamespace(unique_key=["k"]))
    source = SimpleNamespace(columns=[{"name": "k", "type": "string"}], counts={"null_0": 0})
    assert floodmark._range_predicates(run, source) == []


def test_the_hour_of_a_date_ends_with_its_day(floodmark: SimpleNamespace) -> None:
    of_day = floodmark._unit_edges_sql("day", 0, DAY, "date")
    assert floodmark._unit_edges_sql("hour", 0, DAY, "date") == of_day
    assert "cast(date_trunc('day', date'1970-01-02') as date) + interval 1 day" in of_day
    assert "interval 1 hour" in floodmark._unit_edges_sql("hour", 0, DAY, "timestamp_ntz")


def test_no_number_has_more_digits_than_sparks_longest_type(floodmark: SimpleNamespace) -> None:
    nines = "9" * 38
    assert floodmark._position_literal(10**38, "sequence") == nines
    assert floodmark._position_literal(5 - 10**38, "sequence") == "-" + nines[:-1] + "5"
    assert floodmark._position_literal(floodmark._least_position(), "sequence") == "-" + nines


@pytest.mark.parametrize("high", [10**38 - 1, 10**38 - 2])
def test_gaps_at_the_greatest_number(high: int) -> None:
    """It has no next number that could be missing."""
    floodmark, sent = load(), []
    answers = [{"n": 2, "least": "1"}, {"count": 0, "from": [], "to": []}]
    floodmark._query_json = lambda sql: sent.append(sql) or [answers[len(sent) - 1]]
    floodmark._missing_ranges({"column": "n", "relation": "s.t"}, -(10**38), high)
    bounds, edges = sent
    assert f"`n` > -{'9' * 38}" in bounds
    assert max(len(digits) for digits in re.findall(r"\d+", edges)) == 38
    assert f"where n {'<' if high == 10**38 - 1 else '<='} {high}" in edges


def test_no_task_holds_all_gaps() -> None:
    """A sparse sequence has as many gaps as rows: what is collected has ten."""
    floodmark, sent = load(), []
    answers = [{"n": 2, "least": "1"}, {"count": 12, "from": [2, 5], "to": [3, 5]}]
    floodmark._query_json = lambda sql: sent.append(sql) or [answers[len(sent) - 1]]
    found = floodmark._missing_ranges({"column": "n", "relation": "s.t"}, 0, 99)
    assert found == {"count": 12, "shown": ["2-3", "5"], "first": 2}
    collected = re.findall(r"collect_list\((.*?)\)\) from (.*?)\)", sent[1])
    assert collected == [
        ("at", f"(select at from {edges} order by at limit 10") for edges in ("starts", "ends")
    ]
