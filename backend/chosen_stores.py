"""SIMD stores of choices between what is in memory and something new, on x86 processors without AVX-512.

LLVM's code generator makes a masked store of them. That is one instruction, but on some processors without registers
for masks (AMD's before AVX-512) it takes as long as ten others: ``x[i] = min(x[i], y[i])`` in SIMD was slower than
without. There is no setting for it, but stores that are volatile are left as they are. So after the optimiser, when
nothing depends on it any more, such stores are made volatile: the number is chosen, and then stored.

Reference: LLVM 22, DAGCombiner.cpp, ``foldToMaskedStore``.
"""

from __future__ import annotations

import re

_LOAD = re.compile(r"  (%\S+) = load <[^>]+>, ptr (\S+?),")
_SELECT = re.compile(r"  (%\S+) = select (?:\w+ )*<\d+ x i1> \S+, <[^>]+> (\S+?), <[^>]+> ([^\s,]+)")
_STORE = re.compile(r"  store <[^>]+> (%\S+?), ptr (\S+?)(?:,|$)")


def unmasked(optimized: str) -> str:
    """The text of an optimised module in which the code generator finds no masked stores."""
    if " = select <" not in optimized and " = select n" not in optimized:
        return optimized
    lines = optimized.split("\n")
    places: dict[str, str] = {}  # where vectors were loaded in this block
    chosen: dict[str, set[str]] = {}  # the places that choices of this block may leave as they are
    for at, line in enumerate(lines):
        if not line.startswith(" "):
            places, chosen = {}, {}  # a label
        elif (load := _LOAD.match(line)) is not None:
            places[load[1]] = load[2]
        elif (select := _SELECT.match(line)) is not None:
            chosen[select[1]] = {places[v] for v in (select[2], select[3]) if v in places}
        elif (store := _STORE.match(line)) is not None and store[2] in chosen.get(store[1], ()):
            lines[at] = line.replace("  store <", "  store volatile <", 1)
    return "\n".join(lines)
