"""What stays open, and what does not: rules that are gone, ranges with NULLs, restated keys, runs that died."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.files import land, lines, loader
from tests.support.harness import Project, incremental, sentence, table, values

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

RULE = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("superseded")
    project.source(
        "raw", "feed", "stores", "visits", "days", "weeks", "poor", "extracts", "hours", "lands"
    )
    project.sql(f"create table {project.schema}.raw (id int, amount int, n bigint) using delta")
    rows = [(1, 1, 1), (2, -2, 2), (3, 3, 3), (4, -4, None)]
    project.sql(f"insert into {project.schema}.raw values {values(rows)}")
    project.sql(f"create table {project.schema}.feed (id int, amount int, n bigint) using delta")
    events = [(1, 1, 1), (2, -2, 2), (3, 3, 3)]
    project.sql(f"insert into {project.schema}.feed values {values(events)}")
    project.sql(f"create table {project.schema}.stores using delta as select 1 as store")
    return project


def states(project: Project, model: str) -> Counter[tuple[int, str]]:
    return Counter(
        project.sql(f"select id, _floodmark_state from {project.schema}.{model}__quarantine")
    )


def done(project: Project, *args: str) -> str:
    code, output = command(project, *args)
    assert code == 0, output
    return output


def test_rows_of_a_range_are_not_loaded_twice_where_the_rule_is_gone(project: Project) -> None:
    watermark = {"column": "n", "nulls": "exclude"}
    project.model("gone", incremental(table("raw"), watermark=watermark, expectations=[RULE]))
    project.build("--select", "gone")
    project.model("gone", incremental(table("raw"), watermark=watermark))
    done(project, "backfill", "gone", "--from", "1", "--to", "4")
    assert states(project, "gone") == Counter({(2, "superseded"): 1})
    assert sorted(project.sql(f"select id from {project.schema}.gone")) == [(1,), (2,), (3,)]


def test_rows_without_a_mark_are_open_once_after_each_step(project: Project) -> None:
    watermark = {"column": "n", "nulls": "include"}
    project.model(
        "nulls", incremental(table("raw"), watermark=watermark, expectations=[RULE], **MERGE)
    )
    project.build("--select", "nulls")
    done(project, "backfill", "nulls", "--from", "1", "--to", "4", "--step", "1")
    found = states(project, "nulls")
    assert (found[2, "open"], found[4, "open"]) == (1, 1), found


def test_a_restatement_leaves_each_row_open_once(project: Project) -> None:
    project.model(
        "restated",
        incremental(
            table("feed"),
            incremental_strategy="cdc",
            unique_key="id",
            cdc={"sequence_by": "n"},
            watermark={"column": "n"},
            expectations=[RULE],
        ),
    )
    project.build("--select", "restated")
    done(project, "restate", "restated", "--from", "1")
    assert states(project, "restated") == Counter({(2, "open"): 1})


def test_a_table_that_was_dropped_supersedes_without_rules(project: Project) -> None:
    watermark = {"column": "n", "nulls": "exclude"}
    project.model("anew", incremental(table("raw"), watermark=watermark, expectations=[RULE]))
    project.build("--select", "anew")
    project.sql(f"drop table {project.schema}.anew")
    project.model("anew", incremental(table("raw"), watermark=watermark))
    project.build("--select", "anew")
    assert states(project, "anew") == Counter({(2, "superseded"): 1})


def test_a_run_that_finishes_anothers_commit_tells_what_was_violated(project: Project) -> None:
    """The run that died behind its commit told nothing: a rule of severity error fails the one that finds it."""
    warned = RULE | {"on_violation": "warn", "severity": "error"}
    watermark = {"column": "n", "nulls": "exclude"}
    project.model("told", incremental(table("raw"), watermark=watermark, expectations=[warned]))
    with injected(Faults(cuts={"told": "before: insert into .*batch_log.*'committed'"})):
        assert project.dbt("run", "--select", "told").status["told"] == "error"
    run = project.dbt("run", "--select", "told")
    assert run.status["told"] == "error"
    assert "expectation positive (warn): 1 of 3 rows violates amount > 0, such as" in sentence(
        run.log
    ) and "The batch is committed: severity error fails the node" in sentence(run.log)
    assert project.dbt("run", "--select", "told").success
    assert project.ledger("told", "state") == [("committed",)]


def test_an_error_ends_the_node_behind_its_last_batch(project: Project) -> None:
    """A run that ended behind the first violation would load one step each time."""
    never = {"name": "never", "expect": "false", "severity": "error"}
    watermark = {"column": "n", "nulls": "exclude", "step": 1}
    project.model("stepped", incremental(table("raw"), watermark=watermark, expectations=[never]))
    run = project.dbt("run", "--select", "stepped")
    assert run.status["stepped"] == "error"
    told = sentence(run.log)
    assert "expectation never (warn): 1 of 1 row violates false" in told
    assert "The batch is committed: severity error fails the node" in told
    assert sorted(project.sql(f"select id from {project.schema}.stepped")) == [(1,), (2,), (3,)]
    assert project.ledger("stepped", "state") == [("committed",)] * 3
    assert project.dbt("run", "--select", "stepped").success


def test_a_later_batch_that_is_rejected_hides_no_error(project: Project) -> None:
    """The first batch is committed, and no later run judges its rows again."""
    other = {"name": "other", "expect": "id <> 1", "severity": "error"}
    small = {"name": "small", "expect": "id < 2", "on_violation": "fail"}
    watermark = {"column": "n", "nulls": "exclude", "step": 1}
    rules = {"expectations": [other, small]}
    project.model("hidden", incremental(table("raw"), watermark=watermark, **rules))
    run = project.dbt("run", "--select", "hidden")
    assert run.status["hidden"] == "error"
    assert "expectation other (warn): 1 of 1 row violates id <> 1, such as" in sentence(run.log)
    assert "small is violated by 1 row" in sentence(project.ledger("hidden", "error")[-1][0])
    assert project.ledger("hidden", "state") == [("committed",), ("failed",)]


def test_rows_of_files_that_are_gone_stay_open(project: Project) -> None:
    files = {"format": "json", "schema": "id int, amount int"}
    for name, line in {"held": '{"id":1,"amount":-1}', "corrupt": "no JSON"}.items():
        project.model(
            name, loader(name, "*", {"expectations": [RULE]}, **files, rescued_data_column=False)
        )
        land(project.root / name, {"a.json": line})
    project.build("--select", "held", "corrupt")
    for name in ("held", "corrupt"):
        (project.root / name / "a.json").unlink()
        land(project.root / name, {"b.json": '{"id":2,"amount":2}'})
    project.build("--select", "held", "corrupt")
    kinds = {"held": ["first_load", "incremental"], "corrupt": ["first_load", "first_load"]}
    for name, row in {"held": (1, "open"), "corrupt": (None, "open")}.items():
        assert states(project, name) == Counter({row: 1}), name
        assert project.sql(f"select id from {project.schema}.{name}") == [(2,)]
        assert [kind for (kind,) in project.ledger(name, "kind")] == kinds[name]
    told = project.ledger("held", "path", "files")
    assert sorted(path.rpartition("/")[2] for (path,) in told) == ["a.json", "b.json"]
    # A table that somebody emptied is loaded again, of the files that are there.
    project.sql(f"delete from {project.schema}.held")
    project.build("--select", "held")
    assert states(project, "held") == Counter({(1, "open"): 1})
    assert project.sql(f"select id from {project.schema}.held") == [(2,)]


def test_a_rule_does_not_look_into_the_row_where_the_relation_lacks_the_column(
    project: Project,
) -> None:
    for name, its in (("looked_up", "id"), ("looked_in", "abs(id)")):
        rules = (
            f"[{{'name': 'there', 'expect': floodmark.in_relation('{its}', ['raw', 'stores'])}}]"
        )
        project.model(
            name,
            "{{ config(materialized='incremental', watermark={'column': 'n', 'from': 'raw.raw', "
            "'nulls': 'exclude'}, expectations="
            f"{rules}) }}}} select * from {table('raw')} where {{{{ floodmark.watermark_filter() }}}}",
        )
    run = project.dbt("run", "--select", "looked_up", "looked_in")
    assert run.status["looked_up"] == run.status["looked_in"] == "error"
    assert "expectations.there.expect" in sentence(run.message["looked_up"])
    assert "`_floodmark_in`.`id`" in sentence(run.message["looked_up"])
    said = f"a rule looks for abs(id) in {project.schema}.stores: "
    assert said in sentence(run.message["looked_in"])


def test_a_replay_is_not_asked_of_its_size(project: Project) -> None:
    few = {"name": "few", "rows": {"min": 2}, "on_violation": "fail"}
    some = RULE | {"max_violation_fraction": 0.5}
    watermark = {"column": "n", "nulls": "exclude"}
    project.model("sized", incremental(table("raw"), watermark=watermark, expectations=[some, few]))
    project.build("--select", "sized")
    out = done(project, "quarantine", "replay", "sized")
    assert "1 stays open" in out
    out = done(project, "quarantine", "replay", "sized", "--set", "amount = 2")
    assert "1 inserted" in out
    assert states(project, "sized") == Counter({(2, "replayed"): 1})


def test_columns_that_changed_their_type_stop_no_batch(project: Project) -> None:
    """Fields find theirs by name; what cannot be cast is NULL; and the row as it came stands beside them."""
    settings = {"watermark": {"column": "n", "nulls": "exclude"}, "expectations": [RULE]}
    who = "named_struct('first', 'a', 'last', 'b') as who"
    project.model(
        "shapes",
        incremental(table("raw"), f"id, amount, n, {who}, date'2024-01-01' as at", **settings),
    )
    project.build("--select", "shapes")
    who = "named_struct('last', 'z', 'middle', 'm', 'first', 'y') as who"
    project.model("shapes", incremental(table("raw"), f"id, amount, n, {who}, 7 as at", **settings))
    project.build("--select", "shapes", "--full-refresh")
    [(shape, at, raw)] = project.sql(
        f"select to_json(who), at, _floodmark_raw from {project.schema}.shapes__quarantine "
        "where _floodmark_state = 'open'"
    )
    assert (json.loads(shape), at) == ({"first": "y", "last": "z"}, None)
    came = json.loads(raw)
    assert (came["at"], came["who"]) == (7, {"last": "z", "middle": "m", "first": "y"})


def test_fields_in_another_order_are_held_and_replayed_as_they_came(project: Project) -> None:
    """Also what JSON cannot hold: bytes that are not UTF-8, and a map whose keys are not strings."""
    settings = {"watermark": {"column": "n", "nulls": "exclude"}, "expectations": [RULE]}
    text = "'text', cast(x'FF41' as string)"
    first = f"named_struct({text}, 'kinds', map(1, named_struct('a', 1, 'b', 2))) as who"
    second = f"named_struct('kinds', map(1, named_struct('b', 2, 'a', 1)), {text}) as who"
    project.model("ordered", incremental(table("raw"), f"id, amount, n, {first}", **settings))
    project.build("--select", "ordered")
    project.model("ordered", incremental(table("raw"), f"id, amount, n, {second}", **settings))
    project.build("--select", "ordered", "--full-refresh")
    held = project.sql(
        f"select hex(who.text), to_json(who.kinds), _floodmark_raw from {project.schema}.ordered__quarantine "
        "where _floodmark_state = 'open'"
    )
    assert held == [("FF41", '{"1":{"a":1,"b":2}}', None)]
    done(project, "quarantine", "replay", "ordered", "--set", "amount = 2")
    found = f"select hex(who.text), who.kinds[1].a, who.kinds[1].b from {project.schema}.ordered"
    assert project.sql(f"{found} where id = 2") == [("FF41", 1, 2)]


def test_a_table_of_the_user_is_no_quarantine(project: Project) -> None:
    """Nor is a node of the project, even one that copies a quarantine."""
    names, held = ("mine", "noded"), "select 1 as id, 'open' as _floodmark_state"
    project.sql(f"create table {project.schema}.mine__quarantine using delta as {held}")
    copy = f"{{{{ config(materialized='table') }}}} {held}, 'a' as _floodmark_id"
    project.model("noded__quarantine", copy)
    for name in names:
        by_n = {"watermark": {"column": "n", "nulls": "exclude"}}
        project.model(name, incremental(table("raw"), **by_n))
    project.build("--select", "mine", "noded", "noded__quarantine")
    project.build("--select", "mine", "noded", "--full-refresh")
    for name in names:
        done(project, "reset", name, "--to", "1")
        told = done(project, "maintain", "--select", name, "--vacuum-days", "0", "--dry-run")
        assert f"vacuum {project.schema}.`{name}`" in told and "__quarantine" not in told
        code, output = command(project, "quarantine", "show", name)
        assert code == 1 and "it has no quarantine" in sentence(output), output
        states = f"select _floodmark_state from {project.schema}.{name}__quarantine"
        assert project.sql(states) == [("open",)]
    listed = json.loads(done(project, "quarantine", "list", "--json"))["quarantine"]
    assert not {row["model"] for row in listed} & {f"{project.schema}.{name}" for name in names}


def test_no_row_goes_into_a_table_of_the_user(project: Project) -> None:
    project.sql(f"create table {project.schema}.named__quarantine using delta as select 1 as id")
    watermark = {"column": "n", "nulls": "exclude"}
    project.model("named", incremental(table("raw"), watermark=watermark, expectations=[RULE]))
    run = project.dbt("run", "--select", "named")
    (project.root / "models/named.sql").unlink()
    said = f"in {project.schema}.named__quarantine, and another table has that name: rename the other table"
    assert said in sentence(run.message["named"])
    assert project.sql(f"select * from {project.schema}.named__quarantine") == [(1,)]
    failed = ("failed", "another table has the name of its quarantine")
    assert project.ledger("named", "state, error") == [failed]


def test_partitions_that_are_read_again_supersede_without_rules(project: Project) -> None:
    settings = {
        "incremental_strategy": "insert_overwrite",
        "partition_by": "day",
        "watermark": {"column": "at"},
    }
    project.sql(
        f"create table {project.schema}.days (id int, amount int, at timestamp, day date) using delta"
    )
    rows = [
        (1, 1, "2024-05-01 01:00:00", "2024-05-01"),
        (2, -2, "2024-05-01 02:00:00", "2024-05-01"),
    ]
    rows += [(3, -3, "2024-05-02 01:00:00", "2024-05-02")]
    project.sql(f"insert into {project.schema}.days values {values(rows)}")
    project.model("parted", incremental(table("days"), expectations=[RULE], **settings))
    project.build("--select", "parted")
    assert states(project, "parted") == Counter({(2, "open"): 1, (3, "open"): 1})
    # The rule is gone, and a new row has its whole day read again.
    project.model("parted", incremental(table("days"), **settings))
    rows = [(4, 4, "2024-05-02 02:00:00", "2024-05-02")]
    project.sql(f"insert into {project.schema}.days values {values(rows)}")
    project.build("--select", "parted")
    assert sorted(project.sql(f"select id from {project.schema}.parted")) == [(1,), (3,), (4,)]
    assert states(project, "parted") == Counter({(2, "open"): 1, (3, "superseded"): 1})


def test_partitions_of_which_nothing_is_left_were_read_again(project: Project) -> None:
    """The SELECT filters what it groups. One model's run dies, and another finishes its batch."""
    visits, names = f"{project.schema}.visits", ("few", "few_left")
    project.sql(f"create table {visits} (id int, ts timestamp) using delta")
    settings = {
        "incremental_strategy": "insert_overwrite",
        "partition_by": "day",
        "watermark": {"column": "ts"},
        "expectations": [{"name": "several", "expect": "n > 1", "on_violation": "quarantine"}],
    }
    select = "cast(ts as date) as day, max(ts) as ts, count(*) as n"
    for name in names:
        having = " group by 1 having count(*) < 3"
        project.model(name, incremental(table("visits"), select, where=having, **settings))

    def held(name: str) -> list[tuple]:
        return project.sql(
            f"select cast(day as string), _floodmark_state from {project.schema}.{name}__quarantine"
        )

    project.sql(
        f"insert into {visits} values (1, timestamp'2024-01-02 08:00:00'), (2, timestamp'2024-01-02 09:00:00')"
    )
    project.build("--select", *names)
    project.sql(f"insert into {visits} values (3, timestamp'2024-01-03 08:00:00')")
    project.build("--select", *names)
    for name in names:
        assert held(name) == [("2024-01-03", "open")], name
    project.sql(
        f"insert into {visits} values (4, timestamp'2024-01-03 09:00:00'), (5, timestamp'2024-01-03 10:00:00')"
    )
    with injected(Faults(cuts={"few_left": "before: update .*__quarantine"})):
        assert project.dbt("run", "--select", *names).status["few_left"] == "error"
    project.build("--select", *names)
    for name in names:
        assert held(name) == [("2024-01-03", "superseded")], name
        found = f"select cast(day as string), n from {project.schema}.{name}"
        assert project.sql(found) == [("2024-01-02", 2)], name


def test_a_batch_that_another_run_planned_supersedes_without_rules(project: Project) -> None:
    """That run died before it staged the batch; the one that takes it over does."""
    settings = {
        "incremental_strategy": "insert_overwrite",
        "partition_by": "day",
        "watermark": {"column": "at"},
    }
    weeks = f"{project.schema}.weeks"
    project.sql(f"create table {weeks} (id int, amount int, at timestamp, day date) using delta")
    rows = [(1, -1, "2024-05-02 01:00:00", "2024-05-02")]
    project.sql(f"insert into {weeks} values {values(rows)}")
    project.model("planned", incremental(table("weeks"), expectations=[RULE], **settings))
    project.build("--select", "planned")
    project.model("planned", incremental(table("weeks"), **settings))
    rows = [(2, 2, "2024-05-02 02:00:00", "2024-05-02")]
    project.sql(f"insert into {weeks} values {values(rows)}")
    with injected(Faults(cuts={"planned": "after: batch_log with .*planned"})):
        assert not project.dbt("run", "--select", "planned").success
    project.build("--select", "planned")
    assert sorted(project.sql(f"select id from {project.schema}.planned")) == [(1,), (2,)]
    assert states(project, "planned") == Counter({(1, "superseded"): 1})


def test_a_struct_keeps_the_fields_that_have_a_type(project: Project) -> None:
    settings = {"watermark": {"column": "n", "nulls": "exclude"}, "expectations": [RULE]}
    who = "named_struct('first', 'a', 'last', null) as who, array() as nothing"
    project.model("part_typed", incremental(table("raw"), f"id, amount, n, {who}", **settings))
    project.build("--select", "part_typed")
    [(shape, raw)] = project.sql(
        f"select to_json(who), _floodmark_raw from {project.schema}.part_typed__quarantine"
    )
    assert (json.loads(shape), raw) == ({"first": "a"}, None)


def test_a_new_ledger_gives_no_number_of_the_quarantine_again(project: Project) -> None:
    """A batch 1 would leave the rows of the other batch 1 open, and delete them if it fails."""
    watermark = {"column": "n", "nulls": "exclude"}
    project.model("moved", incremental(table("raw"), watermark=watermark, expectations=[RULE]))
    project.build("--select", "moved")
    other = f"{project.schema}_other"
    project.build("--select", "moved", "--full-refresh", "--vars", f"{{floodmark_schema: {other}}}")
    held = project.sql(
        f"select id, _floodmark_batch_id, _floodmark_state from {project.schema}.moved__quarantine "
        "order by 2"
    )
    assert held == [(2, 1, "superseded"), (2, 2, "open")]
    assert sorted(project.sql(f"select id from {project.schema}.moved")) == [(1,), (3,)]
    project.sql(f"drop schema {other} cascade")
    # A first load into a table that has rows reads all of them again, whatever the lookback.
    looks = {"watermark": {"column": "n", "nulls": "exclude", "lookback": 1}}
    project.model("looks", incremental(table("raw"), expectations=[RULE], **looks, **MERGE))
    project.build("--select", "looks")
    project.build("--select", "looks", "--vars", f"{{floodmark_schema: {other}}}")
    assert states(project, "looks") == Counter({(2, "superseded"): 1, (2, "open"): 1})
    project.sql(f"drop schema {other} cascade")


def test_a_first_load_of_which_no_row_is_kept_is_not_repeated(project: Project) -> None:
    """Rows that were discarded would be open again. A table that somebody empties is loaded anew all the same."""
    poor = f"{project.schema}.poor"
    project.sql(f"create table {poor} (id int, amount int, at timestamp, day date) using delta")
    rows = [(n, -n, f"2024-05-02 0{n}:00:00", "2024-05-02") for n in (1, 2)]
    project.sql(f"insert into {poor} values {values(rows)}")
    parted = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
    ways = {"poor_rows": {}, "poor_keys": MERGE, "poor_parts": parted, "poor_made": {}}
    ways["poor_events"] = {
        "incremental_strategy": "cdc",
        "unique_key": "id",
        "cdc": {"sequence_by": "at"},
    }
    # Somebody has made two of the tables.
    for name in ("poor_made", "poor_events"):
        made = f"{project.schema}.{name}"
        project.sql(f"create table {made} (id int, amount int, at timestamp, day date) using delta")
    for name, settings in ways.items():
        settings = settings | {"watermark": {"column": "at"}, "expectations": [RULE]}
        project.model(name, incremental(table("poor"), **settings))
    project.build("--select", *ways)
    for name in ways:
        done(project, "quarantine", "discard", name, "--where", "id = 1", "--reason", "a test")
    project.build("--select", *ways)
    for name in ways:
        assert states(project, name) == Counter({(1, "discarded"): 1, (2, "open"): 1}), name
        assert project.ledger(name, "kind") == [("first_load",)], name
    rows = [(3, 3, "2024-05-03 03:00:00", "2024-05-03")]
    project.sql(f"insert into {poor} values {values(rows)}")
    for kind in ("incremental", "first_load"):
        project.build("--select", *ways)
        for name in ways:
            assert project.sql(f"select id from {project.schema}.{name}") == [(3,)], name
            assert project.ledger(name, "kind")[-1] == (kind,), name
            project.sql(f"delete from {project.schema}.{name}")
    for name in ways:
        assert states(project, name)[1, "open"] == 1, name


def test_extracts_and_files_of_a_table_by_hand_are_not_loaded_again(project: Project) -> None:
    """No row of theirs is kept at first. The files have a column more than the table."""
    s, names = project.schema, ("made_extracts", "made_files")
    project.sql(f"create table {s}.extracts (id int, amount int, day date) using delta")
    rows = [(n, -n, "2024-05-02") for n in (1, 2)]
    project.sql(f"insert into {s}.extracts values {values(rows)}")
    settings = {
        "incremental_strategy": "snapshot_diff",
        "unique_key": "id",
        "snapshot_diff": {"version": "day"},
        "watermark": {"column": "day", "step": "1 day"},
    }
    project.model("made_extracts", incremental(table("extracts"), expectations=[RULE], **settings))
    files = {"format": "json", "schema": "id int, amount int"}
    project.model("made_files", loader("made_files", config={"expectations": [RULE]}, **files))
    land(project.root / "made_files", {"a.json": lines(*({"id": n, "amount": -n} for n in (1, 2)))})
    project.sql(f"create table {s}.made_extracts (id int, amount int, day date) using delta")
    project.sql(f"create table {s}.made_files (id int, amount int) using delta")
    project.build("--select", *names)
    for name in names:
        done(project, "quarantine", "discard", name, "--where", "id = 1", "--reason", "a test")
    project.build("--select", *names)
    for name in names:
        assert states(project, name) == Counter({(1, "discarded"): 1, (2, "open"): 1}), name
        assert project.ledger(name, "kind") == [("first_load",)], name
    project.sql(f"insert into {s}.extracts values {values([(3, 3, '2024-05-03')])}")
    land(project.root / "made_files", {"b.json": lines({"id": 3, "amount": 3})})
    project.build("--select", *names)
    for name in names:
        assert project.sql(f"select id from {s}.{name}") == [(3,)], name
        assert project.ledger(name, "kind") == [("first_load",), ("incremental",)], name


def test_an_hour_that_comes_twice_is_two_partitions(project: Project) -> None:
    """In New York 05:30Z and 06:30Z of this day are both half past one: the second is another hour's."""
    s = project.schema
    day = "timestamp'2024-11-03 {}Z'"
    project.sql(f"create table {s}.hours (id int, amount int, t timestamp) using delta")
    rows = [(1, 5, "05:10:00"), (2, -1, "05:30:00"), (3, 5, "05:45:00")]

    def arrive(*rows: tuple[int, int, str]) -> None:
        moments = ", ".join(f"({id}, {amount}, {day.format(at)})" for id, amount, at in rows)
        project.sql(f"insert into {s}.hours values {moments}")

    arrive(*rows)
    for name, rules in (("hours_judged", [RULE]), ("hours_free", [])):
        project.model(name, by_hour([RULE]))
        project.build("--select", name)
        assert states(project, name) == Counter({(2, "open"): 1})
        project.model(name, by_hour(rules))
    arrive((4, 5, "06:30:00"))
    project.build("--select", "hours_judged", "hours_free")
    for name in ("hours_judged", "hours_free"):
        assert states(project, name) == Counter({(2, "open"): 1}), name
    # What is read again is superseded: the hour of the row itself.
    arrive((5, 5, "05:50:00"))
    done(
        project,
        "backfill",
        "hours_judged",
        "--from",
        "2024-11-03 05:00",
        "--to",
        "2024-11-03 06:00",
    )
    assert states(project, "hours_judged")[2, "superseded"] == 1
    assert sorted(project.sql(f"select id from {s}.hours_judged")) == [(1,), (3,), (4,), (5,)]


def by_hour(rules: list[dict[str, str]]) -> str:
    return incremental(
        table("hours"),
        "id, amount, t, date_trunc('hour', t) as part",
        incremental_strategy="insert_overwrite",
        partition_by="part",
        watermark={"column": "t"},
        expectations=rules,
        pre_hook="set time zone 'America/New_York'",
    )


def test_a_key_that_is_no_utf8_is_found_in_its_partition(project: Project) -> None:
    """Delta keeps U+FFFD for such bytes in the value of a partition: a held row is not missing, nor is one to reconcile."""
    s = project.schema
    project.sql(f"create table {s}.lands (land string, id int, amount int) using delta")
    project.sql(f"insert into {s}.lands values (cast(X'D673746572' as string), 1, 5), ('de', 2, 5)")
    by_land = "unique_key=['land', 'id'], partition_by='land'"
    project.model(
        "lands_extract",
        "{{ config(materialized='incremental', incremental_strategy='snapshot_diff', "
        f"{by_land}, expectations={[RULE]!r}) }}}} select * from {table('lands')}",
    )
    project.model(
        "lands_merged",
        incremental(
            table("lands"),
            incremental_strategy="merge",
            unique_key=["land", "id"],
            partition_by="land",
            watermark={"column": "id"},
        ),
    )
    project.build("--select", "lands_extract", "lands_merged")
    project.sql(f"update {s}.lands set amount = -1 where id = 1")
    project.build("--select", "lands_extract")
    found = sorted(project.sql(f"select id, amount from {s}.lands_extract"))
    assert found == [(1, 5), (2, 5)]
    report = json.loads(done(project, "reconcile", "lands_merged", "--json"))
    assert (report["missing"], report["repeated"]) == (0, 0), report
