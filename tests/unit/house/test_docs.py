"""Links of the documentation lead somewhere: README and CONTRIBUTING, which are outside the site, too."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from dbt.parser.schemas import is_valid_type

from tests.support import command_page
from tests.support.harness import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("*.md"), *(REPOSITORY / "docs").rglob("*.md")])
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def links(page: Path) -> list[str]:
    """The targets of a page's links, but those of other sites."""
    found = _LINK.findall(_CODE.sub("", page.read_text("utf-8")))
    return [target for target in found if not re.match(r"\w+:", target)]


def anchors(page: Path) -> set[str]:
    """What a link may name of a page: its headings, as GitHub and MkDocs write them."""
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    headings = re.findall(r"^#+ +(.*?) *$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    dead = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            dead.append(target)
    assert not dead


def test_links_are_found() -> None:
    assert sum(len(links(page)) for page in PAGES) > 100


def test_the_index_names_every_page() -> None:
    index = REPOSITORY / "docs" / "README.md"
    named = {(index.parent / target.partition("#")[0]).resolve() for target in links(index)}
    pages = {page for page in PAGES if (REPOSITORY / "docs") in page.parents and page != index}
    assert pages - named == set()


def test_the_readme_is_short() -> None:
    lines = (REPOSITORY / "README.md").read_text("utf-8").splitlines()
    assert len(lines) <= 200
    start = lines.index("## Quick start")
    assert start < 40 and "floodmark build" in "\n".join(lines[start:40])


def test_the_page_of_commands_is_what_help_says() -> None:
    """Where this fails: `python -m tests.support.reference` writes the page."""
    assert command_page.PAGE.read_text("utf-8") == command_page.page()


def test_the_page_has_every_word_of_every_command() -> None:
    page = command_page.PAGE.read_text("utf-8")
    for text in ("### floodmark quarantine replay\n", "`--set ", "### floodmark serve start\n"):
        assert text in page
    assert "\b" not in page and "…" not in page


def odd_types(text: str) -> set[str]:
    """Return the types of macros' arguments that dbt warns of, in each first parse of a project."""
    macros = yaml.safe_load(text).get("macros", [])
    given = {argument["type"] for macro in macros for argument in macro.get("arguments", ())}
    return {name for name in given if not is_valid_type(name)}


def test_dbt_knows_the_types_of_arguments() -> None:
    pages = sorted((REPOSITORY / "macros").rglob("*.yml"))
    assert len(pages) > 5
    assert {page.name: odd for page in pages if (odd := odd_types(page.read_text("utf-8")))} == {}


@pytest.mark.parametrize(
    ("given", "odd"),
    [("list", {"list"}), ("optional[list]", {"optional[list]"}), ("list[any]", set())],
)
def test_which_types_dbt_warns_of(given: str, odd: set[str]) -> None:
    assert odd_types(f"macros: [{{name: m, arguments: [{{name: a, type: '{given}'}}]}}]") == odd
