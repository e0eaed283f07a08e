"""`floodmark`'s words on a test's project, in this process."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from click.testing import CliRunner, Result

from dbt_floodmark.cli import main
from tests.support.harness import Project, working_directory


@dataclass
class Story:
    """A project, and what commands said of it earlier."""

    project: Project
    said: dict[str, Result] = field(default_factory=dict)

    def __call__(self, *words: str) -> Result:
        """`floodmark <words>` on the project."""
        root = str(self.project.root)
        with working_directory(self.project.root):
            return CliRunner().invoke(
                main,
                [*words, "--project-dir", root, "--profiles-dir", root],
                catch_exceptions=False,
            )

    def json(self, *words: str) -> dict:
        """What a command tells in JSON."""
        result = self(*words, "--json")
        return json.loads(result.stdout)

    def plan(self, model: str, *words: str) -> dict:
        """The plan of one model."""
        plans = self.json("plan", *words)["models"]
        return next(one for one in plans if one["name"] == model)


def command(project: Project, *arguments: str) -> tuple[int, str]:
    """`floodmark <arguments>` on the project: exit code and output."""
    with working_directory(project.root):
        result = CliRunner().invoke(
            main,
            [*arguments, "--project-dir", str(project.root), "--profiles-dir", str(project.root)],
        )
    return result.exit_code, result.output


def plans(project: Project) -> dict[str, dict[str, Any]]:
    """What `floodmark plan` tells of each model."""
    code, output = command(project, "plan", "--json")
    assert code == 0, output
    return {one["name"]: one for one in json.loads(output)["models"]}
