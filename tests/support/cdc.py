"""Models of cdc over feeds of events, random histories, and what the oracle makes of them."""

from __future__ import annotations

import random
from typing import Any

from tests.support.cdc_oracle import Event, scd1, scd2
from tests.support.harness import FULL, Project, incremental, table
from tests.support.rows import held

#: The columns of an SCD 2 table of these feeds, for `held`.
HISTORY = "k, v, w, __start_at, __end_at"
#: Batches that random events arrive in.
BATCHES = 5 if FULL else 3


def cdc(
    upstream: str, select: str = "*", *, key: Any = "k", step: int | None = 1, **settings: Any
) -> str:
    """A cdc model over a feed whose batches are numbered in `arrived`."""
    watermark = {"column": "arrived", "gaps": "ignore"} | ({"step": step} if step else {})
    config = settings.pop("config", {})
    settings = {
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["arrived", "op", "seq"],
    } | settings
    return incremental(
        table(upstream),
        select,
        incremental_strategy="cdc",
        unique_key=key,
        watermark=watermark,
        cdc={name: value for name, value in settings.items() if value is not None},
        **config,
    )


def land(project: Project, name: str, batches: list[tuple[int, str, Event]]) -> None:
    """A feed of (arrived, key, event)."""
    project.sql(
        f"create table {project.schema}.{name} (arrived int, k string, seq bigint, op string, v string, w int) using delta"
    )
    values = ", ".join(
        f"({arrived}, {'null' if event.op == 't' else repr(key)}, {event.sequence}, '{event.op}', "
        + (f"'{event.values[0]}'" if event.values and event.values[0] is not None else "null")
        + ", "
        + (
            str(event.values[1])
            if len(event.values) > 1 and event.values[1] is not None
            else "null"
        )
        + ")"
        for arrived, key, event in batches
    )
    project.sql(f"insert into {project.schema}.{name} values {values}")


def random_histories(seed: int, count: int, nulls: bool = False) -> list[tuple[str, Event]]:
    """Events of `count` keys: 20 % deletes, 15 % sent twice, values that repeat, sequences that tie a delete."""
    chance = random.Random(seed)
    texts = ["a", "b", None] if nulls else ["a", "b", "c"]
    numbers = [1, 2, None] if nulls else [1, 2]
    events = []
    for number in range(count):
        taken: dict[int, Event] = {}
        for _ in range(chance.randint(1, 9)):
            at = chance.randint(1, 12)
            if at in taken and chance.random() < 0.5:
                event = Event("d", at)
            elif at in taken:
                continue
            elif chance.random() < 0.2:
                event = Event("d", at)
            else:
                event = Event("u", at, (chance.choice(texts), chance.choice(numbers)))
            taken[at] = event
            copies = 2 if chance.random() < 0.15 else 1
            events.extend([(f"k{number}", event)] * copies)
    return events


def shuffled(seed: int, events: list[tuple[str, Event]]) -> list[tuple[int, str, Event]]:
    """The events in random batches: (arrived, key, event)."""
    chance = random.Random(seed)
    return [(chance.randint(1, BATCHES), key, event) for key, event in events]


def by_key(histories: list[tuple[str, Event]]) -> dict[str, list[Event]]:
    """The events of each key."""
    found: dict[str, list[Event]] = {}
    for key, event in histories:
        found.setdefault(key, []).append(event)
    return found


def history_rows(keys: dict[str, list[Event]], **settings: Any) -> dict[str, list[tuple[Any, ...]]]:
    """What the oracle of SCD 2 makes of the events of each key, as `held` reads it."""
    return {
        key: sorted(rows, key=repr)
        for key, events in keys.items()
        if (rows := scd2(events, **settings))
    }


def latest_rows(
    keys: dict[str, list[Event]], ignoring: tuple[int, ...] = ()
) -> dict[str, list[tuple[Any, ...]]]:
    """The same of SCD 1."""
    return {key: [row] for key, events in keys.items() if (row := scd1(events, ignoring))}


class Feed:
    """Events of a few keys that go on arriving, in any order."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.arrived = 0
        self.events: dict[str, list[Event]] = {}
        self.chance = random.Random(5)
        columns = "arrived int, k string, seq bigint, op string, v string"
        project.sql(f"create table {project.schema}.feed ({columns}) using delta")

    def arrive(self, count: int) -> None:
        """Put a batch of so many events into the feed."""
        rows = []
        self.arrived += 1
        for _ in range(count):
            key, at = f"k{self.chance.randint(0, 5)}", self.chance.randint(0, 10**6)
            value = self.chance.choice("ab")
            event = Event("d", at) if self.chance.random() < 0.3 else Event("u", at, (value,))
            self.events.setdefault(key, []).append(event)
            text = f"'{value}'" if event.op == "u" else "null"
            rows.append(f"({self.arrived}, '{key}', {at}, '{event.op}', {text})")
        self.project.sql(f"insert into {self.project.schema}.feed values {', '.join(rows)}")

    def history(self) -> dict[str, list[tuple[object, ...]]]:
        """The rows of SCD 2 by key, as the oracle makes them of all events so far."""
        return history_rows(self.events)

    def expect(self, models: dict[str, str]) -> None:
        """Every model, by its way, holds what the oracle says of all events so far."""
        latest, history = latest_rows(self.events), self.history()
        for model, way in models.items():
            if way == "history":
                assert held(self.project, model, "k, v, __start_at, __end_at") == history, model
            else:
                assert held(self.project, model, "k, v") == latest, model
