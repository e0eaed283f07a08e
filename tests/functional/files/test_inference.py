"""What floodmark infers of files at random is what Spark's own readers infer of them, but for the rules below.

All cases are in one batch of each format: a case is a column.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support.files import EXACT, as_exact, columns, exact, land, lines, loader, rescued
from tests.support.harness import FULL, Project

pytestmark = [pytest.mark.lab, pytest.mark.edge, pytest.mark.long("session")]

SEED = 31
CASES = 600 if FULL else 60
RECORDS = 3

Maker = Callable[[], Any]


def maker(rng: random.Random, depth: int = 0) -> Maker:
    """What makes values of one kind, now and then of two."""
    kinds: list[Maker] = [
        lambda: None,
        lambda: rng.random() < 0.5,
        lambda: rng.randrange(-1000, 1000),
        lambda: rng.choice([2**31, 2**40, -(2**63), 7]),
        lambda: rng.choice([2**63, 10**25, 10**37, -(10**30), 5]),
        lambda: rng.choice([10**38, 10**45, 1]),
        lambda: rng.choice([1.5, -0.25, 1e300, 12345678.123456789]),
        lambda: rng.choice([1.0, 2.0, 100.0]),
        lambda: rng.choice([0.1 + 0.2, 1e-7, 5e-324]),
        lambda: rng.choice(["x", "", "1", "true", "2024-01-01", "2024-01-01T00:00:00Z", "null"]),
    ]
    if depth < 3:
        kinds += [lists(rng, depth), objects(rng, depth)] * 4
    made = rng.choice(kinds)
    if rng.random() < 0.2:
        other = rng.choice(kinds)
        return lambda: made() if rng.random() < 0.6 else other()
    return made


def lists(rng: random.Random, depth: int) -> Maker:
    element = maker(rng, depth + 1) if depth < 3 else lambda: 1
    return lambda: [element() for _ in range(rng.randrange(3))]


def objects(rng: random.Random, depth: int) -> Maker:
    makers = {name: maker(rng, depth + 1) for name in rng.sample("abcdef", rng.randrange(4))}
    return lambda: {name: make() for name, make in makers.items() if rng.random() < 0.8}


def cells(rng: random.Random) -> Callable[[], str]:
    """What makes fields of CSV of one kind, now and then of two."""
    kinds = [
        ["1", "-7", "0012", "+5"],
        ["2147483648", "9223372036854775807", "1"],
        ["9223372036854775808", "99999999999999999999999999999999999999", "3"],
        ["1.5", "1.10", "-0.0", "1e5", "12345678901234567890.12"],
        ["true", "FALSE", "True"],
        ["2024-01-01", "1500-02-28"],
        ["2024-01-01 01:02:03", "2024-01-01T01:02:03.123456", "2024-03-31 02:30:00"],
        ["2024-01-01T01:02:03Z", "2024-01-01T01:02:03+02:00"],
        ["x", "", "NaN", "1 2", "null"],
        [""],
    ]
    made = rng.choice(kinds)
    other = rng.choice(kinds) if rng.random() < 0.3 else made
    return lambda: rng.choice(rng.choice([made, made, other, [""]]))


@dataclass
class Story:
    project: Project
    #: What Spark infers, by the name of a model: the types of its columns, and its rows.
    inferred: dict[str, dict[str, str]]
    #: The same by the rules.
    types: dict[str, dict[str, str]]
    rows: dict[str, list[dict[str, Any]]]


#: A model each, and the options with which Spark reads the same files; `split` are files with two headers, whose cells
#: Spark gets in one file.
READ = {
    "json_typed": ("json", "json", {}),
    "json_texts": ("json", "json", {"primitivesAsString": True}),
    "csv_typed": ("csv", "csv", {"header": True, "inferSchema": True, "escape": '"'}),
    "csv_texts": ("csv", "csv", {"header": True, "escape": '"'}),
    "csv_split": ("joined", "csv", {"header": True, "inferSchema": True, "escape": '"'}),
}
MODELS = {
    "json_typed": loader("json", infer_column_types=True),
    "json_texts": loader("json"),
    "csv_typed": loader("csv", infer_column_types=True),
    "csv_texts": loader("csv"),
    "csv_split": loader("split", infer_column_types=True),
    "parquet": loader("parquet"),
}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project], attached: None) -> Story:
    """`attached`: Spark's own reader says what is right, on whatever target the models run."""
    from pyspark.sql import SparkSession

    project = make_project("inference")
    rng = random.Random(SEED)
    folders: dict[str, dict[str, str]] = {name: {} for name in ("json", "csv", "split", "joined")}
    emptied = set()
    for case in range(CASES):
        make = maker(rng)
        made = [{f"c{case}": make(), "id": case * RECORDS + number} for number in range(RECORDS)]
        folders["json"][f"{case}.json"] = lines(*made)
        if any(row[f"c{case}"] == "" for row in made):
            emptied.add(f"c{case}")
    makers = {f"c{case}": cells(rng) for case in range(CASES)}
    rows = [[str(row), *(make() for make in makers.values())] for row in range(8)]
    header = ["id", *makers]
    folders["csv"]["a.csv"] = table(header, rows[:4])
    folders["csv"]["b.csv"] = table(header, rows[4:])
    folders["split"]["a.csv"] = table(header, rows[:4])
    folders["split"]["b.csv"] = table(header[::-1], [row[::-1] for row in rows[4:]])
    folders["joined"]["all.csv"] = table(header, rows)
    for name, files in folders.items():
        land(project.root / name, files)
    for name, sql in MODELS.items():
        project.model(name, sql)
    spark = SparkSession.active()
    types, read = {}, {}
    for name, (folder, format, options) in READ.items():
        frame = spark.read.format(format).options(**options).load(str(project.root / folder))
        types[name] = dict(frame.dtypes)
        read[name] = as_exact(frame.selectExpr(EXACT).collect())
        if name == "json_typed":
            frame.coalesce(1).write.parquet(str(project.root / "parquet"))
    types["parquet"], read["parquet"] = types["json_typed"], read["json_typed"]
    inferred = {name: dict(found) for name, found in types.items()}
    # RULE: an empty text beside numbers makes them texts; Spark takes it for NULL, and loses it.
    types["json_typed"] = types["json_typed"] | dict.fromkeys(emptied, "string")
    # RULE: a bigint under one header and more digits under another are 20 digits; in one file Spark has those that it
    # sees first.
    for place, name in enumerate(header):
        if types["csv_split"][name] == "decimal(19,0)" and any(
            kind_of(row[place] for row in half) == "bigint" for half in (rows[:4], rows[4:])
        ):
            types["csv_split"][name] = "decimal(20,0)"
    # RULE: a column that is empty in all files of one header is a string.
    for place, name in enumerate(header):
        if any(all(row[place] == "" for row in half) for half in (rows[:4], rows[4:])):
            types["csv_split"][name] = "string"
    # RULE: digits with a zero in front stay strings, which Spark takes for numbers.
    for place, name in enumerate(header):
        if any(re.match(r"[-+]?0\d", row[place]) for row in rows):
            types["csv_typed"][name] = types["csv_split"][name] = "string"
    project.build()
    return Story(project, inferred, types, read)


def kind_of(numbers: Iterable[str]) -> str:
    """The type of whole numbers: int, bigint, or decimal where one of them is beyond."""
    greatest = max((abs(int(number)) for number in numbers if number), default=0)
    return "int" if greatest < 2**31 else "bigint" if greatest < 2**63 else "decimal"


def table(header: list[str], rows: list[list[str]]) -> str:
    return "".join(",".join(row) + "\n" for row in [header, *rows])


def own(found: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in found.items() if name != "_rescued_data"}


@pytest.mark.parametrize("model", MODELS)
def test_types_are_those_of_spark(story: Story, model: str) -> None:
    assert own(columns(story.project, model)) == story.types[model]


@pytest.mark.parametrize("model", MODELS)
def test_values_are_those_of_spark(story: Story, model: str) -> None:
    found = sorted(exact(story.project, model), key=lambda row: int(row["id"]))
    read = sorted(story.rows[model], key=lambda row: int(row["id"]))
    for row, wanted in zip(found, read, strict=True):
        for name, rest in (rescued(row) or {}).items():
            # RULE: an object without fields is no column, nor is a list of such; Spark drops them, here they are rescued.
            assert name == "_file_path" or has_empty_object(rest), row
        alike = {
            name for name, type in story.types[model].items() if story.inferred[model][name] == type
        }
        assert {name: one for name, one in row.items() if name in alike} == {
            name: one for name, one in wanted.items() if name in alike
        }


def has_empty_object(value: Any) -> bool:
    if isinstance(value, dict):
        return not value or any(map(has_empty_object, value.values()))
    return isinstance(value, list) and (not value or any(map(has_empty_object, value)))
