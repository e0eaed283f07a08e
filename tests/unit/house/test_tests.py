"""Test files hold tests: what several of them use lies in tests/support."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from tests.support.harness import REPOSITORY

TESTS = REPOSITORY / "tests"


def imported(source: str) -> Iterator[str]:
    """What a module imports, also within functions: of `from a import b` both a and b, which may be a module."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def from_test_files(source: str) -> list[str]:
    """The modules among them that are called test_*."""
    names = {name.rpartition(".")[2] for name in imported(source)}
    return sorted(name for name in names if name.startswith("test_"))


def test_nothing_is_imported_from_a_test_file() -> None:
    wrong = {
        str(file.relative_to(TESTS)): names
        for file in sorted(TESTS.rglob("*.py"))
        if (names := from_test_files(file.read_text()))
    }
    assert not wrong


def test_every_test_file_lies_in_a_room() -> None:
    assert not [
        file.name for folder in ("unit", "functional") for file in TESTS.glob(f"{folder}/test_*.py")
    ]


def test_modules_that_load_have_a_name_of_their_own() -> None:
    """The schemas of a module's projects are named after its file."""
    names = [file.name for file in TESTS.glob("functional/**/test_*.py")]
    assert len(names) == len(set(names)) > 0


@pytest.mark.parametrize(
    ("line", "is_wrong"),
    [
        ("from tests.functional.cdc.test_cdc import held", True),
        ("from tests.functional.cdc import test_cdc", True),
        ("from .test_cdc import held", True),
        ("import tests.functional.cdc.test_cdc as cdc", True),
        ("def f():\n    from tests.unit.house.test_rooms import parsed", True),
        ("from tests.support.cdc import held", False),
        ("from tests.support import rows", False),
    ],
)
def test_what_counts_as_imported_from_a_test_file(line: str, is_wrong: bool) -> None:
    assert bool(from_test_files(line)) == is_wrong
