"""What is said of loops whose steps are counted while they run, so that somebody can watch them."""

from __future__ import annotations

COUNTED = "adc.counted"
"""Attribute of sequential loops: ``"forward"`` or ``"reverse"``, and whether they run a part of the steps of a longer
loop. Then a function around them, or one that called that, has the attribute too: which of its arguments are the first
step, the one after the last, and the number of all; or how many were run before, if it is not known how many there
are."""

CONTINUES = "adc.continues"
"""Attribute of functions that run as many steps as there are: their first argument is how many were run before."""

GROUPED = "adc.grouped"
"""Attribute of a loop over groups of steps, whose counter is the first step of each: what counts is steps."""
