"""`floodmark init --files`: the model that it writes of what it saw, and the path in it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt_floodmark.cli import init_files
from dbt_floodmark.cli.init_files import Look, model_text, path_in
from dbt_floodmark.errors import UsageError
from tests.support.macros import load, new_environment


def test_the_model() -> None:
    look = Look(
        "../in",
        "csv",
        2,
        1_234,
        [("id", "int"), ("Customer No", "string"), ("customer_no", "string"), ("E-Mail", "date")],
        options={"sep": ";"},
    )
    assert look.text() == "2 files (1,234 bytes) of csv, sep ';': 4 columns"
    assert model_text(look) == (
        "-- ../in: 2 files (1,234 bytes) when this was written.\n"
        "-- New columns are added by themselves. What does not fit is in _rescued_data, corrupt\n"
        "-- records are in the table of this name with __quarantine behind it.\n"
        "{{ config(\n"
        "    materialized='incremental',\n"
        "    incremental_strategy='append',\n"
        "    files={\n"
        "        'path': '../in',\n"
        "        'format': 'csv',\n"
        "        'schema_hints': '\n"
        "            id int,\n"
        "            `Customer No` string,\n"
        "            `E-Mail` date\n"
        "        ',\n"
        "        'options': {'sep': ';'},\n"
        "    },\n"
        ") }}\n"
        "\n"
        "select\n"
        "    * except (`Customer No`, _metadata),\n"
        "    `Customer No` as customer_no_2,\n"
        "    _metadata.file_path as source_file,\n"
        "    current_timestamp() as loaded_at\n"
        "from {{ floodmark.new_files() }}\n"
    )


def test_what_needs_no_hint_has_none() -> None:
    text = model_text(Look("in", "parquet", 1, 2_000_000, [("id", "int")], [("day", "date")]))
    assert "schema_hints" not in text and "options" not in text
    assert "1 file (2.0 MB)" in text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("in", "../in"),
        ("in/*/*.csv", "../in/*/*.csv"),
        ("here", "here"),
        ("shop/here", "here"),
        ("nowhere", "nowhere"),
        ("s3a://bucket/in", "s3a://bucket/in"),
        ("/data/in", "/data/in"),
    ],
)
def test_a_path_is_meant_from_where_people_are(tmp_path: Path, path: str, expected: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "shop" / "here").mkdir(parents=True)
    assert path_in(tmp_path / "shop", path, tmp_path) == expected


def test_a_name_that_delta_refuses_has_a_hint_in_every_format() -> None:
    columns = [("id", "int"), ("order id", "decimal(5,2)")]
    text = model_text(Look("in", "parquet", 1, 2_000, columns, [("day", "date")]))
    assert "'schema_hints': '`order id` decimal(5,2)'," in text
    assert "* except (`order id`, _metadata),\n    `order id` as order_id," in text


#: Those of Windows' performance counters, and such as look like Jinja.
ODD = [r"\\HOST\Processor(_Total)\% Processor Time", r"It's \N \u \x", "{{ a }}", "{%b{#"]


@pytest.mark.parametrize("names", [ODD, ODD[:1]])
def test_names_are_in_the_model_as_they_are(names: list[str]) -> None:
    text = model_text(Look(r"in\{{a,b}", "csv", 1, 1, [(name, "double") for name in names]))
    given: dict[str, Any] = {}
    floodmark = SimpleNamespace(new_files=lambda: "files")
    sql = new_environment().from_string(text).render(config=given.update, floodmark=floodmark)
    hints = load()._hints(given["files"]["schema_hints"])
    assert [hint["path"] for hint in hints] == [[name] for name in names]
    assert given["files"]["path"] == r"in\{{a,b}" and sql.startswith(r"-- in\{{a,b}: 1 file")
    assert [sql.count(f"`{name}`") for name in names] == [2] * len(names)


def test_columns_that_have_the_names_of_what_the_model_adds() -> None:
    columns = [("Loaded_At", "string"), ("source file", "string"), ("loaded_at_2", "string")]
    text = model_text(Look("in", "json", 1, 2_000, columns, [("source_file", "int")]))
    assert (
        "select\n"
        "    * except (`source file`, _metadata),\n"
        "    `source file` as source_file_3,\n"
        "    _metadata.file_path as source_file_2,\n"
        "    current_timestamp() as loaded_at_3\n"
    ) in text


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("données", "bronze_donnees"),
        ("Été 2026", "bronze_ete_2026"),
        ("OrderLines", "bronze_order_lines"),
        ("売上csv", "bronze_csv"),
    ],
)
def test_a_models_name_is_one_that_sparks_catalog_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str, name: str
) -> None:
    monkeypatch.setattr(init_files, "look_at", lambda *given: Look("in", "csv", 1, 1, []))
    project = SimpleNamespace(manifest=SimpleNamespace(nodes={}), folder=tmp_path)
    file, _ = init_files.write_model(project, folder, None, None, tmp_path)
    assert file == tmp_path / "models" / "bronze" / f"{name}.sql"


@pytest.mark.parametrize(
    ("folder", "given", "called"),
    [("in", "Orders", "Orders"), ("in", "7up", "7up"), ("in", "é", "é"), ("売上", None, "bronze_")],
)
def test_a_name_that_no_model_can_have(
    tmp_path: Path, folder: str, given: str | None, called: str
) -> None:
    project = SimpleNamespace(manifest=SimpleNamespace(nodes={}), folder=tmp_path)
    with pytest.raises(UsageError) as caught:
        init_files.write_model(project, folder, None, given, tmp_path)
    assert str(caught.value) == (
        f"'{called}' cannot be a model's name: use lower-case letters, digits and underscores, "
        "and begin with a letter. --model names it."
    )
