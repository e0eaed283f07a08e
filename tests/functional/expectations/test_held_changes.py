"""RULES.md, 6 and 7: what a held row means where the source tells what it replaces, or which rows it still has."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.harness import Project, sentence, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

RULES = [
    {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"},
    {"name": "small", "expect": "amount < 100", "on_violation": "drop"},
]
FEED = "tblproperties ('delta.enableChangeDataFeed' = 'true')"
CHANGES = "{{ floodmark.changes(source('raw', 'orders')) }}"
PREIMAGES = "{{ floodmark.changes(source('raw', 'orders'), preimages=true) }}"
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}


def cdc(scd_type: int, sequence_by: str = "_commit_version", kind: str = "_change_type") -> dict:
    given = {
        "sequence_by": sequence_by,
        "stored_as_scd_type": scd_type,
        "apply_as_deletes": f"{kind} = 'delete'",
    }
    return {"incremental_strategy": "cdc", "unique_key": "id", "cdc": given}


#: Models that follow the changes of `orders`: settings and SELECT. With and without the feed's own columns.
FOLLOWERS = {
    "mirror": (MERGE, f"select * from {CHANGES}"),
    "updates": (MERGE, f"select * from {PREIMAGES}"),
    "latest": (cdc(1), f"select * from {CHANGES}"),
    "history": (cdc(2), f"select * from {CHANGES}"),
    "renamed": (
        cdc(1, "version", "what"),
        f"select id, amount, day, _change_type as what, _commit_version as version from {CHANGES}",
    ),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("held_changes")
    project.source("orders", "extract", "versioned", "again", "turned", "begun", "plain", "idle")
    return project


def model_of(config: dict, select: str) -> str:
    text = ", ".join(f"{key}={value!r}" for key, value in config.items())
    return f"{{{{ config(materialized='incremental', {text}) }}}}\n{select}\n"


def rows(project: Project, model: str, where: str = "true") -> list[tuple]:
    return sorted(project.sql(f"select id, amount from {project.schema}.{model} where {where}"))


def open_rows(project: Project, model: str) -> list[tuple]:
    return rows(project, f"{model}__quarantine", "_floodmark_state = 'open'")


def test_a_commit_whose_new_row_is_held_back_takes_no_older_row_away(project: Project) -> None:
    project.sql(
        f"create table {project.schema}.orders (id int, amount int, day int) using delta {FEED}"
    )
    first = [(n, n, n) for n in range(1, 7)]
    project.sql(f"insert into {project.schema}.orders values {values(first)}")
    for name, (settings, select) in FOLLOWERS.items():
        config = {"watermark": {"kind": "version"}, "expectations": RULES} | settings
        project.model(name, model_of(config, select))
    project.build("--select", *FOLLOWERS)

    # One commit takes the rows of two days away and adds others: one is held, one dropped, one is right.
    project.sql(
        f"insert into {project.schema}.orders replace where day in (1, 2, 3) "
        "values (1, -1, 1), (2, 200, 2), (3, 30, 3)"
    )
    # An update in place, and a row that really goes.
    project.sql(f"update {project.schema}.orders set amount = -4 where id = 4")
    project.sql(f"delete from {project.schema}.orders where id = 5")
    # A row that goes, and comes back in a later commit that is held: it is gone.
    project.sql(f"delete from {project.schema}.orders where id = 6")
    project.sql(f"insert into {project.schema}.orders values (6, -6, 6)")
    run = project.build("--select", *FOLLOWERS)
    expected = [(1, 1), (2, 2), (3, 30), (4, 4)]
    for name in FOLLOWERS:
        where = "__end_at is null" if name == "history" else "true"
        assert rows(project, name, where) == expected, (name, run.message[name])
        assert open_rows(project, name) == [(1, -1), (4, -4), (6, -6)], name
        [batch] = project.ledger(name, "rows_read, rows_kept, rows_dropped, rows_quarantined")[1:]
        assert batch[0] == sum(batch[1:]) and batch[2:] == (1, 3), name

    # Corrected, the next commit replaces what stayed.
    project.sql(f"update {project.schema}.orders set amount = id * 10 where id in (1, 4)")
    project.build("--select", *FOLLOWERS)
    for name in FOLLOWERS:
        where = "__end_at is null" if name == "history" else "true"
        assert rows(project, name, where) == [(1, 10), (2, 2), (3, 30), (4, 40)], name


def test_an_open_row_of_a_feed_is_the_newest_change_of_its_key(project: Project) -> None:
    """What was changed again upstream is superseded; a replay applies the rest, also over an older row."""
    orders = f"{project.schema}.again"
    project.sql(f"create table {orders} (id int, amount int) using delta {FEED}")
    project.sql(f"insert into {orders} values (2, 2), (3, 3), (4, 4)")
    rule = RULES[0] | {
        "deletes": True,
        "expect": "if(_change_type = 'delete', id <> 4, amount > 0)",
    }
    config = {"watermark": {"kind": "version"}, "expectations": [rule]} | MERGE
    project.model(
        "newest",
        model_of(config, "select * from {{ floodmark.changes(source('raw', 'again')) }}"),
    )
    project.build("--select", "newest")
    project.sql(f"insert into {orders} values (1, -1), (5, -5)")
    project.sql(f"update {orders} set amount = -2 where id = 2")
    project.sql(f"update {orders} set amount = -30 where id = 3")
    project.sql(f"update {orders} set amount = 31 where id = 3")
    project.sql(f"delete from {orders} where id = 4")
    project.build("--select", "newest")
    assert open_rows(project, "newest") == [(1, -1), (2, -2), (4, 4), (5, -5)]
    project.sql(f"delete from {orders} where id = 1")
    project.sql(f"insert into {orders} values (4, 40)")
    project.build("--select", "newest")
    assert rows(project, "newest") == [(2, 2), (3, 31), (4, 40)]
    assert open_rows(project, "newest") == [(2, -2), (5, -5)]
    run = project.build(
        "--select", "newest", "--vars", "{floodmark_replay: {set: {amount: abs(amount)}}}"
    )
    assert rows(project, "newest") == [(2, 2), (3, 31), (4, 40), (5, 5)], run.message
    assert open_rows(project, "newest") == []
    project.sql(f"update {orders} set amount = -20 where id = 2")
    project.build("--select", "newest")
    project.build(
        "--select", "newest", "--vars", "{floodmark_replay: {set: {amount: abs(amount)}}}"
    )
    assert rows(project, "newest") == [(2, 20), (3, 31), (4, 40), (5, 5)]


def test_a_first_load_of_changes_supersedes_those_that_changed_again(project: Project) -> None:
    """With `start` the first batch has all changes of a key, also those behind the one that is held."""
    begun = f"{project.schema}.begun"
    project.sql(f"create table {begun} (id int, amount int) using delta {FEED}")
    project.sql(f"insert into {begun} values (1, 1), (2, 2), (3, 3)")
    for changed in ("amount = -5 where id = 1", "amount = 7 where id = 1"):
        project.sql(f"update {begun} set {changed}")
    project.sql(f"update {begun} set amount = -6 where id = 2")
    project.sql(f"delete from {begun} where id = 2")
    project.sql(f"update {begun} set amount = -30 where id = 3")
    watermark = {"kind": "version", "start": 1}
    config = {"watermark": watermark, "expectations": RULES[:1]} | MERGE
    project.model(
        "begun_rows",
        model_of(config, "select * from {{ floodmark.changes(source('raw', 'begun')) }}"),
    )
    project.build("--select", "begun_rows")
    assert rows(project, "begun_rows") == [(1, 7), (3, 3)]
    assert open_rows(project, "begun_rows") == [(3, -30)]
    project.build(
        "--select", "begun_rows", "--vars", "{floodmark_replay: {set: {amount: abs(amount)}}}"
    )
    assert rows(project, "begun_rows") == [(1, 7), (3, 30)]


def test_without_the_version_a_key_changes_once_beside_a_change_that_is_held(
    project: Project,
) -> None:
    """Nobody could tell whether the row in the quarantine is older than the one that is loaded."""
    plain = f"{project.schema}.plain"
    project.sql(f"create table {plain} (id int, amount int) using delta {FEED}")
    project.sql(f"insert into {plain} values (1, 1), (2, 2)")
    config = {"watermark": {"kind": "version"}, "expectations": RULES[:1]} | MERGE

    def model(columns: str) -> None:
        changes = "{{ floodmark.changes(source('raw', 'plain')) }}"
        project.model(
            "plain_rows",
            model_of(config, f"select {columns} from {changes}"),
        )

    model("id, amount, _change_type")
    project.build("--select", "plain_rows")
    # Changes of other keys are held as ever, also several without a key.
    project.sql(f"insert into {plain} values (3, -3), (null, -4), (null, -5)")
    project.build("--select", "plain_rows")
    held = "select amount from {}.plain_rows__quarantine where _floodmark_state = 'open' order by 1"
    assert project.sql(held.format(project.schema)) == [(-5,), (-4,), (-3,)]
    project.sql(f"update {plain} set amount = -6 where id = 1")
    project.sql(f"update {plain} set amount = 7 where id = 1")
    run = project.dbt("run", "--select", "plain_rows")
    assert run.status["plain_rows"] == "error"
    assert (
        "1 key comes more than once in the batch and no _commit_version in the SELECT says"
        in sentence(run.message["plain_rows"])
    )
    assert rows(project, "plain_rows") == [(1, 1), (2, 2)]
    assert project.sql(held.format(project.schema)) == [(-5,), (-4,), (-3,)]
    model("id, amount, _change_type, _commit_version")
    project.build("--select", "plain_rows")
    assert rows(project, "plain_rows") == [(1, 7), (2, 2)]
    assert project.sql(held.format(project.schema)) == [(-5,), (-4,), (-3,)]
    # Without the kind nobody could tell which of the two images of a commit is the row, also where one is held.
    model("id, amount, _commit_version")
    project.sql(f"insert into {plain} replace where id = 2 values (2, -20)")
    run = project.dbt("run", "--select", "plain_rows")
    assert (
        "1 key comes more than once in one commit of the batch and no _change_type in the SELECT says"
        in sentence(run.message["plain_rows"])
    )
    assert rows(project, "plain_rows") == [(1, 7), (2, 2)]
    assert project.sql(held.format(project.schema)) == [(-5,), (-4,), (-3,)]
    model("id, amount, _change_type, _commit_version")
    project.build("--select", "plain_rows")
    assert rows(project, "plain_rows") == [(1, 7), (2, 2)]
    assert project.sql(held.format(project.schema)) == [(-20,), (-5,), (-4,), (-3,)]


def test_a_batch_for_which_nothing_came_is_not_one_with_few_rows(project: Project) -> None:
    """A commit without data is a version, and has a lookback read again."""
    idle = f"{project.schema}.idle"
    project.sql(f"create table {idle} (id int, n bigint) using delta {FEED}")
    project.sql(f"insert into {idle} values (1, 1), (2, 2), (3, 3)")
    few = {"name": "few", "rows": {"min": 3}, "on_violation": "fail"}
    filtered = table("idle") + " where {{ floodmark.watermark_filter() }}"
    for name, watermark, relation in (
        ("idle_versions", {"kind": "version"}, "{{ floodmark.changes(source('raw', 'idle')) }}"),
        ("idle_lookback", {"column": "n", "lookback": 1}, filtered),
    ):
        config = {"watermark": watermark, "expectations": [few]} | MERGE
        project.model(
            name,
            model_of(config, f"select * from {relation}"),
        )
    names = ("idle_versions", "idle_lookback")
    project.build("--select", *names)
    project.sql(f"alter table {idle} set tblproperties ('note' = 'nothing')")
    project.build("--select", *names)
    assert project.ledger("idle_versions", "rows_read") == [(3,), (0,)]
    assert project.ledger("idle_lookback", "rows_read") == [(3,), (1,)]
    # What came is too few.
    project.sql(f"insert into {idle} values (4, 9)")
    run = project.dbt("run", "--select", *names)
    for name in names:
        assert "fewer than min (3)" in sentence(run.message[name]), name


def test_a_row_of_before_the_feed_is_no_newest_change(project: Project) -> None:
    """Of a time watermark, or of a SELECT without the version: it replaces nothing newer."""
    turned = f"{project.schema}.turned"
    project.sql(f"create table {turned} (id int, amount int, n bigint) using delta {FEED}")
    project.sql(f"insert into {turned} values (1, -1, 1), (2, 2, 1)")

    def model(watermark: dict, columns: str, relation: str = CHANGES, **more: str) -> None:
        config = {"watermark": watermark, "expectations": RULES[:1]} | MERGE | more
        sql = model_of(config, f"select {columns} from {relation}")
        project.model("turned_rows", sql.replace("'orders'", "'turned'"))

    def replay(where: str = "true") -> str:
        asked = {"set": {"amount": "abs(amount)"}, "where": where}
        run = project.dbt(
            "run", "--select", "turned_rows", "--vars", json.dumps({"floodmark_replay": asked})
        )
        return sentence(run.log)

    filtered = table("turned") + " where {{ floodmark.watermark_filter() }}"
    model({"column": "n"}, "id, amount", filtered)
    project.build("--select", "turned_rows")
    project.sql(f"update {turned} set amount = 7, n = 2 where id = 1")
    project.build("--select", "turned_rows")
    newest = project.sql(f"describe history {turned} limit 1")[0][0]
    model({"kind": "version"}, "id, amount, _change_type")
    code, output = command(
        project, "reset", "turned_rows", "--to", str(newest), "--reason", "a test"
    )
    assert code == 0, output
    project.sql(f"update {turned} set amount = -2 where id = 2")
    project.build("--select", "turned_rows")
    assert open_rows(project, "turned_rows") == [(1, -1), (2, -2)]
    assert "replay them apart, with where: '_floodmark_batch_id <= 2'" in replay()
    replay("_floodmark_batch_id <= 2")
    assert rows(project, "turned_rows") == [(1, 7), (2, 2)]
    # The version comes into the SELECT, and the key changes beside one that is held back.
    more = {"on_schema_change": "append_new_columns"}
    model({"kind": "version"}, "id, amount, _change_type, _commit_version", **more)
    project.sql(
        f"merge into {turned} as t using (select * from values (2, 20), (3, -3) as v(id, amount)) as s on t.id = s.id "
        "when matched then update set amount = s.amount when not matched then insert (id, amount) values (s.id, s.amount)"
    )
    project.build("--select", "turned_rows")
    assert open_rows(project, "turned_rows") == [(3, -3)]
    replay()
    assert rows(project, "turned_rows") == [(1, 7), (2, 20), (3, 3)]


def test_a_key_that_leaves_a_snapshot_is_missing_though_all_other_rows_are_held(
    project: Project,
) -> None:
    for name in ("extract", "versioned"):
        project.sql(
            f"create table {project.schema}.{name} using delta as "
            "select cast(id as int) as id, cast(id as int) as amount, date'2024-05-01' as day from range(1, 5)"
        )
    settings = {"incremental_strategy": "snapshot_diff", "unique_key": "id", "expectations": RULES}
    models = {
        "extracted": (table("extract"), {"max_delete_fraction": 0.3}),
        "historic": (table("versioned"), {"stored_as_scd_type": 2, "version": "day"}),
    }
    for name, (relation, snapshot) in models.items():
        config = ", ".join(
            f"{key}={value!r}" for key, value in (settings | {"snapshot_diff": snapshot}).items()
        )
        project.model(
            name, f"{{{{ config(materialized='incremental', {config}) }}}} select * from {relation}"
        )
    project.build("--select", *models)
    for name in ("extract", "versioned"):
        project.sql(f"delete from {project.schema}.{name} where id = 4")
        project.sql(f"update {project.schema}.{name} set amount = -id, day = date'2024-05-02'")
    project.build("--select", *models)
    assert rows(project, "extracted") == [(1, 1), (2, 2), (3, 3)]
    assert rows(project, "historic", "__end_at is null") == [(1, 1), (2, 2), (3, 3)]
    assert project.sql(
        f"select id, cast(__end_at as string) from {project.schema}.historic where __end_at is not null"
    ) == [(4, "2024-05-02")]
    assert project.mark("historic").startswith("2024-05-02")

    # The fraction of keys that may go is asked there as well.
    project.sql(f"delete from {project.schema}.extract where id > 1")
    run = project.dbt("run", "--select", "extracted")
    assert "2 of 3 keys are missing from the snapshot" in sentence(run.message["extracted"])
    assert rows(project, "extracted") == [(1, 1), (2, 2), (3, 3)]

    # An older version is refused by what the held rows say.
    project.sql(f"update {project.schema}.versioned set day = date'2024-04-01'")
    run = project.dbt("run", "--select", "historic")
    assert "2024-05-02 is loaded already" in sentence(run.message["historic"])

    # The version is read again as long as rows of it are held back, and skipped once all are loaded.
    for amount in ("id * 10", "id * 100"):
        project.sql(
            f"update {project.schema}.versioned set day = date'2024-05-02', amount = {amount}"
        )
        project.build("--select", "historic")
        assert rows(project, "historic", "__end_at is null") == [(1, 10), (2, 20), (3, 30)]
