"""Whether a column can say which row of a key is the latest; without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("type", "given", "staged_by", "refused"),
    [
        ("bigint", None, None, False),
        ("timestamp", None, None, False),
        # In the SELECT, or in a table that somebody made.
        ("string", None, None, True),
        ("string", "bigint", None, True),
        ("varchar(20)", "decimal(38,0)", None, True),
        ("string", "TIMESTAMP", None, True),
        # These are texts in the order of time.
        ("string", "date", None, False),
        ("string", "timestamp_ntz", None, False),
        # What another run staged, it has checked.
        ("string", None, "1a2b3c4d", False),
    ],
)
def test_texts_have_another_order_than_numbers(
    type: str, given: str | None, staged_by: str | None, refused: bool
) -> None:
    floodmark = load()
    column = {"name": "n", "type": type} | ({"given": given} if given else {})
    run = {"settings": {"watermark": {"column": "N", "kind": "sequence"}}}
    problems = floodmark._order_problems(run, {"staged_by": staged_by}, [column])
    assert [one["setting"] for one in problems] == ["watermark.column"] * refused
