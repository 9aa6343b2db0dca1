"""What users can choose about passes: for options, which are read before any pass is needed."""

from __future__ import annotations

AUTO = "auto"

STRATEGIES = (AUTO, "gather", "rows", "blocks", "colours", "private", "serial", "atomic")
"""How the terms of parallel loops are added to memory; where it would not be right, what is right is done."""

TimeBlock = int | str | None
"""How many steps of a time loop run at a time, or ``AUTO``; None leaves loops as they are."""

MOST_STEPS = 64
"""At a time."""

Tiles = bool | tuple[int, ...]
"""Whether nests are cut into blocks, or the lengths of blocks."""
