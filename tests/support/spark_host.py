"""The suite's one JVM: a Spark session that test processes attach to, and a Thrift server over the same context.

Both targets run in it, since compiling Spark's own code is a third of a young JVM's work, and two JVMs do all of it twice.
`python -m tests.support.spark_host HOME PID` runs until process PID is gone.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dbt_floodmark.spark.archive import fast_start
from dbt_floodmark.spark.conf import spark_conf
from dbt_floodmark.spark.gateway import launch_jvm
from dbt_floodmark.spark.home import Workplace
from dbt_floodmark.spark.jars import require_jars
from dbt_floodmark.spark.processes import is_alive
from dbt_floodmark.spark.server import HOST, ONE_USER_FEW_THREADS, SHORT_POLLS, ThriftServer
from tests.support.harness import REPOSITORY, SPARK_PARAMETERS

#: The Thrift server's Hive client asks for this. Clients of one JVM whose settings of the metastore differ throw its pool
#: and its compiled queries away whenever they take turns: every other second where both targets are at work.
ONE_METASTORE = {
    "spark.hadoop.datanucleus.rdbms.datastoreAdapterClassName": "org.datanucleus.store.rdbms.adapter.DerbyAdapter"
}
#: Seconds until a host that was started has to be there.
START_TIMEOUT = 180.0


@dataclass(frozen=True)
class SparkHost:
    """Where the JVM is: the port of its Thrift server, and port and secret of its Py4J gateway."""

    thrift_port: int
    gateway_port: int
    gateway_secret: str


def shared_host(home: Path, watched: int) -> SparkHost:
    """The host in this home, started by whoever comes first; it ends with process `watched`."""
    home.mkdir(parents=True, exist_ok=True)
    log = home / "host.log"
    process = None
    with suppress(FileExistsError):
        os.close(os.open(home / "host.claimed", os.O_CREAT | os.O_EXCL))
        with open(log, "wb") as said:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.support.spark_host", str(home), str(watched)],
                stdout=said,
                stderr=said,
                cwd=REPOSITORY,
                start_new_session=True,
            )
    deadline = time.monotonic() + START_TIMEOUT
    while not _file(home).exists():
        is_over = process is not None and process.poll() is not None
        assert not is_over and time.monotonic() < deadline, log.read_text("utf-8")
        time.sleep(0.2)
    return SparkHost(**json.loads(_file(home).read_text("utf-8")))


def attach(host: SparkHost) -> None:
    """Make the host's Spark this process's own, as if it had started it.

    Streams call back into one process of a JVM: the last one whose query wrote a micro-batch.
    """
    from pyspark import SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_GATEWAY_PORT"] = str(host.gateway_port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = host.gateway_secret
    try:
        gateway = launch_gateway()
    finally:
        # Not for the processes that tests start: they bring a JVM of their own.
        del os.environ["PYSPARK_GATEWAY_PORT"], os.environ["PYSPARK_GATEWAY_SECRET"]
    jvm: Any = gateway.jvm
    context = jvm.org.apache.spark.SparkContext.getOrCreate()
    java_context = jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(context)
    SparkContext._ensure_initialized(gateway=gateway)
    SparkSession(SparkContext(gateway=gateway, jsc=java_context))


def main(home: Path, watched: int) -> None:
    """Start the JVM, say where it is, and wait until the watched process is gone."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    workplace = Workplace.thrift(home).create()
    port = _free_port()
    server_settings = {
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.hadoop.hive.server2.thrift.bind.host": HOST,
        **ONE_USER_FEW_THREADS,
        **SHORT_POLLS,
        **ONE_METASTORE,
    }
    asked = spark_conf(workplace, require_jars(), server_settings | SPARK_PARAMETERS)
    conf = fast_start(asked, stays=True)
    launch_jvm(workplace, conf)
    builder = SparkSession.builder
    for key, value in conf.items():
        builder = builder.config(key, value)
    session = builder.enableHiveSupport().getOrCreate()
    gateway: Any = SparkContext._gateway
    servers = gateway.jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2
    servers.startWithSparkSession(session._jsparkSession, False)
    # As `floodmark serve start` leaves it: the adapter looks for the log of its own server.
    server = ThriftServer(gateway.proc.pid, port, home)
    state = json.dumps({**asdict(server), "home": str(home)})
    (workplace.root / "server.json").write_text(state, "utf-8")
    parameters = gateway.java_parameters
    host = SparkHost(port, parameters.port, parameters.auth_token)
    _file(home).with_suffix(".new").write_text(json.dumps(asdict(host)), "utf-8")
    _file(home).with_suffix(".new").rename(_file(home))
    while is_alive(watched):
        time.sleep(1)


def _file(home: Path) -> Path:
    return home / "host.json"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
