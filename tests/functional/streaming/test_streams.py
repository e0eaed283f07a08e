"""Streams as dbt models: sources, output modes, strategies; each row once, whatever is run again."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from dbt_floodmark.cli import main as floodmark
from tests.support.harness import FULL, Project, Run, working_directory
from tests.support.streams import EVENTS, arrive, event, rows, stream

pytestmark = pytest.mark.parametrize("target", ["session"], scope="module")


MODELS = {
    "copied": stream(
        "select * from stream({{ source('raw', 'events') }}) with (maxFilesPerTrigger = 1)"
    ),
    "counted": stream(
        "select key, count(*) as events, sum(amount) as amount from stream({{ source('raw', 'events') }}) group by key",
        output_mode="complete",
    ),
    "updated": stream(
        "select key, count(*) as events, sum(amount) as amount from stream({{ source('raw', 'events') }}) group by key",
        output_mode="update",
        unique_key="key",
    ),
    "updated_hourly": stream(
        "select window.start as hour, key, sum(amount) as amount "
        "from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour "
        "group by window(at, '1 hour'), key",
        output_mode="update",
        unique_key=["hour", "key"],
    ),
    "latest": stream(
        "select * from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour",
        incremental_strategy="merge",
        unique_key="key",
    ),
    # What is made of a table that it joins is no state of the stream: the latest event of a key wins.
    "latest_named": stream(
        "select e.*, n.name from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour as e "
        "left join (select key, max(name) as name from {{ source('raw', 'names') }} group by key) as n "
        "on n.key = e.key",
        output_mode="update",
        unique_key="key",
    ),
    "scd1": stream(
        "select * from stream({{ source('raw', 'events') }})",
        incremental_strategy="cdc",
        unique_key="key",
        cdc={"sequence_by": "event_id", "apply_as_deletes": "amount = 0"},
    ),
    "scd2": stream(
        "select key, amount, event_id from stream({{ source('raw', 'events') }})",
        incremental_strategy="cdc",
        unique_key="key",
        cdc={
            "sequence_by": "event_id",
            "apply_as_deletes": "amount = 0",
            "stored_as_scd_type": 2,
            "except_column_list": ["event_id"],
        },
    ),
    "hourly": stream(
        "select window.start as hour, key, sum(amount) as amount "
        "from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour "
        "group by window(at, '1 hour'), key"
    ),
    "distinct_events": stream(
        "select * from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour",
        unique_key="event_id",
    ),
    "named": stream(
        "select e.*, n.name from stream({{ source('raw', 'events') }}) as e "
        "left join {{ source('raw', 'names') }} as n on n.key = e.key"
    ),
    "joined": stream(
        "select e.event_id, o.outcome "
        "from stream({{ source('raw', 'events') }}) watermark at delay of interval 1 hour as e "
        "join stream({{ source('raw', 'outcomes') }}) watermark at delay of interval 1 hour as o "
        "on o.id = e.event_id and o.at between e.at and e.at + interval 10 minutes"
    ),
}


#: Model -> its rows after the first arrivals, and after the second.
TABLES: dict[str, tuple[str, list[str], list[str]]] = {
    "copied": ("event_id", ["1", "2", "3", "3"], ["1", "2", "3", "3", "4", "5"]),
    "counted": ("key, events, amount", ["a 3 7", "b 1 2"], ["a 3 7", "b 2 2", "c 1 5"]),
    "updated": ("key, events, amount", ["a 3 7", "b 1 2"], ["a 3 7", "b 2 2", "c 1 5"]),
    "updated_hourly": ("hour(hour), key, amount", ["6 a 7", "6 b 2"], ["6 a 7", "6 b 2", "9 c 5"]),
    "latest": ("event_id, key", ["2 b", "3 a"], ["3 a", "4 b", "5 c"]),
    "latest_named": (
        "event_id, key, coalesce(name, '-')",
        ["2 b -", "3 a Ann"],
        ["3 a Ann", "4 b -", "5 c -"],
    ),
    "scd1": ("event_id, key", ["2 b", "3 a"], ["3 a", "5 c"]),
    "scd2": (
        "key, amount, __start_at, coalesce(__end_at, 0)",
        ["a 1 1 3", "a 3 3 0", "b 2 2 0"],
        ["a 1 1 3", "a 3 3 0", "b 2 2 4", "c 5 5 0"],
    ),
    # An hour is appended once the watermark, an hour behind the latest event, has passed its end.
    "hourly": ("hour(hour), key, amount", [], ["6 a 7", "6 b 2"]),
    "distinct_events": ("event_id", ["1", "2", "3"], ["1", "2", "3", "4", "5"]),
    "named": (
        "event_id, coalesce(name, '-')",
        ["1 Ann", "2 -", "3 Ann", "3 Ann"],
        ["1 Ann", "2 -", "3 Ann", "3 Ann", "4 -", "5 -"],
    ),
    "joined": (
        "event_id, outcome",
        ["1 paid", "3 paid", "3 paid"],
        ["1 paid", "3 paid", "3 paid", "5 late"],
    ),
}

#: Model -> dbt's result line of the second run.
LINES = {
    "copied": "STREAM APPEND 2 read, 2 inserted, 2 batches",
    "counted": "STREAM COMPLETE 3 read, 3 inserted",
    "updated": "STREAM MERGE 2 read, 1 inserted, 1 updated",
    "latest": "STREAM MERGE 2 read, 1 inserted, 1 updated",
    "scd1": "STREAM CDC 2 read, 1 inserted, 1 deleted",
    "scd2": "STREAM CDC 2 read, 1 inserted, 1 updated",
    "hourly": "STREAM APPEND 2 read, 2 inserted, 2 batches",
    "named": "STREAM APPEND 2 read, 2 inserted",
}


#: Whose rows show a mode or strategy that no other model here does: `updated_hourly` is an update too, `scd2` a cdc,
#: and a join with a table is Spark's own.
DEFAULT_MODES = (
    "copied",
    "counted",
    "updated_hourly",
    "latest",
    "latest_named",
    "scd2",
    "hourly",
    "distinct_events",
    "joined",
)
MODES = {name: sql for name, sql in MODELS.items() if FULL or name in DEFAULT_MODES}


FILES = {
    "texts": stream("select value, _metadata.file_name as file from stream(text.`landing/text`)"),
    "jsons": stream(
        "select * from stream(json.`landing/json`) with (maxFilesPerTrigger = 1, schema = 'id int, v string')"
    ),
    "csvs": stream("select * from stream csv.`landing/csv` with (header = true)"),
    "parquets": stream(
        "select id, 'stream(text.`landing/text`)' as v from stream(parquet.`landing/parquet`) as p"
    ),
    "new_files": stream(
        "select id, v, _metadata.file_name as file from {{ floodmark.new_files() }}",
        files={"path": "landing/json", "schema": "id int, v string"},
    ),
    "feed": stream(
        "select id, v, _change_type from stream({{ source('raw', 'changed') }}) with (readChangeFeed = true)"
    ),
    "mirrored": stream(
        "select * from stream({{ source('raw', 'changed') }}) with (readChangeFeed = true) "
        "where _change_type <> 'update_preimage'",
        incremental_strategy="cdc",
        unique_key="id",
        cdc={
            "sequence_by": "_commit_version",
            "apply_as_deletes": "_change_type = 'delete'",
            "except_column_list": ["_change_type", "_commit_version", "_commit_timestamp"],
        },
    ),
    "skipping": stream(
        "select id, v from stream({{ source('raw', 'changed') }}) with (skipChangeCommits = true)"
    ),
    "downstream": stream(
        "select count(*) as n from stream({{ ref('jsons') }})", output_mode="complete"
    ),
    "device_events": "{{ config(materialized='ephemeral') }} select * from stream(json.`landing/json`) with (schema = 'id int, v string')",
    "through_a_view": stream(
        "select v, count(*) as n from {{ ref('device_events') }} group by v", output_mode="complete"
    ),
}


#: Model -> its rows when two files have landed, and the feed has changed.
FOUND = {
    "texts": ("value, file", ["line 1 1%20of%20'many'.text", "line 2 2%20of%20'many'.text"]),
    "jsons": ("id, v", ["1 it's 1", "2 it's 2"]),
    "csvs": ("id, v", ["1 x", "2 x"]),
    "parquets": ("id, v", ["1 stream(text.`landing/text`)", "2 stream(text.`landing/text`)"]),
    "new_files": ("id, file", ["1 1%20of%20'many'.json", "2 2%20of%20'many'.json"]),
    "feed": (
        "id, v, _change_type",
        [
            "1 a delete",
            "1 a insert",
            "2 b insert",
            "2 b update_preimage",
            "2 c update_postimage",
            "3 d insert",
        ],
    ),
    "mirrored": ("id, v", ["2 c", "3 d"]),
    "skipping": ("id, v", ["1 a", "2 b", "3 d"]),
    "downstream": ("n", ["2"]),
    "through_a_view": ("v, n", ["it's 1 1", "it's 2 1"]),
}

#: One of each way to read: a format without and with columns of its own, a feed, and an ephemeral model. What else a
#: `stream(...)` may look like is in tests/unit/streaming/test_streaming.py, streams upon streams in test_stream_crash.py, and
#: `files` in test_stream_positions.py.
DEFAULT_SOURCES = ("texts", "csvs", "mirrored", "skipping", "device_events", "through_a_view")
SOURCES = {name: sql for name, sql in FILES.items() if FULL or name in DEFAULT_SOURCES}


@dataclass
class Story:
    """A project in which rows have arrived twice, and what its first two runs made of them."""

    project: Project
    runs: list[Run] = field(default_factory=list)
    #: Of each run: model -> its rows.
    held: list[dict[str, list[str]]] = field(default_factory=list)

    def run(self) -> None:
        """Run all models, and keep what they hold."""
        self.runs.append(self.project.build())
        columns = {name: TABLES[name][0] for name in MODES}
        columns |= {name: FOUND[name][0] for name in SOURCES if name in FOUND}
        self.held.append({name: rows(self.project, name, columns[name]) for name in columns})

    def land(self, number: int) -> None:
        """Land a file of each format."""
        landing = self.project.root / "landing"
        for name, text in {
            "json": f'{{"id": {number}, "v": "it\'s {number}"}}\n',
            "csv": f"id,v\n{number},x\n",
            "text": f"line {number}\n",
        }.items():
            (landing / name).mkdir(parents=True, exist_ok=True)
            (landing / name / f"{number} of 'many'.{name}").write_text(text)
        if "parquets" in SOURCES:
            self.project.sql(
                f"insert overwrite directory '{landing}/parquet/{number}' using parquet "
                f"select {number} as id"
            )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """All modes over one table, and all sources: what is there, then what is new."""
    project = make_project("streams")
    s = project.schema
    project.sql(f"create table {s}.events ({EVENTS}) using delta")
    project.sql(f"create table {s}.names using delta as select 'a' as key, 'Ann' as name")
    project.sql(f"create table {s}.outcomes (id bigint, outcome string, at timestamp) using delta")
    project.sql(
        f"create table {s}.changed (id int, v string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.source("events", "names", "outcomes", "changed")
    for name, sql in (MODES | SOURCES).items():
        project.model(
            name,
            sql.replace("stream(parquet.`landing/parquet`)", "stream(parquet.`landing/parquet/*`)"),
        )
    story = Story(project)
    arrive(project, event(1, "a", 1, 0), event(2, "b", 2, 10))
    arrive(project, event(3, "a", 3, 20), event(3, "a", 3, 20))
    project.sql(
        f"insert into {s}.outcomes values "
        "(1, 'paid', timestamp'2026-01-01 06:01:00'), (3, 'paid', timestamp'2026-01-01 06:21:00')"
    )
    story.land(1)
    project.sql(f"insert into {s}.changed values (1, 'a'), (2, 'b')")
    story.run()
    arrive(project, event(4, "b", 0, 30), event(5, "c", 5, 200))
    project.sql(f"insert into {s}.outcomes values (5, 'late', timestamp'2026-01-01 09:21:00')")
    story.land(2)
    project.sql(f"update {s}.changed set v = 'c' where id = 2")
    project.sql(f"insert into {s}.changed values (3, 'd')")
    project.sql(f"delete from {s}.changed where id = 1")
    story.run()
    return story


def test_each_row_once_in_every_mode(story: Story) -> None:
    """All modes and strategies over one source: what is there, then what is new, then nothing."""
    project, (first, second) = story.project, story.runs
    assert first.message["copied"] == "STREAM APPEND 4 read, 4 inserted, 4 batches"
    for name in MODES:
        assert [held[name] for held in story.held] == list(TABLES[name][1:]), name
    lines = {name: line for name, line in LINES.items() if name in MODES}
    assert {name: second.message[name] for name in lines} == lines
    assert project.ledger(
        "copied", "batch_id, kind, state, low, high, rows_read, rows_inserted"
    ) == [
        (1, "stream", "committed", None, "0", 1, 1),
        *((n, "stream", "committed", str(n - 2), str(n - 1), 1, 1) for n in range(2, 7)),
    ]
    versions = {name: project.version(name) for name in MODES}
    third = project.build("--select", *MODES)
    assert all(third.message[name].endswith("nothing new") for name in MODES), third.message
    assert {name: project.version(name) for name in MODES} == versions
    # What comes behind the watermark is dropped, counted, and shown.
    arrive(project, event(6, "a", 100, 1))
    project.build("--select", "hourly", "updated_hourly", "latest_named")
    columns, _, expected = TABLES["latest_named"]
    assert rows(project, "latest_named", columns) == expected
    for name in ("hourly", "updated_hourly"):
        columns, _, expected = TABLES[name]
        assert rows(project, name, columns) == expected
        late = project.ledger(name, "rows_late")
        assert [row[0] for row in late if row[0]] == [1], name


def test_every_source(story: Story) -> None:
    """Folders of each format, `files`, change feeds, streams upon streams and ephemeral models; new files alone are read again."""
    second, held = story.runs[1], story.held[1]
    for name in SOURCES:
        assert name not in FOUND or held[name] == FOUND[name][1], name
    for name in ("texts", "jsons", "csvs", "parquets", "new_files"):
        if name in SOURCES:
            assert second.message[name] == "STREAM APPEND 1 read, 1 inserted", name


def test_the_command_on_streams(story: Story, capsys: pytest.CaptureFixture[str]) -> None:
    """status and history show them; plan says what they are; what reads a range again refuses them."""
    project = story.project
    where = ["--project-dir", str(project.root), "--profiles-dir", str(project.root)]

    def says(*arguments: str, status: int = 0) -> str:
        with pytest.raises(SystemExit) as ended, working_directory(project.root):
            floodmark(args=[*arguments, *where], prog_name="floodmark")
        captured = capsys.readouterr()
        assert ended.value.code == status, captured
        return captured.out + captured.err

    (shown,) = json.loads(says("status", "--select", "scd2", "--json"))["models"]
    assert shown["mark"] == "1"
    assert shown["last_batch"]["kind"] == "stream"
    assert shown["last_batch"]["rows_read"] == 2
    assert json.loads(says("history", "scd2", "--json"))["batches"][0]["kind"] == "stream"
    (plan,) = json.loads(says("plan", "--select", "mirrored", "--json"))["models"]
    assert plan["kind"] == "nothing new"
    assert "scd2 has no timestamp or sequence watermark" in says(
        "backfill", "scd2", "--from", "1", "--to", "2", status=2
    )
    assert (
        "scd2 is a stream, which reads each row once: rebuild it with `floodmark run --select "
        "package:shop,file:scd2.sql --full-refresh`."
    ) in says("restate", "scd2", "--from", "1", status=2)
    assert "scd2 applies change events" in says("reconcile", "scd2", status=2)
    for file in (project.root / "models").glob("*.sql"):
        file.unlink()
    assert "This project has no model with materialized='streaming_table'." in says(
        "stream", status=2
    )
