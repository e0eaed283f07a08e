"""SEMANTICS.md, "Watermarks and merge": what a mark is, what it reaches, and what it never does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.harness import Project, Runs, incremental, sentence, table

pytestmark = pytest.mark.long("session")

BIG = 10**37
PAST_DOUBLE = 9007199254740992  # 2^53: a double cannot tell the next number from it
FIRST, SECOND, THIRD, REFRESH = "first", "second", "third", "refresh"
COMPILED = "compiled"

# In Berlin 2024-10-27 00:30 and 01:30 UTC both read 02:30.
DAY_1 = {
    1: "2024-01-01 00:00:00",
    2: "2024-01-01 06:00:00.000001",
    3: "2024-01-02 12:00:00.123456",
    4: "2024-10-27 00:30:00",
}
DAY_2 = {
    5: "2024-10-27 01:30:00",
    6: "2024-10-27 00:30:00",  # equal to the mark
    7: "2024-10-26 23:00:00",  # within two hours of the mark
    8: "2024-11-20 00:00:00",  # after an outage of weeks
    9: "2024-10-26 22:30:00",  # two hours below the mark: bounds are open below
}


def event_rows(events: dict[int, str]) -> str:
    """Values of `events`: id, v, ts, d, n, seq, big."""
    return ", ".join(
        f"({i}, 'v{i}', timestamp'{ts}+00:00', date'{ts[:10]}', timestamp_ntz'{ts}', "
        f"{PAST_DOUBLE + i}, cast('{BIG + i}' as decimal(38,0)))"
        for i, ts in events.items()
    )


@dataclass
class Story(Runs):
    """What each run left: run -> model -> ids, batches, mark; versions of some tables."""

    ids: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    batches: dict[str, dict[str, list[dict[str, Any]]]] = field(default_factory=dict)
    marks: dict[str, dict[str, str]] = field(default_factory=dict)
    versions: dict[str, dict[str, int]] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        """Run dbt and look at everything it left, a few statements for all models."""
        super().run(name, *args)
        schema = self.project.schema
        present = {row[1] for row in self.project.sql(f"show tables in {schema}")}
        models = [model for model in MODELS if model in present]
        union = " union all ".join(f"select '{m}', id from {schema}.{m}" for m in models)
        self.ids[name] = {model: [] for model in models}
        for model, row_id in sorted(self.project.sql(union)):
            self.ids[name][model].append(row_id)
        self.batches[name] = {}
        batches = self.project.sql(
            f"select to_json(struct(*), map('ignoreNullFields', 'false')) "
            f"from {schema}_floodmark.batches order by batch_id"
        )
        for (text,) in batches:
            batch = json.loads(text)
            self.batches[name].setdefault(batch["model"].split(".")[1], []).append(batch)
        marks = self.project.sql(
            f"select table_name, watermark_value from {schema}_floodmark.watermarks"
        )
        self.marks[name] = {model.split(".")[1]: mark for model, mark in marks}
        if name in (SECOND, THIRD):
            self.versions[name] = {m: self.project.version(m) for m in QUIET if m in models}
        elif name == FIRST:
            self.versions[name] = {"yields_none": self.project.version("yields_none")}

    def last(self, run: str, model: str) -> dict[str, Any]:
        """The model's last batch, as it stood after the run."""
        return self.batches[run][model][-1]


def appended(select: str = "*", upstream: str = "events", **watermark: Any) -> str:
    where = watermark.pop("where", "")
    return incremental(table(upstream), select, where=where, watermark=watermark)


def merged(upstream: str = "events", guard: bool = False, **watermark: Any) -> str:
    return incremental(
        table(upstream),
        guard=guard,
        incremental_strategy="merge",
        unique_key="id",
        watermark=watermark,
    )


BROKEN = "id, ts, if(id = 8 and {{ var('broken', 'true') }}, raise_error('bad row'), v) as v"

MODELS = {
    "plain": appended(column="ts"),
    "lookback": merged(column="ts", lookback="2 hours"),
    "by_date_under_meta": incremental(
        table("events"), meta={"floodmark": {"watermark": {"column": "d"}}}
    ),
    "by_ntz_of_view": incremental("{{ ref('events_view') }}", watermark={"column": "n"}),
    "by_seq": appended(column="seq", gaps="fail", start=PAST_DOUBLE + 2, step=3),
    "by_decimal": appended(column="big", kind="sequence"),
    "stepped": appended(column="ts", step="1 day"),
    "guarded": merged(
        column="ts", guard=True, lookback=0, nulls=None, max_future=None, gap_timeout=None
    ),
    "yields_none": appended(column="ts", where=" and id < 5"),
    "joined": incremental(
        f"{table('events')} as e join {table('labels')} as l on l.label = e.v",
        "e.id, e.ts, l.ts as labelled_at",
        alias="e",
        watermark={"column": "ts", "from": "raw.events", "start": "2024-01-01 06:00:00.000001"},
    ),
    "fails": appended(BROKEN, column="ts"),
    "starts_empty": appended(upstream="empty", column="ts"),
    "ahead": "{{ config(materialized='incremental', watermark={'column': 'ts', "
    "'nulls': 'exclude', 'max_future': var('max_future', '1 day')}) }}\n"
    f"select * from {table('future')} where {{{{ floodmark.watermark_filter() }}}}",
    "ahead_grouped": incremental(
        f"(select id % 2 as id, max(ts) as ts from {table('future')} group by 1)",
        guard=True,
        watermark={"column": "ts", "from": "raw.future", "nulls": "exclude"},
    ),
    "nulls_error": appended(upstream="holes", column="ts"),
    "nulls_include": merged(upstream="holes", column="ts", nulls="include"),
    "gaps_warn": appended(upstream="numbers", column="id"),
    "gaps_ignore": appended(upstream="numbers", column="id", gaps="ignore"),
    "gaps_fail": appended(upstream="numbers", column="id", gaps="fail"),
    "restarted": appended("id", upstream="counter", column="id"),
    "at_limits": merged(upstream="limits", column="n", lookback=5),
}
QUIET = ["plain", "lookback", "guarded", "by_seq", "nulls_include", "yields_none"]
#: What shows all that it is for in its first run.
ONCE = (
    "events_view",
    "stepped",
    "ahead_grouped",
    "nulls_error",
    "nulls_include",
    "gaps_ignore",
    "gaps_fail",
)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Day 1, day 2 with late rows and a failure, a third run with nothing new, a full refresh."""
    project = make_project("story")
    project.write_profile(server_side_parameters={"spark.sql.session.timeZone": "Europe/Berlin"})
    s = project.schema
    project.sql(
        f"create table {s}.events (id bigint, v string, ts timestamp, d date, n timestamp_ntz, "
        "seq bigint, big decimal(38,0)) using delta"
    )
    project.sql(f"create table {s}.empty (id bigint, ts timestamp) using delta")
    for name, select in {
        "labels": "'v' || id as label, timestamp'2030-01-01 00:00:00Z' as ts from range(1, 20)",
        "holes": "col1 as id, col2 as ts from values (1, timestamp'2024-01-01 00:00:00Z'), "
        "(2, null), (3, null)",
        "future": "id, case id when 1 then current_timestamp() when 2 then current_timestamp() + interval 2 days end "
        "as ts from range(1, 4)",
        "numbers": "id from values (1), (2), (3), (6), (7) as t(id)",
        "limits": "id, cast(concat('-', repeat('9', 37), n) as decimal(38,0)) as n from values (1, 9), (2, 8) as t(id, n)",
        # A column of this name hides Spark's own.
        "counter": "id, '{}' as _metadata from range(100, 102)",
    }.items():
        project.sql(f"create table {s}.{name} using delta as select {select}")
    project.source("events", "empty", "labels", "holes", "future", "numbers", "counter", "limits")
    project.model(
        "events_view", "{{ config(materialized='view') }} select * from " + table("events")
    )
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    project.sql(f"insert into {s}.events values {event_rows(DAY_1)}")
    story.run(FIRST)
    project.sql(f"insert into {s}.events values {event_rows(DAY_2)}")
    project.sql(f"insert into {s}.empty values (1, timestamp'2024-01-01 00:00:00Z')")
    #: a row that was deleted hides none that came late
    project.sql(f"delete from {s}.numbers where id = 1")
    project.sql(f"insert into {s}.numbers values (4), (10)")
    project.sql(f"insert into {s}.limits values (3, {'9' * 38})")
    project.sql(f"insert into {s}.counter values (1, '{{}}'), (2, '{{}}')")
    story.run(SECOND, "--exclude", *ONCE)
    project.sql(f"update {s}.numbers set id = id where id = 6")
    project.sql(
        f"alter table {s}.numbers set tblproperties ('delta.deletedFileRetentionDuration' = 'interval 0 hours')"
    )
    project.sql(f"vacuum {s}.numbers")
    third = (*QUIET, "fails", "ahead", "gaps_warn")
    story.run(THIRD, "--select", *third, "--vars", "{broken: 'false', max_future: '3 days'}")
    story.runs[COMPILED] = project.dbt("compile", "--select", "nulls_error")
    story.run(REFRESH, "--full-refresh", "--select", "stepped")
    return story


def bounds(batches: list[dict[str, Any]]) -> list[tuple[Any, Any]]:
    return [(batch["low"], batch["high"]) for batch in batches]


def test_a_first_load_reads_everything(story: Story) -> None:
    assert story.ids[FIRST]["plain"] == [1, 2, 3, 4]
    assert story.last(FIRST, "plain")["kind"] == "first_load"
    assert story.marks[FIRST]["plain"] == "2024-10-27 00:30:00.000000"


def test_a_row_equal_to_the_mark_is_missed_without_a_lookback(story: Story) -> None:
    assert story.ids[THIRD]["plain"] == [1, 2, 3, 4, 5, 8]


def test_a_row_equal_to_the_mark_is_found_once_with_a_lookback(story: Story) -> None:
    assert story.ids[SECOND]["lookback"].count(6) == 1
    assert story.ids[THIRD]["lookback"].count(6) == 1


def test_a_lookback_reaches_below_the_mark_after_an_outage_and_is_open_below(story: Story) -> None:
    assert story.ids[SECOND]["lookback"] == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_lookback_of_zero_is_none(story: Story) -> None:
    assert story.ids[THIRD]["guarded"] == [1, 2, 3, 4, 5, 8]


def test_a_lookback_never_rewinds_the_mark(story: Story) -> None:
    assert bounds(story.batches[SECOND]["lookback"]) == [
        (None, "2024-10-27 00:30:00.000000"),
        ("2024-10-27 00:30:00.000000", "2024-11-20 00:00:00.000000"),
    ]
    assert story.marks[THIRD]["lookback"] == "2024-11-20 00:00:00.000000"


def test_summer_time_and_the_sessions_zone_change_nothing(story: Story) -> None:
    """The hour that Berlin has twice: 01:30 UTC lies above a mark of 00:30 UTC."""
    assert 5 in story.ids[SECOND]["plain"]
    assert story.last(SECOND, "by_ntz_of_view")["low"] == "2024-10-27 00:30:00.000000"


def test_dates_and_settings_under_meta(story: Story) -> None:
    assert story.ids[FIRST]["by_date_under_meta"] == [1, 2, 3, 4]
    assert story.ids[THIRD]["by_date_under_meta"] == [1, 2, 3, 4, 8]
    assert story.marks[THIRD]["by_date_under_meta"] == "2024-11-20 00:00:00.000000"


def test_timestamps_without_zone_are_read_as_utc_and_from_a_view(story: Story) -> None:
    assert story.ids[THIRD]["by_ntz_of_view"] == [1, 2, 3, 4, 5, 8]
    assert story.marks[THIRD]["by_ntz_of_view"] == "2024-11-20 00:00:00.000000"


def test_sequences_are_exact_beyond_a_double(story: Story) -> None:
    assert story.marks[FIRST]["by_seq"] == "9007199254740996"
    assert story.ids[THIRD]["by_seq"] == [2, 3, 4, 5, 6, 7, 8, 9]
    assert story.marks[THIRD]["by_seq"] == "9007199254741001"


def test_sequences_of_38_digits(story: Story) -> None:
    assert story.ids[THIRD]["by_decimal"] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert story.marks[FIRST]["by_decimal"] == str(BIG + 4)
    assert story.marks[THIRD]["by_decimal"] == str(BIG + 9)


def test_start_is_inclusive_and_keeps_microseconds(story: Story) -> None:
    assert story.ids[FIRST]["joined"] == [2, 3, 4]
    assert story.ids[THIRD]["joined"] == [2, 3, 4, 5, 8]


def test_start_and_step_of_a_sequence(story: Story) -> None:
    assert story.ids[FIRST]["by_seq"] == [2, 3, 4]
    assert bounds(story.batches[SECOND]["by_seq"]) == [
        (None, "9007199254740996"),
        ("9007199254740996", "9007199254740999"),
        ("9007199254740999", "9007199254741001"),
    ]


def test_step_commits_several_batches_in_one_run_each_from_the_next_value(story: Story) -> None:
    """Microseconds stay, and empty days cost no batch."""
    assert bounds(story.batches[FIRST]["stepped"]) == [
        (None, "2024-01-01 23:59:59.999999"),
        ("2024-01-01 23:59:59.999999", "2024-01-03 12:00:00.123455"),
        ("2024-01-03 12:00:00.123455", "2024-10-27 00:30:00.000000"),
    ]
    assert [b["state"] for b in story.batches[FIRST]["stepped"]] == ["committed"] * 3
    assert [b["rows_read"] for b in story.batches[FIRST]["stepped"]] == [2, 1, 1]
    assert "3 batches" in story.runs[FIRST].message["stepped"]


def test_a_guarded_first_load_takes_its_mark_from_what_it_loaded(story: Story) -> None:
    assert story.ids[FIRST]["guarded"] == [1, 2, 3, 4]
    assert story.marks[FIRST]["guarded"] == "2024-10-27 00:30:00.000000"
    assert story.ids[THIRD]["guarded"] == [1, 2, 3, 4, 5, 8]


def test_a_range_whose_select_yields_nothing_moves_the_mark_in_the_ledger_alone(
    story: Story,
) -> None:
    assert story.ids[THIRD]["yields_none"] == [1, 2, 3, 4]
    assert story.marks[SECOND]["yields_none"] == "2024-11-20 00:00:00.000000"
    assert story.versions[SECOND]["yields_none"] == story.versions[FIRST]["yields_none"]
    assert story.last(SECOND, "yields_none")["target_version"] is None


def test_the_alias_and_from_pick_the_upstream_of_a_join(story: Story) -> None:
    """The label's ts is later than every `start` and every mark."""
    assert story.ids[FIRST]["joined"] == [2, 3, 4]
    assert story.marks[FIRST]["joined"] == "2024-10-27 00:30:00.000000"
    assert story.ids[THIRD]["joined"] == [2, 3, 4, 5, 8]


def test_a_failed_run_leaves_mark_and_table_and_the_next_loads_all_that_was_due(
    story: Story,
) -> None:
    assert story.runs[SECOND].status["fails"] == "error"
    assert "bad row" in story.runs[SECOND].message["fails"]
    assert story.ids[SECOND]["fails"] == story.ids[FIRST]["fails"] == [1, 2, 3, 4]
    assert story.marks[SECOND]["fails"] == "2024-10-27 00:30:00.000000"
    assert story.ids[THIRD]["fails"] == [1, 2, 3, 4, 5, 8]
    assert story.marks[THIRD]["fails"] == "2024-11-20 00:00:00.000000"


def test_an_empty_first_run_then_a_load(story: Story) -> None:
    assert story.runs[FIRST].status["starts_empty"] == "success"
    assert story.ids[FIRST]["starts_empty"] == []
    assert "starts_empty" not in story.marks[FIRST]
    assert story.ids[SECOND]["starts_empty"] == [1]


def test_a_row_far_in_the_future_waits_above_the_mark_and_comes_when_due(story: Story) -> None:
    assert story.ids[FIRST]["ahead"] == [1]
    assert story.last(FIRST, "ahead")["rows_future"] == 1
    assert story.ids[SECOND]["ahead"] == [1]
    assert story.marks[SECOND]["ahead"] == story.marks[FIRST]["ahead"]
    assert story.ids[THIRD]["ahead"] == [1, 2]


def test_what_must_wait_takes_no_row_of_its_group_with_it(story: Story) -> None:
    """Behind the guard a first load would leave the group out, due rows and all."""
    assert (
        f"rows of {story.project.schema}.future must wait (max_future) or be left out (nulls), and the SELECT groups, ranks or "
        "compares rows: behind an is_incremental() guard a first load cannot hold them back before that. Remove the guard"
    ) in story.said(FIRST, "ahead_grouped")
    assert "ahead_grouped" not in story.ids[FIRST]


def test_nulls_error(story: Story) -> None:
    assert story.runs[FIRST].status["nulls_error"] == "error"
    schema = story.project.schema
    assert (
        f"floodmark, model '{schema}.nulls_error': 2 rows of {schema}.holes have no ts: give them "
        "a value, or set watermark.nulls to 'exclude', or with merge to 'include'"
    ) in story.said(FIRST, "nulls_error")
    assert "nulls_error" not in story.ids[FIRST]
    assert story.runs[COMPILED].success, story.runs[COMPILED].log


def test_nulls_exclude_counts_them(story: Story) -> None:
    assert story.ids[THIRD]["ahead"] == [1, 2]
    assert story.last(FIRST, "ahead")["rows_null"] == 1


def test_nulls_include_reads_them_every_run_and_writes_them_once(story: Story) -> None:
    assert story.ids[FIRST]["nulls_include"] == [1, 2, 3]
    assert story.ids[THIRD]["nulls_include"] == [1, 2, 3]


def test_gaps_warn_names_the_missing_ranges_and_loads(story: Story) -> None:
    schema = story.project.schema
    first, second = (sentence(story.runs[run].log) for run in (FIRST, SECOND))
    assert (
        f"floodmark, model '{schema}.gaps_warn': 1 gap in {schema}.numbers.id, missing: 4-5"
    ) in first
    assert (
        f"floodmark, model '{schema}.gaps_warn': 1 gap in {schema}.numbers.id, missing: 8-9"
    ) in second
    assert story.ids[SECOND]["gaps_warn"] == [1, 2, 3, 6, 7, 10]


def test_gaps_ignore_says_nothing(story: Story) -> None:
    assert "gaps_ignore': 1 gap" not in sentence(story.runs[FIRST].log)
    assert story.ids[FIRST]["gaps_ignore"] == [1, 2, 3, 6, 7]


def test_gaps_fail_loads_nothing(story: Story) -> None:
    schema = story.project.schema
    assert (
        f"floodmark, model '{schema}.gaps_fail': 1 gap in {schema}.numbers.id, missing: 4-5. "
        "watermark.gaps is 'fail', so nothing was loaded. Load the missing numbers, or set gaps to "
        "'warn'"
    ) in story.said(FIRST, "gaps_fail")
    assert "gaps_fail" not in story.ids[THIRD]
    assert "gaps_fail" not in story.batches[THIRD]


def test_late_rows_of_a_sequence_are_counted_and_warned(story: Story) -> None:
    schema = story.project.schema
    assert (
        f"floodmark, model '{schema}.gaps_warn': 1 row came late into {schema}.numbers: at or "
        "below the mark 7 of id, and not loaded, unless a run or a backfill did so since: "
        "`floodmark reconcile` finds what is missing. A sequence that was restarted looks the same. "
        "Run with --full-refresh to load them. With merge or cdc, watermark.lookback catches late rows"
    ) in sentence(story.runs[SECOND].log)
    assert story.last(SECOND, "gaps_warn")["rows_late"] == 1


def test_a_version_that_has_expired_stops_nothing(story: Story) -> None:
    run = story.runs[THIRD]
    schema = story.project.schema
    assert run.success, run.log
    assert run.message["gaps_warn"] == "APPEND nothing new"
    assert re.search(
        rf"it is not known whether rows came late into {schema}.numbers: files below the mark 10 of id "
        r"were written since the last batch, and version \d+, which that batch read, has expired",
        sentence(run.log),
    )


def test_a_restarted_sequence_is_named(story: Story) -> None:
    schema = story.project.schema
    assert (
        f"floodmark, model '{schema}.restarted': 2 rows came late into {schema}.counter"
    ) in sentence(story.runs[SECOND].log)
    assert story.ids[SECOND]["restarted"] == [100, 101]
    assert story.marks[SECOND]["restarted"] == "101"


def test_the_longest_numbers_are_loaded_up_to_their_limits(story: Story) -> None:
    """A lookback leads below the least, and behind the greatest there is no next number."""
    assert story.ids[FIRST]["at_limits"] == [1, 2]
    assert story.ids[SECOND]["at_limits"] == [1, 2, 3]
    assert story.marks[SECOND]["at_limits"] == "9" * 38
    gap = f"missing: -{'9' * 37}7-{'9' * 37}8"
    assert gap in sentence(story.runs[SECOND].log)


def test_a_run_with_nothing_new_makes_no_commit(story: Story) -> None:
    assert story.versions[THIRD] == story.versions[SECOND]
    assert set(story.versions[THIRD]) == set(QUIET)
    for model in QUIET:
        assert "nothing new" in story.runs[THIRD].message[model] or model == "nulls_include"


def test_a_full_refresh_ends_with_the_mark_of_a_first_load_and_numbers_go_on(story: Story) -> None:
    assert story.ids[REFRESH]["stepped"] == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert story.marks[REFRESH]["stepped"] == "2024-11-20 00:00:00.000000"
    batches = story.batches[REFRESH]["stepped"]
    assert (batches[3]["kind"], batches[3]["low"]) == ("full_refresh", None)
    assert [batch["batch_id"] for batch in batches] == [1, 2, 3, 4, 5, 6, 7]


def test_everything_else_succeeded(story: Story) -> None:
    expected = {
        FIRST: {"ahead_grouped", "nulls_error", "gaps_fail"},
        SECOND: {"fails"},
        THIRD: set(),
        REFRESH: set(),
        COMPILED: set(),
    }
    failed = {
        run: {name for name, status in outcome.status.items() if status == "error"}
        for run, outcome in story.runs.items()
    }
    assert failed == expected
