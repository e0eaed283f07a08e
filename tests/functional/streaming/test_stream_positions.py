"""`floodmark plan` and `reconcile` of streams: what their checkpoints have not read, and whether the tables hold what was."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.commands import command, plans
from tests.support.harness import FULL, Project, sentence
from tests.support.streams import EVENTS, arrive, event, stream

pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]

RAW = "stream({{ source('raw', 'events') }})"
FILES = "stream(json.`landing`) with (schema = 'id bigint, v string')"
MODELS = {
    "copied": stream(f"select * from {RAW}"),
    "bare": stream("select event_id, key from stream {{ source('raw', 'events') }}"),
    "marked": stream(
        f"select * from {RAW} watermark at delay of interval 1 hour",
        incremental_strategy="merge",
        unique_key="event_id",
    ),
    "daily": stream(
        "select id, day from stream(json.`partitioned`) with (schema = 'id bigint, v string, day date')"
    ),
    "hourly_updated": stream(
        f"select window.start as hour, count(*) as n from {RAW} watermark at delay of interval 1 hour "
        "group by window(at, '1 hour')",
        output_mode="update",
        unique_key="hour",
    ),
    "distinct": stream(
        f"select * from {RAW} watermark at delay of interval 1 hour", unique_key="event_id"
    ),
    "skipping": stream(f"select event_id from {RAW} with (skipChangeCommits = true)"),
    "twice": stream(
        f"select event_id, key from {RAW} with (maxFilesPerTrigger = 1) -- with a comment at its end"
    ),
    "counted": stream(f"select key, count(*) as n from {RAW} group by key", output_mode="complete"),
    "counted_by_meta": stream(
        f"select key, count(*) as n from {RAW} group by key",
        meta={"floodmark": {"output_mode": "complete", "checkpoint_location": "checkpoints"}},
    ),
    "latest": stream(
        f"select * from {RAW}",
        incremental_strategy="merge",
        unique_key="event_id",
    ),
    "filed": stream(f"select id, v, _metadata.file_name as file from {FILES}"),
    "gathered": stream(
        "select id from {{ floodmark.new_files() }}",
        files={"path": "landing", "schema": "id bigint, v string"},
    ),
    "both": stream(
        f"select event_id as id, 'table' as origin from {RAW} union all select id, 'file' from {FILES}"
    ),
    "hourly": stream(
        f"select window.start as hour, count(*) as n from {RAW} watermark at delay of interval 1 hour "
        "group by window(at, '1 hour')"
    ),
    "scd1": stream(
        f"select * from {RAW}",
        incremental_strategy="cdc",
        unique_key="key",
        cdc={"sequence_by": "event_id"},
    ),
    "fed": stream(f"select event_id from {RAW} with (readChangeFeed = true)"),
}
#: Each is read and compared as another one here is: `bare` as `copied`, `latest` as `marked`, `counted` as
#: `counted_by_meta`, `hourly_updated` as `hourly`, and `skipping` as `fed`.
if not FULL:
    for _name in ("bare", "latest", "counted", "hourly_updated", "skipping"):
        del MODELS[_name]


def _found(project: Project, model: str, *arguments: str) -> dict[str, Any]:
    code, output = command(project, "reconcile", model, "--json", *arguments)
    assert output.startswith("{"), output
    found = dict(json.loads(output))
    assert code == (1 if found["missing"] or found["repeated"] else 0)
    return found


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Iterator[Project]:
    """The streams over a table of two versions with rows, and over two files with odd names; nothing has run yet."""
    made = make_project("positions")
    made.sql(
        f"create table {made.schema}.events ({EVENTS}) using delta tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    made.source("events")
    for name, sql in MODELS.items():
        made.model(name, sql)
    (made.root / "landing").mkdir()
    _land(made, "a b.json", 1)
    _land(made, "c%20d.json", 2)
    partition = made.root / "partitioned" / "day=2026-01-31"
    partition.mkdir(parents=True)
    (partition / "a.json").write_text('{"id": 1, "v": "x"}\n')
    arrive(made, event(1, "a", 1, 0), event(2, "b", 2, 10))
    yield made


def _land(project: Project, name: str, number: int, days_old: int = 0) -> None:
    file = project.root / "landing" / name
    file.write_text(f'{{"id": {number}, "v": "x"}}\n')
    at = time.time() - days_old * 86_400
    os.utime(file, (at, at))


def test_what_the_next_run_reads(project: Project) -> None:
    """Versions of tables and files of folders, before the first run, behind it, and when more has come."""
    before = plans(project)
    assert before["copied"] | {"model": "", "name": ""} == {
        "name": "",
        "model": "",
        "kind": "first_load",
        "low": None,
        "high": "events version 1",
        "files": None,
        "bytes": None,
        "rows": None,
        "lookback": None,
        "rows_null": None,
        "rows_future": None,
        "new_columns": None,
        "paths": None,
        "error": None,
    }
    assert (before["filed"]["kind"], before["filed"]["files"]) == ("first_load", 2)
    assert (
        before["filed"]["bytes"] == before["gathered"]["bytes"] == 2 * len('{"id": 1, "v": "x"}\n')
    )
    project.build()
    (folder,) = (project.root / "checkpoints").iterdir()
    assert folder.name == f"{project.schema}.counted_by_meta"
    behind = plans(project)
    assert {one["kind"] for one in behind.values()} == {"nothing new"}
    assert {one["rows"] for one in behind.values()} == {0}
    assert behind["copied"]["low"] == behind["copied"]["high"] == "events version 1"
    assert behind["filed"]["files"] == behind["both"]["files"] == 0
    for number in (3, 4):
        arrive(project, event(number, "c", number, 20))
    # Spark itself passes over what is a week older than the newest file.
    _land(project, "e.json", 3, days_old=8)
    after = plans(project)
    assert after.pop("daily")["kind"] == "nothing new"
    assert {one["kind"] for one in after.values()} == {"stream"}
    assert {one["rows"] for one in after.values()} == {None}
    for name in after.keys() - {"filed", "gathered"}:
        assert (after[name]["low"], after[name]["high"]) == ("events version 1", "events version 3")
    assert [after[name]["files"] for name in ("filed", "gathered", "both")] == [1, 1, 1]
    code, shown = command(project, "plan", "--select", "both")
    assert code == 0 and "events version 3" in shown


def test_whether_the_tables_hold_what_was_read(project: Project) -> None:
    """What has come since the last run is not missed; what somebody deleted or inserted is found."""
    checks = {
        "copied": ["--key", "event_id"],
        "twice": ["--key", "event_id", "--key", "key"],
        "bare": ["--key", "event_id"],
        "marked": [],
        "daily": ["--key", "id", "--key", "day"],
        "counted": ["--key", "key"],
        "counted_by_meta": ["--key", "key"],
        "latest": [],
        "both": ["--key", "id", "--key", "origin"],
        "filed": ["--key", "file"],
        "gathered": ["--key", "id"],
    }
    checks = {name: arguments for name, arguments in checks.items() if name in MODELS}
    project.build("--select", *checks)
    arrive(project, event(5, "d", 5, 30))
    _land(project, "f.json", 4)
    rows = {"counted": 3, "counted_by_meta": 3, "both": 7, "filed": 3, "gathered": 3, "daily": 1}
    for model, arguments in checks.items():
        found = _found(project, model, *arguments)
        counts = (found["expected"], found["missing"], found["repeated"])
        assert counts == (rows.get(model, 4), 0, 0), found
    s = project.schema
    project.sql(f"delete from {s}.copied where event_id = 2")
    project.sql(f"insert into {s}.twice select * from {s}.twice where event_id = 3")
    project.sql(f"delete from {s}.filed where id = 1")
    found = _found(project, "copied", "--key", "event_id")
    assert found["missing"] == 1 and found["mark"] == "1"
    assert [one["key"] for one in found["sample"]] == ['{"event_id":2}']
    assert found["backfill"] == "floodmark run --select package:shop,file:copied.sql --full-refresh"
    assert _found(project, "twice", "--key", "event_id")["repeated"] == 1
    assert _found(project, "filed", "--key", "file")["sample"][0]["key"] == '{"file":"a%20b.json"}'
    code, shown = command(project, "reconcile", "copied", "--key", "event_id")
    assert code == 1
    assert "up to its mark 1: 4 rows expected, 1 keys missing, 0 keys held too often" in sentence(
        shown
    )


def test_a_stream_that_begins_anew(project: Project) -> None:
    """Its checkpoint has read all, and the next run begins with another: the plan tells what that one reads."""
    names = ["emptied", "refreshed"]
    project.model("emptied", stream(f"select * from {RAW}"))
    project.model("refreshed", stream(f"select * from {RAW}", full_refresh=True))
    project.build("--select", *names)

    def planned() -> list[tuple[Any, ...]]:
        found = plans(project)
        return [(found[name]["kind"], found[name]["low"], found[name]["rows"]) for name in names]

    read = f"events version {project.version('events')}"
    assert planned() == [("nothing new", read, 0), ("full_refresh", None, None)]
    project.sql(f"truncate table {project.schema}.emptied")
    assert planned() == [("first_load", None, None), ("full_refresh", None, None)]
    project.build("--select", "emptied")
    assert planned()[0][0] == "nothing new"
    for name in names:
        (project.root / "models" / f"{name}.sql").unlink()


NOT_COMPARED = [
    (
        "hourly",
        "its event-time watermark drops late rows, and groups that are still open may not be written yet, "
        "so its table cannot be compared with its sources. rows_late of its batches counts what was dropped",
    ),
    ("distinct", "its event-time watermark drops late rows"),
    ("hourly_updated", "its event-time watermark drops late rows"),
    (
        "skipping",
        "with skipchangecommits, so its rows are not those of that table, and the two cannot be compared",
    ),
    (
        "scd1",
        "scd1 applies change events, so its rows are not those of its SELECT: read everything again with `floodmark run "
        "--select package:shop,file:scd1.sql --full-refresh`.",
    ),
    (
        "fed",
        "with readchangefeed, so its rows are not those of that table, and the two cannot be compared",
    ),
    ("copied", "copied has no unique_key: name the columns that identify a row with --key."),
    ("never", "it has no checkpoint yet: run it first"),
]


@pytest.mark.parametrize(
    ("model", "said"), [case for case in NOT_COMPARED if case[0] in {*MODELS, "never"}]
)
def test_what_cannot_be_compared(project: Project, model: str, said: str) -> None:
    project.model("never", stream(f"select * from {RAW}"))
    key = [] if model == "copied" else ["--key", "hour" if "hourly" in model else "event_id"]
    code, shown = command(project, "reconcile", model, *key)
    assert code != 0 and said in sentence(shown), shown


@pytest.fixture(scope="module")
def others(make_project: Callable[..., Project]) -> Project:
    """A stream whose first version is three micro-batches, and one over files of which three read like patterns."""
    project = make_project("others")
    s = project.schema
    project.source("events")
    project.sql(f"create table {s}.events ({EVENTS}) using delta")
    for first, count in ((1, 3), (40, 1)):
        project.sql(
            f"insert into {s}.events select /*+ repartition({count}) */ id, 'a', 1, timestamp'2026-01-01' "
            f"from range({first}, {first + 30})"
        )
    project.model("slow", stream(f"select * from {RAW} with (maxFilesPerTrigger = 1)"))
    project.model("filed", MODELS["filed"])
    (project.root / "landing" / "day").mkdir(parents=True)
    _land(project, "a.json", 1)
    for number, odd in enumerate(("b[1].json", "b*.json", "b?.json"), 3):
        _land(project, odd, number)
    _land(project, "day/b{1}.json", 9)
    _land(project, "b.json", 2)
    _land(project, ".hidden[1].json", 8)
    project.build()
    return project


def test_names_that_spark_takes_for_patterns(others: Project) -> None:
    """Spark 4.2 would read their neighbours twice; in folders below the one that is read there is nothing to read."""
    found = others.sql(f"select id from {others.schema}.filed")
    assert sorted(found) == [(n,) for n in range(1, 6)]
    counts = _found(others, "filed", "--key", "id")
    assert (counts["missing"], counts["repeated"]) == (0, 0)


def test_sources_that_are_gone_or_others(others: Project) -> None:
    """In the middle of a version, a table made again, a file that was removed: each with its own sentence."""
    project, s = others, others.schema
    _forget_micro_batches(project, "slow", 1)
    assert plans(project)["slow"]["kind"] == "stream"

    def said(model: str, key: str) -> str:
        code, shown = command(project, "reconcile", model, "--key", key)
        assert code == 1 and "ledger" not in shown, shown
        return sentence(shown)

    assert "it is in the middle of version" in said("slow", "event_id")
    (project.root / "landing" / "a.json").unlink()
    gone = said("filed", "id")
    assert (
        "files that it has read are gone from" in gone and "landing/a.json), so what they" in gone
    )
    project.sql(f"drop table {s}.events")
    assert "[TABLE_OR_VIEW_NOT_FOUND]" in said("slow", "event_id")
    project.sql(f"create table {s}.events ({EVENTS}) using delta")
    assert (
        f"{s}.events is not the table that its checkpoint has read (it was dropped and recreated): run it once with "
        "--full-refresh to load everything again" in said("slow", "event_id")
    )
    _forget_micro_batches(project, "slow", -1)
    assert "none of its micro-batches has ended yet: run it first" in said("slow", "event_id")


def _forget_micro_batches(project: Project, model: str, last: int) -> None:
    """Take a checkpoint back to where `last` was the last micro-batch that had ended, as a kill would leave it."""
    described = {
        row[0]: row[1] for row in project.sql(f"describe schema {project.schema}_floodmark")
    }
    folder = Path(described["Location"].removeprefix("file:")) / "_checkpoints"
    for commit in folder.glob(f"*{model}/*/commits/[0-9]*"):
        if int(commit.name) > last:
            commit.unlink()
