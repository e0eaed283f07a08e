"""What dbt found in the text of a macro is kept in a file that damage and other users cannot turn against us."""

from __future__ import annotations

import marshal
import os
from pathlib import Path

import pytest

from dbt_floodmark.adapter import macro_file
from dbt_floodmark.adapter.macro_file import MacroFile


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The file that one process wrote."""
    path = tmp_path / "jars" / "macros.bin"
    first = MacroFile(path)
    first.put("outline", "{% macro a() %}", ["a"])
    first.write()
    return path


def kept(path: Path) -> object:
    return MacroFile(path).get("outline", "{% macro a() %}")


def test_the_next_process_finds_it(path: Path) -> None:
    assert kept(path) == ["a"]
    assert MacroFile(path).get("outline", "{% macro b() %}") is None
    assert MacroFile(path).get("code", "{% macro a() %}") is None
    assert path.stat().st_mode & 0o777 == 0o644


def test_a_lone_surrogate(path: Path) -> None:
    file = MacroFile(path)
    file.put("outline", "\udc80", 1)
    file.write()
    assert MacroFile(path).get("outline", "\udc80") == 1 and kept(path) == ["a"]


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
def test_a_damaged_file_is_written_anew(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    file = MacroFile(path)
    assert file.get("outline", "{% macro a() %}") is None
    file.put("outline", "{% macro a() %}", ["b"])
    file.write()
    assert kept(path) == ["b"]


@pytest.mark.parametrize("damaged", [b"", b"\xff"])
def test_a_damaged_entry(path: Path, damaged: bytes) -> None:
    (key,) = marshal.loads(path.read_bytes())
    path.write_bytes(marshal.dumps({key: damaged}))
    assert kept(path) is None


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_what_others_could_have_written_is_not_read(path: Path, mode: int) -> None:
    path.chmod(mode)
    assert kept(path) is None


def test_another_users_file_is_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if os.getuid() == 0:
        os.chown(path, 12345, -1)
    else:
        monkeypatch.setattr(macro_file.os, "getuid", lambda: 12345)
    assert kept(path) is None


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "jars").write_text("no folder")
    file = MacroFile(tmp_path / "jars" / "macros.bin")
    file.put("code", "a", 1)
    file.write()
    assert [path.name for path in tmp_path.iterdir()] == ["jars"]


def test_two_processes_at_once_both_keep_theirs(tmp_path: Path) -> None:
    files = [MacroFile(tmp_path / "macros.bin") for _ in range(2)]
    for number, file in enumerate(files):
        assert file.get("code", str(number)) is None
        file.put("code", str(number), number)
    for file in files:
        file.write()
    last = MacroFile(tmp_path / "macros.bin")
    assert [last.get("code", "0"), last.get("code", "1")] == [0, 1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["macros.bin"]


def test_it_does_not_grow_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(macro_file, "MOST", len(marshal.dumps(1)) * 2)
    for text in "abc":
        file = MacroFile(tmp_path / "macros.bin")
        file.put("code", text, 1)
        file.write()
    last = MacroFile(tmp_path / "macros.bin")
    assert [last.get("code", text) for text in "abc"] == [None, None, 1]
