"""The project whose warehouse is kept in warehouse_of_before.tar.xz: its models, what came when, and what it must come to.

Three deliveries were loaded by the code before: two to their end, and the third until a cut. The last one is loaded by
the code of today, behind what was left open.

This file imports nothing of the project, as it is read by checkouts of any age.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

SCHEMA = "test_warehouse_of_before_kept"

TABLES = {
    "events": "seq bigint, at timestamp, k int, v string",
    "items": "k int, v string",
    "feed": "arrived int, k string, seq bigint, op string, v string, w string",
    "snaps": "v int, k string, a string, n struct<x: int, y: string>, m map<string, int>, l array<struct<p: int>>",
}

#: Statements of each delivery; {s} is the schema.
DELIVERIES = [
    [
        "insert into {s}.events values (1, timestamp'2025-01-01 00:00:00Z', 1, 'a1'), (2, timestamp'2025-01-01 12:00:00Z', 2, 'b1')",
        "insert into {s}.items values (1, 'a'), (2, 'b'), (3, 'c')",
        "insert into {s}.feed values (1, 'k1', 10, 'u', 'a', 'x'), (1, 'k2', 10, 'u', 'b', 'x'), (1, 'k3', 10, 'u', 'c', 'x')",
        "insert into {s}.snaps values (1, 'k1', 'a', named_struct('x', 1, 'y', 'x'), map('p', 1), array(named_struct('p', 1))), "
        "(1, 'k2', 'b', named_struct('x', 2, 'y', null), map('p', 2), array(named_struct('p', 2))), "
        "(1, 'k3', 'c', null, null, null), (1, 'k6', 'f', named_struct('x', 6, 'y', 'f'), map('p', 6), array(named_struct('p', 6)))",
    ],
    [
        "insert into {s}.events values (3, timestamp'2025-01-02 00:00:00Z', 1, 'a2'), (4, timestamp'2025-01-02 06:00:00Z', 3, 'c1')",
        "update {s}.items set v = 'b2' where k = 2",
        "delete from {s}.items where k = 3",
        "insert into {s}.feed values (2, 'k1', 20, 'u', 'a2', null), (2, 'k2', 20, 'd', null, null)",
        "insert into {s}.snaps select 2, k, a, if(k = 'k2', named_struct('x', 3, 'y', n.y), n), m, l from {s}.snaps where v = 1 and k <> 'k3'",
    ],
    [
        "insert into {s}.events values (5, timestamp'2025-01-02 12:00:00Z', 2, 'b2'), (6, timestamp'2025-01-03 06:00:00Z', 4, 'd1')",
        "insert into {s}.items values (4, 'd')",
        "delete from {s}.items where k = 1",
        "insert into {s}.feed values (3, 'k3', 20, 'd', null, null), (3, 'k4', 10, 'u', 'd', 'x'), (3, 'k1', 15, 'u', 'mid', 'y'), (3, 'k9', 20, 'd', null, null)",
        "insert into {s}.snaps select 3, k, if(k = 'k1', 'a3', a), n, m, l from {s}.snaps where v = 2",
        "insert into {s}.snaps values (3, 'k4', 'd', named_struct('x', 4, 'y', 'd'), map('p', 4), array(named_struct('p', 4)))",
    ],
    [
        # The last row is late: it lies below the mark, in a day that comes again.
        "insert into {s}.events values (7, timestamp'2025-01-03 12:00:00Z', 3, 'c2'), (8, timestamp'2025-01-04 00:00:00Z', 5, 'e1'), "
        "(9, timestamp'2025-01-03 05:00:00Z', 6, 'f1')",
        "update {s}.items set v = 'd2' where k = 4",
        "insert into {s}.items values (5, 'e')",
        # The events of k2, k3 and k9 lie behind deletes that were remembered, or were to be.
        "insert into {s}.feed values (4, 'k3', 15, 'u', 'late', 'z'), (4, 'k2', 15, 'u', 'late', 'z'), (4, 'k4', 20, 'u', 'd2', null), (4, 'k5', 10, 'u', 'e', 'x'), (4, 'k9', 15, 'u', 'late', 'z')",
        "insert into {s}.snaps select 4, k, a, n, m, l from {s}.snaps where v = 3 and k <> 'k2'",
        "insert into {s}.snaps values (4, 'k5', 'e', null, map(), array())",
    ],
]
#: A file a delivery, JSON lines.
FILES = ['{"id": 1, "v": "a"}', '{"id": 2, "v": "b"}', '{"id": 3, "v": "c"}', '{"id": 4, "v": "d"}']


def _model(select: str, materialized: str = "incremental", **config: Any) -> str:
    arguments = ", ".join(f"{name}={value!r}" for name, value in config.items())
    return f"{{{{ config(materialized='{materialized}', {arguments}) }}}}\n{select}\n"


def _source(name: str) -> str:
    return f"{{{{ source('raw', '{name}') }}}}"


_FILTER = "where {{ floodmark.watermark_filter() }}"
_EVENTS = f"select seq, at, k, v from {_source('events')} {_FILTER}"
_BY_DAY = f"select seq, v, cast(at as date) as day, at from {_source('events')} {_FILTER}"
_CHANGES = "select k, v, _change_type, _commit_version from {{ floodmark.changes(source('raw', 'items')) }}"
_OF_FEED = {"column": "arrived", "gaps": "ignore"}
_PLAIN = f"select v, k, a from {_source('snaps')}"
_NESTED = f"select * from {_source('snaps')} {_FILTER}"
_BY_STEP = {
    "incremental_strategy": "snapshot_diff",
    "unique_key": "k",
    "watermark": {"column": "v", "gaps": "ignore", "step": 1},
}


def _cdc(**settings: Any) -> dict[str, Any]:
    return {
        "incremental_strategy": "cdc",
        "unique_key": "k",
        "cdc": {
            "sequence_by": "seq",
            "apply_as_deletes": "op = 'd'",
            "except_column_list": ["arrived", "op", "seq"],
        }
        | settings,
    }


def _feed(**settings: Any) -> str:
    return _model(
        f"select * from {_source('feed')} {_FILTER}", watermark=_OF_FEED, **_cdc(**settings)
    )


_STREAM = "streaming_table"
WAYS = {
    "append": _model(_EVENTS, watermark={"column": "seq", "gaps": "ignore"}),
    "merge": _model(
        _EVENTS,
        incremental_strategy="merge",
        unique_key="k",
        watermark={"column": "at", "lookback": "2 hours"},
    ),
    "overwrite": _model(
        _BY_DAY,
        incremental_strategy="insert_overwrite",
        partition_by="day",
        watermark={"column": "at"},
    ),
    "version": _model(
        _CHANGES, incremental_strategy="merge", unique_key="k", watermark={"kind": "version"}
    ),
    "files": _model(
        "select id, v from {{ floodmark.new_files() }}",
        files={"path": "landing", "schema": "id bigint, v string"},
    ),
    "latest": _feed(),
    "partial": _feed(ignore_null_updates=True),
    "history": _feed(stored_as_scd_type=2),
    "extract": _model(
        f"{_PLAIN} where v = (select max(v) from {_source('snaps')})",
        incremental_strategy="snapshot_diff",
        unique_key="k",
        snapshot_diff={"version": "v"},
    ),
    "extracts": _model(
        f"{_PLAIN} {_FILTER}",
        snapshot_diff={"version": "v", "stored_as_scd_type": 2},
        **_BY_STEP,
    ),
    "nested_1": _model(_NESTED, snapshot_diff={"version": "v"}, **_BY_STEP),
    "nested_2": _model(
        _NESTED, snapshot_diff={"version": "v", "stored_as_scd_type": 2}, **_BY_STEP
    ),
    "changes": _model(_NESTED, snapshot_diff={"version": "v", "output": "changes"}, **_BY_STEP),
    "stream_append": _model(f"select * from stream({_source('events')})", _STREAM),
    "stream_merge": _model(
        f"select k, count(*) as n, max(v) as v from stream({_source('events')}) group by k",
        _STREAM,
        output_mode="update",
        unique_key="k",
    ),
    "stream_history": _model(
        f"select * from stream({_source('feed')})", _STREAM, **_cdc(stored_as_scd_type=2)
    ),
}

#: Way -> what its third delivery was cut at -> the cut (tests/support/faults.py); {t} is the model.
_STAGED = "before: merge into [^ ]*{t}"
_LANDED = "after: merge into [^ ]*{t}"
_BEFORE_STATE = "before: (insert|merge) into [^ ]*__cdc_state"
_BEHIND_STATE = "after: (insert|merge) into [^ ]*__cdc_state"
_MERGED = {"staged": _STAGED, "landed": _LANDED}
_INSERTED = {"planned": "before: insert into [^ ]*{t}", "landed": "after: insert into [^ ]*{t}"}
_HALF = {"staged": _BEFORE_STATE, "half": _BEHIND_STATE, "landed": _LANDED}
CUTS: dict[str, dict[str, str]] = {
    "append": _INSERTED,
    "merge": _MERGED,
    "overwrite": _INSERTED,
    "version": _MERGED,
    "files": _INSERTED,
    "latest": _HALF,
    "partial": {"half": _BEHIND_STATE},
    "history": _HALF,
    "extract": _MERGED,
    "extracts": _MERGED,
    "nested_1": {"landed": _LANDED},
    "nested_2": {"staged": _STAGED},
    "changes": {"landed": "after: insert into [^ ]*{t}"},
    "stream_append": {"unrecorded": "before: insert into [^ ]*batch_log"},
    "stream_merge": _MERGED,
    "stream_history": {"half": _BEHIND_STATE},
}
#: The same for models whose first load was cut, at the third delivery.
FIRST_CUTS: dict[str, dict[str, str]] = {
    "merge": {"new": "before: create or replace table", "made": "after: create or replace table"},
    "history": {"new": "before: create or replace table", "made": "after: create or replace table"},
}
#: The same for models of which a restatement was cut, before they had loaded the third delivery.
RESTATED_CUTS: dict[str, dict[str, str]] = {
    "latest": {"restated": _BEHIND_STATE},
    "history": {"restated": _STAGED},
}
#: The sequence from which they were to be restated.
RESTATED_FROM = 15

_ROWS_1 = {
    1: (1, "2025-01-01T00:00:00.000Z", 1, "a1"),
    2: (2, "2025-01-01T12:00:00.000Z", 2, "b1"),
    3: (3, "2025-01-02T00:00:00.000Z", 1, "a2"),
    4: (4, "2025-01-02T06:00:00.000Z", 3, "c1"),
    5: (5, "2025-01-02T12:00:00.000Z", 2, "b2"),
    6: (6, "2025-01-03T06:00:00.000Z", 4, "d1"),
    7: (7, "2025-01-03T12:00:00.000Z", 3, "c2"),
    8: (8, "2025-01-04T00:00:00.000Z", 5, "e1"),
    9: (9, "2025-01-03T05:00:00.000Z", 6, "f1"),
}
_HISTORY = [
    ("k1", "a", "x", 10, 15),
    ("k1", "mid", "y", 15, 20),
    ("k1", "a2", None, 20, None),
    ("k2", "b", "x", 10, 15),
    ("k2", "late", "z", 15, 20),
    ("k3", "c", "x", 10, 15),
    ("k3", "late", "z", 15, 20),
    ("k4", "d", "x", 10, 20),
    ("k4", "d2", None, 20, None),
    ("k5", "e", "x", 10, None),
    ("k9", "late", "z", 15, 20),
]
_FEED_COLUMNS = "k, v, w, __start_at, __end_at"
_NESTED_COLUMNS = "k, a, n.x as x, n.y as y, m['p'] as m, get(l, 0).p as l"

#: Way -> columns, and the rows of the table once all four deliveries are loaded.
EXPECTED: dict[str, tuple[str, list[tuple[Any, ...]]]] = {
    "append": ("seq, at, k, v", list(_ROWS_1.values())),
    "merge": ("seq, at, k, v", [_ROWS_1[seq] for seq in (3, 5, 6, 7, 8, 9)]),
    "overwrite": (
        "seq, at, v, day",
        [(seq, at, v, at[:10]) for seq, at, _, v in _ROWS_1.values()],
    ),
    "version": ("k, v", [(2, "b2"), (4, "d2"), (5, "e")]),
    "files": ("id, v", [(1, "a"), (2, "b"), (3, "c"), (4, "d")]),
    "latest": ("k, v, w", [("k1", "a2", None), ("k4", "d2", None), ("k5", "e", "x")]),
    "partial": ("k, v, w", [("k1", "a2", "y"), ("k4", "d2", "x"), ("k5", "e", "x")]),
    "history": (_FEED_COLUMNS, _HISTORY),
    "extract": ("k, a", [("k1", "a3"), ("k4", "d"), ("k5", "e"), ("k6", "f")]),
    "extracts": (
        "k, a, __start_at, __end_at",
        [
            ("k1", "a", 1, 3),
            ("k1", "a3", 3, None),
            ("k2", "b", 1, 4),
            ("k3", "c", 1, 2),
            ("k4", "d", 3, None),
            ("k5", "e", 4, None),
            ("k6", "f", 1, None),
        ],
    ),
    # Rows that are as they were keep the version that wrote them.
    "nested_1": (
        f"v, {_NESTED_COLUMNS}",
        [
            (3, "k1", "a3", 1, "x", 1, 1),
            (3, "k4", "d", 4, "d", 4, 4),
            (4, "k5", "e", None, None, None, None),
            (1, "k6", "f", 6, "f", 6, 6),
        ],
    ),
    "nested_2": (
        f"{_NESTED_COLUMNS}, __start_at, __end_at",
        [
            ("k1", "a", 1, "x", 1, 1, 1, 3),
            ("k1", "a3", 1, "x", 1, 1, 3, None),
            ("k2", "b", 2, None, 2, 2, 1, 2),
            ("k2", "b", 3, None, 2, 2, 2, 4),
            ("k3", "c", None, None, None, None, 1, 2),
            ("k4", "d", 4, "d", 4, 4, 3, None),
            ("k5", "e", None, None, None, None, 4, None),
            ("k6", "f", 6, "f", 6, 6, 1, None),
        ],
    ),
    "changes": (
        "k, _change_type, _changed_at",
        [
            ("k1", "insert", 1),
            ("k1", "update", 3),
            ("k2", "insert", 1),
            ("k2", "update", 2),
            ("k2", "delete", 4),
            ("k3", "insert", 1),
            ("k3", "delete", 2),
            ("k4", "insert", 3),
            ("k5", "insert", 4),
            ("k6", "insert", 1),
        ],
    ),
    "stream_append": ("seq, at, k, v", list(_ROWS_1.values())),
    "stream_merge": (
        "k, n, v",
        [(1, 2, "a2"), (2, 2, "b2"), (3, 2, "c2"), (4, 1, "d1"), (5, 1, "e1"), (6, 1, "f1")],
    ),
    "stream_history": (_FEED_COLUMNS, _HISTORY),
}


def models() -> dict[str, str]:
    """Every model, by name, and its way."""
    every = (CUTS, FIRST_CUTS, RESTATED_CUTS)
    return {f"{way}_{cut}": way for cuts in every for way in cuts for cut in cuts[way]}


def cuts(of: dict[str, dict[str, str]]) -> dict[str, str]:
    """Model -> where its third delivery was cut."""
    return {
        f"{way}_{cut}": pattern.replace("{t}", f"{way}_{cut}")
        for way, patterns in of.items()
        for cut, pattern in patterns.items()
    }


def make_tables(project: Any) -> None:
    """Make the source tables, and the folder where files land, both empty."""
    for name, columns in TABLES.items():
        feed = "tblproperties ('delta.enableChangeDataFeed' = 'true')" if name == "items" else ""
        project.sql(f"create table {project.schema}.{name} ({columns}) using delta {feed}")
    project.source(*TABLES)
    (project.root / "landing").mkdir()


def deliver(project: Any, number: int) -> None:
    """Let a delivery arrive."""
    for statement in DELIVERIES[number]:
        project.sql(statement.replace("{s}", project.schema))
    (project.root / "landing" / f"{number}.json").write_text(FILES[number] + "\n")


def wrong(project: Any, there: Mapping[str, str]) -> dict[str, tuple[Any, Any]]:
    """Model -> its rows and those expected, once all deliveries are loaded: of models (name -> way) where they differ."""
    parts = [
        f"select '{name}' as model, to_json(struct({EXPECTED[way][0]}), map('ignoreNullFields', 'false')) as row "
        f"from {project.schema}.{name}"
        for name, way in there.items()
    ]
    held: dict[str, list[tuple[Any, ...]]] = {name: [] for name in there}
    for name, row in project.sql(" union all ".join(parts)):
        held[name].append(tuple(json.loads(row).values()))
    pairs = {
        name: (sorted(held[name], key=repr), sorted(EXPECTED[way][1], key=repr))
        for name, way in there.items()
    }
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
