"""Macros of the package and of dbt-core, as dbt cuts them out of files."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Iterator
from pathlib import Path

import dbt.include.global_project
from dbt_common.clients import jinja

from dbt_floodmark.adapter.macro_file import macro_file
from tests.support.harness import REPOSITORY
from tests.support.selection import sample

FOLDERS = [
    REPOSITORY / "macros",
    Path(next(iter(dbt.include.global_project.__path__))) / "macros",
]
BLOCKS = {"macro", "materialization", "test", "data_test"}
#: How many macros a default run looks at, beside those that name languages: others with each commit.
SOME = 200


def macro_texts() -> list[str]:
    """Macros of the package and of dbt-core, as dbt cuts them out of files; with FLOODMARK_LAB=full every one."""
    texts = []
    for folder in FOLDERS:
        for path in sorted(folder.rglob("*.sql")):
            blocks = jinja.extract_toplevel_blocks(path.read_text("utf-8"), BLOCKS, False)
            texts.extend(block.full_block for block in blocks)
    several = [text for text in texts if "supported_languages" in text]
    return list(dict.fromkeys([*sample(texts, SOME), *several]))


@contextlib.contextmanager
def new_process() -> Iterator[None]:
    """What runs within sees the file of macros as a process does that begins, and that ends."""
    macro_file.cache_clear()
    try:
        yield
        macro_file().write()
    finally:
        atexit.unregister(macro_file().write)
        macro_file.cache_clear()
