"""RULES.md, 7 and 8: rows that a batch reads again are open once, whoever reads them, and whoever dies on the way."""

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
AT = {"watermark": {"column": "at"}, "expectations": [RULE]}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
OVERWRITE = {"incremental_strategy": "insert_overwrite", "partition_by": "day"}
CDC = {"incremental_strategy": "cdc", "unique_key": "id"}
TABLES = (
    "switched",
    "bounded",
    "lost",
    "restated",
    "partly",
    "given_up",
    "held_delete",
    "bare",
    "truncated",
    "landed",
    "reset",
    "widened",
    "recorded",
    "fed",
    "corrected",
    "sent_again",
)
COMMITTED = "before: insert into .*batch_log.*'committed'"
PLANNED = "before: insert into .*batch_log.*'planned'"


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("read_again")
    project.source(*TABLES)
    for name in TABLES:
        project.sql(
            f"create table {project.schema}.{name} (id int, amount int, at timestamp, n bigint) using delta"
        )
    return project


def arrive(project: Project, name: str, *rows: tuple[int, int, str]) -> None:
    """Rows of a table: id, amount, and a time of May 2024 such as '01 13:00'; `n` counts the hours."""
    given = [
        (id, amount, f"2024-05-{at}:00", int(at[:2]) * 24 + int(at[3:5])) for id, amount, at in rows
    ]
    project.sql(f"insert into {project.schema}.{name} values {values(given)}")


def found(project: Project, model: str) -> Counter:
    """Rows of a quarantine by their state."""
    return Counter(
        project.sql(
            f"select id, amount, _floodmark_state from {project.schema}.{model}__quarantine"
        )
    )


def is_open(project: Project, model: str) -> list[tuple[int, int]]:
    rows = found(project, model).elements()
    return sorted((id, amount) for id, amount, state in rows if state == "open")


def done(project: Project, *args: str) -> str:
    code, output = command(project, *args)
    assert code == 0, output
    return output


def die(project: Project, model: str, where: str, *args: str) -> None:
    with injected(Faults(cuts={model: where})):
        run = project.dbt("run", "--select", model, *args)
    assert run.status[model] == "error" and "cut before" in run.log, run.log[-3000:]


def asking(**asked: object) -> tuple[str, str]:
    return "--vars", json.dumps(asked)


def test_a_model_that_partitions_by_a_column_that_its_quarantine_lacks(project: Project) -> None:
    arrive(project, "switched", (1, 1, "01 01:00"), (2, -2, "01 02:00"))
    project.model("parted", incremental(table("switched"), "id, amount, at", **AT))
    project.build("--select", "parted")
    project.sql(f"update {project.schema}.switched set amount = 2 where id = 2")
    parted = incremental(
        table("switched"), "id, amount, at, cast(at as date) as day", **AT, **OVERWRITE
    )
    project.model("parted", parted)
    project.build("--select", "parted", "--full-refresh")
    assert found(project, "parted") == Counter({(2, -2, "superseded"): 1})
    arrive(project, "switched", (3, 3, "02 01:00"))
    project.build("--select", "parted")
    # The quarantine gets the column with the next row, and partitions are known from then on.
    arrive(project, "switched", (4, -4, "02 02:00"))
    project.build("--select", "parted")
    arrive(project, "switched", (5, 5, "02 03:00"))
    project.build("--select", "parted")
    assert is_open(project, "parted") == [(4, -4)]
    assert sorted(project.sql(f"select id from {project.schema}.parted")) == [
        (1,),
        (2,),
        (3,),
        (5,),
    ]


def test_a_backfill_of_partitions_supersedes_what_it_reads(project: Project) -> None:
    arrive(project, "bounded", (1, -1, "01 01:00"), (2, -2, "01 13:00"), (3, 3, "02 01:00"))
    select = "id, amount, at, cast(at as date) as day"
    project.model("bounds", incremental(table("bounded"), select, **AT, **OVERWRITE))
    project.build("--select", "bounds")
    assert is_open(project, "bounds") == [(1, -1), (2, -2)]
    done(project, "backfill", "bounds", "--from", "2024-05-01 12:00", "--to", "2024-05-02")
    # The day is read as a whole.
    states = Counter((id, -id, state) for id in (1, 2) for state in ("open", "superseded"))
    assert found(project, "bounds") == states
    day = ("--from", "2024-05-01", "--to", "2024-05-02")
    done(project, "backfill", "bounds", *day, "--step", "12 hours")
    assert is_open(project, "bounds") == [(1, -1), (2, -2)]
    # Nothing is judged: upstream has the rows no more.
    project.sql(f"delete from {project.schema}.bounded where id < 3")
    done(project, "backfill", "bounds", *day)
    assert is_open(project, "bounds") == []


def test_who_restates_says_the_batch(project: Project) -> None:
    settings = CDC | {"cdc": {"sequence_by": "n"}}
    arrive(project, "restated", (1, 1, "01 01:00"), (2, -2, "01 02:00"))
    for name in ("plain_died", "restatement_died"):
        project.model(name, incremental(table("restated"), "id, amount, n, at", **AT, **settings))
    project.build("--select", "plain_died", "restatement_died")
    project.sql(f"update {project.schema}.restated set amount = 2 where id = 2")
    again = asking(floodmark_restate={"from": 1})
    # A restatement that died behind its commit is finished by a plain run.
    die(project, "restatement_died", "before: update .*__quarantine", *again)
    assert is_open(project, "restatement_died") == [(2, -2)]
    project.build("--select", "restatement_died")
    assert found(project, "restatement_died") == Counter({(2, -2, "superseded"): 1})
    # And a plain batch that died there by a restatement, which dies before its own plan.
    arrive(project, "restated", (3, 3, "01 03:00"))
    die(project, "plain_died", COMMITTED)
    die(project, "plain_died", PLANNED, *again)
    assert found(project, "plain_died") == Counter({(2, -2, "open"): 1})


def test_a_restatement_supersedes_what_it_loads_alone(project: Project) -> None:
    """Keys below its sequence are judged with the feed and not rebuilt: their open rows stay open, once."""
    arrive(project, "partly", (1, 1, "01 01:00"), (2, -2, "01 02:00"), (3, -3, "03 01:00"))
    arrive(project, "partly", (4, -4, "03 02:00"), (5, 5, "03 03:00"))
    settings = CDC | {"cdc": {"sequence_by": "n"}}
    project.model("rebuilt", incremental(table("partly"), "id, amount, n, at", **AT, **settings))
    project.build("--select", "rebuilt")
    project.sql(f"update {project.schema}.partly set amount = abs(amount) where id in (2, 3)")
    project.build("--select", "rebuilt", *asking(floodmark_restate={"from": 49}))
    assert is_open(project, "rebuilt") == [(2, -2), (4, -4)]
    assert found(project, "rebuilt")[(3, -3, "superseded")] == 1
    assert sorted(project.sql(f"select id from {project.schema}.rebuilt")) == [(1,), (3,), (5,)]


@pytest.mark.parametrize("way", ["backfill", "restatement"])
def test_what_reads_again_and_dies_leaves_the_row_open(project: Project, way: str) -> None:
    """Each row of its range is held back, so the table gets none of it."""
    name = f"given_up_{way}"
    if way == "backfill":
        arrive(project, "given_up", (1, 1, "01 01:00"), (2, -2, "02 01:00"))
    settings = MERGE if way == "backfill" else CDC | {"cdc": {"sequence_by": "n"}}
    project.model(name, incremental(table("given_up"), "id, amount, n, at", **AT, **settings))
    project.build("--select", name)
    asked = (
        {"floodmark_backfill": {"from": "2024-05-02", "to": "2024-05-03"}}
        if way == "backfill"
        else {"floodmark_restate": {"from": 49}}
    )
    cut = "after: update .*__quarantine" if way == "backfill" else COMMITTED
    die(project, name, cut, *asking(**asked))
    project.build("--select", name)
    assert is_open(project, name) == [(2, -2)]
    assert {state for (state,) in project.ledger(name, "state")} == {"committed"}


def test_a_replay_that_writes_beside_the_table_alone(project: Project) -> None:
    """A delete of a key without rows: only the state table gets it, and must not lose it again."""
    asked = RULE | {"deletes": True}
    cdc = {"sequence_by": "n", "stored_as_scd_type": 2, "apply_as_deletes": "amount < 0"}
    settings = CDC | {"cdc": cdc, "watermark": {"column": "at"}}
    select = "id, amount, cast(abs(amount) as bigint) as n, at"
    arrive(project, "held_delete", (1, 10, "01 01:00"), (9, -20, "01 02:00"))
    project.model(
        "held_delete_of",
        incremental(table("held_delete"), select, expectations=[asked], **settings),
    )
    project.build("--select", "held_delete_of")
    assert is_open(project, "held_delete_of") == [(9, -20)]
    project.model("held_delete_of", incremental(table("held_delete"), select, **settings))
    die(
        project,
        "held_delete_of",
        "after: merge into .*__quarantine",
        *asking(floodmark_replay={"where": "true"}),
    )
    # A late event below the delete's sequence ends where the delete is.
    arrive(project, "held_delete", (9, 15, "01 03:00"))
    project.build("--select", "held_delete_of")
    assert found(project, "held_delete_of") == Counter({(9, -20, "replayed"): 1})
    rows = project.sql(
        f"select id, __start_at, __end_at from {project.schema}.held_delete_of order by 1"
    )
    assert rows == [(1, 10, None), (9, 15, 20)]


def test_files_that_are_replaced_by_a_run_that_died(project: Project) -> None:
    model = loader(
        "landing",
        "id, _metadata.file_path as path",
        format="json",
        schema="id int",
        allow_overwrites="replace",
        on_corrupt="quarantine",
    )
    project.model("replaced", model)
    land(project.root / "landing", {"a.json": lines({"id": 1}, "not JSON")})
    project.build("--select", "replaced")
    land(project.root / "landing", {"a.json": lines({"id": 7}, {"id": 8}, "nor this")})
    die(project, "replaced", "before: update .*__quarantine")
    project.build("--select", "replaced")
    assert project.sql(
        "select _floodmark_raw, _floodmark_state from "
        f"{project.schema}.replaced__quarantine order by 1"
    ) == [("nor this", "open"), ("not JSON", "superseded")]


def test_a_file_that_comes_again_leaves_each_row_open_once(project: Project) -> None:
    model = loader(
        "overwritten",
        "id, amount",
        MERGE | {"expectations": [RULE]},
        format="json",
        schema="id int, amount int",
        allow_overwrites="append",
        on_corrupt="quarantine",
    )
    project.model("comes_again", model)
    first, folder = {"id": 2, "amount": -2}, project.root / "overwritten"
    land(
        folder,
        {"f.json": lines(first, "no JSON"), "g.json": lines({"id": 1, "amount": 1}, "no JSON")},
    )
    project.build("--select", "comes_again")
    land(folder, {"f.json": lines(first, "no JSON", {"id": 3, "amount": -3})})
    project.build("--select", "comes_again")
    done(project, "files", "comes_again", "--forget", "f.json")
    project.build("--select", "comes_again")
    held = Counter({(2, -2, "open"): 1, (3, -3, "open"): 1, (None, None, "open"): 2})
    assert found(project, "comes_again") == held
    done(project, "quarantine", "replay", "comes_again", "--set", "amount = abs(amount)")
    rows = sorted(project.sql(f"select id, amount from {project.schema}.comes_again"))
    assert rows == [(1, 1), (2, 2), (3, 3)]


def test_of_the_readings_of_a_row_a_replay_loads_the_last(project: Project) -> None:
    """Rows that were corrected in place to what breaks the rule, too; of eight keys, so that no hash decides as well."""
    again = AT | {"watermark": {"column": "at", "lookback": "1 day"}}
    config = {"materialized": "incremental", "expectations": [RULE]} | MERGE
    settings = ", ".join(f"{name}={value!r}" for name, value in config.items())
    models = {
        "corrected_by_time": incremental(table("corrected"), "id, amount, at", **MERGE, **again),
        "corrected_whole": f"{{{{ config({settings}) }}}}\nselect id, amount from {table('corrected')}",
    }
    keys = range(1, 9)

    def corrected(by: int, hour: int) -> None:
        """The source has other values, and the models read them: of each row this reading alone is open."""
        project.sql(
            f"update {project.schema}.corrected set amount = -id - {by} where id in (1, 2, 3, 4, 5, 6, 7, 8)"
        )
        arrive(project, "corrected", (18 + hour, 20, f"01 0{hour}:00"))
        project.build("--select", *models)
        for name in models:
            assert is_open(project, name) == [(key, -key - by) for key in keys], name

    arrive(project, "corrected", (0, 5, "01 00:30"), *((key, -key, "01 01:00") for key in keys))
    for name, sql in models.items():
        project.model(name, sql)
    project.build("--select", *models)
    # To another value and back: what was read first comes again.
    corrected(100, hour=2)
    corrected(0, hour=3)
    # An earlier version left all readings open.
    project.sql(
        f"update {project.schema}.corrected_whole__quarantine set _floodmark_state = 'open'"
    )
    others = [(20, 20), (21, 20)]
    states = {"corrected_by_time": {"replayed", "superseded"}, "corrected_whole": {"replayed"}}
    for name in models:
        done(project, "quarantine", "replay", name, "--set", "amount = abs(amount)")
        rows = sorted(project.sql(f"select id, amount from {project.schema}.{name}"))
        assert rows == [(0, 5), *((key, key) for key in keys), *others], name
        assert {state for *_, state in found(project, name)} == states[name]
    # What comes behind a replay is open again; the table has a row of its time, which stays.
    corrected(100, hour=4)
    others.append((22, 20))
    for name in models:
        done(project, "quarantine", "replay", name, "--set", "amount = abs(amount)")
        rows = sorted(project.sql(f"select id, amount from {project.schema}.{name}"))
        assert rows == [(0, 5), *((key, key) for key in keys), *others], name
        assert is_open(project, name) == []
    # Two rows of a key in one batch, and the replay gives both one time.
    arrive(project, "corrected", *((key, -key - 200, "01 05:00") for key in keys))
    project.model("retimed", incremental(table("corrected"), "id, amount, at", **MERGE, **AT))
    project.build("--select", "retimed")
    given = ("--set", "amount = abs(amount)", "--set", "at = timestamp'2024-05-02'")
    done(project, "quarantine", "replay", "retimed", *given)
    rows = sorted(project.sql(f"select id, amount from {project.schema}.retimed"))
    assert rows == [(0, 5), *((key, key + 200) for key in keys), *others]


def test_an_event_that_differs_in_what_the_table_does_not_keep_is_open_once(
    project: Project,
) -> None:
    lists = {
        "left_out": {"except_column_list": ["loaded_at"]},
        "listed": {"column_list": ["id", "amount"]},
    }
    select = "id, amount, n, at, current_timestamp() as loaded_at"
    arrive(project, "sent_again", (1, 1, "01 01:00"), (2, -2, "01 02:00"))
    for name, listed in lists.items():
        settings = CDC | {"cdc": {"sequence_by": "n"} | listed, "expectations": [RULE]}
        again = {"column": "at", "lookback": "1 day"}
        project.model(name, incremental(table("sent_again"), select, watermark=again, **settings))
        config = ", ".join(f"{key}={value!r}" for key, value in settings.items())
        project.model(
            f"{name}_whole",
            f"{{{{ config(materialized='incremental', {config}) }}}}\n"
            f"select {select} from {table('sent_again')}",
        )
    models = [*lists, *(f"{name}_whole" for name in lists)]
    project.build("--select", *models)
    arrive(project, "sent_again", (3, 3, "01 03:00"))
    project.build("--select", *models)
    for name in models:
        assert is_open(project, name) == [(2, -2)], name


def test_rows_without_a_key_of_two_files_are_both_open(project: Project) -> None:
    """NULL is no key: the second one is no correction of the first."""
    folder = project.root / "keyless"
    project.model(
        "keyless",
        loader(
            str(folder),
            schema="id int, amount int",
            config=MERGE
            | {"expectations": [RULE | {"name": "has_id", "expect": "id is not null"}]},
        ),
    )
    for name, amount in {"a.json": 1, "b.json": 2}.items():
        land(folder, {name: lines({"id": amount, "amount": amount}, {"amount": amount})})
        project.build("--select", "keyless")
    assert found(project, "keyless") == Counter({(None, 1, "open"): 1, (None, 2, "open"): 1})


def test_a_range_whose_rows_do_not_tell_their_place(project: Project) -> None:
    """Without the watermark's column what is read again stays out; what came changed is open beside it."""
    arrive(project, "bare", (1, 1, "01 01:00"), (2, -2, "02 01:00"), (3, -3, "02 02:00"))
    project.model("bare_rows", incremental(table("bare"), "id, amount", **AT, **MERGE))
    project.build("--select", "bare_rows")
    day = ("--from", "2024-05-02", "--to", "2024-05-03")
    done(project, "backfill", "bare_rows", *day)
    assert is_open(project, "bare_rows") == [(2, -2), (3, -3)]
    # Once the SELECT gives it, a backfill supersedes what has it, and leaves what has not.
    project.sql(f"delete from {project.schema}.bare where id = 2")
    arrive(project, "bare", (4, -4, "02 03:00"))
    select = "id, amount, at"
    settings = {"on_schema_change": "append_new_columns"}
    project.model("bare_rows", incremental(table("bare"), select, **AT, **MERGE, **settings))
    project.build("--select", "bare_rows")
    done(project, "backfill", "bare_rows", "--from", "2024-05-02 03:00", "--to", "2024-05-03")
    assert found(project, "bare_rows")[4, -4, "superseded"] == 1
    assert is_open(project, "bare_rows") == [(2, -2), (3, -3), (4, -4)]
    # And where it gives it no more, what is superseded comes anew.
    project.model("bare_rows", incremental(table("bare"), "id, amount", **AT, **MERGE, **settings))
    done(project, "backfill", "bare_rows", "--from", "2024-05-02 03:00", "--to", "2024-05-03")
    assert is_open(project, "bare_rows") == [(2, -2), (3, -3), (4, -4)]


def test_a_range_whose_rows_have_another_value_of_the_select(project: Project) -> None:
    """By its day a row that the backfill does not read lies in the range: it stays open."""
    arrive(project, "truncated", (1, -1, "01 10:00"), (2, 5, "01 05:00"))
    select = "id, amount, date_trunc('day', at) as at"
    models = {"by_day": MERGE, "by_day_added": {}}
    for name, settings in models.items():
        project.model(name, incremental(table("truncated"), select, **AT, **settings))
    project.build("--select", *models)
    done(project, "backfill", "by_day", "--from", "2024-05-01", "--to", "2024-05-01 06:00")
    assert found(project, "by_day") == Counter({(1, -1, "open"): 1})
    # Read again, it stays out.
    done(project, "backfill", "by_day", "--from", "2024-05-01", "--to", "2024-05-02")
    assert found(project, "by_day") == Counter({(1, -1, "open"): 1})
    for name in models:
        said = done(project, "reset", name, "--to", "2024-05-01 07:00:00", "--reason", "again")
        assert "Its quarantine does not tell which of its 1 open row lies above it: discard" in said
        assert is_open(project, name) == [(1, -1)]


def test_a_mark_that_goes_back_reads_open_rows_again(project: Project) -> None:
    arrive(project, "reset", (1, -1, "01 01:00"), (2, -2, "02 01:00"), (3, 3, "02 02:00"))
    ways = {"appended": {}, "merged": MERGE, "placeless": MERGE, "from_start": MERGE}
    for name, settings in ways.items():
        select = "id, amount" if name == "placeless" else "id, amount, at"
        watermark = {"column": "at"} | ({"start": "2024-05-02"} if name == "from_start" else {})
        model = incremental(table("reset"), select, **settings, **AT | {"watermark": watermark})
        project.model(name, model)
    project.build("--select", *ways)
    project.sql(f"delete from {project.schema}.appended where at > '2024-05-01 12:00:00'")
    for name in ("appended", "merged", "placeless"):
        said = done(project, "reset", name, "--to", "2024-05-01 12:00:00", "--reason", "again")
        superseded = "Open rows of its quarantine above it are superseded: they come again."
        unknown = "Its quarantine does not tell which of its 2 open rows lie above it: discard"
        assert (unknown if name == "placeless" else superseded) in said, said
    done(project, "reset", "from_start", "--reason", "again")
    assert is_open(project, "from_start") == []
    project.build("--select", *ways)
    assert is_open(project, "appended") == is_open(project, "merged") == [(1, -1), (2, -2)]
    assert is_open(project, "from_start") == [(2, -2)]
    done(project, "quarantine", "replay", "appended", "--set", "amount = abs(amount)")
    rows = sorted(project.sql(f"select id, amount from {project.schema}.appended"))
    assert rows == [(1, 1), (2, 2), (3, 3)]


def test_a_reset_beside_a_batch_that_landed_goes_back_from_its_mark(project: Project) -> None:
    """Its rows are in the table, and append loads those above the new mark again."""
    arrive(project, "landed", (1, 1, "01 01:00"))
    model = incremental(table("landed"), "id, amount, at", watermark={"column": "at"})
    project.model("landed_rows", model)
    project.build("--select", "landed_rows")
    arrive(project, "landed", (2, 2, "02 01:00"))
    die(project, "landed_rows", COMMITTED)
    said = done(
        project, "reset", "landed_rows", "--to", "2024-05-01 12:00:00", "--reason", "a test"
    )
    assert (
        "(it was 2024-05-02 01:00:00.000000). append loads the rows above it again: delete them first"
        in sentence(said)
    )


def test_a_batch_that_landed_is_recorded_without_a_run_of_its_own(project: Project) -> None:
    """By a full refresh that fails, or by a reset: what it read again is open once. Changes a run alone can tell."""
    name, reset = "recorded_rows", ("--to", "2024-05-01 02:00:00", "--reason", "a test")
    arrive(project, "recorded", (1, 1, "01 01:00"), (2, -2, "01 02:00"))
    project.model(name, incremental(table("recorded"), "id, amount, at", **AT))
    project.sql(
        f"alter table {project.schema}.fed set tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    arrive(project, "fed", (1, 1, "01 01:00"))
    settings = MERGE | {"watermark": {"kind": "version"}, "expectations": [RULE]}
    config = ", ".join(f"{key}={value!r}" for key, value in settings.items())
    project.model(
        "fed_rows",
        f"{{{{ config(materialized='incremental', {config}) }}}}\n"
        "select id, amount, _change_type, _commit_version from {{ floodmark.changes(source('raw', 'fed')) }}\n",
    )
    project.build("--select", name, "fed_rows")
    for end in ("reset", "full refresh"):
        die(project, name, "before: update .*__quarantine", "--full-refresh")
        assert is_open(project, name) == [(2, -2), (2, -2)], end
        if end == "reset":
            done(project, "reset", name, *reset)
        else:
            die(project, name, PLANNED, "--full-refresh")
        assert is_open(project, name) == [(2, -2)], end

    project.sql(f"update {project.schema}.fed set amount = -5 where id = 1")
    project.build("--select", "fed_rows")
    project.sql(f"update {project.schema}.fed set amount = 7 where id = 1")
    die(project, "fed_rows", "before: merge into .*__quarantine")
    code, output = command(project, "reset", "fed_rows", "--to", "1", "--reason", "a test")
    assert code == 1 and "run the model first, which finishes the batch" in sentence(output), output
    project.build("--select", "fed_rows")
    assert found(project, "fed_rows") == Counter({(1, -5, "superseded"): 1})


def test_a_column_whose_type_gets_wider_leaves_each_row_open_once(project: Project) -> None:
    """What the quarantine's own type cannot keep is another row."""
    arrive(project, "widened", (1, 1, "01 01:00"), (2, -2, "01 02:00"))
    wider = ("bigint", "double", "string")
    settings = MERGE | {"watermark": {"column": "at", "lookback": "2 days"}}
    rules = {"expectations": [RULE | {"expect": "cast(amount as double) > 0"}]}
    for name in wider:
        narrow = incremental(table("widened"), "id, amount, at", **rules, **settings)
        project.model(f"wider_{name}", narrow)
    models = [f"wider_{name}" for name in wider]
    project.build("--select", *models)
    for name in wider:
        select = f"id, cast(amount as {name}) as amount, at"
        project.model(f"wider_{name}", incremental(table("widened"), select, **rules, **settings))
    arrive(project, "widened", (3, 3, "02 01:00"))
    project.build("--select", *models)
    for name in models:
        assert is_open(project, name) == [(2, -2)], name
    select = "id, if(id = 2, -3000000000L, amount) as amount, at"
    project.model("wider_bigint", incremental(table("widened"), select, **rules, **settings))
    arrive(project, "widened", (4, 4, "02 02:00"))
    project.build("--select", "wider_bigint")
    held = project.sql(
        f"select amount, _floodmark_raw like '%-3000000000%' from {project.schema}.wider_bigint__quarantine"
    )
    assert Counter(held) == Counter({(-2, None): 1, (None, True): 1})
