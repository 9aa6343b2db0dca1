"""The way out that a refusal names: what was probably meant, or an equivalent.

The table below has equivalents; otherwise names are compared, as in Python's "did you mean".
"""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterable
from typing import Any

from adc.frontend.in_place_of_numpy import INSTEAD

_LOOP = "write it as a loop over the elements: loops are compiled and differentiated"
_RANDOM = "draw the numbers outside, and pass them in as an array"
_LINALG = "write it as loops, which are compiled and differentiated"
_TEXT = "work with text outside the compiled function"
_STATIC = "write out what it stands for: code that is made at run time cannot be compiled"
_INPUT = "read outside the compiled function, and pass the values in"
_BITS = "take the number apart outside the compiled function, or with np.floor(np.log2(np.abs(x)))"

_RULE = "sum f at the points of a rule: np.sum(w * f(x)) with x, w = np.polynomial.legendre.leggauss(n)"

# By module and name: an equivalent. A name that ends with a dot stands for a whole module.
FUNCTIONS = INSTEAD | {
    "input": _INPUT,
    "open": _INPUT,
    "io.open": _INPUT,
    "str": _TEXT,
    "repr": _TEXT,
    "format": _TEXT,
    "bin": _TEXT,
    "hex": _TEXT,
    "ord": _TEXT,
    "chr": _TEXT,
    "eval": _STATIC,
    "exec": _STATIC,
    "compile": _STATIC,
    "getattr": "write the attribute out: x.name",
    "setattr": "write the attribute out: x.name = value",
    "hasattr": "whether an attribute is there must be decided outside the compiled function",
    "globals": "name the variable itself",
    "locals": "name the variable itself",
    "vars": "name the variable itself",
    "id": "compare with == what the objects hold",
    "super": "call the function of the base class by its name",
    "complex": "use two floats, the real and the imaginary part",
    "list": "use a tuple, or an array made with np.zeros",
    "dict": "use separate variables, or a tuple",
    "set": "use a tuple",
    "frozenset": "use a tuple",
    "bytes": _TEXT,
    "itertools.": "write the loops that it stands for",
    "random.": _RANDOM,
    "secrets.": _RANDOM,
    "time.": "measure time outside the compiled function",
    "datetime.": "work with dates outside the compiled function",
    "os.": _INPUT,
    "math.sumprod": "use np.dot of two arrays",
    "math.dist": "use np.sqrt(np.sum((p - q) ** 2))",
    "math.ulp": "compute it outside, and pass it in",
    "cmath.": "use two floats, the real and the imaginary part",
    "numpy.random.": _RANDOM,
    "numpy.linalg.eig": "of a symmetric matrix use np.linalg.eigh(a)",
    "numpy.linalg.eigvals": "of a symmetric matrix use np.linalg.eigvalsh(a)",
    "numpy.linalg.": _LINALG,
    "numpy.roots": "find the root by Newton's method in a loop: x -= np.polyval(p, x) / np.polyval(dp, x)",
    "numpy.lib.stride_tricks.as_strided": "use slices, or np.lib.stride_tricks.sliding_window_view",
    "numpy.real_if_close": "use a.real: which dtype there would be depends on the numbers",
    "numpy.histogramdd": "use np.histogram2d, or count in a loop",
    "scipy.linalg.": _LINALG,
    "scipy.optimize.": "call it outside, and give it adc's gradient",
    "scipy.integrate.": "write the steps as a loop, which is compiled and differentiated",
    "scipy.integrate._quadpack_py.quad": _RULE,
    "scipy.interpolate.": "use np.interp, or CubicSpline of vectors, or a loop",
    "scipy.signal.": _LOOP,
    "scipy.ndimage.": _LOOP,
    "scipy.sparse.": "pass the arrays data, indices and indptr, and loop over the rows",
    "torch.": "pass NumPy arrays, and use NumPy's functions",
    "jax.": "use NumPy's functions: adc compiles NumPy",
}

# Methods of NumPy's ufuncs (np.add.reduce) and of arrays.
UFUNC_METHODS = {
    "reduce": "use a loop: s = function(s, x[i])",
    "accumulate": "fill an array in a loop: out[i] = function(out[i - 1], x[i])",
    "at": "go through the subscripts in a loop: x[k[i]] = function(x[k[i]], v[i])",
    "outer": "use a new axis: x[:, None] * y[None, :]",
    "reduceat": _LOOP,
}
ARRAY_ATTRIBUTES = {
    "real": "leave it out: arrays are real",
    "imag": "arrays are real",
    "conj": "leave it out: arrays are real",
    "conjugate": "leave it out: arrays are real",
    "H": "use T: arrays are real",
    "strides": "how an array lies in memory cannot be asked",
    "flags": "how an array lies in memory cannot be asked",
    "data": "how an array lies in memory cannot be asked",
    "ctypes": "how an array lies in memory cannot be asked",
    "base": "how an array lies in memory cannot be asked",
    "view": "convert with astype",
    "resize": "make a new array with np.zeros",
    "append": "arrays have a fixed length: make it with np.zeros, and count what is filled",
}
SCALAR_ATTRIBUTES = {
    "conjugate": "leave it out: the number is real",
    "imag": "the number is real: its imaginary part is 0.0",
    "item": "leave it out: it is a number already",
    "hex": _TEXT,
    "shape": "it is a number: pass an array of length one to have a shape",
}
# Keywords of library functions.
OPTIONS = {
    "out": "assign instead: out[...] = f(x)",
    "where": "choose with np.where before",
    "keepdims": "put the dimension back with None in a subscript",
    "initial": "combine the result with it afterwards",
    "dtype": "convert with astype before or after",
    "order": "leave it out: new arrays are C-contiguous",
    "like": "leave it out",
    "casting": "convert with astype before",
    "key": _LOOP,
    "default": "test the length first",
    "ddof": "multiply by n / (n - ddof)",
    "mode": _LOOP,
    "axis": "go along the other axes in a loop, and call it for each row",
}
# The full names of all functions that have a rule, filled in by the library's table.
SUPPORTED: set[str] = set()
_IN_C = {"_operator": "operator", "_functools": "functools"}
_MODULE_OF = {"np": "numpy", "plt": "matplotlib.pyplot", "sp": "scipy", "pd": "pandas"}


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``name`` is probably a misspelling of."""
    known = sorted({c for c in candidates if c and c != name})
    lower = {c.lower(): c for c in known}
    if name.lower() in lower:
        return lower[name.lower()]
    if len(name) <= 3:  # differs by one letter
        known = [c for c in known if abs(len(c) - len(name)) <= 1]
    close = difflib.get_close_matches(name, known, 1, 0.7 if len(name) > 3 else 0.65)
    return close[0] if close else None


def for_name(name: str, candidates: Iterable[str]) -> str:
    """The way out for a name that is not defined."""
    found = nearest(name, candidates)
    if found is not None:
        return f"did you mean '{found}'?"
    if name in _MODULE_OF:
        return f"import {_MODULE_OF[name]} as {name} at the top of the module"
    if name in sys.stdlib_module_names:
        return f"import {name} at the top of the module"
    return ""


def for_function(obj: Any, shown: str) -> str:
    """The way out for a function, shown as ``shown``, that has no rule and is not written in Python.

    It exists, so its name is not a misspelling: only a function of the same name in another module is equivalent.
    """
    owner, name = getattr(obj, "__self__", None), str(getattr(obj, "__name__", ""))
    if type(owner).__name__ == "ufunc" and name in UFUNC_METHODS:
        return UFUNC_METHODS[name]
    if isinstance(owner, str | bytes):
        return _TEXT
    if isinstance(owner, list | dict | set):
        return "take what it gives outside the compiled function, and pass that in"
    if shown in FUNCTIONS:
        return FUNCTIONS[shown]
    known: dict[str, list[str]] = {}
    for full in sorted(SUPPORTED):
        known.setdefault(full.rpartition(".")[2], []).append(full)
    module = shown.rpartition(".")[0].split(".")[0]
    if name in known and (same := _in_family(known[name], module)):
        return f"the nearest that is supported is {same}"
    for prefix, advice in FUNCTIONS.items():
        if prefix.endswith(".") and shown.startswith(prefix):
            return advice
    return "write it in Python, as a function that adc can trace"


def _in_family(names: list[str], module: str) -> str | None:
    """One of ``names`` that a user of ``module`` may have meant: of that module if possible, or of NumPy or math."""
    for wanted in (module, "numpy", "math"):
        for name in names:
            if name.split(".")[0] == wanted:
                return name
    return names[0] if module == "" else None


def full_name(obj: Any) -> str:
    """A function's name with its module; builtins have none."""
    name = str(getattr(obj, "__name__", type(obj).__name__))
    owner = None if isinstance(obj, type) else getattr(obj, "__self__", None)
    if type(owner).__name__ == "ufunc":
        return f"numpy.{owner.__name__}.{name}"  # type: ignore[union-attr]
    cls = type(owner).__name__ if owner is not None else str(getattr(obj, "__qualname__", "")).split(".")[0]
    if cls in ("Generator", "RandomState"):
        return f"numpy.random.{name}"
    if owner is not None and type(owner).__module__ == "random":
        return f"random.{name}"
    if owner is not None and type(owner).__name__ != "module":
        return f"{type(owner).__name__}.{name}"
    module = getattr(obj, "__module__", None)
    if module is None and type(obj).__name__ == "ufunc":
        module = "numpy" if name in vars(sys.modules["numpy"]) else "scipy.special"
    module = _IN_C.get(str(module), module)
    return f"{module}.{name}" if module and module != "builtins" else name


def for_attribute(owner: Any, name: str) -> str:
    """The way out for an attribute that an object from outside, usually a module, does not have."""
    there = [n for n in dir(owner) if not n.startswith("_")]
    module = str(getattr(owner, "__name__", ""))
    close = nearest(name, [n for n in there if f"{module}.{n}" in SUPPORTED]) or nearest(name, there)
    if close is not None:
        return f"did you mean '{close}'?"
    if owner is None:
        return "pass an object that has it, or test for None first"
    of_numpy = module.split(".")[0] == "numpy"
    otherwise = "docs/numpy.md lists the functions of NumPy that adc compiles" if of_numpy else ""
    return FUNCTIONS.get(f"{module}.{name}", otherwise)


def for_array_attribute(name: str, supported: Iterable[str]) -> str:
    """The way out for an attribute or method that arrays do not have, or that is not supported."""
    if name in ARRAY_ATTRIBUTES:
        return ARRAY_ATTRIBUTES[name]
    if f"numpy.{name}" in SUPPORTED:
        return f"use np.{name}(x)"
    if f"numpy.{name}" in FUNCTIONS:
        return FUNCTIONS[f"numpy.{name}"]
    known = sorted(supported)
    close = nearest(name, known)
    return f"did you mean '{close}'?" if close is not None else f"supported are {', '.join(known)}"


def for_option(key: str, supported: Iterable[str]) -> str:
    """The way out for a keyword argument that a library function does not take here."""
    known = sorted(supported)
    close = nearest(key, known)
    if close is not None:
        return f"did you mean '{close}'?"
    if key in OPTIONS:
        return OPTIONS[key]
    return f"supported: {', '.join(known)}" if known else "it takes positional arguments only"
