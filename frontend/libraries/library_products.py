"""Products of arrays along axes: NumPy's dot, inner, tensordot, vecdot and einsum."""

from __future__ import annotations

import string
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.arrays import arrays
from adc.frontend.arrays.contractions import Labelled, contract, in_memory
from adc.frontend.arrays.matmul import matmul
from adc.frontend.arrays.reductions import normal_axes
from adc.frontend.data.dims import static_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import AbstractValue, Array, Lazy, Static, Tuple, is_numeric
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.library_complex import conjugate
from adc.frontend.libraries.rules import Rule, positional, static_of, take
from adc.frontend.numeric.convert import unboxed
from adc.frontend.numeric.nests import constant_array, lazy_of
from adc.ir import kinds
from adc.ir.builder import current_loc


def _dot(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    a, b = unboxed(a), unboxed(b)
    if is_numeric(a) or is_numeric(b):
        return arrays.operate(frame, "*", a, b)
    y = in_memory(frame, "np.dot", b)
    return _tensordot(frame, "np.dot", in_memory(frame, "np.dot", a), y, (-1,), (-2 if y.rank > 1 else -1,))


def _inner(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    a, b = unboxed(a), unboxed(b)
    if is_numeric(a) or is_numeric(b):
        return arrays.operate(frame, "*", a, b)
    x, y = (in_memory(frame, "np.inner", v) for v in (a, b))
    return _tensordot(frame, "np.inner", x, y, (-1,), (-1,))


def _vdot(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    x, y = (in_memory(frame, "np.vdot", v) for v in (conjugate(frame, a), b))
    if x.rank != y.rank:
        raise refuse(
            current_loc(),
            "np.vdot() of arrays of different ranks is not supported",
            "use np.sum(a * b), of one shape",
            kind=kinds.UNSUPPORTED_OPTION,
        )
    return _tensordot(frame, "np.vdot", x, y, tuple(range(x.rank)), tuple(range(y.rank)))


def _vecdot(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    x, y = (in_memory(frame, "np.vecdot", v) for v in (conjugate(frame, a), b))
    leading = tuple(range(1 - max(x.rank, y.rank), 0))
    of_x, of_y = (((*leading[len(leading) + 1 - v.rank :], "inner")) for v in (x, y))
    return contract(frame, "np.vecdot", [Labelled(x, of_x), Labelled(y, of_y)], leading, frozenset(leading))


def _matvec(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    x, y = (in_memory(frame, "np.matvec", v) for v in (a, b))
    count = max(x.rank - 2, y.rank - 1)
    leading = tuple(range(-count, 0))
    of_x, of_y = (*leading[count + 2 - x.rank :], "row", "inner"), (*leading[count + 1 - y.rank :], "inner")
    return contract(frame, "np.matvec", [Labelled(x, of_x), Labelled(y, of_y)], (*leading, "row"), frozenset(leading))


def _vecmat(frame: Frame, a: AbstractValue, b: AbstractValue) -> AbstractValue:
    x, y = (in_memory(frame, "np.vecmat", v) for v in (conjugate(frame, a), b))
    count = max(x.rank - 1, y.rank - 2)
    leading = tuple(range(-count, 0))
    of_x, of_y = (*leading[count + 1 - x.rank :], "inner"), (*leading[count + 2 - y.rank :], "inner", "column")
    both = [Labelled(x, of_x), Labelled(y, of_y)]
    return contract(frame, "np.vecmat", both, (*leading, "column"), frozenset(leading))


def _tensordot(
    frame: Frame, name: str, x: Lazy, y: Lazy, of_x: Sequence[int], of_y: Sequence[int]
) -> AbstractValue:
    first, second = normal_axes(of_x, x.rank), normal_axes(of_y, y.rank)
    if len(first) != len(second):
        raise refuse(current_loc(), f"{name}: shape-mismatch for sum", "name as many axes", kind=kinds.INVALID_AXIS)
    one: list[Hashable] = [("a", k) for k in range(x.rank)]
    two: list[Hashable] = [("b", k) for k in range(y.rank)]
    for n, (i, j) in enumerate(zip(first, second, strict=True)):
        one[i] = two[j] = n
    out = tuple(label for label in (*one, *two) if isinstance(label, tuple))
    return contract(frame, name, [Labelled(x, tuple(one)), Labelled(y, tuple(two))], out)


def _by_axes(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    a, b, axes = take("np.tensordot", ["a", "b", "axes"], args, kwargs)
    assert a is not None and b is not None
    x, y = (in_memory(frame, "np.tensordot", v) for v in (a, b))
    if isinstance(axes, Tuple):
        if len(axes.items) != 2:
            raise refuse(
                current_loc(),
                "np.tensordot() takes a number of axes, or those of either array",
                kind=kinds.INVALID_AXIS,
            )
        first, second = (_numbers(item) for item in axes.items)
    else:
        count = 2 if axes is None else static_of(axes, "axes")
        first, second = tuple(range(x.rank - count, x.rank)), tuple(range(count))
    return _tensordot(frame, "np.tensordot", x, y, first, second)


def _numbers(v: AbstractValue) -> tuple[int, ...]:
    items = v.items if isinstance(v, Tuple) else (v,)
    found = tuple(static_of(item, "axes") for item in items)
    return tuple(int(n) for part in found for n in (part if isinstance(part, tuple | list) else (part,)))


# Einstein's notation --------------------------------------------------------------------------------------------------

_OPTIONS = ("optimize",)


def _einsum(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    for option in kwargs:
        if option not in _OPTIONS:
            message = f"np.einsum() does not take {option}= here"
            raise refuse(current_loc(), message, "store what it gives", kind=kinds.UNSUPPORTED_OPTION)
    if not args or not isinstance(args[0], Static) or not isinstance(args[0].value, str):
        shown = describe_type(args[0]) if args else "nothing"
        message = f"np.einsum() takes a text that is known when the function is compiled, not {shown}"
        raise refuse(current_loc(), message, "write np.einsum('ij,jk->ik', a, b)", kind=kinds.WRONG_TYPE)
    subscripts = args[0].value.replace(" ", "")
    operands = [in_memory(frame, "np.einsum", a) for a in args[1:]]
    labels, out = _parsed(subscripts, operands)
    given = [Labelled(x, found) for x, found in zip(operands, labels, strict=True)]
    for pair in _order(given, out):
        chosen = [given.pop(k) for k in sorted(pair, reverse=True)][::-1]
        needed = {*out, *(label for other in given for label in other.labels)}
        kept = tuple(dict.fromkeys(label for one in chosen for label in one.labels if label in needed))
        made = _combined(frame, chosen, kept if given else out)
        if not given:
            return made
        x = lazy_of(made) if isinstance(made, Array | Lazy) else constant_array(made)
        given.append(Labelled(x, kept))
    raise AssertionError


def _combined(frame: Frame, operands: Sequence[Labelled], out: tuple[Hashable, ...]) -> AbstractValue:
    every = frozenset(label for one in operands for label in one.labels)
    message = "np.einsum: operands could not be broadcast together, {} and {}"
    return contract(frame, "np.einsum", operands, out, every, message)


def _parsed(subscripts: str, operands: Sequence[Lazy]) -> tuple[list[tuple[Hashable, ...]], tuple[Hashable, ...]]:
    """The labels of the axes of each operand, and of the result; axes in an ellipsis have numbers, from the last
    one."""
    given, arrow, wanted = subscripts.partition("->")
    parts = given.split(",")
    if len(parts) != len(operands):
        raise _wrong(f"it has {len(parts)} operands, and {len(operands)} are given")
    labels: list[tuple[Hashable, ...]] = []
    most = 0
    for part, x in zip(parts, operands, strict=True):
        count = x.rank - len(part.replace("...", ""))
        if count < 0 or (count and "..." not in part):
            raise _wrong(f"'{part}' does not fit an array of {x.rank} dimensions")
        most = max(most, count)
        labels.append(_labels(part, count))
    every = [label for one in labels for label in one]
    if arrow:
        out = _labels(wanted, most)
        unknown = [label for label in out if isinstance(label, str) and label not in every]
        if unknown or len(set(out)) != len(out):
            raise _wrong(f"the output '{wanted}' names a label twice, or one that no operand has")
        if "..." not in wanted and most:
            raise _wrong("the output has no ellipsis")
        return labels, out
    single = sorted(label for label in every if isinstance(label, str) and every.count(label) == 1)
    return labels, (*range(-most, 0), *single)


def _labels(part: str, count: int) -> tuple[Hashable, ...]:
    before, ellipsis, after = part.partition("...")
    if any(c not in string.ascii_letters for c in before + after):
        raise _wrong(f"'{part}' is not made of letters")
    return (*before, *(range(-count, 0) if ellipsis else ()), *after)


def _wrong(what: str) -> Exception:
    return refuse(current_loc(), f"np.einsum(): {what}", kind=kinds.INVALID_VALUE)


def _order(operands: Sequence[Labelled], out: tuple[Hashable, ...]) -> list[tuple[int, ...]]:
    """The order in which operands are combined, as chosen by NumPy. Extents that are not known count as equal."""
    if len(operands) <= 2:
        return [tuple(range(len(operands)))]
    letters: dict[Hashable, str] = {}
    for one in operands:
        for label in one.labels:
            letters.setdefault(label, string.ascii_letters[len(letters)])
    sizes: dict[Hashable, int] = {}
    for one in operands:
        for label, d in zip(one.labels, one.array.dims, strict=True):
            sizes[label] = max(sizes.get(label, 1), static_dim(d) or 32)
    text = ",".join("".join(letters[label] for label in one.labels) for one in operands)
    text += "->" + "".join(letters[label] for label in out)
    shapes = [np.broadcast_to(0.0, tuple(sizes[label] for label in one.labels)) for one in operands]
    path = np.einsum_path(text, *shapes, optimize="greedy")[0]
    return [tuple(step) for step in path[1:]]


TABLE: dict[Any, Rule] = {
    np.dot: positional("np.dot", 2, _dot),
    np.inner: positional("np.inner", 2, _inner),
    np.vdot: positional("np.vdot", 2, _vdot),
    np.matmul: positional("np.matmul", 2, matmul),
    np.tensordot: _by_axes,
    np.einsum: _einsum,
}
for _function, _rule in (("matmul", TABLE[np.matmul]), ("tensordot", _by_axes)):
    if hasattr(np.linalg, _function):
        TABLE[getattr(np.linalg, _function)] = _rule
if hasattr(np, "vecdot"):
    TABLE[np.vecdot] = TABLE[np.linalg.vecdot] = positional("np.vecdot", 2, _vecdot)
if hasattr(np, "matvec"):
    TABLE[np.matvec] = positional("np.matvec", 2, _matvec)
    TABLE[np.vecmat] = positional("np.vecmat", 2, _vecmat)
