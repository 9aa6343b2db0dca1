"""Gradients of small IR programs against central differences, and the contents of the tape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc.ir import ops
from adc.ir.arith import const, const_index
from adc.ir.builder import build
from adc.ir.core import Module, Value
from adc.ir.interpret.interpreter import run
from adc.ir.types import f64, index, memref
from adc.ir.verifier import verify
from adc.passes.differentiation.differentiate import split
from adc.passes.differentiation.storage.storage_plan import tape_bytes
from tests.passes.derivative_harness import (
    branch,
    call,
    check_gradient,
    copied,
    define,
    difference,
    loop,
    parallel,
    view,
    while_loop,
)

VECTOR, MATRIX = memref(f64, 1), memref(f64, 2)
ZERO = 0.0


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


def zero() -> Value:
    return const_index(0)


def sum_of_squares(u: Value) -> Value:
    return parallel(
        zero(), ops.dim(u, dim=0), lambda i: [ops.load(u, i) * ops.load(u, i)], [const(ZERO, f64)], ["add"]
    )[0]


def time_steps(u: Value, v: Value, c: Value, nt: Value, nonlinear: bool, opdef_parallel: bool = True) -> list[Value]:
    """A three-point step into the other buffer, then the buffers change places."""
    n = ops.dim(u, dim=0)

    def step(t: Value, u: Value, v: Value) -> list[Value]:
        def point(i: Value) -> None:
            left, here, right = ops.load(u, i - 1), ops.load(u, i), ops.load(u, i + 1)
            new = here + c * (left - 2.0 * here + right)
            if nonlinear:
                new = new - 0.1 * here * (right - left)
            build(ops.store, [new, v, i])

        if opdef_parallel:
            parallel(const_index(1), n - 1, point)
        else:
            loop(const_index(1), n - 1, [], point)
        return [v, u]

    u, v = loop(zero(), nt, [u, v], step)
    return [sum_of_squares(u)]


def test_scalar_expression() -> None:
    module = Module()
    define(module, "f", [f64, f64], lambda a, b: [a / (a + b * b)])
    check_gradient(module, "f", [2.0, 3.0], (0, 1))


@pytest.mark.parametrize("n", [0, 1, 3])
def test_power_by_a_loop(n: int) -> None:
    module = Module()
    define(module, "f", [f64, index], lambda x, n: loop(zero(), n, [const(1.0, f64)], lambda i, p: [p * x]))
    check_gradient(module, "f", [2.0, n], (0,))


def test_update_in_place() -> None:
    module = Module()

    def body(x: Value) -> list[Value]:
        def square(i: Value) -> None:
            v = ops.load(x, i)
            build(ops.store, [v * v, x, i])

        parallel(zero(), ops.dim(x, dim=0), square)
        return [sum_of_squares(x)]

    define(module, "f", [VECTOR], body)
    check_gradient(module, "f", [rng().standard_normal(5)], (0,))
    check_gradient(module, "f", [np.zeros(0)], (0,))


@pytest.mark.parametrize("nt", [0, 1, 4, 5])
@pytest.mark.parametrize("nonlinear", [False, True])
@pytest.mark.parametrize("is_parallel", [False, True])
def test_swapped_buffers(nt: int, nonlinear: bool, is_parallel: bool) -> None:
    module = Module()
    define(
        module,
        "f",
        [VECTOR, VECTOR, f64, index],
        lambda u, v, c, nt: time_steps(u, v, c, nt, nonlinear, is_parallel),
        ["u", "v", "c", "nt"],
    )
    arguments = [rng().standard_normal(8), rng().standard_normal(8), 0.2, nt]
    check_gradient(module, "f", arguments, (0,))
    check_gradient(module, "f", arguments, (0, 1, 2))


def test_linear_stencil_has_no_tape() -> None:
    module = Module()
    define(module, "f", [VECTOR, VECTOR, f64, index], lambda u, v, c, nt: time_steps(u, v, c, nt, False))
    adjoint = check_gradient(module, "f", [rng().standard_normal(6), np.zeros(6), 0.2, 3], (0,))
    assert tape_bytes(adjoint.plan) == 0
    assert "nothing is stored" in str(adjoint)
    stored = [op for op in module.funcs[adjoint.name].walk() if op.opdef is ops.alloc]
    assert all(t.type.element is f64 and t.type.rank == 1 for t in (op.result for op in stored))


def test_coefficient_of_a_linear_stencil_stores_one_value_per_point() -> None:
    module = Module()
    define(module, "f", [VECTOR, VECTOR, f64, index], lambda u, v, c, nt: time_steps(u, v, c, nt, False))
    adjoint = check_gradient(module, "f", [rng().standard_normal(6), np.zeros(6), 0.2, 3], (0, 2))
    assert len(adjoint.plan.stored) == 1
    assert tape_bytes(adjoint.plan) is None  # known only when it runs


def test_while_with_branches() -> None:
    module = Module()

    def body(x: Value, y: Value) -> list[Value]:
        def step(x: Value, y: Value) -> list[Value]:
            (r,) = branch(
                ops.cmpf(x, y, predicate="ogt"), lambda: [ops.sin(x) * y], lambda: [ops.cos(x) * ops.exp(-y)], [f64]
            )
            return [r * 1.1, y + 0.1 * ops.absf(x) + 0.15]

        a, b = while_loop([x, y], lambda x, y: ops.cmpf(y, const(2.0, f64), predicate="olt"), step)
        return [a * b]

    define(module, "f", [f64, f64], body)
    for x, y in ((0.7, 0.3), (0.2, 1.1), (0.5, 3.0)):
        check_gradient(module, "f", [x, y], (0, 1))


def test_triangular_nest_with_a_tape_per_row() -> None:
    module = Module()

    def body(x: Value, n: Value) -> tuple[Value, ...]:
        def row(i: Value, s: Value) -> tuple[Value, ...]:
            def column(j: Value, s: Value) -> list[Value]:
                (v,) = branch(
                    ops.cmpi(j, const_index(1), predicate="sgt"),
                    lambda: [ops.sin(s) * ops.load(x, j)],
                    lambda: [s * ops.load(x, j)],
                    [f64],
                )
                return [s + v]

            return loop(zero(), i + 1, [s], column)

        return loop(zero(), n, [const(1.0, f64)], row)

    define(module, "f", [VECTOR, index], body)
    check_gradient(module, "f", [0.3 * rng().standard_normal(5), 5], (0,))
    check_gradient(module, "f", [0.3 * rng().standard_normal(5), 0], (0,))


def test_loop_inside_a_branch_inside_a_while() -> None:
    module = Module()

    def body(x: Value, s: Value) -> list[Value]:
        def step(s: Value, k: Value) -> list[Value]:
            even = ops.cmpi(ops.remsi(k, const_index(2)), zero(), predicate="eq")
            (r,) = branch(
                even,
                lambda: loop(zero(), k + 1, [s], lambda i, a: [ops.sin(a) + ops.load(x, i)], step=2),
                lambda: [s * s],
                [f64],
            )
            return [r, k + 1]

        s, _ = while_loop([s, zero()], lambda s, k: ops.cmpi(k, const_index(5), predicate="slt"), step)
        return [s]

    define(module, "f", [VECTOR, f64], body)
    check_gradient(module, "f", [0.3 * rng().standard_normal(6), 0.4], (0, 1))


def test_temporary_and_copy_between_views_in_a_time_loop() -> None:
    module = Module()

    def body(u: Value, nt: Value) -> list[Value]:
        n = ops.dim(u, dim=0)

        def step(t: Value) -> None:
            temporary = ops.alloc(n, type=VECTOR)

            def point(i: Value) -> None:
                x = ops.load(u, i)
                build(ops.store, [x * x * 0.5 + ops.sin(x), temporary, i])

            parallel(zero(), n, point)
            build(ops.copy, [view(temporary, 1, n - 1), view(u, 0, n - 1)])

        loop(zero(), nt, [], step)
        return [sum_of_squares(u)]

    define(module, "f", [VECTOR, index], body)
    check_gradient(module, "f", [rng().standard_normal(6), 3], (0,))


def test_fresh_array_carried_by_a_loop() -> None:
    module = Module()

    def body(u: Value, nt: Value) -> list[Value]:
        n = ops.dim(u, dim=0)

        def step(t: Value, w: Value) -> list[Value]:
            new = ops.alloc(n, type=VECTOR)

            def point(i: Value) -> None:
                x = ops.load(w, i)
                build(ops.store, [x * x * 0.5 + ops.sin(x), new, i])

            parallel(zero(), n, point)
            return [new]

        (w,) = loop(zero(), nt, [u], step)
        return list(parallel(zero(), n, lambda i: [ops.load(w, i) * ops.load(u, i)], [const(ZERO, f64)], ["add"]))

    define(module, "f", [VECTOR, index], body)
    for nt in (0, 3):
        check_gradient(module, "f", [rng().standard_normal(6), nt], (0,))


def test_fill_and_reversed_view() -> None:
    module = Module()

    def body(x: Value, s: Value) -> list[Value]:
        n = ops.dim(x, dim=0)
        local = ops.alloc(n, type=VECTOR)
        build(ops.fill, [s, local])
        backwards = view(x, n - 1, n, -1)

        def point(i: Value) -> None:
            build(ops.store, [ops.load(local, i) * ops.load(backwards, i) * ops.load(x, i), local, i])

        loop(zero(), n, [], point, step=2)
        return [sum_of_squares(local)]

    define(module, "f", [VECTOR, f64], body)
    check_gradient(module, "f", [rng().standard_normal(5), 0.8], (0, 1))


@pytest.mark.parametrize("kind", ["max", "min", "mul"])
def test_reductions_other_than_sums(kind: str) -> None:
    module = Module()
    start = {"max": -1e9, "min": 1e9, "mul": 1.0}[kind]
    define(
        module,
        "f",
        [VECTOR],
        lambda x: parallel(zero(), ops.dim(x, dim=0), lambda i: [ops.sin(ops.load(x, i))], [const(start, f64)], [kind]),
    )
    check_gradient(module, "f", [rng().standard_normal(4)], (0,))


def test_shared_scalar_in_nested_parallel_loops() -> None:
    module = Module()

    def body(a: Value, c: Value) -> tuple[Value, ...]:
        def row(i: Value) -> tuple[Value, ...]:
            return parallel(
                zero(),
                ops.dim(a, dim=1),
                lambda j: [ops.sin(c * ops.load(a, i, j)) * c],
                [const(ZERO, f64)],
                ["add"],
            )

        return parallel(zero(), ops.dim(a, dim=0), row, [c], ["add"])

    define(module, "f", [MATRIX, f64], body)
    check_gradient(module, "f", [rng().standard_normal((3, 4)), 0.6], (0, 1))


def _module_with_calls() -> Module:
    module = Module()
    flux = define(module, "flux", [f64, f64], lambda a, b: [ops.sin(a) * b])

    def update(x: Value, y: Value, c: Value) -> list[Value]:
        def point(i: Value) -> None:
            (f,) = call(flux, ops.load(x, i), c)
            build(ops.store, [ops.load(y, i) * f, y, i])
            build(ops.store, [ops.load(x, i) * f, x, i])

        parallel(zero(), ops.dim(x, dim=0), point)
        return [ops.load(y, zero()) * c]

    callee = define(module, "update", [VECTOR, VECTOR, f64], update)

    def caller(x: Value, y: Value, c: Value, nt: Value) -> list[Value]:
        (s,) = loop(zero(), nt, [const(1.0, f64)], lambda t, s: [s * call(callee, x, y, c)[0] + 1.0])
        return [s + ops.load(y, const_index(1)) * ops.load(x, const_index(2))]

    define(module, "caller", [VECTOR, VECTOR, f64, index], caller)
    return module


def test_calls_that_mutate_in_a_loop() -> None:
    module = _module_with_calls()
    adjoint = check_gradient(module, "caller", [rng().standard_normal(4), rng().standard_normal(4), 0.7, 3], (0, 1, 2))
    called = {op.attrs["callee"] for op in module.funcs[adjoint.name].walk() if op.opdef is ops.call}
    assert called == {"update.aug", "update.rev"}, "a call is differentiated as a call"


def test_pure_scalar_callee_leaves_no_record() -> None:
    module = Module()
    flux = define(module, "flux", [f64, f64], lambda a, b: [a * b + a])
    define(
        module,
        "f",
        [VECTOR, f64],
        lambda x, c: parallel(
            zero(), ops.dim(x, dim=0), lambda i: call(flux, ops.load(x, i), c), [const(ZERO, f64)], ["add"]
        ),
    )
    check_gradient(module, "f", [rng().standard_normal(4), 0.4], (0, 1))
    assert not any(op.opdef is ops.pack for op in module.funcs["flux.aug"].walk())


def test_callee_that_returns_an_array_and_one_that_returns_a_view() -> None:
    module = Module()

    def make(x: Value) -> list[Value]:
        n = ops.dim(x, dim=0)
        new = ops.alloc(n, type=VECTOR)
        parallel(zero(), n, lambda i: build(ops.store, [ops.exp(ops.load(x, i)), new, i]) and None)
        return [new]

    fresh = define(module, "fresh", [VECTOR], make)
    tail = define(module, "tail", [VECTOR], lambda x: [view(x, 1, ops.dim(x, dim=0) - 1)])

    def body(x: Value) -> list[Value]:
        (rest,) = call(tail, x)
        (new,) = call(fresh, x)
        build(ops.store, [ops.load(new, zero()) * ops.load(rest, zero()), rest, const_index(1)])
        return [sum_of_squares(x) + sum_of_squares(new)]

    define(module, "f", [VECTOR], body)
    check_gradient(module, "f", [rng().standard_normal(4)], (0,))


def test_overlapping_arguments_share_a_shadow() -> None:
    module = Module()

    def body(x: Value, y: Value) -> list[Value]:
        n = ops.dim(y, dim=0)

        def point(i: Value) -> None:
            build(ops.store, [ops.load(x, i) * ops.load(y, i), y, i])

        loop(zero(), n, [], point)
        return [sum_of_squares(x)]

    func = define(module, "f", [VECTOR, VECTOR], body)
    for attrs in func.arg_attrs:
        attrs["adc.alias"] = 0
    base = rng().standard_normal(6)

    def value(a: list[Any]) -> float:
        memory = a[0].copy()
        result: float = run(module, "f", [memory, memory[1:]])[0]
        return result

    from adc.passes.differentiation.differentiate import gradient

    adjoint = gradient(module, "f", (0, 1))
    verify(module)
    memory, shadow = base.copy(), np.zeros(6)
    run(module, adjoint.name, [memory, memory[1:], shadow, shadow[1:]])
    for k in range(6):
        unit = np.zeros(6)
        unit[k] = 1.0
        assert shadow[k] == pytest.approx(difference(value, [base], 0, unit), rel=1e-7, abs=1e-7)


def test_split_can_be_run_again_and_takes_cotangents_of_the_final_state() -> None:
    module = _module_with_calls()
    _, plan = split(module, "caller", (0, 1, 2))
    verify(module)
    arguments: list[Any] = [rng().standard_normal(4), rng().standard_normal(4), 0.7, 2]
    seeds = [rng().standard_normal(4) for _ in plan.shadows]

    def objective(a: list[Any]) -> float:
        (s,) = run(module, "caller", a)
        return float(3.0 * s + sum(np.sum(seed * a[k]) for seed, k in zip(seeds, plan.shadows, strict=True)))

    after = copied(arguments)
    shadows = [np.zeros(4) for _ in plan.shadows]
    forward = run(module, plan.augmented, [*after, *shadows])
    record = forward[1:] if plan.record else []
    answers = []
    for _ in range(2):
        for shadow, seed in zip(shadows, seeds, strict=True):
            shadow[:] = seed
        kept = [after[k] for k in plan.kept]
        scalars = run(module, plan.reverse, [*kept, *shadows, *([3.0] * len(plan.cotangents_in)), *record])
        answers.append((scalars, copied(shadows)))
    assert answers[0][0] == answers[1][0]
    assert all(np.array_equal(a, b) for a, b in zip(answers[0][1], answers[1][1], strict=True))
    scalars = dict(zip(plan.cotangents_out, answers[0][0], strict=True))
    arrays = dict(zip(plan.shadows, answers[0][1], strict=True))
    for k in (0, 1, 2):
        direction = rng().standard_normal(4) if k < 2 else 1.0
        got = np.sum(arrays[k] * direction) if k < 2 else scalars[k]
        assert got == pytest.approx(difference(objective, arguments, k, direction), rel=1e-7, abs=1e-7)
