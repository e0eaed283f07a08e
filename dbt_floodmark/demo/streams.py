"""What the worked example's streams read: events of devices at the tills, and invoices of kiosks.

What a day brings depends on ``(day, seed)`` alone.

- A device tells what it did; a few events are sent twice.
- Kiosks export their invoices as CSV. A few of the morning's come with the next day's file: by then
  the event-time watermark of one hour has passed their hour.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from random import Random
from typing import NamedTuple

DEVICE_FIELDS = ("device_id", "event_type", "event_time")
KIOSK_FIELDS = ("invoice_number", "customer_card_no", "amount", "invoice_date")

DEVICE_EVENTS_PER_DAY = 300
KIOSK_INVOICES_PER_DAY = 200

_DEVICES = ("SCANNER", "PRINTER", "TERMINAL")
_EVENT_TYPES = ("STARTED", "USED", "USED", "USED", "FAILED")
_MIDNIGHT = datetime(2026, 1, 1, tzinfo=timezone.utc)
_OPENING = 8 * 3600
_NOON = 12 * 3600
_CLOSING = 24 * 3600 - 60


class DeviceEvent(NamedTuple):
    """An event of a device; ``event_time`` is ISO 8601 in UTC, to the millisecond."""

    device_id: str
    event_type: str
    event_time: str


class KioskInvoice(NamedTuple):
    """An invoice of a kiosk: ``amount`` in rupees, ``invoice_date`` ISO 8601 in UTC."""

    invoice_number: str
    customer_card_no: str
    amount: str
    invoice_date: str


def device_events(day: int, seed: int = 7) -> Iterator[DeviceEvent]:
    """Yield the day's events, some of them twice."""
    random = Random(f"{seed}/{day}/devices")
    for _ in range(DEVICE_EVENTS_PER_DAY):
        till = f"STR{1001 + int(random.random() * 12)}-POS{1 + int(random.random() * 4)}"
        device = f"{till}-{_pick(random, _DEVICES)}"
        event = DeviceEvent(device, _pick(random, _EVENT_TYPES), _time(random, day, _CLOSING))
        yield event
        if random.random() < 0.03:
            yield event


def kiosk_invoices(day: int, seed: int = 7) -> list[KioskInvoice]:
    """Return the invoices in the day's file: its own, and those that the day before held back."""
    own = [invoice for invoice, held_back in _made(day, seed) if not held_back]
    before = [invoice for invoice, held_back in _made(day - 1, seed) if held_back]
    return (before if day > 1 else []) + own


def kiosk_csv(day: int, seed: int = 7) -> Iterator[str]:
    """Yield the lines of the day's file, a header first."""
    for row in (KIOSK_FIELDS, *kiosk_invoices(day, seed)):
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow(row)
        yield text.getvalue()


def _made(day: int, seed: int) -> Iterator[tuple[KioskInvoice, bool]]:
    random = Random(f"{seed}/{day}/kiosks")
    for number in range(KIOSK_INVOICES_PER_DAY):
        held_back = number < 5
        amount = 2_000 + int(random.random() * 300_000)
        yield (
            KioskInvoice(
                f"KSK-{day:04d}-{number + 1:06d}",
                f"{4_000_000_000 + int(random.random() * 200) * 7_919:010d}",
                f"{amount // 100}.{amount % 100:02d}",
                _time(random, day, _NOON if held_back else _CLOSING),
            ),
            held_back,
        )


def _pick(random: Random, choices: tuple[str, ...]) -> str:
    return choices[int(random.random() * len(choices))]


def _time(random: Random, day: int, closing: int) -> str:
    seconds = _OPENING + int(random.random() * (closing - _OPENING))
    time = _MIDNIGHT + timedelta(
        days=day - 1, seconds=seconds, milliseconds=int(random.random() * 1000)
    )
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
