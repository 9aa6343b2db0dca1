"""The innermost loops of a piece of assembly: are they vectorised, and do they have other exits?"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

_LABEL = re.compile(r"^([\w.$@]+):")
_JUMP = re.compile(r"^\s+(j[a-z]+)\s+(\.L\w+)")
_END = re.compile(r"^\s+(ret|ud2|jmp)")


@dataclass(frozen=True)
class Loop:
    """The blocks of an innermost loop."""

    lines: tuple[str, ...]
    exits: int  # exits; a loop with bounds checks has others than the one at its end

    @property
    def vector(self) -> bool:
        """Whether it computes on whole AVX or AVX-512 registers."""
        return any(re.search(r"%[yz]mm\d", line) for line in self.lines)

    def calls(self, pattern: str) -> int:
        return sum(bool(re.search(rf"call\w*\s+{pattern}", line)) for line in self.lines)


def innermost_loops(assembly: str) -> list[Loop]:
    """The natural loops (Aho et al., Compilers, section 9.6) that contain no other loop. Loops must be reducible."""
    blocks, successors = _control_flow(assembly.splitlines())
    predecessors: list[list[int]] = [[] for _ in blocks]
    for n, targets in enumerate(successors):
        for target in targets:
            predecessors[target].append(n)
    bodies: dict[int, frozenset[int]] = {}
    for end, head in _retreating(successors):
        bodies[head] = bodies.get(head, frozenset()) | _body(head, end, predecessors)
    inner = [body for body in bodies.values() if not any(other < body for other in bodies.values())]
    return [
        Loop(
            tuple(line for n in sorted(body) for line in blocks[n]),
            sum(target not in body for n in body for target in successors[n]),
        )
        for body in sorted(inner, key=min)
    ]


def _control_flow(lines: list[str]) -> tuple[list[list[str]], list[list[int]]]:
    """Basic blocks, and for each the numbers of its successors."""
    blocks: list[list[str]] = [[]]
    labels: dict[str, int] = {}
    for line in lines:
        label = _LABEL.match(line)
        if label and blocks[-1]:
            blocks.append([])
        if label:
            labels[label.group(1)] = len(blocks) - 1
        blocks[-1].append(line)
        if _JUMP.match(line) or _END.match(line):
            blocks.append([])
    successors: list[list[int]] = []
    for n, block in enumerate(blocks):
        last = block[-1] if block else ""
        jump = _JUMP.match(last)
        found = [labels[jump.group(2)]] if jump and jump.group(2) in labels else []
        falls = not _END.match(last) and n + 1 < len(blocks)
        successors.append([*found, n + 1] if falls else found)
    return blocks, successors


def _retreating(successors: list[list[int]]) -> list[tuple[int, int]]:
    """The retreating edges of a depth-first walk."""
    found: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in range(len(successors)):
        if start in seen:
            continue
        path, stack = {start}, [(start, iter(successors[start]))]
        seen.add(start)
        while stack:
            block, rest = stack[-1]
            target = next(rest, None)
            if target is None:
                stack.pop()
                path.discard(block)
            elif target in path:
                found.append((block, target))
            elif target not in seen:
                seen.add(target)
                path.add(target)
                stack.append((target, iter(successors[target])))
    return found


def _body(head: int, end: int, predecessors: list[list[int]]) -> frozenset[int]:
    """The blocks from which ``end`` can be reached without passing through ``head``, with both of them."""
    body, work = {head}, [end]
    while work:
        block = work.pop()
        if block not in body:
            body.add(block)
            work += predecessors[block]
    return frozenset(body)


def assembly(function: Any, types: str, kind: str) -> str:
    """The machine code of a decorated function (``primal``), its ``gradient`` or its ``pullback``, for ``types``."""
    from adc.reports.dump import dump, resolve

    return dump(function._subject, resolve(function._subject, types), "asm", function._derivative, kind=kind)


def hot_loops(function: Any, types: str, kind: str, calls: str | None = None) -> bool:
    """Print how many innermost loops are vectorised, and check that each has its end as the only exit.

    With ``calls``, some of them must call a function of that name (a pattern).
    """
    vector = [loop for loop in innermost_loops(assembly(function, types, kind)) if loop.vector]
    checked = sum(loop.exits > 1 for loop in vector)
    wide = sum(any("%zmm" in line for line in loop.lines) for loop in vector)
    good = bool(vector) and checked == 0
    text = f"{len(vector)} vectorised innermost loops ({wide} on zmm), {checked} with checks in them"
    if calls is not None:
        count = sum(loop.calls(calls) for loop in vector)
        good &= count > 0
        text += f", {count} calls of vector functions"
    print(f"{'ok ' if good else 'BAD'} {function.__name__}, {kind}: {text}")
    return good
