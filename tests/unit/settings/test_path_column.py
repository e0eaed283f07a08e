"""The column of a SELECT by which `allow_overwrites: replace` finds earlier rows of a file. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import Refused, load

floodmark = load()


@pytest.mark.parametrize(
    ("items", "name"),
    [
        ("*, _metadata.file_path as source_file", "source_file"),
        ("_metadata.file_path source_file, id", "source_file"),
        ("_metadata.file_path AS `source file` -- where it came from\n", "source file"),
        ("_METADATA.file_path /* the path */ as path, id", "path"),
        ("_metadata.file_path", None),
        ("cast(_metadata.file_path as string) as source_file", None),
        (
            "case when _metadata.file_path like '%/eu/%' then 'EU' end as region, _metadata.file_path as source_file",
            "source_file",
        ),
        ("_metadata.file_path is null as is_lost", None),
        ("case when id = 1 then 'a' else _metadata.file_path end as path", None),
        (
            "row_number() over (order by _metadata.file_path desc, id) as n, _metadata.file_path as path",
            "path",
        ),
        ("/* _metadata.file_path as old, */ _metadata.file_path as source_file", "source_file"),
        ("-- was _metadata.file_path as old,\n id", None),
        ("'it''s' as a, _metadata.file_path as source_file", "source_file"),
    ],
)
def test_the_column_of_the_path(items: str, name: str | None) -> None:
    assert floodmark._path_column(f"select {items} from (select 1)") == name


@pytest.mark.parametrize(
    "behind",
    [
        " {# where it came from #} from {{ floodmark.new_files() }}",
        "\n{% for c in extra %}, {{ c }}{% endfor %} from {{ floodmark.new_files() }}",
        "{{ more }} from {{ floodmark.new_files() }}",
        " |> where id > 1",
        "",
    ],
)
def test_what_follows_it_may_not_be_rendered_yet(behind: str) -> None:
    assert floodmark._path_column(f"select *, _metadata.file_path as path{behind}") == "path"


def test_a_stream_gives_the_path_in_its_own_select() -> None:
    """What its batches read is a view."""
    run: dict[str, Any] = {"sql": "select *, _metadata.file_path as path from x"}
    assert floodmark._path_of_rows(run) == "path"
    assert floodmark._path_of_rows({"sql": "select * from micro_batch", "request": run}) == "path"


def check(mode: str | bool, kind: str, *columns: str) -> None:
    """Check the columns that a SELECT gives that calls the path `path`."""
    run: dict[str, Any] = {
        "settings": {"files": {"allow_overwrites": mode}},
        "sql": "select id, _metadata.file_path as path from x",
    }
    load(model={"name": "m"})._check_append_columns(
        run, {"kind": kind}, [{"name": name, "type": "string"} for name in columns]
    )


def test_a_path_that_the_select_gives_another_name_is_refused() -> None:
    with pytest.raises(
        Refused, match=r"calls it path, but has no column of this name\. Give it one name"
    ):
        check("replace", "incremental", "id", "source_file")
    check("replace", "incremental", "id", "PATH")
    check("append", "incremental", "id", "source_file")
    check("replace", "replay", "id")


@pytest.mark.parametrize(
    ("columns", "without", "is_refused"),
    [
        (["id"], "shop.orders", True),
        (["id", "Path"], "shop.orders where `path` is null", True),
        (["id", "path"], None, False),
        (["id"], None, False),
    ],
)
def test_rows_that_do_not_tell_their_file_are_not_replaced(
    columns: list[str], without: str | None, is_refused: bool
) -> None:
    """The column came after they were loaded, or had another name; an empty table has none."""
    floodmark = load(model={"name": "m"}, this="shop.orders", config={})
    floodmark._has_no_rows = lambda asked: asked != without
    run = {
        "settings": {"files": {"allow_overwrites": "replace"}},
        "sql": "select id, _metadata.file_path as path from x",
        "table_columns": [{"name": name} for name in columns],
    }
    selected = [{"name": "id"}, {"name": "path"}]
    floodmark._check_append_columns(run, {"kind": "incremental"}, selected)
    batch = {"kind": "incremental", "replaces_files": True}
    if not is_refused:
        floodmark._check_append_columns(run, batch, selected)
        return
    with pytest.raises(Refused, match=r"the path of its file in each row of shop\.orders\. Files"):
        floodmark._check_append_columns(run, batch, selected)
