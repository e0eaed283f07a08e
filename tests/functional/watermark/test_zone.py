"""insert_overwrite under another time zone: kept with the table, refused before anything is written, adopted by tables that have none."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.commands import command
from tests.support.harness import FULL, SPARK_PARAMETERS, Project, incremental, sentence, table

pytestmark = pytest.mark.edge

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
    "of_ntz_by_hour": overwriting("date_format(tn, 'yyyy-MM-dd HH')", "tn"),
}
#: Types and hours alone tell what depends on the zone (tests/unit/merge/test_zone.py): a run takes one of each answer.
ALIKE = ("by_moment", "by_month", "of_day")
if not FULL:
    MODELS = {name: sql for name, sql in MODELS.items() if name not in ALIKE}
DEPENDENT = [
    name
    for name in ("by_day", "by_moment", "by_month", "older", "of_ntz_by_moment", "of_ntz_by_hour")
    if name in MODELS
]
INDEPENDENT = [name for name in ("of_ntz", "of_day") if name in MODELS]
#: The profile's zone reaches Spark's session on each target its own way; what comes of it is the same.
ONE_TARGET = pytest.mark.long("session")


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
        f"the partitions of {table_name} follow the time zone {kept}, but the time zone of this session is {session}: rows would move to other "
        "partitions, and rows that are there would be lost. Nothing was written. Set spark.sql.session.timeZone to "
        f"{kept} in the profile's server_side_parameters, or run once with --full-refresh to rebuild all partitions in this session's zone"
    )


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("zones")
    project.sql(
        f"create table {project.schema}.events (id bigint, v string, ts timestamp, tn timestamp_ntz, d date) using delta"
    )
    project.source("events")
    # 16:00Z and 23:00Z of a day are the next day in Tokyo, the last of a month the next month.
    add(project, (1, "2024-01-31 16:00:00"), (2, "2024-01-31 23:00:00"))
    under(project, "Asia/Tokyo")
    project.model("by_day", MODELS["by_day"])
    project.build()
    add(project, (3, "2024-02-01 10:00:00"))
    return project


@pytest.fixture(scope="module")
def more(project: Project) -> Project:
    """The other models, loaded under the same zone, and one more row that is due."""
    for name, sql in MODELS.items():
        project.model(name, sql)
    under(project, "Asia/Tokyo")
    project.build("--exclude", "by_day")
    add(project, (4, "2024-02-01 11:00:00"))
    return project


def test_the_profiles_zone_is_kept_and_another_is_refused(project: Project) -> None:
    """On both targets."""
    assert zone_of(project, "by_day") == "Asia/Tokyo"
    assert project.version("by_day") == 0
    before = project.rows("by_day", "id, part")
    under(project, None)
    run = project.dbt("run", "--select", "by_day")
    assert refusal(project, "by_day", "Asia/Tokyo", "UTC") in sentence(run.message["by_day"])
    assert (project.version("by_day"), project.rows("by_day", "id, part")) == (0, before)


@ONE_TARGET
def test_times_that_are_shown_are_of_utc(project: Project) -> None:
    under(project, "Asia/Tokyo")
    code, output = command(project, "history", "by_day", "--json")
    assert code == 0, output
    for batch in json.loads(output)["batches"]:
        at = dt.datetime.fromisoformat(batch["finished_at"][:19]).replace(tzinfo=dt.timezone.utc)
        assert abs(dt.datetime.now(dt.timezone.utc) - at) < dt.timedelta(hours=1)


@ONE_TARGET
def test_the_first_load_keeps_its_zone(more: Project) -> None:
    for name in DEPENDENT:
        assert zone_of(more, name) == "Asia/Tokyo", name
    assert zone_of(more, "hooked") == "Asia/Tokyo"
    for name in INDEPENDENT:
        assert zone_of(more, name) is None, name


@ONE_TARGET
def test_another_zone_is_refused_before_anything_is_written(more: Project) -> None:
    """A table without a zone takes none that its rows do not follow."""
    s = more.schema
    more.sql(f"alter table {s}.older unset tblproperties ('floodmark.zone')")
    under(more, None)
    before = states(more)
    batches = more.sql(f"select count(*) from {s}_floodmark.batch_log where model like '%by_%'")
    run = more.dbt("run")
    for name in DEPENDENT:
        if name != "older":
            assert refusal(more, name, "Asia/Tokyo", "UTC") in sentence(run.message[name])
            assert states(more)[name] == before[name]
    after = more.sql(f"select count(*) from {s}_floodmark.batch_log where model like '%by_%'")
    assert after == batches
    for name in (*INDEPENDENT, "hooked"):
        assert run.status[name] == "success", run.message[name]
        assert sum(more.rows(name).values()) == 4
    assert (
        f"{s}.older does not say in which time zone it was loaded, and some of its rows do not lie in the partitions "
        "that follow from ts in this session's, UTC. Nothing was written. Set spark.sql.session.timeZone to the zone in which the table "
        "was loaded in the profile's server_side_parameters, or run once with --full-refresh"
    ) in sentence(run.message["older"])
    assert zone_of(more, "older") is None
    assert sum(more.rows("older").values()) == 3


@ONE_TARGET
def test_backfills_and_pre_hooks_under_another_zone_are_refused(more: Project) -> None:
    """The run before has tried `older` under UTC."""
    before = states(more)
    wanted = "{floodmark_backfill: {from: '2024-01-31', to: '2024-02-01'}, hook: UTC}"
    run = more.dbt("run", "--select", "by_day", "older", "hooked", "--vars", wanted)
    for name, session in (("by_day", "UTC"), ("hooked", "UTC")):
        assert refusal(more, name, "Asia/Tokyo", session) in sentence(run.message[name])
    assert "older does not say in which time zone it was loaded" in sentence(run.message["older"])
    for name in ("by_day", "older", "hooked"):
        assert states(more)[name] == before[name]


@ONE_TARGET
def test_under_its_own_zone_all_is_loaded_and_a_quiet_run_commits_nothing(more: Project) -> None:
    under(more, "Asia/Tokyo")
    more.build()
    for name in DEPENDENT:
        assert zone_of(more, name) == "Asia/Tokyo", name
        assert sum(more.rows(name).values()) == 4, name
    days = more.sql(f"select id, cast(part as string) from {more.schema}.by_day order by id")
    assert days == [(number, "2024-02-01") for number in (1, 2, 3, 4)]
    before = states(more)
    more.build()
    assert states(more) == before


@ONE_TARGET
def test_a_full_refresh_takes_the_new_zone_and_names_of_utc_are_one(more: Project) -> None:
    """Every name of UTC is in tests/unit/merge/test_zone.py."""
    names = [*MODELS] if FULL else ["by_day", "hooked"]
    zones = ["+00:00", "GMT", "UTC"] if FULL else ["+00:00"]
    under(more, "Etc/UTC")
    more.build("--full-refresh", "--select", *names, "--vars", "{hook: Z}")
    assert zone_of(more, "by_day") == "Etc/UTC"
    assert zone_of(more, "hooked") == "Z"
    for number, zone in enumerate(zones, start=5):
        add(more, (number, f"2024-02-0{number} 16:00:00"))
        under(more, zone)
        more.build("--select", *names, "--vars", "{hook: UTC}")
    for name in names:
        assert sum(more.rows(name).values()) == 4 + len(zones), name
    days = more.sql(f"select id, cast(part as string) from {more.schema}.by_day order by id")
    assert [day for _, day in days[:3]] == ["2024-01-31", "2024-01-31", "2024-02-01"]
    add(more, (9, "2024-02-09 16:00:00"))
    under(more, "Asia/Tokyo")
    run = more.dbt("run", "--select", "by_day")
    assert refusal(more, "by_day", "Etc/UTC", "Asia/Tokyo") in sentence(run.message["by_day"])


@ONE_TARGET
def test_an_hour_that_the_clock_leaves_out_stays_with_its_zone(
    make_project: Callable[..., Project],
) -> None:
    """In New York 02:30 is shown as 03:30 on that day; under UTC a batch of hour 03 would replace it."""
    project = make_project("left_out")
    columns = "id bigint, v string, ts timestamp, tn timestamp_ntz, d date"
    project.sql(f"create table {project.schema}.events ({columns}) using delta")
    project.source("events")
    project.model("by_hour", MODELS["of_ntz_by_hour"])
    under(project, "America/New_York")
    add(project, (1, "2024-03-10 02:30:00"))
    project.build()
    assert zone_of(project, "by_hour") == "America/New_York"
    held = project.rows("by_hour", "id, part")
    assert list(held) == [('{"id":1,"part":"2024-03-10 03"}',)]
    add(project, (2, "2024-03-10 03:10:00"))
    under(project, None)
    run = project.dbt("run")
    said = refusal(project, "by_hour", "America/New_York", "UTC")
    assert said in sentence(run.message["by_hour"])
    # A table of earlier code has not noted its zone.
    project.sql(f"alter table {project.schema}.by_hour unset tblproperties ('floodmark.zone')")
    run = project.dbt("run")
    assert "by_hour does not say in which time zone it was loaded" in sentence(
        run.message["by_hour"]
    )
    assert project.rows("by_hour", "id, part") == held
    under(project, "America/New_York")
    project.build()
    assert zone_of(project, "by_hour") == "America/New_York"
    assert sum(project.rows("by_hour").values()) == 2


@ONE_TARGET
def test_it_goes_on_where_spark_formats_times_as_java_7_did(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("legacy_times")
    columns = "id bigint, v string, ts timestamp, tn timestamp_ntz, d date"
    project.sql(f"create table {project.schema}.events ({columns}) using delta")
    project.source("events")
    project.model("by_day", MODELS["by_day"])
    given = SPARK_PARAMETERS | {
        ZONE: "Europe/Berlin",
        "spark.sql.legacy.timeParserPolicy": "LEGACY",
    }
    project.write_profile(server_side_parameters=given)
    # The clocks are set forward on the 31st.
    for number, day in enumerate((30, 31, 31), start=1):
        add(project, (number, f"2024-03-{day} 0{number}:30:00"))
        project.build()
    parts = project.sql(f"select id, cast(part as string) from {project.schema}.by_day order by id")
    assert parts == [(1, "2024-03-30"), (2, "2024-03-31"), (3, "2024-03-31")]
