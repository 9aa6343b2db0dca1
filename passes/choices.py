"""What users can choose about passes: for options, which are read before any pass is needed."""

from __future__ import annotations

AUTO = "auto"

STRATEGIES = (AUTO, "gather", "rows", "blocks", "colours", "private", "serial", "atomic")
"""How the terms of parallel loops are added to memory; where the chosen way is not right, a right one is used."""

TimeBlock = int | str | None
"""How many steps of a time loop run at a time, or ``AUTO``; None leaves loops as they are."""

MOST_STEPS = 64
"""The most steps that run at a time."""

Tiles = bool | tuple[int, ...]
"""Whether nests are cut into blocks, or the lengths of blocks."""
