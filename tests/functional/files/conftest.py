"""What several modules of this room share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.s3_server import S3, running_s3


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    """An S3 server that ends with the module."""
    with running_s3(tmp_path_factory.mktemp("s3")) as server:
        yield server
