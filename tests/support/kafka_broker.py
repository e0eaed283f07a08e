"""A real Kafka broker for the tests: one process, KRaft, on loopback, from Maven's jars."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dbt_floodmark.spark import jars
from tests.support.servers import free_ports, stop, wait_for

BROKER = "org.apache.kafka:kafka_2.13:3.9.1"
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={logs}
num.partitions=2
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
"""


def _class_path() -> str:
    """The broker's jars, fetched once beside Spark's."""
    folder = jars.jar_folder().parent / "kafka-broker"
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            ivy = Path(scratch) / "ivy"
            jars._resolve(BROKER, (), ivy, Path(scratch), Path(scratch) / "ivy.log")
            (ivy / "jars").rename(folder)
    # Spark's own Ivy leaves out what Spark brings.
    return os.pathsep.join(
        [str(folder / "*"), *map(str, jars.pyspark_jars().glob("scala-library-*.jar"))]
    )


@contextmanager
def running_broker(folder: Path) -> Iterator[str]:
    """Start a broker with its files in `folder`; yields its address, and stops it in the end."""
    port, controller = free_ports(2)
    properties = folder / "server.properties"
    properties.write_text(
        _PROPERTIES.format(port=port, controller=controller, logs=folder / "logs")
    )
    java = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-cp", _class_path()]
    format_ = ["kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c"]
    subprocess.run([*java, *format_, str(properties)], check=True, capture_output=True)
    with open(folder / "broker.log", "w") as log:
        process = subprocess.Popen(
            [*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log, env=os.environ
        )
    try:
        wait_for(process, port, folder / "broker.log")
        yield f"127.0.0.1:{port}"
    finally:
        stop(process)
