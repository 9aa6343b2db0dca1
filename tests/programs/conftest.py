"""Programs here are small; nevertheless their parallel loops run on threads, in small blocks."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stencils.check import threads_at_once


@pytest.fixture(autouse=True)
def small_blocks() -> Iterator[None]:
    with threads_at_once(2):
        yield
