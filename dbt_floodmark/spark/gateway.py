"""Start Spark inside this process: one JVM, one SparkContext, quietly."""

from __future__ import annotations

import atexit
import os
import shlex
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from dbt_floodmark.environment import environment_variable
from dbt_floodmark.errors import FloodmarkError, MetastoreLockedError
from dbt_floodmark.spark.archive import fast_start, make_in_background
from dbt_floodmark.spark.conf import is_shared_metastore, spark_conf, without_secrets
from dbt_floodmark.spark.home import Workplace, pyspark_home
from dbt_floodmark.spark.jars import require_jars, require_metastore_driver
from dbt_floodmark.spark.java import find_java
from dbt_floodmark.spark.lock import MetastoreLock, locked_sentence
from dbt_floodmark.spark.messages import (
    NO_HIVE_TABLES,
    VERSION_NOT_FOUND,
    is_derby_locked,
    root_cause,
)
from dbt_floodmark.spark.properties import properties_options
from dbt_floodmark.spark.warm import end_orphan

#: Where pyspark finds options for spark-submit.
_SUBMIT_ARGS = "PYSPARK_SUBMIT_ARGS"
#: Where it finds the Python of its workers: `python3` where it is not set.
_PYTHON = "PYSPARK_PYTHON"

_starting = threading.Lock()
_locks: dict[Path, MetastoreLock] = {}


def root_session(home: Path, parameters: Mapping[str, str]) -> Any:
    """Return the process's Spark session, started if there is none.

    A session that somebody else made (a test, a notebook) is used as it is.

    Raises:
        FloodmarkError: Java, the jars or the metastore are not ready.
    """
    with _starting:
        _quiet_pyspark()
        active = _active_session()
        return active if active is not None else _start(Workplace.session(home), parameters)


def _quiet_pyspark() -> None:
    """pyspark prints every SQL error as JSON with its stack trace; dbt shows ours."""
    from pyspark.logger import PySparkLogger

    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).disabled = True


def _active_session() -> Any | None:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    context = SparkContext._active_spark_context
    if context is None or context._jsc is None:
        return None
    session = SparkSession._instantiatedSession
    if session is not None and session._sc is context:
        return session
    return SparkSession(context)


def _start(workplace: Workplace, parameters: Mapping[str, str]) -> Any:
    find_java()
    conf = fast_start(spark_conf(workplace, require_jars(), parameters))
    require_metastore_driver(conf)
    workplace.create()
    if is_shared_metastore(conf):
        launch_jvm(workplace, conf)
        return _session(workplace, conf)
    end_orphan(workplace.root.parent)
    lock = _locks.setdefault(workplace.root, MetastoreLock(workplace.lock))
    lock.acquire()
    try:
        launch_jvm(workplace, conf)
        lock.record_jvm(_jvm_pid())
        session = _session(workplace, conf)
        make_in_background(conf)
        return session
    except BaseException:
        if _jvm_pid() is None:
            lock.release()
        raise


def launch_jvm(workplace: Workplace, conf: Mapping[str, str]) -> None:
    """Start the JVM ourselves: pyspark would let it write on the console."""
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkRuntimeError
    from pyspark.java_gateway import launch_gateway

    if SparkContext._gateway is not None:
        return
    settings = SparkConf(loadDefaults=False)
    # The session gets all of them; what is given here stands in the list of processes.
    shown, secret = without_secrets(conf)
    for key, value in shown.items():
        settings.set(key, value)
    with (
        open(workplace.log, "ab") as log,
        properties_options(workplace, secret) as options,
        _submit_options(options),
        environment_variable("SPARK_HOME", str(pyspark_home())),
    ):
        try:
            gateway = launch_gateway(settings, popen_kwargs={"stdout": log, "stderr": log})
        except PySparkRuntimeError as exc:
            raise FloodmarkError(
                f"Spark's JVM ended before it was ready: see its output in {workplace.log}."
            ) from exc
    SparkContext._ensure_initialized(gateway=gateway)
    # A JVM that is told to leave releases Derby at once; one that notices needs a second.
    atexit.register(_stop_jvm, gateway)


def _submit_options(options: Sequence[str]) -> AbstractContextManager[None]:
    """Have pyspark give these options to spark-submit, before those of the environment."""
    if not options:
        return nullcontext()
    others = os.environ.get(_SUBMIT_ARGS) or "pyspark-shell"
    return environment_variable(_SUBMIT_ARGS, f"{shlex.join(options)} {others}")


def _stop_jvm(gateway: Any) -> None:
    process = getattr(gateway, "proc", None)
    if process is not None and process.poll() is None:
        process.terminate()


def _jvm_pid() -> int | None:
    from pyspark import SparkContext

    process = getattr(SparkContext._gateway, "proc", None)
    return getattr(process, "pid", None)


def _session(workplace: Workplace, conf: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    try:
        with _python_of_workers(conf):
            session = builder.enableHiveSupport().getOrCreate()
        # The first question opens the metastore: better here than in somebody's model.
        session.sql("show databases").collect()
    except Exception as exc:
        text = str(exc)
        if is_derby_locked(text):
            raise MetastoreLockedError(locked_sentence(workplace.lock)) from exc
        said = root_cause(getattr(exc, "_stackTrace", None) or text)
        if VERSION_NOT_FOUND in said:
            raise FloodmarkError(NO_HIVE_TABLES) from exc
        raise FloodmarkError(f"Spark did not start: {said} (the log is {workplace.log}).") from exc
    return session


def _python_of_workers(conf: Mapping[str, str]) -> AbstractContextManager[None]:
    """Have workers on this machine run on our Python, which has the packages of the models."""
    if os.environ.get(_PYTHON) or not conf["spark.master"].startswith("local"):
        return nullcontext()
    return environment_variable(_PYTHON, conf.get("spark.pyspark.python", sys.executable))
