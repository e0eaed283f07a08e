"""Which cast is advised where a column cannot be a watermark; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("type", "cast"),
    [
        ("string", "timestamp"),
        ("varchar(30)", "timestamp"),
        ("char(19)", "timestamp"),
        ("string collate UTF8_LCASE", "timestamp"),
        ("double", "bigint"),
    ],
)
def test_a_text_is_cast_to_a_time(type: str, cast: str) -> None:
    floodmark = load()

    def refuse(problems: list[dict[str, str]]) -> None:
        raise Refused(problems[0]["todo"])

    floodmark._refuse = refuse
    settings = SimpleNamespace(watermark={"column": "at"})
    with pytest.raises(Refused, match=rf"such as cast\(at as {cast}\)$"):
        floodmark._validate_column(settings, "shop.raw", {"name": "at", "type": type}, None)
