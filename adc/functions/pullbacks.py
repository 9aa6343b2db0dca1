"""Pullbacks: the record of a call's forward sweep, through which cotangents can be pulled back any number of times."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from adc.border import binding
from adc.border.boundary import leaving, public
from adc.border.complexes import as_pairs, imaginary, is_pairs
from adc.border.cotangents import Seeds
from adc.border.selecting import built
from adc.border.signature import at
from adc.driver.specialise import Misfit, Specialisation
from adc.errors import AdcError
from adc.frontend.abstract import Array, Scalar, numpy_dtype
from adc.functions.record_locks import RecordLock
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import MemRefType

if TYPE_CHECKING:
    from adc.border.selecting import Wanted
    from adc.ir.types import Type
    from adc.passes.differentiation.call_plan import CallPlan

NDArray = np.ndarray[Any, Any]


class Sweeps(Specialisation):
    """The two compiled sweeps of a function, as its pullbacks use them. Arguments and results are given by number."""

    reverse: Callable[..., Any]
    at_once: Callable[..., Any] | None  # the reverse sweep called directly, if only cotangents need to be checked
    plan: CallPlan
    wanted: Wanted
    result_types: Sequence[Type]
    taken: Sequence[int]  # results whose cotangents the reverse sweep takes
    arrays: Mapping[int, tuple[Any, ...]]  # the array results, with their paths in the result
    choices: Mapping[int, tuple[Any, ...]]  # the numbers of what was chosen, with their paths in the result
    array_leaves: Collection[int]  # the array arguments
    shadows: Sequence[int]  # arguments that have a shadow
    fresh: Collection[int]  # those whose shadow is new in each reverse sweep
    cleared: frozenset[int]  # those whose shadow the reverse sweep clears
    keeps: Sequence[bool]  # by argument: whether the reverse sweep takes it
    keeps_all: bool
    looked_at: Sequence[tuple[int, Callable[[Any], Any]]]  # arrays that must not change, and what is compared of them
    has_record: bool
    takes_turns: bool  # whether two threads must not run the reverse sweep at once


class Owner:
    """A placeholder for the ``code`` of a pullback, in the functions that compiled code calls."""

    __slots__ = ("code",)
    code: Sweeps

    def __reduce__(self) -> tuple[Any, ...]:
        return Owner, ()  # the code sets itself when it is loaded


def with_pullback(owner: Owner, result: Any, record: object, *leaves: Any) -> tuple[Any, Pullback]:
    """The result of a forward sweep called from Python; compiled code calls this function."""
    return result, Pullback(owner.code, leaves, result, record)


class Pullback:
    """Maps cotangents of a call's result, and of the final contents of its arguments, to cotangents of its arguments.

    Call it with a cotangent that has the structure of the result (with no argument if the result has no floats).
    ``final`` gives cotangents of the contents of arrays after the call, by parameter name. The result is a tuple with
    one cotangent per parameter, and None for parameters that are not differentiable. It may be called any number of
    times. Arrays that the reverse sweep reads must not have changed since the forward sweep; otherwise
    ``DifferentiationError`` says which did.
    """

    __slots__ = (
        "__weakref__",
        "_chosen",
        "_code",
        "_given",
        "_leaves",
        "_looks",
        "_record",
        "_shadows",
        "_shapes",
        "_turn",
    )

    def __init__(self, code: Sweeps, leaves: tuple[Any, ...], result: Any, record: object) -> None:
        self._code = code
        self._leaves = leaves if code.keeps_all else tuple(map(_without_contents, leaves, code.keeps))
        self._record = record
        self._shadows: Mapping[int, NDArray] = _NONE  # shadows that were passed to the forward sweep
        self._looks = [look(leaves[k]) for k, look in code.looked_at]
        self._shapes = [at(result, path).shape for path in code.arrays.values()]  # of the arrays in the result
        self._chosen = {k: at(result, path) for k, path in code.choices.items()} if code.choices else _NONE
        self._turn = RecordLock(record) if code.takes_turns else None
        self._given = 0

    def without(self, count: int) -> Pullback:
        """The same pullback without the cotangents of the first ``count`` arguments, which are bound."""
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
        """The IR of the forward and reverse sweeps at a stage; see ``adc.reports.dump``."""
        from adc.reports.dump import dump

        return dump(self._code.subject, self._code.abstracts, stage, kind="pullback")

    def adc_call(self, cotangent: Any = None, *, final: Mapping[str, Any] | None = None) -> tuple[Any, ...]:
        at_once, changed = self._code.at_once, self._changed()
        if type(cotangent) is np.float64:
            cotangent = float(cotangent)
        if at_once is not None and final is None and changed is None and self._fits(cotangent):
            try:
                if self._turn is None:
                    return self._without_given(at_once(cotangent, self._leaves, self._record))
                if not self._turn.lost:
                    with self._turn:
                        return self._without_given(at_once(cotangent, self._leaves, self._record))
            except Misfit:
                pass
        try:
            if changed is not None:
                raise self._refused(changed)
            return self._slowly(cotangent, final)
        except Exception as error:
            left = leaving(error)
        raise left

    __call__ = adc_call  # the name that tracebacks may show
    __call__.__qualname__ = "pullback"  # the name in errors about wrong arguments
    del adc_call

    def _without_given(self, cotangents: tuple[Any, ...]) -> tuple[Any, ...]:
        count = self._given
        return cotangents if count == 0 else self._code.subject.parameters.without_first(cotangents, count)

    def _fits(self, cotangent: Any) -> bool:
        """Whether the arrays of a cotangent have the shapes of those in the result."""
        if not self._shapes:
            return True
        try:
            return self._shapes == [at(cotangent, path).shape for path in self._code.arrays.values()]
        except (AttributeError, TypeError, IndexError):
            return False

    def _changed(self) -> int | None:
        """The first array that the reverse sweep needs and that has changed since the forward sweep; None if there is
        none."""
        for (k, look), before in zip(self._code.looked_at, self._looks, strict=True):
            if look(self._leaves[k]) != before:
                return k
        return None

    def _refused(self, changed: int) -> Exception:
        code = self._code
        return kinds.CHANGED_ARRAY(
            f"{code.leaf_name(changed)} was changed after the forward sweep of {code.subject.name}, which needs it",
            help="call the pullback before changing the array, or pass a copy to the function",
        )

    def _laid_out_anew(self) -> Exception:
        code = self._code
        arrays = " or ".join(dict.fromkeys(code.leaf_name(k) for k, _ in code.looked_at))
        return kinds.CHANGED_ARRAY(
            f"{arrays} has got another dtype or other strides after the forward sweep of {code.subject.name}",
            help="call the pullback before changing the array, or pass a view of it to the function",
        )

    def _slowly(self, cotangent: Any, final: Mapping[str, Any] | None) -> tuple[Any, ...]:
        code = self._code
        seeds = Seeds(code.names, code.abstracts, code.traced, self._chosen)
        seeds.add_result(cotangent)
        seeds.add_final(final or {})
        found = self._pulled(seeds)
        cotangents = tuple(built(tree, found) for tree in code.wanted.positional)
        return self._without_given(cotangents)

    def by_result(self, cotangents: Mapping[int, Any]) -> Callable[[int], Any]:
        """Like a call, given the cotangents of IR results by position; returns a function from arguments to their
        cotangents."""
        code = self._code
        return self._pulled(Seeds(code.names, code.abstracts, code.traced, self._chosen, dict(cotangents)))

    def _pulled(self, seeds: Seeds) -> Callable[[int], Any]:
        code = self._code
        with nullcontext() if self._turn is None else self._turn:
            if code.has_record and self._turn is not None:
                self._turn.check(code.subject.name)
            shadows = {**self._shadows, **{k: _new_array(*self._like(k)) for k in code.fresh}}
            for k, shadow in shadows.items():
                if k not in code.cleared:
                    shadow.fill(0)
            rest = self._seed_arguments(seeds, shadows)
            cotangents = [self._seed(k, seeds.results.get(k)) for k in code.taken]
            record = [self._record] if code.has_record else []
            ordered = [as_pairs(shadows[k]) for k in code.shadows]
            try:
                results = code.reverse(*(self._leaves[k] for k in code.plan.kept), *ordered, *cotangents, *record)
            except Misfit:
                raise self._laid_out_anew() from None
            return self._cotangents(results, shadows, rest)

    def _like(self, position: int) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Shape and dtype of an array argument of the call, on which the results need not depend."""
        leaf = self._leaves[position]
        return leaf.shape, leaf.dtype

    def _seed(self, position: int, value: Any) -> Any:
        t = self._code.result_types[position]
        if not isinstance(t, MemRefType):
            kind = numpy_dtype(t).type
            number = kind(0 if value is None else _number(value))
            return float(number) if kind is np.float64 else number
        shape = self._shapes[list(self._code.arrays).index(position)]
        if t.rank > len(shape):  # complex numbers
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
        """Put the cotangents of final contents into the shadows. Returns those of arguments without a shadow."""
        rest: dict[int, Any] = {}
        for k, value, name in seeds.arguments:
            shadow = shadows.get(k)
            shape, dtype = self._like(k) if k in self._code.array_leaves else ((), None)
            pairs = dtype is not None and dtype.kind == "c"
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
                known = arrays[position] = np.zeros(*self._like(position))
            return known

        for k in rest.keys() & code.array_leaves:
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
    from adc.backend.runtime import empty  # loads the code generator, which the interpreter does not need

    return empty(shape, dtype)


def _number(value: Any) -> float:
    """A cotangent of a float. Anything but a real number is refused, because an imaginary part would be lost
    silently."""
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
    """A cotangent as an array of numbers; ``allowed`` are NumPy's dtype kinds, by default those of real numbers."""
    try:
        array = np.asarray(value)
    except ValueError:  # rows of different lengths
        array = np.empty((), object)
    if array.dtype.kind not in allowed:
        raise kinds.WRONG_COTANGENT(
            f"the cotangent of {what} is made of real numbers, not of {array.dtype}",
            help="pass floats; the real part of what is complex",
        )
    return array


@dataclass(frozen=True)
class _Unused:
    """A placeholder for an array that the reverse sweep does not need."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def _without_contents(leaf: Any, kept: bool) -> Any:
    return leaf if kept else _Unused(leaf.shape, leaf.dtype)


def shape(array: NDArray) -> tuple[int, ...]:
    """The shape of an array, which can be changed without changing its contents."""
    found: tuple[int, ...] = array.shape
    return found


def fingerprint(array: NDArray) -> tuple[Any, ...]:
    """A digest of the contents of an array, which reveals a change. It costs a pass over the memory."""
    return array.shape, _digest()(array)


@functools.cache
def _digest() -> Callable[[NDArray], int]:
    from adc.backend.runtime import digest  # loads the code generator, which the interpreter does not need

    return digest


_NONE: Mapping[int, Any] = MappingProxyType({})
