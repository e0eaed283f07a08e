"""A model of tokens as it is shown keeps its tokens; without Spark."""

from __future__ import annotations

import re

import pytest

from tests.support.harness import REPOSITORY


@pytest.mark.parametrize(
    "shown",
    [
        "models/gold/card_tokens.sql",
        "docs/guides/deidentification.md",
        "macros/masking/_masking.yml",
    ],
)
def test_a_full_refresh_leaves_the_tokens(shown: str) -> None:
    text = (REPOSITORY / shown).read_text("utf-8")
    assert re.search(r"merge_exclude_columns=\['token'\][`\s,and]+full_refresh=false", text)
