"""SEMANTICS.md, "Watermarks and merge": which row a key keeps, and what a MERGE may touch."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.harness import FULL, Project, Run, incremental, sentence, table

pytestmark = pytest.mark.long("thrift")

DAY_1 = [
    (1, "old", "eu", "2024-01-01 00:00:00"),
    (1, "new", "eu", "2024-01-01 02:00:00"),
    (2, "tie a", "us", "2024-01-01 01:00:00"),
    (2, "tie b", "us", "2024-01-01 01:00:00"),
    (3, "x", "us", "2024-01-01 01:00:00"),
]
DAY_2 = [
    (1, "older", "eu", "2024-01-01 01:30:00"),
    (2, "tie c", "us", "2024-01-01 01:00:00"),
    (3, "y", "us", "2024-01-02 00:00:00"),
    (4, "z", "eu", "2024-01-02 00:00:00"),
]
TYPED = "dec decimal(10,2), d date, t timestamp, n timestamp_ntz, b binary, v string, ts timestamp"
TYPED_KEY = (
    "1.10, date'2024-02-29', timestamp'2024-03-31 01:30:00.000001Z', "
    "timestamp_ntz'2024-03-31 02:30:00.000001', X'00FF'"
)
#: Those types under odd names.
ODD_KEY = ["select", "Mixed", "tick`s", "my key", "b"]
ODD_SELECT = "dec as `select`, d as `Mixed`, t as `tick``s`, n as `my key`, b, v, ts"
MAPPED = {"delta.columnMapping.mode": "name"}


def orders(rows: list[tuple[Any, ...]]) -> str:
    return ", ".join(f"({i}, '{v}', '{r}', timestamp'{ts}Z')" for i, v, r, ts in rows)


def merged(upstream: str, select: str = "*", key: str | list[str] = "id", **config: Any) -> str:
    watermark = {"column": "ts"} | config.pop("watermark", {})
    return incremental(
        table(upstream),
        select,
        incremental_strategy="merge",
        unique_key=key,
        watermark=watermark,
        **config,
    )


WIDER = "id, v, ts{% if var('wide', false) %}, v as extra{% endif %}"
NARROWER = "id, ts{% if not var('wide', false) %}, v{% endif %}"
INT_LATER = "{% if var('wide', false) %}cast(id * 1000 as int){% else %}id * 1000{% endif %}"
KEY_AS_TEXT = "{% if var('wide', false) %}cast(id + 7 as string){% else %}id + 7{% endif %}"
MODELS = {
    "latest": merged("orders", watermark={"lookback": "10 days"}),
    "at_once": merged("orders_all"),
    "in_steps": merged("orders_all", watermark={"step": "12 hours"}),
    "null_key": merged("nullable", "a, v, ts", key="a"),
    "null_keys": merged("nullable", key=["a", "b"]),
    # Of a name that comes twice one counts.
    "empty_partition": merged(
        "orders",
        "if(region = 'eu', '', region) as part, id, v, ts",
        key=["part", "id", "ID"],
        partition_by=["part", "Part"],
        watermark={"lookback": "10 days"},
    ),
    "odd_keys": merged("typed", ODD_SELECT, key=ODD_KEY, tblproperties=MAPPED),
    "without_column": merged("repeated", "id, v"),
    "update_some": merged(
        "orders", WIDER, merge_update_columns=["v"], change_feed=False, on_schema_change="ignore"
    ),
    "exclude_some": merged(
        "orders", WIDER, merge_exclude_columns=["v"], on_schema_change="append_new_columns"
    ),
    "predicates": merged(
        "orders",
        incremental_predicates=[
            "DBT_INTERNAL_DEST.region <> 'us' /* ) */ or DBT_INTERNAL_DEST.region = 'eu' -- or true\n;"
        ],
    ),
    "predicate": merged("orders", incremental_predicates="DBT_INTERNAL_DEST.region <> 'us'"),
    "struct_key": merged(
        "orders",
        "named_struct('id', id{% if var('wide', false) %}, 'v', v{% endif %}) as id, v, ts",
    ),
    "text_key_contract": merged(
        "orders", f"{KEY_AS_TEXT} as id, v, ts", on_schema_change="append_new_columns"
    ),
    "columns_fail": merged("orders", WIDER, on_schema_change="fail"),
    "columns_gone": merged("orders", NARROWER, on_schema_change="sync_all_columns"),
    "scattered": merged(
        "orders",
        WIDER.replace("id, v", "id * 1000 as id, v, v as session"),
        on_schema_change="sync_all_columns",
    ),
    "text_keys": merged("orders", f"{KEY_AS_TEXT} as id, v, ts"),
    "scattered_int": merged("orders", f"{INT_LATER} as id, v, v as session, ts"),
}
#: One key of NULLs, one way to write a predicate and one type of a key that is cast, or all with FLOODMARK_LAB=full.
if not FULL:
    MODELS = {
        name: sql
        for name, sql in MODELS.items()
        if name not in ("null_key", "predicate", "text_keys")
    }
KEY_CONTRACT = """\
config: {contract: {enforced: true}}
columns:
  - {name: id, data_type: "{{ 'string' if var('wide', false) else 'bigint' }}"}
  - {name: v, data_type: string}
  - {name: ts, data_type: timestamp}
"""
#: Runs behind the first: a wider SELECT, and the filter of keys on tables of any size.
LATER = ("--vars", "{wide: true, floodmark_key_filter_bytes: 0}")


@dataclass
class Story:
    """Runs, and the rows of every model after each; batches and versions at the end of each."""

    project: Project
    runs: list[Run] = field(default_factory=list)
    rows: list[dict[str, list[dict[str, Any]]]] = field(default_factory=list)
    batches: list[dict[str, list[dict[str, Any]]]] = field(default_factory=list)
    versions: list[int] = field(default_factory=list)

    def run(self, *args: str) -> None:
        project, schema = self.project, self.project.schema
        self.runs.append(project.dbt("run", *args))
        present = {row[1] for row in project.sql(f"show tables in {schema}")}
        models = [name for name in MODELS if name in present]
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in models}
        for name, text in project.sql(
            " union all ".join(
                f"select '{name}', to_json(struct(*), map('ignoreNullFields', 'false')) "
                f"from {schema}.{name}"
                for name in models
            )
        ):
            rows[name].append(json.loads(text))
        self.rows.append(rows)
        batches: dict[str, list[dict[str, Any]]] = {}
        for (text,) in project.sql(
            f"select to_json(struct(*)) from {schema}_floodmark.batches order by batch_id"
        ):
            batch = json.loads(text)
            batches.setdefault(batch["model"].split(".")[1], []).append(batch)
        self.batches.append(batches)
        self.versions.append(project.version("latest"))

    def values(self, model: str, key: str = "id", value: str = "v", run: int = -1) -> list[Any]:
        return sorted(
            ((row[key], row[value]) for row in self.rows[run][model]), key=lambda pair: repr(pair)
        )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Day 1, day 2 with late rows and a wider SELECT, a third run after the data was mended."""
    project = make_project("story")
    s = project.schema
    columns = "(id bigint, v string, region string, ts timestamp) using delta"
    project.sql(f"create table {s}.orders {columns}")
    project.sql(f"create table {s}.orders_all {columns}")
    project.sql(f"create table {s}.typed ({TYPED}) using delta")
    project.sql(f"create table {s}.nullable (a int, b string, v string, ts timestamp) using delta")
    project.sql(f"create table {s}.repeated (id bigint, v string, ts timestamp) using delta")
    project.source("orders", "orders_all", "typed", "nullable", "repeated")
    for name, sql in MODELS.items():
        project.model(name, sql, yml=KEY_CONTRACT if name == "text_key_contract" else None)
    story = Story(project)
    first, second = "timestamp'2024-01-01 00:00:00Z'", "timestamp'2024-01-02 00:00:00Z'"
    project.sql(f"insert into {s}.orders values {orders(DAY_1)}")
    project.sql(f"insert into {s}.orders_all values {orders(DAY_1 + DAY_2)}")
    for ts, v in ((first, "one"), (second, "two")):
        project.sql(f"insert into {s}.typed values ({TYPED_KEY}, '{v}', {ts})")
        project.sql(
            f"insert into {s}.nullable values (null, null, '{v}', {ts}), (null, 'b', '{v}b', {ts}), "
            f"(1, null, '{v}1', {ts})"
        )
        if ts == first:
            project.sql(f"insert into {s}.repeated values (1, '{v}', {ts})")
            story.run()
    project.sql(f"insert into {s}.orders values {orders(DAY_2)}")
    project.sql(
        f"insert into {s}.repeated values (1, 'p', {second}), (1, 'q', {second}), (2, 'r', {second})"
    )
    story.run(*LATER)
    project.sql(f"delete from {s}.repeated where v = 'p'")
    story.run(*LATER, "--select", "without_column", "latest")
    return story


def test_the_greatest_watermark_wins_on_a_first_load(story: Story) -> None:
    assert (1, "new") in story.values("latest", run=0)
    assert len(story.rows[0]["latest"]) == 3


def test_an_older_event_does_not_overwrite_a_newer_row(story: Story) -> None:
    assert (1, "new") in story.values("latest", run=1)
    assert (3, "y") in story.values("latest", run=1)


def test_ties_are_decided_alike_however_the_rows_are_split(story: Story) -> None:
    tables = [
        Counter(json.dumps(row, sort_keys=True) for row in story.rows[1][model])
        for model in ("latest", "at_once", "in_steps")
    ]
    assert tables[0] == tables[1] == tables[2]
    assert sum(tables[0].values()) == 4


def test_ties_are_counted(story: Story) -> None:
    assert story.batches[0]["latest"][0]["rows_tied"] == 1
    assert story.batches[0]["at_once"][0]["rows_tied"] == 2


def test_null_keys_match_null_keys(story: Story) -> None:
    assert story.values("null_keys", "b") == sorted(
        [("b", "twob"), (None, "two"), (None, "two1")], key=repr
    )
    if FULL:
        assert len(story.rows[1]["null_key"]) == 2
        assert (1, "two1") in story.values("null_key", "a")


def test_an_empty_text_that_partitions_the_table_is_null_as_delta_keeps_it(story: Story) -> None:
    assert story.values("empty_partition") == story.values("latest", run=1)
    assert {row["part"] for row in story.rows[1]["empty_partition"]} == {None, "us"}


def test_key_types_under_odd_names(story: Story) -> None:
    assert [row["v"] for row in story.rows[0]["odd_keys"]] == ["one"]
    assert [row["v"] for row in story.rows[1]["odd_keys"]] == ["two"]


def test_repeated_keys_are_refused_where_no_column_says_which_is_the_latest(story: Story) -> None:
    message = sentence(story.runs[1].message["without_column"])
    assert (
        f"floodmark, model '{story.project.schema}.without_column': 1 key comes more than once in "
        "the batch and no watermark column in the SELECT says which row is the latest: "
        '{"id": 1}. Add the watermark column to the SELECT, or make the key unique'
    ) in message
    assert story.values("without_column", run=1) == story.values("without_column", run=0)
    assert story.batches[1]["without_column"][-1]["state"] == "failed"


def test_after_the_data_is_mended_the_next_run_loads_it(story: Story) -> None:
    assert story.values("without_column", run=2) == [(1, "q"), (2, "r")]
    states = [batch["state"] for batch in story.batches[2]["without_column"]]
    assert states == ["committed", "failed", "committed"]


def test_merge_update_columns(story: Story) -> None:
    assert (3, "y") in story.values("update_some")
    assert (3, "2024-01-01T01:00:00.000Z") in story.values("update_some", value="ts")


def test_merge_exclude_columns(story: Story) -> None:
    assert (3, "x") in story.values("exclude_some")
    assert (3, "2024-01-02T00:00:00.000Z") in story.values("exclude_some", value="ts")


def test_incremental_predicates_narrow_the_match(story: Story) -> None:
    for model in ("predicates", "predicate") if FULL else ("predicates",):
        found = [row["v"] for row in story.rows[1][model] if row["id"] == 3]
        assert sorted(found) == ["x", "y"]
        # An `or` of the user's joins nothing to other keys.
        assert [row["v"] for row in story.rows[1][model] if row["id"] == 1] == ["new"]


def test_on_schema_change_ignore(story: Story) -> None:
    assert {tuple(row) for row in story.rows[1]["update_some"]} == {("id", "v", "ts")}


@pytest.mark.parametrize(("model", "times"), [("exclude_some", 1), ("scattered", 1000)])
def test_on_schema_change_adds_columns_and_leaves_old_rows_null(
    story: Story, model: str, times: int
) -> None:
    """append_new_columns and sync_all_columns."""
    found = story.values(model, value="extra", run=1)
    assert found == [(1 * times, None), (2 * times, None), (3 * times, "y"), (4 * times, "z")]


def test_on_schema_change_fail(story: Story) -> None:
    relation = f"{story.project.schema}.columns_fail"
    assert (
        f"floodmark, model '{relation}': the SELECT and {relation} differ (new: extra): "
        "on_schema_change is 'fail'. Run with --full-refresh, or set on_schema_change to "
        "'append_new_columns'"
    ) in sentence(story.runs[1].message["columns_fail"])
    assert story.rows[1]["columns_fail"] == story.rows[0]["columns_fail"]


def test_on_schema_change_sync_does_not_drop_columns(story: Story) -> None:
    relation = f"{story.project.schema}.columns_gone"
    assert (
        f"floodmark, model '{relation}': the SELECT and {relation} differ (gone: v): Delta can add "
        "columns but not drop or retype them in place. Run with --full-refresh"
    ) in sentence(story.runs[1].message["columns_gone"])


def merges(story: Story, model: str) -> str:
    history = story.project.sql(f"describe history {story.project.schema}.{model}")
    return "".join(str(row) for row in history if "MERGE" in row)


def test_the_merge_carries_the_key_range_as_literals(story: Story) -> None:
    text = merges(story, "latest")
    assert ">= 1" in text and "<= 4" in text


def test_keys_that_lie_anywhere_are_filtered(story: Story) -> None:
    assert "getbit(element_at" in merges(story, "scattered")
    found = story.values("scattered")
    assert [key for key, _ in found] == [1000, 2000, 3000, 4000]
    assert {(1000, "new"), (3000, "y"), (4000, "z")} < set(found)
    for model in ("odd_keys", "null_keys"):
        assert "getbit(element_at" in merges(story, model), model


def test_keys_side_by_side_are_not_filtered(story: Story) -> None:
    assert merges(story, "latest")
    assert "getbit" not in merges(story, "latest")


def test_keys_of_another_type_meet_as_the_tables(story: Story) -> None:
    assert "getbit(element_at" in merges(story, "scattered_int")
    assert story.values("scattered_int") == story.values("scattered")
    if FULL:
        found = dict(story.values("text_keys"))
        assert sorted(key for key, _ in story.values("text_keys")) == [8, 9, 10, 11]
        assert (found[8], found[10], found[11]) == ("new", "y", "z")


def test_a_key_of_another_type_is_refused_where_it_is_not_cast(story: Story) -> None:
    """A struct of other fields is another key; under a contract the SELECT comes as it is."""
    s = story.project.schema
    expected = {
        "struct_key": f'got "id struct<id:bigint,v:string>"; expected struct<id:bigint>, as in {s}.struct_key',
        "text_key_contract": f'got "id string"; expected bigint, as in {s}.text_key_contract',
    }
    for model, said in expected.items():
        assert said in sentence(story.runs[1].message[model])
        assert len(story.rows[1][model]) == 3


def test_deletion_vectors_and_the_change_feed_are_on(story: Story) -> None:
    def properties(model: str) -> dict[str, str]:
        rows = story.project.sql(f"show tblproperties {story.project.schema}.{model}")
        return {row[0]: row[1] for row in rows}

    assert properties("latest")["delta.enableDeletionVectors"] == "true"
    assert properties("latest")["delta.enableChangeDataFeed"] == "true"
    assert "delta.enableChangeDataFeed" not in properties("update_some")


def test_a_lookback_that_finds_nothing_new_makes_no_commit(story: Story) -> None:
    assert story.versions[2] == story.versions[1]


def test_everything_else_succeeded(story: Story) -> None:
    failed = [
        {name for name, status in run.status.items() if status == "error"} for run in story.runs
    ]
    stuck = {"columns_fail", "columns_gone", "struct_key", "text_key_contract"}
    assert failed == [set(), stuck | {"without_column"}, set()]
