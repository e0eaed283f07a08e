"""Each line of a file is loaded or quarantined, whatever is in it: counted by Python, in files made at random."""

from __future__ import annotations

import random
from collections.abc import Callable
from urllib.parse import unquote

import pytest

from tests.support.file_fuzz import csv_file, files, is_object, json_file, lines_of
from tests.support.files import land, loader
from tests.support.harness import FULL, Project

pytestmark = [pytest.mark.edge, pytest.mark.lab, pytest.mark.long("session")]

SEED = 26
COUNT = 1300 if FULL else 60
MODELS = {
    "texts": loader("json", format="json"),
    "typed": loader("json", format="json", infer_column_types=True),
    "given": loader("json", format="json", schema="id int, a string"),
    "rescued": loader(
        "json", format="json", schema="id int, a struct<id: string>", schema_evolution="rescue"
    ),
    "fields": loader("csv", format="csv"),
    "numbers": loader("csv", format="csv", schema="id int, name date", schema_evolution="rescue"),
}


@pytest.fixture(scope="module")
def lab(make_project: Callable[..., Project]) -> tuple[Project, dict[str, bytes], dict[str, bytes]]:
    project = make_project("fuzz")
    rng = random.Random(SEED)
    made = dict(files(rng, json_file, "json", COUNT))
    tables = dict(files(rng, csv_file, "csv", COUNT))
    land(project.root / "json", made)
    land(project.root / "csv", tables)
    for name, sql in MODELS.items():
        project.model(name, sql)
    project.build()
    return project, made, tables


def found(project: Project, model: str) -> dict[str, tuple[int, int, str | None]]:
    """What the ledger says of each file: rows, rows in the quarantine, the reason."""
    return {
        unquote(path).rpartition("/")[2]: (rows, quarantined, reason)
        for path, rows, quarantined, reason in project.ledger(
            model, "path, rows, rows_quarantined, reason", "files"
        )
    }


@pytest.mark.parametrize("model", ["texts", "typed", "given", "rescued"])
def test_each_line_of_json_is_loaded_or_quarantined(
    lab: tuple[Project, dict[str, bytes], dict[str, bytes]], model: str
) -> None:
    project, made, _ = lab
    told = found(project, model)
    wrong = {}
    for name, content in made.items():
        lines = lines_of(name, content)
        # Nesting has a limit, by which Spark and Python differ.
        whole = sum(is_object(line) for line in lines if b'{"deep":{"deep":' not in line)
        rows, quarantined, _ = told.get(name, (0, 0, None))
        deep = sum(b'{"deep":{"deep":' in line for line in lines)
        if rows + quarantined != len(lines) or not whole <= rows <= whole + deep:
            wrong[name] = (len(lines), whole, deep, rows, quarantined, content[:300])
    assert not wrong
    [(rows,)] = project.sql(f"select count(*) from {project.schema}.{model}")
    assert rows == sum(count for count, _, _ in told.values())
    [(rows,)] = project.sql(f"select count(*) from {project.schema}.{model}__quarantine")
    assert rows == sum(count for _, count, _ in told.values())


@pytest.mark.parametrize("model", ["fields", "numbers"])
def test_each_line_of_csv_is_loaded_or_quarantined(
    lab: tuple[Project, dict[str, bytes], dict[str, bytes]], model: str
) -> None:
    project, _, tables = lab
    told = found(project, model)
    wrong = {}
    for name, content in tables.items():
        lines = lines_of(name, content)
        rows, quarantined, reason = told.get(name, (0, 0, None))
        wanted = 1 if (reason or "").startswith("its header") else max(len(lines) - 1, 0)
        if rows + quarantined != wanted:
            wrong[name] = (wanted, rows, quarantined, reason, content[:300])
    assert not wrong
    [(rows,)] = project.sql(f"select count(*) from {project.schema}.{model}")
    assert rows == sum(count for count, _, _ in told.values())
