"""A SELECT that gives the watermark column another value under its name, and filters that stand in a comment."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.commands import command
from tests.support.harness import Project, Run, incremental, sentence, table
from tests.support.rows import AT, rows_of

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

TOKYO = "from_utc_timestamp(ts, 'Asia/Tokyo')"
TS = {"column": "ts"}
OVERWRITE = {"incremental_strategy": "insert_overwrite", "partition_by": ["p"], "watermark": TS}

JOINED = f"{table('src')} as o join {table('more')} as c on c.id = o.id"
OF_SRC = {"guard": True, "alias": "o", "watermark": TS | {"from": "raw.src"}}

FILTER = "{% if is_incremental() %} where {{ floodmark.watermark_filter() }} {% endif %}"
#: The filter within a CTE, where it needs no alias.
IN_CTES = (
    f"with o as (select * from {table('src')} {FILTER}), c as (select * from {table('more')})\n"
)


def written(sql: str, **more: object) -> str:
    """A model of these words."""
    settings = {"materialized": "incremental", "watermark": TS | {"from": "raw.src"}} | more
    head = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    return f"{{{{ config({head}) }}}}\n{sql}"


LATER = "(select id, ts, named_struct('ts', ts + interval 9 days) as payload from {})"
#: Models whose first load is refused: its mark would be that of other values.
REFUSED = {
    "later": incremental(table("src"), f"id, {TOKYO} as ts", guard=True, watermark=TS),
    "earlier": incremental(table("src"), "id, date_trunc('hour', ts) ts", guard=True, watermark=TS),
    "quoted": incremental(table("src"), f"id, {TOKYO} AS `TS`", guard=True, watermark=TS),
    "ended": incremental(
        table("src"), f"id, case when id > 0 then {TOKYO} end ts", guard=True, watermark=TS
    ),
    "typed": incremental(
        table("src"), "id, date_trunc('hour', ts)::timestamp ts", guard=True, watermark=TS
    ),
    "joined": incremental(JOINED, "o.id, c.ts", **OF_SRC),
    "by_comma": incremental(f"{table('src')} as o, {table('more')} as c", "o.id, c.ts", **OF_SRC),
    "united": written(
        f"select id, ts from {table('src')} {FILTER} union all select id, ts from {table('more')} {FILTER}"
    ),
    "days": incremental(
        table("src"), f"id, {TOKYO} as ts, cast({TOKYO} as date) as p", **OVERWRITE
    ),
    "in_cte": written(f"{IN_CTES}select o.id, c.ts from o join c on c.id = o.id"),
    "of_star": written(f"{IN_CTES}select c.* from o join c on c.id = o.id"),
    "in_struct": written(f"select id, payload.ts from {LATER.format(table('src'))} {FILTER}"),
    "in_list": written(
        f"with x(id, ts) as (select id, date_trunc('hour', ts) from {table('src')} {FILTER}) select * from x"
    ),
}
#: Models that name an expression like the column, and lose nothing by it.
TAKEN = {
    "same": incremental(f"{table('src')} as s", "s.id, s.ts as ts", guard=True, watermark=TS),
    "own": incremental(JOINED, "o.id, o.ts", **OF_SRC),
    "greatest": incremental(
        f"(select id, max(ts) as ts from {table('src')} group by id)", "*", guard=True, watermark=TS
    ),
    "merged": incremental(
        table("src"), f"id, {TOKYO} as ts", incremental_strategy="merge", unique_key="id", watermark=TS
    ),
    "hours": incremental(table("src"), "id, date_trunc('hour', ts) as ts", watermark=TS),
    "own_in_cte": written(f"{IN_CTES}select o.id, o.ts from o join c on c.id = o.id"),
    "by_clock": incremental(
        table("src"), watermark=TS | {"sql": "current_timestamp() - interval 10 minutes"}
    ),
    "remembered": written(
        f"{{# {FILTER} #}} select * from {table('src')} where {{{{ floodmark.watermark_filter() }}}}",
        watermark=TS | {"step": "1 day"},
    ),
}  # fmt: skip
#: The filter where it bounds nothing.
COMMENTED = {
    "dashes": "select id, ts from {src} -- where {filter}",
    "stars": "select id, ts from {src} /* where {filter} */",
    "text": "select id, ts, $${filter}$$ as said from {src}".replace("$$", '"'),
}
#: A filter in a comment beside one that stands.
BOTH = "select id, ts from {src} -- where {filter}\nwhere {filter} -- it's all"


@dataclass
class Story:
    project: Project
    first: Run
    second: Run
    backfill: Run


def _model(sql: str, **more: str) -> str:
    settings = {"materialized": "incremental", "watermark": TS} | more
    head = (
        "{{ config(" + ", ".join(f"{key}={value!r}" for key, value in settings.items()) + ") }}\n"
    )
    return head + sql.replace("{src}", table("src")).replace(
        "{filter}", "{{ floodmark.watermark_filter() }}"
    )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Two rows and two that come later; one model learns to change its column in between."""
    project = make_project("changed_column")
    s = project.schema
    project.sql(f"create table {s}.src (id int, ts timestamp) using delta")
    project.sql(
        f"insert into {s}.src values (1, {AT} + interval 10 minutes), (2, {AT} + interval 40 minutes)"
    )
    project.sql(f"create table {s}.more (id int, ts timestamp) using delta")
    project.sql(
        f"insert into {s}.more select id, {AT} + interval 9 days from values (1), (2), (3), (4) as t(id)"
    )
    project.source("src", "more")
    for name, sql in (REFUSED | TAKEN).items():
        project.model(name, sql)
    for name, sql in COMMENTED.items():
        project.model(name, _model(sql))
    project.model("both", _model(BOTH))
    project.model(
        "by_row", incremental(table("src"), watermark=TS | {"sql": "ts - interval 1 day"})
    )
    learns = "id, {ts} as ts, cast({ts} as date) as p"
    project.model("learns", incremental(table("src"), learns.replace("{ts}", "ts"), **OVERWRITE))
    first = project.dbt("run")
    project.model("learns", incremental(table("src"), learns.replace("{ts}", TOKYO), **OVERWRITE))
    project.sql(
        f"insert into {s}.src values (3, {AT} + interval 65 minutes), (4, {AT} + interval 20 hours)"
    )
    second = project.dbt("run", "--select", *TAKEN, "both", "learns")
    day = "{floodmark_backfill: {from: '2024-05-01', to: '2024-05-01 08:30:00'}}"
    return Story(
        project,
        first,
        second,
        project.dbt("run", "--select", "hours", "merged", "both", "--vars", day),
    )


@pytest.mark.parametrize("name", REFUSED)
def test_a_mark_is_not_read_from_values_that_the_select_made(story: Story, name: str) -> None:
    s = story.project.schema
    said = sentence(story.first.message[name])
    assert (
        f'watermark.column: got "ts, which the SELECT changes"; expected the values that {s}.src has. Give the '
        "changed column another name: by this one floodmark finds the mark, or the rows that a batch replaces"
        in said
    )
    assert not story.project.sql(f"show tables in {s} like '{name}'")


@pytest.mark.parametrize("name", TAKEN)
def test_what_changes_no_mark_loads(story: Story, name: str) -> None:
    assert story.first.status[name] == story.second.status[name] == "success"
    assert [row["id"] for row in rows_of(story.project, name, "id")] == [1, 2, 3, 4]


def test_a_model_that_learns_to_change_its_column_replaces_no_partition(story: Story) -> None:
    assert story.first.status["learns"] == "success"
    assert '"ts, which the SELECT changes"' in sentence(story.second.message["learns"])
    assert [row["id"] for row in rows_of(story.project, "learns", "id")] == [1, 2]


def test_a_backfill_deletes_by_no_column_that_the_select_changes(story: Story) -> None:
    assert '"ts, which the SELECT changes"' in sentence(story.backfill.message["hours"])
    for name in ("merged", "both"):
        assert story.backfill.status[name] == "success", story.backfill.message[name]
    for name in ("hours", "merged", "both"):
        assert [row["id"] for row in rows_of(story.project, name, "id")] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", COMMENTED)
def test_a_filter_in_a_comment_or_a_text_bounds_nothing(story: Story, name: str) -> None:
    said = sentence(story.first.message[name])
    assert "expected floodmark.watermark_filter() in the SELECT" in said
    assert not story.project.sql(f"show tables in {story.project.schema} like '{name}'")


def test_a_filter_beside_one_in_a_comment_bounds(story: Story) -> None:
    assert story.first.status["both"] == story.second.status["both"] == "success"
    assert story.project.ledger("both", "rows_read")[:2] == [(2,), (2,)]


def test_a_mark_by_sql_is_one_value(story: Story) -> None:
    said = sentence(story.first.message["by_row"])
    assert (
        f'watermark.sql: got "ts - interval 1 day"; expected one value for the whole of {story.project.schema}.src, and '
        "this gives one a row. Write an aggregate, such as max(ts)"
    ) in said


def test_reconcile_names_no_range_of_values_that_the_select_made(story: Story) -> None:
    project = story.project
    project.sql(f"insert into {project.schema}.src values (5, {AT} - interval 1 hour)")
    for name, repair in (
        ("merged", "floodmark run --select package:shop,file:merged.sql --full-refresh"),
        ("same", "backfill same --from"),
    ):
        keys = () if name == "merged" else ("--key", "id")
        code, output = command(project, "reconcile", name, *keys, "--json")
        found = json.loads(output)
        assert (code != 0, found["missing"]) == (True, 1)
        assert repair in found["backfill"]
        assert (found["lookback"] is None) is (name == "merged")


def test_a_backfill_of_dates_takes_the_dates_between_its_bounds(story: Story) -> None:
    project = story.project
    project.sql(
        f"create table {project.schema}.dates using delta as select id, date_add(date'2024-05-01', cast(id as int)) as d from range(4)"
    )
    project.source("src", "more", "dates")
    merge = {"incremental_strategy": "merge", "unique_key": "id"}
    project.model("dated", incremental(table("dates"), watermark={"column": "d"}, **merge))
    # Of a date the hour of a partition is always the first of the day.
    by_hour = "id, d, date_format(d, 'yyyy-MM-dd HH') as p"
    project.model(
        "by_hour",
        incremental(table("dates"), by_hour, **OVERWRITE | {"watermark": {"column": "d"}}),
    )
    project.build("--select", "dated", "by_hour")
    code, output = command(
        project, "backfill", "dated", "--from", "2024-05-01 12:00", "--to", "2024-05-03 12:00"
    )
    assert code == 0, output
    assert project.ledger("dated", "kind, rows_read")[-1] == ("backfill", 2)
    code, output = command(
        project, "backfill", "dated", "--from", "2024-05-02 06:00", "--to", "2024-05-02 18:00"
    )
    assert code != 0 and "is empty: `from` is inclusive, `to` is exclusive" in sentence(output)

    project.sql(
        f"insert into {project.schema}.dates values (4, date'2024-05-05'), (5, date'2024-05-06')"
    )
    project.build("--select", "by_hour")
    assert [row["id"] for row in rows_of(project, "by_hour", "id")] == [0, 1, 2, 3, 4, 5]
    project.sql(f"delete from {project.schema}.by_hour where id = 2")
    code, output = command(
        project, "backfill", "by_hour", "--from", "2024-05-03", "--to", "2024-05-04"
    )
    assert code == 0, output
    assert [row["id"] for row in rows_of(project, "by_hour", "id")] == [0, 1, 2, 3, 4, 5]


def test_a_backfill_finds_no_rows_from_before_the_column_came(story: Story) -> None:
    """They would stay beside their copies. A range above them is loaded again."""
    project = story.project
    s = project.schema
    project.sql(
        f"create table {s}.grows using delta as select id, date_add(date'2024-05-01', cast(id as int)) as d from range(3)"
    )
    project.source("src", "more", "dates", "grows")
    of_days = {"watermark": {"column": "d"}, "on_schema_change": "append_new_columns"}
    project.model("grown", incremental(table("grows"), "id", **of_days))
    project.build("--select", "grown")
    project.model("grown", incremental(table("grows"), "id, d", **of_days))
    project.sql(f"insert into {s}.grows values (3, date'2024-05-05'), (4, date'2024-05-06')")
    project.build("--select", "grown")
    for low, high, is_refused in (
        ("2024-05-01", "2024-05-04", True),
        ("2024-05-05", "2024-05-06", False),
    ):
        code, output = command(project, "backfill", "grown", "--from", low, "--to", high)
        assert bool(code) is is_refused, output
        assert (
            "with a value in each row that may be of the range" in sentence(output)
        ) is is_refused
        assert [row["id"] for row in rows_of(project, "grown", "id")] == [0, 1, 2, 3, 4]
