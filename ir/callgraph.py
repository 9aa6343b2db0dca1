"""Who calls whom in a module."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator

from adc.ir import ops
from adc.ir.core import Func, Module, Op
from adc.ir.nesting import enclosing, of_kinds
from adc.ir.opdef import OpDef, Trait
from adc.ir.states import kept

_CALLS = frozenset({ops.call})
_LOOPS = ops.having(Trait.LOOP)


def callees(func: Func) -> list[str]:
    """The functions that ``func`` calls, each once, in order."""
    return list(_callees(func))


def _callees(func: Func) -> tuple[str, ...]:
    return kept(func, _called)


def _called(func: Func) -> tuple[str, ...]:
    return tuple(dict.fromkeys([op.attrs["callee"] for op in of_kinds(func.body, _CALLS)]))


def repeated(module: Module) -> set[str]:
    """The functions that may run more than once in a call from outside: those called in loops or recursively, and their
    callees."""
    inside = [
        op.attrs["callee"]
        for func in module.funcs.values()
        for op in of_kinds(func.body, _CALLS)
        if any(around.opdef in _LOOPS for around in enclosing(op.parent))
    ]
    return reachable(module, [*inside, *recursive(module)])


def components(module: Module) -> list[list[str]]:
    """The strongly connected components of the call graph, callees before their callers.

    R. Tarjan, Depth-first search and linear graph algorithms, SIAM J. Comput. 1 (1972); without recursion.
    """
    edges = {name: [c for c in _callees(func) if c in module.funcs] for name, func in module.funcs.items()}
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    found: list[list[str]] = []
    for start in edges:
        if start in number:
            continue
        work = [(start, iter(edges[start]))]
        number[start] = low[start] = len(number)
        stack.append(start)
        waiting.add(start)
        while work:
            name, rest = work[-1]
            for callee in rest:
                if callee not in number:
                    number[callee] = low[callee] = len(number)
                    stack.append(callee)
                    waiting.add(callee)
                    work.append((callee, iter(edges[callee])))
                    break
                if callee in waiting:
                    low[name] = min(low[name], number[callee])
            else:
                work.pop()
                if work:
                    caller = work[-1][0]
                    low[caller] = min(low[caller], low[name])
                if low[name] == number[name]:
                    component: list[str] = []
                    while not component or component[-1] != name:
                        component.append(stack.pop())
                    waiting.difference_update(component)
                    found.append(component[::-1])
    return found


def recursive(module: Module) -> frozenset[str]:
    """The functions that may be called again, directly or indirectly, while they run."""
    return frozenset(
        name
        for component in components(module)
        for name in component
        if len(component) > 1 or name in _callees(module.funcs[name])
    )


def reachable(module: Module, roots: Iterable[str]) -> set[str]:
    """``roots`` and all functions of the module that they may call."""
    return set(closure(module, roots, _callees))


def closure(module: Module, roots: Iterable[str], following: Callable[[Func], Iterable[str]]) -> list[str]:
    """``roots`` and all functions of the module that ``following`` leads to from them, in the order of the search."""
    found: dict[str, None] = {}
    work = [name for name in roots if name in module.funcs]
    while work:
        name = work.pop()
        if name not in found:
            found[name] = None
            work += [other for other in following(module.funcs[name]) if other in module.funcs]
    return list(found)


def called_inside(op: Op) -> Iterator[str]:
    """The functions that are called in the regions of an operation."""
    for region in op.regions:
        for inner in region.walk():
            if inner.opdef is ops.call:
                yield inner.attrs["callee"]


def called_in(module: Module, kinds: Container[OpDef]) -> set[str]:
    """The functions that are called, directly or indirectly, in regions of operations of the given kinds."""
    found = (op for func in module.funcs.values() for op in func.walk() if op.opdef in kinds)
    return reachable(module, (name for op in found for name in called_inside(op)))
