"""Whether a column can say which row of a key is the latest; without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("family", "type", "staged_by", "refused"),
    [
        # The family of a micro-batch is of its number, and its order is the event time.
        ("stream", "string", None, False),
        ("sequence", "bigint", None, False),
        ("timestamp", "timestamp", None, False),
        ("sequence", "string", None, True),
        ("sequence", "varchar(20)", None, True),
        # Texts of times are the user's own.
        ("timestamp", "string", None, False),
        # What another run staged, it has checked.
        ("sequence", "string", "1a2b3c4d", False),
    ],
)
def test_texts_have_another_order_than_numbers(
    family: str, type: str, staged_by: str | None, refused: bool
) -> None:
    floodmark = load()
    is_stream = family == "stream"
    run = {"settings": {"watermark": {"column": "N", "kind": family}}}
    batch = {"staged_by": staged_by, "family": "sequence" if is_stream else family}
    batch["kind"] = "stream" if is_stream else "incremental"
    problems = floodmark._order_problems(run, batch, [{"name": "n", "type": type}])
    assert [one["setting"] for one in problems] == ["watermark.column"] * refused


@pytest.mark.parametrize(
    ("family", "lacking", "todo"),
    [
        ("version", "no _commit_version in the SELECT", "Add _commit_version to the SELECT"),
        (
            "timestamp",
            "no watermark column in the SELECT",
            "Add the watermark column to the SELECT",
        ),
        (None, "no watermark column in the SELECT", "Add the watermark column to the SELECT"),
    ],
)
def test_repeated_keys_name_the_column_that_would_tell(
    family: str | None, lacking: str, todo: str
) -> None:
    floodmark = load()
    floodmark._query_json = lambda sql: [{"id": 7}]
    watermark = {"column": "ts", "kind": family} if family else None
    run = {"settings": {"watermark": watermark, "unique_key": ["id"]}}
    source = {"columns": [{"name": "id"}], "counts": {"repeated": 1}, "stage": "stage"}
    said = rf"1 key comes more than once in the batch and {lacking} says .*\. {todo}, or make"
    with pytest.raises(Refused, match=said):
        floodmark._check_keys(run, {"family": family}, source)
