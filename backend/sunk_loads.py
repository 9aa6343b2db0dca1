"""Masked loads that LLVM moved past stores, found after the fact.

If only one side of a branch loads, SIMD code has a masked load and a select. LLVM 22 fuses the two at the place of the
select, without checking for stores in between (https://github.com/llvm/llvm-project/issues/215453). ``lowering.masked``
prevents this for loads in branches, but other passes create such loads too, from one before or after a branch. A fused
load can be recognised: it has a passthrough operand, which the vectoriser itself never writes. If a store before it may
change what it reads, the loop is compiled again without SIMD (``loop_nodes.serial``).
"""

from __future__ import annotations

import re

from adc.backend.loop_nodes import LoopNodes, Place

_FUNCTION = re.compile(r"^define .*?^\}", re.MULTILINE | re.DOTALL)
_LOAD = re.compile(r"@llvm\.masked\.(?:load|gather)\.(?!.* (?:poison|undef)\))")
_WRITE = re.compile(r"^\s+store |@llvm\.(?:masked\.(?:store|scatter|compressstore)|mem(?:cpy|set|move))\.")
_BACK_EDGE = re.compile(r"!llvm\.loop (!\d+)")


def sunk_loads(llvm_ir: str) -> frozenset[Place] | None:
    """The places of the loops in which a load was moved past a store to the same memory; None if a place is not
    known."""
    if not _LOAD.search(llvm_ir):
        return frozenset()
    nodes = LoopNodes(llvm_ir)
    found: set[Place] = set()
    for function in _FUNCTION.findall(llvm_ir):
        lines = function.splitlines()
        for at, line in enumerate(lines):
            if not _LOAD.search(line):
                continue
            first, loop = _enclosing(lines, at)
            if not any(_WRITE.search(s) and _may_alias(nodes, s, line) for s in lines[first:at]):
                continue
            place = nodes.place(loop) if loop else None
            if place is None:
                return None
            found.add(place)
    return frozenset(found)


def _enclosing(lines: list[str], at: int) -> tuple[int, str]:
    """The first line of the innermost loop around a line, and the loop's node; without a loop, those of the
    function."""
    for latch in range(at, len(lines)):
        if (back := _BACK_EDGE.search(lines[latch])) is None:
            continue
        for target in re.findall(r"label %([^\s,]+)", lines[latch]):
            head = next((k for k in range(at, 0, -1) if lines[k].startswith(f"{target}:")), None)
            if head is not None:
                return head, back[1]
    return 0, ""


def _may_alias(nodes: LoopNodes, one: str, other: str) -> bool:
    """Whether two accesses may alias, by their scopes (LangRef, "'noalias' and 'alias.scope' Metadata")."""
    return not (_apart(nodes, one, other) or _apart(nodes, other, one))


def _apart(nodes: LoopNodes, one: str, other: str) -> bool:
    """Whether ``other`` is declared not to alias the scopes of ``one``: all of them, in some domain."""
    outside = set(_listed(nodes, "noalias", other))
    domains: dict[str, set[str]] = {}
    for scope in _listed(nodes, "alias.scope", one):
        domains.setdefault(nodes.nodes[scope][1], set()).add(scope)
    return any(scopes <= outside for scopes in domains.values())


def _listed(nodes: LoopNodes, kind: str, access: str) -> list[str]:
    found = re.search(rf"!{kind} (!\d+)", access)
    return nodes.nodes[found[1]] if found else []
