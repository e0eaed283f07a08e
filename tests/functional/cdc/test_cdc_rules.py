"""cdc beside its cases: what is refused, keys and payloads of every type, truncates, columns that come and go, replays."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.cdc import HISTORY, cdc
from tests.support.harness import FULL, Project, Run, sentence, table
from tests.support.rows import held

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

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
        'cdc.sequence_by: got "seq map<string,int>"; expected a type that has an order. Use a number, a time or text',
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
    # With all that is wrong, and Spark's own words on it.
    "unknown_sequence": (
        "select 'a' as k, 1L as seq, 'x' as v",
        {"sequence_by": ["sq"], "except_column_list": ["op", "sequence"]},
        'cdc.sequence_by: got "sq"; expected an expression of the SELECT\'s columns (k, seq, v, op, arrived). ',
    ),
    "unknown_flag": (
        "select 'a' as k, 1L as seq, 'x' as v",
        {"apply_as_deletes": "opp = 'd'", "except_column_list": ["op", "sequence"]},
        "cdc.apply_as_deletes: got \"opp = 'd'\"; expected a condition of the SELECT's columns (k, seq, v, op, arrived). ",
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
    "history_of_truncates": (
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
    "merge_predicates": (
        "incremental_strategy='cdc', predicates=['v > 1']",
        "cdc={'sequence_by': 'seq'}",
        "predicates: got [\"v > 1\"]; expected no such setting with 'cdc'. Remove it: column_list and "
        "except_column_list choose the columns",
    ),
}


#: What runs in full alone: the same statements with another setting beside them.
WHOLE = {
    "typed": ((1, "plain"), (1, "partial"), (2, "plain"), (2, "partial")),
    "truncated": (("plain", 1), ("plain", None), ("partial", 1), ("partial", None)),
    "widened": ((1, "ignore"), (1, "append_new_columns"), (2, "ignore"), (2, "append_new_columns")),
    "replayed": ((1, "plain"), (1, "partial"), (2, "plain"), (2, "partial")),
    "retyped": ("plain", "partial"),
    "forever": ("plain", "partial"),
}
#: One of each kind: in SCD 2 a replay is told by its resolved events, whose own is in test_cdc.py.
CASES = {
    "typed": ((1, "partial"), (2, "plain")),
    "truncated": (("plain", None), ("partial", 1)),
    "widened": ((1, "ignore"), (2, "append_new_columns")),
    "replayed": ((1, "plain"), (1, "partial")),
    "retyped": ("plain",),
    "forever": ("plain",),
}
if FULL:
    CASES = WHOLE
#: Without and with ignored NULLs.
NULLS: dict[str, dict[str, bool]] = {"plain": {}, "partial": {"ignore_null_updates": True}}

TYPED = (
    "select cast(1.10 as decimal(10,2)) as k1, timestamp'2024-03-31 01:30:00.000001Z' as k2, X'00FF' as k3, "
    "named_struct('a', 1, 'b', cast(null as string)) as `odd ``key`, {seq} as seq, '{op}' as op, {arrived} as arrived, "
    "named_struct('x', {n}, 'y', named_struct('z', 'deep {n}')) as s, array({n}, null) as a, map('m', {n}) as m"
)
TYPED_ROWS = [
    ("timestamp'2024-01-01'", "u", 1, 1),
    ("timestamp'2024-01-03'", "u", 1, 3),
    ("timestamp'2024-01-02'", "u", 2, 2),
]
LATER = "var('later', false)"
WIDENED = f"arrived, k, seq, op, w{{% if {LATER} %}}, v as extra{{% else %}}, v{{% endif %}}"
RETYPED = f"arrived, {{% if {LATER} %}}cast(k as bigint) as k, cast(seq as bigint) as seq{{% else %}}k, seq{{% endif %}}, op"
ONLY_V = {"track_history_column_list": ["v"]}

PLAIN = "arrived int, k string, seq bigint, op string, v string"
#: Feeds -> their columns.
FEEDS = {
    **dict.fromkeys(("truncating", "replaying", "burying", "forgotten", "lost"), PLAIN),
    **dict.fromkeys(("widening", "filled", "tracked"), f"{PLAIN}, w int"),
    "retyping": "arrived int, k int, seq int, op string",
}
REPLAYED = "(1, 'a', 10, 'u', 'x'), (1, 'b', 10, 'u', 'x'), (1, 'b', 20, 'd', null), (1, 'c', 10, 'u', 'x'), (1, 'c', 20, 'u', 'x')"
#: What arrives before the first, the second and the third run.
ARRIVALS = [
    {
        "truncating": "(1, 'a', 10, 'u', 'a'), (1, 'b', 30, 'u', 'b'), (1, 'c', 15, 'u', 'c'), "
        "(2, null, 20, 't', null), (2, 'd', 20, 'u', 'd'), (2, 'e', 19, 'u', 'e'), "
        "(3, 'f', 18, 'u', 'f'), (3, 'g', 21, 'u', 'g'), (3, null, 12, 't', null)",
        "widening": "(1, 'a', 1, 'u', 'v1', 1), (1, 'b', 1, 'u', 'v1', 1)",
        "filled": "(1, 'n', 10, 'u', 'v1', 1), (1, 'n', 20, 'u', null, 1)",
        "tracked": "(1, 't', 10, 'u', 'v', 1), (1, 't', 20, 'u', 'v', 2)",
        "replaying": REPLAYED,
        "retyping": "(1, 1, 1, 'u')",
        "burying": "(1, 'gone', 5, 'd', null), (1, 'back', 10, 'd', null), (1, 'back', 15, 'u', 'v1'), (1, 'away', 10, 'd', null)",
        "forgotten": "(1, 'a', 1, 'u', 'x')",
        "lost": "(1, 'a', 9, 'd', null), (1, 'b', 9, 'd', null)",
    },
    {
        "widening": "(2, 'a', 2, 'u', 'v2', 2), (2, 'c', 2, 'u', 'v2', 2)",
        "filled": "(2, 'n', 15, 'u', 'v2', 2)",
        "tracked": "(2, 't', 30, 'u', 'v', 3)",
        "replaying": REPLAYED,
        "retyping": "(2, 2, 2, 'u')",
        "burying": "(2, 'back', 20, 'd', null), (2, 'back', 25, 'u', 'v2'), (2, 'away', 20, 'u', 'v')",
        "forgotten": "(2, 'a', 9, 'd', null), (2, 'b', 9, 'd', null)",
    },
    {
        "burying": "(3, 'gone', 4, 'u', 'late'), (3, 'back', 4, 'u', 'late'), (3, 'away', 15, 'u', 'late')",
        "forgotten": "(3, 'b', 5, 'u', 'late')",
        "lost": "(4, 'b', 6, 'u', 'late')",
    },
]


def refused(name: str) -> str:
    """A model of these rows in one batch, beside a table of one row that bounds it."""
    rows, settings, _ = REFUSED[name]
    settings = {"except_column_list": ["op", "arrived", "seq"]} | settings
    sql = cdc("one_row", "r.*, 'u' as op, arrived", **settings)
    return sql.replace(table("one_row"), f"{table('one_row')} cross join ({rows}) as r")


def refused_at_once(name: str) -> str:
    config, setting, _ = STATIC[name]
    return (
        f"{{{{ config(materialized='incremental', unique_key='k', {config}, {setting or 'meta={}'}, "
        "watermark={'column': 'arrived', 'gaps': 'ignore'}) }}"
        f"select * from {table('one_row')} where {{{{ floodmark.watermark_filter() }}}}"
    )


def typed(scd_type: int, nulls: str) -> str:
    return cdc(
        "typing",
        key=["k1", "k2", "k3", "odd `key"],
        stored_as_scd_type=scd_type,
        config={"tblproperties": {"delta.columnMapping.mode": "name"}},
        **NULLS[nulls],
    )


def widened(scd_type: int, mode: str) -> str:
    config = {"on_schema_change": mode}
    return cdc("widening", WIDENED, step=None, stored_as_scd_type=scd_type, config=config)


def replayed(scd_type: int, nulls: str) -> str:
    sql = cdc("replaying", step=None, stored_as_scd_type=scd_type, **NULLS[nulls])
    return sql.replace("'gaps': 'ignore'", "'gaps': 'ignore', 'lookback': 5")


MODELS = {
    **{name: refused(name) for name in REFUSED},
    **{name: refused_at_once(name) for name in STATIC},
    **{f"typed{scd}_{nulls}": typed(scd, nulls) for scd, nulls in CASES["typed"]},
    **{
        f"truncated_{nulls}_{step or 'once'}": cdc(
            "truncating", step=step, apply_as_truncates="op = 't'", **NULLS[nulls]
        )
        for nulls, step in CASES["truncated"]
    },
    **{f"scd{scd}_{mode}": widened(scd, mode) for scd, mode in CASES["widened"]},
    "listed": cdc("filled", WIDENED, step=None, stored_as_scd_type=2, ignore_null_updates=["w"]),
    "retracked": cdc("tracked", step=None, stored_as_scd_type=2, **ONLY_V),
    **{f"replayed{scd}_{nulls}": replayed(scd, nulls) for scd, nulls in CASES["replayed"]},
    **{
        f"retyped_{nulls}": cdc("retyping", RETYPED, step=None, **NULLS[nulls])
        for nulls in CASES["retyped"]
    },
    "typed_history": cdc("retyping", step=None),
    **{f"forever_{nulls}": cdc("burying", step=None, **NULLS[nulls]) for nulls in CASES["forever"]},
    "brief": cdc("burying", step=None, tombstone_ttl="1 microsecond"),
    "latest": cdc("forgotten", step=None),
    "history": cdc("lost", step=None, stored_as_scd_type=2),
}


def named(*beginnings: str) -> list[str]:
    return [name for name in MODELS if name.startswith(beginnings)]


SECOND = named("scd", "listed", "retracked", "replayed", "retyped", "typed_history", "forever")
THIRD = [*named("forever"), "brief", "latest", "history"]


@dataclass
class Story:
    """Three runs of these models; the stages that the first left, and what the replayed ones held behind each."""

    project: Project
    runs: list[Run] = field(default_factory=list)
    stages: list[str] = field(default_factory=list)
    replayed: list[dict[str, tuple[int, Any]]] = field(default_factory=list)

    def run(self, *args: str) -> None:
        project = self.project
        for name, rows in ARRIVALS[len(self.runs)].items():
            project.sql(f"insert into {project.schema}.{name} values {rows}")
        self.runs.append(project.dbt("run", *args))
        self.replayed.append(
            {name: (project.version(name), project.rows(name)) for name in named("replayed")}
        )


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("story")
    s = project.schema
    project.sql(f"create table {s}.one_row using delta as select 1 as arrived")
    project.sql(
        f"create table {s}.typing using delta tblproperties ('delta.columnMapping.mode' = 'name') as "
        + " union all ".join(
            TYPED.format(seq=seq, op=op, arrived=arrived, n=n) for seq, op, arrived, n in TYPED_ROWS
        )
    )
    for name, columns in FEEDS.items():
        project.sql(f"create table {s}.{name} ({columns}) using delta")
    project.source("one_row", "typing", *FEEDS)
    for name, sql in MODELS.items():
        project.model(name, sql)
    story = Story(project)
    story.run()
    names = [row[1] for row in project.sql(f"show tables in {s}_floodmark")]
    story.stages = [name for name in names if "stage__" in name]
    # The rows beside the table are rewritten every sixteenth batch, which the next one is.
    for name in named("forever"):
        project.sql(
            f"insert into {s}_floodmark.batch_log (model, batch_id, event, at, kind) "
            f"select '{s}.{name}', 15, explode(array('planned', 'failed')), now(), 'incremental'"
        )
    # Other tracked columns make other rows of what is known; another type makes none.
    project.model("retracked", cdc("tracked", step=None, stored_as_scd_type=2))
    project.model("typed_history", cdc("retyping", step=None, stored_as_scd_type=2))
    story.run("--vars", "{later: true}", "--select", *SECOND, "latest")
    project.sql(f"alter table {s}.latest__cdc_state rename to {s}.latest__cdc_state_away")
    project.sql(f"drop table {s}.history__cdc_state")
    # As if the deletes had been applied long before the feed's last commit.
    project.sql(f"update {s}.brief__cdc_state set _floodmark_at = timestamp'2000-01-01'")
    story.run("--select", *THIRD)
    return story


def test_only_what_should_failed(story: Story) -> None:
    failed = [
        {name for name, status in run.status.items() if status == "error"} for run in story.runs
    ]
    assert failed == [
        {*REFUSED, *STATIC},
        {*named("retyped"), "typed_history"},
        {"latest", "history"},
    ]


def test_what_is_refused_names_setting_and_rows(story: Story) -> None:
    project, run = story.project, story.runs[0]
    for name, found in {**REFUSED, **STATIC}.items():
        assert found[2] in sentence(run.message[name]), (name, run.message[name])
    for name in ("unknown_sequence", "unknown_flag"):
        assert 'cdc.except_column_list: got "sequence"' in sentence(run.message[name]), name
    tables = {row[1] for row in project.sql(f"show tables in {project.schema}")}
    assert not tables & {*REFUSED, *STATIC}
    assert story.stages == []


def test_keys_and_payloads_of_every_type(story: Story) -> None:
    for scd_type, nulls in CASES["typed"]:
        found = [
            json.loads(text)
            for (text,) in story.project.sql(
                "select to_json(struct(s.x as x, s.y.z as z, a, m)) "
                f"from {story.project.schema}.typed{scd_type}_{nulls} order by s.x"
            )
        ]
        numbers = [3] if scd_type == 1 else [1, 2, 3]
        assert found == [{"x": n, "z": f"deep {n}", "a": [n, None], "m": {"m": n}} for n in numbers]


def test_a_truncate_takes_all_below_it_and_blocks_what_comes_late(story: Story) -> None:
    for name in named("truncated"):
        assert held(story.project, name, "k, v") == {k: [(k,)] for k in "bdg"}, name
    state = "truncated_partial_1__cdc_state"
    remembered = held(story.project, state, "_floodmark_kind, _floodmark_sequence")
    assert remembered.keys() == {"truncate"}


def test_a_column_that_is_gone_keeps_its_values_and_a_new_one_follows_the_setting(
    story: Story,
) -> None:
    """A NULL that was set stays one, though NULLs of another column are ignored."""
    project = story.project
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
    if FULL:
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


def test_events_that_come_again_make_no_commit(story: Story) -> None:
    first, second, _ = story.replayed
    assert second == first, story.runs[1].message
    for name in first:
        assert len(story.project.ledger(name, "batch_id")) == 2, name


def test_tombstones_are_cleared_when_lifted_and_expire(story: Story) -> None:
    project = story.project
    for name in named("forever"):
        assert project.ledger(name, "batch_id, state")[-2:] == [
            (16, "committed"),
            (17, "committed"),
        ]
        remembered = held(project, f"{name}__cdc_state", "k, _floodmark_kind, _floodmark_sequence")
        assert remembered == {"gone": [("delete", 5)]}, name
        assert held(project, name, "k, v") == {"back": [("v2",)], "away": [("v",)]}, name
    assert held(project, "brief", "k, v") == {
        "back": [("v2",)],
        "away": [("v",)],
        "gone": [("late",)],
    }


def test_key_and_sequence_keep_their_types(story: Story) -> None:
    s, run = story.project.schema, story.runs[1]
    for name in named("retyped"):
        message = sentence(run.message[name])
        assert (
            f'unique_key: got "k bigint"; expected int, as in {s}.{name}. Cast it in the SELECT, or run once with --full-refresh'
            in message
        )
        assert f'cdc.sequence_by: got "seq bigint"; expected int, as in {s}.{name}' in message
    message = sentence(run.message["typed_history"])
    assert "which has no column __start_at" in message
    assert "Run it once with --full-refresh" in message


def test_what_is_remembered_is_missed_where_it_is_gone(story: Story) -> None:
    """Beside the table lies what tells late events from new ones: no batch is applied without it.

    A first load leaves nothing to remember, a later batch does, and what is remembered comes back; another leaves
    something, which is gone for good, and everything is loaded again.
    """
    project, s = story.project, story.project.schema
    for name in ("latest", "history"):
        assert (
            f"floodmark, model '{s}.{name}': {s}.{name}__cdc_state is gone. It holds the "
            f"deletes and the earlier events of {s}.{name}, and late events would be applied wrongly without it: put it back, "
            "or run the model once with --full-refresh to load everything again"
        ) in sentence(story.runs[2].message[name])
    assert held(project, "latest", "k, v") == {}
    project.sql(f"alter table {s}.latest__cdc_state_away rename to {s}.latest__cdc_state")
    project.build("--select", "latest")
    assert held(project, "latest", "k, v") == {}
    later = ("--vars", "{later: true}")
    project.build("--full-refresh", *later, "--select", "history", "retyped_plain")
    assert held(project, "history", "k, v, __start_at, __end_at") == {"b": [("late", 6, 9)]}
    assert "a" in held(project, "history__cdc_state", "k")
    # What is of other types is loaded anew too.
    rows = held(project, "retyped_plain", "k, _floodmark_sequence")
    assert rows == {1: [(1,)], 2: [(2,)]}
