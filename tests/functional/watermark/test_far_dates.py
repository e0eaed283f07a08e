"""Watermarks before year 1 and beyond 9999: loaded, stepped, looked back upon and told of like any others."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from tests.support.harness import FULL, Project, Runs, incremental, table, working_directory

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
FAR = {"max_future": "5000000 days"}
KINDS = {"d": "date", "ts": "timestamp", "tn": "timestamp_ntz"}
#: Days of the rows, by id; 4 and 5 come with the second run, 4 below the mark.
DAYS = {
    1: "-0044-03-15",
    2: "0000-02-29",
    3: "2024-05-01",
    4: "-0043-01-01",
    5: "2024-06-01",
    6: "+12345-01-01",
}
#: Days before year 0; as texts and numbers their months stand in another order than in time.
DAYS |= {
    11: "-0044-05-10",
    12: "-0044-08-01",
    13: "-0044-09-01",
    14: "-0044-08-31",
    15: "-0043-02-01",
}


def cdc(column: str, **settings: object) -> str:
    return incremental(
        table("events"),
        f"id, v, {column}",
        incremental_strategy="cdc",
        unique_key="id",
        watermark={"column": column},
        cdc={"sequence_by": column} | settings,
    )


def overwriting(column: str, part: str, upstream: str = "events") -> str:
    return incremental(
        table(upstream),
        f"id, v, {column}, {part} as part",
        incremental_strategy="insert_overwrite",
        partition_by="part",
        watermark={"column": column},
    )


MODELS = {
    f"{how}_{column}": incremental(
        table("events"), guard=how == "guarded", watermark={"column": column} | watermark, **config
    )
    for column in KINDS
    for how, watermark, config in (
        ("plain", {}, {}),
        ("guarded", {}, {}),
        ("stepped", {"step": "20000 days"}, {}),
        ("back", {"lookback": "900000 days"}, MERGE),
        ("started", {"start": "-0044-03-16"}, {}),
        ("far", FAR, {}),
    )
} | {
    "scd1_ts": cdc("ts"),
    "scd2_d": cdc("d", stored_as_scd_type=2),
    "by_date": overwriting("ts", "cast(ts as date)", "ancient"),
    "by_month": overwriting("d", "date_format(d, 'yyyy-MM')", "ancient"),
    "by_month_number": overwriting("tn", "cast(date_format(tn, 'yyyyMM') as int)", "ancient"),
    "snapshot": "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', "
    "unique_key='id', snapshot_diff={'version': 'd', 'stored_as_scd_type': 2}) }} "
    f"select id, v, d from {table('snapshots')} where id = {{{{ var('snapshot', 1) }}}}",
}

#: What a run takes without FLOODMARK_LAB=full: each way of reading once, each type of a watermark in a first load and in a later one.
FEW = ("plain_d", "back_d", "guarded_ts", "far_ts", "stepped_tn", "started_tn", "scd2_d")
FEW += ("by_date", "by_month", "snapshot")
if not FULL:
    MODELS = {name: MODELS[name] for name in FEW}


def of(*ways: str) -> list[str]:
    """The models that read in these ways."""
    return [f"{how}_{column}" for column in KINDS for how in ways if f"{how}_{column}" in MODELS]


@dataclass
class Story(Runs):
    ids: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        super().run(name, *args)
        s = self.project.schema
        present = {row[1] for row in self.project.sql(f"show tables in {s}")}
        sql = " union all ".join(
            f"select '{m}', sort_array(collect_list(id)) from {s}.{m}"
            for m in MODELS
            if m in present
        )
        self.ids[name] = {
            model: json.loads(ids) if isinstance(ids, str) else list(ids)
            for model, ids in (self.project.sql(sql) if sql else [])
        }

    def json(self, *words: str) -> dict:
        root = str(self.project.root)
        with working_directory(self.project.root):
            result = CliRunner().invoke(
                main,
                [*words, "--json", "--project-dir", root, "--profiles-dir", root],
                catch_exceptions=False,
            )
        return json.loads(result.stdout)


def rows(*ids: int) -> str:
    return ", ".join(
        f"({i}, 'v', date'{DAYS[i]}', timestamp'{DAYS[i]} 01:02:03.000004+00:00', "
        f"timestamp_ntz'{DAYS[i]} 01:02:03.000004')"
        for i in ids
    )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("story")
    s = project.schema
    columns = "id bigint, v string, d date, ts timestamp, tn timestamp_ntz"
    for name in ("events", "snapshots", "ancient"):
        project.sql(f"create table {s}.{name} ({columns}) using delta")
    project.source("events", "snapshots", "ancient")
    # A file a row, so that Delta skips by the literals.
    for number in (1, 2, 3):
        project.sql(f"insert into {s}.events values {rows(number)}")
    project.sql(f"insert into {s}.snapshots values {rows(1, 2)}")
    project.sql(f"insert into {s}.ancient values {rows(11, 12)}")
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    story.run("first")
    project.sql(f"insert into {s}.events values {rows(4, 5, 6)}")
    project.sql(f"insert into {s}.ancient values {rows(13, 14, 15)}")
    story.run("second", "--vars", "{snapshot: 2}")
    # The snapshot is an older one now.
    story.run("quiet", "--vars", "{snapshot: 1}")
    return story


@pytest.mark.parametrize("run", ["first", "second", "quiet"])
def test_every_node_succeeded(story: Story, run: str) -> None:
    failed = [name for name, status in story.runs[run].status.items() if status == "error"]
    assert failed == (["snapshot"] if run == "quiet" else []), story.runs[run].message
    # dbt's results name the package's hook too.
    hook = "floodmark-on-run-start-0"
    assert set(story.runs[run].status) - {hook} == set(MODELS)


@pytest.mark.parametrize("model", of("plain", "guarded", "stepped", "back", "far"))
def test_first_values_before_year_1_are_loaded(story: Story, model: str) -> None:
    assert story.ids["first"][model] == [1, 2, 3]


@pytest.mark.parametrize("model", of("plain", "guarded", "stepped"))
def test_what_comes_later_is_loaded_too(story: Story, model: str) -> None:
    assert story.ids["quiet"][model] == [1, 2, 3, 5]


@pytest.mark.parametrize("model", of("back"))
def test_a_lookback_reaches_before_year_1(story: Story, model: str) -> None:
    assert story.ids["quiet"][model] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("model", of("started"))
def test_start_before_year_1_is_inclusive(story: Story, model: str) -> None:
    assert story.ids["quiet"][model] == [2, 3, 5]


@pytest.mark.parametrize("model", of("far"))
def test_years_beyond_9999_below_max_future(story: Story, model: str) -> None:
    assert story.ids["quiet"][model] == [1, 2, 3, 5, 6]
    moment = "00:00:00.000000" if model == "far_d" else "01:02:03.000004"
    assert story.project.mark(model) == f"+12345-01-01 {moment}"


@pytest.mark.parametrize("model", of("stepped"))
def test_a_step_commits_batches_whose_bounds_are_printed(story: Story, model: str) -> None:
    bounds = story.project.ledger(model, "low, high, state")
    assert [state for *_, state in bounds] == ["committed"] * len(bounds)
    assert bounds[0][0] is None and bounds[0][1].startswith("001")
    assert [low for low, *_ in bounds[1:]] == [high for _, high, _ in bounds[:-1]]


def test_cdc(story: Story) -> None:
    for model in of("scd1", "scd2"):
        assert story.ids["quiet"][model] == [1, 2, 3, 5], model
    starts = story.project.sql(
        f"select cast(__start_at as string) from {story.project.schema}.scd2_d order by __start_at"
    )
    assert [row[0] for row in starts] == [DAYS[i] for i in (1, 2, 3, 5)]


@pytest.mark.parametrize("model", [name for name in MODELS if name.startswith("by_")])
def test_partitions_before_year_0_are_replaced_and_others_stay(story: Story, model: str) -> None:
    assert story.ids["first"][model] == [11, 12]
    assert story.ids["quiet"][model] == [11, 12, 13, 14, 15]


def test_versions_of_snapshots(story: Story) -> None:
    assert story.project.mark("snapshot") == "0000-02-29 00:00:00.000000"
    assert "the snapshot is of d -0044-03-15, but 0000-02-29 is loaded already" in (
        story.runs["quiet"].message["snapshot"].replace("\n", " ")
    )


def test_what_the_commands_say(story: Story) -> None:
    """Marks, lags, what the next run reads: before year 1 after a reset, beyond 9999 as it is."""
    reset = "{model: plain_d, to: '-0044-03-16'}"
    run = story.project.dbt("run-operation", "floodmark.reset", "--args", reset)
    assert run.success, run.log[-3000:]
    assert story.project.mark("plain_d") == "-0044-03-16 00:00:00.000000"
    told = {one["name"]: one for one in story.json("status")["models"]}
    assert told["plain_d"]["mark"] == "-0044-03-16 00:00:00.000000"
    assert told["plain_d"]["source_value"] == "+12345-01-01 00:00:00.000000"
    assert told["plain_d"]["lag"] == (3789391 + 735524) * 86400
    assert told["far_ts"]["lag"] == 0
    plans = {one["name"]: one for one in story.json("plan", "--select", "plain_d")["models"]}
    assert plans["plain_d"]["low"] == "-0044-03-16 00:00:00.000000"
    assert plans["plain_d"]["rows"] == 4


def test_a_backfill_before_year_1(story: Story) -> None:
    """By merge, and by delete and insert."""
    s = story.project.schema
    models = ("back_d", "stepped_tn")
    for model in models:
        story.project.sql(f"delete from {s}.{model} where id < 3")
    wanted = "{floodmark_backfill: {from: '-0044-03-15', to: '0001-01-01', step: '20000 days'}}"
    story.project.build("--select", *models, "--vars", wanted)
    for model in models:
        ids = story.project.sql(f"select id from {s}.{model} order by id")
        assert [row[0] for row in ids] == [1, 2, 3, 4, 5]


def test_reconcile_finds_rows_before_year_1(story: Story) -> None:
    s = story.project.schema
    story.project.sql(f"delete from {s}.back_d where id = 1")
    found = story.json("reconcile", "back_d")
    assert (found["missing"], found["from"]) == (1, "-0044-03-15 00:00:00.000000")
    assert found["to"] == "-0044-03-16 00:00:00.000000"
    assert "--from '-0044-03-15 00:00:00.000000'" in found["backfill"]
