"""cdc beside its cases: what is refused, keys and payloads of every type, truncates, columns that come and go, replays."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.functional.test_cdc import HISTORY, cdc, held
from tests.harness import FULL, Project, sentence, table

pytestmark = pytest.mark.long("session")

REFUSED = {
    "null_key": (
        "select cast(null as string) as k, 1L as seq, 'x' as v",
        {},
        '1 event has no k: {"seq":1,"v":"x","op":"u","arrived":1}. Nothing was written: leave them out in the SELECT, or give them a value',
    ),
    "null_sequence": (
        "select 'a' as k, cast(null as bigint) as seq, 'x' as v union all select 'b', null, 'y'",
        {},
        '2 events have no sequence (seq): {"k":"a","v":"x","op":"u","arrived":1}, {"k":"b","v":"y","op":"u","arrived":1}. Nothing was written',
    ),
    "unorderable": (
        "select 'a' as k, map('a', 1) as seq, 'x' as v",
        {},
        'cdc.sequence_by: got "seq map<string,int>"; expected a type that has an order. Use a number, a time or a text',
    ),
    "own_prefix": (
        "select 'a' as k, 1L as seq, 'x' as _floodmark_v",
        {},
        'cdc: got "a column _floodmark_v in the SELECT"; expected no column that floodmark writes itself. Leave it out or give it another name',
    ),
    "start_column": (
        "select 'a' as k, 1L as seq, 'x' as __start_at",
        {"stored_as_scd_type": 2},
        'cdc: got "a column __start_at in the SELECT"; expected no column that floodmark writes itself',
    ),
    "no_key_column": (
        "select 'a' as key, 1L as seq",
        {},
        'unique_key: got "k"; expected a column of the SELECT that the table keeps. Add it to the SELECT, or correct the name',
    ),
    "key_left_out": (
        "select 'a' as k, 1L as seq, 'x' as v",
        {"column_list": ["v"], "except_column_list": None},
        "expected a column of the SELECT that the table keeps. Add it to the SELECT and to column_list",
    ),
    "unknown_column": (
        "select 'a' as k, 1L as seq, 'x' as v",
        {"except_column_list": ["op", "sequence"]},
        'cdc.except_column_list: got "sequence"; expected columns of the SELECT. Correct the name or remove it',
    ),
    "no_condition": (
        "select 'a' as k, 1L as seq, 'x' as v",
        {"apply_as_deletes": "op"},
        'cdc.apply_as_deletes: got "op string"; expected a condition',
    ),
    "map_key": (
        "select map('a', 1) as k, 1L as seq, 'x' as v",
        {},
        'unique_key: got "k map<string,int>"; expected a type that can be compared',
    ),
}
STATIC = {
    "no_cdc": (
        "incremental_strategy='cdc'",
        "",
        "cdc: got null; expected a mapping such as {'sequence_by': 'sequence_num'}",
    ),
    "merge_with_cdc": (
        "incremental_strategy='merge'",
        "cdc={'sequence_by': 'seq'}",
        "incremental_strategy: got \"merge\"; expected 'cdc' with cdc={...}",
    ),
    "no_sequence": (
        "incremental_strategy='cdc'",
        "cdc={'stored_as_scd_type': 2}",
        "cdc.sequence_by: got null; expected a column or an expression, or a list of them",
    ),
    "misspelt": (
        "incremental_strategy='cdc'",
        "cdc={'sequence_by': 'seq', 'apply_as_delete': 'x'}",
        'cdc.apply_as_delete: got "x"; expected one of sequence_by, stored_as_scd_type',
    ),
    "both_lists": (
        "incremental_strategy='cdc'",
        "cdc={'sequence_by': 'seq', 'column_list': ['k'], 'except_column_list': ['v']}",
        'cdc.column_list: got ["k"]; expected column_list or except_column_list, not both',
    ),
    "type_3": (
        "incremental_strategy='cdc'",
        "cdc={'sequence_by': 'seq', 'stored_as_scd_type': 3}",
        "cdc.stored_as_scd_type: got 3; expected 1 or 2",
    ),
    "truncated_history": (
        "incremental_strategy='cdc'",
        "cdc={'sequence_by': 'seq', 'stored_as_scd_type': 2, 'apply_as_truncates': 'x', 'tombstone_ttl': '1 day'}",
        'cdc.apply_as_truncates: got "x"; expected stored_as_scd_type 1 with it',
    ),
    "tracked_latest": (
        "incremental_strategy='cdc'",
        "cdc={'sequence_by': 'seq', 'track_history_column_list': ['v']}",
        'cdc.track_history_column_list: got ["v"]; expected stored_as_scd_type 2 with it',
    ),
    "ttl": (
        "incremental_strategy='cdc'",
        "cdc={'sequence_by': 'seq', 'tombstone_ttl': 'soon'}",
        "cdc.tombstone_ttl: got \"soon\"; expected a duration such as '30 days'",
    ),
    "merge_columns": (
        "incremental_strategy='cdc', merge_update_columns=['v']",
        "cdc={'sequence_by': 'seq'}",
        "merge_update_columns: got [\"v\"]; expected no such setting with 'cdc'",
    ),
}


def feed(project: Project, name: str, rows: str) -> None:
    """A feed of one batch, from a SELECT of its columns but `op` and `arrived`."""
    project.sql(
        f"create table {project.schema}.{name} using delta as select *, 'u' as op, 1 as arrived from ({rows})"
    )


def test_what_is_refused_names_setting_and_rows(make_project: Callable[..., Project]) -> None:
    project = make_project("refused")
    for name, (rows, settings, _) in REFUSED.items():
        feed(project, f"f_{name}", rows)
        project.model(
            name, cdc(f"f_{name}", **({"except_column_list": ["op", "arrived", "seq"]} | settings))
        )
    project.source(*(f"f_{name}" for name in REFUSED))
    for name, (config, setting, _) in STATIC.items():
        project.model(
            name,
            f"{{{{ config(materialized='incremental', unique_key='k', {config}, {setting or 'meta={}'}, "
            "watermark={'column': 'arrived', 'gaps': 'ignore'}) }}"
            f"select * from {table('f_null_key')} where {{{{ floodmark.watermark_filter() }}}}",
        )
    run = project.dbt("run")
    for name, found in {**REFUSED, **STATIC}.items():
        assert run.status[name] == "error", name
        assert found[2] in sentence(run.message[name]), (name, run.message[name])
    tables = {row[1] for row in project.sql(f"show tables in {project.schema}")}
    assert not tables & set(REFUSED)
    stages = [
        row[1]
        for row in project.sql(f"show tables in {project.schema}_floodmark")
        if "stage__" in row[1]
    ]
    assert stages == []


TYPED = (
    "select cast(1.10 as decimal(10,2)) as k1, timestamp'2024-03-31 01:30:00.000001Z' as k2, X'00FF' as k3, "
    "named_struct('a', 1, 'b', cast(null as string)) as `odd ``key`, {seq} as seq, '{op}' as op, {arrived} as arrived, "
    "named_struct('x', {n}, 'y', named_struct('z', 'deep {n}')) as s, array({n}, null) as a, map('m', {n}) as m"
)


@pytest.mark.parametrize("scd_type", [1, 2])
def test_keys_and_payloads_of_every_type(
    make_project: Callable[..., Project], scd_type: int
) -> None:
    project = make_project(f"typed{scd_type}")
    rows = [
        ("timestamp'2024-01-01'", "u", 1, 1),
        ("timestamp'2024-01-03'", "u", 1, 3),
        ("timestamp'2024-01-02'", "u", 2, 2),
    ]
    project.sql(
        f"create table {project.schema}.typed using delta tblproperties ('delta.columnMapping.mode' = 'name') as "
        + " union all ".join(
            TYPED.format(seq=seq, op=op, arrived=arrived, n=n) for seq, op, arrived, n in rows
        )
    )
    project.source("typed")
    key = ["k1", "k2", "k3", "odd `key"]
    for name, settings in {"plain": {}, "partial": {"ignore_null_updates": True}}.items():
        project.model(
            name,
            cdc(
                "typed",
                key=key,
                stored_as_scd_type=scd_type,
                config={"tblproperties": {"delta.columnMapping.mode": "name"}},
                **settings,
            ),
        )
    project.build()
    for name in ("plain", "partial"):
        found = [
            json.loads(text)
            for (text,) in project.sql(
                f"select to_json(struct(s.x as x, s.y.z as z, a, m)) from {project.schema}.{name} order by s.x"
            )
        ]
        numbers = [3] if scd_type == 1 else [1, 2, 3]
        assert found == [{"x": n, "z": f"deep {n}", "a": [n, None], "m": {"m": n}} for n in numbers]


def test_a_truncate_takes_all_below_it_and_blocks_what_comes_late(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("truncates")
    columns = "arrived int, k string, seq bigint, op string, v string"
    project.sql(f"create table {project.schema}.feed ({columns}) using delta")
    project.sql(
        f"insert into {project.schema}.feed values (1, 'a', 10, 'u', 'a'), (1, 'b', 30, 'u', 'b'), (1, 'c', 15, 'u', 'c'), "
        "(2, null, 20, 't', null), (2, 'd', 20, 'u', 'd'), (2, 'e', 19, 'u', 'e'), "
        "(3, 'f', 18, 'u', 'f'), (3, 'g', 21, 'u', 'g'), (3, null, 12, 't', null)"
    )
    project.source("feed")
    for name, settings in {"plain": {}, "partial": {"ignore_null_updates": True}}.items():
        for step in (1, None):
            project.model(
                f"{name}_{step or 'once'}",
                cdc("feed", step=step, apply_as_truncates="op = 't'", **settings),
            )
    project.build()
    for name in ("plain_1", "plain_once", "partial_1", "partial_once"):
        assert held(project, name, "k, v") == {k: [(k,)] for k in "bdg"}, name
    assert held(project, "partial_1__cdc_state", "_floodmark_kind, _floodmark_sequence").keys() == {
        "truncate"
    }


def test_a_column_that_is_gone_keeps_its_values_and_a_new_one_follows_the_setting(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("columns")
    columns = "arrived int, k string, seq bigint, op string, v string, w int"
    project.sql(f"create table {project.schema}.feed ({columns}) using delta")
    project.sql(
        f"insert into {project.schema}.feed values (1, 'a', 1, 'u', 'v1', 1), (1, 'b', 1, 'u', 'v1', 1)"
    )
    project.source("feed")
    select = (
        "arrived, k, seq, op, w{% if var('later', false) %}, v as extra{% else %}, v{% endif %}"
    )
    for scd_type in (1, 2):
        for mode in ("ignore", "append_new_columns"):
            project.model(
                f"scd{scd_type}_{mode}",
                cdc(
                    "feed",
                    select,
                    step=None,
                    stored_as_scd_type=scd_type,
                    config={"on_schema_change": mode},
                ),
            )
    # A NULL that was set stays one, though NULLs of another column are ignored.
    project.sql(f"create table {project.schema}.filled ({columns}) using delta")
    project.sql(
        f"insert into {project.schema}.filled values (1, 'n', 10, 'u', 'v1', 1), (1, 'n', 20, 'u', null, 1)"
    )
    project.model(
        "listed",
        cdc("filled", select, step=None, stored_as_scd_type=2, ignore_null_updates=["w"]),
    )
    # Other tracked columns make other rows of what is known.
    project.sql(f"create table {project.schema}.tracked ({columns}) using delta")
    project.sql(
        f"insert into {project.schema}.tracked values (1, 't', 10, 'u', 'v', 1), (1, 't', 20, 'u', 'v', 2)"
    )
    project.source("feed", "filled", "tracked")
    only_v = {"track_history_column_list": ["v"]}
    project.model("retracked", cdc("tracked", step=None, stored_as_scd_type=2, **only_v))
    project.build()
    project.sql(
        f"insert into {project.schema}.feed values (2, 'a', 2, 'u', 'v2', 2), (2, 'c', 2, 'u', 'v2', 2)"
    )
    project.sql(f"insert into {project.schema}.filled values (2, 'n', 15, 'u', 'v2', 2)")
    project.sql(f"insert into {project.schema}.tracked values (2, 't', 30, 'u', 'v', 3)")
    project.model("retracked", cdc("tracked", step=None, stored_as_scd_type=2))
    project.build("--vars", "{later: true}")
    assert held(project, "listed", HISTORY)["n"] == [
        ("v1", 1, 10, 15),
        ("v1", 2, 15, 20),
        (None, 1, 20, None),
    ]
    assert held(project, "retracked", HISTORY)["t"] == [
        ("v", 1, 10, 20),
        ("v", 2, 20, 30),
        ("v", 3, 30, None),
    ]
    assert held(project, "scd1_ignore", "k, v, w") == {
        "a": [("v1", 2)],
        "b": [("v1", 1)],
        "c": [(None, 2)],
    }
    assert held(project, "scd1_append_new_columns", "k, v, w, extra") == {
        "a": [("v1", 2, "v2")],
        "b": [("v1", 1, None)],
        "c": [(None, 2, "v2")],
    }
    history = held(project, "scd2_append_new_columns", "k, w, extra, __start_at, __end_at")
    assert history == {
        "a": [(1, None, 1, 2), (2, "v2", 2, None)],
        "b": [(1, None, 1, None)],
        "c": [(2, "v2", 2, None)],
    }


def test_events_that_come_again_make_no_commit(make_project: Callable[..., Project]) -> None:
    project = make_project("replays")
    project.sql(
        f"create table {project.schema}.feed (arrived int, k string, seq bigint, op string, v string) using delta"
    )
    rows = "(1, 'a', 10, 'u', 'x'), (1, 'b', 10, 'u', 'x'), (1, 'b', 20, 'd', null), (1, 'c', 10, 'u', 'x'), (1, 'c', 20, 'u', 'x')"
    project.sql(f"insert into {project.schema}.feed values {rows}")
    project.source("feed")
    models = {}
    for scd_type in (1, 2):
        for name, settings in {"plain": {}, "partial": {"ignore_null_updates": True}}.items():
            models[f"{name}{scd_type}"] = model = cdc(
                "feed", step=None, stored_as_scd_type=scd_type, **settings
            )
            project.model(
                f"{name}{scd_type}",
                model.replace("'gaps': 'ignore'", "'gaps': 'ignore', 'lookback': 5"),
            )
    project.build()
    before = {name: (project.version(name), project.rows(name)) for name in models}
    project.sql(f"insert into {project.schema}.feed values {rows}")
    run = project.build()
    assert {name: (project.version(name), project.rows(name)) for name in models} == before, (
        run.message
    )
    assert {name: len(project.ledger(name, "batch_id")) for name in models} == dict.fromkeys(
        models, 2
    )


def test_key_and_sequence_keep_their_types(make_project: Callable[..., Project]) -> None:
    project = make_project("retyped")
    project.sql(
        f"create table {project.schema}.feed (arrived int, k int, seq int, op string) using delta"
    )
    project.sql(f"insert into {project.schema}.feed values (1, 1, 1, 'u')")
    project.source("feed")
    select = "arrived, {% if var('later', false) %}cast(k as bigint) as k, cast(seq as bigint) as seq{% else %}k, seq{% endif %}, op"
    project.model("retyped", cdc("feed", select, step=None))
    project.model("partial", cdc("feed", select, step=None, ignore_null_updates=True))
    project.model("typed_history", cdc("feed", "*", step=None))
    project.build()
    project.sql(f"insert into {project.schema}.feed values (2, 2, 2, 'u')")
    project.model("typed_history", cdc("feed", "*", step=None, stored_as_scd_type=2))
    run = project.dbt("run", "--vars", "{later: true}")
    for name in ("retyped", "partial"):
        message = sentence(run.message[name])
        assert (
            f'unique_key: got "k bigint"; expected int, as in {project.schema}.{name}. Cast it in the SELECT, or run once with --full-refresh'
            in message
        )
        assert (
            f'cdc.sequence_by: got "seq bigint"; expected int, as in {project.schema}.{name}'
            in message
        )
    assert "which has no column __start_at" in sentence(run.message["typed_history"])
    assert "Run it once with --full-refresh" in sentence(run.message["typed_history"])
    project.build("--full-refresh", "--select", "retyped", "--vars", "{later: true}")
    assert held(project, "retyped", "k, _floodmark_sequence") == {1: [(1,)], 2: [(2,)]}


def test_tombstones_are_cleared_when_lifted_and_expire(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("tombstones")
    # Sixteen batches each: the rows beside the table are rewritten every sixteenth.
    forever = {"forever": {}} | ({"partial": {"ignore_null_updates": True}} if FULL else {})
    project.sql(
        f"create table {project.schema}.feed (arrived int, k string, seq bigint, op string, v string) using delta"
    )
    rows = ["(1, 'gone', 5, 'd', null)"]
    for arrived in range(1, 17):
        rows.append(f"({arrived}, 'back', {arrived * 10}, 'd', null)")
        rows.append(f"({arrived}, 'back', {arrived * 10 + 5}, 'u', 'v{arrived}')")
        rows.append(f"({arrived}, 'away', {arrived * 10}, '{'ud'[arrived % 2]}', 'v')")
    project.sql(f"insert into {project.schema}.feed values {', '.join(rows)}")
    project.source("feed")
    for model, settings in forever.items():
        project.model(model, cdc("feed", **settings))
    project.model("brief", cdc("feed", step=None, tombstone_ttl="1 microsecond"))
    project.build()
    for model in forever:
        remembered = held(project, f"{model}__cdc_state", "k, _floodmark_kind, _floodmark_sequence")
        assert remembered == {"gone": [("delete", 5)]}, model
    project.sql(
        f"insert into {project.schema}.feed values (17, 'gone', 4, 'u', 'late'), (17, 'back', 4, 'u', 'late'), "
        "(17, 'away', 155, 'u', 'late')"
    )
    project.build()
    for model in forever:
        assert held(project, model, "k, v") == {"back": [("v16",)], "away": [("v",)]}, model
    assert held(project, "brief", "k, v") == {
        "back": [("v16",)],
        "away": [("v",)],
        "gone": [("late",)],
    }


def test_what_is_remembered_is_missed_where_it_is_gone(
    make_project: Callable[..., Project],
) -> None:
    """Beside the table lies what tells late events from new ones: no batch is applied without it."""
    project = make_project("forgotten")
    project.sql(
        f"create table {project.schema}.feed (arrived int, k string, seq bigint, op string, v string) using delta"
    )
    project.source("feed")
    models = ("latest", "history")
    for model, scd_type in zip(models, (1, 2), strict=True):
        project.model(model, cdc("feed", step=None, stored_as_scd_type=scd_type))

    def arrive(*rows: str) -> None:
        project.sql(f"insert into {project.schema}.feed values {', '.join(rows)}")

    def refused() -> None:
        run = project.dbt("run")
        for model in models:
            assert run.status[model] == "error"
            assert (
                f"floodmark, model '{project.schema}.{model}': {project.schema}.{model}__cdc_state is gone, which remembers the "
                f"deletes and the earlier events of {project.schema}.{model}, so late events would be applied wrongly: put it back, "
                "or run it once with --full-refresh to load everything again"
            ) in sentence(run.message[model])

    # A first load leaves nothing to remember, a later batch does; what is remembered comes back.
    arrive("(1, 'a', 1, 'u', 'x')")
    project.build()
    arrive("(2, 'a', 9, 'd', null), (2, 'b', 9, 'd', null)")
    project.build()
    arrive("(3, 'b', 5, 'u', 'late')")
    for model in models:
        state = f"{project.schema}.{model}__cdc_state"
        project.sql(f"alter table {state} rename to {state}_away")
    refused()
    for model in models:
        assert "b" not in held(project, model, "k, v")
        state = f"{project.schema}.{model}__cdc_state"
        project.sql(f"alter table {state}_away rename to {state}")
    project.build()
    assert "b" not in held(project, "latest", "k, v")
    assert held(project, "history", "k, v, __start_at, __end_at")["b"] == [("late", 5, 9)]
    # A first load leaves something; it is gone for good, and everything is loaded again.
    project.sql(f"delete from {project.schema}.feed")
    arrive("(1, 'a', 9, 'd', null), (1, 'b', 9, 'd', null)")
    project.build("--full-refresh")
    for model in models:
        project.sql(f"drop table {project.schema}.{model}__cdc_state")
    arrive("(4, 'b', 6, 'u', 'late')")
    refused()
    project.build("--full-refresh")
    assert held(project, "history", "k, v, __start_at, __end_at")["b"] == [("late", 6, 9)]
    arrive("(5, 'b', 7, 'u', 'late')")
    project.build()
    assert "b" not in held(project, "latest", "k, v")
