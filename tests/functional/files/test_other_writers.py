"""Files of other writers: what pyarrow, pandas, DuckDB, fastavro and Python write is loaded as they read it back.

Each writes its own dialect of a format. What Spark cannot read goes to the quarantine with its sentence, as a file.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal as D
from pathlib import Path
from typing import Any

import duckdb
import fastavro
import pandas as pd
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.support.files import (
    columns,
    exact,
    land,
    lines,
    loader,
    normal,
    quarantined,
    records,
    rescued,
    without_null,
)
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

MOMENT = datetime(2024, 3, 31, 1, 30, 15, 123456)
IN_UTC = MOMENT.replace(tzinfo=timezone.utc)
STRUCT = pa.struct([("a", pa.int64()), ("b", pa.list_(pa.struct([("c", pa.string())])))])
#: What Spark reads of Arrow's types: values, and their type.
READ: dict[str, tuple[list[Any], pa.DataType]] = {
    "moment": ([MOMENT, datetime(1, 1, 1)], pa.timestamp("us")),
    "moment_s": ([datetime(2024, 3, 31, 1), None], pa.timestamp("s")),
    "moment_utc": ([IN_UTC, datetime(1500, 1, 1, tzinfo=timezone.utc)], pa.timestamp("us", "UTC")),
    "moment_zone": ([IN_UTC, None], pa.timestamp("ms", "Europe/Berlin")),
    "day": ([date(1500, 2, 28), date(9999, 12, 31)], pa.date32()),
    "day64": ([date(2024, 1, 1), None], pa.date64()),
    "exact": ([D("-999999999999999999999999999999999999.99"), D("1.10")], pa.decimal128(38, 2)),
    "price": ([D("1.10"), None], pa.decimal128(5, 2)),
    "i8": ([-128, None], pa.int8()),
    "u8": ([255, None], pa.uint8()),
    "u16": ([65535, None], pa.uint16()),
    "u32": ([2**32 - 1, None], pa.uint32()),
    "u64": ([2**64 - 1, None], pa.uint64()),
    "f32": ([1.5, float("nan")], pa.float32()),
    "f64": ([1e300, float("-inf")], pa.float64()),
    "yes": ([True, None], pa.bool_()),
    "text": (["ü\0😀", ""], pa.large_string()),
    "view": (["v", None], pa.string_view()),
    "word": (["a", "b"], pa.dictionary(pa.int8(), pa.string())),
    "raw": ([b"\xff\x00", b""], pa.binary()),
    "raw4": ([b"abcd", None], pa.binary(4)),
    "list": ([[1, None], []], pa.large_list(pa.int32())),
    "pair": ([[1, 2], None], pa.list_(pa.int32(), 2)),
    "map": ([[("k", [1.5])], None], pa.map_(pa.string(), pa.list_(pa.float64()))),
    "struct": ([{"a": 1, "b": [{"c": "x"}]}, {"a": None, "b": None}], STRUCT),
    "nothing": ([None, None], pa.null()),
    "span": ([timedelta(seconds=5), None], pa.duration("us")),
}
#: What it does not read, and how its sentence begins.
ILLEGAL = "[PARQUET_TYPE_ILLEGAL] Illegal Parquet type: "
REFUSED: dict[str, tuple[Any, pa.DataType, str]] = {
    "nanos": (1711848615123456789, pa.timestamp("ns"), ILLEGAL + "INT64 (TIMESTAMP(NANOS,false))"),
    "half": (1.5, pa.float16(), ILLEGAL + "FIXED_LEN_BYTE_ARRAY (FLOAT16)"),
    "uuid": (uuid.UUID(int=5).bytes, pa.uuid(), ILLEGAL + "FIXED_LEN_BYTE_ARRAY (UUID)"),
    "time_ms": (time(1, 2, 3), pa.time32("ms"), ILLEGAL + "INT32 (TIME(MILLIS,false))"),
    "time_us": (time(1, 2, 3), pa.time64("us"), "[UNSUPPORTED_TIME_TYPE]"),
    "time_ns": (time(1, 2, 3), pa.time64("ns"), ILLEGAL + "INT64 (TIME(NANOS,false))"),
    "wide": (D("1.10"), pa.decimal256(50, 2), "[DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION]"),
}
#: Dialects of Parquet.
PAGES: dict[str, dict[str, Any]] = {
    "plain": {"compression": "none", "use_dictionary": False, "version": "1.0"},
    "zstd": {"compression": "zstd", "data_page_version": "2.0", "write_page_checksum": True},
    "lz4": {"compression": "lz4", "row_group_size": 100, "data_page_size": 64},
    "gzip": {"compression": "gzip", "store_decimal_as_integer": True},
    "int96": {"use_deprecated_int96_timestamps": True},
    "deltas": {
        "use_dictionary": False,
        "column_encoding": {
            "id": "DELTA_BINARY_PACKED",
            "text": "DELTA_BYTE_ARRAY",
            "yes": "RLE",
            "half": "BYTE_STREAM_SPLIT",
        },
    },
    "brotli": {"compression": "brotli"},
}
ROWS = 500
TEXTS = [
    {"id": "1", "text": 'a, "b"', "rest": "x"},
    {"id": "2", "text": "two\nlines", "rest": "ü😀\\ back"},
    {"id": "3", "text": "'q' ; \t", "rest": " in spaces "},
    {"id": "4", "text": '"', "rest": "0012"},
    {"id": "5", "text": "ends in \\", "rest": "y"},
]
#: Python's csv: how it writes, and the options that read it.
DIALECTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "minimal": ({}, {}),
    "all": ({"quoting": csv.QUOTE_ALL, "lineterminator": "\n"}, {}),
    "words": ({"quoting": csv.QUOTE_NONNUMERIC}, {}),
    "tabs": ({"dialect": "excel-tab"}, {"sep": "\t"}),
    # Outside of quotes Spark takes an escape as it stands.
    "escaped": (
        {"quoting": csv.QUOTE_ALL, "doublequote": False, "escapechar": "\\"},
        {"escape": "\\"},
    ),
    "bare": (
        {"quoting": csv.QUOTE_NONE, "escapechar": "\\", "quotechar": None, "delimiter": "|"},
        {"sep": "|", "quote": "", "escape": "\\"},
    ),
}
JSON = [
    {"id": 1, "text": 'ü😀\u2028\t"\\/', "deep": {"list": [[1, 2], []], "more": {"k": None}}},
    {"id": 2, "big": 2**64, "huge": 10**60, "low": -(2**63)},
    {"id": 3, "part": 1.0, "exp": 2.5e20, "tiny": 1e-300, "yes": True, "long": 0.1 + 0.2},
]
AVRO = {
    "name": "Row",
    "type": "record",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "text", "type": ["null", "string"], "default": None},
        {"name": "number", "type": ["int", "long"]},
        {"name": "kind", "type": {"type": "enum", "name": "Kind", "symbols": ["A", "B"]}},
        {"name": "raw4", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {
            "name": "exact",
            "type": {"type": "bytes", "logicalType": "decimal", "precision": 30, "scale": 2},
        },
        {"name": "moment", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "millis", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "day", "type": {"type": "int", "logicalType": "date"}},
        {"name": "map", "type": {"type": "map", "values": "long"}},
        {"name": "list", "type": {"type": "array", "items": ["null", "int"]}},
        {"name": "either", "type": ["string", "long"]},
    ],
}
UNPACKED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "zst": zstandard.ZstdCompressor().compress,
}


def arrow(kinds: dict[str, tuple[list[Any], pa.DataType]]) -> pa.Table:
    return pa.table(
        {"id": pa.array([1, 2], pa.int64())}
        | {name: pa.array(values, type) for name, (values, type) in kinds.items()}
    )


def wide() -> pa.Table:
    """Many rows, for files with many pages and row groups."""
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "text": [f"s{number % 7}" for number in range(ROWS)],
            "half": [number / 2 for number in range(ROWS)],
            "yes": [number % 3 == 0 for number in range(ROWS)],
            "exact": pa.array([D(number) / 100 for number in range(ROWS)], pa.decimal128(10, 2)),
            "moment": pa.array(
                [MOMENT + timedelta(days=number) for number in range(ROWS)],
                pa.timestamp("us", "UTC"),
            ),
        }
    )


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "part": [1.5, float("nan")],
            "moment": pd.to_datetime(["2024-03-31 01:30:15.123456", None]),
            "zoned": pd.to_datetime(["2024-03-31 03:30:15", "2024-01-01 00:00:00"]).tz_localize(
                "Europe/Berlin"
            ),
            "word": pd.Categorical(["a", None]),
            "number": pd.array([1, None], dtype="Int64"),
            "text": ['x,"y"', "two\nlines"],
        },
        index=pd.Index([7, 8], name="key"),
    )


#: Texts, and a number, for columns of other types.
HINTED = {
    "id": ["1", "2", "3", "4"],
    "amount": ["100", "12.50", "1e3", "12D"],
    "day": ["2024-5-2", "2024-05-02", None, "2024-05-02 10:00"],
    "paid": ["True", "false", None, "maybe"],
    "n": ["7", "-8", " 09", "1.5"],
    "big": [1, -(2**62), None, 2**63 - 1],
}

DUCK = """select 1 as id, 'a'::enum('a', 'b') as kind, [1, null] as list, {'x': 1, 'y': [{'z': 'q'}]} as struct,
timestamp '2024-03-31 01:30:15.123456' as moment, timestamptz '2024-03-31 01:30:15.123456+00' as zoned,
date '1500-02-28' as day, 1.10::decimal(38, 2) as exact, 255::utinyint as u8, 18446744073709551615::ubigint as u64,
true as yes, 'a, "b"' as text, 'nan'::double as part, '\\xAA'::blob as raw
union all select 2, null, null, null, null, null, null, null, null, null, null, 'two
lines', null, null"""
#: The same without what its CSV and JSON have in a way of their own.
DUCK_TEXT = "id, kind, exact, u64, day, yes, text"


def write_files(root: Path) -> None:
    for folder in ("arrow", "refused", "pages", "avro", "orc", "frames", "ducks", "hinted"):
        (root / folder).mkdir()
    pq.write_table(pa.table(HINTED), root / "hinted" / "a.parquet")
    pq.write_table(arrow(READ), root / "arrow" / "a.parquet")
    pq.write_table(arrow(READ).slice(0, 0), root / "arrow" / "none.parquet")
    for name, (value, type, _) in REFUSED.items():
        column = pa.array([value], pa.binary(16) if name == "uuid" else type).cast(type)
        pq.write_table(pa.table({"id": [1], "v": column}), root / "refused" / f"{name}.parquet")
    frame().to_parquet(root / "refused" / "pandas.parquet", coerce_timestamps=None)
    good = pa.table({"id": [1], "v": ["good"], "_metadata": [1], "ID": [2], "": [3], "last": [4]})
    pq.write_table(good, root / "refused" / "good.parquet")
    for name, settings in PAGES.items():
        pq.write_table(wide(), root / "pages" / f"{name}.parquet", **settings)
    pq.write_table(
        pa.table({"id": [-1], "tags": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))}),
        root / "pages" / "map.parquet",
    )
    frame().to_parquet(root / "frames" / "a.parquet", coerce_timestamps="us")
    unread = (
        "nothing",
        "span",
        "day64",
        "word",
        "view",
        "pair",
        "raw4",
        "day",
        "moment",
        "moment_utc",
    )
    kinds = {
        name: kind
        for name, kind in READ.items()
        if name not in unread and not name.startswith("u") and "large" not in str(kind[1])
    }
    for codec in ("uncompressed", "zlib", "snappy", "lz4", "zstd"):
        pyarrow.orc.write_table(arrow(kinds), root / "orc" / f"{codec}.orc", compression=codec)
    for codec in ("null", "deflate", "bzip2"):
        with open(root / "avro" / f"{codec}.avro", "wb") as file:
            fastavro.writer(file, AVRO, avro_rows(), codec=codec, metadata={"writer": "fastavro"})
    fields = [{"name": "t", "type": {"type": "long", "logicalType": "time-micros"}}]
    with open(root / "avro" / "time.avro", "wb") as file:
        schema = {"name": "T", "type": "record", "fields": fields}
        fastavro.writer(file, schema, [{"t": time(1, 2, 3)}])
    write_texts(root)
    with duckdb.connect() as duck:
        duck.execute("set timezone = 'UTC'")
        for version in ("v1", "v2"):
            to = f"'{root}/ducks/{version}.parquet' (format parquet, parquet_version {version})"
            duck.execute(f"copy ({DUCK}) to {to}")
        for kind in ("json", "csv"):
            (root / f"duck_{kind}").mkdir()
            others = "list, struct" if kind == "json" else "moment"
            query = f"select {DUCK_TEXT}, {others} from ({DUCK})"
            duck.execute(f"copy ({query}) to '{root}/duck_{kind}/a.{kind}' (format {kind})")


def write_texts(root: Path) -> None:
    for name, (settings, _) in DIALECTS.items():
        (root / f"csv_{name}").mkdir()
        with open(root / f"csv_{name}" / "a.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(TEXTS[0]), **settings)
            writer.writeheader()
            writer.writerows(texts_of(name))
    strange = [{"id": 4, "part": float("nan")}, {"id": 5, "part": float("inf")}]
    land(
        root / "json",
        {
            "ascii.json": "".join(json.dumps(row) + "\n" for row in JSON),
            "letters.json": "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in JSON),
            "tight.jsonl": "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in JSON),
            "strange.json": "".join(json.dumps(row) + "\n" for row in strange),
        },
    )
    land(root / "json_whole", {"indented.json": json.dumps(JSON, indent=2)})
    for kind in ("csv", "json"):
        (root / f"frame_{kind}").mkdir()
    frame().to_csv(root / "frame_csv" / "a.csv", quoting=csv.QUOTE_NONNUMERIC, na_rep="NA")
    frame().to_json(root / "frame_json" / "a.json", orient="records", lines=True, date_format="iso")
    packed = lines(*({"id": number} for number in range(1000))).encode()
    for ending, pack in UNPACKED.items():
        land(
            root / "packed",
            {
                f"json/{ending}.json.{ending}": pack(lines({"id": 1}).encode()),
                f"csv/{ending}.csv.{ending}": pack(b"id\n1\n"),
                f"text/{ending}.txt.{ending}": pack(b"one\n"),
                f"xml/{ending}.xml.{ending}": pack(b"<r><row><id>1</id></row></r>"),
            },
        )
    for kind in ("json", "csv", "txt", "xml"):
        folder = root / "packed" / ("text" if kind == "txt" else kind)
        land(folder, {f"other.{kind}.xz": lzma.compress(packed)})
        land(folder, {f"cut.{kind}.gz": gzip.compress(packed)[:60]})
        land(folder, {f"plain.{kind}.gz": packed})


def texts_of(dialect: str) -> list[dict[str, str]]:
    return [row for row in TEXTS if dialect != "bare" or not {"\n", "\\"} & set(row["text"])]


def avro_rows() -> list[dict[str, Any]]:
    return [
        {
            "id": number,
            "text": [None, "ü"][number],
            "number": [1, 2**40][number],
            "kind": "AB"[number],
            "raw4": b"\xff\x00ab",
            "exact": D("-9999999999999999999999999999.99"),
            "moment": IN_UTC,
            "millis": datetime(1500, 1, 1, tzinfo=timezone.utc),
            "local": MOMENT,
            "day": date(1500, 2, 28),
            "map": {"k": number},
            "list": [1, None],
            "either": ["text", 5][number],
        }
        for number in range(2)
    ]


LONG = {"multiLine": True}
MODELS = {
    "arrow": loader("arrow"),
    "refused": loader("refused"),
    "pages": loader(
        "pages",
        "_metadata.file_name as file, count(*) as rows, sum(id) as ids, sum(half) as halves, "
        "sum(exact) as sum, count_if(yes) as yes, max(moment) as last, count(distinct text) as texts, "
        "max(tags['k']) as tag",
    ).rstrip()
    + " group by 1\n",
    "orc": loader("orc"),
    "avro": loader("avro"),
    "frames": loader("frames"),
    "hinted": loader(
        "hinted", schema_hints="amount double, day date, paid boolean, n int, big double"
    ),
    "ducks": loader("ducks"),
    "duck_json": loader("duck_json", infer_column_types=True),
    "duck_csv": loader("duck_csv", format="csv", options=LONG, infer_column_types=True),
    "frame_csv": loader("frame_csv", format="csv", options=LONG),
    "frame_json": loader("frame_json", schema_hints="moment timestamp_ntz, zoned timestamp"),
    "json_texts": loader("json"),
    "json_whole": loader("json_whole", format="json", options=LONG, infer_column_types=True),
    "packed_json": loader("packed/json"),
    "packed_variant": loader("packed/json", format="json", single_variant_column="record"),
    "packed_csv": loader("packed/csv", infer_column_types=True),
    "packed_text": loader("packed/text"),
    "packed_xml": loader("packed/xml", format="xml", options={"rowTag": "row"}),
} | {
    f"csv_{name}": loader(
        f"csv_{name}",
        format="csv",
        options=options | ({} if name == "bare" else LONG),
    )
    for name, (_, options) in DIALECTS.items()
}


@dataclass
class Story:
    project: Project
    run: Run

    def of(self, model: str) -> list[dict[str, Any]]:
        """The rows of a model, nothing of which is rescued."""
        assert self.run.status[model] == "success", self.run.message[model]
        rows = exact(self.project, model)
        assert not [row for row in rows if "_rescued_data" in row]
        return rows


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("writers")
    write_files(project.root)
    for name, sql in MODELS.items():
        project.model(name, sql)
    return Story(project, project.dbt("run"))


def as_read(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table of Arrow's; a map is pairs there, and a span a number in Parquet."""
    rows = table.to_pylist(maps_as_pydicts="strict")
    return [
        without_null(
            {
                name: value // timedelta(microseconds=1)
                if isinstance(value, timedelta)
                else normal(value)
                for name, value in row.items()
            }
        )
        for row in rows
    ]


def by_id(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: str(row["id"]))


def test_types_of_pyarrow(story: Story) -> None:
    file = story.project.root / "arrow" / "a.parquet"
    assert by_id(story.of("arrow")) == as_read(pq.read_table(file))
    types = columns(story.project, "arrow")
    assert {types[name] for name in ("moment", "moment_s")} == {"timestamp_ntz"}
    assert {types[name] for name in ("moment_utc", "moment_zone")} == {"timestamp"}
    assert (types["u64"], types["u32"], types["span"]) == ("decimal(20,0)", "bigint", "bigint")


def test_a_file_with_a_type_that_spark_does_not_read_is_corrupt(story: Story) -> None:
    reasons = {file: reason for file, _, _, reason in quarantined(story.project, "refused")}
    for name, (_, _, sentence) in REFUSED.items():
        assert reasons.pop(f"{name}.parquet").startswith(sentence), name
    # The default of pandas before 3.
    assert reasons.pop("pandas.parquet").startswith(REFUSED["nanos"][2])
    assert not reasons


def test_names_that_spark_does_not_read_are_left_out_and_said(story: Story) -> None:
    [row] = records(story.project, "refused")
    assert row["_rescued_data"].startswith('{"ID":2,"_file_path":')
    assert (row["id"], row["v"], row["last"], len(row)) == (1, "good", 4, 4)
    assert "files have columns that cannot be read: '_metadata', ''. Their values" in story.run.log


def test_pages_row_groups_and_encodings(story: Story) -> None:
    rows = {row.pop("file").partition(".")[0]: row for row in exact(story.project, "pages")}
    assert rows.pop("map") == {"rows": 1, "ids": -1, "yes": 0, "texts": 0, "tag": 1}
    wanted = {
        "rows": ROWS,
        "ids": sum(range(ROWS)),
        "halves": D(sum(range(ROWS))) / 2,
        "sum": D(sum(range(ROWS))) / 100,
        "yes": len(range(0, ROWS, 3)),
        "last": normal(IN_UTC + timedelta(days=ROWS - 1)),
        "texts": 7,
    }
    assert rows == dict.fromkeys(PAGES.keys() - {"brotli"}, wanted)
    [(file, _, _, reason)] = quarantined(story.project, "pages")
    assert file == "brotli.parquet"
    assert "BrotliCodec" in reason


def test_orc_of_pyarrow(story: Story) -> None:
    wanted = as_read(pyarrow.orc.read_table(story.project.root / "orc" / "zlib.orc"))
    # ORC knows no moment without a zone that Spark keeps apart from one with: both are moments in UTC.
    wanted = [
        {name: f"{value}Z" if name == "moment_s" else value for name, value in row.items()}
        for row in wanted
    ]
    found = by_id(story.of("orc"))
    assert found == by_id(wanted * 5)


def test_avro_of_fastavro(story: Story) -> None:
    wanted = [normal(row) for row in avro_rows()]
    # A union of several types is a struct with a field for each.
    wanted[0]["either"], wanted[1]["either"] = {"member0": "text"}, {"member1": 5}
    assert by_id(story.of("avro")) == by_id([without_null(row) for row in wanted] * 3)
    [(file, _, _, reason)] = quarantined(story.project, "avro")
    assert file == "time.avro"
    assert reason.startswith("[UNSUPPORTED_TIME_TYPE]")


def test_parquet_of_pandas(story: Story) -> None:
    wanted = as_read(pq.read_table(story.project.root / "frames" / "a.parquet"))
    assert sorted(story.of("frames"), key=lambda row: row["key"]) == wanted


def test_texts_in_columns_of_other_types(story: Story) -> None:
    rows = {row.pop("id"): row for row in records(story.project, "hinted")}
    assert rescued(rows.pop("4")) == {
        "amount": "12D",
        "day": "2024-05-02 10:00",
        "paid": "maybe",
        "n": "1.5",
        "big": 2**63 - 1,
        "_file_path": "a.parquet",
    }
    assert rows == {
        "1": {"amount": 100, "day": "2024-05-02", "paid": True, "n": 7, "big": 1},
        "2": {"amount": 12.5, "day": "2024-05-02", "paid": False, "n": -8, "big": -(2**62)},
        "3": {"amount": 1000, "n": 9},
    }


def test_parquet_of_duckdb(story: Story) -> None:
    wanted = [row for name in ("v1", "v2") for row in as_read(duck(story, f"ducks/{name}.parquet"))]
    assert by_id(story.of("ducks")) == by_id(wanted)


def duck(story: Story, path: str) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("set timezone = 'UTC'")
        return connection.sql(f"from '{story.project.root}/{path}'").to_arrow_table()


def test_text_files_of_duckdb(story: Story) -> None:
    first, second = by_id(story.of("duck_json"))
    assert columns(story.project, "duck_json")["u64"] == "decimal(20,0)"
    assert first == {
        "id": 1,
        "kind": "a",
        "exact": D("1.10"),
        "u64": 2**64 - 1,
        "day": "1500-02-28",
        "yes": True,
        "text": 'a, "b"',
        "list": [1, None],
        "struct": {"x": 1, "y": [{"z": "q"}]},
    }
    assert second == {"id": 2, "text": "two\nlines"}
    first, second = by_id(story.of("duck_csv"))
    assert first == {
        "id": 1,
        "kind": "a",
        "exact": D("1.10"),
        "u64": 2**64 - 1,
        "day": "1500-02-28",
        "yes": True,
        "text": 'a, "b"',
        "moment": normal(IN_UTC),
    }
    assert second == {"id": 2, "text": "two\nlines"}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_of_csv(story: Story, dialect: str) -> None:
    assert by_id(story.of(f"csv_{dialect}")) == texts_of(dialect)


def test_csv_and_json_of_pandas(story: Story) -> None:
    read = pd.read_csv(
        story.project.root / "frame_csv" / "a.csv", dtype=str, keep_default_na=False
    ).to_dict("records")
    assert sorted(story.of("frame_csv"), key=lambda row: row["key"]) == read
    rows = sorted(story.of("frame_json"), key=lambda row: row["text"], reverse=True)
    assert rows == [
        {
            "part": "1.5",
            "moment": "2024-03-31T01:30:15.123000",  # pandas writes three digits
            "zoned": "2024-03-31T01:30:15.000000Z",
            "word": "a",
            "number": "1",
            "text": 'x,"y"',
        },
        {"zoned": "2023-12-31T23:00:00.000000Z", "text": "two\nlines"},
    ]


def as_texts(value: Any) -> Any:
    """A value of JSON whose every leaf is the text of it."""
    if isinstance(value, dict):
        return {name: as_texts(one) for name, one in value.items() if one is not None}
    if isinstance(value, list):
        return [as_texts(one) for one in value]
    return value if isinstance(value, str) or value is None else json.dumps(value)


def test_json_of_python_as_texts(story: Story) -> None:
    wanted = [as_texts(row) for row in JSON]
    assert by_id(story.of("json_texts")) == by_id(wanted * 3)
    # NaN and Infinity are no JSON: each such line is kept as it stands.
    assert quarantined(story.project, "json_texts") == [
        ("strange.json", 1, '{"id": 4, "part": NaN}', "not a JSON object"),
        ("strange.json", 2, '{"id": 5, "part": Infinity}', "not a JSON object"),
    ]


def test_json_of_python_with_types(story: Story) -> None:
    types = columns(story.project, "json_whole")
    assert {
        name: types[name] for name in ("big", "huge", "low", "part", "exp", "tiny", "long")
    } == {
        "big": "decimal(20,0)",
        "huge": "double",
        "low": "bigint",
        "part": "double",
        "exp": "double",
        "tiny": "double",
        "long": "double",
    }
    assert by_id(story.of("json_whole")) == [without_null(normal(row)) for row in JSON]


@pytest.mark.parametrize("kind", ["json", "csv", "text", "xml"])
def test_packed_texts_are_loaded_or_corrupt_as_files(story: Story, kind: str) -> None:
    rows = story.of(f"packed_{kind}")
    assert len(rows) == len(UNPACKED)
    assert len({str(row) for row in rows}) == 1
    reasons = [
        (file, reason) for file, _, _, reason in quarantined(story.project, f"packed_{kind}")
    ]
    ending = "txt" if kind == "text" else kind
    assert [file for file, _ in reasons] == [
        f"cut.{ending}.gz",
        f"other.{ending}.xz",
        f"plain.{ending}.gz",
    ]
    (_, cut), (_, other), (_, plain) = reasons
    assert cut.startswith("[FAILED_READ_FILE")
    assert plain.startswith("[FAILED_READ_FILE")
    assert other == "packed as .xz, which Spark does not unpack: pack it as .gz, .bz2 or .zst"


def test_packed_json_in_a_variant(story: Story) -> None:
    assert story.of("packed_variant") == [{"record": {"id": 1}}] * len(UNPACKED)
    assert len(quarantined(story.project, "packed_variant")) == 3


#: A column in files whose types differ, oldest first.
LATER: dict[str, list[tuple[Any, pa.DataType]]] = {
    "whole": [(1, pa.int32()), (2**40, pa.int64()), (D("1.50"), pa.decimal128(10, 2))],
    "half": [(1, pa.int16()), (1.5, pa.float32()), (2.25, pa.float64())],
    "text": [("x", pa.string()), (5, pa.int64()), ({"a": 1}, pa.struct([("a", pa.int64())]))],
    "number": [(1, pa.int64()), ("text", pa.string()), (MOMENT, pa.timestamp("us"))],
    "zoned": [(IN_UTC, pa.timestamp("us", "UTC")), (MOMENT, pa.timestamp("us")), (1, pa.int64())],
    "local": [(date(2024, 1, 1), pa.date32()), (MOMENT, pa.timestamp("us")), (True, pa.bool_())],
    "struct": [
        ({"a": 1}, pa.struct([("a", pa.int64())])),
        ({"a": "x", "b": "y"}, pa.struct([("a", pa.string()), ("b", pa.string())])),
        ([1], pa.list_(pa.int64())),
    ],
    "map": [
        ([("k", 1)], pa.map_(pa.string(), pa.int64())),
        ([("k", 2)], pa.map_(pa.string(), pa.int32())),
        ({"k": 3}, pa.struct([("k", pa.int64())])),
    ],
    "raw": [(b"\xff", pa.binary()), ("ü", pa.string()), (7, pa.int32())],
    # Not in the first file.
    "since": [(None, pa.int8()), (MOMENT, pa.timestamp("us")), (MOMENT, pa.timestamp("us"))],
    "new": [(None, pa.int8()), ('q"', pa.string()), (MOMENT, pa.timestamp("us"))],
}


@pytest.fixture(scope="module")
def later(make_project: Callable[..., Project]) -> Project:
    project = make_project("later")
    (project.root / "in").mkdir()
    for number in range(3):
        table = {"id": pa.array([number])} | {
            name: pa.array([values[number][0]], values[number][1])
            for name, values in LATER.items()
            if name not in ("new", "since") or number
        }
        pq.write_table(pa.table(table), project.root / "in" / f"{number}.parquet")
    for name, settings in {
        "together": {},
        "kept": {"schema_evolution": "rescue", "max_files_per_batch": 1},
        "widened": {"schema_evolution": "widen", "max_files_per_batch": 1},
    }.items():
        project.model(name, loader("in", **settings))
    for name in ("bare_rescue", "bare_none", "bare_fails"):
        land(project.root / name, {"0.json": "nonsense\n"})
        evolution = {"schema_evolution": name.partition("_")[2]} if "fails" not in name else {}
        rest = {"rescued_data_column": False} if "fails" in name else {}
        project.model(name, loader(name, **evolution, **rest))
    run = project.dbt("run")
    wrong = {name for name, status in run.status.items() if status != "success"}
    assert wrong == {"bare_fails"}, run.log[-6000:]
    assert (
        "no file in bare_fails has a column that can be read, so there is none to make the table of"
        in run.message["bare_fails"]
    )
    return project


def rows_of(project: Project, model: str) -> dict[int, dict[str, Any]]:
    rows = {}
    for row in exact(project, model):
        number, rest = row.pop("id"), rescued(row) or {}
        assert rest.pop("_file_path", None) in (None, f"{number}.parquet")
        row.pop("_rescued_data", None)
        rows[number] = row | ({"rescued": rest} if rest else {})
    return rows


def test_types_that_differ_in_one_batch_are_joined(later: Project) -> None:
    types = columns(later, "together")
    assert {name: types[name] for name in LATER} == {
        "whole": "decimal(22,2)",
        "half": "double",
        "text": "string",
        "number": "string",
        "zoned": "string",
        "local": "string",
        "struct": "string",
        "map": "string",
        "raw": "string",
        "since": "timestamp_ntz",
        "new": "string",
    }
    rows = rows_of(later, "together")
    # Bytes that are no UTF-8 are no text.
    assert (rows[0]["rescued"], rows[1]["raw"], rows[2]["raw"]) == ({"raw": "/w=="}, "ü", "7")


def test_a_value_of_another_type_is_rescued_and_not_changed(later: Project) -> None:
    rows = rows_of(later, "kept")
    assert rows[1] == {
        "text": "5",
        "rescued": {
            "whole": 2**40,
            "half": 1.5,
            "number": "text",
            "zoned": "2024-03-31T01:30:15.123456",
            "local": "2024-03-31T01:30:15.123456",
            "struct": {"a": "x", "b": "y"},
            "since": "2024-03-31T01:30:15.123456",
            "new": 'q"',
        },
        "struct": {},
        "map": {"k": 2},
        "raw": "w7w=",
    }
    assert rows[2] == {
        "text": '{"a":1}',
        "rescued": {
            "whole": 1.5,
            "half": 2.25,
            "number": "2024-03-31T01:30:15.123456",
            "zoned": 1,
            "local": True,
            "struct": [1],
            "map": {"k": 3},
            "raw": 7,
            "since": "2024-03-31T01:30:15.123456",
            "new": "2024-03-31T01:30:15.123456",
        },
    }


def test_a_type_is_widened_by_a_file_of_another_writer(later: Project) -> None:
    types = columns(later, "widened")
    assert [types[name] for name in ("whole", "half", "local", "since")] == [
        "decimal(22,2)",
        "double",
        "timestamp_ntz",
        "timestamp_ntz",
    ]
    rows = rows_of(later, "widened")
    assert [rows[number]["whole"] for number in range(3)] == [1, 2**40, D("1.50")]
    assert [rows[number]["half"] for number in range(3)] == [1, D("1.5"), D("2.25")]
    assert rows[1]["local"] == rows[2]["since"] == normal(MOMENT)
    assert rows[0]["local"] == "2024-01-01T00:00:00.000000"


def test_a_table_that_corrupt_files_made_gets_the_columns_of_the_first_good_one(
    later: Project,
) -> None:
    names = ["bare_rescue", "bare_none", "bare_fails"]
    for name in names:
        land(later.root / name, {"1.json": lines({"id": "1", "v": "good"})})
    later.build("--select", *names)
    for name in names:
        assert records(later, name) == [{"id": "1", "v": "good"}], name
        assert [row[:3] for row in quarantined(later, name)] == [("0.json", 1, "nonsense")], name
