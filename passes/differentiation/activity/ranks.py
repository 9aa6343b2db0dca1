"""What is known about a function that several ranks run together, before it is differentiated.

Results that are the same on all ranks count as those of the first rank (``picked`` in the prelude). Which results these
are is found out here, when the whole program is known.
"""

from __future__ import annotations

from adc.ir import kinds, ops
from adc.ir.arith import const
from adc.ir.attached import DERIVATIVE, is_float
from adc.ir.builder import insert_at
from adc.ir.core import Block, Module, Op
from adc.ir.types import i1
from adc.passes.analysis.messages import Messages
from adc.passes.differentiation.activity.locality import SAME, Locality

LEFT = "adc.left"
"""Attribute of the call that hands on a result: its second operand says whether it is the same on all ranks."""

DIFFERS = "adc.differs"
"""Attribute of a function of several ranks: its float results that may differ between them, by position."""

SHARED = "adc.shared"
"""Attribute of such a function: float results that are the same on all ranks but not counted as the first rank's."""


def settle_ranks(module: Module, name: str) -> None:
    """Note which results of the function that Python calls are the same on all ranks. Raises for collective operations
    under conditions that may differ."""
    func = module.funcs[name]
    if Messages.asked(module).speaking:
        _refuse_derivatives_inside(module)
    if not speaks(module, name):
        return
    answer = Locality(module).of_entry(name)
    returned = func.body.terminator.operands
    picked: set[int] = set()
    for op in list(func.walk()):
        if LEFT in op.attrs:
            places = {k for k, v in enumerate(returned) if v in op.results}
            if places and places.isdisjoint(answer.results):
                picked |= places
            else:
                _count_as_local(op)
            op.drop_attr(LEFT)
    floats = [k for k, t in enumerate(func.result_types) if is_float(t)]
    func.attrs[DIFFERS] = tuple(k for k in floats if k in answer.results)
    func.attrs[SHARED] = tuple(k for k in floats if k not in answer.results and k not in picked)


def _count_as_local(op: Op) -> None:
    assert op.parent is not None
    with insert_at(Block(), op.loc) as made:
        no = const(False, i1)
    op.parent.set_ops([x for old in op.parent.ops for x in ((*made.ops, old) if old is op else (old,))])
    op.set_operand(1, no)


def speaks(module: Module, name: str) -> bool:
    """Whether derivatives of a function send messages."""
    func = module.funcs[name]
    return name in Messages.asked(module).speaking or any(attrs.get(SAME) for attrs in func.arg_attrs)


def check_loss(module: Module, name: str) -> None:
    """Refuse the gradient of a value that may differ between ranks: only a single number has a gradient."""
    func = module.funcs[name]
    if 0 in (*func.attrs.get(DIFFERS, ()), *func.attrs.get(SHARED, ())):
        raise kinds.NOT_SAME(
            f"the value of {name} may differ between ranks, so it is not one number that has a gradient",
            func.body.terminator.loc,
        )


def check_pullback(module: Module, name: str) -> None:
    """Refuse the pullback of results that are the same on all ranks and are not numbers: it cannot be known whether a
    cotangent is given once or by each rank."""
    func = module.funcs[name]
    if func.attrs.get(SHARED):
        raise kinds.NO_DERIVATIVE(
            f"{name} returns an array, or an object, that is the same on all ranks, and has no pullback",
            func.body.terminator.loc,
            help="return numbers, or tuples of them, or the part of the array that belongs to the rank",
        )


def refuse_ranks(module: Module, name: str, what: str, help: str) -> None:
    """Refuse a derivative, called ``what``, of a function of several ranks."""
    if speaks(module, name):
        func = module.funcs[name]
        raise kinds.NO_DERIVATIVE(f"{what} of functions that several ranks run together", func.loc, help=help)


def _refuse_derivatives_inside(module: Module) -> None:
    speaking = Messages.asked(module).speaking
    for func in module.funcs.values():
        asked = [(op.attrs["callee"], op.loc) for op in func.walk() if op.opdef is ops.gradient]
        if DERIVATIVE in func.attrs:
            asked.append((func.attrs[DERIVATIVE], func.loc))
        for callee, loc in asked:
            if callee in speaking:
                raise kinds.NO_DERIVATIVE(
                    "derivatives inside a compiled function, of a function that several ranks run together",
                    loc,
                    help="take the derivative in Python; adc.hvp has second derivatives",
                )
