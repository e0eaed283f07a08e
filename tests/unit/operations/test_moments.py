"""What commands head "(UTC)" is UTC, whatever the session's time zone is."""

from __future__ import annotations

import re

import pytest

from tests.support.macros import MACROS, load

PRINTED = ("status", "history", "quarantine", "files")


@pytest.mark.parametrize("name", PRINTED)
def test_no_moment_is_printed_in_the_sessions_zone(name):
    text = (MACROS / "operations" / f"{name}.sql").read_text()
    assert not re.findall(r"cast\((?:min\()?(?:\w+\.)?(?:\w+_)?at\)? as string\)", text)
    assert "floodmark._utc_text_sql(" in text


def test_no_moment_is_read_in_the_sessions_zone():
    """A literal without a zone is of the session's."""
    floodmark = load()
    assert floodmark._utc_literal("2026-01-31 06:00:00.25") == (
        "timestamp'2026-01-31 06:00:00.25+00:00'"
    )
    text = (MACROS / "streaming" / "_micro_batches.sql").read_text()
    assert "'timestamp' ~" not in text and text.count("floodmark._utc_literal(") == 2
