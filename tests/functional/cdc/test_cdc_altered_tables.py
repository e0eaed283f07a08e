"""cdc over a table whose columns are altered, over the changes of a table, and under another sequence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.cdc import cdc
from tests.support.files import land, lines, loader
from tests.support.harness import Project, Runs, sentence
from tests.support.rows import held

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

MAPPED = {"delta.columnMapping.mode": "name"}
WIDENS = "set tblproperties ('delta.enableTypeWidening' = 'true')"
RULE = {"name": "positive", "expect": "`customer id` > 0", "on_violation": "quarantine"}
BIG = 3_000_000_000


def follower(scd: int, *sequence: str) -> str:
    """A model over the changes of `state`, where a deleted row is a delete."""
    settings = {
        "sequence_by": list(sequence),
        "apply_as_deletes": "_change_type = 'delete'",
        "stored_as_scd_type": scd,
    }
    return (
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', "
        f"watermark={{'kind': 'version'}}, cdc={settings!r}) }}}}\n"
        "select * from {{ floodmark.changes(source('raw', 'state')) }}"
    )


def events(select: str, **settings: Any) -> str:
    """A model over `feed`, by default with a history."""
    return cdc("feed", select, step=None, **{"stored_as_scd_type": 2} | settings)


FILES = {"format": "json", "schema_evolution": "widen", "schema_hints": "k string, seq int, n int"}
#: What the SELECT gives of p: as many fields as the table has then.
FIELDS = "named_struct('a', a, {% if var('later', false) %}'b', b, {% endif %}'c', c) as p"
HISTORY = {"incremental_strategy": "cdc", "unique_key": "k"}
GROWS = {"on_schema_change": "append_new_columns"}
MODELS = {
    "tied": follower(1, "at"),
    "latest": follower(1, "at", "_commit_version"),
    "versions": follower(2, "at", "_commit_version"),
    "reordered": events("arrived, k, seq, op, a", sequence_by="{{ 0 }}", stored_as_scd_type=1),
    "in_parts": events("arrived, k, seq, op, a, b", sequence_by="struct(seq, b)"),
    "grown": events("arrived, k, seq, op, a"),
    "grown_keys": events("arrived, seq, op, a as id, b", key="id", stored_as_scd_type=1),
    "moved": events(f"arrived, k, seq, op, {FIELDS}", config={"tblproperties": MAPPED}),
    "by_hand": events("arrived, k, seq, op, a as `customer id`", config={"expectations": [RULE]}),
    "named": events("arrived, k, seq, op, a, b as `net price`", config=GROWS),
    "widened": loader(
        "landing",
        config=HISTORY
        | {
            "cdc": {"sequence_by": "seq", "stored_as_scd_type": 2, "except_column_list": ["seq"]},
        },
        **FILES,
    ),
}
#: A sequence that depends on the run stands as Jinja in the config.
MODELS["reordered"] = MODELS["reordered"].replace(
    "'{{ 0 }}'", "('b' if var('later', false) else 'seq')"
)
MODELS["reordered"] = MODELS["reordered"].replace(
    "arrived, k, seq, op, a", "arrived, k, seq, op, a, b"
)
#: What of a SELECT begins with a narrower type, or without a column.
NARROW = {
    "named": ("op, a, b as `net price`", "op, a"),
    "grown": ("op, a", "op, cast(a as int) as a"),
    "grown_keys": ("op, a as id", "op, cast(a as int) as id"),
}
#: (arrived, k, seq, op, a, b, c)
FIRST = [
    (1, "x", 10, "u", 1, 1, 9),
    (1, "x", 20, "u", 1, 1, 9),
    (1, "gone", 10, "u", 1, 1, 9),
    (1, "gone", 30, "d", 1, 1, 9),
    (1, "bad", 10, "u", -1, 1, 9),
]


@dataclass
class Story(Runs):
    def arrive(self, *rows: tuple[Any, ...]) -> None:
        values = ", ".join(str(row).replace("None", "null") for row in rows)
        self.project.sql(f"insert into {self.project.schema}.feed values {values}")


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A load; tables altered by hand, and events in between; tables altered again, and later events."""
    project = make_project("altered")
    s = project.schema
    project.sql(
        f"create table {s}.state (k string, v string, at int) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(
        f"create table {s}.feed (arrived int, k string, seq int, op string, a bigint, b int, c int) using delta"
    )
    project.source("state", "feed")
    mode = "'delta.columnMapping.mode' = 'name'"
    project.sql(
        f"create table {s}.by_hand (k string, `customer id` bigint) using delta tblproperties ({mode})"
    )
    for name, sql in MODELS.items():
        project.model(name, sql)
    # These begin with less, which somebody widens.
    for name, given in NARROW.items():
        project.model(name, MODELS[name].replace(*given))
    story = Story(project)
    story.arrive(*FIRST)
    project.sql(f"insert into {s}.state values ('x', 'a', 5), ('y', 'b', 5)")
    one = {"k": "x", "n": 1}
    land(project.root / "landing", {"1.json": lines(one | {"seq": 10}, one | {"seq": 20})})
    story.run("first")

    for name in NARROW:
        project.model(name, MODELS[name])
    for name, column in {"grown": "a", "grown_keys": "id"}.items():
        project.sql(f"alter table {s}.{name} {WIDENS}")
        project.sql(f"alter table {s}.{name} alter column {column} type bigint")
    project.sql(f"alter table {s}.named set tblproperties ({mode})")
    project.sql(f"alter table {s}.moved add columns (p.b int after a)")
    project.sql(f"delete from {s}.state where k = 'y'")
    project.sql(f"update {s}.state set v = 'c' where k = 'x'")
    story.arrive(
        (2, "x", 15, "u", BIG, 5, 8),
        (2, "x", 16, "u", BIG, 5, 8),
        (2, "big", 9, "d", BIG + 1, None, 8),
    )
    two = {"k": "x", "n": 1.5}
    land(project.root / "landing", {"2.json": lines(two | {"seq": 12}, two | {"seq": 13})})
    later = ("--vars", "{later: true}")
    story.run("second", *later)

    project.sql(f"alter table {s}.moved drop column p.a")
    story.arrive((3, "x", 18, "u", 6, 6, 6), (3, "big", 8, "u", BIG + 1, 1, 8))
    land(project.root / "landing", {"3.json": lines({"k": "x", "n": 7, "seq": 14})})
    story.run("third", *later, "--exclude", "tied", "in_parts", "reordered")
    return story


def history(story: Story, model: str, columns: str) -> list[tuple[Any, ...]]:
    """The rows of the key x, in their order."""
    rows = held(story.project, model, f"k, __start_at, __end_at, {columns}")
    return rows["x"]


def test_a_delete_of_a_table_needs_an_order_of_its_own(story: Story) -> None:
    """Its updated_at is that of the row: it would change nothing."""
    said = story.said("first", "tied")
    assert 'cdc.sequence_by: got "at"; expected _commit_version, or a column' in said
    assert "Write sequence_by: '_commit_version'" in said
    assert "cdc.sequence_by has at first" in sentence(story.runs["first"].log)
    assert held(story.project, "latest", "k, v") == {"x": [("c",)]}
    versions = held(story.project, "versions", "k, v, __end_at is null, __start_at.at")
    assert versions == {"x": [("a", False, 5), ("c", True, 5)], "y": [("b", False, 5)]}


def test_another_sequence_of_the_same_type_is_refused(story: Story) -> None:
    said = story.said("second", "reordered")
    assert 'cdc.sequence_by: got "b"; expected seq, by which the rows of' in said
    assert "Run it once with --full-refresh" in said


def test_no_part_of_a_struct_is_null(story: Story) -> None:
    assert "1 event has no sequence (struct(seq, b))" in story.said("second", "in_parts")


def test_a_payload_that_somebody_widens(story: Story) -> None:
    """Also of events that the table does not show."""
    assert history(story, "grown", "a") == [
        (10, 15, 1), (15, 18, BIG), (18, 20, 6), (20, None, 1),
    ]  # fmt: skip
    types = {
        row[0]: row[1]
        for row in story.project.sql(f"describe {story.project.schema}.grown__cdc_state")
    }
    assert types["a"] == "bigint"


def test_a_key_that_somebody_widens(story: Story) -> None:
    """The delete of a key that did not fit before is remembered: an older event changes nothing."""
    assert story.runs["third"].status["grown_keys"] == "success"
    ids = [row[0] for row in story.project.sql(f"select id from {story.project.schema}.grown_keys")]
    assert sorted(ids) == [-1, 6, BIG]


def test_fields_that_come_in_the_middle_and_go(story: Story) -> None:
    assert history(story, "moved", "p") == [
        (10, 15, {"b": None, "c": 9}),
        (15, 18, {"b": 5, "c": 8}),
        (18, 20, {"b": 6, "c": 6}),
        (20, None, {"b": None, "c": 9}),
    ]


def test_files_whose_column_grows(story: Story) -> None:
    """Hidden events of a decimal keep their digits."""
    rows = [(start, end, float(n)) for start, end, n in history(story, "widened", "n")]
    assert rows == [(10, 12, 1.0), (12, 14, 1.5), (14, 20, 7.0), (20, None, 1.0)]


def test_a_table_by_hand_with_any_name(story: Story) -> None:
    """What lies beside it takes such names, too."""
    s = story.project.schema
    assert story.runs["first"].status["by_hand"] == "success", story.said("first", "by_hand")
    assert story.project.sql(f"select `customer id` from {s}.by_hand__quarantine") == [(-1,)]
    found = story.project.sql(
        f"select distinct `customer id` from {s}.by_hand__cdc_state where k = 'x'"
    )
    assert found == [(BIG,)]


def test_a_name_that_needs_a_mapping_comes_later(story: Story) -> None:
    """The table got its mapping by hand, after the state table was made."""
    assert history(story, "named", "a, `net price`") == [
        (10, 15, 1, None), (15, 18, BIG, 5), (18, 20, 6, 6), (20, None, 1, None),
    ]  # fmt: skip


def test_everything_else_succeeded(story: Story) -> None:
    failed = {
        name: {node for node, status in run.status.items() if status == "error"}
        for name, run in story.runs.items()
    }
    assert failed == {
        "first": {"tied"},
        "second": {"tied", "reordered", "in_parts"},
        "third": set(),
    }
