"""The compiled sweeps of a pullback: the forward sweep, which makes a pullback, and the reverse sweep, which it
calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.backend.calls.abi import (
    Argument,
    ArrayParam,
    CallOut,
    ObjectOut,
    Out,
    Output,
    Param,
    RecordParam,
    ScalarParam,
    Signature,
    StaticOut,
    TupleOut,
    Unseen,
)
from adc.backend.calls.stub import set_miss
from adc.border import binding
from adc.border.complexes import as_pairs, imaginary
from adc.border.selecting import everything
from adc.driver.compiler import Staged, compile_functions
from adc.driver.specialise import arrange, misfit
from adc.frontend.abstract import Array, numpy_dtype
from adc.functions.pullback_calls import array_paths, choice_paths, direct
from adc.functions.pullbacks import Owner, Pullback, Sweeps, fingerprint, shape, with_pullback
from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.core import Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType, Type


class PullbackCode(Sweeps):
    """The forward and the reverse sweep of a function, as two callables."""

    def __init__(self, staged: Staged, miss: Callable[..., Any]) -> None:
        from adc.driver.seeding import both_halves, clears, seeded

        traced = staged.traced(reverse=True)
        super().__init__(staged, traced)
        self.wanted = everything(self.names, self.abstracts, traced)
        self.result_types = traced.module.funcs[traced.entry].result_types
        module, _, self.plan = staged.split(traced, self.wanted)
        forward, reverse, self.taken = seeded(module, traced.entry, self.plan)
        self.shadows = list(self.plan.shadows)
        self.cleared = clears(module, traced, self.plan, reverse)
        module = staged.prepared(module, [forward, reverse])
        staged.keep_to_memory(module, forward, reverse, both_halves(module, forward, reverse, self.plan, self.taken))
        self.fresh = self._fresh_shadows(module)
        self.given = [k for k in self.shadows if k not in self.fresh]  # shadows that are passed to the forward sweep
        self.read_in_reverse = frozenset(_read(module, reverse, self.plan.kept))
        self.has_record = len(module.funcs[forward].result_types) > len(self.result_types)
        self.takes_turns = self.has_record or bool(self.given)
        self.repeatable = self.wrapped and not self.aliased
        trees = [traced.result, *traced.changed.values()]
        self.arrays = dict(array_paths(trees, several=bool(traced.changed)))
        self.choices = dict(choice_paths(trees, several=bool(traced.changed)))
        self.array_leaves = {k for k, leaf in enumerate(traced.leaves) if isinstance(leaf.abstract, Array)}
        kept = self.array_leaves.intersection(self.plan.kept)
        self.keeps = [k in kept or k not in self.array_leaves for k in range(len(traced.leaves))]
        self.keeps_all = all(self.keeps)
        self.looked_at = [(k, fingerprint if k in self.read_in_reverse else shape) for k in sorted(kept)]
        self._owner = Owner()
        self._compile(module, forward, reverse, misfit if self.wrapped else miss)
        self._connect()

    def _compile(self, module: Module, forward: str, reverse: str, miss: Callable[..., Any]) -> None:
        """Compile the forward sweep as called from Python, also without arguments that have defaults; the reverse sweep
        with all its arguments; and, if only cotangents need to be checked, ``at_once``, the reverse sweep called
        directly."""
        leaf_params = binding.leaf_params(self.names, self.traced, read_only=False)
        args = module.funcs[forward].args[len(self.traced.leaves) :]
        types = {k: arg.type for k, arg in zip(self.shadows, args, strict=False) if isinstance(arg.type, MemRefType)}
        calls = [self._forward_signature(module, forward, leaf_params, types)]
        if not self.given:
            defaults = () if self.wrapped else self.subject.parameters.defaults
            calls += binding.with_defaults(calls[0], self.abstracts, defaults)
        sweep = self._reverse_signature(module, reverse, leaf_params, types)
        short = None
        if not self.given and not self.wrapped and not imaginary(self.wanted):
            wanted = self.wanted.positional
            short = direct(sweep, self.traced, leaf_params, self.plan, self.taken, self.cleared, wanted)
        signatures = [*calls, sweep] if short is None else [*calls, sweep, short]
        made = compile_functions(self.staged, module, signatures, miss)
        self.forward, self.reverse = made[0], made[len(calls)]
        self.at_once = made[-1] if short is not None and self.subject.target.resident else None
        if not self.given:
            self.direct = {len(s.arguments): call for s, call in zip(calls, made, strict=False)}

    def _forward_signature(
        self, module: Module, forward: str, leaf_params: Sequence[Param], types: Mapping[int, MemRefType]
    ) -> Signature:
        guards = binding.guard_params(self.abstracts, self.traced)
        shift, count = len(guards), len(self.traced.leaves)
        explicit = iter(binding.explicit_shadows(len(self.names), [types[k] for k in self.given]))
        record: Output = Out(len(self.result_types)) if self.has_record else StaticOut(None)
        leaves = [ObjectOut(shift + k) for k in range(count)]
        output = StaticOut(self._owner), binding.effects_output(self.traced), record, *leaves
        return binding.signature(
            self.names,
            self.abstracts,
            module,
            forward,
            [*guards, *leaf_params, *(next(explicit) if k in self.given else Unseen(t) for k, t in types.items())],
            CallOut(with_pullback, output),
            disjoint=binding.disjoint_pairs(self.names, self.abstracts, self.traced, shift),
            extra_arguments=len(self.given),
            threads=self.subject.options.threads or 0,
        )

    def _reverse_signature(
        self, module: Module, reverse: str, leaf_params: Sequence[Param], types: Mapping[int, MemRefType]
    ) -> Signature:
        params = self._reverse_params(leaf_params, list(types.values()), self.has_record)
        return binding.signature(
            (),
            (),
            module,
            reverse,
            params,
            TupleOut(tuple(Out(k) for k in range(len(module.funcs[reverse].result_types)))),
            extra_arguments=len(params),
            threads=self.subject.options.threads or 0,
        )

    def _connect(self) -> None:
        """Let compiled code find this object. If the reverse sweep does not accept its arguments, it must not be taken
        for a missed forward sweep."""
        self._owner.code = self
        if self.subject.target.resident:
            set_miss(self.reverse, misfit)
        if self.at_once is not None:
            set_miss(self.at_once, misfit)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._connect()

    def _fresh_shadows(self, module: Module) -> frozenset[int]:
        """Arguments whose shadows the forward sweep does not use, so that each reverse sweep can have new ones."""
        first = len(self.traced.leaves)
        args = module.funcs[self.plan.augmented].args
        grouped = {k for members in self.aliased.values() for k in members}
        return frozenset(
            k
            for n, k in enumerate(self.shadows)
            if not args[first + n].uses
            and k not in grouped
            and args[k].type == args[first + n].type
            and isinstance(t := args[k].type, MemRefType)
            and t.strides is None
        )

    def _reverse_params(
        self, leaf_params: Sequence[Param], shadow_types: Sequence[Type], has_record: bool
    ) -> list[Param]:
        params: list[Param] = []
        for k in self.plan.kept:
            like = leaf_params[k]
            source = Argument((len(params),))
            if isinstance(like, ArrayParam):
                params.append(ArrayParam(source, like.element, like.rank, like.layout))
            else:
                assert isinstance(like, ScalarParam)
                params.append(ScalarParam(source, like.type, like.strong))
        params += binding.explicit_shadows(len(params), shadow_types)
        for k in self.taken:
            t, source = self.result_types[k], Argument((len(params),))
            if isinstance(t, MemRefType):
                params.append(ArrayParam(source, t.element, t.rank))
            else:
                params.append(ScalarParam(source, t, numpy_dtype(t) != np.float64))
        if has_record:
            params.append(RecordParam(Argument((len(params),))))
        return params

    def run(self, values: tuple[Any, ...]) -> tuple[Any, Pullback]:
        leaves = self.leaf_values(values)
        self.check_captures(leaves)
        names = {k: self.leaf_name(k) for k in range(len(leaves))}
        shadows = arrange(self, leaves, self.given, names, copy=False).shadows
        result, back = self.forward(*values, *(as_pairs(shadows[k]) for k in self.given))
        back._shadows = shadows
        return result, back

    def _run_wrapped(self, values: tuple[Any, ...], objects: dict[int, Any]) -> tuple[Any, Pullback]:
        raw, back = self.run(values)
        return self.finished(raw, objects), back


def _read(module: Module, reverse: str, kept: Sequence[int]) -> list[int]:
    """Those of the arguments ``kept`` whose contents the reverse function may read, directly or through its record."""

    def compute(name: str) -> frozenset[int]:
        func = module.funcs[name]
        aliasing = Aliasing.asked(func, module)
        looked: set[Value] = set()
        for op in func.walk():
            for value in _looked_at(op, read):
                looked |= aliasing.reach(value)
        memrefs = [k for k, a in enumerate(func.args) if isinstance(a.type, MemRefType)]
        return frozenset(k for k in memrefs if not looked.isdisjoint(aliasing.roots(func.args[k])))

    read: Fixpoint[str, frozenset[int]] = Fixpoint(compute, lambda name: frozenset())
    found = read(reverse)
    return [k for n, k in enumerate(kept) if n in found]


def _looked_at(op: Op, read: Callable[[str], frozenset[int]]) -> list[Value]:
    """The memrefs whose contents an operation reads. Accumulation does not count as reading."""
    if op.opdef is ops.call:
        values = [op.operands[k] for k in read(op.attrs["callee"])]
    elif op.opdef is ops.accumulate or Trait.READS not in op.opdef.traits:
        values = []
    else:
        values = list(op.operands[:1] if op.opdef is ops.copy else op.operands)
    return [v for v in values if isinstance(v.type, MemRefType)]


