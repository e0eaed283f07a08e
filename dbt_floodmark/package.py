"""Where the dbt package (``dbt_project.yml`` and ``macros``) lies in this installation."""

from __future__ import annotations

import os
from pathlib import Path

#: The name of the dbt package, and of the project in a checkout.
PACKAGE = "floodmark"

PACKAGE_VARIABLE = "FLOODMARK_PACKAGE"


def package_root() -> Path:
    """Return the folder that holds floodmark's ``dbt_project.yml``.

    A wheel carries it inside the Python package; a checkout has it at its root.
    """
    here = Path(__file__).resolve().parent
    inside = here / "package"
    return inside if (inside / "dbt_project.yml").exists() else here.parent


def announce_package() -> None:
    """Tell ``packages.yml`` files where the package is, unless the user has said so."""
    os.environ.setdefault(PACKAGE_VARIABLE, str(package_root()))
