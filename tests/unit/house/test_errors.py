"""Every message of floodmark is on one page, docs/reference/errors.md, as the code has it."""

from __future__ import annotations

import ast
import re

import pytest
from jinja2 import nodes

from tests.support import error_page
from tests.support.error_page import PAGE, SECTIONS, escaped, section, section_of
from tests.support.error_texts import Message
from tests.support.errors import messages
from tests.support.errors_in_macros import Macro, of_macro
from tests.support.errors_in_python import PACKAGE, error_classes, of_module
from tests.support.macros import MACROS, parsed


def of_body(text: str) -> list[Message]:
    """The messages of a macro with this body."""
    (macro,) = parsed(f"{{% macro _m(a) %}}{text}{{% endmacro %}}").find_all(nodes.Macro)
    return list(of_macro(Macro(MACROS / "batch" / "_m.sql", macro)))


def of_python(text: str) -> list[str]:
    return [one.text for one in of_module(PACKAGE / "m.py", ast.parse(text))]


def test_the_page_is_what_the_code_says() -> None:
    """Where this fails: `python -m tests.support.reference` writes the page."""
    assert PAGE.read_text("utf-8") == error_page.page()


#: What reads as translated. "There is no …" and "but is no longer" are plain English.
ODD = re.compile(r"(?<!there )\bis no (?!longer)[a-z]|\bgoes without\b|\bruns? anew\b", re.I)


def test_messages_are_plain_english() -> None:
    said = [f"{one.text} {one.todo or ''}" for one in messages()]
    assert [text for text in said if ODD.search(text)] == []
    assert ODD.search("'x' is no model") and not ODD.search("there is no model")


def test_every_message_has_a_section() -> None:
    heads = {section_of(one.file) for one in messages()}
    assert heads == {head for head, _ in SECTIONS}
    with pytest.raises(ValueError, match="no section"):
        section_of("macros/new/_room.sql")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("{%- do floodmark._stop('batch ' ~ batch.batch_id ~ ' is open') -%}", ["batch <batch> is open"]),
        ("{%- do floodmark._stop_for_now(this ~ ' is locked') -%}", ["<table> is locked: run again"]),
        ("{%- do floodmark._refuse_snapshot(batch, 'it is empty', 'Set x') -%}", ["it is empty. Set x"]),
        ("{%- do floodmark._stop('it is ' ~ ('red' if a else 'blue')) -%}", ["it is red / blue"]),
        ("{%- do floodmark._stop('it is red' ~ (', or blue' if a else '')) -%}", ["it is red[, or blue]"]),
        ("{%- do floodmark._stop(n ~ (' row' if n == 1 else ' rows') ~ ' wait') -%}", ["<n> rows wait"]),
        ("{%- do floodmark._stop(floodmark._counted(n, 'row') ~ ' wait') -%}", ["<n> rows wait"]),
        ("{%- set x = 'it is red' -%}{%- do floodmark._stop(x) -%}", ["it is red"]),
        ("{%- set x = 'it is' -%}{%- set x = x ~ ' red' -%}{%- do floodmark._stop(x) -%}", ["it is / it is red"]),
        ("{%- do floodmark._stop('do: ' ~ floodmark._ways_out()) -%}", None),
        ("{%- do floodmark._stop('{} of {}'.format(a, b)) -%}", ["<a> of <b>"]),
        ("{{ 'floodmark._stop(1)' }}{# floodmark._stop('no') #}", []),
    ],
)  # fmt: skip
def test_sentences_of_macros(body: str, said: list[str] | None) -> None:
    found = [one.text for one in of_body(body)]
    if said is None:
        assert found[0].startswith(
            "do: run it once with --full-refresh to load everything again [(take full_refresh=false out for that run)]"
            "[, or set the mark"
        )
    else:
        assert found == said


def test_long_cases_are_texts_of_their_own() -> None:
    body = "{%- do floodmark._stop('one ' ~ ('two three four five six' if a else 'seven') ~ ' ends') -%}"
    assert [one.text for one in of_body(body)] == [
        "one two three four five six ends",
        "one seven ends",
    ]


def test_problems_warnings_and_reasons_of_macros() -> None:
    body = """
      {%- for name in ['step', 'start'] -%}
        {%- do floodmark._refuse([{'setting': 'watermark.' ~ name, 'got': a, 'expected': 'one ' ~ b.kind,
            'todo': 'Remove it'}], rejects='the wrong kind') -%}
      {%- endfor -%}
      {%- do floodmark._warn('it is late') -%}
    """
    problem, reason, warning = of_body(body)
    assert (problem.setting, problem.text, problem.todo) == (
        "watermark.step / watermark.start",
        "one <kind>",
        "Remove it",
    )
    assert (reason.kind, reason.text) == ("reason", "the wrong kind")
    assert (warning.kind, warning.text) == ("warning", "it is late")


def test_what_sql_says() -> None:
    body = """
      {{ return('case when ' ~ a ~ ' then raise_error(concat(' ~ floodmark._string_literal('it holds ') ~ ', '
          ~ floodmark._string_literal(': cast it') ~ '))') }}
      {%- do floodmark._record('failed', batch, {'error': "'the run died'"}) -%}
    """
    assert [(one.kind, one.text) for one in of_body(body)] == [
        ("error", "it holds <value>: cast it"),
        ("reason", "the run died"),
    ]


def test_what_a_strategy_is_asked_for() -> None:
    body = "{%- set why = strategy.lost_mark_problem(run) -%}{%- do floodmark._stop('lost: ' ~ why) -%}"
    assert [one.text.split(":")[1][:20] for one in of_body(body)] == [
        " append cannot tell ",
        " snapshot_diff canno",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("raise UsageError(f'{path} is not there: make it')", ["<path> is not there: make it"]),
        ("raise FloodmarkError('it is ' + ('red' if a else 'blue'))", ["it is red / blue"]),
        (
            "def f():\n    what = 'the door is open'\n    return JavaError(what)",
            ["the door is open"],
        ),
        ("raise RefusedError(f\"floodmark, model '{model}': it is red\")", ["it is red"]),
        ("raise ValueError('it is red')", []),
        ("raise UsageError(str(exc))", []),
        (
            "class Damaged(FloodmarkError):\n    def __init__(self):\n        super().__init__('x')",
            [],
        ),
        ("raise failure(result, 'dbt could not sing')", ["dbt could not sing: <error>"]),
        ("_ADVICE: X = (('pattern', 'leave it out', X),)", ["leave it out Spark says: <error>"]),
    ],
)
def test_sentences_of_python(text: str, said: list[str]) -> None:
    assert of_python(text) == said


def test_errors_are_found_by_their_bases() -> None:
    assert {"UsageError", "SourceGoneError", "RejectedError", "SparkRefused"} <= error_classes()
    assert "ValueError" not in error_classes()


def test_how_a_section_reads() -> None:
    rows = [
        Message("f", 1, "a list", setting="x.a / x.b", got="a column <n> twice", todo="Write `*`"),
        Message("f", 2, "it is <n> | _all_"),
        Message("f", 3, "it is <n> | _all_"),
    ]
    assert section("Here", rows).splitlines()[2:] == [
        "| setting | expected | what to do |",
        "|---|---|---|",
        "| `x.a`, `x.b`: got a column &lt;n&gt; twice | a list | Write `*` |",
        "",
        r"- it is &lt;n&gt; \| \_all\_",
    ]
    assert escaped("run `floodmark reset <model>` <n>") == "run `floodmark reset <model>` &lt;n&gt;"
