"""The operators and functions of docs/language.md, and critical values of their arguments.

An entry is an expression, as text, in ``x`` and ``y``, so that one function is made from many entries and compiled
once.
"""

from __future__ import annotations

import ast
import linecache
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

VALUES: dict[str, list[Any]] = {
    "f64": [
        *(0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, 1e-300, 0.1, -0.3, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, 2.5),
        *(-2.5, 3.0, -7.0, 1e8, 2147483648.0, 4503599627370497.5, 9007199254740994.0, -(2.0**63), 2.0**63, 1e300),
        *(1.7976931348623157e308, -1.7976931348623157e308, math.inf, -math.inf, math.nan),
    ],
    "f32": [
        *(0.0, -0.0, 1e-45, -1e-45, 1.1754943508222875e-38, 0.1, -0.3, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, 2.5, -2.5, 3.0),
        *(-7.0, 8388609.0, 16777218.0, 2147483648.0, 1e30, 3.4028234663852886e38, -3.4028234663852886e38),
        *(math.inf, -math.inf, math.nan),
    ],
    "i64": [
        *(0, 1, -1, 2, 3, -3, 7, 10, 15, -25, 63, 64, 2**31 - 1, -(2**31), 2**31, 3037000500, 2**53 + 1, -(2**53) - 1),
        *(2**62, 2**63 - 1, -(2**63), -(2**63) + 1),
    ],
    "i32": [0, 1, -1, 2, 3, -3, 7, 10, 15, -25, 31, 32, 46341, -(2**30), 2**31 - 1, -(2**31), -(2**31) + 1],
    "bool": [False, True],
}
DTYPES = {"f64": np.float64, "f32": np.float32, "i64": np.int64, "i32": np.int32, "bool": np.bool_}
FLOATS, INTEGERS = ("f64", "f32"), ("i64", "i32")


@dataclass(frozen=True)
class Entry:
    """``ulps``: how far a result may be from the other's, in units of the last place; 0 for the same bits."""

    text: str
    ulps: float = 0.0

    @property
    def binary(self) -> bool:
        """Whether ``y`` is in it."""
        return any(isinstance(node, ast.Name) and node.id == "y" for node in ast.walk(ast.parse(self.text)))

    def __str__(self) -> str:
        return self.text


EXACT = [
    *(f"x {symbol} y" for symbol in ("+", "-", "*", "/", "//", "%", "==", "!=", "<", "<=", ">", ">=")),
    *("-x", "+x", "abs(x)", "x * 3", "3 - x", "x / 3", "7 // x", "7 % x", "x // 3", "x % 3", "x // -3", "x % -3"),
    *("x * 2.5", "x < 2.5", "x == 9007199254740993", "x < 4000000000", "x > -4000000000", "x < 2**70", "x == 2**70"),
    *("x * True", "x + 0", "x - 0", "0 - x", "x * 1", "x * 0", "x / 1", "x + 0.0", "x - 0.0", "x * 1.0", "x * -1.0"),
]
BITS = ["x & y", "x | y", "x ^ y", "~x", "x << y", "x >> y", "x << 3", "x >> 3", "x & 12", "x | 12", "x ^ 12"]
POWERS = [
    *(Entry(t, 4) for t in ("x ** y", "x ** 0.5", "x ** -0.5", "x ** 3", "x ** 5", "x ** 2.5", "2 ** x", "2.0 ** x")),
    *(Entry(t) for t in ("x ** 0", "x ** 1", "x ** 2", "x ** 1.0", "x ** 2.0", "x ** 0.0")),
]
INTEGER_POWERS = ["x ** abs(y % 40)", "x ** 0", "x ** 1", "x ** 2", "x ** 3", "x ** 7", "x ** 63"]
NUMPY_UNARY = {
    0: "absolute ceil fabs floor isfinite isinf isnan logical_not negative rint sign sqrt square trunc reciprocal "
    "round",
    4: "arccos arccosh arcsin arcsinh arctan arctanh cbrt cos cosh deg2rad degrees exp exp2 expm1 log log10 log1p "
    "log2 rad2deg radians sin sinh tan tanh",
}
NUMPY_BINARY = {
    0: "add divide equal floor_divide fmax fmin fmod greater greater_equal heaviside less less_equal logical_and "
    "logical_or logical_xor maximum minimum multiply not_equal remainder subtract copysign",
    4: "arctan2 hypot",
}
NUMPY = [
    *(Entry(f"np.{name}(x)", ulps) for ulps, names in NUMPY_UNARY.items() for name in names.split()),
    *(Entry(f"np.{name}(x, y)", ulps) for ulps, names in NUMPY_BINARY.items() for name in names.split()),
    *map(Entry, ("np.where(x < y, x, y)", "np.where(x > 1, x, 2)", "np.clip(x, y, 2)", "np.clip(x, -1, 1)")),
    *map(Entry, ("np.maximum(x, 1)", "np.minimum(x, 0)", "np.round(x, 1)", "np.round(x, 0)")),
    Entry("np.round(np.clip(x, -2000000000, 2000000000), -1)"),
    Entry("np.power(x, 0.5)", 4),
    Entry("np.power(x, 2)"),
]
PYTHON = [
    *map(Entry, ("float(x)", "bool(x)", "int(x)", "round(x)", "round(x, -1)", "divmod(x, y)[0]", "divmod(x, y)[1]")),
    *map(Entry, ("min(x, y)", "max(x, y)", "x and y", "x or y", "not x", "x if x < y else y", "sum([x, y, x])")),
    *map(Entry, ("np.float64(x)", "np.float32(x)", "np.int64(x)", "np.int32(x)", "np.bool_(x)")),
    *(Entry(f"math.{n}(x)") for n in "ceil fabs floor trunc isfinite isinf isnan sqrt".split()),
    *(Entry(f"math.{n}(x, y)") for n in "copysign fmod remainder".split()),
    *(
        Entry(f"math.{n}(x)", 4)
        for n in (
            "acos acosh asin asinh atan atanh cbrt cos cosh degrees erf erfc exp exp2 expm1 log log10 log1p "
            "log2 radians sin sinh tan tanh"
        ).split()
    ),
    *(Entry(f"math.{n}(x)", 128) for n in ("gamma", "lgamma")),  # Python has its own
    *(Entry(f"math.{n}(x, y)", 4) for n in "atan2 hypot pow".split()),
]
CASTS = [Entry(f"x.astype(np.{n})") for n in ("float64", "float32", "int64", "int32", "bool_")]
CASTS_OF_FLOATS = [
    *(Entry(f"np.where(np.abs(x) < 1e9, x, 0).astype(np.{n})") for n in ("int64", "int32")),
    *(Entry(f"x.astype(np.{n})") for n in ("float64", "float32", "bool_")),
]
SHAPED = [  # of arrays of any size; what an empty one does not have is in EXTREMES
    *(Entry(f"np.{n}(x)") for n in "any all count_nonzero size ndim".split()),
    *(Entry(f"np.{n}(x)", 64) for n in "sum prod mean std var".split()),
    *(Entry(t, 8) for t in ("x.sum()", "x.mean()")),
]
VECTORS = [Entry(t, 8) for t in ("np.dot(x, x)", "np.vdot(x, x)", "x @ x", "np.outer(x, x)", "np.linalg.norm(x)")]
EXTREMES = [Entry(t) for t in ("np.min(x)", "np.max(x)", "x.min()", "x.max()")]
ALONG = [
    *(Entry(f"np.{n}(x, axis={k})", 8) for n in "sum prod mean".split() for k in (0, 1)),
    *(Entry(t, 8) for t in ("x.sum(axis=-1)", "np.sum(x, axis=(0, 1))", "np.sum(x)", "np.mean(x)")),
]
EXTREMES_ALONG = [[Entry(f"np.{n}(x, axis={k})") for n in ("min", "max")] for k in (0, 1)]


SPECIAL = [
    Entry(f"special.{n}(x)", 256)
    for n in (
        "cbrt entr erf erfc erfcinv erfcx erfinv exp1 exp2 expi expit expm1 gamma gammaln i0 i0e i1 i1e j0 j1 k0 k0e "
        "k1 k1e log1p log_expit log_ndtr logit ndtr ndtri psi y0 y1"
    ).split()
] + [Entry(f"special.{n}(x, y)", 256) for n in "betaln xlog1py xlogy gammainc gammaincc jv kv iv yv kve ive".split()]


MAY_RAISE = {
    *("int(x)", "round(x)", "round(x, -1)", "np.int64(x)", "np.int32(x)", "math.ceil(x)", "math.floor(x)"),
    "math.trunc(x)",
}


def operators(a: str, b: str) -> list[Entry]:
    """Those that the dtypes have in Python and NumPy, and that never raise there."""
    whole = a not in FLOATS and b not in FLOATS
    found = list(map(Entry, EXACT))
    if whole:
        return found + list(map(Entry, BITS)) + list(map(Entry, INTEGER_POWERS))
    return found + POWERS


def function(entries: Sequence[Entry], parameters: str = "x, y") -> Any:
    """A function that returns a tuple of what all entries are."""
    source = f"def f({parameters}):\n    return (\n" + "".join(f"        {e.text},\n" for e in entries) + "    )\n"
    return made(source)


def made(source: str) -> Any:
    name = f"<table {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    space: dict[str, Any] = {"np": np, "math": math, "special": special}
    exec(compile(source, name, "exec"), space)
    return space["f"]
