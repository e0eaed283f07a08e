"""Tables and sentences show what they are given, whole."""

from __future__ import annotations

import re
from collections import defaultdict

import pytest
from rich.text import Text

from dbt_floodmark.cli.diff import _print as print_diff
from dbt_floodmark.cli.history import _history_table
from dbt_floodmark.cli.output import console, table
from dbt_floodmark.cli.reconcile import _print as print_reconcile

MARKUP = ["see [ops]", "[/x]", "[bold]b[/bold]", ":warning:", r"a\[b]"]


@pytest.mark.parametrize("text", MARKUP)
def test_no_text_is_markup(text, capsys):
    console().print(table("", [("a", "left"), ("b", "left")], [[text, Text("ok", style="red")]]))
    assert capsys.readouterr().out.split("\n")[1].split("  ") == [text, "ok"]
    console().print(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_keys_are_no_markup(capsys):
    found = {"model": "s.m", "mark": "1", "expected": 1, "missing": 1, "repeated": 0}
    found |= {"lookback": None, "backfill": "…"}
    found["sample"] = [{"problem": "missing", "key": '["a","[/x]"]', "expected": 1, "held": 0}]
    print_reconcile(found)
    assert '["a","[/x]"]' in capsys.readouterr().out
    counts = dict.fromkeys(("rows_a", "rows_b", "unchanged", "updated", "deleted", "inserted"), 1)
    changed = [{"column": "[c]", "a": "[/x]", "b": None}]
    one = {"change": "updated", "key": "[k]", "in_a": 1, "in_b": 1, "columns": changed}
    print_diff({"a": "a", "b": "b", "columns": {"[c]": 1}, "sample": [one]} | counts, ["[/note]"])
    said = capsys.readouterr().out
    assert re.search(r"updated +\[k\] +\[c\] +\[/x\] +NULL", said) and "[/note]" in said
    assert "\\" not in said


@pytest.mark.parametrize("colour", ["", "1"])
def test_lines_of_a_pipe_stay_whole(capsys, monkeypatch, colour):
    monkeypatch.setenv("FORCE_COLOR", colour)
    monkeypatch.setenv("COLUMNS", "40")
    error = "word " * 999 + "end"
    console().print(table("", [("model", "left"), ("error", "left")], [["m" * 300, error]]))
    assert f"{'m' * 300}  {error}" in capsys.readouterr().out.split("\n")
    console().print(error)
    assert capsys.readouterr().out == f"{error}\n"


@pytest.mark.parametrize(
    ("state", "reason", "told"),
    [
        ("planned", None, "may be in the table already: the end of its run, or the next run, rec"),
        ("planned", "late", "late (ana); may be in the table already: "),
        ("committed", None, "–"),
        ("committed", "late", "late (ana)"),
    ],
)
def test_history_says_that_a_planned_batch_may_be_loaded(capsys, state, reason, told):
    given = {"state": state, "reason": reason, "recorded_by": reason and "ana"}
    console().print(_history_table([defaultdict(lambda: None, given)]))
    head, line = capsys.readouterr().out.splitlines()
    note = line[head.index("note") :]
    assert note.startswith(told) and ("may be" in note) == (state == "planned")
