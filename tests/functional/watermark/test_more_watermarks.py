"""gaps: wait, marks by SQL, and whole partitions under a watermark."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.commands import plans
from tests.support.faults import Faults, injected, once
from tests.support.harness import FULL, Project, Runs, incremental, sentence, table

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

TS = {"column": "ts"}
PARTITIONS = {
    "by_day": ("cast(ts as date)", {}),
    "by_month": ("date_format(ts, 'yyyy-MM')", {}),
    "by_month_number": ("cast(date_format(ts, 'yyyyMM') as int)", {}),
    "by_hour": ("date_trunc('hour', ts)", {}),
    "by_day_stepped": ("cast(ts as date)", {"step": "1 day"}),
    "by_day_lookback": ("cast(ts as date)", {"lookback": "3 days"}),
    "by_ten_days": (
        "date_add(date'2024-01-01', cast(datediff(ts, date'2024-01-01') / 10 as int) * 10 + 1)",
        {},
    ),
}


def overwriting(
    expression: str, watermark: dict, upstream: str = table("events"), column: str = "ts"
) -> str:
    return incremental(
        upstream,
        f"id, v, `{column}`, {expression} as part",
        incremental_strategy="insert_overwrite",
        partition_by="part",
        watermark={"column": column} | watermark,
    )


MONTH = "date_format(ts, 'yyyy-MM')"
#: What lies in a partition and is not due: models over a table of their own.
PARTLY_DUE = {
    "from_start": overwriting(MONTH, {"start": "2024-01-15"}, table("due")),
    "up_to_sql": overwriting(MONTH, {"sql": "max(ts) filter (where v <> 'held')"}, table("due")),
    "up_to_now": overwriting("date_format(ts, 'yyyy')", {}, table("ahead")),
}


MODELS = (
    {name: overwriting(*how) for name, how in PARTITIONS.items()}
    | PARTLY_DUE
    | {
        "by_no_more": overwriting("if(id < 4, cast(ts as date), date'2024-01-05')", {}),
        "by_day_watched": overwriting(
            "cast(`@ts` as date)", {"lookback": "3 days"}, "{{ ref('watched_view') }}", "@ts"
        ),
        "stepped_gaps": incremental(table("numbers"), watermark={"column": "n", "step": 4}),
        "waited_stepped": incremental(
            table("numbers"),
            watermark={"column": "n", "step": 4, "gaps": "wait", "gap_timeout": "0 seconds"},
        ),
        "failed_stepped": incremental(
            table("numbers"), watermark={"column": "n", "step": 2, "gaps": "fail"}
        ),
        "waits": incremental(table("numbers"), watermark={"column": "n", "gaps": "wait"}),
        "waited": incremental(
            table("numbers"),
            watermark={"column": "n", "gaps": "wait", "gap_timeout": "0 seconds"},
        ),
        "held_back": incremental(
            table("events"), watermark=TS | {"sql": "max(ts) - interval 1 day"}
        ),
        "held_by_nothing": incremental(
            table("events"), watermark=TS | {"sql": "max(ts) filter (where id > 1000)"}
        ),
        "of_another_type": incremental(table("events"), watermark=TS | {"sql": "max(id)"}),
    }
)
#: Variants of what others show, left to FLOODMARK_LAB=full: days come under a step, months as numbers, a lookback over a view, and a mark
#: by SQL in partitions.
VARIANTS = ("by_day", "by_month", "by_day_lookback", "held_back")
if not FULL:
    MODELS = {name: sql for name, sql in MODELS.items() if name not in VARIANTS}
REFUSED = ("by_ten_days", "of_another_type", "failed_stepped")
REPLACED = [
    name
    for name in ("by_day", "by_month", "by_month_number", "by_day_stepped", "by_day_lookback")
    if name in MODELS
]
NUMBERED = ("waits", "waited", "stepped_gaps", "waited_stepped", "failed_stepped")


@dataclass
class Story(Runs):
    ids: dict[str, dict[str, list]] = field(default_factory=dict)
    versions: dict[str, dict[str, int]] = field(default_factory=dict)

    def run(self, name: str, *args: str) -> None:
        super().run(name, *args)
        s = self.project.schema
        present = {row[1] for row in self.project.sql(f"show tables in {s}")}
        self.ids[name] = {}
        for model in MODELS:
            if model in present:
                key = "n" if model in NUMBERED else "id"
                rows = self.project.sql(f"select {key} from {s}.{model} order by 1")
                self.ids[name][model] = [row[0] for row in rows]
        overwritten = [*PARTITIONS, *PARTLY_DUE, "by_day_watched"]
        self.versions[name] = {m: self.project.version(m) for m in overwritten if m in present}


def at(text: str) -> str:
    return f"timestamp'2024-{text}:00Z'"


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("story")
    s = project.schema
    project.sql(f"create table {s}.events (id bigint, v string, ts timestamp) using delta")
    project.sql(f"create table {s}.numbers (n bigint) using delta")
    project.sql(f"create table {s}.watched (id bigint, v string, `@ts` timestamp) using delta")
    for name in ("due", "ahead"):
        project.sql(f"create table {s}.{name} (id bigint, v string, ts timestamp) using delta")
    project.source("events", "numbers", "watched", "due", "ahead")
    project.model(
        "watched_view", "{{ config(materialized='view') }} select * from " + table("watched")
    )
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    project.sql(
        f"insert into {s}.events values (1, 'a', {at('01-30 08:00')}), (2, 'a', {at('01-31 08:00')}), "
        f"(3, 'a', {at('01-31 09:30')})"
    )
    project.sql(f"insert into {s}.numbers values (1), (2), (3), (6), (7), (9)")
    for name in ("watched", "due"):
        project.sql(
            f"insert into {s}.{name} values (1, 'a', {at('01-10 08:00')}), (2, 'a', {at('01-20 08:00')})"
        )
    project.sql(
        f"insert into {s}.ahead values (1, 'a', current_timestamp() - interval 1 hour), "
        "(3, 'a', current_timestamp() + interval 3 days)"
    )
    story.run("first")
    # On the mark's own day: a new row above the mark, a late one below, one that changed, one that went.
    project.sql(
        f"insert into {s}.events values (4, 'b', {at('01-31 18:00')}), (5, 'late', {at('01-31 07:00')})"
    )
    project.sql(f"update {s}.events set v = 'changed' where id = 2")
    project.sql(f"delete from {s}.events where id = 3")
    project.sql(f"insert into {s}.events values (6, 'b', {at('02-02 00:00')})")
    project.sql(f"insert into {s}.numbers values (4)")
    for name in ("watched", "due"):
        project.sql(f"insert into {s}.{name} values (3, 'b', {at('01-25 08:00')})")
    project.sql(f"insert into {s}.due values (4, 'held', {at('01-27 08:00')})")
    project.sql(f"insert into {s}.ahead values (2, 'b', current_timestamp() - interval 1 minute)")
    story.run("second", "--exclude", *REFUSED, "waited", "stepped_gaps", "waited_stepped")
    story.run("quiet", "--select", *REPLACED, "by_hour", *PARTLY_DUE, "by_day_watched")
    project.sql(f"update {s}.watched set v = 'changed' where id = 3")
    project.sql(f"insert into {s}.numbers values (5), (11)")
    third = ("waits", "waited", "waited_stepped", "by_day_watched", "held_by_nothing")
    story.run("third", "--select", *third)
    # A backfill brings what lies below `start`; then its partition is replaced.
    backfill = "{floodmark_backfill: {from: '2024-01-01', to: '2024-01-15'}}"
    project.build("--select", "from_start", "--vars", backfill)
    project.sql(f"insert into {s}.due values (5, 'c', {at('01-30 08:00')})")
    story.run("fourth", "--select", "from_start", "waited")
    return story


@pytest.mark.parametrize("model", REPLACED)
def test_whole_partitions_are_replaced(story: Story, model: str) -> None:
    s = story.project.schema
    rows = story.project.sql(f"select id, v, ts from {s}.{model} order by id")
    assert rows == story.project.sql(f"select id, v, ts from {s}.events order by id")
    assert story.project.mark(model) == "2024-02-02 00:00:00.000000"


def test_partitions_that_the_bounds_do_not_touch_stay(story: Story) -> None:
    """The hours of 2, 3 and 5 lie below the mark."""
    rows = story.project.sql(f"select id, v from {story.project.schema}.by_hour order by id")
    assert rows == [(1, "a"), (2, "a"), (3, "a"), (4, "b"), (6, "b")]


def test_a_partition_that_does_not_follow_from_the_watermark_is_refused(story: Story) -> None:
    """On a first load too: what it let pass, a later batch would delete with its partition."""
    for run, model in (("first", "by_ten_days"), ("second", "by_no_more")):
        assert (
            '- partition_by: got "part date"; expected a year, quarter, month, week, day or hour of ts. '
            "Derive it in the SELECT, such as cast(ts as date) or date_format(ts, 'yyyy-MM')"
        ) in story.said(run, model)
    assert "by_ten_days" not in story.ids["second"]
    assert story.ids["second"]["by_no_more"] == [1, 2, 3]


def test_what_is_not_due_stays_out_of_a_partition_that_is_replaced(story: Story) -> None:
    """Rows below `start`, above what `sql` lets pass, and further ahead than max_future."""
    first = {name: story.ids["first"][name] for name in PARTLY_DUE}
    assert first == {"from_start": [2], "up_to_sql": [1, 2], "up_to_now": [1]}
    second = {name: story.ids["second"][name] for name in PARTLY_DUE}
    assert second == {"from_start": [2, 3, 4], "up_to_sql": [1, 2, 3], "up_to_now": [1, 2]}
    #: what a backfill brought stays
    assert story.ids["fourth"]["from_start"] == [1, 2, 3, 4, 5]


def test_a_lookback_that_finds_partitions_as_they_are_makes_no_commit(story: Story) -> None:
    """Over a view, where only the rows tell; what changed in them is found. The column has an @ in its name."""
    assert story.versions["quiet"]["by_day_watched"] == story.versions["second"]["by_day_watched"]
    rows = story.project.sql(f"select id, v from {story.project.schema}.by_day_watched order by id")
    assert rows == [(1, "a"), (2, "a"), (3, "changed")]


def test_a_column_with_an_at_sign(story: Story) -> None:
    assert story.ids["first"]["by_day_watched"] == [1, 2]
    assert story.ids["second"]["by_day_watched"] == [1, 2, 3]


def test_a_quiet_run_makes_no_commit(story: Story) -> None:
    assert story.versions["quiet"] == story.versions["second"]


def test_gaps_wait_loads_up_to_the_first_missing_number(story: Story) -> None:
    assert story.ids["first"]["waits"] == [1, 2, 3]
    assert story.ids["second"]["waits"] == [1, 2, 3, 4]
    assert story.ids["third"]["waits"] == [1, 2, 3, 4, 5, 6, 7]
    s = story.project.schema
    assert (
        f"floodmark, model '{s}.waits': 2 gaps in {s}.numbers.n, missing: 4-5, 8. Rows from 4 on wait, until "
    ) in sentence(story.runs["first"].log)


def test_a_gap_older_than_gap_timeout_is_passed_with_a_warning(story: Story) -> None:
    """All gaps that were there at that moment are as old; what comes later is a late row."""
    assert story.ids["first"]["waited"] == [1, 2, 3, 6, 7, 9]
    assert (
        "missing: 4-5, 8. They did not arrive within gap_timeout (0 seconds), so this run skips the gap"
    ) in sentence(story.runs["first"].log)
    assert story.ids["fourth"]["waited"] == [1, 2, 3, 6, 7, 9, 11]


def test_a_full_refresh_waits_anew(make_project: Callable[..., Project]) -> None:
    """What was waited for before it is over; its own wait goes on in later runs, as `plan` knows."""
    project = make_project("waits")
    s = project.schema
    project.sql(f"create table {s}.numbers using delta as select n from values (1), (2), (4) t(n)")
    project.source("numbers")
    project.model("waits", incremental(table("numbers"), watermark={"column": "n", "gaps": "wait"}))

    def loaded(*args: str) -> list[int]:
        project.build(*args)
        return sorted(n for (n,) in project.sql(f"select n from {s}.waits"))

    def hours_pass() -> None:
        project.sql(
            f"update {s}_floodmark.batch_log set at = at - interval 2 hours where event = 'waiting'"
        )

    assert loaded() == [1, 2]
    assert plans(project)["waits"]["kind"] == "nothing new"
    hours_pass()
    assert plans(project)["waits"]["high"] == "4"
    assert loaded("--full-refresh") == [1, 2]
    assert loaded() == [1, 2]
    hours_pass()
    assert loaded() == [1, 2, 4]


def test_gaps_under_a_step_are_named_whole(story: Story) -> None:
    """A step's bound need not be a number that is there; a gap that was waited for is not waited for again."""
    s = story.project.schema
    said = sentence(story.runs["first"].log)
    assert f"'{s}.stepped_gaps': 1 gap in {s}.numbers.n, missing: 4 " in said
    assert f"'{s}.stepped_gaps': 2 gaps in {s}.numbers.n, missing: 5, 8 " in said
    assert story.ids["first"]["waited_stepped"] == [1, 2, 3, 6, 7, 9]
    waits = story.project.sql(
        f"select low, high from {s}_floodmark.batch_log "
        f"where event = 'waiting' and model = '{s}.waited_stepped' order by batch_log.at"
    )
    assert waits == [("4", "9"), ("10", "11")]


def test_a_gap_that_fails_a_run_of_steps_loads_nothing(story: Story) -> None:
    """The first step itself has none."""
    assert (
        f"2 gaps in {story.project.schema}.numbers.n, missing: 4-5, 8. watermark.gaps is 'fail', so nothing was loaded"
    ) in story.said("first", "failed_stepped")
    assert "failed_stepped" not in story.ids["first"]


def test_a_row_that_comes_late_during_a_run_of_steps_is_counted(
    make_project: Callable[..., Project],
) -> None:
    """All steps know the version of the upstream that the run began with: the next run compares with that one."""
    project = make_project("late_in_steps")
    numbers = f"{project.schema}.numbers"
    project.sql(
        f"create table {numbers} using delta as select n from values (1), (3), (4), (6), (7) t(n)"
    )
    project.source("numbers")
    watermark = {"column": "n", "step": 3, "gaps": "ignore"}
    project.model("climbs", incremental(table("numbers"), watermark=watermark))
    arrives = once(lambda: project.sql(f"insert into {numbers} values (2)"))
    with injected(Faults({"climbs": r"after: insert into \S+climbs "}, act=arrives)):
        project.build()
    assert project.ledger("climbs", "high") == [("3",), ("6",), ("7",)]
    project.sql(f"insert into {numbers} values (8)")
    run = project.build()
    assert f"1 row came late into {numbers}: at or below the mark 7 of n" in sentence(run.log)
    assert project.ledger("climbs", "rows_late")[-1] == (1,)


def test_partitions_of_a_select_that_filters_what_it_groups(
    make_project: Callable[..., Project],
) -> None:
    """A new row lets its day pass together with older ones, or pass no more; also where the day is the watermark."""
    project = make_project("filtered")
    s = project.schema
    project.sql(f"create table {s}.visits (id int, ts timestamp) using delta")
    project.sql(f"create table {s}.days (day date) using delta")
    project.source("visits", "days")
    by_day = {"incremental_strategy": "insert_overwrite", "partition_by": "day", "watermark": TS}
    select = "cast(ts as date) as day, max(ts) as ts, count(*) as n"
    for name, condition in {"many": ">= 3", "few": "< 3"}.items():
        having = f" group by 1 having count(*) {condition}"
        project.model(name, incremental(table("visits"), select, where=having, **by_day))
        itself = by_day | {"watermark": {"column": "day", "lookback": "1 day"}}
        counted = incremental(table("days"), "day, count(*) as n", where=having, **itself)
        project.model(f"{name}_days", counted)

    def loaded(model: str) -> list[tuple[str, int]]:
        return project.sql(f"select cast(day as string), n from {s}.{model} order by 1")

    project.sql(
        f"insert into {s}.visits values (1, {at('01-01 08:00')}), (2, {at('01-01 09:00')}), "
        f"(3, {at('01-01 10:00')}), (4, {at('01-02 08:00')}), (5, {at('01-02 09:00')})"
    )
    project.sql(
        f"insert into {s}.days select date(d) from values ('2024-01-01'), ('2024-01-01'), ('2024-01-01'), "
        "('2024-01-02'), ('2024-01-02') as t(d)"
    )
    project.build()
    for kind in ("", "_days"):
        assert loaded(f"many{kind}") == [("2024-01-01", 3)]
        assert loaded(f"few{kind}") == [("2024-01-02", 2)]
    project.sql(f"insert into {s}.visits values (6, {at('01-02 10:00')})")
    project.sql(f"insert into {s}.days values (date'2024-01-02'), (date'2024-01-03')")
    project.build()
    assert (loaded("many"), loaded("few")) == ([("2024-01-01", 3), ("2024-01-02", 3)], [])
    assert loaded("many_days") == [("2024-01-01", 3), ("2024-01-02", 3)]
    assert loaded("few_days") == [("2024-01-03", 1)]
    project.sql(f"insert into {s}.visits values (7, {at('01-03 08:00')})")
    project.build()
    assert (loaded("many")[1:], loaded("few")) == ([("2024-01-02", 3)], [("2024-01-03", 1)])
    assert project.mark("many") == "2024-01-03 08:00:00.000000"


BY_SQL = {
    "up_to_sql": ([1, 2], [1, 2, 3], "2024-01-25 08:00:00.000000"),
    "held_back": ([1], [1, 2, 4, 5], "2024-01-31 18:00:00.000000"),
}


@pytest.mark.parametrize("model", [name for name in BY_SQL if name in MODELS])
def test_a_mark_by_sql(story: Story, model: str) -> None:
    first, second, mark = BY_SQL[model]
    assert story.ids["first"][model] == first
    assert story.ids["second"][model] == second
    assert story.project.mark(model) == mark


def test_a_mark_by_sql_that_is_null_lets_nothing_pass(story: Story) -> None:
    assert story.ids["third"]["held_by_nothing"] == []
    assert story.project.mark("held_by_nothing") is None


def test_a_first_load_that_finds_nothing_due_leaves_no_mark(
    make_project: Callable[..., Project],
) -> None:
    """The SELECT adds a row of its own, later than what comes upstream."""
    project = make_project("nothing_due")
    s = project.schema
    project.sql(f"create table {s}.customers (id bigint, v string, ts timestamp) using delta")
    project.source("customers")
    model = incremental(
        table("customers"), incremental_strategy="merge", unique_key="id", watermark=TS
    )
    project.model("known", f"{model}union all select -1, 'unknown', {at('06-01 00:00')}\n")
    project.build()
    assert project.mark("known") is None
    project.sql(f"insert into {s}.customers values (1, 'a', {at('05-01 00:00')})")
    project.build()
    assert project.sql(f"select id from {s}.known order by id") == [(-1,), (1,)]
    assert project.mark("known") == "2024-05-01 00:00:00.000000"


def test_a_mark_by_sql_of_another_type_is_refused(story: Story) -> None:
    assert (
        '- watermark.sql: got "max(id)"; expected an aggregate of type timestamp, like ts, '
        "not bigint. Cast it, such as cast(max(id) as timestamp)"
    ) in story.said("first", "of_another_type")


def test_everything_else_succeeded(story: Story) -> None:
    expected = {"first": set(REFUSED), "second": {"by_no_more"}}
    for name, run in story.runs.items():
        failed = {node for node, status in run.status.items() if status == "error"}
        assert failed == expected.get(name, set()), name
