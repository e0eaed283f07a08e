"""The code of a macro is compiled once for all processes: what comes from the file is what Jinja makes."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt_common.clients import jinja
from dbt_common.clients.jinja import MacroFuzzEnvironment, NativeSandboxEnvironment, get_environment

from dbt_floodmark.adapter.macro_code import compile_once
from dbt_floodmark.adapter.macro_file import file_path
from tests.support.macro_texts import macro_texts, new_process

MACRO = "{% macro greet(name) %}{{ return('hello ' ~ name) }}{% endmacro %}"


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A process that compiles these texts, and ends: those that Jinja had to compile."""
    monkeypatch.setenv("FLOODMARK_JARS", str(tmp_path / "jars"))
    original = MacroFuzzEnvironment.__mro__[1].compile
    jinjas_code: dict[str, Any] = {}

    def run(*texts: str, environment: Any = None) -> list[str]:
        compiled: list[str] = []

        def jinjas(self: Any, source: str, *given: Any, **named: Any) -> Any:
            compiled.append(source)
            jinjas_code[source] = original(self, source, *given, **named)
            return jinjas_code[source]

        wrapped, one = compile_once(jinjas), environment or get_environment()
        with new_process():
            for text in texts:
                assert wrapped(one, text) == jinjas_code[text]
        return compiled

    return run


def test_every_macro_of_dbt_and_ours(process: Callable[..., list[str]]) -> None:
    texts = sorted(set(macro_texts()))
    assert len(texts) > 200
    assert process(*texts) == texts
    assert process(*texts) == []


def test_another_text_is_compiled(process: Callable[..., list[str]]) -> None:
    other = MACRO.replace("hello", "goodbye")
    assert process(MACRO) == [MACRO]
    assert process(MACRO, other) == [other]
    assert process(other, MACRO) == []


def test_what_is_no_macro_is_left_alone(process: Callable[..., list[str]]) -> None:
    """A model's text changes with the model, and is rendered once a run."""
    for _ in range(2):
        assert process("select {{ 1 }}") == ["select {{ 1 }}"]
    native = NativeSandboxEnvironment(extensions=["jinja2.ext.do"])
    for _ in range(2):
        assert process(MACRO, environment=native) == [MACRO]
    assert not file_path().exists()


def test_dbts_own_debugging(
    process: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    process(MACRO)
    monkeypatch.setattr(jinja, "MACRO_DEBUGGING", True)
    assert process(MACRO) == [MACRO]


@pytest.mark.parametrize("kept", [b"", b"\xff", marshal.dumps(7), marshal.dumps(None)])
def test_damaged_code_is_compiled(process: Callable[..., list[str]], kept: bytes) -> None:
    process(MACRO)
    (key,) = marshal.loads(file_path().read_bytes())
    file_path().write_bytes(marshal.dumps({key: kept}))
    assert process(MACRO) == [MACRO]
    assert process(MACRO) == []
