"""Every operator and function at critical values, compared with Python and NumPy.

Arrays (vectorised loops), NumPy's numbers and Python's numbers. Known differences are in ``KNOWN``, each kind with a
line and its reason in docs/language.md; a kind that no longer occurs also fails the test.
"""

from __future__ import annotations

import itertools
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from adc import jit_grad
from adc.errors import AdcError
from tests.values import table
from tests.values.table import DTYPES, FLOATS, VALUES, Entry

PAGE = Path(__file__).parents[2] / "docs" / "language.md"


class Difference(NamedTuple):
    """``want`` and ``got`` are values, or the names of exceptions."""

    form: str
    entry: str
    operands: tuple[Any, ...]
    want: Any
    got: Any


def _is_zero(d: Difference) -> bool:
    if d.form == "reductions":
        want, got = np.asarray(d.want), np.asarray(d.got)
        chosen = re.match(r"(np|x)\.(max|min)\(", d.entry) is not None and type(d.want) is type(d.got)
        return chosen and want.dtype == got.dtype and np.array_equal(want, got, equal_nan=want.dtype.kind == "f")
    extreme = re.match(r"np\.(fmax|fmin|maximum|minimum|clip)\(", d.entry) is not None
    return extreme and d.want == d.got == 0


def _in_another_order(d: Difference) -> bool:
    """Whether a sum, mean or product of finite floats is as near as its terms allow: some cancel, or overflow on the
    way in one of the orders."""
    want, got = np.asarray(d.want), np.asarray(d.got)
    named = re.search(r"(sum|mean|prod)\(", d.entry)
    if d.form != "reductions" or named is None or want.dtype.kind != "f" or want.dtype != got.dtype:
        return False
    terms, kind = np.abs(np.array(d.operands[0], float)), np.finfo(want.dtype)
    if not np.isfinite(terms).all() or want.shape != got.shape:
        return False
    if named[1] == "prod":
        return bool(np.sum(np.log(np.maximum(terms, 1))) > np.log(kind.max))
    total = np.sum(terms)
    return bool(total > kind.max or np.all(np.abs(want - got) <= 8 * kind.eps * total))


def _never_raises(d: Difference) -> bool:
    raised = d.want in ("ZeroDivisionError", "ValueError", "OverflowError") or isinstance(d.want, complex)
    return raised and isinstance(d.got, float)


def _does_not_fit(d: Difference) -> bool:
    if d.want == "MemoryError" or d.entry.startswith("divmod"):
        return bool(d.got == "OverflowError") and (d.want == "MemoryError" or d.operands == (-(2**63), -1))
    return isinstance(d.want, int) and not -(2**63) <= d.want < 2**63 and d.got == "OverflowError"


def _undefined_conversion(d: Difference) -> bool:
    converts = d.entry.startswith(("np.int", "round(x, -1)"))
    return converts and isinstance(d.want, np.integer) and d.got in ("OverflowError", "ValueError")


def _joined(d: Difference) -> bool:
    chooses = d.entry in ("min(x, y)", "max(x, y)", "x and y", "x or y", "x if x < y else y", "not x")
    return chooses and type(d.want) is not type(d.got) and type(d.got)(d.want) == d.got


def _through_a_float(d: Difference) -> bool:
    return d.entry in ("math.ceil(x)", "math.floor(x)") and d.form == "NumPy" and d.got == d.operands[0]


KNOWN: dict[str, tuple[str, Callable[[Difference], bool]]] = {
    "Python's floats do not raise": ("Python-f64-f64", _never_raises),
    "Python's integers beyond 64 bits": ("Python-i64-i64", _does_not_fit),
    "floats that no integer of the dtype is near": ("NumPy-f64-f64", _undefined_conversion),
    "zeros among which the larger or smaller is asked for": ("arrays-f64-f64", _is_zero),
    "sums and products of floats that cancel or overflow on the way": ("reductions-f64-f64", _in_another_order),
    "a choice between numbers of two types": ("NumPy-f64-i64", _joined),
    "`np.where` of numbers": (
        "NumPy-i32-i32",
        lambda d: isinstance(d.want, np.ndarray) and d.form != "arrays" and _same(d.want[()], d.got, 0),
    ),
    "`math.trunc` and `round` of some of NumPy's numbers": (
        "NumPy-f32-f32",
        lambda d: d.form == "NumPy" and d.want == "TypeError" and d.got != "TypeError",
    ),
    "`math.ceil` and `math.floor` of NumPy's integers": ("NumPy-i64-i64", _through_a_float),
    "`special.gammaln` near zero, and of minus infinity": (
        "special-f64-f64",
        lambda d: d.entry == "special.gammaln(x)" and (0 < abs(d.operands[0]) < 1e-300 or d.operands[0] == -math.inf),
    ),
    "`special.betaln` where gamma is infinite, and of huge numbers": (
        "special-f64-f64",
        lambda d: d.entry == "special.betaln(x, y)"
        and (not np.isfinite([d.want, d.got]).all() or min(d.operands) > 1e15),
    ),
    "`special.kv` of infinite order": (
        "special-f32-f32",
        lambda d: d.entry == "special.kv(x, y)" and bool(np.isnan(d.want)) and d.got == 0,
    ),
}
"""Per kind of difference a case in which it occurs, and what is one."""

REFUSED_OF_BOOLS = re.compile(r"half precision|not defined for|did not contain a loop")
REFUSED = re.compile(
    r"np.fmod\(\) of integers|np.reciprocal\(\) of integers"
    r"|cannot be chosen between|the value is \w+ on one path"
)


def _same(want: Any, got: Any, ulps: float) -> bool:
    if type(want) is not type(got):
        return False
    if isinstance(want, float | np.floating):
        if want != want:
            return bool(got != got)
        if want == got:
            return math.copysign(1, want) == math.copysign(1, got)
        close = ulps and math.isfinite(want) and math.isfinite(got)
        return bool(close) and abs(float(want) - float(got)) <= ulps * float(np.spacing(np.abs(want)))
    return bool(want == got)


def _accepted(
    entries: Sequence[Entry], args: tuple[Any, ...], bools: bool, parameters: str = "x, y"
) -> tuple[list[Entry], Any, Any]:
    """The entries that adc compiles for these types, in one function, and its results; that others are refused is
    known."""
    entries = list(entries)
    while True:
        compiled = jit_grad(table.function(entries, parameters))
        try:
            return entries, compiled, compiled(*args)
        except AdcError as error:
            place = re.search(r"--> <table -?\d+>:(\d+)", str(error))
            if place is None or isinstance(error, ArithmeticError | ValueError):
                if len(entries) == 1:
                    return entries, compiled, None
                raise
            assert REFUSED.search(str(error)) or (bools and REFUSED_OF_BOOLS.search(str(error))), str(error)
            del entries[int(place[1]) - 3]
            if not entries:
                return [], None, ()


def _exception(error: Exception) -> str:
    """Its built-in class."""
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == "builtins")


def _outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args)
    except Exception as error:
        return _exception(error)


def arrays(a: str, b: str, entries: Sequence[Entry]) -> Iterator[Difference]:
    pairs = list(itertools.product(VALUES[a], VALUES[b]))
    x, y = (np.array([p[k] for p in pairs], DTYPES[t]) for k, t in enumerate((a, b)))
    wanted = {e: _outcome(table.function([e]), x, y) for e in entries}
    entries, _, found = _accepted([e for e in entries if not isinstance(wanted[e], str)], (x, y), "bool" in (a, b))
    for entry, got in zip(entries, found, strict=True):
        (want,) = wanted[entry]
        if not isinstance(want, np.ndarray) or want.dtype != got.dtype:
            yield Difference("arrays", str(entry), (a, b), want, got)
            continue
        for pair, w, g in zip(pairs, want, got, strict=True):
            if not _same(w, g, entry.ulps):
                yield Difference("arrays", str(entry), pair, w, g)


def numbers(form: str, a: str, b: str, entries: Sequence[Entry]) -> Iterator[Difference]:
    python = form == "Python"
    xs, ys = ([v if python else DTYPES[t](v) for v in VALUES[t]] for t in (a, b))
    raising = python and a not in FLOATS and b not in FLOATS
    alone = [[e] for e in entries if str(e) in table.MAY_RAISE or (raising and "np." not in str(e))]
    together = [e for e in entries if [e] not in alone]
    for group in (together, *alone):
        group, compiled, _ = _accepted(group, (xs[1], ys[1]), "bool" in (a, b))
        singles = [table.function([e]) for e in group]
        binary = any(e.binary for e in group)
        for pair in itertools.product(xs, ys if binary else ys[:1]):
            got = _outcome(compiled, *pair) if group else ()
            for k, (entry, single) in enumerate(zip(group, singles, strict=True)):
                want = _outcome(single, *pair)
                want = want if isinstance(want, str) else want[0]
                found = got if isinstance(got, str) else got[k]
                if not _same(want, found, entry.ulps):
                    yield Difference(form, str(entry), pair, want, found)


def _vectors(dtype: str) -> list[Any]:
    """No number, each, all pairs, and some in longer arrays, whose other numbers are small: at either end, in the
    middle, in what is left of the last vector."""
    values, whole = VALUES[dtype], np.arange(41) % 5 - 2
    found = [(), *((v,) for v in values), *itertools.product(values, values)]
    arrays = [np.array(v, DTYPES[dtype]) for v in found]
    for v in values[:: 1 if dtype in FLOATS else 3]:
        for n in (3, 9, 17, 41):
            for place in (0, n // 2, n - 1):
                longer = whole[:n].astype(DTYPES[dtype])
                longer[place] = v
                arrays.append(longer)
    return arrays


def _matrices(dtype: str) -> list[Any]:
    """Empty ones, and the edge values in rows and columns, in both orders."""
    values = np.array(VALUES[dtype], DTYPES[dtype])
    tables = [np.resize(np.roll(values, k), shape) for k in range(len(values)) for shape in ((2, 3), (1, 4), (3, 1))]
    return [*(np.zeros(shape, values.dtype) for shape in ((0, 3), (3, 0), (0, 0))), *tables]


def reductions(dtype: str) -> Iterator[Difference]:
    """Each group in one function for arrays of all lengths; the empty ones raise in all of a group, or in none."""
    vectors, matrices = _vectors(dtype), _matrices(dtype)
    for entries, operands in (
        *((group, vectors) for group in (table.SHAPED, table.VECTORS, table.EXTREMES)),
        *((group, matrices) for group in (table.ALONG, *table.EXTREMES_ALONG)),
    ):
        entries, compiled, _ = _accepted(entries, (operands[-1],), dtype == "bool", parameters="x")
        singles = [table.function([e], "x") for e in entries]
        for x in operands:
            got = _outcome(compiled, x) if entries else ()
            for k, (entry, single) in enumerate(zip(entries, singles, strict=True)):
                want = _outcome(single, x)
                want = want if isinstance(want, str) else want[0]
                found = got if isinstance(got, str) else got[k]
                if not _all_same(want, found, entry.ulps):
                    yield Difference("reductions", str(entry), (x.tolist(),), want, found)


def _all_same(want: Any, got: Any, ulps: float) -> bool:
    if not isinstance(want, np.ndarray) or not isinstance(got, np.ndarray):
        return _same(want, got, ulps)
    alike = want.dtype == got.dtype and want.shape == got.shape
    return alike and all(_same(w, g, ulps) for w, g in zip(want.flat, got.flat, strict=True))


def _entries(a: str, b: str, more: Sequence[Entry]) -> list[Entry]:
    found = [*table.operators(a, b), *more]
    if "bool" in (a, b):  # NumPy's bools are not compared with what needs more than 64 bits
        found = [e for e in found if "2**70" not in str(e)]
    return found if a == b else [e for e in found if e.binary]


SAME = [(t, t) for t in VALUES]
MIXED = [("i64", "i32"), ("i32", "f32"), ("f64", "i64"), ("bool", "i32"), ("f32", "f64")]
PYTHON = [("f64", "f64"), ("i64", "i64"), ("i64", "f64"), ("f64", "i64"), ("bool", "bool"), ("bool", "i64")]
CASES = [
    *(("arrays", *types) for types in SAME + MIXED),
    *(("NumPy", *types) for types in SAME + MIXED),
    *(("Python", *types) for types in PYTHON),
    *(("special", t, t) for t in FLOATS),
    *(("reductions", t, t) for t in VALUES),
]


def _differences(form: str, a: str, b: str) -> Iterator[Difference]:
    if form == "special":
        return arrays(a, b, table.SPECIAL)
    if form == "reductions":
        return reductions(a)
    if form == "arrays":
        casts = table.CASTS_OF_FLOATS if a in FLOATS else table.CASTS
        return arrays(a, b, _entries(a, b, [*table.NUMPY, *casts]))
    entries = _entries(a, b, [*table.NUMPY, *table.PYTHON])
    if form == "Python":  # whose shifts by 2**31 take a while
        entries = [Entry("x << (y % 70)") if str(e) == "x << y" else e for e in entries]
    return numbers(form, a, b, entries)


@pytest.mark.parametrize("case", CASES, ids="-".join)
def test_edge_values(case: tuple[str, str, str]) -> None:
    unknown: list[Difference] = []
    seen: set[str] = set()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for difference in _differences(*case):
            titles = {title for title, (_, holds) in KNOWN.items() if holds(difference)}
            seen |= titles
            if not titles:
                unknown.append(difference)
    assert not unknown, f"{len(unknown)} results differ, for instance " + "\n".join(map(str, unknown[:8]))
    gone = {title for title, (where, _) in KNOWN.items() if where == "-".join(case)} - seen
    assert not gone, f"differs no longer: {gone}"


def test_known_differences_are_on_the_page() -> None:
    text = PAGE.read_text()
    part = text[text.index("<!-- differences -->") : text.index("<!-- end of differences -->")]
    rows = [line.split("|")[1].strip() for line in part.splitlines() if line.startswith("| ")][1:]
    assert rows == list(KNOWN)
