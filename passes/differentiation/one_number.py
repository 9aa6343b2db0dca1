"""Calls of functions of one number that loop: the derivative is computed beside the value.

    def where(angle):                    # a path of unknown length, of which one number is wanted
        while y > 0.0: ...
        return x

The derivative by one number takes a tangent in forward mode and no tape; reverse mode would keep what each iteration
computes, and go through the iterations again. So the augmented function is the function with a tangent, its record is
the derivative, and the reverse function multiplies by it.

Reference: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, section 10.2 (preaccumulation).
"""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import const
from adc.ir.attached import attached
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable, recursive
from adc.ir.core import Func, Module, Op
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType, Type, i1, record
from adc.passes.analysis.effects import Summaries
from adc.passes.differentiation.activity.activity import Activity, Interface, analyse
from adc.passes.differentiation.activity.held import is_container
from adc.passes.differentiation.activity.tangents import Tangent
from adc.passes.differentiation.call_plan import CallPlan
from adc.passes.differentiation.calls.checkpointed import is_checkpointed
from adc.passes.differentiation.calls.rematerialised import is_rematerialised
from adc.passes.differentiation.forward.forward import jvp
from adc.passes.differentiation.storage.adjoints import Adjoint, Findings
from adc.passes.differentiation.storage.storage_plan import StoragePlan

_RULED = frozenset({ops.ruled, ops.gradient, ops.pack, ops.unpack})


@dataclass(frozen=True)
class OneNumber:
    """The derivative of ``func``'s result at ``result`` by its argument at ``argument``, which ``tangent`` computes."""

    func: Func
    argument: int
    result: int
    tangent: Tangent
    activity: Activity
    assumed: CallPlan  # how the two functions are called

    def adjoint(self) -> Adjoint:
        """The two functions, for the report."""
        findings = Findings(self.func.loc, "", notes=[str(self)])
        return Adjoint(self.assumed.augmented, self.assumed.reverse, self.activity, StoragePlan(), findings)

    def functions(self) -> tuple[CallPlan, Func, Func]:
        """How a call is differentiated, and the augmented and the reverse function."""
        names = self.assumed.augmented, self.assumed.reverse
        plan = CallPlan(*names, (), (), (), (), (self.result,), (self.argument,), True)
        return plan, self._augmented(names[0]), self._reverse(names[1])

    def _augmented(self, name: str) -> Func:
        """The function that also computes the derivative, which it returns in a record."""
        primal = self.func
        types = (*primal.result_types, record)
        made = Func(name, [a.type for a in primal.args], types, [a.hint for a in primal.args], primal.loc)
        for new, old in zip(made.arg_attrs, primal.arg_attrs, strict=True):
            new |= old
        by = primal.result_types[self.result]
        with insert_at(made.body, primal.loc):
            attrs = {"callee": self.tangent.name, "types": (*primal.result_types, by)}
            *results, derivative = build(ops.call, made.args, attrs).results
            build(ops.return_, [*results, build(ops.pack, [derivative]).result])
        return made

    def _reverse(self, name: str) -> Func:
        """The cotangent of the argument, given that of the result and the record."""
        primal = self.func
        by, of = primal.result_types[self.result], primal.args[self.argument].type
        types: list[Type] = [by, record]
        made = Func(name, types, (of,), ["result_bar", "record"], primal.loc)
        with insert_at(made.body, primal.loc):
            given, kept = made.args
            derivative = build(ops.unpack, [kept], {"types": (by,), "contents": ((),), "roots": ((),)}).result
            nothing = ops.cmpf(given, const(0.0, by), predicate="oeq")
            build(ops.return_, [ops.strong_mulf(given, derivative, nothing, const(False, i1))])
        return made

    def __str__(self) -> str:
        by = self.func.args[self.argument].hint or f"argument {self.argument}"
        return f"@{self.func.name} by {by}: in forward mode, beside the value; no tape"


def of_one_number(module: Module, name: str, interface: Interface, assumed: CallPlan) -> OneNumber | None:
    """How calls of ``name`` are differentiated in forward mode; None if they are not."""
    func = module.funcs[name]
    wanted = [(k, r) for k in interface.varied for r in interface.useful_results]
    if len(wanted) != 1 or interface.useful_args or assumed.record or name in recursive(module):
        return None
    ((argument, result),) = wanted
    by, of = func.args[argument].type, func.result_types[result]
    if not by.is_float or by != of or not any(op.opdef in (ops.for_, ops.while_) for op in func.walk()):
        return None
    if any(isinstance(t, MemRefType) and t.element.is_float for t in func.result_types):
        return None
    called = [module.funcs[other] for other in reachable(module, [name])]
    summary = Summaries.asked(module).of(name)
    if summary is None or summary.writes or summary.once or any(map(_is_special, called)):
        return None
    known = set(module.funcs)
    tangent = jvp(module, name, (argument,), useful=(result,), ones=(argument,))
    if tangent.arguments or tangent.results != (result,):
        for other in set(module.funcs) - known:
            del module.funcs[other]
        return None
    return OneNumber(func, argument, result, tangent, analyse(module, func, interface), assumed)


def _is_special(func: Func) -> bool:
    """Whether there are rules of users, which may exist for one mode only, schedules, or records of other sweeps."""
    if attached(func) is not None or is_checkpointed(func) or is_rematerialised(func):
        return True
    return any(_holds_records(op) for op in func.walk())


def _holds_records(op: Op) -> bool:
    return op.opdef in _RULED or any(is_container(r.type) for r in op.results)
