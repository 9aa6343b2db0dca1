"""Attributes of loops whose steps are counted while they run, so that progress can be shown."""

from __future__ import annotations

COUNTED = "adc.counted"
"""Attribute of sequential loops: ``"forward"`` or ``"reverse"``, and whether they run a part of the steps of a longer
loop. Then the function around them, or one of its callers, has the attribute too: the positions of its arguments for
the first step, the one after the last, and the total number; or for how many were run before, if the total is not
known."""

CONTINUES = "adc.continues"
"""Attribute of functions that run as many steps as there are: their first argument is how many were run before."""

GROUPED = "adc.grouped"
"""Attribute of a loop over groups of steps, whose counter is the first step of each: progress counts steps."""
