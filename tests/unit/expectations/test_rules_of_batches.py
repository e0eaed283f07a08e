"""Which rules a batch is asked, what they look into, and which open rows it supersedes. Without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

ROW = {"name": "positive", "kind": "row", "max_violations": 1, "max_violation_fraction": 0.1}
BATCH = {"name": "enough", "kind": "batch", "rows": {"min": 1000}}


@pytest.mark.parametrize("kind", ["first_load", "incremental", "full_refresh", "backfill"])
def test_all_rules_are_asked(kind: str) -> None:
    assert load()._rules_of_kind(kind, [ROW, BATCH]) == [ROW, BATCH]


def test_a_replay_is_asked_of_its_rows_alone() -> None:
    asked = load()._rules_of_kind("replay", [ROW, BATCH])
    assert asked == [ROW | {"max_violations": None, "max_violation_fraction": None}]


@pytest.mark.parametrize(
    ("kind", "low", "is_violated"),
    [
        ("incremental", 9, True),
        ("stream", 9, True),
        # It reads all that its sources have.
        ("stream", None, False),
        ("first_load", None, False),
        ("full_refresh", None, False),
        ("backfill", 9, False),
    ],
)
def test_the_median_is_that_of_batches_alike(kind: str, low: int | None, is_violated: bool) -> None:
    floodmark = load()
    floodmark._query_json = lambda sql: [{"batches": 10, "rows": 100}]
    floodmark._model_id = lambda: "shop.orders"
    floodmark.ledger_schema = lambda: "shop_floodmark"
    rule = {"rows": {"min": None, "max": None, "change_from_median": 0.5, "of_last": 10}}
    batch = {"kind": kind, "batch_id": 11, "low_position": low}
    found = floodmark._rows_found(batch, rule, 5000)
    assert found["violations"] == int(is_violated)


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("incremental", "and the mark stays: correct the rows upstream, or the rule"),
        # Spark sends the rows that the checkpoint has.
        (
            "stream",
            "The stream reads the same rows again, even if you correct them upstream: change",
        ),
        # What is upstream does not come with it.
        (
            "replay",
            "and the mark stays: leave these rows out with where, or give them other values with set",
        ),
    ],
)
def test_a_batch_that_rules_reject_says_what_helps(kind: str, told: str) -> None:
    rule = {"name": "some", "kind": "batch", "on_violation": "fail", "message": None}
    result = {"name": "some", "violations": 1, "found": "0 rows, fewer than min (1)"}
    batch = {"kind": kind, "rules": [rule], "judged": {"results": [result]}}
    batch["asked"] = {"part": "rows"}
    with pytest.raises(Refused) as refused:
        load()._check_violations(batch)
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "part", "is_told"),
    [("incremental", None, False), ("replay", "records", False), ("replay", "rows", True)],
)
def test_a_replay_that_constraints_or_keys_reject_says_what_helps(
    kind: str, part: str | None, is_told: bool
) -> None:
    row = SimpleNamespace(columns=[SimpleNamespace(values=lambda: ["{}"])])
    floodmark = load(run_query=lambda sql: row)
    floodmark._constraint_results = lambda *_: [{"name": "positive", "violations": 1}]
    floodmark._broken_rows = lambda *_: "positive: {}"
    floodmark._null_key_sql = lambda run: "id is null"
    columns = [{"name": "_floodmark_sequence", "type": "int", "ddl": "int"}]
    source = {"counts": {"keyless": 1}, "columns": columns, "stage": "stage"}
    cdc = {"reads_feed": False, "sequence": "n"}
    settings = {"cdc": cdc, "unique_key": ["id"]}
    batch = {"kind": kind, "asked": {"part": part}, "settings": settings}
    told = "Nothing was written: leave these rows out with where, or give them other values"
    for check in (
        lambda: floodmark._check_constraints(batch, "stage", {"positive": "n > 0"}),
        lambda: floodmark._check_events({"settings": settings}, batch, source),
    ):
        with pytest.raises(Refused) as refused:
            check()
        assert (told in str(refused.value)) == is_told


FEW = ["min", "change_from_median"]
VERSION = {"kind": "incremental", "family": "version", "low_position": 9, "high_position": 10}


@pytest.mark.parametrize(
    ("batch", "rows", "found"),
    [
        ({"kind": "stream", "settings": {"output_mode": "append"}}, 0, []),
        ({"kind": "stream", "settings": {"output_mode": "append"}}, 1, FEW),
        # It would empty the table.
        ({"kind": "stream", "settings": {"output_mode": "complete"}}, 0, FEW),
        # The SELECT leaves out all that came.
        ({"kind": "incremental", "low_position": 9, "high_position": 10}, 0, FEW),
        ({"kind": "incremental"}, 0, FEW),
        # OPTIMIZE and VACUUM make versions without data.
        (VERSION, 0, []),
        (VERSION, 1, FEW),
        (VERSION | {"low_position": None, "kind": "first_load"}, 0, ["min"]),
        # Nothing came, and the lookback is read again.
        ({"kind": "incremental", "low_position": 9, "high_position": 9}, 1, []),
    ],
)
def test_a_batch_for_which_nothing_came_is_not_one_with_few(
    batch: dict[str, Any], rows: int, found: list[str]
) -> None:
    """A model that is stopped there gets no further."""
    floodmark, asked = load(), []
    floodmark._query_json = lambda sql: asked.append(sql) or [{"batches": 10, "rows": 100}]
    floodmark._model_id = lambda: "shop.orders"
    floodmark.ledger_schema = lambda: "shop_floodmark"
    rule = {"rows": {"min": 2, "max": None, "change_from_median": 0.5, "of_last": 10}}
    batch = {"batch_id": 11, "low_position": 8, **batch}
    told = floodmark._rows_found(batch, rule, rows)
    assert [word for word in FEW if f"{word} " in told["found"]] == found
    assert told["violations"] == bool(found)
    few = "rows_read > 0" if batch.get("family") else "(kind <> 'stream' or rows_read > 0)"
    assert all(f" and {few} and coalesce(low <> high, true) and" in sql for sql in asked)


@pytest.mark.parametrize(
    ("of_last", "batches", "is_violated"),
    [(10, 2, False), (10, 3, True), (2, 1, False), (2, 2, True), (1, 1, True), (1, 0, False)],
)
def test_the_median_is_asked_of_few_batches_where_it_is_of_few(
    of_last: int, batches: int, is_violated: bool
) -> None:
    floodmark = load()
    rows = 100 if batches else None
    floodmark._query_json = lambda sql: [{"batches": batches, "rows": rows}]
    floodmark._model_id = lambda: "shop.orders"
    floodmark.ledger_schema = lambda: "shop_floodmark"
    rule = {"rows": {"min": None, "max": None, "change_from_median": 0.5, "of_last": of_last}}
    found = floodmark._rows_found({"kind": "incremental", "batch_id": 11}, rule, 5000)
    assert found["violations"] == int(is_violated)


def test_the_median_is_that_of_batches_whose_rows_were_counted() -> None:
    """A full refresh or a reset records what a dead run has landed without its counts."""
    floodmark, asked = load(), []
    floodmark._query_json = lambda sql: asked.append(sql) or [{"batches": 0}]
    floodmark._model_id = lambda: "shop.orders"
    floodmark.ledger_schema = lambda: "shop_floodmark"
    rule = {"rows": {"min": None, "max": None, "change_from_median": 0.5, "of_last": 10}}
    floodmark._rows_found({"kind": "incremental", "batch_id": 11}, rule, 5000)
    assert " and rows_read is not null order by batch_id desc limit 10)" in asked[0]


@pytest.mark.parametrize(
    ("type", "moment"),
    [
        ("timestamp", "cast(max(`at`) as timestamp)"),
        ("date", "cast(max(`at`) as timestamp)"),
        ("timestamp_ntz", "cast(concat(cast(max(`at`) as string), '+00:00') as timestamp)"),
    ],
)
def test_a_time_without_a_zone_is_one_of_utc(type: str, moment: str) -> None:
    asked: list[str] = []
    floodmark = load()
    floodmark._query_json = lambda sql: asked.append(sql) or [{"newest": None, "is_stale": False}]
    floodmark._judged_relation = lambda batch: "judged"
    batch = {"kind": "stream", "judged": {"columns": [{"name": "At", "type": type}]}}
    floodmark._stale_found(batch, {"fresh_within": "1 day", "column": "at"})
    assert f"coalesce({moment} < timestampadd(" in asked[0]


@pytest.mark.parametrize(
    ("rule", "type", "expected"),
    [
        ({"column": "AT"}, "timestamp", None),
        ({"column": "AT"}, "timestamp_ntz", None),
        ({"column": "AT"}, "date", None),
        # Milliseconds are never stale, texts may be in another order, and Spark casts no struct.
        ({"column": "AT"}, "bigint", "a timestamp or a date"),
        ({"column": "AT"}, "string", "a timestamp or a date"),
        ({"column": "AT"}, "struct<a:date>", "a timestamp or a date"),
        ({"unique": ["AT"]}, "struct<variant:int>", None),
        ({"unique": ["AT"]}, "map<string,int>", None),
        ({"unique": ["AT"]}, "variant", "columns whose values can be compared"),
        ({"unique": ["AT"]}, "array<variant>", "columns whose values can be compared"),
        ({"unique": ["AT"]}, "interval", "columns whose values can be compared"),
    ],
)
def test_a_column_of_another_type_fits_no_rule_of_the_batch(
    rule: dict[str, Any], type: str, expected: str | None
) -> None:
    given = {"name": "a", "kind": "batch", "unique": [], "column": None} | rule
    floodmark = load()
    problems: list[dict[str, str]] = []
    floodmark._refuse = lambda found, rejects: problems.extend(found)
    floodmark._check_rules({}, {"rules": [given]}, [{"name": "at", "type": type}], "select")
    [key] = rule
    found = [(one["setting"], one["got"], one["expected"]) for one in problems]
    assert found == ([(f"expectations.a.{key}", f"AT {type}", expected)] if expected else [])


@pytest.mark.parametrize(
    ("condition", "has_one"),
    [
        ("a in (select b from t)", True),
        ("exists( -- all\n  WITH t as (values (1)) select 1)", True),
        ("a = '(select' and `(select` > 0", False),
        ("(selected > 0) and (within > 0)", False),
        ("in_relation", False),
    ],
)
def test_a_subquery_is_refused(condition: str, has_one: bool) -> None:
    floodmark = load(ref=lambda *_: None, model={})
    if condition == "in_relation":
        condition = floodmark.in_relation("c", "stores", "(select 1)")
    rule = {"name": "a", "expect": "x > 0", "where": condition}
    told = floodmark._row_rule_problems("expectations.a", rule)
    assert [one["setting"] for one in told] == ["expectations.a.where"] * has_one


@pytest.mark.parametrize(
    ("column", "sql"),
    [('"my c"', "`my c`"), ("`my c`", "`my c`"), ("c", "c"), ('lower("c")', 'lower("c")')],
)
def test_a_column_in_double_quotes_is_no_text(column: str, sql: str) -> None:
    """A text is never NULL, and always in the same set."""
    floodmark = load(ref=lambda *_: None, model={})
    assert floodmark.not_null(column) == f"{sql} is not null"
    assert floodmark.in_set(column, ["a", 1]) == f"{sql} in ('a', 1)"
    assert floodmark.in_range(column, min=0, max="b") == f"{sql} >= 0 and {sql} <= 'b'"
    assert floodmark.matches(column, "^a") == f"{sql} rlike '^a'"
    for its in (None, column):
        assert floodmark.in_relation(column, "t", its) == floodmark.in_relation(sql, "t", sql)


@pytest.mark.parametrize("resource_type", ["model", "unit_test"])
def test_a_unit_test_needs_no_input_that_a_rule_alone_reads(resource_type: str) -> None:
    """dbt renders the config again there, and knows the inputs of the test alone."""
    named: list[tuple[str, ...]] = []
    note = lambda *names: named.append(names)  # noqa: E731
    floodmark = load(ref=note, source=note, model={"resource_type": resource_type})
    given = [floodmark.in_relation("id", name) for name in ("stores", ["raw", "stores"])]
    assert all(one.startswith("floodmark_in_relation(") for one in given)
    known = [("stores",), ("raw", "stores")]
    assert named == (known if resource_type == "model" else [])


@pytest.mark.parametrize(
    ("batch", "is_violated"),
    [
        ({"kind": "incremental", "is_last": True}, True),
        ({"kind": "incremental", "is_last": False}, False),
        # A step of a catch-up, which a dead run has left.
        ({"kind": "incremental", "is_last": False, "is_taken_over": True}, False),
        ({"kind": "incremental", "is_last": True, "is_taken_over": True}, True),
        ({"kind": "stream", "is_last": False, "low_position": 4}, True),
        ({"kind": "stream", "is_last": False, "low_position": None}, False),
        ({"kind": "first_load", "is_last": True}, False),
        ({"kind": "full_refresh", "is_last": True}, False),
        ({"kind": "backfill", "is_last": True}, False),
    ],
)
def test_only_a_batch_that_reaches_the_present_is_asked_how_old_it_is(
    batch: dict[str, Any], is_violated: bool
) -> None:
    floodmark = load()
    floodmark._query_json = lambda sql: [{"newest": "2024-05-01", "is_stale": True}]
    floodmark._judged_relation = lambda batch: "judged"
    rule = {"fresh_within": "1 day", "column": "at"}
    assert floodmark._stale_found(batch, rule)["violations"] == int(is_violated)


@pytest.mark.parametrize(
    ("its", "selected"),
    [
        ("id", "_floodmark_in.id"),
        ("`store id`", "_floodmark_in.`store id`"),
        ("lower(id)", "lower(id)"),
    ],
)
def test_a_name_that_a_rule_looks_up_is_the_relations(its: str, selected: str) -> None:
    """A bare one that it lacks would be the row's own, and the rule true of each row."""
    node = SimpleNamespace(schema="shop", identifier="stores", alias="stores")
    floodmark = load(source=lambda *names: None, ref=lambda *names: None, model={})
    floodmark._rule_node = lambda names, loaded: node
    floodmark._node_relation = lambda node: "shop.stores"
    floodmark._pinned = lambda relation, node: f"{relation} version as of 3"
    floodmark._columns_of = lambda query: []
    rule = floodmark.in_relation("store_id", "stores", its=its)
    sql = floodmark._with_relations(rule, None, True, False)
    assert sql == (
        f"if((store_id) is null, null, (store_id) in (select {selected} from shop.stores version as of 3 "
        f"as _floodmark_in where {selected} is not null))"
    )


@pytest.mark.parametrize(
    ("its", "is_tried"), [("id", False), ("`id`", False), ("s.id", True), ("lower(id)", True)]
)
def test_what_is_no_name_alone_must_be_of_the_relation(its: str, is_tried: bool) -> None:
    """Spark would take `s` from the row."""
    adapter = SimpleNamespace(
        floodmark_plugin=True,
        floodmark_try=lambda macro, query: SimpleNamespace(error=f"no such\n{query}"),
    )
    node = SimpleNamespace(schema="shop", identifier="stores", alias="stores")
    floodmark = load(adapter=adapter, ref=lambda *_: None, model={})
    floodmark._rule_node = lambda names, loaded: node
    floodmark._node_relation = lambda node: "shop.stores"
    floodmark._pinned = lambda relation, node: f"{relation} version as of 3"
    floodmark._model_id = lambda: "shop.orders"
    rule = floodmark.in_relation("store_id", "stores", its=its)
    if not is_tried:
        floodmark._with_relations(rule, None, True, False)
        return
    with pytest.raises(Refused, match=re.escape(f"looks for {its} in shop.stores: no such")):
        floodmark._with_relations(rule, None, True, False)


@pytest.mark.parametrize(
    ("type", "kept"),
    [
        ("struct<interval_days:int>", "struct<interval_days:int>"),
        ("struct<`a interval`:int>", "struct<`a interval`:int>"),
        ("interval day to second", None),
        ("array<interval month>", None),
        ("void", None),
        ("array<void>", None),
        ("struct<a:int,b:void>", "struct<a:int>"),
        ("int", "int"),
    ],
)
def test_columns_that_a_quarantine_can_have(type: str, kept: str | None) -> None:
    found = load()._storable([{"name": "c", "type": type, "ddl": type}])
    wanted = {"name": "c", "type": kept, "ddl": kept, "given": type}
    assert found == ([wanted] if kept else [])


@pytest.mark.parametrize(
    ("nulls", "rows"),
    [
        ("exclude", "(`n` > 10 and `n` <= 20)"),
        ("include", "(`n` > 10 and `n` <= 20 or `n` is null)"),
    ],
)
def test_a_range_that_is_read_again(nulls: str, rows: str) -> None:
    batch: dict[str, Any] = {
        "watermark_column": "N",
        "family": "sequence",
        "low_position": 10,
        "high_position": 20,
        "nulls": nulls,
    }
    floodmark = load()
    assert floodmark._range_again_sql(batch, [{"name": "n", "type": "int"}]) == rows
    assert floodmark._range_again_sql(batch, [{"name": "other", "type": "int"}]) is None
    # A column that the quarantine has in the type of before: what came since stands in the texts.
    text = (
        "from_json(if(_floodmark_rules is null, null, _floodmark_raw), 'struct<n:decimal(38,0)>')"
    )
    found = floodmark._range_again_sql(batch, [{"name": "n", "type": "timestamp"}])
    assert found == rows.replace("`n`", f"{text}.`n`")


@pytest.mark.parametrize(
    ("expect", "asked"),
    [
        ("amount > 0", ["not (`amount` is null)"]),
        ("amount > 0 and rate > 0", ["not (`amount` is null and `rate` is null)"]),
        ("address.city is not null", ["not (`address`.city is null)"]),
        ("Address.`zip code` is not null", ["not (`address`.`zip code` is null)"]),
        (
            "address.city = address.town.name",
            ["not (`address`.city is null and `address`.town.name is null)"],
        ),
        (
            "address is not null or address.city = 'x'",
            ["not (`address` is null and `address`.city is null)"],
        ),
        # What stands before a text is its type, and what stands behind an interval its unit.
        ("amount > int'3' and at > rate'2024-01-01'", ["not (`amount` is null)"]),
        ("amount > 0 and at > now() - interval 1 rate", ["not (`amount` is null)"]),
        ("amount > 0 and at > now() - interval '1' rate", ["not (`amount` is null)"]),
        ("amount > 0 and rate like 'x'", ["not (`amount` is null and `rate` is null)"]),
        ("amount > 0 and 'x' like rate", ["not (`amount` is null and `rate` is null)"]),
        ("cast(amount as  rate) > 0", ["not (`amount` is null)"]),
        # Texts as Spark has them: with escaped quotes, in double quotes, raw, and beside names in backticks.
        (
            "rate not like '%\\'%' and amount like '%@%'",
            ["not (`amount` is null and `rate` is null)"],
        ),
        ('amount in ("new", "rate", "it\'s")', ["not (`amount` is null)"]),
        ("amount rlike r'\\' and rate = ''", ["not (`amount` is null and `rate` is null)"]),
        ("`it's` = 'x' and amount = ' rate '", ["not (`amount` is null)"]),
        ("amount > 0 -- or 'rate\n", ["not (`amount` is null)"]),
        ("rate > 0", []),
        ("id > 0", []),
    ],
)
def test_a_rule_is_not_asked_where_nothing_was_sent_of_what_it_names(
    expect: str, asked: list[str]
) -> None:
    sent = {
        "exempt": None,
        "unsent": ["amount", "address"],
        "columns": ["amount", "rate", "address"],
    }
    rule = {"expect": expect, "where": None, "deletes": False}
    assert load()._asked_terms(rule, sent) == asked


def test_a_relation_that_a_rule_looks_into_names_no_column() -> None:
    """Its version, its name and its own column are words of the planned text, and columns of the events."""
    node = SimpleNamespace(schema="shop", identifier="stores", alias="stores")
    floodmark = load(source=lambda *names: None, ref=lambda *names: None, model={})
    floodmark._rule_node = lambda names, loaded: node
    floodmark._node_relation = lambda node: "shop.stores"
    floodmark._pinned = lambda relation, node: f"{relation} version as of 3"
    floodmark._columns_of = lambda query: []
    given = {
        "name": "known",
        "expect": floodmark.in_relation("store_id", "stores", its="lower(code)"),
        "on_violation": "quarantine",
    }
    [rule] = floodmark._planned_rules(floodmark._expectations([given]), None)
    names = ["store_id", "version", "stores", "code", "amount"]
    asked = {"exempt": None, "unsent": names, "columns": names}
    assert floodmark._asked_terms(rule, asked) == ["not (`store_id` is null)"]
    # A batch that was planned before rules had their names beside them.
    del rule["named"]
    assert "`version` is null" in floodmark._asked_terms(rule, asked)[0]


@pytest.mark.parametrize(
    ("given", "wanted", "sql"),
    [
        ("decimal(10,1)", "int", "try_cast(c as int)"),
        ("string", "date", "try_cast(c as date)"),
        ("date", "int", "cast(null as int)"),
        ("struct<a:int>", "string", "cast(null as string)"),
        ("int", "struct<a:int>", "cast(null as struct<a:int>)"),
        (
            "struct<b:int,a:string>",
            "struct<A:string,b:date>",
            "if(c is null, null, named_struct('A', c.`a`, 'b', cast(null as date)))",
        ),
        (
            "array<struct<a:int>>",
            "array<struct<a:bigint,b:int>>",
            "transform(c, e0 -> if(e0 is null, null, "
            "named_struct('a', try_cast(e0.`a` as bigint), 'b', cast(null as int))))",
        ),
        (
            "map<int,int>",
            "map<bigint,int>",
            "transform_keys(c, (k0, e0) -> try_cast(k0 as bigint))",
        ),
        (
            "map<struct<b:int,a:int>,int>",
            "map<struct<a:int,b:int>,date>",
            "transform_values(transform_keys(c, (k0, e0) -> if(k0 is null, null, "
            "named_struct('a', k0.`a`, 'b', k0.`b`))), (k0, e0) -> cast(null as date))",
        ),
        # A key that is NULL, or comes twice, would stop the batch.
        ("map<string,int>", "map<int,int>", "cast(null as map<int,int>)"),
        ("map<timestamp,int>", "map<date,int>", "cast(null as map<date,int>)"),
        ("variant", "struct<a:int>", "try_cast(c as struct<a:int>)"),
    ],
)
def test_values_of_another_type_stop_no_quarantine(given: str, wanted: str, sql: str) -> None:
    assert load()._tried_sql("c", given, wanted) == sql


RAW = "to_json(struct(`c`), map('timestampFormat'"


@pytest.mark.parametrize(
    ("kept", "given", "raw"),
    [
        ("int", "int", "cast(null as string) as _floodmark_raw"),
        # Wider: the row as it came tells only what its column cannot.
        ("int", "bigint", f"if(not (cast(try_cast(`c` as int) as bigint) <=> `c`), {RAW}"),
        ("float", "double", f"if(not (cast(try_cast(`c` as float) as double) <=> `c`), {RAW}"),
        ("int", "string", f"if(not (cast(try_cast(`c` as int) as string) <=> `c`), {RAW}"),
        # Narrower, another, or a time, whose text is asked where it lies along a watermark.
        ("bigint", "int", RAW),
        ("string", "date", RAW),
        ("date", "timestamp", RAW),
        ("struct<a:int>", "struct<a:bigint>", RAW),
        ("struct<a:int>", "struct<b:int,a:int>", RAW),
        ("map<int,int>", "map<int,string>", RAW),
        # Fields find theirs by name, and change no value.
        ("struct<a:int,b:int>", "struct<b:int,a:int>", "cast(null as string) as _floodmark_raw"),
        ("map<int,struct<a:int,b:int>>", "map<int,struct<b:int>>", "cast(null as string) as _floodmark_raw"),
    ],
)  # fmt: skip
def test_a_row_whose_type_got_wider_is_told_by_its_columns(kept: str, given: str, raw: str) -> None:
    """Else it would differ from itself, as it came before, and be open twice where it is read again."""
    column = {"name": "c", "type": given, "ddl": given, "given": given}
    known = [{"name": "c", "type": kept, "ddl": kept}]
    sql = load()._quarantined_sql({"sql": "rows", "names": ["c"]}, [column], known)
    assert sql.count(" as _floodmark_raw") == 1
    assert f", {raw}" in sql, sql


def test_a_row_as_it_came_has_the_names_of_the_quarantine() -> None:
    """JSON tells cases apart, and a replay and a backfill look for these."""
    columns = [
        {"name": "Code", "type": "string", "ddl": "string", "given": "string"},
        {"name": "n", "type": "int", "ddl": "int", "given": "int"},
    ]
    known = [
        {"name": "code", "type": "int", "ddl": "int"},
        {"name": "n", "type": "int", "ddl": "int"},
    ]
    sql = load()._quarantined_sql({"sql": "rows", "names": ["Code", "n"]}, columns, known)
    assert "to_json(struct(`Code` as `code`, `n`), " in sql


def test_a_row_as_it_came_has_its_fields_in_the_order_of_the_quarantine() -> None:
    """A replay compares the texts of both, and reads what differs from the text."""
    given = {"n": "bigint", "s": "struct<b:int,a:int>", "g": "struct<b:int,a:int>"}
    held = {"n": "date", "s": "struct<a:int,b:int>", "g": "struct<a:int>"}
    columns = [{"name": name, "type": t, "ddl": t, "given": t} for name, t in given.items()]
    known = [{"name": name, "type": t, "ddl": t} for name, t in held.items()]
    sql = load()._quarantined_sql({"sql": "rows", "names": list(given)}, columns, known)
    ordered = "if(`s` is null, null, named_struct('a', `s`.`a`, 'b', `s`.`b`)) as `s`"
    assert f"to_json(struct(`n`, {ordered}, `g`), " in sql
    assert sql.count(ordered) == 2


@pytest.mark.parametrize(
    ("kept", "now", "is_cast"),
    [
        ("int", "bigint", True),
        ("string", "date", True),
        ("int", "date", False),
        ("boolean", "date", False),
        ("struct<a:int>", "bigint", False),
        ("int", "struct<a:int>", False),
        ("array<int>", "array<date>", False),
    ],
)
@pytest.mark.parametrize("has_raw", [True, False])
def test_a_replay_casts_no_value_whose_type_has_no_cast(
    kept: str, now: str, is_cast: bool, has_raw: bool
) -> None:
    """Spark would refuse the statement, whatever the rows hold: what came in today's type is in its text."""
    column = {"name": "c", "kept": kept, "ddl": now, "given": None}
    sql = load()._replayed_value_sql(column, has_raw)
    nothing = f"case when `c` is null or false then cast(null as {now}) else raise_error("
    assert (nothing in sql) != is_cast
    assert ("if(_floodmark_raw is null or " in sql) == has_raw


@pytest.mark.parametrize(
    ("cdc", "is_asked_of_null"),
    [
        (None, True),
        ({"sequence_by": "at"}, True),
        ({"sequence_by": "at", "ignore_null_updates": ["other"]}, True),
        ({"sequence_by": "at", "ignore_null_updates": ["AMOUNT"]}, False),
        ({"sequence_by": "at", "ignore_null_updates": True}, False),
    ],
)
def test_the_whole_table_is_asked_as_its_events_were(
    cdc: dict[str, Any] | None, is_asked_of_null: bool
) -> None:
    """What no event has sent is NULL in the row that they make."""
    floodmark = load(execute=True)
    floodmark._managed_nodes = lambda: {}
    node = SimpleNamespace(config={"unique_key": "id"})
    floodmark._node_of = lambda relation, nodes: node
    floodmark._node_setting = lambda node, name: cdc if name == "cdc" else None
    given = {"name": "positive", "expect": "amount > 0"}
    floodmark._row_rules_of = lambda node: floodmark._expectations([given])
    floodmark._are_conditions = lambda clauses, rows: True
    floodmark._columns_of = lambda query: [{"name": "id"}, {"name": "amount"}, {"name": "other"}]
    sql = floodmark.expectations_hold("shop.orders")
    assert "coalesce((amount > 0), false)" in sql
    assert ("`amount` is null" not in sql) == is_asked_of_null


def test_a_misspelt_rule_of_a_batch_is_told_the_keys_of_both_kinds() -> None:
    problems = load()._row_rule_problems("expectations.few", {"name": "few", "row": {"min": 1}})
    assert [one["setting"] for one in problems] == [
        "expectations.few.row",
        "expectations.few.expect",
    ]
    expected = problems[0]["expected"]
    assert "rows" in expected and "unique" in expected and "expect" in expected
    known = load()._row_rule_problems("expectations.a", {"name": "a", "expect": "x > 0", "row": 1})
    assert "rows" not in known[0]["expected"]


@pytest.mark.parametrize(
    ("tags", "kept"),
    [("daily", ["daily"]), (["daily", "finance"], ["daily", "finance"]), (5, None)],
)
def test_tags_are_kept_with_the_rule(tags: Any, kept: list[str] | None) -> None:
    rule = {"name": "a", "expect": "x > 0", "tags": tags}
    told = [
        (one["setting"], one["expected"])
        for one in load()._row_rule_problems("expectations.a", rule)
    ]
    assert told == ([] if kept else [("expectations.a.tags", "a text or a list")])
    if kept:
        assert load()._expectations([rule])[0]["tags"] == kept


@pytest.mark.parametrize(
    ("rows", "violations", "fraction", "is_rejected"),
    [
        (100, 29, 0.29, False),
        (100, 57, 0.57, False),
        (200, 116, 0.58, False),
        (100, 58, 0.57, True),
        (7, 2, 0.28, True),
        (5, 0, 0, False),
        (5, 1, 0, True),
    ],
)
def test_a_fraction_that_is_reached_is_no_excess(
    rows: int, violations: int, fraction: float, is_rejected: bool
) -> None:
    """0.29 * 100 is a little less than 29."""
    rule = {"on_violation": "warn", "max_violation_fraction": fraction}
    result = {"violations": violations, "rows_judged": rows}
    # Asked of rules alone that are violated.
    said = load()._rejects(rule, result) if violations else None
    assert said == (f", more than max_violation_fraction ({fraction})" if is_rejected else None)


def node(name: str, **keys: Any) -> dict[str, Any]:
    kind = "source" if "source_name" in keys else "model"
    given = {"name": name, "package_name": "shop", "resource_type": kind, "config": {}} | keys
    return given | {"unique_id": f"{kind}.{name}.{keys.get('version')}"}


BRONZE = node("bronze")
STORES = node("stores", version=2, latest_version=2)
OLDER = node("stores", version=1, latest_version=2)
KINDS = node("kinds", source_name="raw")


@pytest.mark.parametrize(
    ("names", "read", "found"),
    [
        (["stores"], [OLDER, STORES], STORES),
        (["stores"], [STORES, OLDER], STORES),
        (["bronze"], [OLDER, BRONZE], BRONZE),
        (["raw", "kinds"], [KINDS], KINDS),
        # The config did not name it when dbt parsed the model: another version says something else.
        (["stores"], [OLDER], None),
    ],
)
def test_a_name_alone_is_the_latest_version(
    names: list[str], read: list[dict[str, Any]], found: dict[str, Any] | None
) -> None:
    """As `ref` has it, also where the SELECT reads an older one."""
    ids = {one["unique_id"]: one for one in read}
    floodmark = load(graph=SimpleNamespace(sources=ids, nodes=ids))
    floodmark._model_id = lambda: "shop.orders"
    loaded = SimpleNamespace(package_name="shop", depends_on=SimpleNamespace(nodes=list(ids)))
    if found:
        assert floodmark._rule_node(names, loaded) == found
        return
    with pytest.raises(Refused, match="reads stores, on which the model does not depend"):
        floodmark._rule_node(names, loaded)


@pytest.mark.parametrize(
    ("refs", "sources", "found"),
    [
        ([{"name": "bronze"}, {"name": "stores"}], [], BRONZE),
        ([{"name": "bronze", "package": "shop"}, {"name": "stores"}], [["raw", "kinds"]], BRONZE),
        # The SELECT reads what a rule looks into, too: nobody can tell which one holds the column.
        ([{"name": "bronze"}, {"name": "stores"}, {"name": "stores", "version": 2}], [], None),
        ([{"name": "stores"}, {"name": "stores", "version": 1}], [], OLDER),
        ([{"name": "bronze"}, {"name": "stores"}], [["raw", "kinds"]] * 2, None),
    ],
)
def test_what_only_rules_look_into_holds_no_watermark(
    refs: list[dict[str, Any]], sources: list[list[str]], found: dict[str, Any] | None
) -> None:
    names = {ref["name"] for ref in refs}
    read = [one for one in (BRONZE, STORES) if one["name"] in names]
    read += [OLDER] if {"name": "stores", "version": 1} in refs else []
    read += [KINDS] if sources else []
    ids = {one["unique_id"]: one for one in read}
    graph = SimpleNamespace(sources={}, nodes=ids)
    floodmark = load(graph=graph, source=lambda *_: None, ref=lambda *_: None, model={})
    rules = [
        {"name": "a", "expect": floodmark.in_relation("store_id", "stores") + " or name = 'x'"},
        {
            "name": "b",
            "expect": 'x > "y"',
            "where": floodmark.in_relation("kind", ["raw", "kinds"]),
        },
    ]
    loaded = {
        "raw_code": "select 1",
        "depends_on": {"nodes": list(ids)},
        "refs": refs,
        "sources": sources,
    }
    for config in ({"expectations": rules}, {"meta": {"floodmark": {"expectations": rules}}}):
        assert floodmark._upstream_node(None, loaded | {"config": config}, False) == found


def test_a_row_without_a_watermark_value_replaces_none_in_a_replay() -> None:
    columns = [{"name": "id", "type": "int"}, {"name": "at", "type": "timestamp"}]
    run = {"settings": {"watermark": {"column": "at", "kind": None}}}
    floodmark = load(config=SimpleNamespace(get=lambda name, default=None: default))
    source = {"columns": columns, "only_later": True}
    s, t = "DBT_INTERNAL_SOURCE.`at`", "DBT_INTERNAL_DEST.`at`"
    found = floodmark._wins_predicate(run, source, ["id", "at"])
    assert found == f"({s} > {t} or {t} is null and {s} is not null)"


def test_a_replay_has_the_columns_that_its_rules_and_set_name() -> None:
    def typed(*names: str) -> list[dict[str, str]]:
        return [{"name": name, "type": "string", "ddl": "STRING"} for name in names]

    floodmark = load(
        config=SimpleNamespace(get=lambda name: SimpleNamespace(enforced=False)),
        model=SimpleNamespace(columns={}),
    )
    floodmark._strategy = lambda settings: SimpleNamespace(own_columns=lambda run, columns: columns)
    floodmark._table_columns = lambda run: typed("id")
    floodmark._selected_now = lambda run: typed("id", "currency", "region", "note", "late")
    # Of a struct a rule names a field.
    rules = [{"expect": "(currency.code is not null)", "where": "(late > 0)"}]
    run = {"settings": {"expectations": rules, "on_schema_change": "fail"}}
    given = [{"name": "region", "expression": "'x'", "as": "a", "type": "string"}]
    found = floodmark._replayed_columns(run, given, typed("id", "left", "late"))
    assert {one["name"]: one["kept"] for one in found} == {
        "id": "STRING",
        "currency": None,
        "region": None,
        # A row was held back with it, and none was loaded.
        "late": "STRING",
    }
    # What has left the SELECT keeps its value in the table, whatever on_schema_change says.
    floodmark._table_columns = lambda run: typed("id", "left")
    for mode in ("fail", "sync_all_columns", "append_new_columns", "ignore"):
        run["settings"] = {"expectations": [], "on_schema_change": mode}
        found = floodmark._replayed_columns(run, [], typed("id", "left"))
        assert [one["name"] for one in found] == ["id"]
    given[0]["name"] = "left"
    found = floodmark._replayed_columns(run, given, typed("id", "left"))
    assert [one["name"] for one in found] == ["id", "left"]
    # A struct has the fields of the table, in its types, and those that came since.
    shape = {"name": "s", "type": ""}
    floodmark._table_columns = lambda run: [shape | {"ddl": "struct<a:int,b:int>"}]
    floodmark._selected_now = lambda run: [shape | {"ddl": "struct<c:string,a:bigint,n:void>"}]
    for mode, ddl in {
        "append_new_columns": "struct<a:int,b:int,c:string>",
        "sync_all_columns": "struct<a:int,b:int,c:string>",
        "ignore": "struct<a:int,b:int,c:string>",
        "fail": "struct<a:int,b:int>",
    }.items():
        run["settings"] = {"expectations": [], "on_schema_change": mode}
        found = floodmark._replayed_columns(run, [], [shape | {"ddl": "struct<c:string,a:int>"}])
        assert [(one["kept"], one["ddl"]) for one in found] == [("struct<c:string,a:int>", ddl)]
    # Where nobody knows what the files have.
    floodmark._table_columns = lambda run: typed("id", "left")
    floodmark._selected_now = lambda run: []
    found = floodmark._replayed_columns(run, [], typed("id", "left"))
    assert [one["name"] for one in found] == ["id", "left"]


@pytest.mark.parametrize(
    ("strategy", "settings", "config", "found"),
    [
        ("cdc", {"deletes": "op = 'd'"}, {}, {"op"}),
        ("cdc", {"truncates": "s.all"}, {}, {"s"}),
        ("cdc", {"sequence_by": ["seq", "`Row No`"]}, {}, {"row no"}),
        ("cdc", {"except_column_list": ["OP"]}, {}, {"op"}),
        # The events must have these, though the table has one.
        ("cdc", {"column_list": ["id", "known", "note"]}, {}, {"known", "note"}),
        # These may be columns of the table.
        ("cdc", {"tracked": ["known", "note"]}, {}, {"note"}),
        ("cdc", {"untracked": ["op"], "ignore_null_updates": ["note"]}, {}, {"op", "note"}),
        ("cdc", {"ignore_null_updates": True}, {}, set()),
        ("merge", {}, {"merge_exclude_columns": ["known", "note"]}, {"note"}),
        ("merge", {}, {"merge_update_columns": "note"}, {"note"}),
        ("append", {}, {}, set()),
    ],
)
def test_a_replay_has_the_columns_that_the_settings_of_its_strategy_name(
    strategy: str, settings: dict[str, Any], config: dict[str, Any], found: set[str]
) -> None:
    def typed(*names: str) -> list[dict[str, str]]:
        return [{"name": name, "type": "string", "ddl": "string"} for name in names]

    contract = {"contract": SimpleNamespace(enforced=False)}
    floodmark = load(config=config | contract)
    floodmark._table_own = lambda run: typed("id", "seq", "known")
    floodmark._table_columns = floodmark._table_own
    floodmark._selected_now = lambda run: typed("id", "seq", "known", "op", "note", "row no", "s")
    cdc = {"sequence_by": ["seq"], "deletes": None, "truncates": None, "ignore_null_updates": False}
    lists = ("column_list", "except_column_list", "tracked", "untracked")
    run = {
        "settings": {
            "strategy": strategy,
            "cdc": cdc | {name: [] for name in lists} | settings,
            "expectations": [],
            "on_schema_change": "ignore",
        }
    }
    columns = floodmark._replayed_columns(run, [], typed("id", "seq"))
    assert {one["name"]: one["kept"] for one in columns} == {
        "id": "string",
        "seq": "string",
    } | dict.fromkeys(found)


@pytest.mark.parametrize(
    ("watermark", "family", "mark", "low"),
    [
        ({}, "timestamp", "2024-05-10 00:00:00", "2024-05-10 00:00:00"),
        ({"lookback": "2 days"}, "timestamp", "2024-05-10 00:00:00", "2024-05-08 00:00:00"),
        ({"lookback": "36 hours"}, "date", "2024-05-10", "2024-05-08"),
        ({"lookback": 5}, "sequence", "20", "15"),
        # It reads nothing below `start`, which it includes.
        ({"lookback": 5, "start": 18}, "sequence", "20", "17"),
    ],
)
def test_a_model_that_follows_reads_from_its_lookback(
    watermark: dict[str, Any], family: str, mark: str, low: str
) -> None:
    asked: list[str] = []
    floodmark = load(run_query=lambda sql: asked.append(sql) or SimpleNamespace(rows=[[1]]))
    floodmark._model_state = lambda id: {"committed": {"mark": mark, "family": family}}
    floodmark._replayed_select = lambda run, batch: "select at"
    type = "bigint" if family == "sequence" else family
    floodmark._columns_of = lambda query: [{"name": "at", "type": type}]
    assert floodmark._is_past({}, "shop.next", watermark, {}, {"name": "at"})
    literal = floodmark._position_literal(floodmark._position_parse(low, family), family)
    assert asked == [f"select 1 as one from (select at) where `at` <= {literal} limit 1"]


@pytest.mark.parametrize(
    ("code", "names", "found"),
    [
        ("select id, 'EUR' as Currency from t", ["currency", "nobody"], ["currency"]),
        ("select * from t", ["region", "nobody"], ["region"]),
        ("select currency_code from t", ["currency"], []),
    ],
)
def test_what_a_dry_run_takes_for_a_column_of_the_select(
    code: str, names: list[str], found: list[str]
) -> None:
    source = {"schema": "shop", "identifier": "t"}
    floodmark = load(
        graph=SimpleNamespace(sources={"source.t": source}, nodes={}),
        adapter=SimpleNamespace(get_relation=lambda *names: "shop.t"),
    )
    floodmark._columns_of = lambda relation: [{"name": "Region"}]
    node = {"raw_code": code, "depends_on": {"nodes": ["source.t"]}}
    assert [one["name"] for one in floodmark._perhaps_selected(node, names)] == found


def partitioned() -> tuple[SimpleNamespace, dict[str, Any], list[dict[str, str]]]:
    run = {"settings": {"watermark": {"column": "at"}, "partition_by": ["day"]}}
    columns = [{"name": "at", "type": "timestamp"}, {"name": "day", "type": "date"}]
    return load(), run, columns


def test_whether_a_partition_follows() -> None:
    floodmark, run, columns = partitioned()
    day = "`day` <=> cast(date_trunc('day', `at`) as date)"
    assert floodmark._follows_sql(run, columns, ["day"]) == f"(false or {day})"
    assert floodmark._follows_sql(run, columns, []) == "(false)"
    assert floodmark._follows_sql(run, columns, None).count(" <=> ") == 5


@pytest.mark.parametrize(
    ("kept", "all", "ways"),
    [
        ({"rows": 2, "units": ["day"], "ways": ["day"]}, None, ["day"]),
        ({"rows": 2, "units": [], "ways": []}, None, []),
        # All are held back: they prove what they can, and where they prove nothing all ways are as good.
        ({"rows": 0, "units": ["year", "day"], "ways": ["year", "day"]}, ["day"], ["day"]),
        ({"rows": 0, "units": ["year", "day"], "ways": ["year", "day"]}, [], ["year", "day"]),
    ],
)
def test_what_rules_hold_back_proves_no_partition(
    kept: dict[str, Any], all: list[str] | None, ways: list[str]
) -> None:
    floodmark, run, columns = partitioned()

    def derivation(run: Any, columns: Any, family: str, from_sql: str) -> dict[str, Any]:
        if from_sql == "rows":
            assert all is not None
            return {"rows": 3, "units": all, "ways": all}
        if from_sql.endswith("where not _floodmark_held)"):
            return kept
        follows = floodmark._follows_sql(run, columns, ways)
        assert from_sql.endswith(f"where not _floodmark_held or {follows})")
        return {"rows": 1, "least": "a", "units": [], "ways": []}

    floodmark._derivation = derivation
    found = floodmark._kept_derivation(run, columns, "timestamp", "rows")
    assert found == {"rows": 1, "least": "a", "units": ways, "ways": ways}


def test_a_batch_reads_the_rows_that_lie_in_no_partition() -> None:
    floodmark, run, columns = partitioned()
    floodmark._select_columns = lambda run, sql: columns
    floodmark._check_watermark_column = lambda run, sql: None
    floodmark._derivation = lambda *_: {"rows": 2, "units": [], "ways": [], "first": 1, "last": 9}
    near = {"rows": 1, "units": ["day"], "ways": ["day"], "first": 1, "last": 2}
    near |= {"least": "2024-05-01", "greatest": "2024-05-01"}
    floodmark._judged_derivation = lambda *_: near
    edges: list[Any] = []
    floodmark._partition_edges = lambda found, *_: edges.append((found["first"], found["last"]))
    floodmark._rounded_bounds = lambda *_: {}
    floodmark._select_of = lambda batch, sql: "rounded"
    floodmark._bounds_predicate = lambda column, batch: f"({column} > 0)"
    batch = {"family": "timestamp", "rules": [ROW]}
    run["sql"] = ""
    sql = floodmark._whole_partitions_select(run, batch, "conformed", "given")
    follows = floodmark._follows_sql(run, columns, ["day"], derived=True)
    assert edges == [(1, 9)]
    assert sql.startswith("select * from (\nrounded\n) where named_struct('p', `day`) between ")
    assert sql.endswith(f" or not {follows} and (`at` > 0)")
    near["rows"] = 0
    sql = floodmark._whole_partitions_select(run, batch, "conformed", "given")
    assert sql == f"select * from (\ngiven\n) where not {follows}"
    with pytest.raises(Refused, match="a year, quarter, month, week, day or hour of at"):
        floodmark._whole_partitions_select(run, batch, "conformed")
