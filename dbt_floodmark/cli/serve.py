"""``floodmark serve``: a warm local Spark Thrift server."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from dbt_floodmark.cli.output import Words, console
from dbt_floodmark.project.runner import (
    load_parameters,
    profiles_option,
    project_option,
    require_project,
    target_options,
)
from dbt_floodmark.spark import server, warm
from dbt_floodmark.spark.home import HOME_VARIABLE, resolve_home


@click.group(cls=Words)
def serve() -> None:
    """Start, stop or look at a local Spark Thrift server (target thrift).

    \b
    Example:
        floodmark serve start
        floodmark build -t thrift
        floodmark serve stop
    """


@serve.command()
@project_option
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=server.DEFAULT_PORT,
    envvar="FLOODMARK_THRIFT_PORT",
    show_default=True,
    help="Port on 127.0.0.1; 0 takes a free one.",
)
@profiles_option
@click.option(
    "-t", "--target", help="Start it with the server_side_parameters of this target of the profile."
)
def start(project_dir: Path, port: int, profiles_dir: str | None, target: str | None) -> None:
    """Start the server in the background and wait until it answers.

    With --target it runs on that target's Spark settings, such as a metastore that other
    processes use as well.

    \b
    Example:
        floodmark serve start --port 10001
        floodmark serve start --target shared
    """
    screen = console()
    if not os.environ.get(HOME_VARIABLE):
        require_project(project_dir)
    home = resolve_home(project_dir)
    parameters = load_parameters(project_dir, profiles_dir, target) if target else {}
    with screen.status("Starting a Spark Thrift server"):
        started = server.start_server(home, port, parameters)
    screen.print(
        f"A Spark Thrift server answers at {server.HOST}:{started.port} (process {started.pid}).",
        soft_wrap=True,
    )
    if started.port != server.DEFAULT_PORT:
        screen.print(f"For the thrift target: export FLOODMARK_THRIFT_PORT={started.port}")


@serve.command()
@target_options
def stop(project_dir: Path, profiles_dir: str | None, target: str | None) -> None:
    """Stop the project's servers: the one that was started here, and the warm one of --warm.

    It is about all servers of the project, whatever --target says.

    \b
    Example:
        floodmark serve stop
    """
    home = resolve_home(project_dir)
    screen = console()
    recorded = server.recorded_server(home)
    kept = warm.running(home)
    if recorded is None and kept is None:
        screen.print(f"No server was started in {home}.", soft_wrap=True)
    if recorded is not None:
        with screen.status("Stopping the Spark Thrift server"):
            was_running = server.stop_server(recorded)
        screen.print(f"The Spark Thrift server {'is stopped' if was_running else 'had ended'}.")
    if kept is not None:
        with screen.status("Stopping the warm server"):
            warm.stop_warm(kept)
        screen.print("The warm server is stopped.")


@serve.command("status")
@target_options
def serve_status(project_dir: Path, profiles_dir: str | None, target: str | None) -> None:
    """Tell whether a server runs and answers; exit code 1 if not.

    It is about all servers of the project, whatever --target says.

    \b
    Example:
        floodmark serve status
    """
    home = resolve_home(project_dir)
    found = {
        "Spark Thrift server": server.running_server(home),
        "warm server": warm.running(home),
    }
    screen = console()
    states = []
    for name, running in found.items():
        if running is None:
            continue
        states.append(server.answers(running.port))
        state = "answers" if states[-1] else "does not answer (yet)"
        screen.print(
            f"The {name} at {server.HOST}:{running.port} {state} (process {running.pid}).",
            soft_wrap=True,
        )
    if not states:
        screen.print("No Spark Thrift server runs: start one with `floodmark serve start`.")
    sys.exit(0 if states and all(states) else 1)
