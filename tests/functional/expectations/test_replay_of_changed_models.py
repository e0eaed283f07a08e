"""A replay of rows that were held back before their model got other columns, or other types."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.harness import Project, incremental, sentence, table

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

RULE = {"name": "positive", "expect": "amount > 0", "on_violation": "quarantine"}
MERGE = {"incremental_strategy": "merge", "unique_key": "id"}
CDC = {
    "incremental_strategy": "cdc",
    "unique_key": "id",
    "cdc": {
        "sequence_by": "n",
        "apply_as_deletes": "gone",
        "except_column_list": ["gone"],
        "stored_as_scd_type": 2,
    },
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("changed_models")
    project.source("raw")
    project.sql(
        f"create table {project.schema}.raw using delta as select * from values "
        "(1, 1, 1L, 'x'), (2, -2, 2L, 'y'), (3, -3, 3L, 'z') as t(id, amount, n, left_out)"
    )
    return project


def held(project: Project, name: str, select: str, **settings: object) -> None:
    """Load a model, of which rows 2 and 3 are held back."""
    project.model(name, model_text(select, **settings))
    project.build("--select", name)
    assert states(project, name) == {2: "open", 3: "open"}


def model_text(select: str, **settings: object) -> str:
    config = {"watermark": {"column": "n"}, "expectations": [RULE]} | settings
    return incremental(table("raw"), select, **config)


def states(project: Project, name: str) -> dict[int, str]:
    return dict(
        project.sql(f"select id, _floodmark_state from {project.schema}.{name}__quarantine")
    )


def replay(project: Project, name: str, *args: str) -> str:
    code, output = command(project, "quarantine", "replay", name, *args)
    assert code == 0, output
    return output


def rows(project: Project, name: str, columns: str) -> list[tuple]:
    return sorted(project.sql(f"select {columns} from {project.schema}.{name}"))


@pytest.mark.parametrize("mode", ["fail", "sync_all_columns", "append_new_columns", "ignore"])
def test_columns_that_came_and_went(project: Project, mode: str) -> None:
    """The table has a column that the quarantine lacks, and lacks one that the quarantine has."""
    name = f"mode_{mode}"
    held(project, name, "id, amount, n, left_out", on_schema_change=mode)
    project.sql(
        f"alter table {project.schema}.{name} set tblproperties ('delta.columnMapping.mode' = 'name')"
    )
    project.sql(f"alter table {project.schema}.{name} drop column left_out")
    project.sql(f"alter table {project.schema}.{name} add column currency string")
    priced = {"name": "priced", "expect": "currency is not null", "on_violation": "quarantine"}
    project.model(
        name,
        model_text(
            "id, amount, n, 'EUR' as currency", on_schema_change=mode, expectations=[RULE, priced]
        ),
    )
    # The rule asks for the new column, which old rows do not have.
    output = replay(project, name, "--set", "amount = abs(amount)", "--where", "id = 2")
    assert "1 stays open" in output, output
    replay(project, name, "--set", "amount = abs(amount)", "--set", "currency = 'USD'")
    found = rows(project, name, "id, amount, currency")
    assert found == [(1, 1, None), (2, 2, "USD"), (3, 3, "USD")]
    assert states(project, name) == {2: "replayed", 3: "replayed"}


def test_a_column_that_has_left_the_model_keeps_its_value(project: Project) -> None:
    """As in a run: the quarantine has the column, and the row that was held back later has no value in it."""
    project.source("raw", "notes")
    notes = f"{project.schema}.notes"
    project.sql(
        f"create table {notes} using delta as select * from values "
        "(1, 1, 'a', 1L), (2, -2, 'b', 2L) as t(id, amount, note, n)"
    )
    latest = {"incremental_strategy": "cdc", "unique_key": "id", "cdc": {"sequence_by": "n"}}
    models: dict[str, dict[str, object]] = {"noted": MERGE, "noted_events": latest}
    for select in ("id, amount, note, n", "id, amount, n"):
        for name, settings in models.items():
            config = {"watermark": {"column": "n"}, "expectations": [RULE]} | settings
            project.model(name, incremental(table("notes"), select, **config))
        project.build("--select", *models)
        if "note" in select:
            project.sql(f"insert into {notes} values (1, -5, 'c', 3)")
    for name in models:
        assert states(project, name) == {1: "open", 2: "open"}
        replay(project, name, "--set", "amount = abs(amount)")
        assert rows(project, name, "id, amount, note") == [(1, 5, "a"), (2, 2, None)], name


def test_a_field_that_only_rows_of_the_quarantine_have(project: Project) -> None:
    """A run would add it to the table with its first row, and so does a replay."""
    project.source("raw", "notes", "shapes")
    shapes = f"{project.schema}.shapes"
    project.sql(
        f"create table {shapes} using delta as select * from values "
        "(1, 1, 1L), (2, -2, 2L) as t(id, amount, n)"
    )
    replayed: dict[str, tuple[int, int]] = {"grown": (2, 3), "grown_rows": (3, 2)}
    for struct in ("named_struct('a', id)", "named_struct('a', id, 'b', 'x' || id)"):
        for name in replayed:
            settings: dict[str, object] = MERGE if name == "grown_rows" else {}
            config = {"watermark": {"column": "n"}, "expectations": [RULE]} | settings
            project.model(
                name,
                incremental(
                    table("shapes"),
                    f"id, amount, n, {struct} as s",
                    on_schema_change="append_new_columns",
                    **config,
                ),
            )
        project.build("--select", *replayed)
        if "'b'" not in struct:
            project.sql(f"insert into {shapes} values (3, -3, 3)")
    given = {2: ("--set", "s = named_struct('b', 'y', 'a', 7)"), 3: ()}
    for name, ids in replayed.items():
        assert states(project, name) == {2: "open", 3: "open"}
        for id in ids:
            words = ("--where", f"id = {id}", "--set", "amount = abs(amount)", *given[id])
            replay(project, name, *words)
        found = rows(project, name, "id, amount, s.a, s.b")
        assert found == [(1, 1, 1, None), (2, 2, 7, "y"), (3, 3, 3, "x3")], name


def test_a_contract_that_has_changed(project: Project) -> None:
    columns = [
        {"name": "id", "data_type": "int"},
        {"name": "amount", "data_type": "int"},
        {"name": "n", "data_type": "bigint"},
        {"name": "currency", "data_type": "string"},
    ]
    models = {"models": [{"name": "contracted", "columns": columns}]}
    (project.root / "models" / "contracts.yml").write_text(json.dumps(models))
    held(project, "contracted", "id, amount, n", **MERGE)
    project.sql(f"alter table {project.schema}.contracted add column currency string")
    project.model(
        "contracted",
        model_text(
            "id, amount, n, cast('EUR' as string) as currency",
            contract={"enforced": True},
            on_schema_change="append_new_columns",
            **MERGE,
        ),
    )
    replay(project, "contracted", "--set", "amount = abs(amount)")
    assert rows(project, "contracted", "id, amount, currency") == [
        (1, 1, None),
        (2, 2, None),
        (3, 3, None),
    ]


@pytest.mark.parametrize(
    ("name", "settings", "added"),
    [
        ("widened", MERGE, {}),
        (
            "widened_events",
            CDC,
            dict.fromkeys(("__start_at", "__end_at", "_floodmark_sequence"), "bigint"),
        ),
    ],
)
def test_a_type_that_select_and_contract_changed_alike(
    project: Project, name: str, settings: dict[str, object], added: dict[str, str]
) -> None:
    """The table keeps its own, in which the rows of the quarantine come: the contract is of the SELECT."""
    for type in ("int", "bigint"):
        types = {"id": "int", "amount": "int", "n": "bigint", "qty": type} | added
        columns = [f"  - {{name: {column}, data_type: {types[column]}}}" for column in types]
        select = f"id, amount, n, cast(id as {type}) as qty"
        select += ", false as gone" if settings is CDC else ""
        enforced = {"contract": {"enforced": True}, "on_schema_change": "append_new_columns"}
        sql = model_text(select, **enforced, **settings)
        project.model(name, sql, "\n".join(["columns:", *columns]))
        project.build("--select", name)
    assert states(project, name) == {2: "open", 3: "open"}
    replay(project, name, "--set", "amount = abs(amount)")
    found = rows(project, name, "id, amount, qty, typeof(qty)")
    assert found == [(1, 1, 1, "int"), (2, 2, 2, "int"), (3, 3, 3, "int")]


def test_events_keep_the_columns_that_their_settings_name(project: Project) -> None:
    held(project, "events", "id, amount, n, false as gone", on_schema_change="fail", **CDC)
    project.sql(f"alter table {project.schema}.events add column currency string")
    project.model(
        "events",
        model_text(
            "id, amount, n, false as gone, 'EUR' as currency", on_schema_change="fail", **CDC
        ),
    )
    replay(project, "events", "--set", "amount = abs(amount)")
    found = rows(project, "events", "id, amount, currency, __start_at, __end_at")
    assert found == [(1, 1, None, 1, None), (2, 2, None, 2, None), (3, 3, None, 3, None)]


def test_settings_that_name_a_column_that_came_later(project: Project) -> None:
    """As of any new column, the row has NULL there: the event is no delete."""
    latest = {"sequence_by": "n", "stored_as_scd_type": 2}
    before: dict[str, dict[str, object]] = {"named_events": CDC | {"cdc": latest}, "named": MERGE}
    after = {"named_events": CDC, "named": MERGE | {"merge_exclude_columns": ["gone"]}}
    for name, settings in after.items():
        held(project, name, "id, amount, n", **before[name])
        project.model(name, model_text("id, amount, n, false as gone", **settings))
        replay(project, name, "--set", "amount = abs(amount)")
        assert rows(project, name, "id, amount") == [(1, 1), (2, 2), (3, 3)], name


def test_a_replay_into_a_table_with_a_char(project: Project) -> None:
    """Delta reads none in a MERGE, and takes the one that names no column: a batch ends by it that has no row, or is
    given up."""
    chars = f"{project.schema}.chars"
    project.sql(
        f"create table {chars} (id int, amount int, n bigint, left_out char(5)) using delta"
    )
    held(project, "chars", "id, amount, n, left_out")
    assert "2 stay open" in replay(project, "chars")
    asked = json.dumps({"floodmark_replay": {"set": {"amount": "abs(amount)"}}})
    with injected(Faults(cuts={"chars": r"before: insert into \S*\.`?chars\W"})):
        assert not project.dbt("run", "--select", "chars", "--vars", asked).success
    project.build("--select", "chars")
    replay(project, "chars", "--set", "amount = abs(amount)")
    assert rows(project, "chars", "id, amount") == [(1, 1), (2, 2), (3, 3)]


def test_a_value_that_came_in_another_type(project: Project) -> None:
    """The quarantine keeps the type of before, and the row as it came: that is what is replayed."""
    watermark = {"column": "n"}
    bad = {"name": "ready", "expect": "n = 1", "on_violation": "quarantine"}
    settings = {"watermark": watermark, "expectations": [bad], "on_schema_change": "ignore"}
    kept = (
        ", cast(concat('1234567890123456789', id, '.123456789012345678') as decimal(38, 18)) as exact, "
        "map(7, '1.10') as m, named_struct('d', 1234567890123456.78BD, 't', array('1.10')) as deep, "
        "cast(1.10 as decimal(4, 2)) as texted, map(id, 1.50BD) as turned"
    )
    before = (
        "id, amount, n, 1 as code, timestamp'2024-01-01' as at, named_struct('a', 1) as s" + kept
    )
    project.model("typed", incremental(table("raw"), before, **settings))
    project.build("--select", "typed")
    after = (
        "id, amount + 0.5 as amount, n, 'A' || id as code, "
        "timestamp'2024-01-01 10:00:00.123456' as at, named_struct('b', 'x', 'a', 7L) as s"
    ) + kept.replace("cast(1.10 as decimal(4, 2))", "cast(1234567890123456.70BD + id as string)")
    project.model("typed", incremental(table("raw"), after, **settings))
    project.build("--select", "typed", "--full-refresh")
    kept = project.sql(
        f"select id, amount, code from {project.schema}.typed__quarantine "
        "where _floodmark_state = 'open' order by id"
    )
    assert [row[0] for row in kept] == [2, 3] and kept[0][2] is None
    assert kept[0][1] in (-1, -2), "the quarantine's own type cannot hold the half"
    replay(project, "typed", "--set", "n = 1")
    found = rows(project, "typed", "id, cast(amount as string), code, cast(at as string), s.a, s.b")
    time = "2024-01-01 10:00:00.123456"
    assert found == [
        (1, "1.5", "A1", time, 7, "x"),
        (2, "-1.5", "A2", time, 7, "x"),
        (3, "-2.5", "A3", time, 7, "x"),
    ]
    # Types that stayed, beside others that changed, and a number that is a text now.
    exact = rows(
        project,
        "typed",
        "id, cast(exact as string), to_json(m), to_json(deep), texted, to_json(turned)",
    )
    assert exact == [
        (
            number,
            f"1234567890123456789{number}.123456789012345678",
            '{"7":"1.10"}',
            '{"d":1234567890123456.78,"t":["1.10"]}',
            f"123456789012345{6 + number}.70",
            f'{{"{number}":1.50}}',
        )
        for number in (1, 2, 3)
    ]


def test_a_value_whose_type_of_before_has_no_cast_to_it(project: Project) -> None:
    """And one whose column is spelt otherwise since."""
    before = "id, amount, n, 20240501 as day, named_struct('a', id) as shape, id as code"
    held(project, "recast", before)
    after = "id, amount, n, date'2024-05-01' as day, cast(id as bigint) as shape, 'A' || id as Code"
    project.model("recast", model_text(after))
    project.build("--select", "recast", "--full-refresh")
    replay(project, "recast", "--set", "amount = abs(amount)")
    assert rows(project, "recast", "id, cast(day as string), shape, code") == [
        (number, "2024-05-01", number, f"A{number}") for number in (1, 2, 3)
    ]


def test_a_number_of_many_digits_that_came_in_another_type(project: Project) -> None:
    settings = {
        "watermark": {"column": "n"},
        "expectations": [RULE],
        "on_schema_change": "ignore",
    }
    maps = "map('a', 1) as texts, map(date'2024-01-01', 1) as m"
    before = f"id, amount, n, cast(1 as decimal(38, 2)) as price, {maps}"
    project.model("digits", incremental(table("raw"), before, **settings))
    project.build("--select", "digits")
    after = (
        "id, amount, n, cast(id + 123456789012345678.123456789BD as decimal(38, 9)) as price, "
        "map(id, 1) as texts, map(id, 1) as m"
    )
    project.model("digits", incremental(table("raw"), after, **settings))
    project.build("--select", "digits", "--full-refresh")
    # A map whose keys the quarantine cannot hold, nor JSON: another value has to be given.
    words = ("quarantine", "replay", "digits", "--set", "amount = 1")
    code, output = command(project, *words)
    assert code == 1 and "`m` is map<int,int> in the table and cannot hold: {" in sentence(output)
    replay(project, "digits", "--set", "amount = 1", "--set", "m = map(id, 1)")
    columns = "id, cast(price as string), to_json(texts), to_json(m)"
    assert rows(project, "digits", columns) == [
        (number, f"{123456789012345678 + number}.123456789", *[f'{{"{number}":1}}'] * 2)
        for number in (1, 2, 3)
    ]


def test_a_value_that_the_table_cannot_hold_stops_the_replay(project: Project) -> None:
    settings = {"watermark": {"column": "n"}, "on_schema_change": "ignore"}
    project.model("narrow", incremental(table("raw"), expectations=[RULE], **settings))
    project.build("--select", "narrow")
    project.sql(f"insert into {project.schema}.raw values (4, -4, 4, 'w')")
    halves = "id, amount - 0.5 as amount, n, left_out"
    project.model("narrow", incremental(table("raw"), halves, expectations=[RULE], **settings))
    project.build("--select", "narrow")
    project.model("narrow", incremental(table("raw"), halves, expectations=[], **settings))
    code, output = command(project, "quarantine", "replay", "narrow", "--where", "id = 4")
    assert code == 1
    expected = "`amount` is int in the table and cannot hold: -4.5. Give it another value with set"
    assert expected in sentence(output), output
    assert states(project, "narrow")[4] == "open"
    replay(project, "narrow", "--where", "id = 4", "--set", "amount = -4")
    assert (4, -4) in rows(project, "narrow", "id, amount")
    project.sql(f"delete from {project.schema}.raw where id = 4")
