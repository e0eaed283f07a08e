"""A day's invoices, before any of them is written twice, late or cut off."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any, NamedTuple

from dbt_floodmark.demo.chain import (
    CITIES,
    FIRST_DAY,
    LAST_MOMENT,
    MEMBERS,
    MINUTE,
    ODD_DAY,
    OPENING,
    STORE_IDS,
    card_number,
    encode,
    midnight_of,
)
from dbt_floodmark.demo.products import ITEMS

INVOICE_FIELDS = (
    "InvoiceNumber",
    "CreatedTime",
    "StoreID",
    "PosID",
    "CashierID",
    "CustomerType",
    "CustomerCardNo",
    "TotalAmount",
    "NumberOfItems",
    "PaymentMethod",
    "TaxableAmount",
    "CGST",
    "SGST",
    "CESS",
    "DeliveryType",
    "DeliveryAddress",
    "InvoiceLineItems",
)
PAYMENT_METHODS = ("CARD", "CASH", "UPI")
#: From when on sales are late, or sent again with the next day's files.
NIGHT = (22 * 60 + 15) * MINUTE
#: How many sales of a day are made then.
NIGHT_SALES = 4
# In paise.
_AMOUNT_A_POINT = 10_000


class Line(NamedTuple):
    """One item of an invoice; the price in paise."""

    code: str
    description: str
    price: int
    quantity: int


class Address(NamedTuple):
    """Where an invoice's goods are delivered."""

    line: str
    city: str
    contact: str
    pin: str
    state: str


@dataclass(frozen=True, slots=True)
class Invoice:
    """One invoice before it is written; ``created`` in epoch milliseconds."""

    number: str
    created: int
    store: str
    pos: str
    cashier: str
    customer_type: str
    card: str | None
    payment: str
    delivery: str
    address: Address | None
    lines: tuple[Line, ...]


def _number(day: int, series: int, position: int) -> str:
    """An invoice number: ascending by day, within the day by series, within the series by time."""
    return f"INV-{FIRST_DAY + timedelta(days=day - 1):%Y%m%d}-{series}{position + 1:08d}"


def sales(day: int, count: int, seed: int) -> Iterator[Invoice]:
    """The day's sales, spread over the opening hours, in the order of their time."""
    random = Random(f"{seed}/{day}/sales")
    midnight = midnight_of(day)
    slot = (LAST_MOMENT - OPENING) / count
    for position in range(count):
        created = midnight + OPENING + int(slot * (position + random.random()))
        yield _invoice(random, _number(day, 0, position), created)


def night_sales(day: int, seed: int) -> Iterator[Invoice]:
    """The few sales that the next day's files bring again."""
    random = Random(f"{seed}/{day}/night")
    for position in range(NIGHT_SALES):
        created = midnight_of(day) + NIGHT + int((position + random.random()) * 10 * MINUTE)
        yield _invoice(random, _number(day, 8, position), created)


def late_sales(day: int, count: int, seed: int) -> Iterator[Invoice]:
    """Sales made on the night before ``day`` that only its own files bring."""
    random = Random(f"{seed}/{day}/late")
    slot = (LAST_MOMENT - NIGHT) / count
    for position in range(count):
        created = midnight_of(day - 1) + NIGHT + int(slot * (position + random.random()))
        yield _invoice(random, _number(day - 1, 9, position), created)


def _invoice(random: Random, number: str, created: int) -> Invoice:
    draw = random.random
    store = STORE_IDS[int(draw() * len(STORE_IDS))]
    pos = 1 + int(draw() * 4)
    customer_type, card = "ANONYMOUS", None
    if draw() < 0.6:
        member = int(draw() * MEMBERS)
        # Every fourth member is a prime one, so that a card has one type for ever.
        customer_type = "PRIME" if member % 4 == 0 else "NONPRIME"
        card = card_number(member)
    address = None
    if card is not None and draw() < 0.25:
        address = _address(random)
    lines = []
    for _ in range(1 + int(draw() * 5)):
        code, description, _, price = ITEMS[int(draw() * len(ITEMS))]
        lines.append(Line(code, description, price, 1 + int(draw() * 3)))
    return Invoice(
        number=number,
        created=created,
        store=store,
        pos=f"{store}-POS{pos}",
        cashier=f"{store}-CAS{1 + int(draw() * 9)}",
        customer_type=customer_type,
        card=card,
        payment=PAYMENT_METHODS[int(draw() * len(PAYMENT_METHODS))],
        delivery="TAKEAWAY" if address is None else "HOME-DELIVERY",
        address=address,
        lines=tuple(lines),
    )


def _address(random: Random) -> Address:
    city, state = CITIES[int(random.random() * len(CITIES))]
    return Address(
        line=f"{1 + int(random.random() * 400)}, {1 + int(random.random() * 30)}th Main Road",
        city=city,
        contact=f"9{int(random.random() * 1_000_000_000):09d}",
        pin=f"{560_001 + int(random.random() * 9_000)}",
        state=state,
    )


def correct(invoice: Invoice, random: Random) -> Invoice:
    """The invoice with other quantities, up to half an hour later."""
    lines = list(invoice.lines)
    changed = int(random.random() * len(lines))
    lines[changed] = lines[changed]._replace(quantity=lines[changed].quantity % 3 + 1)
    later = int((1 + random.random() * 29) * MINUTE)
    return replace(invoice, created=invoice.created + later, lines=tuple(lines))


def invoice_json(invoice: Invoice, odd_count: Callable[[int], object] | None = None) -> str:
    """The invoice as one line of JSON; sums are made in paise, so that they are exact.

    ``odd_count`` makes what the till sends instead of the number of items.
    """
    total = sum(line.price * line.quantity for line in invoice.lines)
    items = sum(line.quantity for line in invoice.lines)
    address = invoice.address
    fields = (
        invoice.number,
        invoice.created,
        invoice.store,
        invoice.pos,
        invoice.cashier,
        invoice.customer_type,
        invoice.card,
        total / 100,
        odd_count(items) if odd_count else items,
        invoice.payment,
        total / 100,
        round(total * 0.025) / 100,
        round(total * 0.025) / 100,
        round(total * 0.00125) / 100,
        invoice.delivery,
        None
        if address is None
        else {
            "AddressLine": address.line,
            "City": address.city,
            "ContactNumber": address.contact,
            "PinCode": address.pin,
            "State": address.state,
        },
        [
            {
                "ItemCode": line.code,
                "ItemDescription": line.description,
                "ItemPrice": line.price / 100,
                "ItemQty": line.quantity,
                "TotalValue": line.price * line.quantity / 100,
            }
            for line in invoice.lines
        ],
    )
    sent: dict[str, Any] = dict(zip(INVOICE_FIELDS, fields, strict=True))
    if invoice.card is not None and invoice.created >= midnight_of(ODD_DAY):
        sent["LoyaltyPoints"] = total // _AMOUNT_A_POINT
    return encode(sent)
