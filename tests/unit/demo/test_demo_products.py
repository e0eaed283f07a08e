"""The example's product catalogue: what lands, and what changes from one day to the next."""

from __future__ import annotations

import csv
from itertools import pairwise
from pathlib import Path

import pytest

from dbt_floodmark.demo.data import land_day
from dbt_floodmark.demo.products import ITEMS, PRODUCT_FIELDS, Product, catalogue
from tests.support.harness import REPOSITORY

SEED = REPOSITORY / "seeds" / "items.csv"
DAYS = range(1, 31)


def by_sku(day: int) -> dict[str, Product]:
    return {product.sku: product for product in catalogue(day)}


def folded(name: str) -> str:
    return " ".join(name.split()).lower()


def test_the_file_is_the_catalogue_as_csv(tmp_path: Path) -> None:
    for day in (1, 2, 3):
        counts = land_day(tmp_path, day, invoices=10)
        text = (tmp_path / "products" / f"products-2026-01-0{day}.csv").read_text()
        rows = list(csv.DictReader(text.splitlines()))
        assert text.splitlines()[0] == ",".join(PRODUCT_FIELDS)
        assert counts["products"] == len(rows)
        assert catalogue(day) == [
            Product(
                row["sku"],
                row["product_name"],
                row["category"] or None,
                round(float(row["list_price"]) * 100),
                {"true": True, "false": False}[row["is_seasonal"]],
            )
            for row in rows
        ]
        assert '"Steel bottle 1 l, 3"" neck"' in text and '"Bath soap, pack of 4"' in text


def test_the_folder_has_nothing_else(tmp_path: Path) -> None:
    land_day(tmp_path, 2, invoices=10)
    assert [file.name for file in (tmp_path / "products").iterdir()] == ["products-2026-01-02.csv"]


def test_landing_a_day_again_leaves_the_file_untouched(tmp_path: Path) -> None:
    land_day(tmp_path, 2, invoices=10)
    file = tmp_path / "products" / "products-2026-01-02.csv"
    before = file.stat().st_mtime_ns, file.stat().st_ino
    land_day(tmp_path, 2, invoices=20)
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == before


def test_another_seed_gives_another_catalogue() -> None:
    assert catalogue(2) == catalogue(2) != catalogue(2, seed=8)


def test_a_day_has_each_product_once_and_every_item_that_the_tills_sell() -> None:
    sold = {item[0] for item in ITEMS}
    for day in DAYS:
        products = catalogue(day)
        skus = [product.sku for product in products]
        assert skus == sorted(set(skus)) and sold < set(skus)
        assert 55 <= len(products) <= 65
        assert all(product.price > 0 for product in products)
        assert sum(product.category is None for product in products) == 1


@pytest.mark.parametrize("day", DAYS[1:])
def test_from_one_day_to_the_next(day: int) -> None:
    before, now = by_sku(day - 1), by_sku(day)
    both = sorted(before.keys() & now.keys())
    assert sum(now[sku].price != before[sku].price for sku in both) == 3
    [respelled] = [sku for sku in both if now[sku].name != before[sku].name]
    assert folded(now[respelled].name) == folded(before[respelled].name)
    assert all(now[sku].is_seasonal == before[sku].is_seasonal for sku in both)
    assert len(before.keys() - now.keys()) == 2
    back = now.keys() - before.keys()
    assert len(back) == (1 if day == 2 else 2)


@pytest.mark.parametrize("day", DAYS[2:])
def test_one_product_comes_back_on_the_next_day_as_it_was(day: int) -> None:
    two_days_ago, yesterday, now = by_sku(day - 2), by_sku(day - 1), by_sku(day)
    back = [sku for sku in two_days_ago.keys() & now.keys() if sku not in yesterday]
    assert len(back) == 1
    assert now[back[0]].price == two_days_ago[back[0]].price


def test_for_eight_days_a_product_appears_that_was_never_there() -> None:
    seen = set(by_sku(1))
    new = []
    for day in DAYS[1:]:
        new.append(len(by_sku(day).keys() - seen))
        seen |= by_sku(day).keys()
    assert new == [1] * 8 + [0] * (len(new) - 8)


def test_days_two_and_three_show_a_case_and_a_space() -> None:
    names = [{product.sku: product.name for product in catalogue(day)} for day in (1, 2, 3)]
    changed = [
        (before[sku], now[sku])
        for before, now in pairwise(names)
        for sku in sorted(before.keys() & now.keys())
        if before[sku] != now[sku]
    ]
    (one, upper), (two, spaced) = changed
    assert upper == one.upper() and spaced.replace("  ", " ") == two


def test_the_seed_has_the_items_that_the_tills_sell() -> None:
    with SEED.open() as file:
        rows = [
            (r["item_code"], r["description"], r["category"], round(float(r["price"]) * 100))
            for r in csv.DictReader(file)
        ]
    assert rows == list(ITEMS)
