"""Invariant 10: where mark and table disagree the run stops and names both ways out, or starts over."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import FULL, Project, Runs, incremental, sentence, table

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
BY_TS = {"column": "ts"}
UNMARKED = (
    "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='id', "
    "cdc={'sequence_by': 'seq'}) }}\n" + f"select * from {table('up_unmarked')}"
)

TURNED = incremental(
    table("up_turned"),
    incremental_strategy="cdc",
    unique_key="id",
    cdc={"sequence_by": "seq"},
    watermark=BY_TS,
)

#: Extracts, whose version becomes the mark.
EXTRACT = (
    "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
    "snapshot_diff={'version': 'loaded'}) }}\n"
    f"select id, ts, v, timestamp'2024-02-02 00:00:00Z' as loaded from {table('up_other_strategy')}"
)

#: A merge that is floodmark's by its rules alone.
MANAGED = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "expectations=[{'name': 'counted', 'expect': 'id > 0'}]) }}\n"
)
#: Models without a mark: what their table lost comes with the next run.
WHOLE = {
    "whole": MANAGED,
    "whole_undone": MANAGED,
    "compared": "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', "
    "unique_key='id', snapshot_diff={'stored_as_scd_type': 2}, full_refresh=false) }}\n",
}

#: Model -> its own upstream; what is done between the runs stands in `story`.
MODELS: tuple[str, ...] = (
    "dropped",
    "emptied",
    "restored",
    "remade",
    "feeds_recreated",
    "feeds_replaced",
    "feeds_restored",
    "other_column",
    "other_kind",
    "other_source",
    "other_strategy",
    "edited",
    "versions_recreated",
    "compacted",
    "undone",
    "emptied_late",
    "unmarked",
    "first_emptied",
    "first_replaced",
    "turned",
    *WHOLE,
)
#: The mark that a model is set to, and who has a full refresh: one of each way out, or with FLOODMARK_LAB=full every model that
#: was stopped, and a clone beside a table made anew, a view beside a source.
MARKS = {
    "restored": "2024-01-02",
    "remade": "2024-01-01",
    "feeds_replaced": "2024-01-01",
    "found_append": "2024-01-02",
    "first_replaced": "2024-01-01",
    "versions_recreated": "0",
}
REFRESHED: tuple[str, ...] = ("feeds_recreated", "undone", "turned")
#: What runs once more at the end.
LAST: tuple[str, ...] = (
    "restored",
    "feeds_recreated",
    "versions_recreated",
    "edited",
    "found_append",
)
if FULL:
    MODELS += ("cloned", "other_view")
    MARKS["other_kind"] = "2"
    REFRESHED += (
        "cloned",
        "feeds_restored",
        "other_column",
        "other_source",
        "other_strategy",
        "other_view",
        "unmarked",
    )
    LAST = (*MODELS, "found_append", "found_merge")
#: What runs behind the ways out.
THIRD = LAST if FULL else (*MARKS, *REFRESHED, "edited")


@dataclass
class Story(Runs):
    ids: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        super().run(name, *args)
        s = self.project.schema
        present = {row[1] for row in self.project.sql(f"show tables in {s}")}
        models = [m for m in (*MODELS, "found_append", "found_merge") if m in present]
        ids: dict[str, list[int]] = {model: [] for model in models}
        self.ids[name] = ids
        for model, row_id in sorted(
            self.project.sql(" union all ".join(f"select '{m}', id from {s}.{m}" for m in models))
        ):
            ids[model].append(row_id)


def upstream(project: Project, name: str) -> None:
    s = project.schema
    project.sql(
        f"create table {s}.up_{name} (id bigint, ts timestamp, loaded timestamp, seq bigint, v string) "
        "using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )


def land(project: Project, name: str, *ids: int) -> None:
    rows = ", ".join(
        f"({i}, timestamp'2024-01-0{i} 00:00:00Z', timestamp'2024-02-0{i} 00:00:00Z', {i}, 'v{i}')"
        for i in ids
    )
    project.sql(f"insert into {project.schema}.up_{name} values {rows}")


def select(name: str, **watermark: object) -> str:
    settings = BY_TS | watermark
    return incremental(table(f"up_{name}"), watermark=settings, **MERGE)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A first run, something done to each pair of tables, a second run, both ways out, a last run."""
    project = make_project("story")
    s = project.schema
    project.source(*(f"up_{name}" for name in (*MODELS, "found_append", "found_merge")))
    for name in (*MODELS, "found_append", "found_merge"):
        upstream(project, name)
        land(project, name, 1, 2)
        project.model(name, select(name))
    project.model("found_append", incremental(table("up_found_append"), watermark=BY_TS))
    project.model("restored", incremental(table("up_restored"), watermark=BY_TS))
    if FULL:
        for name in ("other_view", "dropped"):
            project.model(
                f"view_of_{name}",
                "{{ config(materialized='view') }} select * from " + table(f"up_{name}"),
            )
        project.model(
            "other_view", incremental("{{ ref('view_of_other_view') }}", watermark=BY_TS, **MERGE)
        )
    project.model("unmarked", UNMARKED)
    project.model("other_strategy", EXTRACT)
    for name, config in WHOLE.items():
        project.model(name, f"{config}select * from {table(f'up_{name}')}")
    project.model(
        "versions_recreated",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        "watermark={'kind': 'version'}) }}\n"
        "select * from {{ floodmark.changes(source('raw', 'up_versions_recreated')) }}",
    )
    for name in ("found_append", "found_merge"):  # made by somebody else before floodmark came
        project.sql(f"create table {s}.{name} using delta as select * from {s}.up_{name}")
    story = Story(project)
    story.run("first")

    grown = ("restored", "feeds_restored", "undone", "emptied_late", *WHOLE)
    for name in grown:
        land(project, name, 3)
    project.build("--select", *grown)
    project.sql(f"drop table {s}.dropped")
    project.sql(f"delete from {s}.emptied")
    for name in ("restored", *WHOLE):
        project.sql(f"restore table {s}.{name} to version as of 0")
    #: the run died behind its MERGE, whose rows an operator then took back
    for name in ("undone", "emptied_late", "whole_undone"):
        project.sql(
            f"delete from {s}_floodmark.batch_log "
            f"where model = '{s}.{name}' and batch_id = 2 and event = 'committed'"
        )
        if name not in WHOLE:
            land(project, name, 4)
    #: the run died behind its first load, and then the table was emptied, replaced, or the strategy changed
    for name in ("first_emptied", "first_replaced", "turned"):
        project.sql(
            f"delete from {s}_floodmark.batch_log where model = '{s}.{name}' and event = 'committed'"
        )
    project.sql(f"delete from {s}.first_emptied")
    land(project, "first_emptied", 3)
    project.sql(
        f"create or replace table {s}.first_replaced using delta as "
        f"select * from {s}.up_first_replaced where id = 1"
    )
    project.model("turned", TURNED)
    project.sql(f"restore table {s}.undone to version as of 0")
    project.sql(f"delete from {s}.emptied_late")
    project.model("unmarked", incremental(table("up_unmarked"), watermark=BY_TS))
    if FULL:
        project.sql(f"drop table {s}.cloned")
        project.sql(f"create table {s}.cloned shallow clone {s}.up_cloned")
        project.model(
            "other_view", incremental("{{ ref('view_of_dropped') }}", watermark=BY_TS, **MERGE)
        )
    project.sql(f"drop table {s}.remade")
    project.sql(f"create table {s}.remade using delta as select * from {s}.up_remade where id = 1")
    for name in ("feeds_recreated", "versions_recreated"):
        project.sql(f"drop table {s}.up_{name}")
        upstream(project, name)
        land(project, name, 1, 2)
        land(project, name, 3)
    project.sql(
        f"create or replace table {s}.up_feeds_replaced using delta as select * from {s}.up_compacted"
    )
    project.sql(f"restore table {s}.up_feeds_restored to version as of 1")
    project.model("other_column", select("other_column", column="loaded"))
    project.model("other_kind", select("other_kind", column="seq"))
    project.model("other_source", select("dropped"))
    project.model("other_strategy", select("other_strategy"))
    land(project, "edited", 3)
    project.sql(f"optimize {s}.compacted")
    land(project, "compacted", 3)
    with injected(Faults({"edited": "before: (merge|insert) into \\S*[.]edited "})):
        story.run("second")

    project.model(
        "edited", select("edited").replace("select *", "select * except (v), upper(v) as v")
    )
    land(project, "edited", 4)
    # One invocation for all of them.
    (project.root / "macros" / "resets.sql").write_text(
        "{% macro resets(marks) %}{% for name, mark in marks.items() %}"
        "{% do floodmark.reset(name, to=mark, reason='a test') %}{% endfor %}{% endmacro %}"
    )
    done = project.dbt("run-operation", "resets", "--args", json.dumps({"marks": MARKS}))
    assert done.success, done.log
    project.build("--full-refresh", "--select", *REFRESHED)
    for name in ("restored", "remade", "found_append"):
        land(project, name, 4)
    story.run("third", *(() if FULL else ("--select", *THIRD)))
    story.run("fourth", "--select", *LAST)
    return story


def ways_out(model: str) -> str:
    return (
        "run it once with --full-refresh to load everything again, or set the mark with "
        f"`floodmark reset {model} --to <value>`"
    )


def test_a_dropped_target_is_a_first_load(story: Story) -> None:
    assert story.ids["second"]["dropped"] == [1, 2]
    assert story.project.ledger("dropped", "kind")[:2] == [("first_load",), ("first_load",)]


def test_an_emptied_target_is_a_first_load(story: Story) -> None:
    assert story.ids["second"]["emptied"] == [1, 2]


def test_a_restored_target(story: Story) -> None:
    s = story.project.schema
    assert (
        f"floodmark, model '{s}.restored': {s}.restored was restored to version 0 after batch 2, so "
        f"rows below the mark are missing: {ways_out('restored')}"
    ) in story.said("second", "restored")
    assert story.ids["second"]["restored"] == [1, 2]
    assert story.ids["third"]["restored"] == [1, 2, 3, 4]


@pytest.mark.parametrize("model", WHOLE)
def test_a_restored_target_whose_rows_are_compared_again(story: Story, model: str) -> None:
    """No mark says that rows are loaded: the next run finds those that are missing, and keeps a history."""
    assert story.runs["second"].status[model] == "success", story.said("second", model)
    assert story.ids["second"][model] == [1, 2, 3]


def test_a_batch_that_was_taken_back_before_the_ledger_heard_of_it(story: Story) -> None:
    s = story.project.schema
    assert (
        f"{s}.undone was restored to version 0 after batch 2, so rows below the mark are missing: "
        f"{ways_out('undone')}"
    ) in story.said("second", "undone")
    assert story.ids["second"]["undone"] == [1, 2]
    assert story.ids["third"]["undone"] == [1, 2, 3, 4]


def test_a_target_that_was_emptied_before_the_ledger_heard_of_its_batch(story: Story) -> None:
    assert story.ids["second"]["emptied_late"] == [1, 2, 3, 4]


def test_a_first_load_whose_table_changed_before_the_ledger_heard_of_it(story: Story) -> None:
    """An emptied table is loaded anew; one that is another table stops the run, and a mark can be set."""
    assert story.ids["second"]["first_emptied"] == [1, 2, 3]
    s = story.project.schema
    assert (
        f"{s}.first_replaced is not the table that batch 1 left (it was dropped, recreated or replaced by "
        f"something else): {ways_out('first_replaced')}"
    ) in story.said("second", "first_replaced")
    assert story.ids["second"]["first_replaced"] == [1]
    assert story.ids["third"]["first_replaced"] == [1, 2]


def test_a_full_refresh_passes_over_a_batch_that_cannot_be_finished(story: Story) -> None:
    assert (
        "incremental_strategy was changed while batch 1 was unfinished: run it once with --full-refresh"
    ) in story.said("second", "turned")
    assert story.ids["third"]["turned"] == [1, 2]
    assert story.project.ledger("turned", "kind, state") == [
        ("first_load", "committed"),
        ("full_refresh", "committed"),
    ]


def test_append_behind_batches_that_had_no_mark(story: Story) -> None:
    s = story.project.schema
    assert (
        f"{s}.unmarked has rows, but the ledger has no mark for it, so append cannot tell which "
        f"rows are new: {ways_out('unmarked')}"
    ) in story.said("second", "unmarked")
    assert story.ids["second"]["unmarked"] == [1, 2]


@pytest.mark.parametrize("model", ["remade"] + (["cloned"] if FULL else []))
def test_a_target_that_is_another_table(story: Story, model: str) -> None:
    s = story.project.schema
    assert (
        f"floodmark, model '{s}.{model}': {s}.{model} is not the table that batch 1 left (it was "
        f"dropped, recreated or replaced by something else): {ways_out(model)}"
    ) in story.said("second", model)


def test_a_table_without_mark(story: Story) -> None:
    s = story.project.schema
    assert (
        f"floodmark, model '{s}.found_append': {s}.found_append has rows, but the ledger has no mark "
        f"for it, so append cannot tell which rows are new: {ways_out('found_append')}"
    ) in story.said("first", "found_append")
    assert story.ids["first"]["found_merge"] == [1, 2]
    assert story.runs["first"].status["found_merge"] == "success"
    assert story.ids["third"]["found_append"] == [1, 2, 4]


@pytest.mark.parametrize(
    ("model", "what"),
    [
        ("feeds_recreated", "was recreated"),
        ("versions_recreated", "was recreated"),
        ("feeds_replaced", "was replaced in its version 2"),
        ("feeds_restored", "was restored to version 1"),
    ],
)
def test_an_upstream_that_is_not_what_it_was(story: Story, model: str, what: str) -> None:
    s = story.project.schema
    batch = 2 if model == "feeds_restored" else 1
    assert (
        f"floodmark, model '{s}.{model}': its upstream {s}.up_{model} {what} after batch {batch}, so "
        f"the mark may not fit it: {ways_out(model)}"
    ) in story.said("second", model)


def test_another_column(story: Story) -> None:
    assert (
        f"its mark is of the column ts, but the watermark is now loaded: {ways_out('other_column')}"
    ) in story.said("second", "other_column")


def test_the_version_of_extracts_is_no_mark_of_another_column(story: Story) -> None:
    assert (
        f"its mark is of the column loaded, but the watermark is now ts: {ways_out('other_strategy')}"
    ) in story.said("second", "other_strategy")


def test_another_kind(story: Story) -> None:
    assert (
        f"its mark is a timestamp, but seq is a sequence: {ways_out('other_kind')}"
    ) in story.said("second", "other_kind")


def test_another_source(story: Story) -> None:
    s = story.project.schema
    assert (
        f"its mark is of {s}.up_other_source, but the watermark is now of {s}.up_dropped: "
        f"{ways_out('other_source')}"
    ) in story.said("second", "other_source")
    if FULL:
        assert (
            f"its mark is of {s}.view_of_other_view, but the watermark is now of {s}.view_of_dropped: "
            f"{ways_out('other_view')}"
        ) in story.said("second", "other_view")


def test_an_unfinished_batch_ends_as_it_was_planned_and_the_edit_counts_from_then_on(
    story: Story,
) -> None:
    assert "cut before statement" in story.said("second", "edited")
    s = story.project.schema
    rows = story.project.sql(f"select id, v from {s}.edited order by id")
    assert rows == [(1, "v1"), (2, "v2"), (3, "v3"), (4, "V4")]


def test_maintenance_disturbs_nothing(story: Story) -> None:
    assert story.ids["second"]["compacted"] == [1, 2, 3]


def test_after_either_way_out_everything_loads_and_then_there_is_nothing_new(story: Story) -> None:
    for run in ("third", "fourth"):
        assert {m: s for m, s in story.runs[run].status.items() if s != "success"} == {}, (
            story.runs[run].log[-3000:]
        )
    said = {m: story.said("fourth", m) for m in LAST}
    loaded = {m: text for m, text in said.items() if "nothing new" not in text}
    # These have no mark: they read everything again, and find every row as it is.
    whole = {"whole": "MERGE", "whole_undone": "MERGE", "compared": "SNAPSHOT_DIFF"}
    assert loaded == {m: f"{whole[m]} 3 read" for m in whole if m in LAST}
    assert story.ids["third"]["versions_recreated"] == [1, 2, 3]


def test_a_reset_is_recorded_with_its_reason_and_its_user(story: Story) -> None:
    rows = story.project.ledger("remade", "kind, low, high, reason, recorded_by is not null")
    assert rows[1] == (
        "reset",
        "2024-01-02 00:00:00.000000",
        "2024-01-01 00:00:00.000000",
        "a test",
        True,
    )


def test_refused_resets(story: Story) -> None:
    def said(**args: str) -> str:
        text = ", ".join(f"{key}: '{value}'" for key, value in args.items())
        return sentence(
            story.project.dbt("run-operation", "floodmark.reset", "--args", f"{{{text}}}").log
        )

    s = story.project.schema
    assert "floodmark loads no model 'nope': it loads " in said(model="nope")
    assert (
        f"floodmark, model '{s}.restored': append without a mark would load every row again: name "
        "a value with `to`, or use --full-refresh"
    ) in said(model="restored")
    assert "name a version with `to`, or use --full-refresh" in said(model="versions_recreated")
    assert (
        f"floodmark, model '{s}.other_kind': got 'x' as a mark: expected a whole number"
    ) in said(model="other_kind", to="x")
