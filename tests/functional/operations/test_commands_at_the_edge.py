"""Commands where something is missing, broken, new or older than it should be: each says so, and of no other model."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from urllib.parse import unquote, urlparse

import pytest

from tests.support.commands import Story
from tests.support.files import land, lines, loader
from tests.support.harness import Project, incremental, sentence, table

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

BY_TS = {"watermark": {"column": "ts"}}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
SNAPSHOT = (
    "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id') }} "
    f"select * from {table('events')}"
)
MODELS = {
    "merged": incremental(table("events"), **BY_TS, **MERGE),
    "compared": SNAPSHOT,
    "landed": loader(
        "landing",
        format="json",
        schema="id int",
        on_loaded="archive",
        archive_to="archive",
        after="1 second",
    ),
    "skipped": loader("skipping", format="json", schema="id int"),
}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("at_the_edge")
    project.source("events", "files")
    project.sql(
        f"create table {project.schema}.events using delta as select 1L as id, timestamp'2024-05-01 08:00:00' as ts"
    )
    for name, sql in MODELS.items():
        project.model(name, sql)
    land(project.root / "landing", {"a.json": lines({"id": 1})})
    land(project.root / "skipping", {"a.json": lines({"id": 1})})
    (project.root / "archive").write_text("a file where the archive should be")
    project.build()
    project.sql(f"insert into {project.schema}.merged select * from {project.schema}.merged")
    project.model("newer", incremental(table("events"), **BY_TS))
    project.model("bad", incremental(table("events"), watermark={"column": "nowhere"}))
    project.model("of_files", incremental(table("files"), guard=True, **BY_TS))
    return Story(project)


def test_what_a_merge_cannot_repair_takes_a_full_refresh(story: Story) -> None:
    """It would update both rows of the key."""
    found = story.json("reconcile", "merged")
    assert (found["missing"], found["repeated"]) == (0, 1)
    assert found["backfill"] == "floodmark run --select package:shop,file:merged.sql --full-refresh"


def test_a_model_that_is_new_has_a_line(story: Story) -> None:
    shown = story("status", "--select", "newer")
    assert "newer" in shown.output and "no ledger" not in shown.output, shown.output


@pytest.mark.parametrize("selected", [["bad"], ["bad", "newer"]], ids=["alone", "beside another"])
def test_a_bad_model_is_an_error_in_the_plan(story: Story, selected: list[str]) -> None:
    plan = story.plan("bad", "--select", *selected)
    assert plan["kind"] == "error" and "nowhere" in plan["error"]


def test_a_missing_source_called_like_a_table_of_the_ledger(story: Story) -> None:
    assert story.plan("of_files")["kind"] == "upstream is missing"


def test_a_table_whose_folder_is_gone_hides_no_other(story: Story) -> None:
    project = story.project
    [detail] = project.sql(f"describe detail {project.schema}.compared")
    shutil.rmtree(unquote(urlparse(detail[4]).path))
    plans = {one["name"]: one for one in story.json("plan")["models"]}
    assert plans["compared"]["kind"] == "error" and plans["compared"]["error"]
    assert plans["newer"]["kind"] == "first_load"
    project.sql(f"drop table {project.schema}.compared")


def test_a_quarantine_whose_folder_is_gone_hides_no_other(story: Story) -> None:
    project, quarantine = story.project, f"{story.project.schema}.merged__quarantine"
    other = f"{project.schema}.skipped__quarantine"
    for table_name in (quarantine, other):
        project.sql(
            f"create table {table_name} using delta as select 1 as id, array('r') as _floodmark_rules, "
            "current_timestamp() as _floodmark_quarantined_at, 'open' as _floodmark_state, 'a' as _floodmark_id"
        )
    [detail] = project.sql(f"describe detail {quarantine}")
    shutil.rmtree(unquote(urlparse(detail[4]).path))
    shown = {one["name"]: one for one in story.json("status")["models"]}
    assert {"landed", "newer", "skipped"} <= shown.keys()
    assert shown["merged"]["source_error"] and shown["merged"]["rows_open"] == 0
    assert shown["merged"]["mark"] and shown["merged"]["lag"] == 0
    listed = {one["model"]: one for one in story.json("quarantine", "list")["quarantine"]}
    assert listed[f"{project.schema}.merged"]["error"]
    kept = listed[f"{project.schema}.skipped"]
    assert (kept["rule"], int(kept["rows"]), kept["error"]) == ("r", 1, None)
    told = story("quarantine", "list")
    assert told.exit_code == 1 and f"{project.schema}.skipped" in told.output, told.output
    for table_name in (quarantine, other):
        project.sql(f"drop table {table_name}")


@pytest.mark.parametrize(
    "command", [["status"], ["plan"], ["history", "merged"], ["reconcile", "merged"]]
)
def test_a_target_that_is_not_there_is_wrong_input(story: Story, command: list[str]) -> None:
    refused = story(*command, "-t", "nowhere")
    assert refused.exit_code == 2 and "nowhere" in refused.output, refused.output


def test_maintain_shows_why_files_stay(story: Story) -> None:
    shown = story("maintain")
    assert "archive" in shown.stderr, shown.output


def test_files_are_forgotten_and_skipped_also_behind_a_clock_that_was_set_back(
    story: Story,
) -> None:
    """The ledger's events are of tomorrow: what an operator says later counts."""
    project = story.project
    ids = f"select id from {project.schema}.skipped order by id"
    project.sql(f"update {project.schema}_floodmark.batch_log set at = at + interval 1 day")
    said = story("files", "skipped", "--forget", "a.json")
    assert said.exit_code == 0, said.output
    project.build("--select", "skipped")
    assert project.sql(ids) == [(1,), (1,)]
    land(project.root / "skipping", {"b.json": lines({"id": 2})})
    for word in ("--skip", "--forget", "--skip"):
        assert story("files", "skipped", word, "b.json").exit_code == 0
    project.build("--select", "skipped")
    assert project.sql(ids) == [(1,), (1,)]


def test_a_backfill_says_when_its_batches_ended(story: Story) -> None:
    words = ("backfill", "merged", "--from", "2024-05-01", "--to", "2024-05-02")
    for _ in range(2):
        shown = story(*words)
        assert shown.exit_code == 0 and "finished (UTC)" in shown.output, shown.output


def test_a_reset_of_an_empty_table_says_what_comes(
    story: Story, capfd: pytest.CaptureFixture[str]
) -> None:
    """The next run loads it from the start, whatever the ledger says."""
    story.project.sql(f"delete from {story.project.schema}.merged")
    done = story("reset", "merged", "--to", "2024-05-01 07:00:00")
    said = sentence(done.output + capfd.readouterr().out)
    assert done.exit_code == 0, said
    assert "Its table is empty: the next run loads from `start` on, whatever the mark." in said
