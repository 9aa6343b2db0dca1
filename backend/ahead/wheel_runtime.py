"""How a wheel calls its compiled functions: with NumPy and ctypes, without the compiler.

This file is copied into each wheel. ``functions.json`` beside it describes the parameters and results of the library's
functions.
"""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import numpy as np

_FOLDER = Path(__file__).resolve().parent
_SPEC: dict[str, Any] = json.loads((_FOLDER / "functions.json").read_text())
_LIBRARY = ctypes.CDLL(str(_FOLDER / _SPEC["library"]))
_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_NUMBERS: dict[str, Any] = {
    "double": ctypes.c_double,
    "float": ctypes.c_float,
    "bool": ctypes.c_bool,
    **{f"{u}int{n}_t": getattr(ctypes, f"c_{u}int{n}") for u in ("", "u") for n in (8, 16, 32, 64)},
}
_ERRORS: dict[int, type[Exception]] = {
    1: IndexError, 2: ValueError, 3: ZeroDivisionError, 4: MemoryError, 5: ValueError, 6: ValueError,
    8: AssertionError, 9: ArithmeticError, 10: LookupError, 12: TypeError, 13: UnboundLocalError, 14: RecursionError,
}  # fmt: skip


class Function:
    """A compiled function, with ``value_and_grad`` and ``grad`` if it has a gradient.

    Arguments are numbers and NumPy arrays, by position or name. An array that the function changes must have the dtype
    and the layout that the function is compiled for; other arrays are converted.
    """

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._value = _Call(_SPEC["functions"][name])
        self.__doc__ = self._value.doc
        gradient = _SPEC["functions"].get(f"{name}_grad")
        self._gradient = None if gradient is None else _Call(gradient)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result; a tuple if there are several."""
        _, results = self._value(args, kwargs)
        return results[0] if len(results) == 1 else tuple(results) or None

    def value_and_grad(self, /, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """The value and its gradient: a number or an array, or a tuple of these if the function is differentiated with
        respect to several arguments, which were chosen when it was compiled. Arguments are not changed."""
        if self._gradient is None:
            raise TypeError(f"{self.__name__} was compiled without a gradient")
        made, (value, *numbers) = self._gradient(args, kwargs)
        found = {**made, **dict(zip(self._gradient.names_of_results[1:], numbers, strict=True))}
        wanted = (f"{p['name']}_grad" for p in self._value.params)
        gradients = [found[name] for name in wanted if name in found]
        return value, gradients[0] if len(gradients) == 1 else tuple(gradients)

    def grad(self, /, *args: Any, **kwargs: Any) -> Any:
        """The gradient alone; see ``value_and_grad``."""
        return self.value_and_grad(*args, **kwargs)[1]

    def __repr__(self) -> str:
        return f"<compiled function {self.__name__}({', '.join(p['name'] for p in self._value.params)})>"


class _Call:
    """One function of the library. Arrays for gradients are new for each call."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.doc, self.name = spec["doc"], spec["name"]
        self.params = [p for p in spec["params"] if p["role"] != "gradient"]
        self._made = [p for p in spec["params"] if p["role"] == "gradient"]
        self._order = spec["params"]
        self._results = spec["results"]
        self.names_of_results = [r["name"] for r in self._results]
        self._function = getattr(_LIBRARY, self.name)
        self._function.restype = ctypes.c_int

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
        """The gradients of arrays by name, and the results."""
        given = dict(zip([p["name"] for p in self.params], self._bound(args, kwargs), strict=True))
        values = {p["name"]: self._taken(p, given[p["name"]]) for p in self.params}
        made = {}
        for p in self._made:
            like = values[self._order[p["like"]]["name"]]
            made[p["name"]] = values[p["name"]] = np.empty(like.shape, like.dtype)
        passed: list[Any] = []
        for p in self._order:
            passed += _passed(p, values[p["name"]])
        outs = [_Out(r) for r in self._results]
        for out in outs:
            passed += out.pointers
        status = self._function(*passed)
        if status:
            message = getattr(_LIBRARY, _SPEC["message"])
            message.restype = ctypes.c_char_p
            raise _ERRORS.get(status, RuntimeError)(message().decode())
        return made, [out.value() for out in outs]

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        names = [p["name"] for p in self.params]
        rest = names[len(args) :]
        if len(args) > len(names) or set(kwargs) != set(rest):
            raise TypeError(f"{self.name}() takes {', '.join(names)}")
        return [*args, *(kwargs[name] for name in rest)]

    def _taken(self, p: dict[str, Any], value: Any) -> Any:
        """An argument, converted to what the library takes."""
        if p["rank"] is None:
            return value
        dtype = np.dtype(_NUMBERS[p["type"]])
        if p["role"] == "inout":
            if not isinstance(value, np.ndarray) or value.dtype != dtype or not value.flags.writeable:
                raise TypeError(f"{self.name}() changes {p['name']}: pass a writable array of {dtype}")
            array = value
        else:
            array = np.asarray(value, dtype)
        if array.ndim != p["rank"]:
            raise ValueError(f"{self.name}() takes {p['name']} with {p['rank']} axes, not {array.ndim}")
        if _fits(p, array):
            return array
        if p["role"] == "inout":
            raise ValueError(f"{self.name}() changes {p['name']}: pass an array that is contiguous in C order")
        return np.ascontiguousarray(array)


def _fits(p: dict[str, Any], array: np.ndarray[Any, Any]) -> bool:
    """Whether those strides that are not passed to the library are the strides of C order."""
    if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
        return False
    expected = array.itemsize
    for d in reversed(range(array.ndim)):
        if d not in p["strides"] and array.strides[d] != expected and array.shape[d] > 1:
            return False
        expected *= array.shape[d]
    return True


def _passed(p: dict[str, Any], value: Any) -> list[Any]:
    if p["rank"] is None:
        return [_NUMBERS[p["type"]](value)]
    words = [*(value.shape if p["like"] is None else ()), *(value.strides[d] // value.itemsize for d in p["strides"])]
    return [ctypes.c_void_p(value.ctypes.data), *map(ctypes.c_int64, words)]


class _Out:
    """The place for a result: a number, or the address and the extents of a new array."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._type, self._rank = _NUMBERS[spec["type"]], spec["rank"]
        self._number = (self._type if self._rank is None else ctypes.c_void_p)()
        self._shape = (ctypes.c_int64 * (self._rank or 1))()
        self.pointers: list[Any] = [ctypes.byref(self._number)]
        if self._rank:
            self.pointers.append(self._shape)

    def value(self) -> Any:
        if self._rank is None:
            return self._number.value
        shape = tuple(self._shape[: self._rank])
        count = int(np.prod(shape))
        address, self._number = self._number, ctypes.c_void_p()
        try:
            if not count:
                return np.empty(shape, self._type)
            memory = (self._type * count).from_address(address.value or 0)
            return np.frombuffer(memory, self._type).reshape(shape).copy()
        finally:
            _free(address)
