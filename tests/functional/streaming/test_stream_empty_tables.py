"""A stream's first run over an empty table that somebody made by hand loads into it as it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.harness import FULL, Project, Run, sentence
from tests.support.streams import stream

pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]

RAW = "stream({{ source('raw', 'events') }})"
MODELS: dict[str, dict[str, object]] = {
    "appended": {},
    "merged": {"incremental_strategy": "merge", "unique_key": "id"},
    "applied": {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "seq"}},
    "sparse": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "seq", "ignore_null_updates": True},
    },
    "spans": {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "seq", "stored_as_scd_type": 2},
    },
}
#: One of each way to write: Delta's sink, a merge, and cdc, which makes the columns of SCD 2.
if not FULL:
    MODELS = {name: MODELS[name] for name in ("appended", "merged", "spans")}
#: Model -> its config, over a column `id` alone: on_schema_change and the way to write.
FOLLOWING: dict[str, dict[str, object]] = {
    f"{mode}_{kind}": {"on_schema_change": mode} | config
    for mode, kind, config in (
        ("ignore", "a", {}),
        ("append_new_columns", "m", MODELS["merged"]),
        ("fail", "a", {}),
        ("append_new_columns", "a", {}),
        ("ignore", "m", MODELS["merged"]),
    )[: None if FULL else 3]
}
REFUSED: dict[str, dict[str, object]] = {"refused": {}, "refused_merge": MODELS["merged"]}
#: Columns that floodmark adds to a table of a model.
ADDED = {"spans": {"__start_at", "__end_at"}}


@dataclass
class Story:
    """A project of empty tables that somebody made, their ids, and the run that loaded into them."""

    project: Project
    ids: dict[str, str]
    first: Run


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("by_hand")
    s = project.schema
    project.sql(f"create table {s}.events (seq int, id int, v string, at timestamp) using delta")
    project.sql(f"insert into {s}.events values (1, 1, 'a', timestamp'2024-05-01 08:00:00'), "
                "(2, 2, 'b', timestamp'2024-05-02 08:00:00')")  # fmt: skip
    project.source("events")
    for name, config in MODELS.items():
        project.model(name, stream(f"select at, v, id, seq from {RAW}", **config))
        make(project, name)
    ids = {name: project.sql(f"describe detail {s}.{name}")[0][1] for name in MODELS}
    for name, config in REFUSED.items():
        project.model(name, stream(f"select at, -id as id, v from {RAW} where seq < 3", **config))
        make(project, name)
    for name, config in FOLLOWING.items():
        project.model(name, stream(f"select id, v from {RAW} where seq < 3", **config))
        project.sql(f"create table {s}.{name} (id int) using delta")
    # A run died before the table named its checkpoint: the columns of SCD 2 are there then, and the table is empty.
    project.model("half", stream(f"select at, v, id, seq from {RAW}", **MODELS["spans"]))
    make(project, "half")
    project.sql(f"alter table {s}.half add columns (__start_at int, __end_at int)")
    mistaken = MODELS["spans"] | {"unique_key": "idd"}
    project.model("mistaken", stream(f"select at, v, id, seq from {RAW}", **mistaken))
    make(project, "mistaken")
    first = project.dbt("run")
    failed = {name for name, status in first.status.items() if status != "success"}
    assert failed == {*REFUSED, "fail_a", "mistaken"}, first.log[-6000:]
    project.model("mistaken", stream(f"select at, v, id, seq from {RAW}", **MODELS["spans"]))
    project.sql(f"insert into {s}.events values (3, 1, 'c', timestamp'2024-05-03 08:00:00')")
    project.build("--select", *MODELS, "half", "mistaken")
    return Story(project, ids, first)


def make(project: Project, name: str) -> None:
    """Identity, generated column, default-free extras, NOT NULL and CHECK, clustering, properties and comments."""
    table = f"{project.schema}.{name}"
    project.sql(
        f"create table {table} (rid bigint generated always as identity, id int not null, v string comment 'a text', "
        "at timestamp, day date generated always as (cast(at as date)), seq bigint, extra string) using delta "
        "cluster by (id) comment 'made by hand' tblproperties ('delta.appendOnly' = 'false', 'owner.team' = 'tea')"
    )
    project.sql(f"alter table {table} add constraint positive check (id > 0)")


def described(project: Project, name: str) -> dict[str, str]:
    table = f"{project.schema}.{name}"
    return {row[0]: row[1] for row in project.sql(f"show tblproperties {table}")}


def test_a_table_made_by_hand_is_loaded_into_as_it_is(story: Story) -> None:
    project, ids, s = story.project, story.ids, story.project.schema
    for name in MODELS:
        (detail,) = project.sql(f"describe detail {s}.{name}")
        assert detail[1] == ids[name] and detail[3] == "made by hand", name
        assert list(detail[8]) == ["id"], (name, detail)
        properties = described(project, name)
        assert (
            properties["owner.team"] == "tea"
            and properties["delta.constraints.positive"] == "id > 0"
        )
        assert "floodmark.stream" in properties
        assert "delta.enableChangeDataFeed" not in properties
        columns = {
            row[0]: row
            for row in project.sql(f"describe table {s}.{name}")
            if row[0][:1] not in ("", "#")
        }
        own = {"rid", "id", "v", "at", "day", "seq", "extra"}
        assert {
            column for column in columns if not column.startswith("_floodmark_")
        } == own | ADDED.get(name, set())
        assert columns["v"][2] == "a text" and columns["id"][1] == "int"
        assert project.sql(f"select count(*), count(rid), count(distinct rid), count(extra) from {s}.{name} "
                           "where day = cast(at as date)") == [(n := len(rows(project, name)), n, n, 0)]  # fmt: skip
        created = [row[4] for row in project.sql(f"describe history {s}.{name}")]
        assert not [operation for operation in created if "REPLACE" in operation], created
    assert rows(project, "appended") == [(1, "a"), (1, "c"), (2, "b")]
    for name in [name for name in ("merged", "applied", "sparse") if name in MODELS]:
        assert rows(project, name) == [(1, "c"), (2, "b")], name
    assert rows(project, "spans", "__end_at") == [(1, "a", 3), (1, "c", None), (2, "b", None)]


def rows(project: Project, name: str, *more: str) -> list[tuple[object, ...]]:
    columns = ", ".join(("cast(id as int) as id", "v", *more))
    return project.sql(f"select {columns} from {project.schema}.{name} order by id, v")


def test_a_key_that_was_corrected(story: Story) -> None:
    """The table did not become one of the key that no column has."""
    assert 'unique_key: got "idd"' in sentence(story.first.message["mistaken"])
    expected = [(1, "a", 3), (1, "c", None), (2, "b", None)]
    assert rows(story.project, "mistaken", "__end_at") == expected


def test_a_constraint_of_the_table_holds(story: Story) -> None:
    for name in REFUSED:
        assert "positive" in sentence(story.first.message[name])
        assert story.project.sql(f"select count(*) from {story.project.schema}.{name}") == [(0,)]


def test_columns_follow_on_schema_change(story: Story) -> None:
    project, s = story.project, story.project.schema
    for name, config in FOLLOWING.items():
        if config["on_schema_change"] == "fail":
            message = sentence(story.first.message[name])
            assert f"the SELECT and {s}.{name} differ (new: v)" in message
            continue
        expected = ["id"] if config["on_schema_change"] == "ignore" else ["id", "v"]
        assert [row[0] for row in project.sql(f"describe table {s}.{name}")] == expected, name
        assert project.sql(f"select count(distinct id) from {s}.{name}") == [(2,)]


def test_a_full_refresh_replaces_it(story: Story) -> None:
    project, s = story.project, story.project.schema
    project.model("anew", stream(f"select id, v from {RAW}"))
    make(project, "anew")
    project.build("--select", "anew", "--full-refresh")
    assert [row[0] for row in project.sql(f"describe table {s}.anew")] == ["id", "v"]


def test_a_run_that_died_before_the_table_named_its_checkpoint(story: Story) -> None:
    """The columns of SCD 2 are there then, and the table is empty."""
    expected = rows(story.project, "spans", "__end_at")
    assert rows(story.project, "half", "__end_at") == expected
