"""Each code block in the README and in docs/ runs as it stands and gives the output on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import ELSEWHERE, LANGUAGES, PAGES, blocks, reader


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in ELSEWHERE], ids=lambda page: page.stem)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    with reader(page, tmp_path) as run:
        for block in blocks(page):
            run.run(block)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_blocks_name_their_language(page: Path) -> None:
    unknown = [f"{page.name}:{block.line}" for block in blocks(page) if block.language not in LANGUAGES]
    assert not unknown
