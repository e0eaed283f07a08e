"""Where the dbt package (``dbt_project.yml`` and ``macros``) lies: here, and in a project."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

#: The name of the dbt package, and of the project in a checkout.
PACKAGE = "floodmark"

PACKAGE_VARIABLE = "FLOODMARK_PACKAGE"

#: Where a project keeps a copy of the package: `dbt deps` deletes the folder dbt_packages first.
COPY = f"packages/{PACKAGE}"
#: It stands in a file, in front of any comment.
_NAMES_COPY = re.compile(rf"(?m)^[^#\n]*(?<![\w./-])(?:\./)?{COPY}(?![\w.-])")
#: What of the package is copied.
_COPIED = ("dbt_project.yml", "macros")


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


def is_announced() -> bool:
    """Tell whether the variable says what we announced, and not what the user has said."""
    return os.environ.get(PACKAGE_VARIABLE) == str(package_root())


def install_package(target: Path) -> None:
    """Copy floodmark's dbt package, without the worked example."""
    project, macros = (package_root() / name for name in _COPIED)
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(project, target / project.name)
    # What another version had and this one has not must go.
    shutil.rmtree(target / macros.name, ignore_errors=True)
    shutil.copytree(macros, target / macros.name)


def names_copy(project: Path) -> bool:
    """Tell whether the packages of a project name a copy in it."""
    files = (project / name for name in ("packages.yml", "dependencies.yml"))
    texts = (file.read_text("utf-8", "replace") for file in files if file.is_file())
    return any(_NAMES_COPY.search(text) for text in texts)


def renew_copy(project: Path) -> bool:
    """Bring a project's copy of the package to this version; False where there is something else.

    A link or a checkout in its place belongs to the user.
    """
    copy = project / COPY
    if copy.is_symlink() or (copy.exists() and not copy.is_dir()):
        return False
    if copy.is_dir() and {one.name for one in copy.iterdir()} - {*_COPIED, ".DS_Store"}:
        return False
    install_package(copy)
    return True
