"""What is told of a batch that is read straight, without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    ("known", "read", "is_unknown"),
    [
        ("struct<a:int>", "struct<a:int>", False),
        ("struct<a:int,b:int>", "struct<b:int>", False),
        ("struct<a:int>", "struct<A:int>", True),
        ("struct<a:struct<b:int>>", "struct<a:struct<b:int,c:int>>", True),
        ("struct<a:array<struct<b:int>>>", "struct<a:array<struct<c:int>>>", True),
        ("struct<a:string>", "struct<a:struct<b:int>>", False),
        ("struct<a:bigint>", "struct<a:int>", False),
    ],
)
def test_fields_that_nobody_knows(known: str, read: str, is_unknown: bool) -> None:
    assert floodmark._has_unknown(known, read) is is_unknown


@pytest.mark.parametrize(
    ("type", "has_twins"),
    [
        ("struct<a:int,b:int>", False),
        ("struct<a:int,A:int>", True),
        ("struct<a:struct<b:int,B:int>>", True),
        ("struct<a:array<struct<b:int,B:int>>>", True),
        ("struct<a:int,b:struct<a:int>>", False),
        ("string", False),
    ],
)
def test_names_that_differ_in_case_alone(type: str, has_twins: bool) -> None:
    assert floodmark._has_case_twins(type) is has_twins


@pytest.mark.parametrize(
    ("condition", "error", "is_unclean"),
    [
        ("FAILED_READ_FILE.FILE_NOT_EXIST", "gone", True),
        ("USER_RAISED_EXCEPTION", "[...] floodmark: the files of the batch are not clean", True),
        ("USER_RAISED_EXCEPTION", "[...] the model's own", False),
        ("DIVIDE_BY_ZERO", "floodmark: the files of the batch are not clean", False),
        (None, "the connection is lost", False),
    ],
)
def test_errors_that_mean_other_files(condition: Any, error: str, is_unclean: bool) -> None:
    told = {"condition": condition, "error": error}
    assert bool(floodmark._is_of_unclean_files(told)) is is_unclean


FILES = "/*floodmark:files*/ (select 1) /*floodmark:end*/"


@pytest.mark.parametrize(
    ("sql", "takes"),
    [
        (f"select * from {FILES}", True),
        (f"select * except (_metadata), 1 as one\nfrom {FILES} as f\n", True),
        (f"SELECT distinct id FROM {FILES} f", True),
        (f"select count(*) as n from {FILES}", True),
        (f"select wherever, limits from {FILES}", True),
        (f"select * from {FILES} where id > 0", False),
        (f"select * from {FILES} f group by all having count(*) > 1", False),
        (f"select * from (select * from {FILES})", False),
        (f"with f as (select * from {FILES}) select * from f", False),
        (f"select explode(items) from {FILES}", False),
        (f"select posexplode(items) from {FILES}", False),
        (f"select inline(items) from {FILES}", False),
        (f"select o.id from orders o, {FILES} f", False),
        (f"select id from orders except select id from {FILES}", False),
        (f"select id from orders EXCEPT (select id from {FILES}", False),
        (f"select id from orders join {FILES}", False),
        ("select 1", False),
    ],
)
def test_selects_that_give_a_row_for_each_record(sql: str, takes: bool) -> None:
    assert floodmark._takes_each_row(sql) is takes


@pytest.mark.parametrize(
    ("now", "looks"),
    [
        ([("a", 10, 1), ("b", 20, 2)], []),
        # Overwritten with the same size; one that is gone is not looked at.
        ([("a", 10, 9), ("b", 20, 2)], [["a", "b"]]),
        ([("a", 10, 9)], [["a"]]),
        ([("a", 10, 1)], []),
    ],
)
def test_files_that_were_overwritten_since_are_looked_at_again(
    now: list[tuple[str, int, int]], looks: list[list[str]]
) -> None:
    floodmark = load(invocation_id="0123456789abcdef")
    files = [dict(zip(("path", "size", "modified_at"), file, strict=True)) for file in now]
    looked: list[list[str]] = []
    floodmark._present_files = lambda *_: files
    floodmark._look_at_files = lambda _, those: (
        looked.append([file["path"] for file in those]),
        "a new look",
    )[1]
    unclean = {"error": floodmark._unclean_files(), "condition": "USER_RAISED_EXCEPTION"}
    floodmark._tried = lambda *_: unclean
    for name in ("_end_straight", "_reset_batch_conf", "_load_read"):
        setattr(floodmark, name, lambda *_: None)
    read_by: list[str] = []
    floodmark._read_files = lambda _, batch: read_by.append(batch["look"])
    planned = [
        {"path": "a", "size": 10, "modified_at": 1},
        {"path": "b", "size": 20, "modified_at": 2},
    ]
    floodmark._load_straight({"settings": {"files": {}}}, {"files": planned, "look": "the look"})
    assert looked == looks
    assert read_by == ["a new look" if looks else "the look"]
