"""Which loaded files stay because a stream reads their folder by its own SQL. Without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


def streamed(*models: tuple[str, str], reads: dict[str, list[str]] | None = None) -> list[str]:
    """Those of these files that models, each a materialization and its SQL, may have to read yet."""
    nodes: dict[str, dict[str, Any]] = {
        f"m{number}": {
            "resource_type": "model",
            "schema": "shop",
            "name": f"m{number}",
            "alias": None,
            "raw_code": sql,
            "config": {"materialized": materialized},
            "depends_on": {"nodes": (reads or {}).get(f"m{number}", [])},
        }
        for number, (materialized, sql) in enumerate(models)
    }
    floodmark = load(
        graph=SimpleNamespace(nodes=nodes),
        invocation_args_dict=SimpleNamespace(project_dir="/work"),
    )
    floodmark._managed_nodes = lambda: {}
    files = [{"path": path} for path in FILES]
    return sorted(
        re.sub("^.*/work/", "", path) for path in floodmark._unread_elsewhere("shop.own", files)
    )


FILES = [
    "file:/work/landing/a%20b.json",
    "file:///work/landing/day=1/c.json",
    "file:/work/landing2/d.json",
    "file:/work/other/landing/e\nf.json",
]
ALL = ["landing/a%20b.json", "landing/day=1/c.json", "landing2/d.json", "other/landing/e\nf.json"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select * from stream(json.`landing`)", ALL[:2]),
        ("select * from STREAM ( text . `./landing/` ) with (maxFilesPerTrigger = 1)", ALL[:2]),
        ("select * from stream csv.`/work/x/../landing`", ALL[:2]),
        ("select * from stream(json.`landing/*.json`)", ALL[:1]),
        ("select * from stream(json.`landing*`)", ALL[:3]),
        ("select * from stream(json.`file:///work/landing/day=1`)", ALL[1:2]),
        ("select * from stream(json.`nowhere`) union all from stream(orc.`other`)", ALL[3:]),
        ("select * from stream(json.`{{ var('root') }}/landing`)", [*ALL[:2], ALL[3]]),
        ("select * from stream(json.`{{ var('folder') }}`)", ALL),
        ("select * from stream(json.`{{ var('folder') }}ing`)", ALL),
        ("select * from stream(json.`{{ var('folder') }}/../landing2`)", ALL),
        ("select * from stream({{ a_source('landing') }})", ALL),
        ("select * from {{ events('landing') }} join {{ ref('b') }}", ALL),
        ("select * from {{ tools.stream('landing') }} -- the stream", ALL),
        ("select * from stream({{ ref('bronze') }})", []),
        ("select * from stream {{ source('a', 'b') }}", []),
        ("select * from stream(delta.`landing`)", []),
        ("select * from {{ floodmark.kafka_stream('h:1', 'landing') }}", []),
        ("select * from {{ floodmark.new_files() }}", []),
        ("select * from stream(shop.bronze) as landing", []),
    ],
)
def test_what_a_stream_may_read_stays(sql: str, expected: list[str]) -> None:
    assert streamed(("streaming_table", sql)) == expected


def test_a_folder_without_files_tells_no_format() -> None:
    """It may have been moved: a stream that ran before is told so, with its folder."""
    floodmark = load(this=SimpleNamespace(schema="shop", identifier="m"))
    floodmark._listed = lambda settings, sql: []
    floodmark._folder_files_sql = lambda settings: ""
    with pytest.raises(Refused) as refused:
        floodmark._stream_format({"path": "landing", "schema": "id int", "format": None})
    assert "because the folder landing is not there, or has no file whose name tells it" in str(
        refused.value
    )


def test_an_ephemeral_model_is_read_where_it_is_part_of_a_stream() -> None:
    ephemeral = ("ephemeral", "select * from stream(json.`landing2`)")
    stream = ("streaming_table", "select * from {{ ref('m1') }}")
    table = ("table", "select * from {{ ref('m1') }} as landing")
    assert streamed(stream, ephemeral, table, reads={"m0": ["m1"], "m2": ["m1"]}) == ALL[2:3]
    assert streamed(table, ("incremental", "select * from json.`landing`")) == []
