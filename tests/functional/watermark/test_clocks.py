"""insert_overwrite where clocks change: what lies in a partition is read again, whichever side of the change it came from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import FULL, Project, Run, incremental, table

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

#: A change of clocks each: zone, moment, minutes between two rows. Some come twice (overlaps), some leave time out (gaps).
CHANGES = {
    "new_york_fall": ("America/New_York", "2024-11-03 06:00:00", 15),
    "new_york_spring": ("America/New_York", "2024-03-10 07:00:00", 15),
    "lord_howe_fall": ("Australia/Lord_Howe", "2024-04-06 15:00:00", 10),
    "lord_howe_spring": ("Australia/Lord_Howe", "2024-10-05 15:30:00", 10),
    "berlin_fall": ("Europe/Berlin", "2024-10-27 01:00:00", 15),
    "havana_fall": ("America/Havana", "2024-11-03 05:00:00", 15),
    "havana_spring": ("America/Havana", "2024-03-10 05:00:00", 15),
    "kolkata_midnight": ("Asia/Kolkata", "2024-11-02 18:30:00", 15),
    "tokyo_midnight": ("Asia/Tokyo", "2024-11-02 15:00:00", 15),
    "utc_midnight": ("UTC", "2024-11-03 00:00:00", 15),
    # Two hours, a day that comes twice, a day that is left out, an overlap across midnight.
    "troll_fall": ("Antarctica/Troll", "2024-10-27 01:00:00", 20),
    "juneau_1867": ("America/Juneau", "1867-10-19 00:31:13", 180),
    "apia_2011": ("Pacific/Apia", "2011-12-30 10:00:00", 180),
    "st_johns_1990": ("America/St_Johns", "1990-10-28 02:31:00", 10),
}
#: Partitions by what they follow from, @ standing for the watermark column.
HOURS = {
    "hour_text": "date_format(@, 'yyyy-MM-dd HH')",
    "hour_moment": "date_trunc('hour', @)",
    "day": "cast(@ as date)",
}
#: Days as moments, where a change lies at midnight.
DAY_MOMENT = "date_trunc('day', @)"
MORE = {
    "hour_number": "cast(date_format(@, 'yyyyMMddHH') as bigint)",
    "hour_ntz": "cast(date_trunc('hour', @) as timestamp_ntz)",
    "week": "cast(date_trunc('week', @) as date)",
    "month_number": "cast(date_format(@, 'yyyyMM') as int)",
    "quarter_moment": "date_trunc('quarter', @)",
    "year_text": "date_format(@, 'yyyy')",
}


def model(change: str, part: str, column: str = "t", **watermark: str) -> str:
    zone = CHANGES[change.removesuffix("_late")][0]
    return incremental(
        table(change),
        f"id, t, tn, {part.replace('@', column)} as part",
        incremental_strategy="insert_overwrite",
        partition_by="part",
        watermark={"column": column} | watermark,
        pre_hook=f"set time zone '{zone}'",
    )


MODELS = {
    f"{change}__{name}": model(change, part) for change in CHANGES for name, part in HOURS.items()
}
MODELS |= {f"new_york_fall__{name}": model("new_york_fall", part) for name, part in MORE.items()}
MODELS |= {
    f"{change}__day_moment": model(change, DAY_MOMENT)
    for change in ("new_york_fall", "havana_fall", "havana_spring", "st_johns_1990", "juneau_1867")
}
MODELS |= {
    f"{change}__{name}_of_ntz": model(change, part, "tn")
    for change in ("new_york_spring", "havana_spring")
    for name, part in (("hour_text", HOURS["hour_text"]), ("day_moment", DAY_MOMENT))
}
MODELS |= {
    f"new_york_fall_late__{name}": model("new_york_fall_late", part, lookback="3 hours")
    for name, part in HOURS.items()
}


#: What a run takes without FLOODMARK_LAB=full: each type of a partition (but numbers:
#: test_more_watermarks.py), and each shape of a change: an hour that comes twice, half an
#: hour, midnight that comes twice or never, a day that comes twice, an overlap across midnight, rows that come late.
FEW = {
    "new_york_fall": ("hour_text", "hour_ntz"),
    "lord_howe_fall": ("hour_moment",),
    "havana_fall": ("day_moment",),
    "havana_spring": ("day_moment_of_ntz",),
    "juneau_1867": ("day",),
    "st_johns_1990": ("day_moment",),
    "new_york_fall_late": ("hour_text",),
}
if not FULL:
    MODELS = {
        f"{change}__{name}": MODELS[f"{change}__{name}"] for change in FEW for name in FEW[change]
    }
USED = [change for change in CHANGES if FULL or change in FEW]
#: Where nothing new came, a model without a lookback reads nothing; those with one compare.
QUIET = [name for name in MODELS if FULL or "_late" in name]


@dataclass
class Story:
    project: Project
    runs: list[Run] = field(default_factory=list)
    #: After each run, the rows of each model as texts, and the version of its table.
    rows: list[dict[str, Counter[str]]] = field(default_factory=list)
    versions: list[dict[str, int]] = field(default_factory=list)

    def run(self, *args: str) -> None:
        s = self.project.schema
        self.runs.append(self.project.dbt("run", *args))
        present = [row[1] for row in self.project.sql(f"show tables in {s}") if row[1] in MODELS]
        sql = " union all ".join(
            f"select '{m}', concat_ws(' ', id, unix_micros(t), tn, {'unix_micros(part)' if '_moment' in m else 'part'}) from {s}.{m}"
            for m in present
        )
        found: dict[str, Counter[str]] = {m: Counter() for m in present}
        for name, row in self.project.sql(sql):
            found[name][row] += 1
        self.rows.append(found)
        self.versions.append({m: self.project.version(m) for m in present})


def insert(project: Project, change: str, condition: str) -> None:
    """The rows around a change that meet a condition on @, the minutes since the change."""
    _, moment, every = CHANGES[change.removesuffix("_late")]
    project.sql(
        f"insert into {project.schema}.{change} select 1000 + n, at, cast(at as timestamp_ntz) - interval 5 hours from (select n, "
        f"timestampadd(MINUTE, n * {every}, timestamp'{moment}Z') as at from (select explode(sequence(-14, 14)) as n)"
        f" where {condition.replace('@', f'n * {every}')})"
    )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("story")
    names = [*USED, "new_york_fall_late"]
    for name in names:
        project.sql(
            f"create table {project.schema}.{name} (id bigint, t timestamp, tn timestamp_ntz) using delta"
        )
    project.source(*names)
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    for name in USED:
        insert(project, name, "n < 0")
    insert(project, "new_york_fall_late", "n < 0 and n % 3 <> 0")
    story.run()
    for name in USED:
        insert(project, name, "n between 0 and 3")
    insert(project, "new_york_fall_late", "n < 0 and n % 3 = 0 and n > -5 or n between 0 and 3")
    story.run()
    for name in USED:
        insert(project, name, "n > 3")
    insert(project, "new_york_fall_late", "n > 5")
    story.run()
    story.run("--select", *QUIET)
    story.run("--full-refresh")
    return story


def test_every_node_succeeded(story: Story) -> None:
    for run in story.runs:
        assert run.success, {m: text for m, text in run.message.items() if run.status[m] == "error"}


@pytest.mark.parametrize("name", MODELS)
def test_runs_end_as_a_full_refresh_does(story: Story, name: str) -> None:
    assert story.rows[2][name] == story.rows[4][name]
    assert sum(story.rows[4][name].values()) == (29 if "_late" not in name else 24)


@pytest.mark.parametrize("name", QUIET)
def test_a_quiet_run_makes_no_commit(story: Story, name: str) -> None:
    assert story.versions[3][name] == story.versions[2][name]
