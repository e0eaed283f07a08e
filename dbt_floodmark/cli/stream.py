"""``floodmark stream``: streaming models that go on by their own triggers."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any

import click

from dbt_floodmark.cli.output import console
from dbt_floodmark.environment import environment_variable
from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.ledger import said
from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import EXIT_FAILED, EXIT_OK, select_option
from dbt_floodmark.spark import warm
from dbt_floodmark.streaming.service import Service, running


@click.command()
@project_options
@select_option
def stream(open_project: OpenProject, select: tuple[str, ...]) -> None:
    """Keep streaming models running by their own triggers, until Ctrl-C or SIGTERM.

    A model whose trigger is {'processing_time': ...} keeps running; one with available_now runs
    once, to the end of what is there. A stream that fails starts again after 1, 2, 4, ... up to 60
    seconds; one that cannot continue (an invalid setting, a table that does not fit its
    checkpoint) ends with its error. Each micro-batch prints a line: its rows, rows a second,
    seconds, the rows in the query's state, and how far its sources are ahead.

    \b
    Example:
        floodmark stream --select bronze_device_events gold_device_counts
        floodmark stream --select tag:live --project-dir shop
    """
    # Streams run inside the dbt process: the warm server would start only to reject them.
    click.get_current_context().with_resource(environment_variable(warm.VARIABLE, "0"))
    with console(stderr=True).status("Parsing the project"):
        project = open_project()
        models = [model for model in project.select(select) if model.is_stream]
    if not models:
        raise UsageError(
            f"There is no streaming_table in --select {' '.join(select)}."
            if select
            else "This project has no model with materialized='streaming_table'."
        )
    names = {model.unique_id: model.name for model in models}
    service = Service()
    service.say(
        f"Streaming {', '.join(names.values())}. Ctrl-C ends each after its batch in flight."
    )
    # Every stream has a thread of its own for as long as it runs.
    selectors = [model.selector for model in models]
    arguments = ["run", "--select", *selectors, "--threads", str(len(models))]
    # One stream that ends with an error leaves the others running.
    quiet = ["--quiet", "--log-level", "none", "--no-write-json", "--no-fail-fast"]
    endings = _Endings(service, names)
    with running(service), _stopped_by_signals(service), _side_by_side():
        result = project.invoke([*arguments, *quiet], [endings.listen])
    if result.result is None:
        service.say(said(result))
        sys.exit(EXIT_FAILED)
    for one in result.result.results:
        endings.tell(one.node.unique_id, str(one.status), str(one.message))
    service.say("All streams have ended.")
    sys.exit(EXIT_OK if result.success else EXIT_FAILED)


class _Endings:
    """Tells of each stream that ends with an error, once and at once: others may run for days."""

    def __init__(self, service: Service, names: Mapping[str, str]) -> None:
        """Take who is told, and the names of the models by unique id."""
        self._service = service
        self._names = names
        self._told: set[str] = set()

    def listen(self, event: Any) -> None:
        """Tell what an event of dbt's says: the end of a node, or a warning."""
        if event.info.name == "NodeFinished":
            found = event.data.run_result
            self.tell(event.data.node_info.unique_id, found.status, found.message)
        elif event.info.name == "JinjaLogWarning":
            self._service.tell("warning", " ".join(event.data.msg.split()))

    def tell(self, unique_id: str, status: str, message: str) -> None:
        """Tell how a node ended, unless it ended well or that is told already."""
        if status not in ("success", "pass") and unique_id not in self._told:
            self._told.add(unique_id)
            name = self._names.get(unique_id, unique_id)
            self._service.tell(name, " ".join(message.split()))


@contextmanager
def _stopped_by_signals(service: Service) -> Iterator[None]:
    """Have Ctrl-C and SIGTERM end the streams after their batches; a second one ends them now."""

    def stop(number: int, frame: FrameType | None) -> None:
        if service.stopping.is_set():
            raise KeyboardInterrupt
        service.stopping.set()
        service.say("Stopping after the batches in flight; once more stops at once.")

    before = {one: signal.signal(one, stop) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _side_by_side() -> Iterator[None]:
    """Have dbt run all selected models at once: a stream upon another cannot wait for its end."""
    from dbt.task.run import RunTask
    from dbt.task.runnable import GraphRunnableMode

    before = RunTask.get_run_mode

    def get_run_mode(task: RunTask) -> GraphRunnableMode:
        return GraphRunnableMode.Independent

    RunTask.get_run_mode = get_run_mode
    try:
        yield
    finally:
        RunTask.get_run_mode = before
