"""The worked example's product catalogue: what the chain sells, in full for every day.

A day's catalogue depends on ``(day, seed)`` alone. From one day to the next

- three prices change;
- one name is spelled in another case (even days) or with another space (odd days);
- one product is left out for this one day and comes back as it was;
- one product goes, and another takes its place: for eight days one that was never there, then the
  one that went eight days before.

One product a day has no category; on the next day it has it again. The items that the tills sell
are always there.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from random import Random
from typing import NamedTuple

PRODUCT_FIELDS = ("sku", "product_name", "category", "list_price", "is_seasonal")

# What the tills sell: code, description, category, price in paise. The seed seeds/items.csv has the
# same items.
ITEMS = (
    ("ITM101", "Basmati rice 5 kg", "GROCERY", 64900),
    ("ITM102", "Wheat flour 10 kg", "GROCERY", 48500),
    ("ITM103", "Toor dal 1 kg", "GROCERY", 17900),
    ("ITM104", "Sunflower oil 1 l", "GROCERY", 15500),
    ("ITM105", "Cow's milk 1 l", "DAIRY", 6800),
    ("ITM106", "Salted butter 500 g", "DAIRY", 28500),
    ("ITM107", "Filter coffee 200 g", "BEVERAGES", 19900),
    ("ITM108", "Assam tea 250 g", "BEVERAGES", 14500),
    ("ITM109", "Mango juice 1 l", "BEVERAGES", 11000),
    ("ITM110", "Glucose biscuits", "GROCERY", 2000),
    ("ITM111", "Bath soap, pack of 4", "PERSONAL CARE", 16000),
    ("ITM112", "Toothpaste 150 g", "PERSONAL CARE", 9900),
    ("ITM113", "Shampoo 340 ml", "PERSONAL CARE", 27500),
    ("ITM114", 'Steel bottle 1 l, 3" neck', "HOME", 44900),
    ("ITM115", "Pressure cooker 5 l", "HOME", 219900),
    ("ITM116", "LED bulb 9 W", "HOME", 8900),
    ("ITM117", "Cotton bedsheet", "HOME", 79900),
    ("ITM118", "Desk lamp", "HOME", 129900),
    ("ITM119", "Ruled notebook", "STATIONERY", 5500),
    ("ITM120", "Ball pens, pack of 10", "STATIONERY", 9000),
)
# The rest, each in three sizes: the price is that of the first; the others cost two and five times
# as much.
_RANGES = (
    ("Turmeric powder", "GROCERY", 4500, ("100 g", "200 g", "500 g")),
    ("Jasmine rice", "GROCERY", 14900, ("1 kg", "2 kg", "5 kg")),
    ("Jaggery, organic", "GROCERY", 9900, ("500 g", "1 kg", "2.5 kg")),
    ("Mustard oil", "GROCERY", 18500, ("1 l", "2 l", "5 l")),
    ("Paneer", "DAIRY", 9000, ("200 g", "400 g", "1 kg")),
    ("Curd, full cream", "DAIRY", 4000, ("400 g", "800 g", "2 kg")),
    ("Coconut water", "BEVERAGES", 5000, ("200 ml", "400 ml", "1 l")),
    ("Green tea", "BEVERAGES", 15500, ("25 bags", "50 bags", "125 bags")),
    ("Hand wash", "PERSONAL CARE", 9900, ("250 ml", "500 ml", "1.25 l")),
    ("Talcum powder", "PERSONAL CARE", 7500, ("100 g", "200 g", "500 g")),
    ("Frying pan", "HOME", 59900, ('8"', '10", with lid', '12", with lid')),
    ("Storage jars", "HOME", 24900, ("set of 2", "set of 4", "set of 10")),
    ("Curtain rod", "HOME", 34900, ('36"', '48"', '72"')),
    ("Crayons", "STATIONERY", 6000, ("12 colours", "24 colours", "60 colours")),
    ("Copier paper", "STATIONERY", 19900, ("250 sheets", "500 sheets", "1,250 sheets")),
    ("Gel pens", "STATIONERY", 5000, ("pack of 5", "pack of 10", "pack of 25")),
)
_NOT_THERE_AT_FIRST = 8
_PRICES_A_DAY = 3


class Product(NamedTuple):
    """A line of the catalogue; the price in paise."""

    sku: str
    name: str
    category: str | None
    price: int
    is_seasonal: bool


def catalogue(day: int, seed: int = 7) -> list[Product]:
    """Return the catalogue of a day (1 for 2026-01-01), in the order of the SKU."""
    random = Random(f"{seed}/products")
    shelf = {product.sku: product for product in _assortment(random)}
    waiting = [shelf.pop(sku) for sku in random.sample(_may_go(shelf), _NOT_THERE_AT_FIRST)]
    left_out = None
    for later in range(2, day + 1):
        left_out = _turn_to(later, seed, shelf, waiting, left_out)
    blank = Random(f"{seed}/{day}/products/blank").choice(sorted(shelf))
    shelf[blank] = shelf[blank]._replace(category=None)
    return [shelf[sku] for sku in sorted(shelf)]


def catalogue_csv(day: int, seed: int = 7, has_free: bool = False) -> Iterator[str]:
    """The catalogue of a day as lines of CSV without line ends, the header first.

    With ``has_free`` the first product costs nothing.
    """
    yield _csv_line(PRODUCT_FIELDS)
    for place, product in enumerate(catalogue(day, seed)):
        sku, name, category, price, is_seasonal = product
        price = 0 if has_free and place == 0 else price
        yield _csv_line((sku, name, category, f"{price / 100:.2f}", str(is_seasonal).lower()))


def _assortment(random: Random) -> Iterator[Product]:
    """All products that there ever are, as they are at first."""
    more = (
        (f"{what} {size}", category, price * factor)
        for what, category, price, sizes in _RANGES
        for size, factor in zip(sizes, (1, 2, 5), strict=True)
    )
    numbered = ((f"ITM{121 + n}", *product) for n, product in enumerate(more))
    for sku, name, category, price in (*ITEMS, *numbered):
        yield Product(sku, name, category, price, is_seasonal=random.random() < 0.2)


def _may_go(shelf: dict[str, Product]) -> list[str]:
    return sorted(shelf.keys() - {item[0] for item in ITEMS})


def _turn_to(
    day: int,
    seed: int,
    shelf: dict[str, Product],
    waiting: list[Product],
    left_out: Product | None,
) -> Product:
    """Turn the shelf of the day before into the day's; return the product that it leaves out."""
    random = Random(f"{seed}/{day}/products")
    going, leaving_out = (shelf.pop(sku) for sku in random.sample(_may_go(shelf), 2))
    respelled, *repriced = random.sample(sorted(shelf), 1 + _PRICES_A_DAY)
    name = shelf[respelled].name
    name = _in_another_case(name) if day % 2 == 0 else _with_another_space(name)
    shelf[respelled] = shelf[respelled]._replace(name=name)
    for sku in repriced:
        price = shelf[sku].price * random.choice((90, 95, 105, 110)) // 100
        shelf[sku] = shelf[sku]._replace(price=price)
    waiting.append(going)
    for product in (waiting.pop(0), left_out):
        if product is not None:
            shelf[product.sku] = product
    return leaving_out


def _in_another_case(name: str) -> str:
    return name.capitalize() if name.isupper() else name.upper()


def _with_another_space(name: str) -> str:
    return name.replace("  ", " ") if "  " in name else name.replace(" ", "  ", 1)


def _csv_line(fields: Iterable[str | None]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(fields)
    return text.getvalue()
