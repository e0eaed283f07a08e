"""RULES.md, 5 to 8 and 10: the cases that go wrong where rules do not know what a strategy means."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.support.faults import Faults, assert_cut, injected, once
from tests.support.files import land, lines, loader
from tests.support.harness import Project, incremental, sentence, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

POSITIVE = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}
SOURCES = (
    "deletes",
    "partial",
    "sent",
    "extract",
    "taken",
    "orders",
    "feed",
    "plain",
    "typed",
    "odd",
    "caught",
    "looked",
    "known",
)
CDC = {"incremental_strategy": "cdc", "unique_key": "id"}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("strategies")
    project.source(*(f"raw_{name}" for name in SOURCES))
    return project


def source(project: Project, name: str, columns: str, *rows: tuple) -> str:
    """A table of these rows, as a Jinja source."""
    project.sql(f"create table {project.schema}.{name} ({columns}) using delta")
    add(project, name, *rows)
    return table(name)


def add(project: Project, name: str, *rows: tuple) -> None:
    project.sql(f"insert into {project.schema}.{name} values {values(rows)}")


def rows(project: Project, model: str, columns: str = "id, amount") -> list[tuple]:
    return sorted(project.sql(f"select {columns} from {project.schema}.{model}"))


def quarantined(project: Project, model: str) -> Counter:
    return Counter(
        project.sql(
            f"select id, amount, _floodmark_state from {project.schema}.{model}__quarantine"
        )
    )


def counts(project: Project, model: str) -> tuple:
    return project.ledger(model, "rows_read, rows_kept, rows_dropped, rows_quarantined")[-1]


def test_a_delete_or_a_truncate_without_a_payload_ends_its_rows(project: Project) -> None:
    events = source(
        project,
        "raw_deletes",
        "id int, amount int, op string, at timestamp",
        (1, 1, "U", "2024-05-01 01:00:00"),
        (2, 2, "U", "2024-05-01 02:00:00"),
        (1, None, "D", "2024-05-01 03:00:00"),
        (3, None, "U", "2024-05-01 04:00:00"),
    )
    cdc = {"sequence_by": "at", "apply_as_deletes": "op = 'D'"}
    settings = CDC | {"cdc": cdc, "watermark": {"column": "at"}}
    project.model("deletes", incremental(events, expectations=[POSITIVE], **settings))
    asked = POSITIVE | {"deletes": True}
    project.model("asked_deletes", incremental(events, expectations=[asked], **settings))
    # The delete as a truncate: it has no key, either.
    settings["cdc"] = {"sequence_by": "at", "apply_as_truncates": "op = 'D'"}
    keyless = "if(op = 'D', null, id) as id, amount, op, at"
    project.model("truncates", incremental(events, keyless, expectations=[POSITIVE], **settings))
    project.model("asked_truncates", incremental(events, keyless, expectations=[asked], **settings))
    project.build("--select", "deletes asked_deletes truncates asked_truncates")
    assert rows(project, "truncates") == []
    assert quarantined(project, "truncates") == {(3, None, "open"): 1}
    assert counts(project, "truncates") == (4, 3, 0, 1)
    assert rows(project, "asked_truncates") == [(1, 1), (2, 2)]
    assert quarantined(project, "asked_truncates") == {
        (3, None, "open"): 1,
        (None, None, "open"): 1,
    }
    assert rows(project, "deletes") == [(2, 2)]
    assert quarantined(project, "deletes") == {(3, None, "open"): 1}
    assert counts(project, "deletes") == (4, 3, 0, 1)
    [result] = project.ledger("deletes", "rows_judged, violations", "expectation_results")
    assert result == (3, 1)
    assert rows(project, "asked_deletes") == [(1, 1), (2, 2)]
    assert counts(project, "asked_deletes") == (4, 2, 0, 2)


def test_a_value_that_was_not_sent_breaks_no_rule(project: Project) -> None:
    events = source(
        project,
        "raw_partial",
        "id int, amount int, tax int, at timestamp",
        (1, 5, 1, "2024-05-01 01:00:00"),
        (1, None, 2, "2024-05-01 02:00:00"),  # amount was not sent
        (2, -5, None, "2024-05-01 03:00:00"),
        (3, 5, None, "2024-05-01 04:00:00"),  # of tax and amount one was sent
        (4, None, None, "2024-05-01 05:00:00"),  # neither was
    )
    rules = [POSITIVE, {"name": "taxed", "expect": "tax < amount", "on_violation": "quarantine"}]
    project.model(
        "partial",
        incremental(
            events,
            expectations=rules,
            watermark={"column": "at"},
            **CDC,
            cdc={"sequence_by": "at", "ignore_null_updates": True},
        ),
        yml="data_tests: [floodmark.expectations_hold]",
    )
    project.build("--select", "partial")
    # The second event's tax was sent and its amount was not: NULL < is no answer, and violates.
    assert rows(project, "partial", "id, amount, tax") == [(1, 5, 1), (4, None, None)]
    found = project.ledger("partial", "name, violations", "expectation_results")
    assert dict(found) == {"positive": 1, "taxed": 3}
    # The rows that the events made are asked as they were.
    hold = "floodmark_expectations_hold_partial_"
    run = project.dbt("test", "--select", "partial")
    assert run.status[hold] == "pass", run.log[-3000:]
    project.sql(f"update {project.schema}.partial set amount = -1 where id = 4")
    run = project.dbt("test", "--select", "partial")
    assert run.message[hold].startswith("Got 2 results"), run.message


def test_what_was_sent_is_told_with_strings_as_spark_has_them(project: Project) -> None:
    """Of what a rule names: a string with an escaped quote hides no column, and one in double quotes is none."""
    events = source(
        project,
        "raw_sent",
        "id int, note string, email string, status string, active string, at timestamp",
        (1, "a", "a@b", "new", "y", "2024-05-01 01:00:00"),
        (1, None, "x", None, None, "2024-05-01 02:00:00"),
        (1, None, None, None, "n", "2024-05-01 03:00:00"),
    )
    mailed = "coalesce(note, '') not like '%\\'%' and email like '%@%'"
    expects = {"mailed": mailed, "known": 'status in ("new", "active")'}
    rules = [POSITIVE | {"name": name, "expect": expect} for name, expect in expects.items()]
    cdc = {"sequence_by": "at", "ignore_null_updates": True}
    at = {"column": "at"}
    project.model("sent", incremental(events, expectations=rules, watermark=at, **CDC, cdc=cdc))
    project.build("--select", "sent")
    columns = "note, email, status, active"
    assert rows(project, "sent", columns) == [("a", "a@b", "new", "n")]
    assert rows(project, "sent__quarantine", columns) == [(None, "x", None, None)]


def test_a_row_of_a_snapshot_that_is_held_back_is_not_missing(project: Project) -> None:
    extract = source(project, "raw_extract", "id int, amount int", (1, 1), (2, 2), (3, 3), (4, 4))
    project.model(
        "extract",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', unique_key='id', "
        "snapshot_diff={'max_delete_fraction': 0.3}, "
        f"expectations={[POSITIVE, {'name': 'small', 'expect': 'amount < 100', 'on_violation': 'drop'}]!r}) }}}}"
        f" select * from {extract}",
    )
    project.build("--select", "extract")
    project.sql(
        f"update {project.schema}.raw_extract set amount = if(id = 1, -1, 200) where id < 3"
    )
    project.sql(f"delete from {project.schema}.raw_extract where id = 4")
    run = project.build("--select", "extract")
    # 4 is gone, which is a quarter of the table; 1 and 2 are there, as they were.
    assert rows(project, "extract") == [(1, 1), (2, 2), (3, 3)], run.message
    assert quarantined(project, "extract") == {(1, -1, "open"): 1}
    assert counts(project, "extract") == (3, 1, 1, 1)
    project.sql(f"update {project.schema}.raw_extract set amount = -3 where id = 3")
    project.build("--select", "extract")
    # Nothing is left to load: that is no empty snapshot.
    assert rows(project, "extract") == [(1, 1), (2, 2), (3, 3)]
    assert counts(project, "extract") == (3, 0, 1, 2)
    project.sql(f"update {project.schema}.raw_extract set amount = id * 10")
    project.build("--select", "extract")
    assert rows(project, "extract") == [(1, 10), (2, 20), (3, 30)]
    # One that is held back and has no key may be that of any key: none is missing.
    project.sql(f"update {project.schema}.raw_extract set id = null, amount = -1 where id = 3")
    run = project.build("--select", "extract")
    assert rows(project, "extract") == [(1, 10), (2, 20), (3, 30)]
    assert "1 row that a rule holds back has no id, and nobody can tell which key" in sentence(
        run.log
    )


def test_a_bad_row_of_each_snapshot_is_held_once(project: Project) -> None:
    taken = source(
        project,
        "raw_taken",
        "id int, amount int, taken date",
        (1, 1, "2024-05-01"),
        (2, -2, "2024-05-01"),
    )
    settings = {
        "incremental_strategy": "snapshot_diff",
        "unique_key": "id",
        "snapshot_diff": {"version": "TAKEN"},
        "expectations": [POSITIVE],
    }
    project.model(
        "by_mark", incremental(taken, **settings, watermark={"column": "taken", "step": "1 day"})
    )
    config = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    project.model(
        "whole",
        f"{{{{ config(materialized='incremental', {config}) }}}} "
        f"select * from {taken} where taken = (select max(cast(taken as string)) from {taken})",
    )
    for rows_of_day in (
        [(1, 1, "2024-05-02"), (2, -2, "2024-05-02")],
        [(1, 1, "2024-05-03"), (2, -3, "2024-05-03")],
        [],
    ):
        project.build("--select", "by_mark", "whole")
        if rows_of_day:
            add(project, "raw_taken", *rows_of_day)
    for model in ("by_mark", "whole"):
        # Its version alone makes no other row of it; another amount does.
        assert quarantined(project, model) == {(2, -2, "open"): 1, (2, -3, "open"): 1}, model
        assert counts(project, model) == (2, 1, 0, 1)


def test_an_update_that_is_held_back_leaves_the_older_row(project: Project) -> None:
    orders = source(
        project,
        "raw_orders",
        "id int, amount int, at timestamp",
        (1, 1, "2024-05-01 01:00:00"),
        (2, 2, "2024-05-01 02:00:00"),
    )
    project.model(
        "orders",
        incremental(
            orders,
            expectations=[POSITIVE],
            incremental_strategy="merge",
            unique_key="id",
            watermark={"column": "at", "lookback": "1 day", "nulls": "include"},
        ),
    )
    project.build("--select", "orders")
    add(project, "raw_orders", (1, -1, "2024-05-01 03:00:00"), (3, -3, None), (3, -3, None))
    project.build("--select", "orders")
    assert rows(project, "orders") == [(1, 1), (2, 2)]
    held = {(1, -1, "open"): 1, (3, -3, "open"): 2}
    assert quarantined(project, "orders") == held
    # Read again by the lookback, and for want of a time: counted, and not quarantined twice.
    add(project, "raw_orders", (4, 4, "2024-05-01 04:00:00"))
    project.build("--select", "orders")
    assert quarantined(project, "orders") == held
    assert counts(project, "orders")[3] == 3
    # Another content is another row.
    add(project, "raw_orders", (1, -10, "2024-05-01 05:00:00"), (5, 7, None), (5, -5, None))
    project.build("--select", "orders")
    assert quarantined(project, "orders") == held | {(1, -10, "open"): 1, (5, -5, "open"): 1}
    # Of two rows without a time neither is the later one: a replay leaves the table's.
    replay = "{floodmark_replay: {set: {amount: abs(amount)}}}"
    project.build("--select", "orders", "--vars", replay)
    assert rows(project, "orders") == [(1, 10), (2, 2), (3, 3), (4, 4), (5, 7)]


def test_a_range_that_is_read_again_supersedes_its_open_rows(project: Project) -> None:
    feed = source(
        project,
        "raw_feed",
        "id int, amount int, at timestamp, day date",
        (1, -1, "2024-05-01 01:00:00", "2024-05-01"),
        (2, -2, "2024-05-02 01:00:00", "2024-05-02"),
        (3, 3, "2024-05-02 02:00:00", "2024-05-02"),
    )
    ways = {
        "appended": {},
        "merged": {"incremental_strategy": "merge", "unique_key": "id"},
        "overwritten": {"incremental_strategy": "insert_overwrite", "partition_by": "day"},
    }
    for name, settings in ways.items():
        project.model(
            name, incremental(feed, expectations=[POSITIVE], watermark={"column": "at"}, **settings)
        )
    project.build("--select", *ways)
    project.sql(f"update {project.schema}.raw_feed set amount = 2 where id = 2")
    project.build(
        "--select", *ways, "--vars", "{floodmark_backfill: {from: 2024-05-02, to: 2024-05-03}}"
    )
    for name in ways:
        assert rows(project, name) == [(2, 2), (3, 3)], name
        expected = {(1, -1, "open"): 1, (2, -2, "superseded"): 1}
        assert quarantined(project, name) == expected, name
    # A partition that is read again with its new rows.
    add(project, "raw_feed", (4, -4, "2024-05-02 04:00:00", "2024-05-02"))
    project.sql(f"update {project.schema}.raw_feed set amount = -3 where id = 3")
    project.build("--select", "overwritten")
    assert rows(project, "overwritten") == [(2, 2)]
    expected |= {(3, -3, "open"): 1, (4, -4, "open"): 1}
    assert quarantined(project, "overwritten") == expected
    # A partition of which no row is left.
    add(project, "raw_feed", (5, -5, "2024-05-02 05:00:00", "2024-05-02"))
    project.sql(f"update {project.schema}.raw_feed set amount = -2 where id = 2")
    project.build("--select", "overwritten")
    assert rows(project, "overwritten") == []
    project.sql(f"update {project.schema}.raw_feed set amount = 2 where id = 2")
    # A full refresh supersedes all that was open.
    project.build("--select", *ways, "--full-refresh")
    for name in ways:
        assert rows(project, name) == [(2, 2)], name
        opened = {row for row in quarantined(project, name) if row[2] == "open"}
        assert opened == {(n, -n, "open") for n in (1, 3, 4, 5)}, name


def test_a_row_that_lies_in_no_partition_is_held_back(project: Project) -> None:
    odd = source(
        project,
        "raw_odd",
        "id int, amount int, at timestamp, day date",
        (1, 1, "2024-05-01 01:00:00", "2024-05-01"),
        (2, 2, "2024-05-01 02:00:00", None),
    )
    fits = {"name": "fits", "expect": "day = cast(at as date)", "on_violation": "quarantine"}
    settings = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
    watermark = {"column": "at"}
    project.model("odd", incremental(odd, expectations=[fits], watermark=watermark, **settings))
    project.build("--select", "odd")
    assert rows(project, "odd") == [(1, 1)]
    # The last two lie above all rows that follow, one of them in a partition of long ago.
    add(project, "raw_odd", (3, 3, "2024-05-01 03:00:00", "2024-05-01"))
    add(project, "raw_odd", (4, 4, "2024-05-02 01:00:00", None))
    add(project, "raw_odd", (5, 5, "2024-05-02 02:00:00", "2024-04-30"))
    project.build("--select", "odd")
    assert rows(project, "odd") == [(1, 1), (3, 3)]
    assert quarantined(project, "odd") == {(id, id, "open"): 1 for id in (2, 4, 5)}
    assert counts(project, "odd") == (4, 2, 0, 2)
    # No other row came.
    add(project, "raw_odd", (6, 6, "2024-05-02 03:00:00", None))
    project.build("--select", "odd")
    assert rows(project, "odd") == [(1, 1), (3, 3)]
    assert quarantined(project, "odd") == {(id, id, "open"): 1 for id in (2, 4, 5, 6)}
    assert counts(project, "odd") == (1, 0, 0, 1)


def test_an_unfinished_batch_ends_under_the_rules_of_its_plan(project: Project) -> None:
    plain = source(
        project, "raw_plain", "id int, amount int, at timestamp", (1, 1, "2024-05-01 01:00:00")
    )
    settings = {"watermark": {"column": "at"}}
    names = ["judged", "unjudged"]
    for name in names:
        project.model(name, incremental(plain, expectations=[POSITIVE], **settings))
    project.build("--select", *names)
    add(project, "raw_plain", (2, -2, "2024-05-01 02:00:00"), (3, 3, "2024-05-01 03:00:00"))
    # One run dies when it has judged its rows, the other right behind its plan.
    cuts = {"judged": "after: __judged using", "unjudged": "after: 'planned'"}
    with injected(Faults(cuts=cuts)) as faults:
        run = project.dbt("run", "--select", *names)
    assert_cut(faults, run.status, cuts, exact=False)
    for name, rules in {"judged": [], "unjudged": [POSITIVE | {"on_violation": "warn"}]}.items():
        project.model(name, incremental(plain, expectations=rules, **settings))
    add(project, "raw_plain", (4, -4, "2024-05-01 04:00:00"))
    project.build("--select", *names)
    for name in names:
        assert rows(project, name) == [(1, 1), (3, 3), (4, -4)], name
        assert quarantined(project, name) == {(2, -2, "open"): 1}, name
        batches = project.ledger(name, "state, rows_read, rows_kept, rows_quarantined")
        assert batches[1:] == [("committed", 2, 1, 1), ("committed", 1, 1, 0)], name


def test_another_table_is_looked_into_at_the_version_of_the_plan(project: Project) -> None:
    source(project, "raw_looked", "id int, amount int, at timestamp", (1, 1, "2024-05-01 01:00:00"))
    source(project, "raw_known", "id int", (1,))
    project.model(
        "looked",
        "{{ config(materialized='incremental', watermark={'column': 'at'}, expectations=[{'name': 'known', "
        "'expect': floodmark.in_relation('id', ['raw', 'raw_known']), 'on_violation': 'quarantine'}]) }} "
        f"select * from {table('raw_looked')} where {{{{ floodmark.watermark_filter() }}}}",
    )
    add(project, "raw_looked", (2, 2, "2024-05-01 02:00:00"))

    def change() -> None:
        project.sql(f"update {project.schema}.raw_known set id = 2")

    # The batch is planned, and its rows are about to be judged.
    with injected(Faults({"looked": "before: __judged using"}, act=once(change))):
        project.build("--select", "looked")
    assert project.sql(f"select id from {project.schema}.raw_known") == [(2,)]
    assert rows(project, "looked") == [(1, 1)]
    assert quarantined(project, "looked") == {(2, 2, "open"): 1}
    add(project, "raw_looked", (1, 10, "2024-05-01 03:00:00"), (2, 20, "2024-05-01 04:00:00"))
    project.build("--select", "looked")
    assert rows(project, "looked") == [(1, 1), (2, 20)]
    assert quarantined(project, "looked") == {(2, 2, "open"): 1, (1, 10, "open"): 1}


def test_a_step_that_a_dead_run_left_may_be_old(project: Project) -> None:
    """The last batch of a catch-up tells how fresh the table is."""
    caught = source(
        project, "raw_caught", "id int, amount int, at timestamp", (1, 1, "2024-05-01 01:00:00")
    )
    fresh = {"name": "fresh", "fresh_within": "1 day", "column": "at", "on_violation": "fail"}
    watermark = {"column": "at", "step": "1 day"}
    project.model("caught", incremental(caught, watermark=watermark, expectations=[fresh]))
    project.build("--select", "caught")
    add(project, "raw_caught", (2, 2, "2024-05-02 02:00:00"), (3, 3, "2024-05-05 03:00:00"))
    project.sql(
        f"insert into {project.schema}.raw_caught values (4, 4, current_timestamp() - interval 1 minute)"
    )
    cuts = {"caught": "after: 'planned'"}
    with injected(Faults(cuts=cuts)) as faults:
        run = project.dbt("run", "--select", "caught")
    assert_cut(faults, run.status, cuts, exact=False)
    project.build("--select", "caught")
    assert rows(project, "caught") == [(1, 1), (2, 2), (3, 3), (4, 4)]
    assert {state for (state,) in project.ledger("caught", "state")} == {"committed"}


def test_corrupt_records_and_rules_share_a_quarantine(project: Project) -> None:
    folder = project.root / "landing"
    land(folder, {"1.json": lines({"id": 1, "amount": 1}, {"id": 2, "amount": -2}, "not JSON")})
    given = {"format": "json", "schema": "id int, amount int"}
    project.model(
        "landed",
        loader("landing", "*", config={"expectations": [POSITIVE]}, **given),
    )
    # Read straight, as nothing is corrupt.
    land(project.root / "clean", {"1.json": lines({"id": 1, "amount": 1}, {"id": 2, "amount": -2})})
    project.model(
        "clean",
        loader(
            "clean", "* except (_metadata), _metadata", config={"expectations": [POSITIVE]}, **given
        ),
    )
    project.build("--select", "landed clean")
    assert rows(project, "landed") == [(1, 1)] and rows(project, "clean") == [(1, 1)]
    kept = project.sql(
        "select id, _floodmark_rules, _floodmark_raw, _floodmark_line from "
        f"{project.schema}.landed__quarantine order by id"
    )
    assert [(row[0], row[2], row[3]) for row in kept] == [(None, "not JSON", 3), (2, None, None)]
    assert counts(project, "landed") == (3, 1, 0, 2)
    assert project.ledger("landed", "rows, rows_quarantined", "files") == [(2, 1)]
    [(file,)] = project.sql(f"select _floodmark_file from {project.schema}.clean__quarantine")
    assert file.endswith("clean/1.json")
    # The file comes again, right this time.
    assert counts(project, "clean") == (2, 1, 0, 1)


def test_a_type_that_changed_leaves_the_row_as_it_came(project: Project) -> None:
    typed = source(
        project,
        "raw_typed",
        "id int, amount int, at timestamp",
        (0, 5, "2024-05-01 00:00:00"),
        (1, -1, "2024-05-01 01:00:00"),
    )
    settings = {"watermark": {"column": "at"}, "expectations": [POSITIVE]}
    project.model("typed", incremental(typed, **settings))
    project.build("--select", "typed")
    add(project, "raw_typed", (2, -2, "2024-05-01 02:00:00"))
    project.model(
        "typed", incremental(typed, "id, amount - 0.5 as amount, at, 'new' as note", **settings)
    )
    project.build("--select", "typed")
    kept = project.sql(
        f"select id, amount, note, _floodmark_raw from {project.schema}.typed__quarantine order by id"
    )
    assert kept[0] == (1, -1, None, None)
    assert kept[1][:3] == (2, -2, "new") and '"amount":-2.5' in kept[1][3]
