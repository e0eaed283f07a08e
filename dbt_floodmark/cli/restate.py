"""``floodmark restate``: make the rows of a cdc model anew from its feed, from a sequence on."""

from __future__ import annotations

import sys

import click

from dbt_floodmark.errors import UsageError
from dbt_floodmark.project.project import OpenProject, project_options
from dbt_floodmark.project.runner import exit_code


@click.command()
@project_options
@click.option(
    "--from", "start", required=True, metavar="SEQUENCE", help="First sequence, inclusive."
)
@click.argument("model")
def restate(open_project: OpenProject, start: str, model: str) -> None:
    """Rebuild rows of a cdc model from its feed, after the feed was corrected.

    Every key that has an event, a row or a remembered delete at or after SEQUENCE is read from the
    feed again, up to the mark, and written as a first load would. All other keys, and the mark,
    stay as they are.

    \b
    Example:
        floodmark restate silver_customers --from 1767225600000000
        floodmark restate orders_history --from '2026-01-31 06:00:00'
    """
    project = open_project()
    chosen = project.one(model)
    if chosen.strategy != "cdc":
        raise UsageError(
            f"{model} is not a cdc model: read a range of it again with `floodmark backfill`."
        )
    if chosen.is_stream:
        raise UsageError(
            f"{model} is a stream, which reads each row once: rebuild it with `floodmark run "
            f"--select {chosen.selector} --full-refresh`."
        )
    if chosen.files is not None:
        raise UsageError(
            f"{model} reads each file once: use --full-refresh, or read its feed from a table."
        )
    result = project.invoke(["run", "--select", chosen.selector], floodmark_restate={"from": start})
    sys.exit(exit_code(result))
