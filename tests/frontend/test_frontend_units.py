"""The parts of the frontend, each alone: written types, liveness, roots, source ranges."""

from __future__ import annotations

import ast

import numpy as np
import pytest

from adc.frontend.abstract import Array, Scalar, Static, Tuple, abstract_of, memref_type, with_alias
from adc.frontend.annotations import annotated, parse_signature
from adc.frontend.data.roots import Phase, Phases, Root, overlap
from adc.frontend.syntax.liveness import analyse
from adc.frontend.syntax.source import function_source
from adc.ir.types import f32, f64, i1, i32, i64


def test_signatures():
    assert parse_signature("f64[:, ::1], f64, i64") == (Array(f64, 2, "C"), Scalar(f64), Scalar(i64))
    assert parse_signature("f32[:], f32, bool") == (Array(f32, 1, "any"), Scalar(f32, weak=False), Scalar(i1))
    assert parse_signature("(f64, (i64, i32[::1]))") == (
        Tuple((Scalar(f64), Tuple((Scalar(i64), Array(i32, 1, "C"))))),
    )
    assert parse_signature(" ") == ()
    for wrong in ("f64[", "f8", "f64[3]", "f64[::2]", "f64[::1, :]", "f64 f64", "x+1"):
        with pytest.raises(ValueError):
            parse_signature(wrong)


def test_annotations():
    def f(u: "f64[:, :]", x: float, n: int, y: np.float32, t: tuple[float, int]): ...  # noqa: UP037

    assert annotated(f) == (
        Array(f64, 2, "any"),
        Scalar(f64),
        Scalar(i64),
        Scalar(f32, weak=False),
        Tuple((Scalar(f64), Scalar(i64))),
    )

    def g(x: "f64", n=3): ...  # noqa: UP037

    def h(x, n: int): ...

    assert annotated(g) == (Scalar(f64),)
    assert annotated(h) is None


def test_abstract_values():
    a = np.zeros((3, 4))
    many = (False, False)  # extents that are 1
    assert abstract_of(a) == Array(f64, 2, "C", ones=many)
    assert abstract_of(a[:, 1:]) == Array(f64, 2, "inner", ones=many)
    assert abstract_of(a.T) == Array(f64, 2, "any", ones=many)
    assert abstract_of(a[:1]) == Array(f64, 2, "C", ones=(True, False))
    assert abstract_of(a[:, ::2]).layout == "any"
    fixed = a.copy()
    fixed.flags.writeable = False
    assert not abstract_of(fixed).writable
    assert str(memref_type(abstract_of(a[:, 1:]))) == "memref<?x?xf64, strided<[?, 1], offset: ?>>"
    assert with_alias(abstract_of((a, 1.0)), 3) == Tuple((Array(f64, 2, alias=3, ones=many), Scalar(f64)))
    assert abstract_of(True) == Scalar(i1)
    assert abstract_of(np.float64(1)) == Scalar(f64, weak=False)
    assert Static(1) != Static(True)
    assert Static(1) != Static(1.0)
    assert Static("a") == Static("a")
    assert len({Static([]), Static([])}) == 2
    for wrong in (np.zeros(2, np.clongdouble), np.zeros(2, ">f8"), np.zeros(2, object), np.longdouble(1)):
        with pytest.raises(TypeError):
            abstract_of(wrong)


def liveness_of(text):
    (function,) = ast.parse(text).body
    return function, analyse(function)


def test_liveness():
    function, live = liveness_of(
        """
def f(x, n):
    s = 0
    for i in range(n):
        t = x * i
        if t > 0:
            u = t
            s += u
        w = t
    return s + w
"""
    )
    loop = function.body[1]
    branch = loop.body[1]
    assert live.local == {"x", "n", "s", "i", "t", "u", "w"}
    assert live.after[loop] == {"s", "w"}
    assert live.assigns[loop] == {"i", "t", "u", "s", "w"}
    assert live.body_assigns[loop] == {"t", "u", "s", "w"}
    assert live.reads[loop] == {"x", "s"}
    assert live.assigns[branch] == {"u", "s"}
    assert live.after[branch] == {"t", "s", "x"}  # w is assigned anew


def test_liveness_of_nested_functions():
    function, live = liveness_of(
        """
def f(x):
    k = 1
    g = lambda t, d=x: t * k
    k = 2
    while g(x) < k:
        x = x + k
    return x
"""
    )
    assert live.captured == set()
    loop = function.body[3]
    assert live.reads[loop] == {"x", "g", "k"}
    assert live.after[loop] == {"x"}


def test_liveness_of_functions_in_tuples():
    function, live = liveness_of(
        """
def f(x):
    k = m = 1
    while x > 0:
        k = x
        pair = (lambda t: t * k, 2)
        several = [pair[0], lambda t: pair[0](t) + m]
        for g in several:
            x = g(x) - 1
    return x
"""
    )
    outer = function.body[1]
    assert live.captured == set()
    assert live.reads[outer] == {"x", "m"}
    assert {"k", "m", "pair"} <= live.reads[outer.body[3]]


def test_liveness_of_functions_that_get_around():
    function, live = liveness_of(
        """
def f(x):
    k = m = n = 1
    pair = (lambda t: t * k, 2)
    def g(t):
        return t + m
    h = lambda t: g(t) + n
    for i in range(3):
        k = i
        m = i
        q = x * i
        x = pair[0](x) + h(x) + run(lambda t: t * q, x)
        other = {"g": g}
    return x
"""
    )
    loop = function.body[4]
    assert live.captured == {"m"}
    assert live.reads[loop] == {"x", "pair", "h", "n", "g", "run"}


def test_overlap():
    a, b, c = Root("a"), Root("b"), Root("c")
    assert overlap(frozenset({a, b}), frozenset({b}))
    assert not overlap(frozenset({a}), frozenset({b, c}))
    phases = Phases({frozenset(("u", "v"))})
    u = Phase("u", 5, "", phases, frozenset({a, b}))
    v = Phase("v", 6, "", phases, frozenset({a, b}))
    w = Phase("w", 7, "", phases, frozenset({a}))
    assert not overlap(frozenset({u}), frozenset({v}))
    assert overlap(frozenset({u}), frozenset({w}))
    assert overlap(frozenset({u}), frozenset({a}))
    assert not overlap(frozenset({u}), frozenset({c}))
    inner = Phase("x", 9, "", Phases(), frozenset({u}))
    for pair, expected in ((v, False), (u, True), (a, True), (c, False)):
        assert overlap(frozenset({inner}), frozenset({pair})) is expected
        assert overlap(frozenset({pair}), frozenset({inner})) is expected


def test_source_ranges():
    def greet(x):
        ä = "ö"; return x  # fmt: skip  # noqa: E702, F841

    source = function_source(greet)
    loc = source.loc(source.body[1])
    text = source.file.lines[loc.line - 1]
    assert text[loc.column : loc.end_column] == "return x"
    assert source.header.line == greet.__code__.co_firstlineno
