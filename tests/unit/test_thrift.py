"""The thrift method's wrapper, without a server."""

from __future__ import annotations

from types import SimpleNamespace

from dbt.adapters.spark.connections import PyhiveConnectionWrapper

from dbt_floodmark.thrift import FloodmarkThrift


def test_a_server_that_cannot_close_a_session_fails_no_node():
    closed = []

    def close() -> None:
        closed.append(True)
        raise RuntimeError("NoClassDefFoundError: org/apache/hadoop/hive/llap/security/LlapSigner")

    handle = SimpleNamespace(cursor=lambda: SimpleNamespace(), close=close)
    wrapped = PyhiveConnectionWrapper(handle, poll_interval=1, query_timeout=None, query_retries=0)
    FloodmarkThrift(wrapped, "127.0.0.1:10000").close()
    assert closed == [True]
