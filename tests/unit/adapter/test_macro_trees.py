"""dbt parses the text of a macro once: what it finds is what it finds without floodmark."""

from __future__ import annotations

import re
from typing import Any

import pytest
from dbt.clients.jinja_static import statically_extract_macro_calls
from dbt_common.clients import jinja
from dbt_common.clients.jinja import MacroFuzzEnvironment

from dbt_floodmark.adapter.macro_trees import parse_once
from tests.support.macro_texts import macro_texts


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that Jinja parses, with the patch on."""
    texts: list[str] = []
    original = MacroFuzzEnvironment._parse

    def parse(self: Any, source: str, name: Any, filename: Any) -> Any:
        texts.append(source)
        return original(self, source, name, filename)

    # The suite's own cache of trees, and the plugin of a test before, stay out of it.
    def plain(self: Any, source: str, name: Any = None, filename: Any = None) -> Any:
        return self._parse(source, name, filename)

    monkeypatch.setattr(MacroFuzzEnvironment, "_parse", parse)
    monkeypatch.setattr(MacroFuzzEnvironment, "parse", parse_once(plain))
    return texts


def test_the_calls_of_every_macro_are_those_that_dbt_finds(parsed: list[str]) -> None:
    texts = macro_texts()
    assert len(texts) > 1000
    for text in texts:
        jinja.parse(text)
    assert parsed == texts
    found = [statically_extract_macro_calls(text, {}) for text in texts]
    assert parsed == texts, "a macro was parsed twice"
    # The second time they are parsed: nothing is kept.
    again = [statically_extract_macro_calls(text, {}) for text in texts]
    assert found == again and len(parsed) == 2 * len(texts)
    assert sum(map(len, found)) > 3000
    dispatched = [
        calls for text, calls in zip(texts, found, strict=True) if "adapter.dispatch" in text
    ]
    assert len(dispatched) > 50 and all(dispatched)


def test_a_macro_that_is_parsed_again_is_whole(parsed: list[str]) -> None:
    """Two invocations in one process: the first stopped before it looked for calls."""
    text = "{% macro twice(a) %}{{ floodmark.once(a, b=2) }}{% endmacro %}"
    for _ in range(2):
        (macro,) = jinja.parse(text).body
        assert [argument.name for argument in macro.args] == ["a"]
    assert len(parsed) == 2
    assert statically_extract_macro_calls(text, {}) == ["floodmark.once"]
    assert len(parsed) == 2


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
