"""Pullbacks: a call's forward sweep, kept so that cotangents can be pulled back through it, as often as one likes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc import binding
from adc.backend.calls.abi import (
    Argument,
    ArrayParam,
    Out,
    Output,
    Param,
    RecordParam,
    ScalarParam,
    StaticOut,
    TupleOut,
)
from adc.boundary import public
from adc.compiler import Staged, compile_functions
from adc.complexes import as_pairs, imaginary, is_pairs
from adc.containers import result_leaves
from adc.cotangents import Seeds
from adc.errors import AdcError
from adc.frontend.abstract import Array, Scalar, numpy_dtype
from adc.frontend.traced import Traced
from adc.ir import kinds, ops
from adc.ir.alias import Aliasing
from adc.ir.core import Module, Op, Value
from adc.ir.fixpoint import Fixpoint
from adc.ir.opdef import Trait
from adc.ir.types import MemRefType, Type
from adc.seeding import both_halves, clears, seeded
from adc.selecting import built, everything
from adc.specialise import Specialisation, arrange, misfit
from adc.turns import Turn

NDArray = np.ndarray[Any, Any]


class PullbackCode(Specialisation):
    """The forward and the reverse sweep of a function, as two callables."""

    def __init__(self, staged: Staged, miss: Callable[..., Any]) -> None:
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
        self.read_in_reverse = frozenset(_read(module, reverse, self.plan.kept))
        leaf_params = binding.leaf_params(self.names, traced, read_only=False)
        guards = binding.guard_params(self.abstracts, traced)
        shadow_types = [module.funcs[forward].args[len(traced.leaves) + n].type for n in range(len(self.shadows))]
        has_record = len(module.funcs[forward].result_types) > len(self.result_types)
        shift = len(guards)
        threads = self.subject.options.threads or 0
        outputs: tuple[Output, ...] = (
            binding.effects_output(traced),
            Out(len(self.result_types)) if has_record else StaticOut(None),
        )
        self.forward_signature = binding.signature(
            self.names,
            self.abstracts,
            module,
            forward,
            [*guards, *leaf_params, *binding.explicit_shadows(len(self.names), shadow_types)],
            TupleOut(outputs),
            disjoint=binding.disjoint_pairs(self.names, self.abstracts, traced, shift),
            extra_arguments=len(self.shadows),
            threads=threads,
        )
        self.reverse_signature = binding.signature(
            (),
            (),
            module,
            reverse,
            self._reverse_params(leaf_params, shadow_types, has_record),
            TupleOut(tuple(Out(k) for k in range(len(module.funcs[reverse].result_types)))),
            extra_arguments=len(self.plan.kept) + len(self.shadows) + len(self.taken) + has_record,
            threads=threads,
        )
        self.has_record = has_record
        # What the forward sweep is called with in place of the shadows that it does not look at.
        self._unused = {
            k: np.empty((0,) * t.rank, numpy_dtype(t.element))
            for k, t in zip(self.shadows, shadow_types, strict=True)
            if k in self.fresh and isinstance(t, MemRefType)
        }
        signatures = [self.forward_signature, self.reverse_signature]
        miss = misfit if self.wrapped else miss
        self.repeatable = self.wrapped and not self.aliased
        self.forward, self.reverse = compile_functions(staged, module, signatures, miss)

    def _fresh_shadows(self, module: Module) -> frozenset[int]:
        """Arguments whose shadows the forward sweep does not refer to: each reverse sweep can have new ones."""
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
        kept = [k for k in self.shadows if k not in self.fresh]
        shadows = arrange(self, leaves, kept, names, copy=False).shadows
        given = {**self._unused, **shadows}
        result, record = self.forward(*values, *(as_pairs(given[k]) for k in self.shadows))
        return result, Pullback(self, leaves, shadows, result, record)

    def _run_wrapped(self, values: tuple[Any, ...], objects: dict[int, Any]) -> tuple[Any, Pullback]:
        raw, back = self.run(values)
        return self.finished(raw, objects), back


def _read(module: Module, reverse: str, kept: Sequence[int]) -> list[int]:
    """Those of the arguments ``kept`` whose contents the reverse function may look at, be it through its record."""

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
    """The memrefs whose contents matter to an operation. Accumulating into one is no look at it."""
    if op.opdef is ops.call:
        values = [op.operands[k] for k in read(op.attrs["callee"])]
    elif op.opdef is ops.accumulate or Trait.READS not in op.opdef.traits:
        values = []
    else:
        values = list(op.operands[:1] if op.opdef is ops.copy else op.operands)
    return [v for v in values if isinstance(v.type, MemRefType)]


class Pullback:
    """Maps cotangents of a call's result, and of what the call left in its arguments, to cotangents of its arguments.

    Call it with a cotangent in the form of the result (with no argument if the result has no floats). ``final`` gives
    cotangents of arrays as the call left them, by parameter name. The answer has one cotangent per parameter, and None
    for parameters that are not differentiable. It may be called any number of times. Arrays that the reverse sweep
    reads must not have changed since the forward sweep; otherwise ``DifferentiationError`` says which did.
    """

    def __init__(
        self, code: PullbackCode, leaves: list[Any], shadows: dict[int, NDArray], result: Any, record: object
    ) -> None:
        self._code = code
        self._shadows = shadows
        self._record = record
        self._kept = {k: leaves[k] for k in code.plan.kept}
        self._marks = {k: fingerprint(leaves[k]) for k in code.read_in_reverse}
        self._shapes = _shapes(code.traced, result)
        # Shape and dtype of each array: the results may not depend on some of them at all.
        self._like = {k: (v.shape, v.dtype) for k, v in enumerate(leaves) if isinstance(v, np.ndarray)}
        self._turn = Turn(record)
        self._given = 0

    def without(self, count: int) -> Pullback:
        """The same, without the cotangents of the first arguments, which the caller has not given himself."""
        self._given = count
        return self

    @public
    def __reduce__(self) -> tuple[Any, ...]:
        name = self._code.subject.name
        raise kinds.NOT_SENDABLE(
            f"the pullback of a call of {name} cannot be pickled: what it keeps is in the memory of this process",
            help=f"send {name} and its arguments, and call the pullback there; or send the cotangents that it gives",
        )

    def __copy__(self) -> Pullback:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Pullback:
        return self

    def __repr__(self) -> str:
        code = self._code
        arguments = ", ".join(f"{n}: {a}" for n, a in zip(code.names, code.abstracts, strict=True))
        return f"<pullback of {code.subject.name}({arguments})>"

    @public
    def dump_ir(self, stage: str = "adjoint") -> str:
        """The IR of the forward and reverse sweeps at a stage; see ``adc.dump``."""
        from adc.dump import dump

        return dump(self._code.subject, self._code.abstracts, stage, kind="pullback")

    @public
    def __call__(self, cotangent: Any = None, *, final: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        code = self._code
        for k, mark in self._marks.items():
            if fingerprint(self._kept[k]) != mark:
                raise kinds.CHANGED_ARRAY(
                    f"{code.leaf_name(k)} was changed after the forward sweep of {code.subject.name}, which needs it",
                    help="call the pullback before changing the array, or pass a copy to the function",
                )
        seeds = Seeds(code.names, code.abstracts, code.traced)
        seeds.add_result(cotangent)
        seeds.add_final(final or {})
        found = self._pulled(seeds)
        cotangents = tuple(built(tree, found) for tree in code.wanted.positional)
        return code.subject.parameters.without_first(cotangents, self._given)

    def by_result(self, cotangents: Mapping[int, Any]) -> Callable[[int], Any]:
        """As a call, given the cotangents of results of the IR by their positions: what gives that of each argument."""
        return self._pulled(Seeds(self._code.names, self._code.abstracts, self._code.traced, dict(cotangents)))

    def _pulled(self, seeds: Seeds) -> Callable[[int], Any]:
        code = self._code
        with self._turn:
            if code.has_record:
                self._turn.check(code.subject.name)
            shadows = {**self._shadows, **{k: _new_array(*self._like[k]) for k in code.fresh}}
            for k, shadow in shadows.items():
                if k not in code.cleared:
                    shadow.fill(0)
            rest = self._seed_arguments(seeds, shadows)
            cotangents = [self._seed(k, seeds.results.get(k)) for k in code.taken]
            record = [self._record] if code.has_record else []
            ordered = [as_pairs(shadows[k]) for k in code.shadows]
            results = code.reverse(*self._kept.values(), *ordered, *cotangents, *record)
            return self._cotangents(results, shadows, rest)

    def _seed(self, position: int, value: Any) -> Any:
        t = self._code.result_types[position]
        if not isinstance(t, MemRefType):
            kind = numpy_dtype(t).type
            number = kind(0 if value is None else _number(value))
            return float(number) if kind is np.float64 else number
        shape = self._shapes[position]
        if t.rank > len(shape):  # of complex numbers
            return as_pairs(self._pairs_seed(value, shape, np.result_type(numpy_dtype(t.element), np.complex64)))
        if value is None:
            return np.zeros(shape, numpy_dtype(t.element))
        given = _array(value, "the result")
        if given.shape != shape:
            raise kinds.COTANGENT_SHAPE(
                f"the cotangent of a result of shape {shape} has shape {given.shape}",
                help="pass an array of the shape of the result",
            )
        return np.ascontiguousarray(given, numpy_dtype(t.element)).reshape(shape)

    def _pairs_seed(self, value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
        if value is None:
            return np.zeros(shape, dtype)
        given = _array(value, "the result", allowed="fiubc")
        if given.shape != shape:
            raise kinds.COTANGENT_SHAPE(
                f"the cotangent of a result of shape {shape} has shape {given.shape}",
                help="pass an array of the shape of the result",
            )
        return np.ascontiguousarray(given.conj(), dtype).reshape(shape)

    def _seed_arguments(self, seeds: Seeds, shadows: Mapping[int, NDArray]) -> dict[int, Any]:
        """Put the cotangents of final states into the shadows. Returns those of what has no shadow."""
        rest: dict[int, Any] = {}
        for k, value, name in seeds.arguments:
            shadow = shadows.get(k)
            shape = self._like[k][0] if k in self._like else ()
            pairs = k in self._like and self._like[k][1].kind == "c"
            given = _array(value, name, allowed="fiubc" if pairs else "fiub")
            if given.shape != shape:
                raise kinds.COTANGENT_SHAPE(
                    f"the cotangent of {name} has shape {given.shape}, not {shape}",
                    help=f"pass an array of the shape of {name}",
                )
            if shadow is not None and k not in self._code.cleared:
                shadow += given.conj()
            else:
                rest[k] = rest.get(k, 0.0) + (given.conj() if shape or pairs else _number(value))
        return rest

    def _cotangents(
        self, results: tuple[Any, ...], shadows: Mapping[int, NDArray], rest: Mapping[int, Any]
    ) -> Callable[[int], Any]:
        code = self._code
        scalars = dict(zip(code.plan.cotangents_out, results, strict=True))
        arrays = {k: shadow if k in code.fresh else shadow.copy() for k, shadow in shadows.items()}

        def array(position: int) -> NDArray:
            known = arrays.get(position)
            if known is None:
                known = arrays[position] = np.zeros(*self._like[position])
            return known

        for k in rest.keys() & self._like.keys():
            array(k)[...] += rest[k]

        turned = imaginary(code.wanted)

        def cotangent(position: int) -> Any:
            abstract = code.traced.leaves[position].abstract
            if isinstance(abstract, Array):
                return array(position).conj() if is_pairs(abstract) else array(position)
            assert isinstance(abstract, Scalar)
            value = scalars.get(position, 0.0) + rest.get(position, 0.0)
            value = -value if position in turned else value
            return binding.as_scalar(value, abstract.type, strong=not abstract.weak)

        return cotangent


def _new_array(shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray:
    from adc.backend.runtime import empty  # loads the code generator, which the interpreter does without

    return empty(shape, dtype)


def _number(value: Any) -> float:
    """A cotangent of a float. What is no real number is refused: the imaginary part would be lost in silence."""
    try:
        given = _array(value, "a float")
    except AdcError:
        raise kinds.WRONG_COTANGENT(
            f"the cotangent of a float is a float, not {value!r}", help="pass 1.0, for instance"
        ) from None
    if given.shape != ():
        raise kinds.COTANGENT_SHAPE(
            f"the cotangent of a float has shape {given.shape}", help="pass a float: 1.0, for instance"
        )
    return float(given)


def _array(value: Any, what: str, allowed: str = "fiub") -> NDArray:
    """A cotangent as an array of numbers, real ones unless NumPy's ``allowed`` say otherwise."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows that differ in length
        array = np.empty((), object)
    if array.dtype.kind not in allowed:
        raise kinds.WRONG_COTANGENT(
            f"the cotangent of {what} is made of real numbers, not of {array.dtype}",
            help="pass floats; the real part of what is complex",
        )
    return array


def _shapes(traced: Traced, raw: Any) -> dict[int, tuple[int, ...]]:
    """The shapes of the arrays that the function returns or leaves in objects, by the position of the IR result."""
    trees = [traced.result, *traced.changed.values()]
    parts = zip(trees, raw if traced.changed else [raw], strict=True)
    return {leaf.position: np.shape(value) for tree, part in parts for leaf, value in result_leaves(tree, part)}


def fingerprint(array: NDArray) -> tuple[Any, ...]:
    """A short summary of the contents of an array, by which a change shows. Costs a pass over the memory."""
    from adc.backend.runtime import digest  # loads the code generator, which the interpreter does without

    return array.shape, digest(array)
