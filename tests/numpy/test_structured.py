"""Structured arrays: compared with NumPy, with derivatives in reverse mode, forward mode and by differences.

Each program runs with a packed dtype, whose fields are unaligned, and with an aligned one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc

Array = Any
FIELDS = [("x", "f8"), ("on", "?"), ("y", "f8"), ("v", "f8", 3), ("id", "i4"), ("p", [("m", "f4"), ("q", "f8")])]
PACKED, ALIGNED = np.dtype(FIELDS), np.dtype(FIELDS, align=True)
FLOATS = ("x", "y", "v")


def particles(dtype: np.dtype[Any] = PACKED, n: int = 5) -> Array:
    rng = np.random.default_rng(3)
    a = np.zeros(n, dtype)
    a["x"], a["y"], a["v"], a["p"]["q"] = rng.random(n), rng.random(n), rng.random((n, 3)), rng.random(n)
    a["p"]["m"], a["id"], a["on"] = rng.random(n), np.arange(n), a["x"] > 0.4
    return a


def mask(a: Array) -> Any:
    b = a[a["x"] > 0.3]
    return np.sum(b["y"] * b["x"]) + len(b)


def gathered(a: Array) -> Any:
    b = a[np.argsort(a["y"])]
    b["x"] *= 2.0  # a copy
    return b["x"] @ np.arange(5.0)


def windows(a: Array) -> Any:
    b = a[1:-1:2]
    b["x"] += 1.0
    c = a[::-1]
    return np.sum(c["x"] * np.arange(len(c))) + a.shape[0] + a.size + a.ndim


def element(a: Array) -> Any:
    r = a[2]
    r["x"] = 5.0 * a[-1]["y"]
    r["v"][1] += 1.0
    a[1]["p"]["q"] *= 3.0
    return r["x"] * a["p"]["q"][1] + r[0]


def best(a: Array) -> Any:
    found = a[0]
    for r in a:
        if r["x"] > found["x"]:
            found = r
    return found["y"] * found["v"][2]


def pairs(a: Array) -> Any:
    total = 0.0
    for i, (r, s) in enumerate(zip(a, a["v"][1:], strict=False)):
        total += i * r["x"] * s[1]
    return total


def in_place(a: Array) -> Any:
    n = len(a)
    for i in range(n):
        for j in range(n):
            if i != j:
                a[i]["y"] += a["p"]["m"][j] * (a[i]["x"] - a[j]["x"])
    a["x"] += 0.5 * a["v"][:, 0]
    a["on"] = ~a["on"]
    a["id"] += 2
    return np.sum(a["y"] ** 2) + np.sum(a["x"] * a["on"])


def elements_stored(a: Array) -> Any:
    a[1:3] = a[3:5]
    a["x"][1:] = 0.5 * a["y"][:-1]
    for i in range(2):
        kept = a[i].copy()
        a[i] = a[i + 1]
        a[i + 1] = kept
    return np.sum(a["x"] * a["v"][:, 2])


def made(a: Array) -> Any:
    b = np.zeros_like(a)
    b["x"] = a["y"]
    c = np.zeros(3, dtype=a.dtype)
    c["x"] = a["x"][:3] * b["x"][2:]
    d = np.array([(1.0, 2.0), (a["x"][0], 3.0)], dtype=[("u", "f8"), ("w", "f8")])
    d[0] = (a["y"][1], 0.5)
    return np.sum(c["x"]) + d["u"] @ d["w"]


def appended(a: Array) -> Any:
    out = []
    for r in a:
        if r["on"]:
            out.append((r["x"], r["y"] * 2.0))
    found = np.array(out, dtype=[("u", "f8"), ("w", "f8")])
    return found["u"] @ found["w"]


def chosen(a: Array) -> Any:
    b = a if a["x"][0] > 0.1 else a[::-1]
    c = b[["x", "y"]]
    return b["y"][0] * b["x"][1] + c["x"] @ c["y"]


def by_name(a: Array) -> Any:
    total = 0.0
    for name in a.dtype.names:
        if name in ("x", "y"):
            total += np.sum(a[name] ** 2)
    return total


def handed_on(a: Array) -> Any:
    def moment(r: Any, s: Any) -> Any:
        return r["x"] * s["y"]

    return moment(a[0], a[1]) + moment(a, a)[2]


def counted(a: Array) -> Any:
    i, total = 0, 0.0
    while i < len(a) and total < 1.0:
        r = a[i]
        total += r["x"] * r["y"]
        i += 1
    return total + sum(r["x"] ** 2 for r in a)


def in_order(a: Array) -> Any:
    c = np.zeros(len(a), [("x", "f8"), ("y", "f8"), ("id", "i4"), ("on", "?")])
    for name in c.dtype.names:
        c[name] = a[name]
    b = np.sort(c, order="y")
    c.sort(order=["on", "x"])
    return b["x"] @ np.arange(5.0) + c["y"][np.argsort(c, order="id")][2]


PROGRAMS = [
    mask, gathered, windows, element, best, pairs, in_place, elements_stored, made, appended, chosen, by_name,
    handed_on, counted, in_order,
]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_is_numpys(program: Callable[[Array], Any]) -> None:
    for dtype in (PACKED, ALIGNED):
        a, ours, theirs = particles(dtype), particles(dtype), particles(dtype)
        compiled = adc.jit_grad(program)
        np.testing.assert_allclose(compiled(ours), program(theirs), rtol=1e-13)
        _same(ours, theirs)
        gradient = compiled.grad(a)
        assert gradient.dtype == dtype and not gradient["id"].any()
        _same(a, particles(dtype))
        if dtype is ALIGNED:
            continue
        (pulled,) = adc.pullback(program, particles(dtype))[1](1.0)
        _same(pulled, gradient)
        direction = np.zeros_like(a)
        for name in FLOATS:
            direction[name] = np.random.default_rng(7).random(a[name].shape)
        tangent = compiled.jvp((particles(dtype),), (direction,))[1]
        along = sum(np.sum(gradient[name] * direction[name]) for name in FLOATS)
        np.testing.assert_allclose(tangent, along, rtol=1e-7)
        np.testing.assert_allclose(_difference(program, a, direction), along, rtol=2e-4, atol=1e-6)


def _difference(program: Callable[[Array], Any], a: Array, direction: Array, h: float = 1e-6) -> float:
    values = []
    for sign in (h, -h):
        moved = a.copy()
        for name in FLOATS:
            moved[name] += sign * direction[name]
        values.append(float(program(moved)))
    return (values[0] - values[1]) / (2 * h)


def _same(a: Array, b: Array) -> None:
    assert a.dtype == b.dtype and type(a) is type(b)
    for name in a.dtype.names:
        if a.dtype[name].names:
            _same(a[name], b[name])
        else:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-12)


def test_results_are_structured_arrays() -> None:
    a = particles()
    for program in (lambda a: a[1:3], lambda a: a, lambda a: a[2], lambda a: a["p"], lambda a: a.copy()):
        _same(adc.jit_grad(program)(a), program(a))
    got, back = adc.pullback(lambda a: a[1:3], a)
    (found,) = back({"x": np.array([1.0, 2.0])})
    assert found["x"].tolist() == [0.0, 1.0, 2.0, 0.0, 0.0] and not found["y"].any()
    _, tangent = adc.jvp(lambda a: a[:2], (a,), ({"y": np.ones(5)},))
    assert tangent.dtype == PACKED and tangent["y"].tolist() == [1.0, 1.0] and not tangent["x"].any()


DTYPE = [("x", "f8"), ("y", "f8")]


def test_record_arrays_have_fields_as_attributes() -> None:
    def program(a: Any) -> Any:
        a.x *= 2.0
        a.y[1] = 3.0
        for r in a:
            r.y += r.x
        a[2].x = 7.0
        a.y = a.y + 1.0
        return np.sum(a.x * a.y)

    a = np.zeros(4, DTYPE).view(np.recarray)
    a.x, a.y = np.arange(4.0) + 1, 2.0
    ours, theirs = a.copy(), a.copy()
    compiled = adc.jit_grad(program)
    assert compiled(ours) == program(theirs)
    _same(ours, theirs)
    gradient = compiled.grad(a)
    assert isinstance(gradient, np.recarray) and gradient.x.tolist() == [14.0, 24.0, 14.0, 38.0]


def test_elements_and_arrays_of_other_ranks() -> None:
    a = np.zeros((2, 3), DTYPE)
    a["x"], a["y"] = np.arange(6.0).reshape(2, 3), 1.5

    def program(a: Any) -> Any:
        return np.sum(a[0]["x"] * a[:, 1]["y"][1]) + a.T[2, 1]["x"] * a[1, 2]["y"]

    compiled = adc.jit_grad(program)
    assert compiled(a) == program(a)
    assert compiled.grad(a)["x"].tolist() == [[1.5, 1.5, 1.5], [0.0, 0.0, 1.5]]
    product = adc.jit_grad(lambda r: r["x"] * r["y"])
    assert product(a[1, 2]) == 7.5 and product.grad(a[1, 2]) == np.array((1.5, 5.0), DTYPE)[()]
    assert type(product.grad(a[1, 2])) is np.void
    zero = adc.jit_grad(lambda a: np.sum(a["x"]))
    assert zero(a[:0]) == 0.0 and zero.grad(a[:0]).shape == (0, 3)
    assert adc.vmap(lambda r, s: r["x"] ** 2 * s, in_axes=(0, None))(a[0], 2.0).tolist() == [0.0, 2.0, 8.0]


def test_arguments_that_overlap_a_field() -> None:
    def program(a: Any, b: Any) -> Any:
        a["x"] += 1.0 * b
        return np.sum(a["x"] * b)

    compiled = adc.jit_grad(program)
    for name in ("x", "y"):
        ours, theirs = np.zeros(3, DTYPE), np.zeros(3, DTYPE)
        for a in (ours, theirs):
            a["x"], a["y"] = [1.0, 2.0, 3.0], 1.0
        assert compiled(ours, ours[name]) == program(theirs, theirs[name])
        _same(ours, theirs)


def test_derivatives_of_derivatives() -> None:
    a = np.zeros(3, DTYPE)
    a["x"], a["y"] = [1.0, 2.0, 3.0], 1.0

    def program(a: Any) -> Any:
        return np.sum(a["x"] ** 2 * a["y"])

    rows = adc.jacobian(lambda a: a["x"] * a["y"])(a)
    assert rows["y"].tolist() == np.diag([1.0, 2.0, 3.0]).tolist()
    hessian = adc.hessian(program)(a)
    assert hessian["x"]["y"].tolist() == np.diag([2.0, 4.0, 6.0]).tolist()
    assert adc.hvp(program, (a,), (a,))["x"].tolist() == [4.0, 8.0, 12.0]
    inner = adc.grad(lambda a: adc.grad(program)(a)["x"][1])(a)
    assert inner["x"].tolist() == [0.0, 2.0, 0.0] and inner["y"].tolist() == [0.0, 4.0, 0.0]


def test_fields_that_cannot_be_used_are_left_alone() -> None:
    stars = np.zeros(3, [("name", "U4"), ("x", "f8"), ("ra", ">f8"), ("y", "f8")])
    stars["x"], stars["y"], stars["name"] = [1.0, 2.0, 3.0], 2.0, "abc"

    def program(a: Any) -> Any:
        bright = a[a["x"] > 1.5]
        a["x"] += 1.0
        return np.sum(bright["x"] ** 2) + a[0]["x"] * a["y"][1]

    ours, theirs = stars.copy(), stars.copy()
    compiled = adc.jit_grad(program)
    assert compiled(ours) == program(theirs)
    assert (ours == theirs).all()
    gradient = compiled.grad(stars)
    assert gradient.dtype == stars.dtype and gradient["x"].tolist() == [2.0, 4.0, 6.0]


@pytest.mark.parametrize(
    ("program", "says", "help"),
    [
        (lambda a: a["name"][0], "field 'name' cannot be used here: an array of dtype <U4", "pass arrays of numbers"),
        (lambda a: a["z"], "the structured array has no field 'z'", "it has 'name', 'x', 'y'"),
        (lambda a: a.sum(), "structured arrays have no attribute 'sum' here", "use a field of it, as in a['name'].sum"),
        (lambda a: a == a, "structured arrays and their elements cannot be compared", "compare their fields"),
        (lambda a: a[0][7], "is subscripted by the name of a field", "it has 'name', 'x', 'y'"),
    ],
    ids=["text", "field", "attribute", "compared", "position"],
)  # fmt: skip
def test_what_is_refused(program: Callable[[Array], Any], says: str, help: str) -> None:
    a = np.zeros(3, [("name", "U4"), ("x", "f8"), ("y", "f8")])
    with pytest.raises(adc.AdcError) as caught:
        adc.jit_grad(program)(a)
    assert says in str(caught.value) and help in str(caught.value)


def test_fields_that_share_memory_are_refused() -> None:
    union = np.dtype({"names": ["a", "b"], "formats": ["f8", "f8"], "offsets": [0, 4]})
    with pytest.raises(adc.AdcError, match="fields share memory"):
        adc.jit_grad(lambda a: a["a"][0])(np.zeros(2, union))


def test_derivatives_are_checked() -> None:
    adc.check_grads(lambda a: np.sum(a["x"] ** 3 * a["p"]["m"]) + a[1]["v"][0], (particles(),))
    adc.check_grads(in_place, (particles(ALIGNED),))


OUTSIDE = np.zeros(3, DTYPE)
OUTSIDE["x"] = [1.0, 2.0, 3.0]


def test_a_captured_array_is_read() -> None:
    program = adc.jit_grad(lambda a: np.sum(a * OUTSIDE["x"]) * OUTSIDE[1]["x"])
    assert program(np.ones(3)) == 12.0 and program.grad(np.ones(3)).tolist() == [2.0, 4.0, 6.0]
