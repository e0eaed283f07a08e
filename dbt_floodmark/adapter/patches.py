"""The changes floodmark makes to dbt and dbt-spark, each put on once and only where it fits."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from dbt.adapters.events.logging import AdapterLogger
from dbt.adapters.spark import connections
from dbt.adapters.spark.__version__ import version as dbt_spark_version
from dbt.adapters.spark.connections import SparkConnectionManager, SparkConnectionMethod
from dbt.adapters.spark.impl import SparkAdapter
from dbt.artifacts.schemas import base as artifacts
from dbt.task.docs.generate import GenerateTask
from dbt.task.run import RunTask
from dbt.task.run_operation import RunOperationTask
from dbt_common.clients.jinja import MacroFuzzEnvironment
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.artifacts import write_at_once
from dbt_floodmark.adapter.connecting import (
    answer_counts,
    cancel_others,
    open_connection_of_own,
    readable_errors,
    remember_project,
)
from dbt_floodmark.adapter.following import run_what_follows
from dbt_floodmark.adapter.for_macros import FOR_MACROS
from dbt_floodmark.adapter.listing import list_whole
from dbt_floodmark.adapter.macro_code import compile_once
from dbt_floodmark.adapter.macro_trees import parse_once
from dbt_floodmark.adapter.rule_docs import list_rules
from dbt_floodmark.versions import DBT_SPARK

logger = AdapterLogger("Floodmark")

_MARK = "_floodmark_original"


class _Patch(NamedTuple):
    """A member that is replaced by what ``make`` gives for it, and the parameters it must have."""

    owner: Any
    name: str
    parameters: tuple[str, ...]
    make: Callable[[Callable[..., Any]], Any]
    wrap: Any = None


def _record_what_waits(original: Callable[..., Any]) -> Callable[..., Any]:
    def after_run(self: Any, adapter: Any, results: Any) -> None:
        # Where the macros keep what an invocation knows (macros/nodes/_invocation_memory.sql).
        memory = (self.manifest.flat_graph or {}).get("floodmark") or {}
        if memory.get("events"):
            try:
                with adapter.connection_named("floodmark"):
                    adapter.execute_macro("record_events", self.manifest, "floodmark")
            except DbtRuntimeError as exc:
                logger.warning(
                    f"The ledger does not say yet that {len(memory['events'])} batches are "
                    f"committed ({exc}). Their rows are in the tables, and the next run of each "
                    "model records it."
                )
        original(self, adapter, results)

    return after_run


def _python_helpers(original: Callable[..., Any]) -> Callable[..., Any]:
    def python_submission_helpers(self: Any) -> dict[str, Any]:
        from dbt_floodmark.adapter.python_models import SESSION, SessionPythonJob

        return {**original(self), SESSION: functools.partial(SessionPythonJob, self)}

    return python_submission_helpers


def _python_method(original: Callable[..., Any]) -> Callable[..., Any]:
    def default_python_submission_method(self: Any) -> str:
        # dbt-spark's own helpers are Databricks', behind method http or odbc.
        own = self.config.credentials.method in (
            SparkConnectionMethod.SESSION,
            SparkConnectionMethod.THRIFT,
        )
        return "session" if own else str(original(self))

    return default_python_submission_method


_PATCHES = (
    _Patch(SparkConnectionManager, "__init__", ("self", "profile", "mp_context"), remember_project),
    _Patch(
        SparkConnectionManager, "open", ("connection",), open_connection_of_own, wrap=classmethod
    ),
    _Patch(SparkConnectionManager, "exception_handler", ("self", "sql"), readable_errors),
    _Patch(SparkConnectionManager, "get_response", ("cursor",), answer_counts, wrap=classmethod),
    _Patch(SparkConnectionManager, "cancel_open", ("self",), cancel_others),
    _Patch(RunTask, "after_run", ("self", "adapter", "results"), _record_what_waits),
    _Patch(RunOperationTask, "run", ("self",), run_what_follows),
    _Patch(GenerateTask, "run", ("self",), list_rules),
    _Patch(artifacts, "write_json", ("path", "data"), write_at_once),
    _Patch(MacroFuzzEnvironment, "parse", (), parse_once),
    _Patch(MacroFuzzEnvironment, "compile", (), compile_once),
    _Patch(SparkAdapter, "python_submission_helpers", (), _python_helpers, wrap=property),
    _Patch(SparkAdapter, "default_python_submission_method", (), _python_method, wrap=property),
    _Patch(SparkAdapter, "list_relations_without_caching", ("self", "schema_relation"), list_whole),
)
#: What else we rely on in dbt-spark: (owner, member, parameters it must have).
_EXPECTED: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (getattr(connections, "PyhiveConnectionWrapper", None), "_fix_binding", ("value",)),
    (
        connections,
        "PyhiveConnectionWrapper",
        ("handle", "poll_interval", "query_timeout", "query_retries"),
    ),
    (connections, "CONNECTION_LOST_EXCEPTIONS", ()),
    (connections, "ThriftState", ()),
)


def unknown_inside() -> list[str]:
    """Return what is not as expected in the installed dbt-spark; empty when we know it."""
    problems = []
    if not dbt_spark_version.startswith(f"{DBT_SPARK}."):
        problems.append(f"it is not {DBT_SPARK}")
    for owner, name, parameters in (*(patch[:3] for patch in _PATCHES), *_EXPECTED):
        member = getattr(owner, name, None)
        label = f"{getattr(owner, '__name__', owner).rpartition('.')[2]}.{name}"
        if member is None and name != "ThriftState":
            problems.append(f"{label} is missing")
        elif parameters and _parameters(member) != parameters:
            problems.append(f"{label} takes other arguments")
    return problems


def _parameters(member: Any) -> tuple[str, ...]:
    original = getattr(member, _MARK, member)
    return tuple(inspect.signature(original).parameters)


def apply() -> None:
    """Put every patch on; those that are on stay as they are."""
    for patch in _PATCHES:
        _put_on(patch)
    for name, function in FOR_MACROS.items():
        setattr(SparkAdapter, name, function)
    SparkAdapter._available_ = SparkAdapter._available_ | FOR_MACROS.keys()


def remove() -> None:
    """Take every patch off again."""
    SparkAdapter._available_ = SparkAdapter._available_ - FOR_MACROS.keys()
    for owner, name, *_ in _PATCHES:
        saved = owner.__dict__.get(f"{_MARK}_{name}")
        if saved is None:
            continue
        delattr(owner, f"{_MARK}_{name}")
        if saved is _INHERITED:
            delattr(owner, name)
        else:
            setattr(owner, name, saved)


_INHERITED = object()


def _put_on(patch: _Patch) -> None:
    owner, name = patch.owner, patch.name
    keep = f"{_MARK}_{name}"
    if keep in owner.__dict__:
        return
    original = getattr(owner, name)
    function = getattr(original, "fget", None) or getattr(original, "__func__", original)
    patched = functools.wraps(function)(patch.make(function))
    setattr(patched, _MARK, original)
    setattr(owner, keep, owner.__dict__.get(name, _INHERITED))
    setattr(owner, name, patch.wrap(patched) if patch.wrap else patched)
