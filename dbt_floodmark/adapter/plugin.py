"""The plugin dbt finds on every command: it readies dbt-spark for floodmark."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from dbt.adapters.events.logging import AdapterLogger
from dbt.plugins.manager import dbtPlugin

SWITCH = "FLOODMARK_PLUGIN"

#: New objects, and younger collections, after which Python looks for cycles. dbt's manifest is made
#: of objects that stay, and Python's own numbers (700, 10, 10) walk through them again and again.
COLLECT_AFTER = (50_000, 20, 50)

logger = AdapterLogger("Floodmark")


class FloodmarkPlugin(dbtPlugin):  # type: ignore[misc]
    """Patches dbt-spark's connections; other adapters are not touched."""

    def initialize(self) -> None:
        """Put the patches on, unless switched off or dbt-spark is one we do not know."""
        # The profile is loaded by now, and with it its adapter: no spark, nothing to do.
        if os.environ.get(SWITCH) == "0" or "dbt.adapters.spark" not in sys.modules:
            return
        try:
            from dbt_floodmark.adapter import patches

            problems = patches.unknown_inside()
        except (ImportError, AttributeError) as exc:
            problems = [str(exc)]
        if problems:
            logger.warning(unknown_sentence(problems))
            return
        patches.apply()
        gc.set_threshold(*COLLECT_AFTER)
        # As it ends, Python would look for cycles among all of them once more.
        atexit.register(gc.freeze)


def unknown_sentence(problems: list[str]) -> str:
    """Say why the plugin stays off."""
    from importlib.metadata import version

    from dbt_floodmark.versions import DBT_SPARK

    return (
        f"dbt-spark {version('dbt-spark')} is not a version floodmark knows: "
        f"{'; '.join(problems)}. The plugin stays off: install dbt-spark {DBT_SPARK}, or "
        f"set {SWITCH}=0 to silence this."
    )
