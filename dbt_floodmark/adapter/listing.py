"""A list of tables that is whole.

``show table extended`` reads the tables of a schema one by one, and fails when somebody drops one
meanwhile. dbt-spark takes that for a schema that is not there, and answers that no table exists.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dbt.adapters.spark.impl import (
    LIST_RELATIONS_SHOW_TABLES_MACRO_NAME,
    SCHEMA_NOT_FOUND_MESSAGES,
)
from dbt_common.exceptions import DbtRuntimeError

#: How often a schema is listed before we give up.
TRIES = 20


def list_whole(original: Callable[..., Any]) -> Callable[..., Any]:
    """Believe an empty list only where `show tables`, which opens no table, shows none either."""

    def list_relations_without_caching(self: Any, schema_relation: Any) -> Any:
        schema = schema_relation.schema
        for _ in range(TRIES):
            relations = original(self, schema_relation)
            if relations or not _has_tables(self, schema_relation):
                return relations
        raise DbtRuntimeError(
            f"floodmark: Spark could not list the tables of {schema}. In each of {TRIES} tries, "
            "another job dropped one. Run again when fewer jobs use the schema"
        )

    return list_relations_without_caching


def _has_tables(adapter: Any, schema_relation: Any) -> bool:
    try:
        tables = adapter.execute_macro(
            LIST_RELATIONS_SHOW_TABLES_MACRO_NAME, kwargs={"schema_relation": schema_relation}
        )
    except DbtRuntimeError as exc:
        if any(condition in str(exc.msg) for condition in SCHEMA_NOT_FOUND_MESSAGES):
            return False
        raise
    # Temporary views are of no schema; Spark shows them in every one.
    return any(row["namespace"] for row in tables)
