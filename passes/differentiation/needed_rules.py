"""Which derivative rules a first derivative asks for.

A first derivative needs the rules of the functions that are called in differentiated code. The code of a rule is not
differentiated itself. So the rules of functions that rules call, which serve derivatives of higher order, need not be
prepared.
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.attached import MARKS, attached, drop_unmentioned
from adc.ir.core import Module


def drop_rules_of_rules(module: Module, entry: str) -> None:
    """Remove the rules of functions that only rules call; the first derivative of ``entry`` does not need them."""
    seen, ruled, work = {entry}, set[str](), [entry]
    while work:
        func = module.funcs[work.pop()]
        for name in {op.attrs["callee"]: None for op in func.walk() if op.opdef in (ops.call, ops.ruled)}:
            if attached(module.funcs[name]) is not None:
                ruled.add(name)
            elif name not in seen:
                seen.add(name)
                work.append(name)
    for func in module.funcs.values():
        if func.name not in ruled:
            for mark in MARKS:
                func.attrs.pop(mark, None)
    drop_unmentioned(module, [entry])
