"""How macros are written: short lines, short macros."""

from __future__ import annotations

import re

import pytest

from tests.support.macros import MACROS

LONGEST_LINE, LONGEST_MACRO = 120, 60
#: Macros that are longer, and why. None may be added without a reason that lasts.
LONGER = {
    "_scd2_sql": "one SELECT of nine steps, each a CTE, which is read from top to bottom",
    "_partial_rows_sql": "one SELECT of seven steps, each a CTE",
    "reset": "each way in which a reset is refused, in the order in which they are found",
}
_MACRO = re.compile(r"^\{%-? *macro (\w+).*?^\{%-? *endmacro", re.DOTALL | re.MULTILINE)


def long_lines(text: str) -> list[int]:
    """The numbers of lines that are too long."""
    lines = enumerate(text.splitlines(), start=1)
    return [number for number, line in lines if len(line) > LONGEST_LINE]


def long_macros(text: str) -> set[str]:
    """The macros that have too many lines."""
    found = _MACRO.finditer(text)
    return {macro[1] for macro in found if macro[0].count("\n") + 1 > LONGEST_MACRO}


def test_lines_are_short() -> None:
    wrong = {
        str(file.relative_to(MACROS)): lines
        for file in sorted(MACROS.rglob("*.sql"))
        if (lines := long_lines(file.read_text()))
    }
    assert not wrong


def test_macros_are_short() -> None:
    texts = (file.read_text() for file in MACROS.rglob("*.sql"))
    assert set().union(*map(long_macros, texts)) == LONGER.keys()


@pytest.mark.parametrize(("length", "is_long"), [(120, False), (121, True)])
def test_what_is_a_long_line(length: int, is_long: bool) -> None:
    assert long_lines("short\n" + "x" * length) == ([2] if is_long else [])


@pytest.mark.parametrize(("lines", "is_long"), [(58, False), (59, True)])
def test_what_is_a_long_macro(lines: int, is_long: bool) -> None:
    text = "{% macro _a(b) %}\n" + "x\n" * lines + "{% endmacro %}\n"
    assert long_macros(text + text.replace("_a", "_c")) == ({"_a", "_c"} if is_long else set())
