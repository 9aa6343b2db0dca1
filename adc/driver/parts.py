"""A part of a module: some functions, and what they use."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from adc.ir.callgraph import callees, closure
from adc.ir.core import Func, Module


def part_of(module: Module, roots: Iterable[str], following: Callable[[Func], Iterable[str]] = callees) -> Module:
    """The functions ``roots`` and all that they may call, or that ``following`` leads to from them."""
    keep = set(closure(module, roots, following))
    return Module({name: func for name, func in module.funcs.items() if name in keep})
