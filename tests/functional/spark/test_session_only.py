"""What runs inside the dbt process alone: Python models and streams, and what is said of them on Thrift."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tests.support.commands import command, plans
from tests.support.harness import Project, Run, incremental, sentence, table
from tests.support.python_models import python_model
from tests.support.streams import EVENTS, stream


@dataclass
class Story:
    """A project, and the run of what Thrift refuses."""

    project: Project
    run: Run


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project], target: str) -> Story:
    project = make_project("session_only")
    python_model(project, "plain", "def model(dbt, session):\n    return session.range(3)\n")
    python_model(
        project,
        "managed",
        "def model(dbt, session):\n    dbt.config(materialized='incremental', watermark={'column': 'ts'})\n"
        "    return session.range(3)\n",
    )
    project.source("events")
    project.model("copied", stream("select * from stream({{ source('raw', 'events') }})"))
    refused = ["copied"] if target == "thrift" else []
    run = project.dbt("run", "--select", "plain", "managed", *refused)
    for name in ("plain", "managed"):
        (project.root / "models" / f"{name}.py").unlink()
    return Story(project, run)


def test_where_python_models_do_not_run(story: Story, target: str) -> None:
    """floodmark's own settings are for SQL; on Thrift no Python model runs."""
    run = story.run
    assert (
        'language: got "python"; expected a model in SQL for floodmark\'s settings. Write it in SQL, or leave out '
        "floodmark's settings: a Python model loads as dbt-spark does"
        in sentence(run.message["managed"])
    )
    if target == "session":
        assert run.status["plain"] == "success"
    else:
        assert (
            "floodmark, model 'plain': a Python model needs Spark inside the dbt process, but this target has "
            "method: thrift. Run it on a target with method: session, or write it in SQL."
            in sentence(run.message["plain"])
        )


@pytest.mark.parametrize("target", ["thrift"], scope="module")
def test_on_thrift_a_stream_is_refused(story: Story) -> None:
    assert (
        "materialized: got \"streaming_table\"; expected a target with method: session, and 'thrift' has method: thrift. "
        "Run it with a target whose Spark lives in the dbt process, such as -t session"
    ) in sentence(story.run.message["copied"])
    assert not story.project.sql(f"show tables in {story.project.schema}")


def test_a_stream_keeps_no_other_model_from_being_planned(story: Story, target: str) -> None:
    project = story.project
    project.sql(f"create table {project.schema}.events ({EVENTS}) using delta")
    project.model("loaded", incremental(table("events"), watermark={"column": "at"}))
    on_session = target == "session"
    kinds = {name: one["kind"] for name, one in plans(project).items()}
    assert kinds == {
        "copied": "first_load" if on_session else "needs method: session",
        "loaded": "first_load",
    }
    code, shown = command(project, "reconcile", "copied", "--key", "event_id")
    assert code != 0
    assert (
        "it has no checkpoint yet: run it first"
        if on_session
        else "it is a stream, and streams are read only inside the dbt process: use a target with method: session"
    ) in sentence(shown)
