"""Forward mode: every rule against mpmath in all orders of modes; random functions against differences."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
import numpy as np
import pytest

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.attached import TANGENT
from adc.ir.builder import build, insert_at
from adc.ir.core import Func, Module
from adc.ir.interpret.interpreter import run, shuffled
from adc.ir.opdef import OpDef
from adc.ir.text.printer import print_func
from adc.ir.types import f32, f64, index, memref
from adc.ir.verifier import verify
from adc.passes import pipelines
from adc.passes.base import Verify, run_pipeline
from adc.passes.branches.if_convert import IfConvert
from adc.passes.differentiation.differentiate import gradient
from adc.passes.differentiation.forward.forward import jvp
from adc.passes.differentiation.rules import RULES
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.simplify.dce import DCE
from tests.passes.derivative_harness import branch, call, define, loop, parallel, tangent_alone
from tests.passes.random_ir import generate
from tests.passes.test_adjoint_random import WRT, _difference, _point
from tests.passes.test_rules import BY_FUNCTION, EXACT_BY_HAND, KINKS, TRUTH, _points


def along(module: Module, name: str, arguments: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """The results of a function and their tangents; zero for those that have none. None: no tangent of an argument."""
    wrt = [k for k, t in enumerate(tangents) if t is not None]
    made = jvp(module, name, wrt)
    verify(module)
    given = [
        np.zeros(np.shape(arguments[k])) if tangents[k] is None else np.array(tangents[k], copy=True)
        if isinstance(tangents[k], np.ndarray)
        else tangents[k]
        for k in made.arguments
    ]
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    found = run(module, made.name, [*copies, *given], order=shuffled(0))
    count = len(module.funcs[name].result_types)
    dots = dict(zip(made.results, found[count:], strict=True))
    return found[:count], [dots.get(k, 0.0) for k in range(count)]


def only_tangent(module: Module, name: str, wrt: Sequence[int]) -> str:
    """The function with tangents as one that returns the tangent of the first result alone."""
    return tangent_alone(module, jvp(module, name, wrt))


def scalar(opdef: OpDef, count: int) -> Module:
    module = Module()
    define(module, "f", [f64] * count, lambda *args: [opdef(*args)])
    return module


def partial(opdef: OpDef, point: Sequence[float], *which: int) -> float:
    order = tuple(sum(k == j for j in which) for k in range(len(point)))
    with mpmath.workdps(40):
        return float(mpmath.diff(TRUTH[opdef], point, order))


def test_every_rule_is_tested() -> None:
    assert set(TRUTH) | EXACT_BY_HAND | BY_FUNCTION == set(RULES)


@pytest.mark.parametrize(("opdef", "point"), _points())
def test_first_derivatives(opdef: OpDef, point: tuple[float, ...]) -> None:
    for k in range(len(point)):
        one = [1.0 if j == k else None for j in range(len(point))]
        (value,), (got,) = along(scalar(opdef, len(point)), "f", point, one)
        assert value == run(scalar(opdef, len(point)), "f", list(point))[0]
        expected = partial(opdef, point, k)
        assert abs(got - expected) <= 1e-12 * max(1.0, abs(expected), abs(point[k])), (k, got, expected)


def test_tangents_of_one_are_no_arguments() -> None:
    """Nor are they marked, also where they are passed on; other tangents of the same callee are."""
    module = Module()
    g = define(module, "g", [f64, f64], lambda a, b: [ops.divf(ops.sqrt(a), b)])
    define(module, "f", [f64, f64], lambda a, b: [call(g, a, b)[0] * call(g, b, a)[0] * a])
    both = along(module, "f", [2.0, 3.0], [1.0, 0.25])
    made = jvp(module, "f", (0, 1), ones=(0,))
    verify(module)
    assert made.arguments == (1,) and len(module.funcs[made.name].args) == 3
    assert run(module, made.name, [2.0, 3.0, 0.25]) == pytest.approx([*both[0], *both[1]], rel=1e-15)
    made = jvp(module, "f", (0,), ones=(0,))
    assert made.arguments == ()
    assert run(module, made.name, [2.0, 3.0])[1] == pytest.approx(along(module, "f", [2.0, 3.0], [1.0, None])[1][0])
    for callee in made.callees:
        assert callee.arguments == () and "strong" not in print_func(module.funcs[callee.name])


@pytest.mark.parametrize(("opdef", "point"), _points())
def test_second_derivatives_in_each_order_of_modes(opdef: OpDef, point: tuple[float, ...]) -> None:
    count = len(point)
    for k in range(count):
        expected = [partial(opdef, point, k, j) for j in range(count)]
        found: dict[str, list[float]] = {}

        module = scalar(opdef, count)
        inner = gradient(module, "f", (k,)).name
        found["forward over reverse"] = [
            along(module, inner, point, [1.0 if i == j else None for i in range(count)])[1][0] for j in range(count)
        ]
        module = scalar(opdef, count)
        inner = only_tangent(module, "f", (k,))
        given = len(module.funcs[inner].args) - count
        ones = [1.0] * given
        outer = gradient(module, inner, tuple(range(count))).name
        found["reverse over forward"] = run(module, outer, [*point, *ones])
        found["forward over forward"] = [
            along(module, inner, [*point, *ones], [1.0 if i == j else None for i in range(count + given)])[1][0]
            for j in range(count)
        ]
        for modes, got in found.items():
            for j in range(count):
                limit = 1e-10 * max(1.0, abs(expected[j]))
                assert abs(got[j] - expected[j]) <= limit, (modes, k, j, got[j], expected[j])


def test_casts_choices_powers_and_twins() -> None:
    module = Module()
    define(
        module,
        "f",
        [f64, f64, index],
        lambda x, y, n: [
            ops.select(ops.cmpf(x, y, predicate="olt"), ops.extf(ops.truncf(x * y, type=f32), type=f64), y + y),
            ops.fpowi(x, n),
            ops.twin(x * x, x * y),
            ops.polygamma(x, order=0),
        ],
    )
    dots = along(module, "f", [0.5, 2.0, 3], [1.0, 10.0, None])[1]
    assert dots[:3] == [2.0 + 5.0, 0.75, 2.0 + 5.0]
    assert dots[3] == pytest.approx(float(mpmath.psi(1, 0.5)), rel=1e-12)
    assert along(module, "f", [3.0, 2.0, 3], [1.0, 10.0, None])[1][0] == 20.0


@pytest.mark.parametrize("kink", KINKS)
def test_kinks_have_their_documented_subgradient(kink: str) -> None:
    opdef, point, expected = KINKS[kink]
    for k, wanted in enumerate(expected):
        one = [1.0 if j == k else None for j in range(len(point))]
        assert along(scalar(opdef, len(point)), "f", point, one)[1] == [wanted]


SINGULAR = [(ops.sqrt, 0.0), (ops.log, 0.0), (ops.rsqrt, 0.0), (ops.exp, 800.0), (ops.asin, 1.0), (ops.cbrt, 0.0)]


@pytest.mark.parametrize(("opdef", "x"), SINGULAR, ids=lambda v: getattr(v, "name", str(v)))
def test_strong_zeros(opdef: OpDef, x: float) -> None:
    """A tangent that is zero stays zero where the derivative is infinite."""
    with np.errstate(all="ignore"):
        assert along(scalar(opdef, 1), "f", [x], [0.0])[1] == [0.0]


def test_what_is_not_chosen_contributes_nothing() -> None:
    module = Module()
    define(
        module,
        "f",
        [f64],
        lambda x: [ops.select(ops.cmpf(x, const(0.0, f64), predicate="ogt"), ops.sqrt(x), const(0.0, f64))],
    )
    assert along(module, "f", [0.0], [1.0])[1] == [0.0]


def test_parallel_loops_stay_parallel() -> None:
    module = Module()

    def body(u: Any, v: Any) -> Any:
        n = ops.dim(u, dim=0)

        def point(i: Any) -> Any:
            x = ops.load(u, i)
            build(ops.store, [ops.sin(x), v, i])
            return [x * x]

        return parallel(const_index(0), n, point, [const(0.0, f64)], ["add"])

    define(module, "f", [memref(f64, 1), memref(f64, 1)], body)
    made = jvp(module, "f", (0,), (1,))
    verify(module)
    func = module.funcs[made.name]
    assert [op.opdef for op in func.walk() if op.regions] == [ops.parallel]
    assert made.arguments == (0, 1) and [a.get(TANGENT) for a in func.arg_attrs] == [None, None, 0, 1]
    u, v, v_dot = np.array([0.1, 0.7]), np.zeros(2), np.ones(2)
    assert run(module, made.name, [u, v, np.array([1.0, 2.0]), v_dot], order=shuffled(1)) == pytest.approx([0.5, 3.0])
    np.testing.assert_allclose(v_dot, np.cos(u) * [1.0, 2.0])


@pytest.mark.parametrize("kind", ["mul", "min", "max"])
def test_parallel_products_and_extremes(kind: str) -> None:
    module = Module()
    start = {"mul": 1.0, "min": math.inf, "max": -math.inf}[kind]
    define(
        module,
        "f",
        [memref(f64, 1)],
        lambda u: parallel(
            const_index(0), ops.dim(u, dim=0), lambda i: [ops.load(u, i)], [const(start, f64)], [kind]
        ),
    )
    u, v = np.array([3.0, 2.0, 5.0]), np.array([1.0, 10.0, 100.0])
    expected = {"mul": 10.0 + 150.0 + 600.0, "min": 10.0, "max": 100.0}[kind]
    assert along(module, "f", [u], [v])[1] == [expected]


def test_recursion_through_memory() -> None:
    """A function that calls itself, and writes to an array that comes to vary only by that."""
    module = Module()
    types = [memref(f64, 1), f64, index]
    func = module.add(Func("step", types, [f64]))
    u, x, n = func.args
    with insert_at(func.body):

        def deeper() -> Any:
            build(ops.store, [ops.sin(x), u, const_index(0)])
            (inner,) = call(func, u, x * x, n - 1)
            return [inner + ops.load(u, const_index(0))]

        results = branch(ops.cmpi(n, const_index(0), predicate="sgt"), deeper, lambda: [x], [f64])
        build(ops.return_, results)
    define(module, "f", [f64], lambda x: call(func, ops.alloc(const_index(1), type=memref(f64, 1)), x, const_index(2)))
    verify(module)

    def f(x: float) -> float:  # the array holds what the innermost call stored
        return x**4 + 2 * math.sin(x * x)

    assert run(module, "f", [0.7])[0] == pytest.approx(f(0.7))
    expected = 4 * 0.7**3 + 4 * 0.7 * math.cos(0.49)
    assert along(module, "f", [0.7], [1.0])[1] == pytest.approx([expected])


def test_sequential_values_and_passive_arguments() -> None:
    """Nothing inactive has a tangent: neither what does not vary nor what does not matter."""
    module = Module()

    def body(x: Any, y: Any, n: Any) -> Any:
        def turn(i: Any, a: Any, b: Any, c: Any) -> Any:
            return [a * x, b * y, c + a]

        one = const(1.0, f64)
        a, _, c = loop(const_index(0), n, [one, one, x], turn)
        return [a + c]

    define(module, "f", [f64, f64, index], body)
    made = jvp(module, "f", (0, 1))
    assert made.arguments == (0,)
    (outer,) = [op for op in module.funcs[made.name].walk() if op.regions]
    assert len(outer.results) == 5
    n, x = 3, 0.9
    (value,), (dot,) = along(module, "f", [x, 2.0, n], [1.0, 1.0, None])
    assert value == pytest.approx(x**3 + x + 1 + x + x * x)
    assert dot == pytest.approx(3 * x * x + 2 + 2 * x)


def _flat(parts: Sequence[Any]) -> Any:
    return np.concatenate([np.ravel(np.asarray(p, float)) for p in parts])


def _moved(arguments: Sequence[Any], direction: Sequence[Any], h: float) -> list[Any]:
    return [a if isinstance(a, int) else a + h * d for a, d in zip(arguments, direction, strict=True)]


@pytest.mark.parametrize("first", range(0, 400, 20))
def test_random_functions(first: int) -> None:
    """Records and arrays of arrays, which the reverse mode refuses, are among them."""
    checked = 0
    for seed in range(first, first + 20):
        module = generate(random.Random(seed), 25, fresh=True)
        arguments, direction = _point(seed)
        with np.errstate(all="ignore"):
            expected = _difference(module, arguments, direction)
            if expected is None:
                continue
            made = jvp(module, "f", WRT)
            verify(module)
            for stage in ("tangent", "simplified"):
                given = [np.array(direction[k]) if np.ndim(direction[k]) else direction[k] for k in made.arguments]
                found = run(module, made.name, [*_moved(arguments, direction, 0.0), *given], order=shuffled(seed))
                got = found[len(module.funcs["f"].result_types)] if 0 in made.results else 0.0
                assert abs(got - expected) <= 1e-5 * max(1.0, abs(expected)), (seed, stage, got, expected)
                passes = (*pipelines.SIMPLIFY, IfConvert(), DeadStores(), DCE())
                module = run_pipeline(module, passes, verify=Verify.PASSES)
        checked += 1
    assert checked > 5


def _hessian_times(f: Callable[[list[Any]], Any], arguments: list[Any], direction: list[Any]) -> Any:
    """Differences of a gradient in a direction; None where they cannot tell."""

    def at(h: float) -> Any:
        return f(_moved(arguments, direction, h))

    h = 1e-5
    best = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    rough = (at(3 * h) - at(-3 * h)) / (6 * h)
    scale = max(1.0, np.max(np.abs(best)))
    clear = np.isfinite(best).all() and np.max(np.abs(best - rough)) <= 1e-4 * scale and np.max(np.abs(at(0.0))) <= 1e6
    return best if clear else None


@pytest.mark.parametrize("first", range(0, 300, 25))
def test_random_functions_to_second_order(first: int) -> None:
    """Forward over reverse and reverse over forward against differences of the gradient."""
    checked = 0
    for seed in range(first, first + 25):
        module = generate(random.Random(seed), 25, fresh=True)
        arguments, direction = _point(seed)
        name = gradient(module, "f", WRT).name
        shapes = [arguments[0].shape, arguments[1].shape]

        def grad(moved: list[Any], name: str = name, module: Module = module, shapes: Any = shapes) -> Any:
            shadows = [np.zeros(shape) for shape in shapes]
            return _flat([*shadows, *run(module, name, [*moved, *shadows])]), shadows

        with np.errstate(all="ignore"):
            if _difference(module, arguments, direction) is None:
                continue
            truth = _hessian_times(lambda moved: grad(moved)[0], arguments, direction)
            if truth is None:
                continue
            tolerance = 2e-5 * max(1.0, np.max(np.abs(truth)))
            made = jvp(module, name, WRT, (5, 6))
            verify(module)
            shadows, dots = [np.zeros(s) for s in shapes], [np.zeros(s) for s in shapes]
            tangents = [*(np.array(d) if np.ndim(d) else d for d in direction), *dots]
            found = run(
                module,
                made.name,
                [*_moved(arguments, direction, 0.0), *shadows, *(tangents[k] for k in made.arguments)],
                order=shuffled(seed),
            )
            scalars = dict(zip(made.results, found[2:], strict=True))
            got = _flat([*dots, scalars.get(0, 0.0), scalars.get(1, 0.0)])
            assert np.max(np.abs(got - truth)) <= tolerance, (seed, "forward over reverse")
            inner = only_tangent(module, "f", WRT)
            outer = gradient(module, inner, WRT).name
            verify(module)
            func = module.funcs[inner]
            given = [direction[attrs[TANGENT]] for attrs in func.arg_attrs if TANGENT in attrs]
            shadows = [np.zeros(s) for s in shapes]
            found = run(module, outer, [*_moved(arguments, direction, 0.0), *given, *shadows], order=shuffled(seed))
            assert np.max(np.abs(_flat([*shadows, *found]) - truth)) <= tolerance, (seed, "reverse over forward")
        checked += 1
    assert checked > 5
