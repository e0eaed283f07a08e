"""The code of a macro is compiled once for all processes: what comes from the file is what Jinja makes."""

from __future__ import annotations

import marshal
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from dbt_common.clients import jinja
from dbt_common.clients.jinja import MacroFuzzEnvironment, NativeSandboxEnvironment, get_environment

from dbt_floodmark.adapter import macro_code
from dbt_floodmark.adapter.macro_code import CodeFile, code_path, compile_once
from tests.support.macro_texts import macro_texts

MACRO = "{% macro greet(name) %}{{ return('hello ' ~ name) }}{% endmacro %}"


@pytest.fixture
def process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A process that compiles these texts, and ends: those that Jinja had to compile."""
    monkeypatch.setenv("FLOODMARK_JARS", str(tmp_path / "jars"))
    original = MacroFuzzEnvironment.__mro__[1].compile
    jinjas_code: dict[str, Any] = {}

    def run(*texts: str, environment: Any = None) -> list[str]:
        ends: list[Callable[[], None]] = []
        monkeypatch.setattr(macro_code.atexit, "register", ends.append)
        compiled: list[str] = []

        def jinjas(self: Any, source: str, *given: Any, **named: Any) -> Any:
            compiled.append(source)
            jinjas_code[source] = original(self, source, *given, **named)
            return jinjas_code[source]

        wrapped, one = compile_once(jinjas), environment or get_environment()
        for text in texts:
            assert wrapped(one, text) == jinjas_code[text]
        for end in ends:
            end()
        return compiled

    return run


def test_every_macro_of_dbt_and_ours(process: Callable[..., list[str]]) -> None:
    texts = sorted(set(macro_texts()))
    assert len(texts) > 500
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
    assert not code_path().exists()


def test_dbts_own_debugging(
    process: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    process(MACRO)
    monkeypatch.setattr(jinja, "MACRO_DEBUGGING", True)
    assert process(MACRO) == [MACRO]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no marshal",
        marshal.dumps([1, 2]),
        marshal.dumps({"a": b"b"}),
        marshal.dumps({b"a": 7}),
    ],
)
def test_a_damaged_file_is_written_anew(process: Callable[..., list[str]], content: bytes) -> None:
    process(MACRO)
    code_path().write_bytes(content)
    assert process(MACRO) == [MACRO]
    assert process(MACRO) == []


@pytest.mark.parametrize("kept", [b"", b"\xff", marshal.dumps(7), marshal.dumps(None)])
def test_damaged_code_is_compiled(process: Callable[..., list[str]], kept: bytes) -> None:
    process(MACRO)
    (key,) = marshal.loads(code_path().read_bytes())
    code_path().write_bytes(marshal.dumps({key: kept}))
    assert process(MACRO) == [MACRO]
    assert process(MACRO) == []


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_what_others_could_have_written_is_not_run(
    process: Callable[..., list[str]], mode: int
) -> None:
    process(MACRO)
    assert code_path().stat().st_mode & 0o777 == 0o644
    code_path().chmod(mode)
    assert process(MACRO) == [MACRO]


def test_another_users_file_is_not_run(
    process: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    process(MACRO)
    os.chown(code_path(), 12345, -1) if os.getuid() == 0 else monkeypatch.setattr(
        macro_code.os, "getuid", lambda: 12345
    )
    assert process(MACRO) == [MACRO]


def test_a_folder_that_cannot_be_written(process: Callable[..., list[str]], tmp_path: Path) -> None:
    (tmp_path / "jars").write_text("no folder")
    for _ in range(2):
        assert process(MACRO) == [MACRO]


def test_two_processes_at_once_both_keep_theirs(tmp_path: Path) -> None:
    files = [CodeFile(tmp_path / "code.bin") for _ in range(2)]
    codes = [compile(text, "<template>", "exec") for text in ("a = 1", "a = 2")]
    for number, file in enumerate(files):
        assert file.get(b"%d" % number) is None
        file.put(b"%d" % number, codes[number])
    for file in files:
        file.write()
    last = CodeFile(tmp_path / "code.bin")
    assert [last.get(b"0"), last.get(b"1")] == codes
    assert sorted(path.name for path in tmp_path.iterdir()) == ["code.bin"]


def test_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = compile("a = 1", "<template>", "exec")
    monkeypatch.setattr(macro_code, "MOST", len(marshal.dumps(code)) * 2)
    for key in (b"a", b"b", b"c"):
        file = CodeFile(tmp_path / "code.bin")
        file.put(key, code)
        file.write()
    last = CodeFile(tmp_path / "code.bin")
    assert [last.get(key) for key in (b"a", b"b", b"c")] == [None, None, code]
