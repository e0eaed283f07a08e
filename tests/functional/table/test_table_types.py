"""Values that meet a table of other types: what Spark itself says of each cast, partitions of every type, tables that lack the key."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.files import columns as columns_of
from tests.support.harness import Project, incremental, sentence, table
from tests.support.macros import load
from tests.support.rows import AT, rows_of

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

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
    ("'08:15:00'", "timestamp", False),
    ("'T08:15'", "timestamp", False),
    ("'2024'", "timestamp", False),
    ("'2024-05'", "date", False),
    ("'8001'", "timestamp_ntz", False),
    ("'+12024-5-1 8:00'", "timestamp", True),
    ("parse_json('1714550400000')", "timestamp", False),
    ("parse_json('\"08:15:00\"')", "timestamp", False),
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
    ("parse_json('null')", "int", True),
    ("parse_json('null')", "string", True),
    ("parse_json('null')", "array<int>", True),
    ("parse_json('null')", "struct<b:int>", True),
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

#: insert_overwrite tables by hand: type and expression of the partition.
PARTITIONS = {
    "years": ("smallint", "year(ts)"),
    "months": ("varchar(7)", "date_format(ts, 'yyyy-MM')"),
}
#: Tables by hand that lack a column: settings, the setting that is named, the column.
LACKING = {
    "no_key": ({"incremental_strategy": "merge", "unique_key": "id"}, "unique_key", "id"),
    "no_part": (
        {"incremental_strategy": "insert_overwrite", "partition_by": ["day"]},
        "partition_by",
        "day",
    ),
}
#: Snapshots in which nothing but `null as n` changes: on_schema_change, SCD type and what is compared.
WAITING: dict[str, tuple[str, int, dict[str, list[str]]]] = {
    "ignored_1": ("ignore", 1, {}),
    "ignored_2": ("ignore", 2, {"compare_columns": ["day", "n"]}),
    "appended": ("append_new_columns", 1, {}),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("types")
    s = project.schema
    project.sql(f"create table {s}.src (id int, v int, day date, ts timestamp) using delta")
    project.sql(
        f"insert into {s}.src values (1, 1, date'2024-05-01', {AT}), (2, 2, date'2024-05-02', {AT} + interval 1 day)"
    )
    project.source("src")
    for name, (kind, expression) in PARTITIONS.items():
        project.model(
            name,
            incremental(
                table("src"),
                f"id, v, ts, {expression} as part, 'x' as extra",
                incremental_strategy="insert_overwrite",
                partition_by=["part"],
                watermark={"column": "ts", "lookback": "2 days"},
            ),
        )
        project.sql(
            f"create table {s}.{name} (row_number bigint generated by default as identity, id int, v int, ts timestamp, "
            f"twice int generated always as (v * 2), note string default 'made by hand', part {kind}) using delta "
            "partitioned by (part) tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
        )
    for name, (config, _, _) in LACKING.items():
        project.model(
            name, incremental(table("src"), "id, v, day, ts", watermark={"column": "ts"}, **config)
        )
        project.sql(f"create table {s}.{name} (v int, ts timestamp) using delta")
    later = "{% if var('later', false) %}cast(id * 10 as bigint){% else %}null{% endif %}"
    for name, (mode, scd_type, compared) in WAITING.items():
        snapshot = {"stored_as_scd_type": scd_type} | compared
        project.model(
            name,
            "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
            f"on_schema_change='{mode}', snapshot_diff={snapshot!r}) }}}} "
            f"select id, day, {later} as n from {table('src')}",
        )
    return project


def test_tables_that_lack_a_column_and_columns_that_wait_for_a_type(project: Project) -> None:
    s = project.schema
    run = project.dbt("run")
    for name, (_, setting, column) in LACKING.items():
        said = run.message[name]
        assert f'{setting}: got "{column}"; expected a column of {s}.{name}' in said, said
        assert project.ledger(name, "state") == [("failed",)]
        project.sql(f"alter table {s}.{name} add columns (id int, day date)")
    assert {name for name, status in run.status.items() if status == "error"} == set(LACKING)
    versions = {name: project.version(name) for name in PARTITIONS}
    project.sql(f"update {s}.src set v = v")
    project.build("--vars", "{later: true}")
    # A lookback that finds its rows as they are writes nothing, whatever else the tables have.
    assert {name: project.version(name) for name in PARTITIONS} == versions
    for name, part in {"years": 2024, "months": "2024-05"}.items():
        assert sorted(project.sql(f"select id, part, twice, note from {s}.{name}")) == [
            (1, part, 2, "made by hand"),
            (2, part, 4, "made by hand"),
        ]
    for name in LACKING:
        assert sorted(row["id"] for row in rows_of(project, name)) == [1, 2]
    for name, (_, scd_type, _) in WAITING.items():
        current = "where __end_at is null" if scd_type == 2 else ""
        rows = project.sql(f"select id, n from {s}.{name} {current} order by id")
        assert rows == [(1, 10), (2, 20)], name
        assert len(project.sql(f"select id from {s}.{name}")) == 2 * scd_type, name


def test_start_and_end_have_the_type_of_what_they_hold(project: Project) -> None:
    """A MERGE would cast a timestamp to a date without a word. What is refused is left as it was, so a cast helps."""
    s = project.schema
    history = {"sequence_by": "at", "stored_as_scd_type": 2, "start_at": "valid_from", "end_at": "valid_to"}  # fmt: skip
    at = "{% if var('later', false) %}date{% else %}timestamp{% endif %}'2024-05-03' as at"
    configs = {
        "spans": {"incremental_strategy": "cdc", "cdc": history},
        "extracts": {
            "incremental_strategy": "snapshot_diff",
            "snapshot_diff": {"version": "at", "stored_as_scd_type": 2},
        },
    }
    for name, config in configs.items():
        text = ", ".join(f"{key}={value!r}" for key, value in config.items())
        project.model(
            name,
            f"{{{{ config(materialized='incremental', unique_key='id', on_schema_change='append_new_columns', {text}) }}}}\n"
            f"select id, v, {at} from {table('src')}",
        )
    tables = {"spans": "id int, v int, valid_from date, valid_to date", "extracts": "id int, v int, __end_at date"}  # fmt: skip
    for name, columns in tables.items():
        project.sql(f"create table {s}.{name} ({columns}) using delta")
    said = project.dbt("run", "--select", *tables).message
    for setting in ("start_at", "end_at"):
        expected = f'cdc.{setting}: got "at timestamp"; expected date, as in {s}.spans'
        assert expected in sentence(said["spans"]), said
    expected = f'snapshot_diff.version: got "at as __end_at timestamp"; expected date, as in {s}.extracts'  # fmt: skip
    assert expected in sentence(said["extracts"]), said
    for name, columns in tables.items():
        found = [f"{column} {type}" for column, type in columns_of(project, name).items()]
        assert found == columns.split(", "), name
    project.build("--select", *tables, "--vars", "{later: true}")
    for name, start in {"spans": "valid_from", "extracts": "__start_at"}.items():
        found = project.sql(f"select id, cast({start} as string) from {s}.{name} order by id")
        assert found == [(1, "2024-05-03"), (2, "2024-05-03")], name


def test_what_spark_says_of_each_cast(project: Project) -> None:
    """Each check of a value, asked of Spark: whether it holds."""
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
