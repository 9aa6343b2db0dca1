"""From a call to the types that a function is specialised for: parameters, leaves of containers, overlap of arrays."""

from __future__ import annotations

import array
import enum
import inspect
import operator
import types
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from adc.border import aliasing, containers
from adc.border.alignment import Borrowed, is_addressable
from adc.border.misuse import OF_JIT_GRAD
from adc.frontend.abstract import DTYPES, Abstract, Array, Static, Tuple, abstract_of, map_abstract
from adc.frontend.suggestions import nearest
from adc.ir import kinds
from adc.ir.types import ComplexType

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class Parameters:
    """The parameters of a Python function: their names in order, and how calls bind to them."""

    def __init__(self, fn: types.FunctionType) -> None:
        self._of = _parts_of(fn)
        self.function = getattr(fn, "__qualname__", repr(fn))
        # That of the compiled function: of a wrapper, not of the function that it wraps.
        self.signature = inspect.signature(fn, follow_wrapped=False)
        self.names = tuple(self.signature.parameters)
        named = {p.kind: name for name, p in self.signature.parameters.items()}
        self.variadic = named.get(inspect.Parameter.VAR_POSITIONAL)  # the name of ``*args``
        self.keywords = named.get(inspect.Parameter.VAR_KEYWORD)  # the name of ``**kwargs``
        self._plain = all(p.kind in _POSITIONAL for p in self.signature.parameters.values())
        # The defaults of trailing parameters, which calls by position may omit.
        self.defaults: tuple[Any, ...] = ()
        if self._plain:
            defaults = [p.default for p in self.signature.parameters.values()]
            self.defaults = tuple(d for d in defaults if d is not inspect.Parameter.empty)

        # Numbers of positional-only parameters and of those that may be given by position; the values of omitted ones.
        self._positional_only = sum(p.kind is p.POSITIONAL_ONLY for p in self.signature.parameters.values())
        self._positional = sum(p.kind in _POSITIONAL for p in self.signature.parameters.values())
        self._left_out = {
            name: p.default for name, p in self.signature.parameters.items() if p.default is not inspect.Parameter.empty
        }

    def are_of(self, fn: types.FunctionType) -> bool:
        """Whether the function still has the same code and defaults."""
        now = _parts_of(fn)
        return len(now) == len(self._of) and all(map(operator.is_, now, self._of))

    def by_position(self, count: int) -> int | None:
        """How many parameters ``count`` positional arguments set, if compiled code takes them directly."""
        return count if self._plain else None

    def path(self, name: str | int, abstracts: tuple[Abstract, ...]) -> tuple[str | int, ...] | None:
        """The path of a positional argument, given by number, or of an argument given by name: a parameter, or an item
        of ``*args`` or ``**kwargs``. None if there is no such argument."""
        if isinstance(name, str):
            if name in self.names:
                return (name,)
            held = abstracts[self.names.index(self.keywords)] if self.keywords is not None else None
            if isinstance(held, Tuple) and self.keywords is not None and name in held.form.names:
                return (self.keywords, held.form.names.index(name))
            return None
        if self.variadic is None:
            return (self.names[name],) if -len(self.names) <= name < len(self.names) else None
        first = self.names.index(self.variadic)
        given = abstracts[first]
        assert isinstance(given, Tuple)
        total = first + len(given.items)
        if not -total <= name < total:
            return None
        place = name % total
        return (self.names[place],) if place < first else (self.variadic, place - first)

    def without_first(self, values: tuple[Any, ...], count: int) -> tuple[Any, ...]:
        """Values of all parameters without those of the first ``count`` positional arguments, some of which may be in
        ``*args``."""
        named = len(self.names) if self.variadic is None else self.names.index(self.variadic)
        left = values[min(count, named) :]
        return left if count <= named else (left[0][count - named :], *left[1:])

    def arguments(self, values: tuple[Any, ...]) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the keyword arguments of a call that gives the parameters these ``values``."""
        positional: list[Any] = []
        named: dict[str, Any] = {}
        for parameter, value in zip(self.signature.parameters.values(), values, strict=True):
            if parameter.kind in _POSITIONAL:
                positional.append(value)
            elif parameter.kind is parameter.VAR_POSITIONAL:
                positional.extend(value)
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            else:
                named.update(value)
        return positional, named

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...]:
        """The values of all parameters in order, defaults filled in. Raises ``ArgumentError``."""
        if not kwargs and self._plain and len(args) == len(self.names):
            return args
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _unbound(self, kwargs, error) from None
        bound.apply_defaults()
        return tuple(bound.arguments[name] for name in self.names)

    def in_order(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """A fast version of ``bind``, which takes a microsecond; None if ``bind`` is needed."""
        if self.variadic or self.keywords or not self._positional_only <= len(args) <= self._positional:
            return None
        names = self.names[len(args) :]
        values = kwargs
        if len(kwargs) != len(names):
            if not kwargs.keys() <= set(names):
                return None
            values = {**self._left_out, **kwargs}
        try:
            return *args, *[values[name] for name in names]
        except KeyError:
            return None

    def split(self, abstracts: tuple[Abstract, ...]) -> tuple[tuple[Abstract, ...], dict[str, Abstract]]:
        """Positional and keyword-only arguments, as the tracer takes them."""
        positional: list[Abstract] = []
        keywords: dict[str, Abstract] = {}
        for name, abstract in zip(self.names, abstracts, strict=True):
            if name == self.variadic:
                assert isinstance(abstract, Tuple)
                positional += abstract.items
            elif name == self.keywords:
                assert isinstance(abstract, Tuple)
                keywords |= {str(n): item for n, item in zip(abstract.form.names, abstract.items, strict=True)}
            elif self.signature.parameters[name].kind is inspect.Parameter.KEYWORD_ONLY:
                keywords[name] = abstract
            else:
                positional.append(abstract)
        return tuple(positional), keywords


def _unbound(parameters: Parameters, kwargs: Mapping[str, Any], error: TypeError) -> Exception:
    """The error for a call that does not fit the parameters. Unknown names are reported first, as in Python."""
    known = [name for name in parameters.names if name not in (parameters.variadic, parameters.keywords)]
    unknown = [] if parameters.keywords else [name for name in kwargs if name not in known]
    if unknown:
        message, close = f"got an unexpected keyword argument {unknown[0]!r}", nearest(unknown[0], known)
        if close is not None:
            return kinds.WRONG_ARGUMENTS(f"{parameters.function}() {message}", help=f"did you mean '{close}'?")
    else:
        message = str(error) if str(error) != "too many positional arguments" else f"got {error}"
    help = f"the parameters are {parameters.signature}"
    if unknown and unknown[0] in OF_JIT_GRAD:
        help = f"{unknown[0]} belongs to what makes the function: jit_grad(f, {unknown[0]}=...)"
    return kinds.WRONG_ARGUMENTS(f"{parameters.function}() {message}", help=help)


def _parts_of(fn: types.FunctionType) -> tuple[Any, ...]:
    keywords = fn.__kwdefaults__
    return fn.__code__, fn.__defaults__, *(() if keywords is None else (*keywords, *keywords.values()))


def leaves(value: Any, path: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """The leaves of nested tuples, with their paths."""
    if type(value) is tuple:
        for position, item in enumerate(value):
            yield from leaves(item, (*path, position))
    else:
        yield path, value


def replace_leaves(value: Any, replacement: Mapping[tuple[int, ...], Any], path: tuple[int, ...] = ()) -> Any:
    """``value`` with the leaves at the given positions replaced."""
    if type(value) is tuple:
        return tuple(replace_leaves(item, replacement, (*path, k)) for k, item in enumerate(value))
    return replacement.get(path, value)


def at(value: Any, path: tuple[int, ...]) -> Any:
    """The leaf at ``path``."""
    for position in path:
        value = value[position]
    return value


def describe(names: tuple[str, ...], path: tuple[int, ...], shapes: tuple[containers.Shape, ...] | None = None) -> str:
    """How a user would write the leaf at ``path`` of all arguments."""
    shown, shape = names[path[0]], shapes[path[0]] if shapes else None
    for position in path[1:]:
        shown += f"[{position}]" if shape is None else shape[0].label(position)
        shape = None if shape is None else shape[1][position]
    return shown


def plain(
    value: Any,
    names: tuple[str, ...],
    path: tuple[int, ...],
    borrowed: Borrowed,
    shapes: tuple[containers.Shape, ...] | None = None,
) -> Any:
    """``value`` converted to a type that compiled code takes exactly. Raises ``ArgumentError`` for unsupported types.

    It is the leaf at ``path`` of all arguments. Arrays that cannot be addressed are copied through ``borrowed``.
    """
    kind = type(value)
    if kind is float or (kind is np.ndarray and _is_orderly(value)):
        return value
    where = describe(names, path, shapes)
    if kind is np.ndarray:
        return _orderly(value, where, borrowed)
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise kinds.NUMBER_TOO_LARGE(f"argument {where}: {value} does not fit into 64 bits")
    if kind in (int, bool, tuple) or value is None:
        return value
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray | np.matrix):
            raise kinds.UNSUPPORTED_ARGUMENT(
                f"argument {where}: a {kind.__name__} is not supported", help="pass a plain ndarray"
            )
        return _orderly(value.view(np.ndarray), where, borrowed)
    if isinstance(value, np.generic):
        return value
    if isinstance(value, memoryview | array.array | deque):
        raise kinds.UNSUPPORTED_ARGUMENT(
            f"argument {where}: a {kind.__name__} is not supported",
            help="pass a NumPy array, or a list of numbers and arrays",
        )
    if isinstance(value, int | float) and not isinstance(value, enum.Enum):
        return float(value) if isinstance(value, float) else int(value)
    return value


def _is_orderly(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array is contiguous and aligned, as most are; then nothing else needs to be checked."""
    flags = array.flags
    return flags.c_contiguous and flags.aligned


def _orderly(value: np.ndarray[Any, Any], where: str, borrowed: Borrowed) -> np.ndarray[Any, Any]:
    if aliasing.overlaps_itself(value) and value.flags.writeable:
        raise kinds.UNSUPPORTED_ARRAY(
            f"argument {where}: elements of the array share memory", help="pass a copy, or a read-only view"
        )
    if value.dtype in DTYPES and not is_addressable(value):
        return borrowed.copy(value)
    return value


def normalise(
    names: tuple[str, ...],
    values: tuple[Any, ...],
    borrowed: Borrowed,
    shapes: tuple[containers.Shape, ...] | None = None,
) -> tuple[Any, ...]:
    """All arguments with each leaf converted by ``plain``. ``borrowed.give_back`` copies back what was stored to
    copies.

    ``shapes`` says which containers nested tuples stand for.
    """
    changed = {
        path: new for path, leaf in leaves(values) if (new := plain(leaf, names, path, borrowed, shapes)) is not leaf
    }
    if not changed:
        return values
    result: tuple[Any, ...] = replace_leaves(values, changed)
    return result


def abstracts_of(
    names: tuple[str, ...],
    values: tuple[Any, ...],
    shapes: tuple[containers.Shape, ...] | None = None,
    columns: bool = False,
) -> tuple[Abstract, ...]:
    """The types to specialise for: an abstract type for each argument. ``adc.functions.overlap`` finds out which arrays
    overlap. ``columns``: arrays in Fortran's order have code of their own."""
    found = []
    for name, value in zip(names, values, strict=True):
        try:
            found.append(abstract_of(value))
        except TypeError as error:
            help = getattr(error, "help", "")
            raise kinds.UNSUPPORTED_ARGUMENT(f"argument {name}: {error}", help=help) from None
    if shapes:
        found = [containers.shaped(a, shape) for a, shape in zip(found, shapes, strict=True)]
    return _in_columns(tuple(found), values) if columns else tuple(found)


def _in_columns(types: tuple[Abstract, ...], values: tuple[Any, ...]) -> tuple[Abstract, ...]:
    """The types, with the layout of the arrays among ``values`` that are contiguous in Fortran's order."""
    arrays = (leaf for _, leaf in leaves(values) if isinstance(leaf, np.ndarray))

    def mark(leaf: Abstract) -> Abstract:
        if not isinstance(leaf, Array):
            return leaf
        flags = next(arrays).flags
        columns = flags.f_contiguous and not flags.c_contiguous and not isinstance(leaf.element, ComplexType)
        return replace(leaf, layout="F") if columns and flags.aligned else leaf

    return tuple(map_abstract(a, mark) for a in types)


def structure(abstract: Abstract) -> tuple[Any, ...] | None:
    """The nesting of tuples in ``abstract``, in the form that stubs check; None if it is not a tuple."""
    if isinstance(abstract, Tuple):
        return tuple(structure(item) for item in abstract.items)
    return None


def leaf_type(abstracts: tuple[Abstract, ...], path: tuple[int, ...]) -> Abstract:
    """The type of the leaf at ``path`` of all arguments."""
    found = abstracts[path[0]]
    for position in path[1:]:
        assert isinstance(found, Tuple)
        found = found.items[position]
    return found


def pinned(
    abstracts: tuple[Abstract, ...], values: tuple[Any, ...], paths: Iterable[tuple[int, ...]]
) -> tuple[Abstract, ...]:
    """The types with the leaves at ``paths`` as constants, so that code is compiled for their values; of arrays, for
    their extents."""
    result = list(abstracts)
    for path in paths:
        result[path[0]] = _pinned(result[path[0]], path[1:], values[path[0]])
    return tuple(result)


def _pinned(a: Abstract, path: tuple[int, ...], value: Any) -> Abstract:
    if not path:
        return replace(a, extents=value.shape) if isinstance(a, Array) else Static(value)
    assert isinstance(a, Tuple)
    k = path[0]
    items = (*a.items[:k], _pinned(a.items[k], path[1:], value[k]), *a.items[k + 1 :])
    return replace(a, items=items)
