"""Links between pages lead to existing files and headings; every page is linked from another one."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import adc
from tests.docs.blocks import FENCE, PAGES, ROOT

TEXTS = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CODE_OF_CONDUCT.md", ROOT / "CHANGELOG.md"]
OF_THE_SITE = {"README.md", "index.md", "contributing.md", "changes.md"}
LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(path: Path) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", path.read_text()))


def anchors(path: Path) -> set[str]:
    """The names of headings as GitHub and MyST make them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(path: Path) -> list[str]:
    return [link for link in LINK.findall(prose(path)) if "://" not in link and not link.startswith("mailto:")]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            broken.append(link)
    assert not broken


def test_every_page_is_linked() -> None:
    linked = {(page.parent / link.partition("#")[0]).resolve() for page in TEXTS for link in links(page)}
    assert [page.name for page in PAGES if page.resolve() not in linked and page.name not in OF_THE_SITE] == []


def test_every_page_is_in_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```$", index, re.MULTILINE | re.DOTALL)
    listed = [line for tree in trees for line in tree.splitlines() if line and not line.startswith(":")]
    pages = {page.stem for page in PAGES if page.name not in ("README.md", "index.md")}
    assert {*listed} - {"auto_gallery/index"} == pages and len(listed) == len(set(listed))


def test_every_public_name_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "api.md").read_text()
    shown = set(re.findall(r"^\.\. auto\w+:: adc\.(\w+)", reference, re.MULTILINE))
    assert {name for name in adc.__all__ if name != "AdcError"} <= shown
