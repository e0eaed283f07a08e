"""cdc where the table alone does not tell: emptied by deletes, truncated, made of other types than the events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import Project, Runs, table
from tests.support.rows import held

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

WIDE = "var('wide', false)"
FEED = "(k string, v decimal(12,4), seq bigint, op string, arrived bigint) using delta"


def model(feed: str, select: str = "*", tracked: str = "", **cdc: object) -> str:
    settings = {
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["op", "arrived"],
    } | cdc
    return (
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', "
        f"watermark={{'column': 'arrived', 'gaps': 'ignore'}}, cdc=dict({settings!r}{tracked})) }}}}\n"
        f"select {select} from {table(feed)} where {{{{ floodmark.watermark_filter() }}}}"
    )


def land(project: Project, feed: str, *rows: str) -> None:
    project.sql(f"insert into {project.schema}.{feed} values {', '.join(rows)}")


NARROW = f"* {{% if not {WIDE} %}}except (v), cast(v as decimal(10,2)) as v{{% endif %}}"
RENAMED = f"* except (v), v as {{{{ 'v2' if {WIDE} else 'v' }}}}"
MODELS = {
    "latest": model("gone"),
    "tracked": model("gone", stored_as_scd_type=2),
    "cut_off": model("cut", apply_as_truncates="op = 't'"),
    "narrow": model("feed", NARROW, stored_as_scd_type=2),
    "expression": model("feed", stored_as_scd_type=2, sequence_by="cast(seq as bigint)"),
    "renamed": model(
        "feed",
        RENAMED,
        f", track_history_column_list=['v2' if {WIDE} else 'v']",
        stored_as_scd_type=2,
    ),
}
#: Values and sequences of the second batch: the first value is the one that the table has.
LATER = (("1.0000", 15), ("1.5", 20), ("1.5000", 30))


@dataclass
class Story(Runs):
    versions: list[tuple[int, int]] = field(default_factory=list)

    def look(self) -> None:
        self.versions.append((self.project.version("latest"), self.project.version("tracked")))


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """A first load, a run with wider types, two restatements, late events."""
    project = make_project("memory")
    s = project.schema
    feeds = ("gone", "cut", "feed")
    for name in feeds:
        project.sql(f"create table {s}.{name} {FEED}")
    project.source(*feeds)
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    land(project, "gone", "('x', null, 20, 'd', 1)")
    land(project, "cut", "('a', 1, 10, 'u', 1)")
    land(project, "feed", "('a', 1, 10, 'u', 1)")
    story.run("first")
    story.look()
    project.sql(f"alter table {s}.latest set tblproperties ('by' = 'hand')")
    land(project, "cut", "(null, null, 20, 't', 2)", "('c', 1, 30, 'u', 2)")
    land(project, "feed", *(f"('a', {v}, {seq}, 'u', 2)" for v, seq in LATER))
    story.run("wide", "--vars", "{wide: true}")
    story.look()
    select = ("--select", "cut_off")
    story.run("restated from 20", *select, "--vars", "{floodmark_restate: {from: 20}}")
    project.sql(f"update {s}.cut set v = 2 where k = 'c'")
    story.run("restated from 21", *select, "--vars", "{floodmark_restate: {from: 21}}")
    #: what was remembered counts without the setting too
    project.model("cut_off", model("cut"))
    project.sql(f"delete from {s}.gone")
    land(project, "gone", "('x', 1, 10, 'u', 2)")
    land(project, "cut", "('late', 1, 15, 'u', 3)")
    story.run("late", "--select", "latest", "tracked", "cut_off")
    return story


def test_only_what_should_failed(story: Story) -> None:
    failed = {
        name: {node for node, status in run.status.items() if status == "error"}
        for name, run in story.runs.items()
    }
    assert failed == {name: set() for name in story.runs} | {
        "wide": {"renamed"},
        "restated from 20": {"cut_off"},
    }


def test_what_a_truncate_reached_is_not_restated(story: Story) -> None:
    """Its keys may have no event behind it."""
    assert (
        "there is a truncate at 20, which reaches every key: run it once with --full-refresh, or "
        "restate from a later sequence"
    ) in story.said("restated from 20", "cut_off")
    assert held(story.project, "cut_off", "k, int(v) as v") == {"c": [(2,)]}


def test_rows_are_compared_as_the_table_has_them(story: Story) -> None:
    """A SELECT of another type, an expression as sequence, a tracked column that the table does not get."""
    s = story.project.schema
    rows = story.project.sql(f"select cast(v as string), __start_at, __end_at from {s}.narrow")
    assert sorted(rows) == [("1.00", 10, 20), ("1.50", 20, None)]
    assert (
        f'cdc.track_history_column_list: got "v2"; expected columns of {s}.renamed. It is new: set '
        "on_schema_change to 'append_new_columns', or run once with --full-refresh"
    ) in story.said("wide", "renamed")
    rows = story.project.sql(
        f"select __start_at, __end_at, seq from {s}.expression order by __start_at"
    )
    assert rows == [(10, 20, 15), (20, None, 30)]


def test_a_table_that_deletes_left_empty_is_not_new(story: Story) -> None:
    """Its deletes count against what comes late, also when the feed has forgotten them."""
    project, s = story.project, story.project.schema
    names = ("latest", "tracked")
    assert [story.runs["wide"].message[name] for name in names] == ["CDC nothing new"] * 2
    first, quiet = story.versions
    assert quiet == (first[0] + 1, first[1])
    assert held(project, "latest", "k, v") == {}
    assert project.sql(f"select __start_at, __end_at from {s}.tracked") == [(10, 20)]
    assert [row[0] for row in project.ledger("latest", "kind")] == ["first_load", "incremental"]
    #: who empties it by hand wants it loaded again
    project.sql(f"truncate table {s}.tracked")
    land(project, "gone", "('y', 1, 5, 'u', 3)")
    project.build("--select", "tracked")
    rows = project.sql(f"select k, __start_at, __end_at from {s}.tracked order by k")
    assert rows == [("x", 10, None), ("y", 5, None)]


def test_an_event_that_is_read_again_brings_no_deleted_row_back(
    make_project: Callable[..., Project],
) -> None:
    """The delete is over in between; an event that only comes then is applied."""
    project = make_project("late_again")
    s = project.schema
    project.sql(
        f"create table {s}.late (k string, seq bigint, op string, arrived timestamp) using delta"
    )
    project.source("late")
    sql = model("late", tombstone_ttl="30 days")
    project.model("brief", sql.replace("'gaps': 'ignore'", "'lookback': '2 days'"))
    project.model("rare", sql)
    shown: list[dict[str, list[tuple[int]] | None]] = []
    days = {
        "2024-05-01": ["('k', 20, 'd', {})", "('a', 1, 'u', {})"],
        "2024-05-30": ["('k', 10, 'u', {})"],
        # The event of 2024-05-30 is read again, and by a model that runs rarely for the first time.
        "2024-06-02": ["('b', 1, 'u', {})"],
        "2024-07-10": ["('k', 11, 'u', {})"],
    }
    for day, rows in days.items():
        land(project, "late", *(row.format(f"timestamp'{day}'") for row in rows))
        names = ["brief"] if day == "2024-05-30" else ["brief", "rare"]
        project.build("--select", *names)
        for name in ("brief", "rare"):
            # As if the delete had been applied on its day.
            project.sql(f"update {s}.{name}__cdc_state set _floodmark_at = timestamp'2024-05-01'")
        shown.append({name: held(project, name, "k, seq").get("k") for name in names})
    absent: dict[str, list[tuple[int]] | None] = {"brief": None, "rare": None}
    assert shown == [absent, {"brief": None}, absent, {"brief": [(11,)], "rare": [(11,)]}]
