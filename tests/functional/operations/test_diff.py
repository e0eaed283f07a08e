"""`floodmark diff` on both targets: every change, NULL and repeated keys, nested values, files, versions, wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from tests.support.commands import Story
from tests.support.harness import FULL, Project, sentence

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

PRODUCTS = """
product_id,name,price,since
1,Tea,2.50,2024-01-01
2,"Cup, blue",7.00,2024-02-01
3,,1.00,
""".lstrip()


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """Tables with every change between them, files, a table of three versions, and two models, one built."""
    project = make_project("story")
    s = project.schema

    def table(name: str, columns: str, rows: str) -> None:
        project.sql(f"create table {s}.{name} ({columns}) using delta")
        project.sql(f"insert into {s}.{name} values {rows}")

    table(
        "a",
        "id bigint, v string, n double, old int",
        "(1, 'same', 1.0, 0), (2, 'old', 2.0, 0), (3, 'gone', 3.0, 0), (4, null, 4.0, 0), "
        "(5, '', 5.0, 0), (6, null, double('NaN'), 0), (7, 'zero', double('-0.0'), 0)",
    )
    table(
        "b",
        "new string, n double, V string, ID bigint",
        "('x', 1.0, 'same', 1), ('x', 2.5, 'new', 2), ('x', 4.0, 'now', 4), ('x', 5.0, null, 5), "
        "('x', double('NaN'), null, 6), ('x', 0.0D, 'zero', 7), ('x', 8.0, 'came', 8)",
    )
    table(
        "c",
        "k int, j string, v int",
        "(1, 'a', 10), (1, 'a', 11), (null, 'a', 1), (2, null, 2), (3, 'c', 3), (null, null, 9)",
    )
    table(
        "d",
        "k int, j string, v int",
        "(1, 'a', 10), (null, 'a', 1), (2, null, 5), (3, 'c', 3), (null, null, 9), (null, null, 9)",
    )
    table(
        "nested_a",
        "id int, m map<string, double>, s struct<x: int, m: map<string, array<int>>>, l array<double>",
        "(1, map('a', 1.0D, 'b', double('NaN')), named_struct('x', 1, 'm', map('p', array(1), 'q', array(2))), array(double('-0.0'), null)), "
        "(2, map('a', 1.0D), named_struct('x', cast(null as int), 'm', map('p', array(1))), array(1.0D)), "
        "(3, null, null, null)",
    )
    table(
        "nested_b",
        "id int, m map<string, double>, s struct<x: int, m: map<string, array<int>>>, l array<double>",
        "(1, map('b', double('NaN'), 'a', 1.0D), named_struct('x', 1, 'm', map('q', array(2), 'p', array(1))), array(0.0D, null)), "
        "(2, map('a', 1.0D, 'b', cast(null as double)), named_struct('x', cast(null as int), 'm', map('p', array(1, 2))), array(1.0D, null)), "
        "(3, cast(map() as map<string, double>), null, cast(array() as array<double>))",
    )
    table(
        "typed_a",
        "k string, v string, flag boolean, l array<int>",
        "('007', '1.50', true, array(1)), ('8', 'abc', true, array(1)), ('x', '1', true, array(1))",
    )
    table(
        "typed_b",
        "k int, v decimal(4, 2), flag int, l array<bigint>",
        "(7, 1.5, 1, array(1L)), (8, null, 1, array(2L)), (9, 1, 1, array(1L))",
    )
    table(
        "cut_a",
        "k int, v string, d string",
        "(1, '7.254', '2024-01-01'), (2, '7.25', '2024-01-01 23:59:59'), (3, '07.250', '2024-01-02')",
    )
    table(
        "cut_b",
        "k int, v decimal(4, 2), d date",
        "(1, 7.25, date'2024-01-01'), (2, 7.25, date'2024-01-01'), (3, 7.25, date'2024-01-02')",
    )
    table(
        "products",
        "product_id int, name string, price decimal(10, 2), since date",
        "(1, 'Tea', 2.50, date'2024-01-01'), (2, 'Cup, blue', 7.25, date'2024-02-01'), (3, null, 1.00, null)",
    )
    table("versions", "id int, v string", "(1, 'a'), (2, 'b')")
    project.sql(f"update {s}.versions set v = 'c' where id = 2")
    landing = project.root / "landing"
    landing.mkdir()
    (landing / "products.csv").write_text(PRODUCTS)
    (landing / "products.dat").write_text(PRODUCTS)
    (landing / "products.jsonl").write_text('{"product_id": 1, "name": "Tea"}\n{"product_id": 4}\n')
    project.sql(
        f"insert overwrite directory '{landing}/products.parquet' using parquet select * from {s}.products"
    )
    project.source("a")
    project.model(
        "copy",
        "{{ config(materialized='table', file_format='delta', alias='a_copied') }}\n"
        "select * from {{ source('raw', 'a') }}",
    )
    project.model("unbuilt", "{{ config(materialized='table') }} select 1 as id")
    project.build("--select", "copy")
    return Story(project)


def difference(story: Story, a: str, b: str, *words: str) -> dict[str, Any]:
    """What `floodmark diff A B --json` prints; names without a path are tables of the project's schema."""
    return story.json("diff", a, b, *words)


def by_change(found: dict[str, Any]) -> dict[str, int]:
    changes = ("unchanged", "updated", "deleted", "inserted", "repeated_a", "repeated_b")
    return {change: found[change] for change in changes if found[change]}


def sampled(found: dict[str, Any], change: str) -> dict[str, dict[str, tuple[Any, Any]]]:
    """The sample of one change: key -> column -> the values of A and B."""
    return {
        row["key"]: {one["column"]: (one["a"], one["b"]) for one in row["columns"]}
        for row in found["sample"]
        if row["change"] == change
    }


def test_every_change_is_counted_and_shown(story: Story) -> None:
    found = difference(story, "a", "b", "--key", "id")
    assert by_change(found) == {"unchanged": 3, "updated": 3, "deleted": 1, "inserted": 1}
    assert (found["rows_a"], found["rows_b"], found["equal"]) == (7, 7, False)
    assert found["columns"] == {"v": 3, "n": 1}
    assert (found["only_a"], found["only_b"], found["types"]) == (["old"], ["new"], [])
    assert sampled(found, "updated") == {
        '{"id":2}': {"v": ("old", "new"), "n": ("2.0", "2.5")},
        '{"id":4}': {"v": (None, "now")},
        '{"id":5}': {"v": ("", None)},
    }
    assert sampled(found, "deleted") == {'{"id":3}': {}}
    assert sampled(found, "inserted") == {'{"id":8}': {}}


def test_exit_codes_and_what_people_read(story: Story) -> None:
    shown = story("diff", "a", "b", "--key", "id")
    assert shown.exit_code == 1
    said = sentence(shown.stdout)
    assert "A: a, 7 rows B: b, 7 rows" in said
    assert "Only in A, not compared: old. Only in B, not compared: new." in said
    assert "updated 3 different" in said
    assert 'updated {"id":4} v NULL now' in said
    same = story("diff", "a", "a", "--key", "id")
    assert (same.exit_code, "unchanged 7" in sentence(same.stdout)) == (0, True)


def test_columns_except_and_limit(story: Story) -> None:
    only = difference(story, "a", "b", "--key", "ID", "--columns", "N", "--limit", "0")
    assert (only["columns"], by_change(only)["updated"], only["only_a"]) == ({"n": 1}, 1, [])
    assert only["sample"] == []
    rest = difference(story, "a", "b", "--key", "id", "--except", "v, n")
    assert rest["columns"] == {}
    assert by_change(rest) == {"unchanged": 6, "deleted": 1, "inserted": 1}
    assert sampled(rest, "deleted") == {'{"id":3}': {}}
    one = difference(story, "a", "b", "--key", "id", "--limit", "1")
    assert [row["key"] for row in one["sample"]] == ['{"id":3}', '{"id":8}', '{"id":2}']


def test_keys_that_repeat_are_named_and_null_keys_meet(story: Story) -> None:
    found = difference(story, "c", "d", "--key", "k", "--key", "j")
    assert by_change(found) == {"unchanged": 2, "updated": 1, "repeated_a": 1, "repeated_b": 1}
    assert (found["null_a"], found["null_b"]) == (3, 3)
    assert sampled(found, "updated") == {'{"k":2,"j":null}': {"v": ("2", "5")}}
    repeated = [row for row in found["sample"] if row["change"] == "repeated"]
    assert [(row["key"], row["in_a"], row["in_b"]) for row in repeated] == [
        ('{"k":null,"j":null}', 1, 2),
        ('{"k":1,"j":"a"}', 2, 1),
    ]


def test_what_repeats_is_not_said_to_be_equal(story: Story) -> None:
    same = story("diff", "c", "c", "--key", "k", "--key", "j")
    said = sentence(same.stdout)
    assert same.exit_code == 1
    assert "unchanged 4" in said and "updated 0 different" in said
    assert "More than once: 1 key in A, 1 key in B; they are not compared." in said
    assert "With a NULL: 3 keys in A, 3 keys in B." in said


def test_nested_values_are_compared_whatever_the_order_of_a_map(story: Story) -> None:
    found = difference(story, "nested_a", "nested_b", "--key", "id")
    assert by_change(found) == {"unchanged": 1, "updated": 2}
    assert found["columns"] == {"m": 2, "s": 1, "l": 2}
    assert sampled(found, "updated") == {
        '{"id":2}': {
            "m": ('{"a":1.0}', '{"a":1.0,"b":null}'),
            "s": ('{"x":null,"m":{"p":[1]}}', '{"x":null,"m":{"p":[1,2]}}'),
            "l": ("[1.0]", "[1.0,null]"),
        },
        '{"id":3}': {"m": (None, "{}"), "l": (None, "[]")},
    }


def test_variants_are_compared_by_what_they_hold(story: Story) -> None:
    project = story.project
    for name, second in (("variant_a", "[1, 2]"), ("variant_b", "[1, 3]")):
        first = '{"x": 1, "y": null}' if name == "variant_a" else '{"y": null, "x": 1}'
        project.sql(
            f"create table {project.schema}.{name} using delta as select id, parse_json(v) as v "
            f"from values (1, '{first}'), (2, '{second}') as t (id, v)"
        )
    found = difference(story, "variant_a", "variant_b", "--key", "id")
    assert by_change(found) == {"unchanged": 1, "updated": 1}
    assert sampled(found, "updated") == {'{"id":2}': {"v": ("[1,2]", "[1,3]")}}


def test_types_that_differ_are_named_and_compared(story: Story) -> None:
    found = difference(story, "typed_a", "typed_b", "--key", "k")
    assert found["types"] == [
        {"column": "k", "a": "string", "b": "int"},
        {"column": "v", "a": "string", "b": "decimal(4,2)"},
        {"column": "flag", "a": "boolean", "b": "int"},
        {"column": "l", "a": "array<int>", "b": "array<bigint>"},
    ]
    assert by_change(found) == {"updated": 2, "deleted": 1, "inserted": 1}
    assert found["columns"] == {"v": 1, "flag": 2, "l": 1}
    assert sampled(found, "updated") == {
        '{"k":"7"}': {"flag": ("true", "1")},
        '{"k":"8"}': {"v": ("abc", None), "flag": ("true", "1"), "l": ("[1]", "[2]")},
    }
    assert sampled(found, "deleted") == {'{"k":"x"}': {}}


def test_a_text_is_not_what_it_would_be_cut_down_to(story: Story) -> None:
    found = difference(story, "cut_a", "cut_b", "--key", "k")
    assert by_change(found) == {"unchanged": 1, "updated": 2}
    assert sampled(found, "updated") == {
        '{"k":1}': {"v": ("7.254", "7.25")},
        '{"k":2}': {"d": ("2024-01-01 23:59:59", "2024-01-01")},
    }


@pytest.mark.parametrize("path", ["landing/products.csv", "csv:{root}/landing/products.dat"])
def test_a_table_and_csv(story: Story, path: str) -> None:
    found = difference(
        story, "products", path.format(root=story.project.root), "--key", "product_id"
    )
    assert by_change(found) == {"unchanged": 2, "updated": 1}
    assert {"column": "price", "a": "decimal(10,2)", "b": "double"} in found["types"]
    assert sampled(found, "updated") == {'{"product_id":2}': {"price": ("7.25", "7.0")}}


def test_parquet_json_and_delta_by_path(story: Story) -> None:
    project = story.project
    landing = project.root / "landing"
    words = ("--key", "product_id")
    assert difference(story, "products", f"{landing}/products.parquet", *words)["equal"]
    location = project.sql(f"describe detail {project.schema}.products")[0][4].removeprefix("file:")
    parquet = f"parquet.`{landing}/products.parquet`"
    assert difference(story, parquet, f"delta.`{location}`", *words)["equal"]
    found = difference(story, location, f"{landing}/products.jsonl", *words)
    assert by_change(found) == {"unchanged": 1, "deleted": 2, "inserted": 1}
    assert found["only_a"] == ["price", "since"]
    assert found["types"] == [{"column": "product_id", "a": "int", "b": "bigint"}]


def test_versions_of_a_delta_table(story: Story) -> None:
    project = story.project
    name = f"{project.schema}.versions"
    found = difference(story, f"{name}@v1", "versions", "--key", "id")
    assert found["a"] == f"{name}@v1"
    assert sampled(found, "updated") == {'{"id":2}': {"v": ("b", "c")}}
    location = project.sql(f"describe detail {name}")[0][4].removeprefix("file:")
    by_path = difference(story, "versions@v0", f"{location}@v1", "--key", "id")
    assert by_change(by_path) == {"inserted": 2}


def test_dbt_nodes_by_their_names(story: Story) -> None:
    assert story("diff", "raw.a", "shop.copy@v0", "--key", "id").exit_code == 0


def test_the_macro_prints_a_table(story: Story) -> None:
    given = {"a": "a", "b": "b", "key": "id", "except_columns": "n", "limit": 1}
    run = story.project.dbt("run-operation", "floodmark.diff", "--args", json.dumps(given))
    assert run.success, run.log
    assert "A: a, 7 rows" in run.log
    assert "| updated   | 3    |" in run.log
    assert '| updated  | {"id":2} | v      | old    | new    |' in run.log
    wrong = story.project.dbt("run-operation", "floodmark.diff", "--args", '{a: a, b: b, key: ""}')
    assert not wrong.success
    assert "floodmark diff: name the columns that identify a row in `key`" in sentence(wrong.log)


WRONG = [
    (("a", "b"), "floodmark: Name the columns that identify a row with --key."),
    (("a", "b", "--key", "no"), "there is no column no in A, a: it has id, v, n, old"),
    (
        ("nested_a", "nested_b", "--key", "m"),
        "the key column m is a map<string,double>, which cannot be compared: name another key",
    ),
    (("unbuilt", "b", "--key", "id"), "A, the model unbuilt, has no table "),
    (("a", "landing/none.csv", "--key", "id"), "floodmark: Path does not exist: file:"),
    (("a", "landing/none", "--key", "id"), "landing/none"),
    (
        ("a", "versions@v9", "--key", "id"),
        "Cannot time travel Delta table to version 9. Available versions: [0, 2].",
    ),
]
if FULL:  # macros alone say these, in the same way: tests/unit/operations/test_diff.py has each
    WRONG += [
        (("b", "a", "--key", "new"), "there is no column new in B, a: it has id, v, n, old"),
        (("a", "b", "--key", "id", "--columns", "old"), "there is no column old in B, b: it has"),
        (("a", "b", "--key", "id", "--except", "vv"), "there is no column vv in A, a: it has"),
        (
            ("a", "b", "--key", "id", "--columns", "v", "--except", "n"),
            "name the columns to compare or those to leave out, not both",
        ),
        (
            ("nowhere.nothing", "b", "--key", "id"),
            "A: there is no table nowhere.nothing, and no dbt node nowhere.nothing; a path has a / in it",
        ),
        (("a", "one.two.three", "--key", "id"), "B got 'one.two.three': expected a dbt node,"),
        (
            ("landing/products.csv@v1", "b", "--key", "id"),
            "A, landing/products.csv, is not a Delta table and has no version 1",
        ),
    ]


@pytest.mark.parametrize(("words", "said"), WRONG)
def test_wrong_input_gets_one_sentence_and_exit_code_2(
    story: Story, words: tuple[str, ...], said: str
) -> None:
    result = story("diff", *words)
    assert said in sentence(result.output)
    assert result.exit_code == 2
    assert "in macro" not in result.output


def test_diff_has_help_with_an_example() -> None:
    result = CliRunner().invoke(main, ["diff", "--help"])
    assert result.exit_code == 0
    assert "Example:\n      floodmark diff" in result.output
