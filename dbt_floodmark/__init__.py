"""floodmark: incremental loading on Spark and Delta Lake, written in SQL, run by dbt.

dbt imports every top-level module called ``dbt_*`` on each command and registers its
``plugins``. So this module stays light: what it offers is imported when it is asked for.
"""

from __future__ import annotations

from typing import Any

from dbt_floodmark.package import announce_package
from dbt_floodmark.versions import __version__

__all__ = ["__version__", "plugins"]

announce_package()


def __getattr__(name: str) -> Any:
    """Resolve ``plugins`` late: dbt's plugin class drags much of dbt-core in with it."""
    if name == "plugins":
        from dbt_floodmark.adapter.plugin import FloodmarkPlugin

        return [FloodmarkPlugin]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
