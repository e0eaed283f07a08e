"""Streams that run by their triggers: `floodmark stream`.

Under `dbt build` there is no service, and each stream runs once.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import click

from dbt_floodmark.streaming.progress import MicroBatch

#: Seconds before a failed stream starts again; each time twice as long, up to `LONGEST_WAIT`.
FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0


@dataclass
class Service:
    """What `floodmark stream` keeps running in this process."""

    stopping: threading.Event = field(default_factory=threading.Event)
    say: Callable[[str], None] = click.echo

    def tell(self, model: str, sentence: str) -> None:
        """Print a line about a stream."""
        self.say(f"{time.strftime('%H:%M:%S')}  {model}  {sentence}")

    def tell_progress(self, model: str, batch: MicroBatch) -> None:
        """Print what a micro-batch did."""
        self.tell(model, batch.line())

    def wait(self, seconds: float) -> bool:
        """Wait, and tell whether the service is to stop."""
        return self.stopping.wait(seconds)


_running: list[Service] = []


@contextlib.contextmanager
def running(service: Service) -> Iterator[Service]:
    """Have the streams of this process run by their triggers, until the service stops."""
    _running.append(service)
    try:
        yield service
    finally:
        _running.remove(service)


def current() -> Service | None:
    """Return the service that runs in this process, or None in an ordinary `dbt build`."""
    return _running[-1] if _running else None


def keep_running(
    service: Service, model: str, once: Callable[[], bool], is_final: Callable[[Exception], bool]
) -> bool:
    """Run a stream, and start it again whenever it fails, until the service stops.

    Args:
        service: who asks, and is told.
        model: the stream's model.
        once: runs the query; True when it ended by itself, with nothing left to do.
        is_final: whether an error stays however often one tries, as a wrong setting does.

    Returns:
        Whether it came to its end.

    Raises:
        Exception: the final error of `once`.
    """
    wait = FIRST_WAIT
    while not service.stopping.is_set():
        begun = time.monotonic()
        try:
            if once():
                return True
        except Exception as exc:
            if is_final(exc) or service.stopping.is_set():
                raise
            # One that ran well for a while begins anew with short waits.
            wait = FIRST_WAIT if time.monotonic() - begun > LONGEST_WAIT else wait
            sentence = " ".join(str(exc).split())
            service.tell(model, f"failed, starts again in {wait:.0f} s: {sentence}")
            if service.wait(wait):
                return False
            wait = min(2 * wait, LONGEST_WAIT)
    return False
