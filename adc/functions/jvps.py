"""Forward mode from Python: the derivative of a call along tangents of its arguments.

The derivative is compiled for the types of the arguments and the set of arguments with tangents. Like a gradient it
does not change the caller's arrays: it works on copies of those that the function changes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.backend.calls.abi import Out, TupleOut
from adc.backend.calls.stub import set_miss
from adc.border import aliasing, binding, containers
from adc.border.alignment import Borrowed
from adc.border.boundary import leaving
from adc.border.complexes import as_pairs, is_pairs
from adc.border.containers import Lowered, lower
from adc.border.directions import Direction, bound_tangents, directions, sequence_of
from adc.border.options import Derivative, Selection
from adc.border.signature import replace_leaves
from adc.border.tangent_trees import Carried, TangentTrees
from adc.driver.compiler import Staged, compile_functions
from adc.driver.specialise import Specialisation
from adc.driver.subject import Builtin, Subject
from adc.frontend.abstract import Abstract, Array, Scalar, numpy_dtype
from adc.frontend.rules.registry import RULES
from adc.frontend.traced import Result, ResultLeaf, ResultTuple, Traced
from adc.functions.dispatch import Dispatcher, writable
from adc.functions.tangent_calls import direct, signature_of
from adc.ir import kinds, ops
from adc.ir.builder import build, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Func, Op
from adc.ir.lazy_dataclass import dataclass

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Pattern:
    """What code is compiled for: the IR arguments with tangents, those whose final tangents are wanted, and whether the
    value is wanted (otherwise code need not compute what only the value needs). ``words``: tangents are dependence
    sets, in words of 64 bits."""

    wrt: frozenset[int]
    final: frozenset[int] = frozenset()
    value: bool = True
    words: bool = False


class JvpFunction(Dispatcher):
    """The derivative of a function along tangents: forward mode. It is called with a tuple of arguments and a tuple of
    tangents, and returns the value and its tangent, or without ``with_value`` the tangent alone."""

    _kind = "jvp"

    def __init__(self, subject: Subject, chosen: Selection, of: Derivative, *, with_value: bool = True) -> None:
        super().__init__(subject, chosen)
        self._of = of
        self._with_value = with_value

    def _compile(self, staged: Staged) -> Specialisation:
        return JvpCode(staged, self._of)

    @property
    def _kept_as(self) -> tuple[Any, ...]:
        return "jvp", self._of, self._with_value

    @property
    def _forward_of(self) -> Derivative:
        return self._of

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        return writable(abstracts)

    def _dispatch(self, args: Any, tangents: Any) -> Any:
        result = self.evaluate(args, tangents)
        return result if self._with_value else result[1]

    def evaluate(self, args: Any, tangents: Any, final: Sequence[str] = ()) -> tuple[Any, ...]:
        """The value and its tangent for a call with ``args``, and the final contents of parameters; see ``adc.jvp``."""
        subject, borrowed, version = self._subject, Borrowed(), RULES.version
        try:
            args = sequence_of(args, subject.name)
            values = subject.parameters.bind(args, {})
            given = bound_tangents(subject.parameters.signature, subject.name, args, tangents)
            lowered = lower(subject.parameters.names, values)
            spec, values = self._find(lowered, borrowed)
            assert isinstance(spec, JvpCode)
            result, found = spec.evaluate(values, lowered, given, final, value=self._with_value)
            self._keep(spec)
            if found is not None and found is not self._target and subject.target.resident:
                set_miss(found, self._miss)
                self._set_target(found)
                if RULES.version != version:  # a rule was declared meanwhile
                    self._set_target(None)
            return result
        except Exception as error:
            left = leaving(error, subject.name)
        finally:
            borrowed.give_back()
        raise left


class JvpCode(Specialisation):
    """The forward mode of a function for argument types: one compiled function for each pattern of tangents."""

    def __init__(self, staged: Staged, of: Derivative) -> None:
        self._of = of
        self.of_gradient = bool(of.chain)
        self._unused: Traced | None = staged.function(of)
        super().__init__(staged, self._unused)
        self._codes: dict[Pattern, _Code] = {}
        # Whether arguments and results are passed between caller and compiled code unchanged.
        self.is_plain = not (self.wrapped or self.aliased or self.traced.mutated or self.traced.stored)
        if containers.mentions(self.traced.result, self.traced.changed):
            raise kinds.NO_DERIVATIVE(
                f"{self.subject.name} returns an argument that it changes, and jvp leaves arguments as they were",
                self.traced.module.funcs[self.traced.entry].loc,
                help="return a copy, or what the argument holds",
            )

    def __getstate__(self) -> dict[str, Any]:
        """What is recorded for other processes (``adc.persistent``)."""
        return {**self.__dict__, "_unused": None}

    def _code(self, pattern: Pattern, given: Mapping[int, Direction] | None = None) -> _Code:
        """The code for a pattern; if it is compiled now, it also supports direct calls with tangents like those
        ``given``."""
        found = self._codes.get(pattern)
        if found is not None:
            return found
        with self.subject.lock:
            if pattern not in self._codes:
                traced = self._unused or self.staged.function(self._of)
                self._unused = None  # compiling changes its module
                self._codes[pattern] = _Code(self, traced, pattern, given or {})
            return self._codes[pattern]

    def evaluate(
        self, values: tuple[Any, ...], lowered: Lowered, tangents: Sequence[Any], final: Sequence[str], *, value: bool
    ) -> tuple[tuple[Any, ...], Builtin | None]:
        """The result of the call, and the code that runs such calls without Python in between, if there is one."""
        given = directions(self.names, self.abstracts, self.traced.leaves, values, tangents)
        for name in final:
            if name not in self.names:
                raise kinds.WRONG_TANGENT(f"{self.subject.name} has no parameter {name!r}, whose final state is wanted")
        last = self.traced.mutated if final else frozenset()
        pattern = Pattern(frozenset(given), last, value)
        code = self._code(pattern, given)
        sweep = self.sweep(values, given, pattern)
        result = sweep.value
        trees = TangentTrees(self.names, self.abstracts, self.traced, sweep.held)
        tangent = trees.result(self.traced.result, result)
        if containers.needs_assembly(self.traced.result):
            result = containers.assemble(self.traced.result, result, dict(enumerate(lowered.objects)))
        if not final:
            return (result, tangent), code.direct
        states = {name: trees.final(name, sweep.effects) for name in final}
        return (result, tangent, states), None

    def sweep(self, values: tuple[Any, ...], given: Mapping[int, Direction], pattern: Pattern) -> Sweep:
        """Run the function along a direction."""
        values = self.canonical(values)
        code = self._code(pattern)
        leaves = self.leaf_values(values)
        self.check_captures(leaves)
        arranged = self._arranged(code, leaves, given, pattern.words)
        replaced = {binding.leaf_path(self.names, self.traced.leaves[k]): a for k, a in arranged.copies.items()}
        carried = (as_pairs(arranged.tangents[k]) for k in code.arguments)
        raw, found = code.kernel(*replace_leaves(values, replaced), *carried)
        results = dict(zip(code.results, found, strict=True))
        if not code.value:
            raw = _placeholder(self.traced.result, results)
        value, *effects = raw if self.traced.changed else [raw]
        # Arguments that the code does not use keep their tangents.
        kept = {k: direction.value[()] for k, direction in given.items()}
        held = Carried({**dict(enumerate(leaves)), **arranged.copies}, {**kept, **arranged.tangents}, results)
        return Sweep(value, dict(zip(self.traced.changed, effects, strict=True)), held)

    def floats_decide(self, pattern: Pattern) -> bool:
        """Whether code for a pattern has branches, trip counts or subscripts that may depend on floats."""
        return self._code(pattern).floats_decide

    def _arranged(self, code: _Code, leaves: list[Any], given: Mapping[int, Direction], words: bool) -> _Arranged:
        """Copies of arguments that are changed, and the tangents for compiled code."""
        mutated = self.traced.mutated
        copies: dict[int, NDArray] = {}
        tangents: dict[int, Any] = {}
        for members in self.sharing(leaves):
            arrays = {k: leaves[k] for k in members}
            names = {k: self.leaf_name(k) for k in members}
            copies.update(aliasing.laid_out_alike(arrays, copy=True, names=names))
            carried = {k: a for k, a in arrays.items() if k in code.arguments}
            if carried:
                tangents.update(_shared(carried, given, names))
        for k in code.arguments:
            if k not in tangents:
                tangents[k] = self.tangent(k, leaves[k], given.get(k), words=words)
        for k in mutated:
            if k not in copies and isinstance(leaves[k], np.ndarray):
                copies[k] = _like(leaves[k], self._layout(k), leaves[k])
        return _Arranged(copies, tangents)

    def _layout(self, k: int) -> Any:
        abstract = self.traced.leaves[k].abstract
        assert isinstance(abstract, Array)
        return abstract.layout

    def tangent(self, k: int, value: Any, direction: Direction | None, *, words: bool) -> Any:
        """The tangent of a leaf for compiled code: in the layout of the argument, and a copy if it is changed."""
        abstract = self.traced.leaves[k].abstract
        if isinstance(abstract, Scalar):
            dtype = np.dtype(np.int64) if words else numpy_dtype(abstract.type)
            number = dtype.type(0 if direction is None else direction.value)
            return float(number) if isinstance(number, np.float64) else number
        layout, dtype = self._layout(k), np.dtype(np.int64) if words else value.dtype
        if direction is None:
            return aliasing.zeros(value.shape, dtype, layout)
        given = direction.value
        if layout == "C" and k not in self.traced.mutated and _is_plain(given):
            return given
        made = aliasing.zeros(value.shape, dtype, layout)
        np.copyto(made, given)
        return made


@dataclass
class _Arranged:
    """Copies that replace arguments, and the tangents for compiled code, by position of the IR argument."""

    copies: dict[int, NDArray]
    tangents: dict[int, Any]


@dataclass
class Sweep:
    """One run in forward mode: the value in nested tuples, the contents of changed objects by their numbers, and the
    tangents."""

    value: Any
    effects: dict[int, Any]
    held: Carried


class _Code:
    """Compiled code for one pattern: ``kernel`` takes the arguments, then the tangents of ``arguments``; it returns the
    result and effects, and the tangents of the IR results ``results``. ``value``: whether result and effects are
    returned."""

    def __init__(self, spec: JvpCode, traced: Traced, pattern: Pattern, given: Mapping[int, Direction]) -> None:
        from adc.passes.differentiation.forward.algebras import Dependences, Derivatives

        staged = spec.staged
        module, tangent = staged.tangent(
            traced, sorted(pattern.wrt), sorted(pattern.final), Dependences() if pattern.words else Derivatives()
        )
        func = module.funcs[tangent.name]
        pairs = _pairs(traced) if not pattern.words else frozenset[int]()
        real = not pairs and not any(is_pairs(leaf.abstract) for leaf in traced.leaves)
        plain = spec.is_plain and real and not pattern.final and not pattern.words
        self.arguments, self.results = tangent.arguments, tangent.results
        if plain:
            self.arguments = _with_unused(func, self.arguments, given)
        count = len(func.result_types) - len(self.results)
        self.value = pattern.value or not _follows(traced, self.results)
        if not self.value:
            keep_results(func, count)
            count = 0
        module = staged.prepared(module, [tangent.name])
        if spec.of_gradient:
            staged.keep_to_memory(module, tangent.name)
        outs = TupleOut(tuple(Out(count + n, pairs=k in pairs) for n, k in enumerate(self.results)))
        signature = signature_of(spec, traced, module, tangent.name, len(self.arguments), outs, value=self.value)
        reached = reachable(module, [tangent.name])
        self.floats_decide = any(_decides(op) for name in reached for op in module.funcs[name].walk())
        signatures = [signature]
        if plain and given and given.keys() == set(self.arguments):
            tangents = {binding.leaf_path(spec.names, traced.leaves[k]): given[k].given for k in self.arguments}
            called = direct(signature, spec.abstracts, tangents, traced.result, self.results, with_value=pattern.value)
            signatures += [called] if called is not None else []
        made = compile_functions(staged, module, signatures, refuse_arguments(spec.subject.name))
        self.kernel: Builtin = made[0]
        self.direct: Builtin | None = made[1] if len(made) > 1 else None


def _with_unused(func: Func, used: Sequence[int], given: Iterable[int]) -> tuple[int, ...]:
    """The arguments whose tangents ``func`` takes, extended by tangents that are given but not used: then calls need no
    Python in between."""
    from adc.ir.attached import TANGENT

    unused = [k for k in given if k not in used]
    for k in unused:
        func.body.add_arg(func.args[k].type, f"{func.args[k].hint}_unused")
        func.arg_attrs.append({TANGENT: k})
    return (*used, *unused)


def _pairs(traced: Traced) -> frozenset[int]:
    """The results of the IR that are arrays of complex numbers."""
    leaves = [leaf for tree in (traced.result, *traced.changed.values()) for leaf in containers.leaf_results(tree)]
    return frozenset(leaf.position for leaf in leaves if is_pairs(leaf.abstract))


def _decides(op: Op) -> bool:
    """Whether an operation computes, from floats, a value that may control what runs."""
    floats = any(v.type.is_float for v in op.operands)
    return floats and any(r.type.is_integer for r in op.results) and not op.regions and op.opdef is not ops.call


def _follows(traced: Traced, results: Sequence[int]) -> bool:
    """Whether the tangent of the result can be assembled without the value, because all its leaves have tangents."""
    plain = not containers.is_run_time_list(traced.result) and not traced.changed
    return plain and all(k in results for k in containers.positions(traced.result))


def _placeholder(tree: Result, results: Mapping[int, Any]) -> Any:
    """Nested tuples that stand for a value that was not computed: its tangents, which have the same shapes."""
    if isinstance(tree, ResultTuple):
        return tuple(_placeholder(item, results) for item in tree.items)
    return results[tree.position] if isinstance(tree, ResultLeaf) else tree.value


def keep_results(func: Func, first: int) -> None:
    """Let a function return only its results from ``first`` on."""
    end = func.body.terminator
    func.body.set_ops(func.body.ops[:-1])
    with insert_at(func.body, end.loc):
        build(ops.return_, end.operands[first:])
    end.drop()
    func.result_types = func.result_types[first:]


def refuse_arguments(name: str) -> Callable[..., Any]:
    """The function to be called for arguments that compiled code was not compiled for; it raises."""
    return functools.partial(_refuse, name)


def _refuse(name: str, *args: Any) -> Any:
    raise kinds.WRONG_ARGUMENTS(f"{name}: compiled code does not take these arguments")


def _is_plain(array: NDArray) -> bool:
    return type(array) is np.ndarray and array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


def _like(value: NDArray, layout: Any, contents: NDArray) -> NDArray:
    """A new array with the shape and dtype of ``value``, the given layout, and ``contents``."""
    made = aliasing.zeros(value.shape, value.dtype, layout)
    np.copyto(made, contents)
    return made


def _shared(
    arrays: Mapping[int, NDArray], given: Mapping[int, Direction], names: Mapping[int, str]
) -> dict[int, NDArray]:
    """The tangents of arguments that share memory; they share memory, too. Given tangents must agree where they
    overlap."""
    made = aliasing.laid_out_alike(arrays, copy=False, names=names)
    for k, array in made.items():
        if k in given:
            np.copyto(array, given[k].value)
    for k, array in made.items():
        if k in given and not np.array_equal(array, given[k].value, equal_nan=True):
            raise kinds.WRONG_TANGENT(
                f"{given[k].where} differs from the tangent of another argument that shares its memory",
                help="give equal tangents, or None for one of them",
            )
    return made
