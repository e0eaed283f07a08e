"""A day's point-of-sale events, numbered, with some numbers missing."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from dbt_floodmark.demo.chain import LAST_MOMENT, OPENING, STORE_IDS, encode, midnight_of
from dbt_floodmark.demo.invoices import Invoice

EVENTS_PER_DAY = 400
MISSING_EVENTS_PER_DAY = 10
EVENT_FIELDS = (
    "EventSeq",
    "StoreID",
    "PosID",
    "EventType",
    "EventTime",
    "InvoiceNumber",
)


class _Event(NamedTuple):
    """One point-of-sale event before it is numbered; ``time`` in epoch milliseconds."""

    time: int
    store: str
    pos: str
    kind: str
    invoice: str | None


def numbered_events(day: int, seed: int, printed: list[Invoice]) -> Iterator[str]:
    """The day's events as JSON, in the order of their time; some numbers between them are missing.

    Every day has the same number of events, so the next day's numbers go on where these end.
    """
    random = Random(f"{seed}/{day}/events")
    midnight = midnight_of(day)
    events = [_Event(i.created, i.store, i.pos, "RECEIPT_PRINTED", i.number) for i in printed]
    while len(events) < EVENTS_PER_DAY:
        position = len(events)
        store = STORE_IDS[int(random.random() * len(STORE_IDS))]
        pos = f"{store}-POS{1 + int(random.random() * 4)}"
        time = midnight + OPENING + int(random.random() * (LAST_MOMENT - OPENING))
        kind = "PRICE_CHECK" if position % 3 == 0 else "DRAWER_OPENED"
        events.append(_Event(time, store, pos, kind, None))
    events.sort(key=lambda event: (event.time, event.invoice or "", event.store, event.pos))

    span = EVENTS_PER_DAY + MISSING_EVENTS_PER_DAY
    missing = set(random.sample(range(1, span - 1), MISSING_EVENTS_PER_DAY))
    numbers = (n for n in range(span) if n not in missing)
    for number, event in zip(numbers, events, strict=True):
        fields = (
            (day - 1) * span + number + 1,
            event.store,
            event.pos,
            event.kind,
            event.time,
            event.invoice,
        )
        yield encode(dict(zip(EVENT_FIELDS, fields, strict=True)))
