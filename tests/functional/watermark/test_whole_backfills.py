"""A backfill of insert_overwrite reads whole partitions, so that a SELECT may aggregate them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.harness import Project, incremental, table

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

#: Three days with four events each, the first of a day at 05:13.
HOURS = (5, 9, 14, 23)
BY = {
    "incremental_strategy": "insert_overwrite",
    "partition_by": "part",
    "watermark": {"column": "at"},
}
PARTS = {
    "days": "cast(at as date)",
    "months": "date_format(at, 'yyyy-MM')",
    "hours": "date_trunc('hour', at)",
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("whole_backfills")
    project.source("events", "orders")
    project.sql(
        f"create table {project.schema}.events (id int, at timestamp, amount int) using delta"
    )
    project.sql(
        f"insert into {project.schema}.events select day * 10 + hour as id, "
        "timestampadd(minute, 13, timestampadd(hour, hour, timestampadd(day, day, timestamp'2024-01-30'))), 1 "
        "from (select explode(sequence(0, 2)) as day) cross join "
        f"(select explode(array{HOURS}) as hour)"
    )
    for name, part in PARTS.items():
        counted = f"{part} as part, count(*) as n, sum(amount) as amount, max(at) as at"
        sql = incremental(table("events"), counted, **BY)
        project.model(name, f"{sql} group by 1")
    project.model(
        "rows_of_days",
        incremental(table("events"), "id, amount, at, cast(at as date) as part", **BY),
    )
    project.build()
    project.sql(f"update {project.schema}.events set amount = 2 where id % 10 = 4")
    return project


def totals(project: Project, model: str) -> list[tuple[str, int, int]]:
    return sorted(
        project.sql(f"select cast(part as string), n, amount from {project.schema}.{model}")
    )


def expected(project: Project, part: str) -> list[tuple[str, int, int]]:
    return sorted(
        project.sql(
            f"select cast({part} as string), count(*), sum(amount) from {project.schema}.events group by 1"
        )
    )


@pytest.mark.parametrize("step", [None, "1 day", "7 hours"])
@pytest.mark.parametrize("model", PARTS)
def test_each_partition_has_one_row_with_all_of_its_events(
    project: Project, model: str, step: str | None
) -> None:
    """Neither the range nor its steps begin where a partition does."""
    steps = ["--step", step] if step else []
    code, output = command(
        project, "backfill", model, "--from", "2024-01-30 09:30", "--to", "2024-02-01 14:05", *steps
    )
    assert code == 0, output
    assert totals(project, model) == expected(project, PARTS[model])


def test_rows_of_a_partition_that_is_gone_upstream_go(project: Project) -> None:
    """The range itself is deleted, too, where the source has nothing any more."""
    gone = f"{project.schema}.rows_of_days"
    project.sql(f"delete from {project.schema}.events where at < '2024-01-31'")
    code, output = command(
        project,
        "backfill",
        "rows_of_days",
        "--from",
        "2024-01-30 06:00",
        "--to",
        "2024-01-31 10:00",
    )
    assert code == 0, output
    [(low, high)] = project.ledger("rows_of_days", "low, high")[1:]
    assert (low, high) == ("2024-01-29 23:59:59.999999", "2024-01-31 23:59:59.999999")
    assert sorted(project.sql(f"select id from {gone}")) == sorted(
        (day * 10 + hour,) for day in (1, 2) for hour in HOURS
    )


#: A partition whose two events lie on both sides of a change of clocks: zone, events in UTC, partition, range in UTC.
CLOCKS = {
    "midnight_twice": (
        "America/Havana",
        ("2024-11-03 04:30:00", "2024-11-03 17:00:00"),
        "cast(at as date)",
        ("2024-11-03 12:00", "2024-11-04 00:00"),
    ),
    "no_midnight": (
        "America/Havana",
        ("2024-03-10 05:10:00", "2024-03-11 03:50:00"),
        "cast(at as date)",
        ("2024-03-10 05:00", "2024-03-10 23:00"),
    ),
    "hour_twice": (
        "America/New_York",
        ("2024-11-03 05:30:00", "2024-11-03 06:30:00"),
        "date_format(at, 'yyyy-MM-dd HH')",
        ("2024-11-03 06:10", "2024-11-03 06:40"),
    ),
}


@pytest.mark.parametrize("case", CLOCKS)
def test_partitions_are_whole_where_clocks_change(project: Project, case: str) -> None:
    zone, events, part, (low, high) = CLOCKS[case]
    s = project.schema
    stamps = ", ".join(
        f"(timestamp'{at}Z' + interval {more} days)" for at in events for more in (-2, 0, 2)
    )
    project.source("events", *CLOCKS)
    project.sql(f"create table {s}.{case} using delta as select at from values {stamps} as t(at)")
    config = BY | {"pre_hook": f"set time zone '{zone}'", "post_hook": "set time zone 'UTC'"}
    sql = incremental(table(case), f"{part} as part, count(*) as n, max(at) as at", **config)
    project.model(f"by_{case}", f"{sql} group by 1")
    project.build("--select", f"by_{case}")
    before = sorted(project.sql(f"select cast(part as string), n from {s}.by_{case}"))
    code, output = command(project, "backfill", f"by_{case}", "--from", low, "--to", high)
    assert code == 0, output
    assert sorted(project.sql(f"select cast(part as string), n from {s}.by_{case}")) == before
    assert (len(project.ledger(f"by_{case}", "batch_id"))) == 2


@pytest.fixture(scope="module")
def partly_due(make_project: Callable[..., Project]) -> Project:
    """Months of which `start` or `sql` leaves a part out."""
    project = make_project("partly_due")
    s = project.schema
    project.source("due", "lagging")
    for name, times in {
        "due": ("2024-01-10 08:00:00", "2024-01-20 08:00:00"),
        "lagging": ("2024-01-03 06:00:00", "2024-01-03 18:00:00", "2024-02-01 00:00:00"),
    }.items():
        stamps = ", ".join(f"(timestamp'{at}Z')" for at in times)
        project.sql(f"create table {s}.{name} using delta as select at from values {stamps} t(at)")
    counted = "as part, count(*) as n, max(at) as at"
    for name in ("brought", "never_brought"):
        watermark = {"column": "at", "start": "2024-01-15"}
        select = f"date_format(at, 'yyyy-MM') {counted}"
        sql = incremental(table("due"), select, **BY | {"watermark": watermark})
        project.model(name, f"{sql} group by 1")
    watermark = {"column": "at", "sql": "max(at) - interval 10 minutes"}
    sql = incremental(
        table("lagging"), f"cast(at as date) {counted}", **BY | {"watermark": watermark}
    )
    project.model("held_by_sql", f"{sql} group by 1")
    project.build()
    return project


def parts(project: Project, model: str) -> list[tuple[str, int]]:
    return sorted(project.sql(f"select cast(part as string), n from {project.schema}.{model}"))


def test_what_a_backfill_brought_below_start_stays(partly_due: Project) -> None:
    """The one row of the month carries the time of its latest event, which lies above `start`."""

    def backfill(model: str, low: str, high: str) -> None:
        code, output = command(partly_due, "backfill", model, "--from", low, "--to", high)
        assert code == 0, output

    models = ("brought", "never_brought")
    assert [parts(partly_due, name) for name in models] == [[("2024-01", 1)]] * 2
    backfill("brought", "2024-01-01", "2024-01-15")
    assert parts(partly_due, "brought") == [("2024-01", 2)]
    partly_due.sql(f"insert into {partly_due.schema}.due values (timestamp'2024-01-30 08:00:00Z')")
    partly_due.build("--select", *models)
    assert [parts(partly_due, name) for name in models] == [[("2024-01", 3)], [("2024-01", 2)]]
    for name in models:
        backfill(name, "2024-01-20", "2024-01-25")
    assert [parts(partly_due, name) for name in models] == [[("2024-01", 3)], [("2024-01", 2)]]


def test_a_range_under_a_mark_by_sql_is_whole_up_to_the_mark(partly_due: Project) -> None:
    assert parts(partly_due, "held_by_sql") == [("2024-01-03", 2)]
    code, output = command(
        partly_due, "backfill", "held_by_sql", "--from", "2024-01-01", "--to", "2024-01-03 12:00"
    )
    assert code == 0, output
    assert parts(partly_due, "held_by_sql") == [("2024-01-03", 2)]


def test_a_contract_is_of_the_select_where_a_batch_finds_no_row(project: Project) -> None:
    """The table keeps the type that select and contract had at first, and so does what is read of its partitions."""
    orders = f"{project.schema}.orders"
    project.sql(f"create table {orders} (id int, status string, at timestamp) using delta")
    project.source("events", "orders", *CLOCKS)
    rule = {"name": "positive", "expect": "qty > 0", "on_violation": "quarantine"}
    models: dict[str, dict[str, object]] = {"paid": {}, "judged": {"expectations": [rule]}}
    arrivals = [
        ("int", "1, 'paid', timestamp'2024-03-01 05:00:00'"),
        ("bigint", "2, 'open', timestamp'2024-03-02 05:00:00'"),
        ("bigint", "3, 'paid', timestamp'2024-03-02 07:00:00'"),
    ]
    for type, row in arrivals:
        project.sql(f"insert into {orders} values ({row})")
        types = {"id": "int", "qty": type, "at": "timestamp", "part": "date"}
        yml = "columns:\n" + "".join(
            f"  - {{name: {column}, data_type: {types[column]}}}\n" for column in types
        )
        for name, settings in models.items():
            sql = incremental(
                table("orders"),
                f"id, cast(id as {type}) as qty, at, cast(at as date) as part",
                where=" and status = 'paid'",
                contract={"enforced": True},
                on_schema_change="append_new_columns",
                **BY,
                **settings,
            )
            project.model(name, sql, yml)
        project.build("--select", *models)
    for name in models:
        found = sorted(project.sql(f"select id, typeof(qty) from {project.schema}.{name}"))
        assert found == [(1, "int"), (3, "int")], name
