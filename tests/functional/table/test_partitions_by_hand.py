"""Tables whose partitions, columns and constraints are not those of the config: what the table has counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.harness import Project, Run, incremental, sentence, table
from tests.support.rows import AT, rows_of

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

KEYS = ["id", "region"]
COLUMNS = "id int, region string, v int, ts timestamp"
LOOKBACK = {"column": "ts", "lookback": "10 days"}
WAYS = {
    "in_key": incremental(table("src"), incremental_strategy="merge", unique_key=KEYS, watermark=LOOKBACK),
    "beside": incremental(table("src"), incremental_strategy="merge", unique_key="id", watermark=LOOKBACK),
    "snapshot": "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id') }} "
    f"select id, region, v from {table('src')}",
}  # fmt: skip
#: Partitioned in the config, not in the table: '' is a value like any other there.
UNPARTITIONED = incremental(
    table("src"), incremental_strategy="merge", unique_key=KEYS, watermark=LOOKBACK, partition_by=["region"]
)  # fmt: skip
#: Keys that lack a part of themselves in a table that keeps '' as NULL.
KEYLESS = {
    "events": incremental(
        table("src"), incremental_strategy="cdc", unique_key=KEYS, cdc={"sequence_by": "ts"}, watermark={"column": "ts"}
    ),
    "extract": "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', "
    f"unique_key={KEYS!r}) }}}} select id, region, v from {table('src')}",
}  # fmt: skip
#: A partition that the SELECT gives in another type than the table has: number, day, and a day as a text.
CAST = {
    "month": ("int", "date_format(ts, 'yyyyMM')"),
    "day": ("date", "date_format(ts, 'yyyy-MM-dd')"),
    "name": ("string", "cast(ts as date)"),
}
#: What a SELECT gives first, and once a column is gone from it.
NARROWED = [
    incremental(
        table("src"), select, incremental_strategy="merge", unique_key="id", watermark=LOOKBACK, on_schema_change="fail"
    )
    for select in ("*", "id, v, ts")
]  # fmt: skip
#: `start` lies within the first partition, whose column the empty table gets from the first batch.
ADDING = incremental(
    table("src"),
    "id, ts, cast(ts as date) as day",
    incremental_strategy="insert_overwrite",
    partition_by=["day"],
    on_schema_change="append_new_columns",
    watermark={"column": "ts", "start": "2024-05-01 01:00:00"},
)
#: Tables that a pre-hook makes after dbt has compiled the SELECT without what stands behind the guard.
MADE = "create table if not exists {{ this }} (id int%s) using delta"
HOOKED = {
    "unmarked": incremental(
        table("src"), "id, ts", guard=True, pre_hook=MADE % "", watermark={"column": "ts"}
    ),
    "days": incremental(
        table("src"),
        "id, ts, cast(ts as date) as day",
        guard=True,
        pre_hook=MADE % ", ts timestamp, day date" + " partitioned by (day)",
        incremental_strategy="insert_overwrite",
        partition_by=["day"],
        watermark={"column": "ts"},
    ),
}
CONTRACT = """
config: {contract: {enforced: true}}
columns:
  - {name: id, data_type: int}
  - {name: v, data_type: int}
  - {name: ts, data_type: timestamp}
constraints:
  - {type: check, name: valid_amount, expression: 'id > 0'}
"""
ADDED = "  - {type: check, name: valid, expression: 'id > 0'}\n"


@dataclass
class Story:
    project: Project
    runs: list[Run]
    versions: list[int]


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Three runs; before each the upstream has a commit, which brings a new row to the second alone."""
    project = make_project("by_hand")
    s = project.schema
    project.sql(f"create table {s}.src ({COLUMNS}) using delta")
    project.source("src")
    for name, sql in (WAYS | KEYLESS).items():
        columns = (
            COLUMNS.replace(", ts timestamp", "") if name in ("snapshot", "extract") else COLUMNS
        )
        project.sql(f"create table {s}.{name} ({columns}) using delta partitioned by (region)")
        project.model(name, sql)
    project.sql(f"create table {s}.flat ({COLUMNS}) using delta cluster by (v)")
    project.model("flat", UNPARTITIONED)
    project.model("narrowed", NARROWED[0])
    project.sql(f"create table {s}.adding (id int, ts timestamp) using delta")
    project.model("adding", ADDING)
    for name, sql in HOOKED.items():
        project.model(name, sql)
    strict = incremental(
        table("src"), "id, v, ts", watermark={"column": "ts"}, on_schema_change="append_new_columns"
    )
    project.model("strict", strict, CONTRACT)
    project.model(
        "lettered",
        incremental(
            table("src"), watermark={"column": "ts"}, incremental_strategy="merge", unique_key="id"
        ),
    )
    for name, (kind, value) in CAST.items():
        moment = "timestamp_ntz" if name == "day" else "timestamp"
        project.sql(
            f"create table {s}.by_{name} (id int, ts {moment}, {name} {kind}) using delta partitioned by ({name})"
        )
        project.model(
            f"by_{name}",
            incremental(
                table("src"),
                f"id, ts, {value} as {name}",
                watermark=LOOKBACK,
                incremental_strategy="insert_overwrite",
                partition_by=[name],
            ),
        )
    project.sql(
        f"insert into {s}.src values (1, '', 1, {AT}), (2, 'EU', 1, {AT}), (4, cast(X'4DFC' as string), 1, {AT})"
    )
    runs = [project.dbt("run")]
    assert runs[0].status["lettered"] == "success", runs[0].log
    project.sql(f"alter table {s}.lettered add columns (grade char(2))")
    project.sql(f"insert into {s}.src values (3, '', 1, {AT} + interval 1 hour)")
    project.model("strict", strict, CONTRACT + ADDED)
    runs.append(project.dbt("run"))
    versions = [project.version(name) for name in (*WAYS, "flat")]
    project.sql(f"insert into {s}.src select * from {s}.src where false")
    project.sql(f"alter table {s}.src set tblproperties ('x' = 'y')")
    project.model("narrowed", NARROWED[1])
    runs.append(project.dbt("run"))
    return Story(project, runs, versions)


@pytest.mark.parametrize("name", WAYS)
def test_a_partition_of_the_table_has_its_text_as_delta_keeps_it(story: Story, name: str) -> None:
    """An empty text is NULL, and bytes that are not UTF-8 are U+FFFD."""
    assert all(run.status[name] == "success" for run in story.runs), story.runs[-1].message[name]
    found = [(row["id"], row.get("region")) for row in rows_of(story.project, name, "id, region")]
    assert sorted(found, key=repr) == [(1, None), (2, "EU"), (3, None), (4, "M\ufffd")]


def test_rows_that_are_read_again_write_nothing(story: Story) -> None:
    assert [story.project.version(name) for name in (*WAYS, "flat")] == story.versions


def test_an_empty_text_stays_where_only_the_config_has_partitions(story: Story) -> None:
    found = [(row["id"], row.get("region")) for row in rows_of(story.project, "flat", "id, region")]
    assert sorted(found) == [(1, ""), (2, "EU"), (3, ""), (4, "M\ufffd")]
    region = f"select hex(cast(region as binary)) from {story.project.schema}.flat where id = 4"
    assert story.project.sql(region) == [("4DFC",)]


def test_a_column_that_is_gone_is_refused_though_all_rows_are_as_they_were(story: Story) -> None:
    assert [run.status["narrowed"] for run in story.runs] == ["success", "success", "error"]
    said = sentence(story.runs[2].message["narrowed"])
    assert f"the SELECT and {story.project.schema}.narrowed differ (gone: region)" in said


@pytest.mark.parametrize("name", KEYLESS)
def test_a_key_that_the_table_keeps_as_null_is_refused(story: Story, name: str) -> None:
    assert story.runs[0].status[name] == "error"
    assert "no id or region" in sentence(story.runs[0].message[name])
    assert not rows_of(story.project, name)


def test_a_constraint_whose_name_begins_anothers_is_put_on_the_table(story: Story) -> None:
    names = {
        row[0] for row in story.project.sql(f"show tblproperties {story.project.schema}.strict")
    }
    assert {"delta.constraints.valid_amount", "delta.constraints.valid"} <= names


@pytest.mark.parametrize("name", CAST)
def test_a_partition_takes_the_type_of_the_table(story: Story, name: str) -> None:
    """So does the watermark column, a time without a zone where the partition is a day."""
    model = f"by_{name}"
    assert all(run.status[model] == "success" for run in story.runs), story.runs[-1].message[model]
    assert [row["id"] for row in rows_of(story.project, model, "id")] == [1, 2, 3, 4]


def test_a_partition_may_come_with_the_first_batch(story: Story) -> None:
    said = [run.message["adding"] for run in story.runs]
    assert all(run.status["adding"] == "success" for run in story.runs), said
    found = story.project.sql(
        f"select id, cast(day as string) from {story.project.schema}.adding order by id"
    )
    assert found == [(id, "2024-05-01") for id in (1, 2, 3, 4)]


def test_a_guarded_append_into_a_table_without_its_mark_is_refused(story: Story) -> None:
    """Its rows would give none, and the next run would add them again; that run has the filter."""
    said = sentence(story.runs[0].message["unmarked"])
    assert f"expected a column of {story.project.schema}.unmarked" in said, said
    assert [run.status["unmarked"] for run in story.runs] == ["error", "success", "success"]
    assert [row["id"] for row in rows_of(story.project, "unmarked", "id")] == [1, 2, 3, 4]


def test_a_guarded_first_load_fills_partitions_that_a_hook_made(story: Story) -> None:
    said = [run.message["days"] for run in story.runs]
    assert all(run.status["days"] == "success" for run in story.runs), said
    assert [row["id"] for row in rows_of(story.project, "days", "id")] == [1, 2, 3, 4]


def test_a_char_column_that_came_later_is_refused_with_the_way_out(story: Story) -> None:
    said = sentence(story.runs[1].message["lettered"])
    assert "expected no CHAR column, which Delta's MERGE cannot read" in said
    assert f"alter table {story.project.schema}.lettered alter column `grade` type string" in said
