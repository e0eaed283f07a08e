"""What the command hands to dbt, and which options its words take."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dbt.cli.main
import jinja2
import pytest
import yaml
from click.testing import CliRunner
from dbt.clients import yaml_helper
from dbt.events.types import JinjaLogWarning, NodeFinished
from dbt_common.events.base_types import BaseEvent, msg_from_base_event

from dbt_floodmark.cli import main
from dbt_floodmark.errors import UsageError
from dbt_floodmark.refusal import RefusedError
from dbt_floodmark.streaming.service import Service
from dbt_floodmark.texts import jinja_literal, jinja_text, yaml_text

TEXTS = [
    "moved 😀",
    'it\'s "quoted": {a: 1}, [b] # no comment',
    "back\\slash \\n \\ud83d\\ude00",
    "line\nend\ttab\r\x00\x1b\x7f\x85\u2028\ufeff\uffff",
    "{{ target.name }} {% raw %}{%- endraw -%} {# none #} {",
    "null",
    "",
    "- é, 漢字",
    "x" * 5000,
]


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_any_text_goes_through_yaml_and_jinja(text: str) -> None:
    value = {"reason": text, "n": 1, "list": [text], "flag": True}
    assert yaml.safe_load(yaml_text(value)) == yaml_helper.load_yaml_text(yaml_text(value)) == value
    environment = jinja2.Environment(keep_trailing_newline=True, newline_sequence="\n")
    kept: list[Any] = []
    environment.from_string("{{ keep(" + jinja_literal([text, 1]) + ") }}").render(keep=kept.append)
    assert kept == [[text, 1]]
    if "\r" not in text:
        assert environment.from_string(jinja_text(text)).render() == text


@pytest.mark.parametrize(
    "given",
    [
        "{rates: {2024: 1.2}}",
        "{flags: {on: off, null: 1}}",
        "{most: .inf, least: -.inf, large: 1e3, larger: 1.0e+300, text: '1e3'}",
        "{from: 2024-01-01, at: 2024-01-01 10:00:00.5, in_oslo: 2024-01-01T10:00:00+01:00}",
        "{days: {2024-01-01: first}, date: '2024-01-01'}",
        "{a: &id [1, {b: 'yes'}], c: *id, none: null, empty: {}, octal: '010'}",
    ],
)
def test_variables_keep_their_types(given: str) -> None:
    """As dbt's own `--vars` gives them: a key that became a text is not found, without an error."""
    wanted = yaml_helper.load_yaml_text(given)
    found = yaml_helper.load_yaml_text(yaml_text(wanted))
    assert repr(found) == repr(wanted)
    assert yaml_text(wanted).isascii()


def test_streams_never_use_the_warm_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the profile or the environment says: it would start only to reject them."""
    monkeypatch.setenv("FLOODMARK_WARM", "1")
    seen: list[str] = []

    def project(*_: object) -> None:
        seen.append(os.environ["FLOODMARK_WARM"])
        raise UsageError("far enough")

    monkeypatch.setattr("dbt_floodmark.project.project.Project", project)
    CliRunner().invoke(main, ["stream", "--project-dir", str(tmp_path)], prog_name="floodmark")
    assert seen == ["0"]
    assert os.environ["FLOODMARK_WARM"] == "1"


def test_a_stream_that_fails_leaves_the_others_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the project says `fail_fast`: dbt would cancel them, and nobody starts them again."""
    asked: list[list[str]] = []
    model = SimpleNamespace(unique_id="model.shop.m", name="m", selector="m", is_stream=True)

    def invoke(arguments: list[str], listeners: list[Callable[..., None]]) -> SimpleNamespace:
        asked.append(arguments)
        return SimpleNamespace(result=SimpleNamespace(results=[]), success=True)

    project = SimpleNamespace(select=lambda selection: [model], invoke=invoke)
    monkeypatch.setattr("dbt_floodmark.project.project.Project", lambda *given: project)
    result = CliRunner().invoke(
        main, ["stream", "--project-dir", str(tmp_path)], prog_name="floodmark"
    )
    assert result.exit_code == 0, result.output
    (arguments,) = asked
    assert "--no-fail-fast" in arguments
    dbt.cli.main.cli.make_context("dbt", [*arguments, "--project-dir", str(tmp_path)])


def test_what_becomes_of_a_stream_is_told_while_others_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, by dbt's own events, and not again at the end; what dbt made no event of comes at the end."""
    model = SimpleNamespace(unique_id="model.shop.m", name="m", selector="m", is_stream=True)
    told: list[str] = []
    monkeypatch.setattr(Service, "tell", lambda self, *what: told.append("  ".join(what)))

    def finished(number: str, status: str, message: str) -> SimpleNamespace:
        node = SimpleNamespace(unique_id=f"model.shop.{number}")
        return SimpleNamespace(node=node, status=status, message=message)

    ends = [finished("m", "error", "floodmark: gone\n  for good"), finished("n", "success", "OK")]

    def invoke(arguments: list[str], listeners: list[Callable[..., None]]) -> SimpleNamespace:
        events: list[BaseEvent] = [JinjaLogWarning(msg="floodmark, model 's.m':\n once")]
        events += [
            NodeFinished(
                node_info={"unique_id": one.node.unique_id},
                run_result={"status": one.status, "message": one.message},
            )
            for one in ends
        ]
        for event in events:
            for listen in listeners:
                listen(msg_from_base_event(event))
        assert told == ["warning  floodmark, model 's.m': once", "m  floodmark: gone for good"]
        results = [*ends, finished("x", "error", "unheard")]
        return SimpleNamespace(result=SimpleNamespace(results=results), success=False)

    project = SimpleNamespace(select=lambda selection: [model], invoke=invoke)
    monkeypatch.setattr("dbt_floodmark.project.project.Project", lambda *given: project)
    result = CliRunner().invoke(
        main, ["stream", "--project-dir", str(tmp_path)], prog_name="floodmark"
    )
    assert result.exit_code == 1, result.output
    assert told[2:] == ["model.shop.x  unheard"]
    assert result.output.endswith("All streams have ended.\n")


def test_what_is_no_utf8_is_refused() -> None:
    for write in (jinja_literal, lambda text: yaml_text({"reason": text})):
        with pytest.raises(UsageError, match="An argument is not UTF-8: write it in UTF-8"):
            write("\udcff")
    for values in ({"\udcff": 1}, {"a": [{"b": "\udcff"}]}):
        with pytest.raises(UsageError, match="An argument is not UTF-8"):
            yaml_text(values)


@pytest.mark.parametrize("word", ["stop", "status"])
def test_the_words_of_serve_take_the_options_of_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    monkeypatch.setenv("FLOODMARK_HOME", str(tmp_path))
    options = ["--project-dir", str(tmp_path), "--profiles-dir", str(tmp_path), "-t", "thrift"]
    result = CliRunner().invoke(main, ["serve", word, *options], prog_name="floodmark")
    assert "No such option" not in result.output
    said = {"stop": "No server was started in", "status": "No Spark Thrift server runs"}[word]
    assert said in result.output


def test_a_path_with_a_secret_never_reaches_dbt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(
        main, ["diff", "a", "s3a://u:PW@bucket/x", "--key", "id"], prog_name="floodmark"
    )
    assert result.exit_code == 2
    assert (
        "B got 's3a://u:***@bucket/x': expected a path without credentials. Put them in"
        in result.output
    )
    assert "PW" not in result.output and not list(tmp_path.iterdir())


def test_a_refusal_lists_no_macros() -> None:
    class Node:
        resource_type, name, original_file_path = "model", "m", "models/m.sql"

    error = RefusedError("floodmark refuses model 'a.m': 1 problem\n  - x: expected y. Do z")
    error.stack.extend([Node(), Node()])
    error.add_node(Node())
    assert str(error) == (
        "Compilation Error in model m (models/m.sql)\n  floodmark refuses model 'a.m': 1 problem\n"
        "    - x: expected y. Do z"
    )
