"""Python models on the session profile: dbt's `submit_python_job` inside this process."""

from __future__ import annotations

import ast
import traceback
from pathlib import Path
from typing import Any

from dbt.adapters.base import PythonJobHelper
from dbt.adapters.events.logging import AdapterLogger
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.warm import is_warm
from dbt_floodmark.spark.messages import readable

logger = AdapterLogger("Floodmark")

#: The submission method that dbt-spark lacks.
SESSION = "session"


class SessionPythonJob(PythonJobHelper):  # type: ignore[misc]
    """Runs a Python model on the Spark session of its node's connection."""

    def __init__(self, adapter: Any, parsed_model: dict[str, Any], credentials: Any) -> None:
        """Take the adapter, whose connection of this thread is the node's, and dbt's arguments."""
        self._adapter = adapter
        self._model = parsed_model
        self._method = str(credentials.method)
        self._is_warm = is_warm(credentials)

    def submit(self, compiled_code: str) -> None:
        """Run the model, which writes its table.

        Raises:
            DbtRuntimeError: another target, or the model failed; with the line of its file.
        """
        if self._is_warm:
            raise DbtRuntimeError(
                f"floodmark, model '{self._model['alias']}': a Python model needs Spark inside the "
                "dbt process, and this run is on the warm server. Stop that server with `floodmark "
                "serve stop`, and run with --no-warm, or with FLOODMARK_WARM=0 in the environment."
            )
        if self._method != SESSION:
            raise DbtRuntimeError(
                f"floodmark, model '{self._model['alias']}': a Python model needs Spark inside the "
                f"dbt process, but this target has method: {self._method}. Run it on a target with "
                "method: session, or write it in SQL."
            )
        connection = self._adapter.connections.get_thread_connection().handle
        with connection.busy():
            try:
                tree = ast.parse(compiled_code, self._file)
                ast.increment_lineno(tree, -self._lines_before(compiled_code))
                names = {"__name__": self._model["alias"], "spark": connection.spark}
                # Our own `from __future__` is not the model's.
                exec(compile(tree, self._file, "exec", dont_inherit=True), names)
            except (Exception, SystemExit) as exc:
                logger.debug(traceback.format_exc())
                raise DbtRuntimeError(self._sentence(exc)) from exc

    @property
    def _file(self) -> str:
        return str(self._model["original_file_path"])

    def _lines_before(self, compiled_code: str) -> int:
        """Count the lines that dbt puts in front of the model's own."""
        own = compiled_code.find(self._model["raw_code"].strip())
        return compiled_code[: max(own, 0)].count("\n") - self._blank_lines()

    def _blank_lines(self) -> int:
        """Count the blank lines at the file's begin, which dbt leaves out."""
        try:
            text = Path(self._adapter.config.project_root, self._file).read_text("utf-8")
        except OSError:
            return 0
        return text[: len(text) - len(text.lstrip())].count("\n")

    def _sentence(self, exc: BaseException) -> str:
        lines = [one.lineno for one in traceback.extract_tb(exc.__traceback__) if self._owns(one)]
        if isinstance(exc, SyntaxError) and exc.filename == self._file:
            lines = [exc.lineno]
        place = f", line {lines[-1]}" if lines else ""
        stack = getattr(exc, "_stackTrace", None)
        what = readable(f"{exc}\n{stack}") if stack is not None else f"{type(exc).__name__}: {exc}"
        return f"{self._file}{place}: {what}"

    def _owns(self, frame: traceback.FrameSummary) -> bool:
        lines = self._model["raw_code"].count("\n") + 1 + self._blank_lines()
        return frame.filename == self._file and 0 < (frame.lineno or 0) <= lines


def on_top(macro: Any) -> Any:
    """Run a materialization as if no macro had called it, and return what it returns.

    dbt runs a Python model only below exactly two macros, a materialization and `statement`; the
    opt-in of a project and floodmark's own materialization would make four of them.
    """
    stack = macro.stack
    below, stack.call_stack = stack.call_stack, []
    try:
        return macro()
    finally:
        stack.call_stack = below
