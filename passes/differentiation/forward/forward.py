"""Forward-mode differentiation: the function that also carries tangents.

``jvp`` adds to a module a function that does what another one does and also computes the tangent of each active float
and of each array with a shadow. It uses the derivative rules of reverse mode: term k of a rule, with the tangent of
operand k as ``g``. Nothing is reversed or kept, so there is no tape, and any IR has a forward mode, including that of
adjoints with their tapes, records and permuted buffers. Something else than derivatives may be carried as well; memory,
loops and calls are treated alike then (``algebras.py``). Loops and branches carry the tangents of what they
carry; parallel loops stay parallel.

Reference: Griewank and Walther, Evaluating Derivatives, 2nd ed., SIAM 2008, sections 3.1 and 6.1.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from adc.ir import ops
from adc.ir.attached import attached, is_constant, parts
from adc.ir.builder import contractible
from adc.ir.core import Func, Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.rewrite import clone_func
from adc.ir.types import MemRefType
from adc.passes.analysis.messages import Messages
from adc.passes.differentiation.activity.activity import Interface, analyse
from adc.passes.differentiation.activity.held import may_have_tangent
from adc.passes.differentiation.activity.tangents import Tangent, Tangible
from adc.passes.differentiation.forward.algebras import Derivatives
from adc.passes.differentiation.forward.along import Along
from adc.passes.differentiation.forward.forward_sweep import ForwardSweep
from adc.passes.differentiation.forward.rule_tangents import ruled_interface
from adc.passes.differentiation.need.strong_zeros import StrongTangents
from adc.passes.differentiation.prepare.augment import check_rules

Key = tuple[str, Interface, frozenset[int]]  # a function, how it is differentiated, and which tangents are one
Places = tuple[tuple[int, ...], tuple[int, ...]]  # arguments and results that have a tangent


@contractible()
def jvp(
    module: Module,
    name: str,
    wrt: Sequence[int],
    final: Sequence[int] = (),
    algebra: Derivatives | None = None,
    useful: Sequence[int] | None = None,
    ones: Sequence[int] = (),
) -> Tangent:
    """Add ``name.jvp`` to ``module``: ``name`` with tangents, given those of the arguments ``wrt``.

    It may take tangents of further arguments: memrefs that vary later, whose tangents are zero for what does not vary
    yet. The function changes memrefs as before, and their tangents too; those of ``final`` are wanted. Results that do
    not vary have no tangent. ``algebra``: what tangents are; derivatives by default. ``useful``: the results whose
    tangents are wanted, if not all. ``ones``: numbers whose tangents are one; those are not passed, and code that knows
    this needs no marks (``strong_zeros.py``).
    """
    types = module.funcs[name].result_types
    wanted = range(len(types)) if useful is None else useful
    results = frozenset(k for k in wanted if may_have_tangent(types[k]))
    key = name, Interface(frozenset(wrt), results, frozenset(final)), frozenset(ones)
    return _Differentiator(module, algebra or Derivatives()).of(key)


class _Differentiator:
    def __init__(self, module: Module, algebra: Derivatives) -> None:
        self.module = module
        self.algebra = algebra
        self.crossing = Messages.asked(module).crossing
        nowhere: Places = ((), ())
        self.places = Fixpoint[Key, Places](self._analyse, lambda key: nowhere)
        self.found: dict[Key, tuple[Func, Tangible]] = {}
        self.made: dict[Key, Tangent] = {}

    def of(self, key: Key) -> Tangent:
        """The function with tangents: already there, being made, or made now; by its derivative rules, if it has
        some."""
        known = self.made.get(key)
        if known is not None:
            return known
        arguments, results = self.places(key)
        if attached(self.module.funcs[key[0]]) is not None:
            ruled = self.algebra.by_rule(self.module, key[0], (arguments, results))
            return self.made.setdefault(key, Tangent(ruled.name, arguments, results))
        func, tangible = self.found[key]
        name = self.module.unique_name(f"{key[0]}.{self.algebra.suffix}")
        ones = [func.args[k] for k in sorted(key[2])]
        given = tuple(k for k in arguments if k not in key[2])
        made = self.made[key] = Tangent(name, given, results, str(tangible.activity))
        func.name = name
        self.module.add(func)
        calls = {}
        for op in func.walk():
            if self._has_tangents(op, tangible):
                calls[op] = self.of(_called(op, tangible, ones))
            elif op.opdef is ops.ruled and any(map(tangible.activity.active, op.results)):
                interface = ruled_interface(op, parts(op, self.module).arguments, tangible.activity.varied)
                by: Key = op.attrs["callee"], interface, frozenset()
                pulled = self.algebra.is_pulled(self.module, op)
                calls[op] = Tangent(op.attrs["callee"], *self.places(by)) if pulled else self.of(by)
        made.callees = [callee for callee in calls.values() if callee in self.made.values()]
        lane = Along(self.module, func, tangible, calls, self.algebra, StrongTangents(func))
        ForwardSweep(func, [lane]).function([given], [results], [ones])
        return made

    def _has_tangents(self, op: Op, tangible: Tangible) -> bool:
        """Whether an operation is a call that takes or makes tangents."""
        if op.opdef is not ops.call:
            return False
        if op.attrs["callee"] in self.crossing:
            return True
        if not tangible.concerns(op) or tangible.is_passive(op):
            return False
        return not is_constant(self.module.funcs[op.attrs["callee"]])

    def _analyse(self, key: Key) -> Places:
        """Which arguments and results of a function have tangents, given what is known about its callees."""
        name, interface, _ = key
        by_rule = self.algebra.rule_places(self.module, name, interface)
        if by_rule is not None:
            return by_rule
        func = clone_func(self.module.funcs[name], name)
        func.attrs.pop("adc.entry", None)
        self.algebra.expand(self.module, func)
        self.algebra.serialise(self.module, func, interface)
        tangible = Tangible(analyse(self.module, func, interface))
        tangible.activity.include_held()
        tangible.activity.include_containers()
        returned = func.body.terminator.operands
        results = [returned[k] for k in interface.useful_results]
        tangible.activity.give_shadows(v for v in results if isinstance(v.type, MemRefType))
        ones = [func.args[k] for k in key[2]]
        settled = False
        while not settled:
            settled = True
            for op in func.walk():
                if not self._has_tangents(op, tangible):
                    continue
                arguments, made = self.places(_called(op, tangible, ones))
                for v in (*(op.operands[k] for k in arguments), *(op.results[k] for k in made)):
                    if isinstance(v.type, MemRefType) and v not in tangible:
                        tangible.activity.give_shadows([v])
                        settled = False
        check_rules(self.module, func, tangible.activity)
        self.found[key] = func, tangible
        return (
            tuple(k for k, a in enumerate(func.args) if a in tangible),
            tuple(k for k, v in enumerate(returned) if v in tangible and may_have_tangent(v.type)),
        )


def _called(op: Op, tangible: Tangible, ones: Collection[Value]) -> Key:
    """How the callee of a call is differentiated. ``ones``: the numbers whose tangents are one."""
    known = frozenset(k for k, v in enumerate(op.operands) if v in ones)
    return op.attrs["callee"], tangible.interface_of(op), known
