"""Kafka as a source, against a real broker: each record once, at most so many a micro-batch."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.harness import SPARK_PARAMETERS, Project
from tests.support.kafka_broker import running_broker
from tests.support.streams import rows, stream


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_broker(tmp_path_factory.mktemp("kafka")) as address:
        yield address


def send(address: str, topic: str, *records: tuple[str | None, str]) -> None:
    """Put records (key, value) into a topic."""
    from dbt_floodmark.spark.gateway import root_session

    spark: Any = root_session(Path(os.environ["FLOODMARK_HOME"]), SPARK_PARAMETERS)
    frame = spark.createDataFrame(list(records), "key string, value string")
    writer = frame.write.format("kafka").option("kafka.bootstrap.servers", address)
    writer.option("topic", topic).save()


@pytest.mark.parametrize("target", ["session"], scope="module")
@pytest.mark.edge
def test_each_record_once(make_project: Callable[..., Project], broker: str) -> None:
    project = make_project("kafka")
    project.sql("select 1")
    call = f"floodmark.kafka_stream('{broker}', 'orders'"
    project.model(
        "orders",
        stream(
            "select cast(key as string) as k, cast(value as string) as v, topic, offset "
            f"from {{{{ {call}, max_offsets_per_trigger=2) }}}} as o where value is not null"
        ),
    )
    project.model(
        "sums",
        stream(
            f"select cast(key as string) as k, sum(cast(cast(value as string) as int)) as v from {{{{ {call}) }}}} "
            "watermark timestamp delay of interval 1 minute group by key",
            output_mode="update",
            unique_key="k",
        ),
    )
    send(broker, "orders", ("a", "1"), ("b", "2"), (None, "3"))
    first = project.build()
    assert first.message["orders"] == "STREAM APPEND 3 read, 3 inserted, 2 batches"
    send(broker, "orders", ("a", "10"))
    second = project.build()
    assert second.message["orders"] == "STREAM APPEND 1 read, 1 inserted"
    assert rows(project, "orders", "coalesce(k, '-'), v, topic") == [
        "- 3 orders",
        "a 1 orders",
        "a 10 orders",
        "b 2 orders",
    ]
    assert rows(project, "sums", "coalesce(k, '-'), v") == ["- 3", "a 11", "b 2"]
    assert project.build("--select", "orders").message["orders"] == "STREAM APPEND nothing new"
