"""`floodmark diff` without Spark: what A and B may be, the SQL of a comparison, what is printed of it."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from dbt_floodmark.cli.diff import _NOT_THERE, _REFUSED
from tests.support import macros

#: No file is passed over, whatever the session says.
WHOLE = "'ignoreMissingFiles' = 'false', 'ignoreCorruptFiles' = 'false'"


def node(
    package: str, kind: str, name: str, schema: str, alias: str, **more: Any
) -> dict[str, Any]:
    version = f".v{more['version']}" if more else ""
    named = {
        "unique_id": f"{kind}.{package}.{name}{version}",
        "package_name": package,
        "name": name,
    }
    return named | {"resource_type": kind, "schema": schema, "alias": alias} | more


NODES = [
    node("app", "model", "orders", "gold", "orders_v2", version=2, latest_version=2),
    node("app", "model", "orders", "gold", "orders_v1", version=1, latest_version=2),
    node("app", "test", "days", "tests", "days"),
    node("app", "seed", "days", "seeds", "days"),
    node("app", "model", "applied", "gold", "orders_v2"),
    node("branch", "model", "applied", "gold", "orders_v1"),
    # Behind its package it is called as a table that is there.
    node("shop", "model", "whole", "gold", "orders_v1"),
]
SOURCE = {"source_name": "raw", "name": "orders", "schema": "landing", "identifier": "ORDERS"}
SOURCE |= {"unique_id": "source.app.raw.orders"}
TABLES = {("gold", "orders_v2"), ("gold", "orders_v1"), ("landing", "ORDERS")}
TABLES |= {("shop", "orders"), ("shop", "plain"), ("shop", "whole")}


def relation(_: Any, schema: str, identifier: str) -> Any:
    if (schema, identifier) not in TABLES:
        return None
    return SimpleNamespace(
        schema=schema, identifier=identifier, is_delta=(schema, identifier) != ("shop", "plain")
    )


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return macros.load(
        graph=SimpleNamespace(
            nodes={str(i): node for i, node in enumerate(NODES)}, sources={"raw": SOURCE}
        ),
        target=SimpleNamespace(schema="shop"),
        adapter=SimpleNamespace(get_relation=relation),
        invocation_args_dict=SimpleNamespace(project_dir="/project"),
        run_query=lambda sql: SimpleNamespace(rows=[["id", "int", None], ["#n", "INT", None]]),
    )


@pytest.mark.parametrize(
    ("given", "sql"),
    [
        ("orders", "`gold`.`orders_v2`"),
        ("orders.v1", "`gold`.`orders_v1`"),
        ("orders.v2@v3", "`gold`.`orders_v2` version as of 3"),
        ("app.orders", "`gold`.`orders_v2`"),
        ("app.orders.v1", "`gold`.`orders_v1`"),
        ("branch.applied", "`gold`.`orders_v1`"),
        ("model.app.applied", "`gold`.`orders_v2`"),
        ("whole", "`gold`.`orders_v1`"),
        ("shop.whole", "`shop`.`whole`"),
        ("raw.orders", "`landing`.`ORDERS`"),
        ("source.app.raw.orders", "`landing`.`ORDERS`"),
        ("shop.orders", "`shop`.`orders`"),
        ("`shop`.`orders`", "`shop`.`orders`"),
        ("plain", "`shop`.`plain`"),
        ("orders@v12", "`gold`.`orders_v2` version as of 12"),
        ("shop.orders@v0", "`shop`.`orders` version as of 0"),
        ("/data/orders", "delta.`/data/orders`"),
        ("delta:orders", "delta.`/here/orders`"),
        ("delta.`/data/orders`@v3", "delta.`/data/orders` version as of 3"),
        ("data/orders.parquet", f"parquet.`/here/data/orders.parquet` with ({WHOLE})"),
        ("s3://bucket/orders.json.gz", f"json.`s3://bucket/orders.json.gz` with ({WHOLE})"),
        ("/data/orders.NDJSON/", f"json.`/data/orders.NDJSON/` with ({WHOLE})"),
        ("parquet:/data/orders", f"parquet.`/data/orders` with ({WHOLE})"),
        ("/a`b.csv", f"csv.`/a``b.csv` with (header = 'true', inferSchema = 'true', {WHOLE})"),
        ("CSV:/data/x", f"csv.`/data/x` with (header = 'true', inferSchema = 'true', {WHOLE})"),
    ],
)
def test_what_a_side_may_be(floodmark: SimpleNamespace, given: str, sql: str) -> None:
    side = floodmark._diff_side(given, "A", "/here")
    assert (side["sql"], side["given"]) == (sql, given)
    assert [column["name"] for column in side["columns"]] == ["id", "#n"]


def test_without_a_folder_a_relative_path_lies_in_the_project(floodmark: SimpleNamespace) -> None:
    assert floodmark._diff_side("seeds/x.json", "A")["sql"] == (
        f"json.`/project/seeds/x.json` with ({WHOLE})"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("nope", "A: there is no table shop.nope, and no dbt node nope; a path has a / in it"),
        (
            "applied",
            "A: several dbt nodes are called 'applied': name one of model.app.applied, model.branch.applied",
        ),
        (
            "orders.v3",
            "A: there is no table orders.v3, and no dbt node orders.v3; a path has a / in it",
        ),
        ("days", "A, the seed days, has no table seeds.days: build it first"),
        (
            "a.b.c",
            "A got 'a.b.c': expected a dbt node, schema.table, or a path, which has a / in it",
        ),
        ("plain@v1", "A, plain, is not a Delta table and has no version 1"),
        ("csv:/x@v1", "A, csv:/x, is not a Delta table and has no version 1"),
    ],
)
def test_what_a_side_may_not_be(floodmark: SimpleNamespace, given: str, said: str) -> None:
    with pytest.raises(macros.Refused) as refused:
        floodmark._diff_side(given, "A")
    assert str(refused.value) == f"floodmark diff: {said}"


def side(label: str, **columns: str) -> dict[str, Any]:
    held = [{"name": name, "type": kind.lower(), "ddl": kind} for name, kind in columns.items()]
    return {"given": f"shop.{label.lower()}", "label": label, "sql": label, "columns": held}


def names(pairs: list[dict[str, Any]]) -> list[str]:
    return [pair["name"] for pair in pairs]


def test_columns_meet_without_regard_to_case(floodmark: SimpleNamespace) -> None:
    a = side("A", Id="int", v="string", w="double", x="int")
    b = side("B", y="int", W="decimal(10,2)", ID="bigint", V="string")
    plan = floodmark._diff_plan(a, b, ["id"], [], [])
    assert (names(plan["key"]), names(plan["compared"])) == (["Id"], ["v", "w"])
    assert (plan["only_a"], plan["only_b"]) == (["x"], ["y"])
    assert plan["types"] == [
        {"column": "Id", "a": "int", "b": "bigint"},
        {"column": "w", "a": "double", "b": "decimal(10,2)"},
    ]
    only = floodmark._diff_plan(a, b, ["id"], ["ID", "V"], [])
    assert (names(only["compared"]), only["only_a"], only["only_b"]) == (["v"], [], [])
    rest = floodmark._diff_plan(a, b, ["id"], [], ["V", "y"])
    assert (names(rest["compared"]), rest["only_a"], rest["only_b"]) == (["w"], ["x"], [])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ((["k"], [], []), "there is no column k in A, shop.a: it has id, m, x"),
        ((["id"], ["x"], []), "there is no column x in B, shop.b: it has id, m"),
        ((["id"], [], ["z"]), "there is no column z in A, shop.a: it has id, m, x"),
        (
            (["id", "m"], [], []),
            "the key column m is a map<string,int>, which cannot be compared: name another key",
        ),
    ],
)
def test_columns_that_are_not_there(
    floodmark: SimpleNamespace, settings: tuple[Any, ...], said: str
) -> None:
    a, b = side("A", id="int", m="map<string,int>", x="int"), side("B", id="int", m="string")
    with pytest.raises(macros.Refused) as refused:
        floodmark._diff_plan(a, b, *settings)
    assert str(refused.value) == f"floodmark diff: {said}"


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"key": " , "}, "name the columns that identify a row in `key`"),
        (
            {"key": "id", "columns": "v", "except_columns": ["w"]},
            "name the columns to compare or those to leave out, not both",
        ),
    ],
)
def test_settings_that_contradict(
    floodmark: SimpleNamespace, settings: dict[str, Any], said: str
) -> None:
    with pytest.raises(macros.Refused) as refused:
        floodmark._diff("a", "b", **settings)
    assert str(refused.value) == f"floodmark diff: {said}"


@pytest.mark.parametrize(
    ("kind", "other", "sql"),
    [
        ("string", "string", "a <=> b"),
        ("int", "decimal(10,2)", "a <=> b"),
        ("DATE", "timestamp_ntz", "a <=> b"),
        ("array<struct<x:double>>", "array<struct<x:double>>", "a <=> b"),
        (
            "string",
            "int",
            "coalesce(cast(try_cast(a as int) as string), a) <=> cast(b as string)",
        ),
        (
            "double",
            "string",
            "cast(0D + a as string) <=> coalesce(cast(0D + try_cast(b as double) as string), b)",
        ),
        ("binary", "string", "hex(a) <=> coalesce(hex(try_cast(b as binary)), b)"),
        ("boolean", "int", "cast(a as string) <=> cast(b as string)"),
        ("variant", "variant", "to_json(a) <=> to_json(b)"),
    ],
)
def test_how_values_are_compared(
    floodmark: SimpleNamespace, kind: str, other: str, sql: str
) -> None:
    assert floodmark._diff_equal_sql("a", "b", kind, other) == sql


def sorted_entries(value: str, depth: int = 0) -> str:
    left, right = f"l{depth}", f"r{depth}"
    return (
        f"array_sort(map_entries({value}), ({left}, {right}) -> case when {left}.key < {right}.key "
        f"then -1 when {left}.key > {right}.key then 1 else 0 end)"
    )


@pytest.mark.parametrize(
    ("kind", "sql"),
    [
        ("map<string,double>", sorted_entries("v")),
        ("map<struct<a:int,b:int>,string>", sorted_entries("v")),
        (
            "map<string,map<int,int>>",
            f"transform({sorted_entries('v')}, e0 -> struct(e0.key as key, "
            f"{sorted_entries('e0.value', 1)} as value))",
        ),
        (
            "struct<n:int,m:map<string,variant>>",
            "if(v is null, null, named_struct('n', v.`n`, 'm', "
            f"transform({sorted_entries('v.`m`')}, e0 -> struct(e0.key as key, to_json(e0.value) as value))))",
        ),
        ("array<map<string,int>>", f"transform(v, e0 -> {sorted_entries('e0', 1)})"),
        ("interval", "cast(v as string)"),
        ("void", "v"),
    ],
)
def test_maps_and_variants_get_an_order(floodmark: SimpleNamespace, kind: str, sql: str) -> None:
    assert floodmark._diff_ordered_sql("v", kind) == sql


def folded(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


def test_the_sql_of_a_comparison(floodmark: SimpleNamespace) -> None:
    a, b = side("A", k="int", j="string", v="double"), side("B", k="int", j="int", V="double")
    plan = floodmark._diff_plan(a, b, ["k", "j"], [], [])
    text = folded(floodmark._diff_compared_sql(plan))
    assert (
        "select `k` as k0, coalesce(cast(try_cast(`j` as int) as string), `j`) as k1, "
        "named_struct('row', true, 'c0', `v`) as a, null as b from A union all "
        "select `k` as k0, cast(`j` as string) as k1, null as a, named_struct('row', true, 'c0', `V`) as b from B"
    ) in text
    assert "first(b, true) as b from stacked group by k0, k1 )" in text
    assert "select *, in_a = 1 and in_b = 1 and not (a.c0 <=> b.c0) as d0 from keyed" in text
    counts = folded(floodmark._diff_counts_sql(plan))
    assert "'null_b', count_if(in_b > 0 and (k0 is null or k1 is null)), 'd0', count_if(d0)" in (
        counts
    )
    sample = folded(floodmark._diff_sample_sql(plan, 5))
    assert "if(d0, named_struct('column', 'v', 'a', cast(a.c0 as string), 'b', " in sample
    assert sample.endswith("where place <= 5 order by change, place")


def test_a_key_alone_can_be_compared(floodmark: SimpleNamespace) -> None:
    plan = floodmark._diff_plan(side("A", k="int"), side("B", k="int"), ["k"], [], [])
    assert "when false then 'updated'" in floodmark._diff_compared_sql(plan)
    assert "'columns', null)" in floodmark._diff_sample_sql(plan, 1)


COUNTS = {"rows_a": 4, "rows_b": 3, "unchanged": 1, "updated": 1, "deleted": 1, "inserted": 0}
COUNTS |= {"repeated_a": 1, "repeated_b": 0, "null_a": 1, "null_b": 0}


def test_what_is_printed(floodmark: SimpleNamespace) -> None:
    sample = [
        {"change": "deleted", "key": '{"id":1}', "in_a": 1, "in_b": 0, "columns": None},
        {
            "change": "updated",
            "key": '{"id":2}',
            "in_a": 1,
            "in_b": 1,
            "columns": [{"column": "v", "a": None, "b": "x" * 1001}],
        },
    ]
    found = {"a": "shop.a", "b": "shop.b", "columns": {"v": 1, "w": 0}} | COUNTS
    found |= {"only_a": ["x", "y"], "only_b": [], "sample": floodmark._diff_clipped(sample)}
    found["types"] = [{"column": "w", "a": "int", "b": "bigint"}]
    notes = floodmark._diff_notes(found)
    assert notes == [
        "Only in A, not compared: x, y.",
        "Types differ: w is int in A and bigint in B.",
        "More than once: 1 key in A, 0 keys in B; they are not compared.",
        "With a NULL: 1 key in A, 0 keys in B.",
    ]
    lines = floodmark._diff_lines(found | {"notes": notes})
    assert lines[:2] == ["A: shop.a, 4 rows", "B: shop.b, 3 rows"]
    assert lines[6:13] == [
        "",
        "| change    | keys |",
        "| --------- | ---- |",
        "| unchanged | 1    |",
        "| updated   | 1    |",
        "| deleted   | 1    |",
        "| inserted  | 0    |",
    ]
    assert "| v      | 1               |" in lines and not any("| w " in line for line in lines)
    assert lines[-2].startswith('| deleted | {"id":1} |        | 1 row | 0 rows')
    assert lines[-1].startswith('| updated | {"id":2} | v      | NULL  | xxx')
    assert lines[-1].endswith("x… |") and lines[-1].count("x") == 1000


@pytest.mark.parametrize(
    ("pattern", "text", "said"),
    [
        (
            _REFUSED,
            "Compilation Error in sql_operation inline_query (from remote system.sql) floodmark "
            "diff: there is no column k in A, a > b: it has id > in macro _diff_stop (macros/x.sql)",
            "there is no column k in A, a > b: it has id",
        ),
        (
            _NOT_THERE,
            "Runtime Error in sql_operation inline_query [PATH_NOT_FOUND] Path does not exist: "
            "file:/x.csv. SQLSTATE: 42K03 (line 2, position 14)",
            "Path does not exist: file:/x.csv.",
        ),
        (
            _NOT_THERE,
            "[DELTA_VERSION_NOT_FOUND] Cannot time travel Delta table to version 9. Available "
            "versions: [0, 2].",
            "Cannot time travel Delta table to version 9. Available versions: [0, 2].",
        ),
    ],
)
def test_wrong_input_is_told_without_the_frame(
    pattern: re.Pattern[str], text: str, said: str
) -> None:
    found = pattern.search(text)
    assert found is not None and found.group(1) == said


def test_no_key_is_refused_before_anything_runs() -> None:
    result = CliRunner().invoke(main, ["diff", "a", "b"])
    assert result.exit_code == 2
    assert result.stderr == "floodmark: Name the columns that identify a row with --key.\n"


@pytest.mark.parametrize("limit", ["-1", "many"])
def test_limit_is_a_number(limit: str) -> None:
    assert CliRunner().invoke(main, ["diff", "a", "b", "--limit", limit]).exit_code == 2
