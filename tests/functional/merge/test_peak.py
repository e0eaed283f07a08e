"""Batches above their table's peak are merged without comparing rows, and only those are."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import Project, Run, incremental, table

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

WIDER = "id, v, ts{% if var('wide', false) %}, v as extra{% endif %}"


def merged(select: str = "*", where: str = "", **config: str) -> str:
    return incremental(
        table("orders"),
        select,
        where=where,
        incremental_strategy="merge",
        unique_key="id",
        watermark={"column": "ts"},
        **config,
    )


def events(scd_type: int = 1, **watermark: int) -> str:
    return incremental(
        table("feed"),
        where=" and op <> 'x'",
        incremental_strategy="cdc",
        unique_key="k",
        watermark={"column": "arrived", "gaps": "ignore"} | watermark,
        cdc={
            "sequence_by": "seq",
            "apply_as_deletes": "op = 'd'",
            "except_column_list": ["arrived", "op", "seq"],
            "stored_as_scd_type": scd_type,
        },
    )


TEXTS = incremental(
    table("texts"),
    incremental_strategy="cdc",
    unique_key="k",
    watermark={"column": "arrived", "gaps": "ignore"},
    cdc={
        "sequence_by": "at",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["op", "arrived"],
    },
)
MODELS = {
    "plain": merged(),
    "edited": merged(),
    "touched": merged(WIDER, where=" and v <> 'b'", on_schema_change="append_new_columns"),
    "died": merged(),
    "events": events(),
    "reread": events(lookback=1),
}
#: The same events as SCD 2, and a feed in the order of its bytes.
MORE = {"history": events(scd_type=2), "texts_latest": TEXTS}
#: What arrives before each run: orders by id, value and day; events by key, value, sequence, kind and arrival.
ARRIVALS = [
    ("(1, 'a', 1), (2, 'a', 1)", "('a', 'a', 50, 'u', 1)"),
    ("(1, 'b', 2), (3, 'b', 2)", "('z', 'z', 100, 'd', 5)"),
    ("(1, 'c', 3), (3, 'c', 3)", "('z', 'z', 60, 'u', 9)"),
    ("(1, 'e', 5), (4, 'e', 5)", "('z', 'back', 110, 'u', 10), ('a', 'e', 120, 'u', 10)"),
    ("(1, 'f', 6)", "('a', 'late', 40, 'u', 11), ('b', 'b', 45, 'u', 11)"),
]
#: The models that the last two runs load: what the others have to show is shown.
FOURTH = ("touched", "events", "reread", "history")
FIFTH = ("edited", "touched", "events", "history")


@dataclass
class Story:
    """What each run did to each model."""

    project: Project
    compared: list[dict[str, bool]] = field(default_factory=list)
    rows: list[dict[str, dict[str, str]]] = field(default_factory=list)
    #: whether SCD 2 read the table's open rows alone; none where it resolved nothing
    only_open: list[bool | None] = field(default_factory=list)

    def run(self, *args: str) -> None:
        project = self.project
        orders, feed = ARRIVALS[len(self.rows)]
        days = re.sub(r", (\d)\)", r", timestamp'2024-01-0\1 00:00:00Z')", orders)
        project.sql(f"insert into {project.schema}.orders values {days}")
        project.sql(f"insert into {project.schema}.feed values {feed}")
        run = project.build(*args)
        self.compared.append(compared(run))
        lined_up = re.search(
            r"create table \S+stage__\w+__history__\d+__\w+__.*?from bounded", run.log, re.S
        )
        self.only_open.append(
            "DBT_INTERNAL_DEST left semi join" in lined_up[0] if lined_up else None
        )
        keys = {name: "k" if name in ("events", "reread") else "id" for name in MODELS}
        held = project.sql(
            " union all ".join(
                f"select '{name}', cast({key} as string), v from {project.schema}.{name}"
                for name, key in keys.items()
            )
        )
        rows: dict[str, dict[str, str]] = {name: {} for name in MODELS}
        for name, key, value in held:
            rows[name][key] = value
        self.rows.append(rows)


def compared(run: Run) -> dict[str, bool]:
    """Whether the MERGE of each model, as dbt logged it, looks at what a matched row holds."""
    found = {}
    merges = re.findall(r"merge into \w+\.(\w+)(.*?)(?=\n\n|\Z)", run.log, re.DOTALL)
    for name, statement in merges:
        found[name] = "DBT_INTERNAL_DEST" in "".join(
            re.findall("when matched.*?then", statement, re.DOTALL)
        )
    return found


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Five runs; behind the second and the third somebody else writes to tables."""
    project = make_project("peak")
    s = project.schema
    project.sql(f"create table {s}.orders (id bigint, v string, ts timestamp) using delta")
    project.sql(
        f"create table {s}.feed (k string, v string, seq bigint, op string, arrived bigint) using delta"
    )
    project.sql(
        f"create table {s}.texts (k string, v string, at string, op string, arrived bigint) using delta"
    )
    project.source("orders", "feed", "texts")
    for name, sql in (MODELS | MORE).items():
        project.model(name, sql)
    story = Story(project)
    second, half = "2024-01-01T00:00:00Z", "2024-01-01T00:00:00.500Z"

    def say(arrived: int, at: str, op: str, value: str) -> None:
        project.sql(
            f"insert into {s}.texts values ('a', '{value}', '{at}', 'u', {arrived}), "
            f"('b', '{value}', '{at}', '{op}', {arrived})"
        )

    say(1, second, "d", "new")
    story.run()
    say(2, half, "u", "old")
    story.run()
    project.sql(
        f"update {s}.edited set v = 'by hand', ts = timestamp'2024-01-05 12:00:00Z' where id = 1"
    )
    #: its second run died behind the MERGE, before the ledger heard of it
    project.sql(
        f"update {s}.died set v = 'by hand', ts = timestamp'2024-01-05 12:00:00Z' where id = 1"
    )
    project.sql(
        f"delete from {s}_floodmark.batch_log "
        f"where model = '{s}.died' and batch_id = 2 and event = 'committed'"
    )
    story.run()
    project.sql(f"optimize {s}.touched")
    project.sql(f"alter table {s}.touched add constraint some check (id > 0)")
    story.run("--vars", "{wide: true}", "--select", *FOURTH)
    project.build("--full-refresh", "--select", "edited")
    story.run("--vars", "{wide: true}", "--select", *FIFTH)
    return story


def test_a_batch_above_the_peak_compares_no_rows(story: Story) -> None:
    """A first load sets the peak, and each batch raises it."""
    assert [run["plain"] for run in story.compared[1:3]] == [False] * 2
    assert story.rows[-1]["plain"] == {"1": "c", "2": "a", "3": "c"}


def test_the_peak_stands_in_the_commit(story: Story) -> None:
    """Its position is the greatest value in the table, in microseconds."""
    s = story.project.schema
    metadata = story.project.sql(f"describe history {s}.plain limit 1")[0]
    texts = [str(value) for value in metadata if value and "/peak/" in str(value)]
    version = story.project.version("plain")
    (position,) = story.project.sql(f"select cast(unix_micros(max(ts)) as string) from {s}.plain")[
        0
    ]
    assert len(texts) == 1
    assert re.fullmatch(
        rf"floodmark/.*/3/read/\d+/0/peak/[0-9a-f]{{8}}/{version - 1}/{position}", texts[0]
    )


def test_a_row_edited_by_hand_is_compared(story: Story) -> None:
    """It is later than the batch and stays; only a full refresh knows the peak again."""
    assert [run["edited"] for run in story.compared[1:3]] == [False, True]
    assert [rows["edited"]["1"] for rows in story.rows[1:3]] == ["b", "by hand"]
    assert story.compared[4]["edited"] is False
    assert story.rows[4]["edited"]["1"] == "f"


def test_a_row_edited_behind_a_run_that_died_is_compared(story: Story) -> None:
    """The run that finishes the batch finds it in the table, and an edit above it."""
    assert [run["died"] for run in story.compared[1:3]] == [False, True]
    assert [rows["died"]["1"] for rows in story.rows[1:3]] == ["b", "by hand"]


def test_commits_that_change_no_row_leave_the_peak(story: Story) -> None:
    """OPTIMIZE and a constraint leave it true."""
    history = story.project.sql(f"describe history {story.project.schema}.touched")
    operations = {name for row in history for name in ("OPTIMIZE", "ADD CONSTRAINT") if name in row}
    assert operations == {"OPTIMIZE", "ADD CONSTRAINT"}
    assert story.compared[3]["touched"] is False
    assert story.rows[3]["touched"]["1"] == "e"


def test_a_batch_without_rows_leaves_the_peak(story: Story) -> None:
    """It moves the mark alone."""
    assert "touched" not in story.compared[1]
    assert story.compared[2]["touched"] is False
    assert story.rows[2]["touched"]["1"] == "c"


def test_a_new_column_leaves_the_peak(story: Story) -> None:
    """ADD COLUMNS comes between the version below and the MERGE."""
    assert story.compared[3]["touched"] is False
    assert story.compared[4]["touched"] is False
    columns = [row[0] for row in story.project.sql(f"describe {story.project.schema}.touched")]
    assert columns == ["id", "v", "ts", "extra"]


def test_late_events_of_cdc_are_compared(story: Story) -> None:
    """Below the peak rows and tombstones decide; above it nothing does."""
    assert [run.get("events") for run in story.compared] == [None, False, True, False, True]
    assert story.rows[2]["events"] == {"a": "a"}
    assert story.rows[3]["events"] == {"a": "e", "z": "back"}
    assert story.rows[4]["events"] == {"a": "e", "b": "b", "z": "back"}


def test_deletes_that_no_commit_tells_of_are_compared(story: Story) -> None:
    """A delete of a key that is not there is remembered far above the peak, without a commit on the table.

    An older upsert of that key finds nothing to change; taken for one above the peak it would insert.
    """
    assert [run.get("reread") for run in story.compared[:4]] == [None, None, None, True]
    assert [rows["reread"] for rows in story.rows[2:4]] == [
        rows["events"] for rows in story.rows[2:4]
    ]


def test_scd2_above_the_peak_reads_open_rows_alone(story: Story) -> None:
    """A batch that changes the table in nothing, such as the delete of an absent key, ends the peak."""
    s = story.project.schema
    assert story.only_open == [False, True, False, False, False]
    rows = story.project.sql(f"select k, v, __start_at, __end_at from {s}.history order by 1, 3")
    assert rows == [
        ("a", "late", 40, 50),
        ("a", "a", 50, 120),
        ("a", "e", 120, None),
        ("b", "b", 45, None),
        ("z", "z", 60, 100),
        ("z", "back", 110, None),
    ]


def test_texts_have_no_peak(story: Story) -> None:
    """They are in the order of their bytes, also where they read like times: '.' is below 'Z'."""
    rows = story.project.sql(f"select k, v from {story.project.schema}.texts_latest")
    assert rows == [("a", "new")]
