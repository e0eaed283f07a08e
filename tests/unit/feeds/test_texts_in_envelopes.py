"""Debezium's numbers where files gave texts alone: of texts, 9 is above 10; without Spark."""

from __future__ import annotations

import re

import pytest

from tests.support.macros import load

ROW = "struct<id:string,name:string>"
TEXTS = {
    "before": ROW,
    "after": ROW,
    "op": "string",
    "ts_ms": "string",
    "source": "struct<lsn:string,pos:string,file:string,ts_ms:bigint>",
}
NUMBERS = TEXTS | {"ts_ms": "bigint", "source": "struct<lsn:bigint,pos:int>"}


def events(sequence: str | None, types: dict[str, str] | None) -> tuple[str, str]:
    """The SQL of _sequence and of _changed_at over a relation of these columns; none where nobody knows them."""
    floodmark = load()
    columns = [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in (types or {}).items()]
    floodmark._columns_if_known = lambda query: columns
    sql = floodmark.debezium("raw.t", **({"sequence": sequence} if sequence else {})).strip()
    assert sql.startswith("(\n    select _row.*, _operation, _sequence,")
    assert "if(op = 'd', before, after) as _row" in sql
    found = re.search(r"\n +(\S.*) as _sequence,\n +(.*) as _changed_at", sql)
    assert found
    return found[1], found[2]


LSN, MILLIS = "cast(source.lsn as bigint)", "timestamp_millis(cast(ts_ms as bigint))"


@pytest.mark.parametrize(
    ("sequence", "types", "expected"),
    [
        (None, TEXTS, (LSN, MILLIS)),
        (None, NUMBERS, ("source.lsn", "timestamp_millis(ts_ms)")),
        (None, TEXTS | {"source": "struct<LSN:string>", "ts_ms": "bigint"}, (LSN, "timestamp_millis(ts_ms)")),
        ("ts_ms", TEXTS, ("cast(ts_ms as bigint)", MILLIS)),
        ("Source.`Pos`", TEXTS, ("cast(Source.`Pos` as bigint)", MILLIS)),
        # What is a number stays one, and a text that is none stays a text.
        ("source.ts_ms", TEXTS, ("source.ts_ms", MILLIS)),
        ("source.file", TEXTS, ("source.file", MILLIS)),
        ("struct(source.file, source.pos)", TEXTS, ("struct(source.file, cast(source.pos as bigint))", MILLIS)),
        ("my_ts_ms + x.source.pos + source.position", TEXTS, ("my_ts_ms + x.source.pos + source.position", MILLIS)),
        # Nobody knows the columns of new_files() and of a CTE: what Debezium has as a number is taken for one.
        (None, None, (LSN, MILLIS)),
        ("source.ts_ms", None, ("cast(source.ts_ms as bigint)", MILLIS)),
        # Of an expression a part may be meant as it is; over texts Spark stops at ts_ms.
        ("struct(source.file, source.pos)", None, ("struct(source.file, source.pos)", "timestamp_millis(ts_ms)")),
        ("source.change_lsn", None, ("source.change_lsn", "timestamp_millis(ts_ms)")),
    ],
)  # fmt: skip
def test_numbers_that_came_as_texts_are_numbers(
    sequence: str | None, types: dict[str, str] | None, expected: tuple[str, str]
) -> None:
    assert events(sequence, types) == expected
