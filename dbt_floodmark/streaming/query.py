"""A streaming query of a dbt node: started, watched and stopped from the node's own thread."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.spark.messages import CANCELLED
from dbt_floodmark.streaming.position import count_behind
from dbt_floodmark.streaming.progress import MicroBatch, is_batch, lag_text, parse
from dbt_floodmark.streaming.query_plan import inputs_of

#: The temporary view that stands for the rows of a micro-batch.
MICRO_BATCH = "_floodmark_micro_batch"

#: Seconds between two looks at a query.
_LOOK = 0.05
#: Seconds between two looks at what it tells of its batches.
_LISTEN = 0.5
#: Seconds between two records of its batches in the ledger, while it goes on. Each is a commit that
#: takes a second from the stream.
_RECORD = 60.0


@dataclass(frozen=True)
class Request:
    """What a node asks for, as its materialization writes it.

    `columns` are the columns to write, as SQL over the SELECT's; `seconds` the time between two
    triggers, or None to run to the end of what is there; `native` whether Delta's own sink writes
    the table, which else the node does, micro-batch by micro-batch; `distinct_by` the keys that
    come once within the event-time watermark; `whole_commits` whether no commit of a change feed
    may be cut by the end of a micro-batch; `ends` whether the model's runs end with what is there.
    """

    model: str
    sql: str
    table: str
    output_mode: str
    native: bool
    location: str
    project_dir: str
    seconds: float | None = None
    columns: list[str] | None = None
    distinct_by: list[str] = field(default_factory=list)
    whole_commits: bool = False
    ends: bool = True


@dataclass
class _Handed:
    """A micro-batch on its way from Spark's thread to the node's."""

    frame: Any
    number: int
    done: threading.Event = field(default_factory=threading.Event)
    error: BaseException | None = None


class Exchange:
    """Hands micro-batches to the thread of the node.

    Spark calls `foreachBatch` on a thread of its own; dbt's connection, and the Jinja that writes
    the table with it, belong to the node's.
    """

    def __init__(self) -> None:
        """Begin with nothing handed over."""
        self._handed: queue.Queue[_Handed] = queue.Queue()
        self.error: BaseException | None = None
        self._closed = threading.Event()

    def hand_over(self, frame: Any, number: int) -> None:
        """Wait until the node has written a micro-batch (Spark's thread)."""
        handed = _Handed(frame, number)
        self._handed.put(handed)
        while not handed.done.wait(_LOOK):
            if self._closed.is_set():
                raise RuntimeError("the node has ended")
        if handed.error is not None:
            raise RuntimeError(str(handed.error))

    def take(self, write: Callable[[Any, int], None]) -> bool:
        """Write the next micro-batch, if one comes within a moment (the node's thread)."""
        try:
            handed = self._handed.get(timeout=_LOOK)
        except queue.Empty:
            return False
        try:
            write(handed.frame, handed.number)
        except BaseException as exc:
            handed.error = self.error = exc
        finally:
            handed.done.set()
        return True

    def close(self) -> None:
        """Let nobody wait any more."""
        self._closed.set()


def rows_dropped(query: Any) -> int:
    """Return the rows that a query's last computed micro-batch dropped behind its watermark.

    Its progress record has the number, too, but comes when the micro-batch has ended.
    """

    def of(plan: Any) -> int:
        found = plan.metrics().get("numRowsDroppedByWatermark")
        own = int(found.get().value()) if found.isDefined() else 0
        return own + sum(map(of, inputs_of(plan)))

    return of(query._jsq.streamingQuery().lastExecution().executedPlan())


def _failure(query: Any) -> Any:
    """Return what ended a query, with the errors that caused it: pyspark leaves those out."""
    failure = query.exception()
    if failure is not None:
        causes: list[str] = []
        cause = query._jsq.exception().get().getCause()
        while cause is not None and len(causes) < 20:
            causes.append(f"\nCaused by: {cause.toString()}")
            cause = cause.getCause()
        failure._stackTrace = "".join([getattr(failure, "_stackTrace", None) or "", *causes])
    return failure


class Run:
    """One run of a query, from its start to its end."""

    def __init__(
        self,
        connection: Any,
        frame: Any,
        request: Request,
        apply: Callable[[int], None],
        record: Callable[[list[MicroBatch], int | None], None],
        tell: Callable[[MicroBatch], None] | None,
    ) -> None:
        """Prepare a run.

        Args:
            connection: dbt's connection (FloodmarkSession), whose session the query starts from.
            frame: the streaming DataFrame.
            request: what the node asks for.
            apply: writes micro-batch n from the view `MICRO_BATCH`.
            record: puts batches that Delta's sink wrote into the ledger, up to a number or all that
                the checkpoint has.
            tell: told of each micro-batch.
        """
        self._connection = connection
        self._frame = frame
        self._request = request
        self._apply = apply
        self._record = record
        self._tell = tell
        self._exchange = Exchange()
        # What the query told of batches that Delta's sink wrote, and the ledger does not have yet.
        self._told: list[MicroBatch] = []
        self._last_heard: tuple[Any, ...] = ()
        self._last_told = -1
        self._behind: int | None = None
        self._stopped = False

    def to_the_end(self, stopping: threading.Event | None) -> None:
        """Run until nothing is left to read, or until `stopping`.

        Raises:
            Exception: what the node's macros raised, or Spark's query.
            DbtRuntimeError: dbt cancelled the node.
        """
        query = self._start()
        try:
            self._watch(query, stopping)
        finally:
            self._exchange.close()
            if query.isActive:
                query.stop()
        self._listen(query)
        if self._exchange.error is not None:
            raise self._exchange.error
        failure = _failure(query)
        if self._request.native:
            self._record(self._told, None)
        if failure is not None and not self._stopped:
            raise failure

    def _start(self) -> Any:
        request = self._request
        writer = (
            self._frame.writeStream.queryName(request.model)
            .outputMode(request.output_mode)
            .option("checkpointLocation", request.location)
        )
        if request.seconds is None:
            writer = writer.trigger(availableNow=True)
        else:
            milliseconds = round(request.seconds * 1000)
            writer = writer.trigger(processingTime=f"{milliseconds} milliseconds")
        if request.native:
            return writer.format("delta").toTable(request.table)
        query = writer.foreachBatch(self._exchange.hand_over).start()
        self._connection.query = query
        return query

    def _watch(self, query: Any, stopping: threading.Event | None) -> None:
        heard = recorded = time.monotonic()
        while query.isActive:
            if self._connection.cancelled:
                raise DbtRuntimeError(CANCELLED)
            if stopping is not None and stopping.is_set() and self._is_behind(query):
                # A batch that has begun since is sent again by the next run.
                self._stopped = True
                self._exchange.close()
                query.stop()
                return
            if self._exchange.take(self._write):
                continue
            now = time.monotonic()
            if now - heard > _LISTEN:
                heard = now
                self._listen(query)
            if self._told and now - recorded > _RECORD:
                recorded = now
                self._record(self._told, self._told[-1].number)
                self._told = []

    def _is_behind(self, query: Any) -> bool:
        """Tell whether the batch that was in flight when the stop came has ended."""
        last = query.lastProgress
        finished = -1 if last is None else last.batchId - (0 if is_batch(parse(last)) else 1)
        if self._behind is None:
            self._behind = finished + 1
        return finished >= self._behind or not query.status["isTriggerActive"]

    def _write(self, frame: Any, number: int) -> None:
        frame.createOrReplaceTempView(MICRO_BATCH)
        with self._on(frame.sparkSession):
            self._apply(number)

    @contextmanager
    def _on(self, session: Any) -> Iterator[None]:
        """Have the node's statements run in the session that the micro-batch belongs to."""
        own = self._connection.spark
        self._connection.spark = session
        try:
            yield
        finally:
            self._connection.spark = own

    def _listen(self, query: Any) -> None:
        """Take in what the query tells of batches that ended."""
        last = query.lastProgress
        if last is None:
            return
        mark = (str(last.runId), last.batchId, last.timestamp)
        if mark == self._last_heard:
            return
        self._last_heard = mark
        for progress in map(parse, query.recentProgress):
            if is_batch(progress) and progress["batchId"] > self._last_told:
                batch = MicroBatch.of(
                    progress, lag_text(progress["sources"], self._count_behind(progress))
                )
                if self._request.native:
                    self._told.append(batch)
                self._last_told = batch.number
                if self._tell is not None:
                    self._tell(batch)

    def _count_behind(self, progress: Mapping[str, Any]) -> dict[str, int]:
        """The versions of each Delta table beyond what a batch read, by the table's id."""
        found = {}
        for source in progress["sources"]:
            description = str(source.get("description"))
            end = source.get("endOffset")
            if description.startswith("DeltaSource[") and isinstance(end, dict):
                path = description[len("DeltaSource[") : -1]
                behind, _ = count_behind(self._connection.spark, path, end)
                found[str(end["reservoirId"])] = behind
        return found
