"""insert_overwrite under another time zone: kept with the table, refused before anything is written, adopted by tables that have none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.harness import SPARK_PARAMETERS, Project, incremental, sentence, table

ZONE = "spark.sql.session.timeZone"
DAY = "cast(ts as date)"


def overwriting(part: str = DAY, column: str = "ts", **config: Any) -> str:
    return incremental(
        table("events"),
        f"id, v, {column}, {part} as part",
        incremental_strategy="insert_overwrite",
        partition_by="part",
        watermark={"column": column, "lookback": "1 day"},
        **config,
    )


MODELS = {
    "by_day": overwriting(),
    "by_moment": overwriting("date_trunc('day', ts)"),
    "by_month": overwriting("date_format(ts, 'yyyy-MM')"),
    "hooked": overwriting(pre_hook='set time zone \'{{ var("hook", "Asia/Tokyo") }}\''),
    "older": overwriting(),
    "of_ntz": overwriting("cast(tn as date)", "tn"),
    "of_day": overwriting("date_format(d, 'yyyy-MM')", "d"),
    "of_ntz_by_moment": overwriting("date_trunc('day', tn)", "tn"),
}
DEPENDENT = ("by_day", "by_moment", "by_month", "older", "of_ntz_by_moment")


def under(project: Project, zone: str | None) -> None:
    """The profile with this time zone of sessions."""
    given = dict(SPARK_PARAMETERS) if project.target == "session" else {}
    project.write_profile(server_side_parameters=given | ({ZONE: zone} if zone else {}))


def add(project: Project, *rows: tuple[int, str]) -> None:
    texts = ", ".join(
        f"({i}, 'v', timestamp'{at}Z', timestamp_ntz'{at}', date'{at[:10]}')" for i, at in rows
    )
    project.sql(f"insert into {project.schema}.events values {texts}")


def states(project: Project) -> dict[str, tuple[int, Any]]:
    return {name: (project.version(name), project.rows(name, "id, part")) for name in MODELS}


def zone_of(project: Project, model: str) -> str | None:
    properties = dict(project.sql(f"show tblproperties {project.schema}.{model}"))
    return properties.get("floodmark.zone")


def refusal(project: Project, name: str, kept: str, session: str) -> str:
    table_name = f"{project.schema}.{name}"
    return (
        f"the partitions of {table_name} follow the clocks of {kept}, and the time zone of this session is {session}: rows would move to other "
        "partitions, and rows that are there would go. Nothing was written. Set spark.sql.session.timeZone to "
        f"{kept} in the profile's server_side_parameters, or run once with --full-refresh to make all partitions anew under this session's zone"
    )


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("zones")
    project.sql(
        f"create table {project.schema}.events (id bigint, v string, ts timestamp, tn timestamp_ntz, d date) using delta"
    )
    project.source("events")
    for name, sql in MODELS.items():
        project.model(name, sql)
    # 16:00Z and 23:00Z of a day are the next day in Tokyo, the last of a month the next month.
    add(project, (1, "2024-01-31 16:00:00"), (2, "2024-01-31 23:00:00"))
    under(project, "Asia/Tokyo")
    project.build()
    return project


def test_the_first_load_keeps_its_zone(project: Project) -> None:
    for name in (*DEPENDENT, "hooked"):
        assert zone_of(project, name) == "Asia/Tokyo", name
    for name in ("of_ntz", "of_day"):
        assert zone_of(project, name) is None, name
    assert project.version("by_day") == 0


def test_another_zone_is_refused_before_anything_is_written(project: Project) -> None:
    s = project.schema
    project.sql(f"alter table {s}.older unset tblproperties ('floodmark.zone')")
    add(project, (3, "2024-02-01 10:00:00"))
    under(project, None)
    before = states(project)
    batches = project.sql(f"select count(*) from {s}_floodmark.batch_log where model like '%by_%'")
    run = project.dbt("run")
    for name in ("by_day", "by_moment", "by_month", "of_ntz_by_moment"):
        assert refusal(project, name, "Asia/Tokyo", "UTC") in sentence(run.message[name])
        assert states(project)[name] == before[name]
    after = project.sql(f"select count(*) from {s}_floodmark.batch_log where model like '%by_%'")
    assert after == batches
    for name in ("of_ntz", "of_day", "hooked"):
        assert run.status[name] == "success", run.message[name]
        assert sum(project.rows(name).values()) == 3


def test_a_table_without_a_zone_takes_none_that_its_rows_do_not_follow(project: Project) -> None:
    """The run before has tried `older` under UTC."""
    run = project.dbt("run", "--select", "older")
    assert (
        f"{project.schema}.older does not say which time zone it was loaded under, and rows of it do not lie in the partitions "
        "that follow from ts under this session's, UTC. Nothing was written. Set spark.sql.session.timeZone to the zone that the table "
        "was loaded under in the profile's server_side_parameters, or run once with --full-refresh"
    ) in sentence(run.message["older"])
    assert zone_of(project, "older") is None
    assert sum(project.rows("older").values()) == 2


def test_backfills_and_pre_hooks_under_another_zone_are_refused(project: Project) -> None:
    before = states(project)
    wanted = "{floodmark_backfill: {from: '2024-01-31', to: '2024-02-01'}, hook: UTC}"
    run = project.dbt("run", "--select", "by_day", "older", "hooked", "--vars", wanted)
    for name, session in (("by_day", "UTC"), ("hooked", "UTC")):
        assert refusal(project, name, "Asia/Tokyo", session) in sentence(run.message[name])
    assert "older does not say which time zone it was loaded under" in sentence(
        run.message["older"]
    )
    for name in ("by_day", "older", "hooked"):
        assert states(project)[name] == before[name]


def test_under_its_own_zone_all_is_loaded_and_a_quiet_run_commits_nothing(project: Project) -> None:
    under(project, "Asia/Tokyo")
    project.build()
    for name in DEPENDENT:
        assert zone_of(project, name) == "Asia/Tokyo", name
        assert sum(project.rows(name).values()) == 3, name
    days = project.sql(f"select id, cast(part as string) from {project.schema}.by_day order by id")
    assert days == [(1, "2024-02-01"), (2, "2024-02-01"), (3, "2024-02-01")]
    before = states(project)
    project.build()
    assert states(project) == before


def test_a_full_refresh_takes_the_new_zone_and_names_of_utc_are_one(project: Project) -> None:
    under(project, "Etc/UTC")
    project.build("--full-refresh", "--vars", "{hook: Z}")
    assert zone_of(project, "by_day") == "Etc/UTC"
    assert zone_of(project, "hooked") == "Z"
    for number, zone in enumerate(("+00:00", "GMT", "UTC"), start=4):
        add(project, (number, f"2024-02-0{number} 16:00:00"))
        under(project, zone)
        project.build("--vars", "{hook: UTC}")
    for name in MODELS:
        assert sum(project.rows(name).values()) == 6, name
    days = project.sql(f"select id, cast(part as string) from {project.schema}.by_day order by id")
    assert [day for _, day in days[:3]] == ["2024-01-31", "2024-01-31", "2024-02-01"]
    add(project, (7, "2024-02-07 16:00:00"))
    under(project, "Asia/Tokyo")
    run = project.dbt("run", "--select", "by_day")
    assert refusal(project, "by_day", "Etc/UTC", "Asia/Tokyo") in sentence(run.message["by_day"])
