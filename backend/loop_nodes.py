"""The metadata of loops in the text of a module, as written by the lowering and updated by LLVM."""

from __future__ import annotations

import re
from collections.abc import Iterable

Place = int  # the number of a loop's place in the source, in ``Lowered.places``

_NODE = re.compile(r"^(!\d+) = (?:distinct )?!\{(.*)\}$", re.MULTILINE)
_PLACE = re.compile(r'!"adc\.loop", i32 (\d+)')
_SERIAL = '!"llvm.loop.vectorize.enable", i1 false'


class LoopNodes:
    """The metadata nodes of a module, by number; a loop is identified by the node that its back edge refers to."""

    def __init__(self, text: str) -> None:
        found = _NODE.findall(text)
        self.nodes: dict[str, list[str]] = {n: t.split(", ") for n, t in found}
        self._places = {n: int(match[1]) for n, t in found if (match := _PLACE.fullmatch(t))}

    def is_loop(self, node: str) -> bool:
        parts = self.nodes[node]
        return parts[0] == node and any(self.nodes.get(p, [""])[0].startswith('!"llvm.loop.') for p in parts[1:])

    def place(self, loop: str) -> Place | None:
        return next((self._places[part] for part in self.nodes[loop] if part in self._places), None)

    def vectorized(self) -> frozenset[Place]:
        """The places of the loops that LLVM's vectoriser has marked as vectorised."""
        done = {n for n, parts in self.nodes.items() if parts == ['!"llvm.loop.isvectorized"', "i32 1"]}
        loops = (n for n, parts in self.nodes.items() if done.intersection(parts))
        return frozenset(p for n in loops if (p := self.place(n)) is not None)


def serial(text: str, places: Iterable[Place] | None) -> str:
    """``text`` with the loops at ``places`` (None: all loops) marked as not to become SIMD."""
    loops, wanted = LoopNodes(text), None if places is None else set(places)
    mark = f"!{1 + max((int(n[1:]) for n in loops.nodes), default=-1)}"

    def marked(match: re.Match[str]) -> str:
        if not loops.is_loop(match[1]) or not (wanted is None or loops.place(match[1]) in wanted):
            return match[0]
        return f"{match[0][:-1]}, {mark}}}"

    return f"{_NODE.sub(marked, text)}\n{mark} = !{{{_SERIAL}}}\n"
