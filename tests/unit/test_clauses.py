"""Texts within our SQL: clauses of the user's, names in quotes, literals; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.unit.test_macros import load


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("a or b", "(a or b)"),
        ("a > 1;", "(a > 1)"),
        ("a > 1 ; -- b ;\n;", "(a > 1)"),
        ("a /* ) /* nested */ ; */ > 1", "(a   > 1)"),
        ("a = ';' -- '", "(a = ';')"),
        ("a = '--' and b = \"/*\"", "(a = '--' and b = \"/*\")"),
        ("a = 'it\\'s ) ;'", "(a = 'it\\'s ) ;')"),
        ("`odd ; ) name` is null", "(`odd ; ) name` is null)"),
        ("a - b / c", "(a - b / c)"),
        ("regexp_like(r, r'\\)')", "(regexp_like(r, r'\\)'))"),
    ],
)
def test_a_clause_stands_in_parentheses(floodmark: SimpleNamespace, text: str, clause: str) -> None:
    assert floodmark._clause(text) == clause
    assert floodmark._clause_problems("x", text) == []


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("a > 1)", "a parenthesis without its other half"),
        ("(a > 1", "a parenthesis without its other half"),
        ("a) or (b", "a parenthesis without its other half"),
        ("(a; b)", "a parenthesis without its other half"),
        ("a; b", "a semicolon, which ends a statement"),
        ("a; drop table t --", "a semicolon, which ends a statement"),
        ("a = 'x", "a quote or a comment without an end"),
        ('a = "x', "a quote or a comment without an end"),
        ("`a = 1", "a quote or a comment without an end"),
        ("a /* /* */ > 1", "a quote or a comment without an end"),
        ("-- a", "no SQL"),
        (" ; ", "no SQL"),
    ],
)
def test_what_would_leave_its_parentheses_is_a_problem(
    floodmark: SimpleNamespace, text: str, wrong: str
) -> None:
    (problem,) = floodmark._clause_problems("scope", text)
    assert problem["setting"] == "scope" and problem["got"] == text
    assert problem["expected"] == f"an expression of SQL, and this has {wrong}"


@pytest.mark.parametrize(
    ("sql", "text"),
    [
        ("select 1", "select 1"),
        ("select 1;", "select 1"),
        ("select ';' as a ;\n-- the ; end\n;", "select ';' as a \n-- the ; end\n"),
        ("select 1 /* ; */", "select 1 /* ; */"),
        ("select a from b where x /*floodmark:end*/;", "select a from b where x /*floodmark:end*/"),
        ("select 1; select 2", "select 1; select 2"),
    ],
)
def test_a_select_loses_the_semicolons_behind_it(
    floodmark: SimpleNamespace, sql: str, text: str
) -> None:
    assert floodmark._select_text(sql) == text


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("id", "id"),
        ("`id`", "id"),
        ('"id"', "id"),
        (" `a b` ", "a b"),
        ("`ti``ck`", "ti`ck"),
        ('"say ""x"""', 'say "x"'),
        ("a`b", "a`b"),
        ("`a`, `b`", "`a`, `b`"),
        ("``", "``"),
    ],
)
def test_names_come_in_quotes_or_bare(floodmark: SimpleNamespace, written: str, name: str) -> None:
    assert floodmark._column_name(written) == name


def test_settings_name_columns_in_quotes(floodmark: SimpleNamespace) -> None:
    given = {
        "column": '"ts"',
        "column_list": ["`a`", "b"],
        "ignore_null_updates": True,
        "sequence_by": ['"at"', "a + 1"],
    }
    assert floodmark._with_bare_names(given) == {
        "column": "ts",
        "column_list": ["a", "b"],
        "ignore_null_updates": True,
        "sequence_by": ["`at`", "a + 1"],
    }


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("it's", r"'it\'s'"),
        ("a\\b\nc\rd", r"'a\\b\nc\rd'"),
        ("${spark.x} $1", r"'\u0024{spark.x} $1'"),
        ("a\0b", r"'a\u0000b'"),
        (None, "null"),
    ],
)
def test_literals_come_back_as_they_were(
    floodmark: SimpleNamespace, text: str | None, literal: str
) -> None:
    assert floodmark._string_literal(text) == literal
