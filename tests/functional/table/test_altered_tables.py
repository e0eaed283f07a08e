"""Types of snapshots, constraints of contracts, and change feeds that are not what they were."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest

from tests.support.files import land, lines, loader
from tests.support.harness import Project, Runs, incremental, sentence, table
from tests.support.rows import held

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

WIDENS = "set tblproperties ('delta.enableTypeWidening' = 'true')"
FEED = "'delta.enableChangeDataFeed' = 'true'"
SNAPSHOT = {
    "incremental_strategy": "snapshot_diff",
    "unique_key": "id",
    "snapshot_diff": {"stored_as_scd_type": 2, "on_missing": "ignore"},
}
FILES = {"format": "json", "schema_evolution": "widen", "schema_hints": "id string, n int"}


def whole(**settings: object) -> str:
    """A model that compares all of `extract`."""
    given = ", ".join(f"{name}={value!r}" for name, value in (SNAPSHOT | settings).items())
    return (
        f"{{{{ config(materialized='incremental', {given}) }}}}\nselect * from {table('extract')}"
    )


def follower(upstream: str) -> str:
    return (
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        f"watermark={{'kind': 'version'}}) }}}}\nselect * from {{{{ floodmark.changes(source('raw', '{upstream}')) }}}}"
    )


def contract(*checks: tuple[str, str]) -> str:
    """YAML of a contract with these checks, each a name, which may be empty, and an expression."""
    constraints = "".join(
        f'\n  - {{type: check, {name and f"name: {name}, "}expression: "{text}"}}'
        for name, text in checks
    )
    return (
        "config: {contract: {enforced: true}}\n"
        f"constraints:{constraints or ' []'}\n"
        "columns:\n  - {name: id, data_type: string}\n  - {name: n, data_type: int}\n"
    )


SMALL, ABOVE = ("small", "n < 9"), ("above", "n > 0")
MERGE = (
    "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
    "on_schema_change='append_new_columns', expectations=[{'name': 'counted', 'expect': 'n <> 8'}]) }}\n"
    f"select id, n from {table('extract')}"
)
#: The contract of a model, at first and later.
CONTRACTS = {
    "relaxed": ((SMALL, ABOVE), (("small", "n < 99"), ABOVE)),
    "removed": ((SMALL, ABOVE), ()),
    "broken": ((SMALL,), (("small", "n < 2"), ("odd", "n <> 2"))),
    "unnamed": ((("", "n < 9"),), (("", "n < 2"),)),
}
NUMBERS = (
    "{{ config(materialized='incremental', on_schema_change='append_new_columns', watermark={'column': 'n'}) }}\n"
    f"select id, n from {table('numbers')}\nwhere {{{{ floodmark.watermark_filter() }}}}"
)
MODELS = {
    "by_hand": whole(),
    "listed": whole(snapshot_diff={"output": "changes"}),
    "from_files": loader("landing", config=SNAPSHOT, **FILES),
    "renames": follower("renamed"),
    "switches": follower("switched"),
    **dict.fromkeys(CONTRACTS, MERGE),
    "broken": NUMBERS,
    "unnamed": NUMBERS,
}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Runs:
    """A load, tables and contracts that change, and two runs."""
    project = make_project("types")
    s = project.schema
    project.sql(f"create table {s}.extract (id string, n int) using delta")
    project.sql(f"insert into {s}.extract values ('a', 1), ('b', 2)")
    mode = "'delta.columnMapping.mode' = 'name'"
    for name in ("renamed", "switched"):
        project.sql(
            f"create table {s}.{name} (id string, n int) using delta tblproperties ({mode})"
        )
        project.sql(f"alter table {s}.{name} set tblproperties ({FEED})")
        project.sql(f"insert into {s}.{name} values ('a', 1)")
    project.sql(f"create table {s}.numbers using delta as select 'b' as id, 2 as n")
    project.source("extract", "renamed", "switched", "numbers")
    for name, sql in MODELS.items():
        project.model(name, sql, yml=contract(*CONTRACTS[name][0]) if name in CONTRACTS else None)
    land(project.root / "landing", {"1.json": lines({"id": "a", "n": 1}, {"id": "b", "n": 2})})
    story = Runs(project)
    story.run("first")
    assert story.runs["first"].success, story.runs["first"].log[-3000:]

    for name in ("by_hand", "listed"):
        project.sql(f"alter table {s}.{name} {WIDENS}")
        project.sql(f"alter table {s}.{name} alter column n type bigint")
    for name, (_, later) in CONTRACTS.items():
        project.model(name, MODELS[name], yml=contract(*later))
    project.sql(f"alter table {s}.removed add constraint by_hand check (n <> 7)")
    project.sql(f"update {s}.extract set n = 20 where id = 'b'")
    big = {"id": "b", "n": 3_000_000_000}
    land(project.root / "landing", {"2.json": lines({"id": "a", "n": 1}, big)})
    project.sql(f"insert into {s}.renamed values ('b', 2)")
    project.sql(f"alter table {s}.renamed rename column n to m")
    project.sql(f"insert into {s}.renamed values ('c', 3)")
    project.sql(
        f"alter table {s}.switched set tblproperties ('delta.enableChangeDataFeed' = 'false')"
    )
    project.sql(f"insert into {s}.switched values ('b', 2)")
    project.sql(f"alter table {s}.switched set tblproperties ({FEED})")
    project.sql(f"update {s}.switched set n = 3 where id = 'b'")
    story.run("second")
    story.run("third", "--select", *CONTRACTS)
    project.sql(f"update {s}.broken set n = 1")
    story.run("fourth", "--select", "broken")
    return story


@pytest.mark.parametrize("model", ["by_hand", "from_files"])
def test_a_wider_type_is_no_change(story: Runs, model: str) -> None:
    """Only the row that changed is closed and opened."""
    assert story.runs["second"].status[model] == "success", story.said("second", model)
    rows = held(story.project, model, "id, n, __end_at is null as is_open")
    changed = 20 if model == "by_hand" else 3_000_000_000
    assert rows == {"a": [(1, True)], "b": [(2, False), (changed, True)]}


def test_a_list_of_changes_has_none_of_the_type(story: Runs) -> None:
    rows = held(story.project, "listed", "id, n, _change_type")
    assert rows == {"a": [(1, "insert")], "b": [(2, "insert"), (20, "update")]}


def test_a_constraint_that_is_relaxed_refuses_no_batch(story: Runs) -> None:
    assert story.runs["second"].status["relaxed"] == "success", story.said("second", "relaxed")
    assert held(story.project, "relaxed", "id, n") == {"a": [(1,)], "b": [(20,)]}
    found = dict(story.project.sql(f"show tblproperties {story.project.schema}.relaxed"))
    assert found["delta.constraints.small"] == "n < 99"
    assert found["delta.constraints.above"] == "n > 0"


def test_a_contract_without_constraints_takes_its_own_off(story: Runs) -> None:
    """Once Delta has refused a batch by one of them; what somebody else put there stays."""
    said = story.said("second", "removed")
    assert "The contract no longer has small, above, which" in said
    assert "They are dropped now: run again" in said
    assert story.runs["third"].status["removed"] == "success", story.said("third", "removed")
    assert held(story.project, "removed", "id, n") == {"a": [(1,)], "b": [(20,)]}
    found = dict(story.project.sql(f"show tblproperties {story.project.schema}.removed"))
    names = {name.rpartition(".")[2] for name in found if name.startswith("delta.constraints.")}
    assert names == {"by_hand"}


def test_a_constraint_that_rows_of_the_table_break_is_named_and_not_put_on_it(story: Runs) -> None:
    """Nothing is committed, and the old condition stays, until the rows are corrected."""
    s = story.project.schema
    for run in ("second", "third"):
        assert (
            f"rows that {s}.broken has break the contract's constraints: small (1 row), odd (1 row). "
            "Nothing was loaded: correct these rows, "
        ) in story.said(run, "broken"), story.said(run, "broken")
    assert story.runs["fourth"].status["broken"] == "success", story.said("fourth", "broken")
    found = dict(story.project.sql(f"show tblproperties {s}.broken"))
    assert found["delta.constraints.small"] == "n < 2"
    assert found["delta.constraints.odd"] == "n <> 2"
    history = [row[4] for row in story.project.sql(f"describe history {s}.broken")]
    assert history[history.index("UPDATE") + 1] == "ADD CONSTRAINT", history


def test_a_constraint_without_a_name_stays_while_rows_break_the_one_in_its_place(
    story: Runs,
) -> None:
    former, later = (
        "check_" + hashlib.md5(text.encode()).hexdigest()[:12] for text in ("n < 9", "n < 2")
    )
    for run in ("second", "third"):
        said = f"break the contract's constraints: {later} (1 row). Nothing was loaded"
        assert said in story.said(run, "unnamed"), story.said(run, "unnamed")
    found = dict(story.project.sql(f"show tblproperties {story.project.schema}.unnamed"))
    names = {name.rpartition(".")[2] for name in found if name.startswith("delta.constraints.")}
    assert names == {former}


@pytest.mark.parametrize(
    ("model", "upstream", "reason"),
    [
        ("renames", "renamed", "a column of it was renamed, dropped or given another type since"),
        ("switches", "switched", "its change feed was switched off for a while"),
    ],
)
def test_changes_that_delta_cannot_give(
    story: Runs, model: str, upstream: str, reason: str
) -> None:
    s = story.project.schema
    said = story.said("second", model)
    assert f"The changes of {s}.{upstream} from version " in said
    assert f"cannot be read, since {reason}: run it once with --full-refresh" in said
    assert f"`floodmark reset {model} --to <value>`" in said


def test_a_table_that_is_to_lie_elsewhere_is_dropped_first(
    make_project: Callable[..., Project],
) -> None:
    """Delta replaces a table only where it lies."""
    project = make_project("moved")
    s = project.schema
    project.sql(f"create table {s}.up using delta as select 1L as id")
    project.source("up")
    watermark = {"column": "id"}
    project.model("placed", incremental(table("up"), watermark=watermark))
    project.build()
    root = f"file:{project.root}/there"
    project.model("placed", incremental(table("up"), watermark=watermark, location_root=root))
    run = project.dbt("run", "--full-refresh")
    assert run.status["placed"] == "error"
    said = sentence(run.message["placed"])
    assert f"{s}.placed lies elsewhere than location_root says" in said, said
    assert project.sql(f"select id from {s}.placed") == [(1,)]
    project.sql(f"drop table {s}.placed")
    project.build()
    assert project.sql(f"select id from {s}.placed") == [(1,)]
    assert "/there/placed" in project.sql(f"describe detail {s}.placed")[0][4]
    project.sql(f"drop table {s}.placed")
