"""What the streaming materialization asks Python for: `adapter.floodmark_streams()` in Jinja."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import CompilationError, DbtRuntimeError

from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.refusal import RefusedError, TryAgainError
from dbt_floodmark.spark.messages import readable
from dbt_floodmark.streaming import position
from dbt_floodmark.streaming import service as services
from dbt_floodmark.streaming.advice import Advice, explain
from dbt_floodmark.streaming.checkpoint import (
    Checkpoint,
    CheckpointInUseError,
    Folder,
    Lease,
    UnreachableError,
    UnwritableError,
    damage,
    verify,
)
from dbt_floodmark.streaming.progress import MicroBatch, utc
from dbt_floodmark.streaming.query import MICRO_BATCH, Request, Run, rows_dropped
from dbt_floodmark.streaming.query_plan import inputs_of, plan_nodes
from dbt_floodmark.streaming.sources import with_sources

logger = AdapterLogger("Floodmark")

#: The view of no rows that has the columns of a streaming SELECT.
SHAPE = "_floodmark_shape"
#: The view of no rows that has the columns of a part of it.
DESCRIBED = "_floodmark_described"
_WATERMARK = "spark.watermarkDelayMs"


class Streams:
    """The streaming queries of one dbt connection to Spark inside this process."""

    #: The view of a micro-batch's rows, and that of no rows.
    micro_batch = MICRO_BATCH
    shape = SHAPE

    def __init__(self, connection: Any) -> None:
        """Take dbt's connection: a FloodmarkSession."""
        self._connection = connection

    def columns(self, given: Mapping[str, Any]) -> list[dict[str, str]]:
        """Return the columns of a streaming SELECT, in order: each {name, type}, as Spark has them.

        Raises:
            DbtRuntimeError: Spark cannot analyse it.
        """
        bare = dict(given, columns=None, distinct_by=[])
        fields = self._frame(Request(**bare)).schema.fields
        return [{"name": one.name, "type": one.dataType.simpleString()} for one in fields]

    def describe(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Analyse a streaming SELECT and make the view `_floodmark_shape` of its columns.

        Returns:
            {'event_time': the column that its event-time watermark is on, or none where it gives
            none, 'has_watermark': whether it has one, 'remembers': whether it keeps state from one
            micro-batch to the next}

        Raises:
            CompilationError: it is no streaming query, or Spark cannot run it in its output mode.
        """
        request = Request(**given)
        frame = self._frame(request)
        spark = self._connection.spark
        if not frame.isStreaming:
            raise RefusedError(
                f"floodmark, model '{request.model}': its SELECT reads no stream: read one of its "
                "sources with stream(...), such as `from stream({{ ref('bronze_invoices') }})`"
            )
        self._check(request, frame)
        from pyspark.sql.types import StructField, StructType

        fields = frame.schema.fields
        bare = StructType([StructField(one.name, one.dataType, True) for one in fields])
        spark.createDataFrame([], bare).createOrReplaceTempView(SHAPE)
        marked = [one.name for one in fields if _WATERMARK in (one.metadata or {})]
        return {
            "event_time": marked[0] if marked else None,
            "has_watermark": "EventTimeWatermark" in _operators(frame),
            "remembers": _remembers(frame),
        }

    def described(self, query: str, project_dir: str) -> str:
        """Analyse a query, which may read streams; return one of the same columns over tables.

        Raises:
            DbtRuntimeError: Spark cannot analyse it.
            FloodmarkError: a source of it is not there.
        """
        from pyspark.errors import PySparkException

        spark = self._connection.spark
        try:
            frame = spark.sql(with_sources(spark, query, project_dir))
            if not frame.isStreaming:
                return query
            spark.createDataFrame([], frame.schema).createOrReplaceTempView(DESCRIBED)
        except PySparkException as exc:
            raise DbtRuntimeError(readable(str(exc))) from exc
        return f"select * from {DESCRIBED}"

    def checkpoint(self, location: str) -> dict[str, Any]:
        """Return what the checkpoint at `location` tells: query_id, last_offset, last_commit.

        All are none where nothing is there.
        """
        with _named(location.rstrip("/").split("/")[-2]):
            return vars(Checkpoint.read(Folder(self._connection.spark, location)))

    def has_folder(self, path: str) -> bool:
        """Tell whether there is a folder with something in it."""
        with _named(path.rstrip("/").split("/")[-1]):
            return bool(Folder(self._connection.spark, path).names())

    def pending(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the next run would read: kind, low, high, files, bytes.

        Raises:
            CompilationError: options of the SELECT that cannot be read.
        """
        spark = self._connection.spark
        request = Request(**given)
        with self._readable(request):
            folder = Folder(spark, request.location) if request.location else None
            return vars(position.pending(spark, request.sql, request.project_dir, folder))

    def as_read(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the SELECT over what the checkpoint has read, as `sql`, and its `number`.

        Raises:
            CompilationError: its table is not what the SELECT gives over what was read, by design,
                or a source cannot be read again.
        """
        spark = self._connection.spark
        request = Request(**given)
        with self._readable(request):
            if request.output_mode != "complete" and _forgets(self._frame(request)):
                raise FloodmarkError(
                    "its event-time watermark drops late rows, and groups that are still open may "
                    "not be written yet, so its table cannot be compared with its sources. "
                    "rows_late of its batches counts what was dropped"
                )
            folder = Folder(spark, request.location)
            passed = position.as_read(spark, request.sql, request.project_dir, folder)
            # Here, and not in the query that compares: what is wrong is the source's fault.
            spark.sql(passed)
            return {"sql": passed, "number": position.Position.read(folder).number}

    def rows_late(self) -> int:
        """Return what the micro-batch that the node writes dropped behind its watermark."""
        query = getattr(self._connection, "query", None)
        return 0 if query is None else rows_dropped(query)

    def drain(self) -> None:
        """Compute a micro-batch whose rows are written already, for what the query remembers."""
        self._connection.spark.table(MICRO_BATCH).write.format("noop").mode("overwrite").save()

    def service(self) -> bool:
        """Tell whether `floodmark stream` runs this model."""
        return services.current() is not None

    def run(
        self,
        given: Mapping[str, Any],
        apply: Callable[[Any, int], Any],
        record: Callable[[Any, Mapping[int, Any], int | None], Any],
        run: Any,
    ) -> None:
        """Run the query, to its end or while `floodmark stream` runs.

        Args:
            given: the fields of a `Request`.
            apply: a macro that writes a micro-batch: of `run`, and its number.
            record: a macro that puts what Delta's sink wrote into the ledger: of `run`, and what
                the query told of its batches, by number.
            run: what the macros know of the run.

        Raises:
            CompilationError: what only a full refresh mends.
            DbtRuntimeError: Spark's error as a sentence.
        """
        request = Request(**given)
        service = services.current()
        with _named(request.model):
            folder = Folder(self._connection.spark, request.location)

        def write_down(batches: list[MicroBatch], last: int | None) -> None:
            told = {
                batch.number: {"started_at": utc(batch.started_at), "rows_late": batch.rows_late}
                for batch in batches
            }
            record(run, told, last)

        def tell(batch: MicroBatch) -> None:
            if service is not None:
                service.tell_progress(request.model, batch)

        try:
            with _named(request.model):
                verify(folder)
                if request.ends:
                    spark = self._connection.spark
                    position.refuse_latest(spark, request.sql, request.project_dir, folder)
            frame = self._frame(request)
            with _named(request.model):
                position.refuse_moved(position.paths_read(frame), folder)
            query = Run(
                self._connection,
                frame,
                request,
                lambda number: apply(run, number),
                write_down,
                tell,
            )
            query.to_the_end(service.stopping if service else None)
        except CompilationError:
            raise
        except DbtRuntimeError as exc:
            # A statement of the node's failed, over a micro-batch that Spark computes within it.
            found = damage(folder, _all_texts(exc))
            if found is None:
                raise
            raise RefusedError(f"floodmark, model '{request.model}': {found}") from exc
        except Exception as exc:
            raise self._error(request, exc) from exc

    def keep_running(
        self, model: str, folder: str, once: Callable[..., Any], *arguments: Any
    ) -> bool:
        """Run a macro, and again whenever it fails, for as long as `floodmark stream` runs.

        The lease on the folder of the model's checkpoints is held around each time.

        Returns:
            Whether the macro came to its end.

        Raises:
            DbtRuntimeError: another process runs the stream, or the macro failed for good.
        """

        def leased() -> bool:
            try:
                with Lease(Folder(self._connection.spark, folder), model):
                    return bool(once(*arguments))
            except (CheckpointInUseError, UnwritableError) as exc:
                raise DbtRuntimeError(f"floodmark, model '{model}': {exc}") from None
            except UnreachableError as exc:
                raise _unreachable(model, exc) from None

        service = services.current()
        if service is None:
            return leased()
        return services.keep_running(service, model, leased, _is_final)

    def _frame(self, request: Request) -> Any:
        spark = self._connection.spark
        try:
            with _named(request.model):
                runs = bool(request.table and request.location)
                sql = with_sources(
                    spark,
                    request.sql,
                    request.project_dir,
                    runs=runs,
                    whole_commits=request.whole_commits,
                )
                frame = spark.sql(sql)
            if request.distinct_by:
                frame = frame.dropDuplicatesWithinWatermark(request.distinct_by)
            return frame.selectExpr(*request.columns) if request.columns else frame
        except CompilationError:
            raise
        except Exception as exc:
            raise DbtRuntimeError(self._error(request, exc).msg) from exc

    @contextmanager
    def _readable(self, request: Request) -> Iterator[None]:
        """Say what is wrong with a SELECT or its sources as dbt's error of the model."""
        try:
            with _named(request.model):
                yield
        except CompilationError:
            raise
        except Exception as exc:
            error = exc if isinstance(exc, DbtRuntimeError) else self._error(request, exc)
            raise RefusedError(f"floodmark, model '{request.model}': {error.msg}") from exc

    def _check(self, request: Request, frame: Any) -> None:
        """Have Spark refuse now what it would refuse when the query starts."""
        jvm = self._connection.spark._jvm.org.apache.spark.sql
        mode = getattr(jvm.streaming.OutputMode, request.output_mode.capitalize())()
        checker = jvm.catalyst.analysis.UnsupportedOperationChecker
        try:
            checker.checkForStreaming(frame._jdf.queryExecution().analyzed(), mode)
        except Exception as exc:
            raise RefusedError(self._error(request, exc).msg) from exc

    def _error(self, request: Request, exc: Exception) -> DbtRuntimeError:
        """Return an error of Spark's as dbt shows it, with what to do about it."""
        stack = getattr(exc, "_stackTrace", None) or ""
        text = f"{exc}\n{stack}"
        logger.debug(f"The stream {request.model} failed: {text}")
        said = readable(text)
        advice = explain(text)
        if request.location:
            with suppress(UnreachableError):
                found = damage(Folder(self._connection.spark, request.location), text)
                advice = Advice(f"{found}.", RefusedError) if found else advice
        if advice is None:
            return DbtRuntimeError(said)
        return advice.error(f"floodmark, model '{request.model}': {advice.text} Spark says: {said}")


#: Operators that remember, and drop what comes behind a watermark.
_REMEMBERING = {"Aggregate", "Deduplicate", "DeduplicateWithinWatermark", "Distinct", "Join"}


def _operators(frame: Any) -> set[str]:
    """Return the names of a frame's operators on streams; of joins only those of two streams."""
    return {
        name
        for node in plan_nodes(frame)
        if node.isStreaming()
        and (
            (name := str(node.nodeName())) != "Join"
            or all(one.isStreaming() for one in inputs_of(node))
        )
    }


def _remembers(frame: Any) -> bool:
    """Tell whether a streaming DataFrame keeps state from one micro-batch to the next."""
    return not _REMEMBERING.isdisjoint(_operators(frame))


def _forgets(frame: Any) -> bool:
    """Tell whether a streaming DataFrame drops rows that come behind a watermark."""
    operators = _operators(frame)
    return "EventTimeWatermark" in operators and not _REMEMBERING.isdisjoint(operators)


@contextmanager
def _named(model: str) -> Iterator[None]:
    """Say what floodmark found wrong with a SELECT as dbt's error of the model."""
    try:
        yield
    except UnreachableError as exc:
        raise _unreachable(model, exc) from None
    except FloodmarkError as exc:
        raise RefusedError(f"floodmark, model '{model}': {exc}") from None


def _unreachable(model: str, exc: UnreachableError) -> DbtRuntimeError:
    """A file system that does not answer is tried again; one that Spark lacks is not."""
    error = RefusedError if exc.is_final else DbtRuntimeError
    return error(f"floodmark, model '{model}': {exc}")


def _all_texts(exc: BaseException | None) -> str:
    """Everything that an error and those behind it say."""
    texts: list[str] = []
    while exc is not None and len(texts) < 20:
        texts.append(f"{exc}\n{getattr(exc, '_stackTrace', None) or ''}")
        exc = exc.__cause__ or exc.__context__
    return "\n".join(texts)


def _is_final(exc: Exception) -> bool:
    """Tell whether somebody must do what the sentence says, which is more than to run again."""
    return isinstance(exc, CompilationError) and not isinstance(exc, TryAgainError)
