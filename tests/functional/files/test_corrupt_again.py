"""RULES.md, replay: corrupt records are read again from their texts, in the schema of today, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.commands import command
from tests.support.files import columns, land, lines, loader, quarantined, records, rescued
from tests.support.harness import Project, sentence

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

RULES = {"expectations": [{"name": "small", "expect": "id < 100", "on_violation": "quarantine"}]}
AT_ONCE = {"on_loaded": "archive", "archive_to": "archive", "after": "0 seconds"}
CSV = "id,name\n1,a\n2\n3,c,x\n"
DAY = "day=2024-05-01"
#: Values that are strings in the table, with numbers that a double does not have.
EXACT = (
    '"amount":1234567890123456.78,"rate":12.50,"e":1E2,"t":"a 1.50 \\"2.50\\"","neg":-0.10,"b":true,'
    '"s":{"x":1.10,"y":["2.50",3.0],"z":{"k 1":12345678901234567890.5}},"l":[1.50,{"a":1.0}]'
)
MODELS = {
    "json": loader(
        "json",
        "id, name, day, _rescued_data, _metadata.file_name as file, _metadata.file_size as size",
        config=RULES,
        infer_column_types=True,
    ),
    "quoted": loader("quoted", schema="id int, name string"),
    "merged": loader(
        "merged",
        config={"incremental_strategy": "merge", "unique_key": "id"},
        schema="id int, name string",
    ),
    "history": loader(
        "merged",
        schema="id int, name string",
        config={
            **RULES,
            "incremental_strategy": "cdc",
            "unique_key": "id",
            "cdc": {"sequence_by": "id", "stored_as_scd_type": 2},
        },
    ),
    "csv": loader("csv", infer_column_types=True),
    "plain": loader(
        "plain", format="csv", schema="id int, name string", options={"header": "false"}
    ),
    "multiline": loader(
        "multiline", format="csv", schema="id int, name string", options={"multiLine": "true"}
    ),
    "moved": loader("moved", schema="id int, name string", **AT_ONCE),
    "gone": loader("gone", schema="id int, name string"),
    "variants": loader("variants", single_variant_column="value"),
    "bytes": loader("bytes", schema="id int, name string"),
    "spelt": loader(
        "spelt", schema="id int", case_sensitive=False, rescued_data_column="_rescued_data"
    ),
    "csv_variants": loader("csv", single_variant_column="v"),
    "again": loader("again", schema="id int, name string"),
    "changed": loader("changed", schema="id int, name string"),
    "taken": loader(
        "taken", schema="id int, name string", **AT_ONCE | {"archive_to": "./archive//../archive2"}
    ),
    "open": loader("open", schema="id int, name string"),
    "exact": loader("exact", "* except (_metadata)"),
    "whole": loader("whole", schema="id int"),
    "packed": loader("packed", format="parquet", schema="id int"),
}
FILES = {
    f"json/{DAY}/a.json": lines(
        {"id": 1, "name": "a"}, '{"id": 2, "name": "b"', '{"id": 200, "extra": 1.50'
    ),
    "quoted/a.json": lines({"id": 1, "name": "a"}, "{'id': 2, 'name': 'b'}", "not JSON"),
    "merged/a.json": lines(
        {"id": 1, "name": "a"}, '{"id": 1, "name": "late"', '{"id": 2, "name": "b"'
    ),
    "csv/a.csv": CSV,
    "plain/a.csv": CSV.partition("\n")[2],
    "multiline/a.csv": 'id,name\n1,a\n2,"b\nb",x\n',
    "moved/a.csv": CSV,
    "gone/a.csv": CSV,
    "variants/a.json": lines({"id": 1}, '{"id": 2.50'),
    "bytes/a.json": b'{"id": 1, "name": "a"}\n{"id": 2, "name": "M\xfcller"}\n',
    "spelt/a.json": lines({"ID": 1}, '{"ID": 2'),
    "again/a.json": lines({"id": 1, "name": "a"}, '{"id": 2, "name": "b"'),
    "changed/a.csv": "id,name\n1,a\n2\n",
    "taken/taken.csv": "id,name\n1,a\n2\n",
    "archive2/taken.csv": "name,id\nb,3\nc,4\n",
    "open/a.csv": 'id,name\n1,a\n2,"b\n',
    "exact/a.json": lines(f'{{"id":1,{EXACT}}}', f'{{"id":2,{EXACT}'),
    "whole/a.csv": "id,id\n1,2\n",
    "whole/b.csv": "id\n1\n",
    "packed/a.parquet": "no parquet",
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("corrupt_again")
    land(project.root, FILES)
    for name, text in MODELS.items():
        project.model(name, text)
    project.build()
    return project


def replay(project: Project, model: str, *options: str) -> str:
    """Replay what is open of a model; the result line of its node."""
    code, output = command(project, "quarantine", "replay", model, *options)
    assert code == 0, output
    return next(line for line in output.splitlines() if " OK created " in line)


def rows(project: Project, model: str) -> list[tuple[Any, ...]]:
    return sorted((row.get("id"), row.get("name")) for row in records(project, model))


def states(project: Project, model: str) -> Counter[str]:
    found = project.sql(f"select _floodmark_state from {project.schema}.{model}__quarantine")
    return Counter(state for (state,) in found)


def test_a_line_that_is_corrected_is_a_record_of_its_file(project: Project) -> None:
    line = replay(project, "json", "--set", "_floodmark_raw = _floodmark_raw || '}'")
    assert "2 read, 1 inserted, 1 quarantined" in line
    [first, second] = records(project, "json", "id")
    assert first | {"id": 2, "name": "b"} == second  # day, file and size are its file's
    assert (second["day"], second["file"]) == ("2024-05-01", "a.json")
    # A rule refuses the other: it is a row of the quarantine now, with what was rescued of it.
    [[rules, text, state]] = project.sql(
        "select _floodmark_rules[0], _rescued_data, _floodmark_state from "
        f"{project.schema}.json__quarantine where id = 200"
    )
    assert (rules, rescued({"_rescued_data": text}), state) == (
        "small",
        {"extra": 1.5, "_file_path": "a.json"},
        "open",
    )
    assert states(project, "json") == {"replayed": 2, "open": 1}
    assert "1 read, 1 quarantined, 1 stays open" in replay(project, "json", "--rule", "small")
    assert "1 stays open" in replay(project, "json")
    # As a row it is corrected by its columns.
    assert "1 inserted" in replay(project, "json", "--set", "id = 20")
    assert [row["id"] for row in records(project, "json", "id")] == [1, 2, 20]
    assert "nothing new" in replay(project, "json")


def test_numbers_that_are_strings_are_as_in_the_file(project: Project) -> None:
    assert "1 inserted" in replay(
        project, "exact", "--set", "_floodmark_raw = _floodmark_raw || '}'"
    )
    [first, second] = records(project, "exact", "id")
    assert first | {"id": "2"} == second
    assert (second["amount"], second["rate"], second["e"]) == (
        "1234567890123456.78",
        "12.50",
        "1E2",
    )
    assert second["s"]["x"] == "1.10"


def test_the_schema_of_files_survives_replays(project: Project) -> None:
    replay(project, "json")
    land(project.root / "json", {f"{DAY}/b.json": lines({"id": 4})})
    project.build("--select", "json")
    assert columns(project, "json")["name"] == "string"
    assert {row["id"] for row in records(project, "json")} >= {1, 4}


def test_lines_are_read_as_the_settings_of_today_say(project: Project) -> None:
    assert "2 stay open" in replay(project, "quoted")
    project.model(
        "quoted",
        loader(
            "quoted",
            format="json",
            schema="id int, name string",
            options={"allowSingleQuotes": True},
        ),
    )
    assert "1 inserted, 1 stays open" in replay(project, "quoted")
    assert rows(project, "quoted") == [(1, "a"), (2, "b")]
    assert [row[2] for row in quarantined(project, "quoted")] == ["not JSON"]


def test_rows_that_stay_open_keep_no_record_from_being_replayed(project: Project) -> None:
    """Also where their rule fails the node: it does behind all that is replayed."""
    severe = {"expectations": [RULES["expectations"][0] | {"severity": "error"}]}
    given = {"format": "json", "schema": "id int, name string"}
    land(
        project.root / "severe",
        {"a.json": lines({"id": 1, "name": "a"}, {"id": 200}, "{'id': 2, 'name': 'b'}")},
    )
    project.model("severe", loader("severe", config=severe, **given))
    assert project.dbt("run", "--select", "severe").status["severe"] == "error"
    assert states(project, "severe") == {"open": 2}
    options = {"allowSingleQuotes": True}
    project.model("severe", loader("severe", config=severe, **given, options=options))
    code, output = command(project, "quarantine", "replay", "severe")
    assert code == 1 and "severity error fails the node" in sentence(output), output
    assert rows(project, "severe") == [(1, "a"), (2, "b")]
    assert states(project, "severe") == {"open": 1, "replayed": 1}
    (project.root / "models/severe.sql").unlink()


def test_a_record_goes_through_the_strategy(project: Project) -> None:
    assert "2 read, 1 inserted" in replay(
        project, "merged", "--set", "_floodmark_raw = _floodmark_raw || '}'"
    )
    assert rows(project, "merged") == [(1, "a"), (2, "b")]
    assert states(project, "merged") == {"replayed": 2}


def test_records_of_which_no_row_is_kept_are_replayed_all_the_same(project: Project) -> None:
    refused = """_floodmark_raw = '{"id": 200}'"""
    assert "2 read, 2 quarantined" in replay(project, "history", "--set", refused)
    assert states(project, "history") == {"replayed": 2, "open": 2}
    [last] = project.ledger("history", "kind, rows_read, rows_kept, rows_quarantined")[-1:]
    assert last == ("replay", 2, 0, 2)
    assert "1 inserted" in replay(project, "history", "--set", "id = 2", "--where", "true")
    assert {row["id"] for row in records(project, "history")} == {1, 2}


def test_lines_of_csv_are_read_by_the_header_of_their_file(project: Project) -> None:
    correct = ["--set", "_floodmark_raw = if(_floodmark_raw = '2', '2,b', _floodmark_raw)"]
    assert "1 inserted, 1 stays open" in replay(project, "csv", *correct)
    assert rows(project, "csv") == [(1, "a"), (2, "b")]
    for model in ("plain", "moved", "csv_variants"):
        assert "1 inserted, 1 stays open" in replay(project, model, *correct), model
    for model in ("plain", "moved"):
        assert rows(project, model) == [(1, "a"), (2, "b")], model
    assert not (project.root / "moved/a.csv").exists()
    assert sorted(row["v"]["id"] for row in records(project, "csv_variants")) == ["1", "2"]


def test_a_record_of_several_lines_is_one_text(project: Project) -> None:
    correct = "_floodmark_raw = replace(_floodmark_raw, ',x', '')"
    assert "1 inserted" in replay(project, "multiline", "--set", correct)
    assert rows(project, "multiline") == [(1, "a"), (2, "b\nb")]


def test_a_variant_keeps_its_digits(project: Project) -> None:
    replay(project, "variants", "--set", "_floodmark_raw = _floodmark_raw || '}'")
    found = records(project, "variants", "to_json(value)")
    assert [str(row["value"]["id"]) for row in found] == ["1", "2.5"]


def test_bytes_that_are_no_text_are_not_made_up(project: Project) -> None:
    """The quarantine has letters in the place of bytes that are no UTF-8: nobody loads them unasked."""
    assert "nothing new, 1 stays open" in replay(project, "bytes")
    correct = "_floodmark_raw = replace(_floodmark_raw, '\ufffd', 'ü')"
    assert "1 inserted" in replay(project, "bytes", "--set", correct)
    assert rows(project, "bytes") == [(1, "a"), (2, "Müller")]


def test_a_field_of_another_spelling_is_not_lost(project: Project) -> None:
    replay(project, "spelt", "--set", "_floodmark_raw = _floodmark_raw || '}'")
    [second] = [row for row in records(project, "spelt") if "_rescued_data" in row]
    assert rescued(second) == {"ID": 2, "_file_path": "a.json"}


def test_a_text_is_one_text(project: Project) -> None:
    """An expression that gives many rows is refused before the batch is planned."""
    many = "_floodmark_raw = explode(array('x'))"
    code, output = command(project, "quarantine", "replay", "again", "--set", many)
    assert code != 0 and "generator" in output.lower(), output
    complete = "_floodmark_raw = _floodmark_raw || '}'"
    assert "1 inserted" in replay(project, "again", "--set", complete)
    states = [state for (state,) in project.ledger("again", "state")]
    assert states == ["committed", "committed"]


def test_a_line_is_not_read_by_the_header_of_another_file(project: Project) -> None:
    """A file was overwritten since; another's name in the archive had been taken before."""
    land(project.root / "changed", {"a.csv": "name,id\nb,2\n"})
    correct = ["--set", "_floodmark_raw = _floodmark_raw || ',x'"]
    assert "nothing new, 1 stays open" in replay(project, "changed", *correct)
    assert (project.root / "archive2/taken.csv").read_text() == FILES["archive2/taken.csv"]
    assert "1 inserted" in replay(project, "taken", *correct)
    assert rows(project, "taken") == [(1, "a"), (2, "x")]


def test_a_quote_that_is_open_in_the_last_field_has_its_text(project: Project) -> None:
    close = "_floodmark_raw = _floodmark_raw || '\"'"
    assert "1 inserted" in replay(project, "open", "--set", close)
    assert rows(project, "open") == [(1, "a"), (2, "b")]


def test_what_no_text_can_tell_stays_open(project: Project) -> None:
    (project.root / "gone/a.csv").unlink()
    for model, count in {"gone": 2, "whole": 1, "packed": 1}.items():
        stays = "1 stays open" if count == 1 else f"{count} stay open"
        assert f"nothing new, {stays}" in replay(project, model), model
        assert states(project, model) == {"open": count}, model
    # A file is corrected where it is, and read again.
    land(project.root / "whole", {"a.csv": "id\n2\n"})
    code, output = command(project, "files", "whole", "--forget", "a.csv")
    assert code == 0, output
    project.build("--select", "whole")
    assert rows(project, "whole") == [(1, None), (2, None)]
    assert states(project, "whole") == {"superseded": 1}


def test_what_is_corrected_is_told_apart(project: Project) -> None:
    code, output = command(
        project, "quarantine", "replay", "csv", "--set", "_floodmark_raw = 'x'", "--set", "id = 1"
    )
    assert code != 0
    assert "_floodmark_raw alone, or columns" in output
    code, output = command(
        project,
        "quarantine",
        "replay",
        "csv",
        "--dry-run",
        "--where",
        "_floodmark_raw like '3%'",
        "--set",
        "_floodmark_raw = 'x'",
    )
    assert "Would replay 1 row of" in output
    code, output = command(project, "quarantine", "replay", "csv", "--dry-run", "--set", "id = 1")
    assert "Would replay 0 rows of" in output
    code, output = command(project, "quarantine", "replay", "csv", "--set", "nobody = 1")
    assert code != 0
    assert "a column of the quarantine (id, name, _rescued_data, _floodmark_raw)" in output
