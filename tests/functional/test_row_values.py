"""Values that once got lost on the way: bytes that are no UTF-8, ${...}, nested values, maps, types that lose digits, columns without a type."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.functional.test_corrections import AT, rows_of
from tests.harness import Project, incremental, sentence, table
from tests.unit.test_macros import load

ODD_TEXTS = {
    "latin1": "cast(X'4DFC6C6C6572' as string)",
    "broken": "cast(X'C328FF00' as string)",
    "variable": r"'\u0024{spark.sql.shuffle.partitions}'",
    "environment": r"'\u0024{env:PATH}'",
    "quotes": r"'it\'s \\\\ \"x\" `y`'",
    "lines": r"'a\nb\r\tc'",
    "zero": r"'a\u0000b'",
    "astral": "'😀 ünï'",
    "json": "'{\"a\": [1]}'",
    "empty": "''",
    "comment": "'-- /* x */ ; {{ y }} {% z %}'",
}


def ways(key: str = "k") -> dict[str, dict[str, Any]]:
    """Strategies that know a row again by its key."""
    return {
        "merged": {"incremental_strategy": "merge", "unique_key": key, "watermark": {"column": "ts", "lookback": "9 days"}},
        "latest": {"incremental_strategy": "cdc", "unique_key": key, "cdc": {"sequence_by": "ts"}, "watermark": {"column": "ts", "lookback": "9 days"}},
        "periods": {
            "incremental_strategy": "cdc", "unique_key": key, "watermark": {"column": "ts", "lookback": "9 days"},
            "cdc": {"sequence_by": "ts", "stored_as_scd_type": 2},
        },
        "filled": {
            "incremental_strategy": "cdc", "unique_key": key, "watermark": {"column": "ts", "lookback": "9 days"},
            "cdc": {"sequence_by": "ts", "ignore_null_updates": True},
        },
    }  # fmt: skip


def write_ways(project: Project, select: str, snapshot: str | None = None, **more: Any) -> None:
    for name, config in ways().items():
        project.model(name, incremental(table("src"), select, **(config | more)))
    for name, scd_type in {"extract": 1, "extracts": 2}.items():
        settings = ", ".join(f"{key}={value!r}" for key, value in more.items())
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='k', "
            f"snapshot_diff={{'stored_as_scd_type': {scd_type}}}{', ' + settings if settings else ''}) }}}} "
            f"select {snapshot or select} from {table('now')}",
        )


NAMES = ("merged", "latest", "periods", "filled", "extract", "extracts")


def test_keys_come_back_byte_for_byte(make_project: Callable[..., Project]) -> None:
    """A key that is read again is the same key, whatever its bytes, and the filter of keys finds it, too."""
    project = make_project("bytes")
    schema = project.schema
    project.sql(f"create table {schema}.src (k string, v int, ts timestamp) using delta")
    project.sql(f"create table {schema}.now (k string, v int, ts timestamp) using delta")
    project.source("src", "now")
    write_ways(project, "*")
    project.model(
        "parted",
        incremental(
            table("src"),
            "concat(date_format(ts, 'yyyy-MM'), '') as part, k, v, ts",
            incremental_strategy="insert_overwrite",
            partition_by=["part"],
            watermark={"column": "ts"},
        ),
    )
    for day in range(3):
        rows = ", ".join(
            f"({sql}, {day}, {AT} + interval {day} days)" for sql in ODD_TEXTS.values()
        )
        project.sql(f"insert into {schema}.src values {rows}")
        project.sql(f"insert overwrite {schema}.now values {rows}")
        filtered = ("--vars", "{floodmark_key_filter_bytes: 0}") if day == 2 else ()
        project.build(*filtered)
    wanted = sorted(
        row[0] for row in project.sql(f"select hex(cast(k as binary)) from {schema}.now")
    )
    for name in NAMES:
        current = {"periods": "where __end_at is null", "extracts": "where __end_at is null"}
        found = project.sql(
            f"select hex(cast(k as binary)), v from {schema}.{name} {current.get(name, '')}"
        )
        assert sorted(row[0] for row in found) == wanted, name
        assert {row[1] for row in found} == {2}, name
    for name in ("periods", "extracts"):
        assert len(project.sql(f"select k from {schema}.{name}")) == 3 * len(ODD_TEXTS), name
    # One text at a time is its own least and greatest: the range in the ON clause is that one literal.
    for number, sql in enumerate(ODD_TEXTS.values()):
        project.sql(
            f"insert into {schema}.src values ({sql}, 100, {AT} + interval {20 + number * 20} days)"
        )
        if number % 4 == 0 or number == len(ODD_TEXTS) - 1:
            project.build("--select", "merged", "latest")
    for name in ("merged", "latest"):
        found = project.sql(f"select hex(cast(k as binary)), v from {schema}.{name}")
        assert sorted(row[0] for row in found) == wanted, name


NESTED = {
    "bytes_in_struct": ("struct(cast(X'4DFC' as string) as t)", "struct(cast(X'4DFD' as string) as t)"),
    "bytes_in_array": ("array(cast(X'FF' as string))", "array(cast(X'FE' as string))"),
    "bytes_as_key": ("map(cast(X'FF' as string), 1)", "map(cast(X'FE' as string), 1)"),
    "struct_keys": ("map(struct(1 as a), 'x')", "map(struct(2 as a), 'x')"),
    "array_keys": ("map(array(1), 'x')", "map(array(1, null), 'x')"),
    "binary_keys": ("map(X'0102', 'x')", "map(X'0103', 'x')"),
    "map_of_maps": ("map('a', map('b', 1))", "map('a', map('b', cast(null as int)))"),
    "bounds": ("array(array(1, 2), array(3))", "array(array(1), array(2, 3))"),
    "nulls": ("array(1, null)", "array(1)"),
    "null_field": ("struct(1 as a, cast(null as int) as b)", "struct(cast(null as int) as a, 1 as b)"),
    "null_struct": ("cast(null as struct<a: int>)", "named_struct('a', cast(null as int))"),
    "micros": ("array(timestamp'2024-01-01 00:00:00.000001Z')", "array(timestamp'2024-01-01 00:00:00.000002Z')"),
    "doubles": ("array(cast('NaN' as double))", "array(1.0D)"),
    "variant": ("parse_json('{\"a\": 1}')", "parse_json('{\"a\": \"1\"}')"),
    "empty": ("array(cast(null as string))", "array('')"),
}  # fmt: skip


@pytest.mark.long("thrift")
def test_a_change_of_a_nested_value_is_seen_and_nothing_else(
    make_project: Callable[..., Project],
) -> None:
    """One hash for every strategy: values that differ are seen, a row that is read again writes nothing."""
    project = make_project("hashed")
    schema = project.schema
    columns = [
        f"if(v = 2, {after}, {before}) as {name}" for name, (before, after) in NESTED.items()
    ]
    # The same map, its entries in another order, and a zero with a sign are no change.
    columns.append("if(w = 0, map('a', 1, 'b', 2), map('b', 2, 'a', 1)) as reordered")
    columns.append("if(w = 0, array(0.0D), array(-0.0D)) as signed")
    for source in ("src", "now"):
        project.sql(
            f"create table {schema}.{source} (k int, v int, w int, ts timestamp) using delta"
        )
    project.source("src", "now")
    write_ways(
        project, f"k, ts, {', '.join(columns)}", f"k, {', '.join(columns)}", change_feed=False
    )

    def send(v: int, w: int, hour: int) -> None:
        row = f"(1, {v}, {w}, {AT} + interval {hour} hours)"
        project.sql(f"insert overwrite {schema}.now values {row}")
        project.sql(f"insert into {schema}.src values {row}")
        project.build()

    send(1, 0, 0)
    versions = {name: project.version(name) for name in NAMES}
    # Read again, by the lookback or as the same snapshot, with maps in another order.
    project.sql(f"update {schema}.src set w = 1")
    project.sql(f"update {schema}.now set w = 1")
    project.build()
    assert {name: project.version(name) for name in NAMES} == versions
    send(2, 1, 1)
    for name in NAMES:
        assert project.version(name) > versions[name], name
    for name in ("periods", "extracts"):
        assert len(project.sql(f"select k from {schema}.{name}")) == 2, name


#: One hash serves every strategy: a few of them as snapshots too.
SNAPSHOT_TOO = ("bytes_in_struct", "struct_keys", "binary_keys", "bounds", "null_struct")


@pytest.mark.long("thrift")
def test_each_nested_difference_alone_is_a_change(make_project: Callable[..., Project]) -> None:
    """In a snapshot, and in a merge whose SELECT lacks the watermark; a row that is read again is none."""
    project = make_project("alone")
    schema = project.schema
    project.sql(f"create table {schema}.src (k int, v int, ts timestamp) using delta")
    project.sql(f"insert into {schema}.src values (1, 1, {AT}), (2, 1, {AT})")
    project.source("src")
    for name, (before, after) in NESTED.items():
        column = f"if(v = 2, {after}, {before}) as n"
        config = {"incremental_strategy": "merge", "unique_key": "k"}
        mark = {"column": "ts", "lookback": "9 days"}
        project.model(
            f"merged_{name}", incremental(table("src"), f"k, {column}", watermark=mark, **config)
        )
        if name in SNAPSHOT_TOO:
            project.model(
                f"extract_{name}",
                "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='k') }} "
                f"select k, {column} from {table('src')}",
            )
    names = [f"merged_{name}" for name in NESTED] + [f"extract_{name}" for name in SNAPSHOT_TOO]
    project.build()
    versions = {name: project.version(name) for name in names}
    project.sql(f"update {schema}.src set k = k")
    project.build()
    assert {name: project.version(name) for name in names} == versions
    project.sql(f"update {schema}.src set v = 2 where k = 1")
    run = project.build()
    assert {name: run.message[name].partition(" ")[2] for name in names} == dict.fromkeys(
        names, "2 read, 1 updated"
    )


@pytest.mark.long("thrift")
def test_a_field_that_changes_in_case_alone_is_no_change(
    make_project: Callable[..., Project],
) -> None:
    """`inner_Name` and `inner_name` are one field: no run after the first writes anything for it."""
    project = make_project("cases")
    schema = project.schema
    for source in ("src", "now"):
        project.sql(f"create table {schema}.{source} (k int, v string, ts timestamp) using delta")
        project.sql(f"insert into {schema}.{source} values (1, 'a', {AT}), (2, 'b', {AT})")
    project.source("src", "now")
    name = "{{ 'inner_name' if var('lower', false) else 'inner_Name' }}"
    nested = f"named_struct('{name}', v) as s, array(named_struct('{name}', v)) as l"
    write_ways(project, f"k, {nested}, ts", f"k, {nested}")
    project.model(
        "parted",
        incremental(
            table("src"),
            f"cast(ts as date) as day, k, {nested}, ts",
            incremental_strategy="insert_overwrite",
            partition_by=["day"],
            watermark={"column": "ts", "lookback": "2 days"},
        ),
    )
    project.build()
    names = (*NAMES, "parted")
    versions = {name: project.version(name) for name in names}
    for _ in range(2):
        # A commit of the source that adds nothing: the lookback reads again.
        project.sql(f"update {schema}.src set k = k")
        project.build("--vars", "{lower: true}")
        assert {name: project.version(name) for name in names} == versions


#: Types that lose something, and the value that would: table type, SELECT type, value.
LOSSES = {
    "scale": ("decimal(17,0)", "decimal(17,2)", "12.34"),
    "whole": ("decimal(5,2)", "decimal(9,2)", "1000.00"),
    "day": ("date", "timestamp", "timestamp'2024-05-01 08:00:00Z'"),
    "local_day": ("date", "timestamp_ntz", "timestamp_ntz'2024-05-01 08:00:00'"),
    "narrow": ("float", "double", "0.1"),
    "fraction": ("int", "decimal(9,2)", "1.50"),
    "in_struct": (
        "struct<a: decimal(17,0)>",
        "struct<a: decimal(17,2)>",
        "named_struct('a', 12.34)",
    ),
    "in_list": ("array<date>", "array<timestamp>", "array(timestamp'2024-05-01 08:00:00Z')"),
    "in_map": ("map<string,float>", "map<string,double>", "map('a', 0.1)"),
    "as_key": ("map<decimal(5,0),int>", "map<decimal(5,2),int>", "map(1.5, 1)"),
}
#: What only widens: table type, SELECT type, value, what the table shows.
WIDENED = {
    "more_whole": ("decimal(17,2)", "decimal(9,2)", "1.25", 1.25),
    "more_scale": ("decimal(17,4)", "decimal(9,2)", "1.25", 1.25),
    "number": ("bigint", "int", "7", 7),
    "digits": ("decimal(12,2)", "int", "7", 7.0),
    "precise": ("double", "float", "0.5", 0.5),
    "text": ("string", "int", "7", "7"),
    "nested": ("struct<a: bigint, b: double>", "struct<a: int, b: float>", "named_struct('a', 7, 'b', 0.5)", {"a": 7, "b": 0.5}),
}  # fmt: skip
#: What depends on the value: table type, SELECT type, a value that stays, one that would not.
CHECKED = {
    "zeros": ("decimal(9,0)", "decimal(9,2)", "7.00", "7.50"),
    "midnight": ("date", "timestamp", "timestamp'2024-05-01 00:00:00Z'", "timestamp'2024-05-01 08:00:00Z'"),
    "small": ("int", "bigint", "7", "3000000000"),
    "exact": ("decimal(9,1)", "double", "0.5", "0.25"),
    "whole_double": ("bigint", "double", "2.0", "2.5"),
    "beyond": ("double", "bigint", "7", "9007199254740993"),
    "number_text": ("decimal(9,2)", "string", "'1.25'", "'1.255'"),
    "day_text": ("date", "string", "'2024-05-01'", "'2024-05-01 08:00:00'"),
    "no_number": ("int", "string", "'7'", "'x'"),
    "nested_small": ("struct<a: int>", "struct<a: bigint>", "named_struct('a', 7L)", "named_struct('a', 3000000000L)"),
}  # fmt: skip
#: SQL of a text or a variant, the table's type, and whether it is the same there. All in one statement.
HOLDS: list[tuple[str, str, bool]] = [
    ("'0.1'", "double", True),
    ("'0.1'", "float", True),
    ("' 12.50 '", "double", True),
    ("'2e23'", "double", True),
    ("'NaN'", "double", True),
    ("'-Infinity'", "double", True),
    ("'0.1234567890123456'", "double", True),
    ("'0.12345678901234567890'", "double", False),
    ("'9007199254740993'", "double", False),
    ("'1e400'", "double", False),
    ("'1e-400'", "double", False),
    ("'16777216'", "float", True),
    ("'16777217'", "float", False),
    ("'x'", "double", False),
    ("'123456789012345678901234'", "decimal(38,0)", True),
    ("'0.12345678901234567891'", "decimal(38,20)", True),
    ("'1.5e3'", "decimal(17,2)", True),
    ("'007.500'", "decimal(17,2)", True),
    ("'12.3400000000000000001'", "decimal(17,2)", False),
    ("'99.999'", "decimal(17,2)", False),
    ("'15E-3'", "decimal(17,2)", False),
    ("'0.001'", "decimal(17,2)", False),
    ("'1e5'", "decimal(3,0)", False),
    ("'2024-05-01 08:00:00'", "timestamp", True),
    ("'2024-05-01T08:00:00.123456000Z'", "timestamp", True),
    ("'2024-05-01 08:00:00.123456789'", "timestamp", False),
    ("'2024-05-01'", "timestamp_ntz", True),
    ("'2024-05-01T08:00:00.5'", "timestamp_ntz", True),
    ("'2024-05-01T08:00:00+02:30'", "timestamp_ntz", False),
    ("'2024-05-01 08:00:00.1234567'", "timestamp_ntz", False),
    ("'2024-05-01T00:00:00'", "date", True),
    ("'2024-05-01T00:00:00.0000001'", "date", False),
    ("parse_json('5')", "int", True),
    ("parse_json('5.00')", "int", True),
    ("parse_json('1.7')", "int", False),
    ("parse_json('3000000000')", "int", False),
    ("parse_json('true')", "int", False),
    ("parse_json('1.70')", "decimal(17,1)", True),
    ("parse_json('1.7')", "decimal(17,0)", False),
    ("parse_json('0.1')", "double", True),
    ("parse_json('true')", "boolean", True),
    ("parse_json('2')", "boolean", False),
    ("parse_json('\"a\"')", "string", True),
    ("parse_json('\"2024-05-01\"')", "date", True),
    ("cast(timestamp'2024-05-01 08:00:00Z' as variant)", "date", False),
    ("cast(timestamp'2024-05-01 08:00:00Z' as variant)", "timestamp", True),
    ("parse_json('[1, 2]')", "array<int>", True),
    ("parse_json('[1.7]')", "array<int>", False),
    ('parse_json(\'{"b": 1, "a": 2}\')', "struct<b:int,a:int>", True),
    ('parse_json(\'{"b": 1, "c": 2}\')', "struct<b:int>", False),
    ("9223372036854775807L", "double", False),
    ("9223372036854775807L", "float", False),
    ("1152921504606846976L", "double", True),
    ("9.223372036854775807E18D", "bigint", False),
    ("-9.223372036854775808E18D", "bigint", True),
]
STRATEGIES: dict[str, dict[str, Any]] = {
    "append": {"watermark": {"column": "ts"}},
    "merge": {"watermark": {"column": "ts"}, "incremental_strategy": "merge", "unique_key": "id"},
    "overwrite": {"watermark": {"column": "ts"}, "incremental_strategy": "insert_overwrite", "partition_by": ["day"]},
    "cdc": {"watermark": {"column": "ts"}, "incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "ts"}},
}  # fmt: skip


def typed_model(project: Project, name: str, strategy: str, before: str, after: str) -> None:
    """A model whose column `c` is of type `before`, and with the variable `later` of SQL `after`."""
    column = (
        f"{{% if var('later', false) %}}{after}{{% else %}}cast(null as {before}){{% endif %}} as c"
    )
    if strategy == "snapshot":
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id') }} "
            f"select id, day, {column} from {table('src')}",
        )
    else:
        project.model(
            name, incremental(table("src"), f"id, day, ts, {column}", **STRATEGIES[strategy])
        )


def arrive(project: Project, number: int) -> None:
    project.sql(
        f"insert into {project.schema}.src values ({number}, date'2024-05-0{number}', {AT} + interval {number - 1} days)"
    )


@pytest.mark.long("thrift")
def test_what_would_lose_digits_is_refused(make_project: Callable[..., Project]) -> None:
    """The column, both types, the value and the way out; nothing is written, and the run after the cast loads all."""
    project = make_project("losses")
    project.sql(f"create table {project.schema}.src (id int, day date, ts timestamp) using delta")
    project.source("src")
    arrive(project, 1)
    cases = [
        (f"{case}_{strategy}", *LOSSES[case])
        for index, case in enumerate(LOSSES)
        for strategy in (*STRATEGIES, "snapshot")
        # One case goes through every strategy, each of the others through one.
        if case == "scale" or index % 5 == (*STRATEGIES, "snapshot").index(strategy)
    ]
    for name, before, after, value in cases:
        typed_model(project, name, name.rpartition("_")[2], before, f"cast({value} as {after})")
    project.build()
    versions = {name: project.version(name) for name, *_ in cases}
    arrive(project, 2)
    run = project.dbt("run", "--vars", "{later: true}")
    for name, before, after, _ in cases:
        said = sentence(run.message[name])
        assert run.status[name] == "error" and "in the table and cannot be: " in said, (name, said)
        assert "cast it there, or run once with --full-refresh" in said, name
        if "<" not in before:
            assert f"`c` is {before} in the table and cannot be: " in said, said
            assert f"It is {after} in the SELECT of {project.schema}.{name}" in said, said
        state, error = project.ledger(name, "state, error")[-1]
        assert state == "failed" and "cannot be" in error, name
    assert {name: project.version(name) for name, *_ in cases} == versions
    project.build()
    for name, *_ in cases:
        assert len(project.sql(f"select id from {project.schema}.{name}")) == 2, name


@pytest.mark.long("thrift")
def test_what_only_widens_passes_and_the_rest_depends_on_the_value(
    make_project: Callable[..., Project],
) -> None:
    """A value that comes back as it was is taken, another one stops its batch with column, types and value."""
    project = make_project("widened")
    project.sql(f"create table {project.schema}.src (id int, day date, ts timestamp) using delta")
    project.source("src")
    arrive(project, 1)
    every = (*STRATEGIES, "snapshot")
    widened = {
        f"{case}_{every[i % 5]}": (case, *WIDENED[case]) for i, case in enumerate(WIDENED)
    } | {f"more_scale_{strategy}": ("more_scale", *WIDENED["more_scale"]) for strategy in every}
    checked = {f"{case}_{every[i % 5]}": CHECKED[case] for i, case in enumerate(CHECKED)} | {
        f"exact_{strategy}": CHECKED["exact"] for strategy in every
    }
    for name, (_, before, after, value, _) in widened.items():
        typed_model(project, name, name.rpartition("_")[2], before, f"cast({value} as {after})")
    for name, (before, after, fits, breaks) in checked.items():
        value = f"if(id = 3, cast({breaks} as {after}), cast({fits} as {after}))"
        typed_model(project, name, name.rpartition("_")[2], before, value)
    project.build()
    arrive(project, 2)
    project.build("--vars", "{later: true}")
    for name, (_, before, _, _, shown) in widened.items():
        row = next(row for row in rows_of(project, name) if row["id"] == 2)
        assert row["c"] == shown, name
        described = dict(row[:2] for row in project.sql(f"describe {project.schema}.{name}"))
        assert described["c"] == before.replace(": ", ":").replace(", ", ","), name
    arrive(project, 3)
    run = project.dbt("run", "--vars", "{later: true}")
    for name, (before, after, _, breaks) in checked.items():
        said = sentence(run.message[name])
        assert run.status[name] == "error" and "in the table and cannot be: " in said, (name, said)
        if "<" not in before:
            assert f"`c` is {before} in" in said and f"It is {after} in the SELECT" in said, said
            assert breaks.removeprefix("timestamp").strip("'Z") in said, said
        assert {row["id"] for row in rows_of(project, name)} == {1, 2}, name
    floodmark = load()
    asked = []
    for number, (value, wanted, _) in enumerate(HOLDS):
        kinds = {"'": "string", "p": "variant", "c": "variant"}
        given = kinds.get(value[0], "bigint" if value.endswith("L") else "double")
        cast = f"try_cast(v{number} as {wanted})"
        holds = floodmark._cast_holds_sql(f"v{number}", cast, given, wanted)
        asked.append((f"{value} as v{number}", f"coalesce({holds}, false)"))
    (found,) = project.sql(
        f"select to_json(array({', '.join(holds for _, holds in asked)})) from (select {', '.join(value for value, _ in asked)})"
    )
    said = dict(zip([case[:2] for case in HOLDS], json.loads(found[0]), strict=True))
    assert said == {case[:2]: case[2] for case in HOLDS}


@pytest.mark.long("thrift")
def test_a_column_without_a_type_waits_for_one(make_project: Callable[..., Project]) -> None:
    """`null as n`, an empty array, a field of a struct: kept out and named, then what they turn out to be."""
    project = make_project("untyped")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, day date, ts timestamp) using delta")
    project.source("src")
    later = "{% if var('later', false) %}"
    select = (
        f"{later}cast(id * 10 as bigint){{% else %}}null{{% endif %}} as n, "
        f"{later}array('x'){{% else %}}array(){{% endif %}} as l, "
        f"{later}map('k', id){{% else %}}map(){{% endif %}} as m, "
        f"named_struct('a', id, 'b', {later}cast(id as string){{% else %}}null{{% endif %}}) as s"
    )
    modes = {
        "append": "ignore",
        "merge": "ignore",
        "cdc": "append_new_columns",
        "overwrite": "fail",
    }
    for strategy, mode in modes.items():
        project.model(
            strategy,
            incremental(
                table("src"),
                f"id, day, ts, {select}",
                on_schema_change=mode,
                **STRATEGIES[strategy],
            ),
        )
    project.model(
        "snapshot",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id') }} "
        f"select id, {select} from {table('src')}",
    )
    # Rows in which nothing else changes.
    waiting = {
        f"{mode}_{scd_type}": (mode, scd_type)
        for mode, scd_type in (("ignore", 1), ("ignore", 2), ("append_new_columns", 1))
    }
    for name, (mode, scd_type) in waiting.items():
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
            f"on_schema_change='{mode}', snapshot_diff={{'stored_as_scd_type': {scd_type}}}) }}}} "
            f"select id, day, {select.partition(' as n,')[0]} as n from {table('src')} where id < 3",
        )
    names = [*modes, "snapshot"]
    arrive(project, 1)
    run = project.dbt("run")
    assert run.success, run.log[-4000:]
    for name in names:
        assert f"{schema}.{name}': the SELECT gives n, l, m, s.b without a type" in sentence(
            run.log
        )
        assert {"n", "l", "m"}.isdisjoint(
            row[0] for row in project.sql(f"describe {schema}.{name}")
        )
    arrive(project, 2)
    assert project.dbt("run").success
    arrive(project, 3)
    run = project.dbt("run", "--vars", "{later: true}")
    assert run.success, run.log[-4000:]
    for name in names:
        found = {row["id"]: row for row in rows_of(project, name)}
        assert sorted(found) == [1, 2, 3], name
        assert found[3]["n"] == 30 and found[3]["l"] == ["x"] and found[3]["m"] == {"k": 3}, name
        assert found[3]["s"] == {"a": 3, "b": "3"}, name
        if name != "snapshot":
            assert "n" not in found[1] and found[1]["s"] == {"a": 1}, name
    for name, (_, scd_type) in waiting.items():
        assert project.sql(
            f"select id, n from {schema}.{name} {'where __end_at is null' if scd_type == 2 else ''} order by id"
        ) == [(1, 10), (2, 20)], name
        assert len(project.sql(f"select id from {schema}.{name}")) == 2 * scd_type, name
    arrive(project, 4)
    # Untyped again, now beside a column that has a type: NULL.
    run = project.dbt("run")
    assert run.success, run.log[-4000:]
    assert project.sql(f"select distinct n from {schema}.append_new_columns_1") == [(None,)]
    assert "n" not in next(row for row in rows_of(project, "merge") if row["id"] == 4)


ODD_FIELDS = (
    "first-name",
    "é",
    "a b",
    "a:b",
    "a,b",
    "a<b",
    "a(b",
    "ti`ck",
    "x>y)",
    "c:int,d",
    "dot.ted",
)


@pytest.mark.long("thrift")
def test_structs_with_odd_field_names_grow_and_meet_by_name(
    make_project: Callable[..., Project],
) -> None:
    """Types are read unambiguously: fields with any name come, grow and stand in another order."""
    project = make_project("fields")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, day date, ts timestamp) using delta")
    project.source("src")

    def text(name: str) -> str:
        return "'" + name + "'"

    first = ", ".join(f"{text(name)}, id" for name in ODD_FIELDS)
    more = ", ".join(f"{text(name)}, id" for name in reversed((*ODD_FIELDS, "new field", "e:f")))
    select = (
        "{% if var('later', false) %}named_struct("
        + more
        + "){% else %}named_struct("
        + first
        + "){% endif %} as s, "
        "array({% if var('later', false) %}named_struct("
        + more
        + "){% else %}named_struct("
        + first
        + "){% endif %}) as l"
    )
    mapped = {"delta.columnMapping.mode": "name"}
    for strategy, config in STRATEGIES.items():
        project.model(
            strategy,
            incremental(
                table("src"),
                f"id, day, ts, {select}",
                on_schema_change="append_new_columns",
                tblproperties=mapped,
                **config,
            ),
        )
    project.model(
        "filled",
        incremental(
            table("src"),
            f"id, day, ts, {select}",
            on_schema_change="append_new_columns",
            tblproperties=mapped,
            watermark={"column": "ts"},
            incremental_strategy="cdc",
            unique_key="id",
            cdc={"sequence_by": "ts", "ignore_null_updates": True},
        ),
    )
    project.model(
        "snapshot",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
        f"on_schema_change='append_new_columns', tblproperties={mapped!r}) }}}} select id, {select} from {table('src')}",
    )
    names = [*STRATEGIES, "filled", "snapshot"]
    arrive(project, 1)
    project.build()
    arrive(project, 2)
    run = project.dbt("run", "--vars", "{later: true}")
    assert run.success, run.log[-4000:]
    for name in names:
        row = next(row for row in rows_of(project, name) if row["id"] == 2)
        assert row["s"] == dict.fromkeys((*ODD_FIELDS, "new field", "e:f"), 2), name
        assert list(row["s"])[: len(ODD_FIELDS)] == list(ODD_FIELDS), name
        assert row["l"] == [row["s"]], name
    versions = {name: project.version(name) for name in names}
    assert project.dbt("run", "--vars", "{later: true}").success
    assert {name: project.version(name) for name in names} == versions


@pytest.mark.long("thrift")
def test_a_struct_that_grows_and_changes_a_type_at_once(
    make_project: Callable[..., Project],
) -> None:
    """The new field comes, and the other one in the table's type."""
    project = make_project("both")
    schema = project.schema
    project.sql(f"create table {schema}.src (id int, day date, ts timestamp) using delta")
    project.source("src")
    select = (
        "{% if var('later', false) %}named_struct('a', cast(id as int), 'b', 'new')"
        "{% else %}named_struct('a', cast(id as bigint)){% endif %} as s"
    )
    for strategy, config in STRATEGIES.items():
        project.model(
            strategy,
            incremental(
                table("src"),
                f"id, day, ts, {select}",
                on_schema_change="append_new_columns",
                **config,
            ),
        )
    project.model(
        "snapshot",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
        f"on_schema_change='append_new_columns') }}}} select id, {select} from {table('src')}",
    )
    arrive(project, 1)
    project.build()
    arrive(project, 2)
    run = project.dbt("run", "--vars", "{later: true}")
    assert run.success, run.log[-4000:]
    for name in (*STRATEGIES, "snapshot"):
        found = {row["id"]: row["s"] for row in rows_of(project, name)}
        assert found[2] == {"a": 2, "b": "new"}, name
        assert (
            dict(row[:2] for row in project.sql(f"describe {schema}.{name}"))["s"]
            == "struct<a:bigint,b:string>"
        )
