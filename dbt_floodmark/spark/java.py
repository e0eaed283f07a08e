"""Find a Java that Spark can run on, before anything is started with it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from dbt_floodmark.errors import JavaError
from dbt_floodmark.versions import JAVA_MINIMUM

_REMEDY = f"install Java {JAVA_MINIMUM} and put it on PATH, or point JAVA_HOME at it"


@dataclass(frozen=True)
class Java:
    """A Java installation: its executable and its major version."""

    executable: Path
    major: int


def find_java() -> Java:
    """Return the Java that Spark's own scripts would take.

    Raises:
        JavaError: none is there, or it is older than Spark needs.
    """
    executable = _executable()
    major = _major_version(executable)
    if major < JAVA_MINIMUM:
        raise JavaError(
            f"Java {major} at {executable} is too old, Spark needs Java {JAVA_MINIMUM} or newer",
            _REMEDY,
        )
    return Java(executable, major)


def environment_elsewhere() -> dict[str, str]:
    """Return the environment for a process in another folder, where JAVA_HOME is the same one."""
    home = os.environ.get("JAVA_HOME")
    return {**os.environ, "JAVA_HOME": os.path.abspath(home)} if home else dict(os.environ)


def _executable() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        candidate = Path(home) / "bin" / "java"
        if not os.access(candidate, os.X_OK):
            raise JavaError(f"JAVA_HOME is {home}, but there is no bin/java in it", _REMEDY)
        return candidate
    found = shutil.which("java")
    if found is None:
        raise JavaError(f"No Java was found, Spark needs Java {JAVA_MINIMUM} or newer", _REMEDY)
    return Path(found)


def _major_version(executable: Path) -> int:
    # The release file answers at once; asking java itself starts a JVM.
    release = executable.resolve().parent.parent / "release"
    if release.is_file():
        match = re.search(r'^JAVA_VERSION="([^"]+)"', release.read_text("utf-8"), re.MULTILINE)
        if match:
            return parse_major(match.group(1))
    try:
        answer = subprocess.run(
            [str(executable), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        raise JavaError(f"Java at {executable} does not run ({exc})", _REMEDY) from exc
    match = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    if match is None:
        raise JavaError(f"Java at {executable} does not report its version", _REMEDY)
    return parse_major(match.group(1))


def parse_major(version: str) -> int:
    """Return 17 for ``17.0.15``, and 8 for the old way of counting, ``1.8.0_392``."""
    parts = re.findall(r"\d+", version)
    if not parts:
        return 0
    return int(parts[1]) if parts[0] == "1" and len(parts) > 1 else int(parts[0])
