"""Alias information for LLVM: scopes for the roots of memory, and for buffers that a loop swaps.

Each root of a function (an argument, an allocation) is an alias scope; an access is marked with the scopes that its
memory may belong to and, as ``noalias``, with all others. Buffers that a loop swaps (``u, v = v, u``) have the same
roots, so the loop gets a domain of its own with one scope per carried buffer. It is declared inside the loop, because
it holds only within one iteration: LLVM makes new scopes when it unrolls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Block, Func, Module, Op, Value
from adc.ir.moments import strip_views
from adc.ir.types import MemRefType

if TYPE_CHECKING:
    from adc.backend.lowering.lower_emitter import FunctionEmitter
    from adc.backend.lowering.module_emitter import ModuleEmitter

# The total length of the noalias lists is quadratic in the number of scopes.
MAX_SCOPES = 64


class Scopes:
    """Alias metadata for one function of the IR, shared by the LLVM functions that its loops are outlined to."""

    def __init__(self, emitter: ModuleEmitter, func: Func, module: Module) -> None:
        self._emitter = emitter
        self.aliasing = Aliasing.asked(func, module)
        self._domain = ""
        self._root_scopes: dict[Value, str] = {}
        self._loops: dict[object, dict[int, str]] = {}
        self._suffixes: dict[Value, str] = {}
        self._roots: list[Value] = []
        self._collect(func)

    def _collect(self, func: Func) -> None:
        """Make a scope for each root of memory that is accessed."""
        roots: dict[Value, None] = {}
        for op in func.walk():
            for value in op.operands:
                if isinstance(value.type, MemRefType) and op.opdef in _ACCESSES:
                    for root in self.aliasing.in_order(self.aliasing.roots(value)):
                        roots[root] = None
        self._roots = list(roots)[:MAX_SCOPES]
        if len(self._roots) > 1:
            self._domain = self._emitter.distinct(lambda n: f"!{{{n}}}")
            for root in self._roots:
                self._root_scopes[root] = self._scope(self._domain)

    def _scope(self, domain: str) -> str:
        return self._emitter.distinct(lambda n: f"!{{{n}, {domain}}}")

    def suffix(self, memref: Value) -> str:
        """Metadata for an access to the memory of ``memref``: ``", !alias.scope !3, !noalias !4"`` or nothing."""
        base = strip_views(memref)
        found = self._suffixes.get(base)
        if found is None:
            found = self._suffixes[base] = self._make_suffix(base)
        return found

    def _make_suffix(self, base: Value) -> str:
        inside: list[str] = []
        outside: list[str] = []
        roots = self.aliasing.roots(base)
        if roots and all(root in self._root_scopes for root in roots):
            inside += [self._root_scopes[root] for root in self._roots if root in roots]
            outside += [scope for root, scope in self._root_scopes.items() if root not in roots]
        place = self.aliasing.place_in_family(base)
        if place is not None:
            for position, scope in self._loops.get(place[0], {}).items():
                (inside if position == place[1] else outside).append(scope)
        text = ""
        if inside:
            text += f", !alias.scope {self._list(inside)}"
        if outside:
            text += f", !noalias {self._list(outside)}"
        return text

    def _list(self, scopes: list[str]) -> str:
        return self._emitter.metadata(f"!{{{', '.join(scopes)}}}")

    def declare_loop(self, emitter: FunctionEmitter, key: Block | Op) -> None:
        """Declare scopes for the buffers that a loop carries, at the current place: in its body, or after it."""
        positions = self.aliasing.family(key)
        if not positions:
            return
        domain = self._emitter.distinct(lambda n: f'!{{{n}, !"swap"}}')
        scopes = self._loops[key] = {position: self._scope(domain) for position in positions}
        emitter.module.declare(
            "llvm.experimental.noalias.scope.decl",
            "declare void @llvm.experimental.noalias.scope.decl(metadata)",
        )
        for scope in scopes.values():
            emitter.do(f"call void @llvm.experimental.noalias.scope.decl(metadata {self._list([scope])})")


_ACCESSES = {ops.load} | ops.having(target=1)
