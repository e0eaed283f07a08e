"""What the tests' servers share: free ports on loopback, and waiting until one answers."""

from __future__ import annotations

import re
import socket
import subprocess
import time
from pathlib import Path


def free_ports(count: int) -> list[int]:
    """Ports on loopback that nobody listens at, all different."""
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [int(one.getsockname()[1]) for one in taken]
    for one in taken:
        one.close()
    return ports


def wait_for(process: subprocess.Popen[bytes], port: int, log: Path, seconds: float = 60) -> None:
    """Wait until a process listens at a port; what its log says is in the error."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    said = re.sub(r"\s+", " ", log.read_text()[-2000:])
    raise AssertionError(f"the server did not come up: {said}")


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to leave, and kill it when it does not."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        process.kill()
