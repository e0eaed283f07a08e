"""Python models of a test's project."""

from __future__ import annotations

from tests.support.harness import Project


def python_model(project: Project, name: str, code: str) -> None:
    """Write a Python model."""
    (project.root / "models" / f"{name}.py").write_text(code)
