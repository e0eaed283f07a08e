"""dbt parses the text of a macro once for all processes, and finds what it finds without floodmark."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from dbt.clients.jinja import get_supported_languages
from dbt.clients.jinja_static import statically_extract_macro_calls
from dbt_common.clients import jinja
from dbt_common.clients.jinja import MacroFuzzEnvironment
from jinja2 import nodes

from dbt_floodmark.adapter.macro_file import macro_file
from dbt_floodmark.adapter.macro_trees import parse_once
from tests.support.macro_texts import macro_texts, new_process


def plain(self: Any, source: str, name: Any = None, filename: Any = None) -> Any:
    """Jinja's own parse, without the suite's cache of trees and the plugin of a test before."""
    return self._parse(source, name, filename)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[str]]:
    """The texts that Jinja parses, with the patch on, in a process that knows none."""
    monkeypatch.setenv("FLOODMARK_JARS", str(tmp_path / "jars"))
    texts: list[str] = []
    original = MacroFuzzEnvironment._parse

    def parse(self: Any, source: str, name: Any, filename: Any) -> Any:
        texts.append(source)
        return original(self, source, name, filename)

    monkeypatch.setattr(MacroFuzzEnvironment, "_parse", parse)
    monkeypatch.setattr(MacroFuzzEnvironment, "parse", parse_once(plain))
    with new_process():
        yield texts


def read(text: str) -> tuple[Any, ...]:
    """What dbt reads of a macro: its name, arguments and languages, and then its calls."""
    tree = jinja.parse(text)
    (macro,) = tree.find_all(nodes.Macro)
    is_first = tree.body == [macro]
    arguments = [argument.name for argument in macro.args]
    languages = get_supported_languages(macro) if "supported_languages" in arguments else None
    return is_first, macro.name, arguments, languages, statically_extract_macro_calls(text, {})


def test_dbt_finds_in_every_macro_what_it_finds_without_floodmark(
    parsed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = macro_texts()
    assert len(texts) > 200
    with monkeypatch.context() as without:
        without.setattr(MacroFuzzEnvironment, "parse", plain)
        found = [read(text) for text in texts]
    assert parsed == [text for text in texts for _ in range(2)]
    assert sum(len(calls) for *_, calls in found) > 2 * len(texts)
    dispatched = [
        calls for text, (*_, calls) in zip(texts, found, strict=True) if "adapter.dispatch" in text
    ]
    assert dispatched and all(dispatched)
    assert any(languages for *_, languages, _ in found)

    parsed.clear()
    assert [read(text) for text in texts] == found
    assert parsed == texts, "a macro was parsed twice"
    macro_file().write()
    macro_file.cache_clear()
    parsed.clear()
    assert [read(text) for text in texts] == found
    assert len(parsed) < len(texts) / 4, "the next process parses what the first one kept"


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("{% macro twice(a) %}{{ floodmark.once(a, b=2) }}{% endmacro %}", ["floodmark.once"]),
        ("{%- macro two(a=one(1)) %}{{ a(b(c())) }}{% endmacro %}", ["one", "a", "b", "c"]),
        ("{% test few(model, column_name) %}{{ x() }}{{ x() }}{% endtest %}", ["x"]),
        (
            "{% macro sent() %}{{ adapter.dispatch('d', 'p')(inner()) }}{% endmacro %}",
            ["d", "p.d", "inner"],
        ),
        (
            "{% macro told() %}{{ adapter.dispatch(macro_name='d', macro_namespace='p')() }}"
            "{% endmacro %}",
            ["d", "p.d"],
        ),
        ("{% macro listed() %}{{ adapter.dispatch('d', ['p'])() }}{% endmacro %}", ["d"]),
        ("{% macro asked() %}{{ adapter.get_relation(a, b) }}{% endmacro %}", []),
        ("{% macro deep() %}{{ a.b.c() }}{{ a['b']() }}{% endmacro %}", []),
    ],
)
def test_calls(parsed: list[str], text: str, calls: list[str]) -> None:
    """Two invocations in one process, of which one stops before it looks for calls, and the next."""
    jinja.parse(text)
    first = read(text)
    assert first[-1] == calls
    with new_process():
        assert read(text) == first


def test_an_outline_is_dropped_once_it_was_read(parsed: list[str]) -> None:
    text = "{% macro a() %}{{ b() }}{% endmacro %}"
    read(text)
    assert statically_extract_macro_calls(text, {}) == ["b"]
    assert parsed == [text, text]


@pytest.mark.parametrize("damaged", [7, (1, 2), {"a": 1}])
def test_a_damaged_outline(parsed: list[str], damaged: object) -> None:
    text = "{% macro a() %}{{ b() }}{% endmacro %}"
    macro_file().put("outline", text, damaged)
    macro_file().write()
    macro_file.cache_clear()
    assert read(text)[-1] == ["b"] and parsed == [text]


@pytest.mark.parametrize(
    "text", ["{{ ref('orders') }}", "{{ config(a=1) }} {% macro a() %}x{% endmacro %}"]
)
def test_a_model_is_never_kept(parsed: list[str], text: str) -> None:
    jinja.parse(text)
    statically_extract_macro_calls(text, {})
    assert parsed == [text, text]


def test_a_mistake_is_told_by_jinja(parsed: list[str]) -> None:
    with pytest.raises(jinja.CompilationError, match=re.escape("Unexpected end of template")):
        jinja.parse("{% macro broken() %}")
