"""The public interface: what calls take and return, and when code is compiled again."""

from __future__ import annotations

import enum
import functools
import gc
import math
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend.calls.callable_type import NativeCallable

ENGINES = ["native", "interpreter"]


def jit(engine: str, **options: Any) -> Any:
    return functools.partial(jit_grad(_engine=engine, **options))  # type: ignore[call-overload]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# The decorator -------------------------------------------------------------------------------------------------------


def test_decorator_forms() -> None:
    @jit_grad
    def plain(x, y):
        """Doc."""
        return x * x * y

    @jit_grad(argnums=1)
    def second(x, y):
        return x * x * y

    @jit_grad(argnums=(0, 1), threads=2, parallel=False)
    def both(x, y):
        return x * x * y

    assert plain.grad(3.0, 2.0) == 12.0
    assert second.grad(3.0, 2.0) == 9.0
    assert both.grad(3.0, 2.0) == (12.0, 9.0)
    assert both.value_and_grad(3.0, 2.0) == (18.0, (12.0, 9.0))
    assert (plain.__name__, plain.__doc__) == ("plain", "Doc.")
    assert isinstance(plain, NativeCallable) and isinstance(plain.grad, NativeCallable)
    assert repr(plain).startswith("<adc function tests.test_api.") or "plain" in repr(plain)
    assert repr(plain.grad) == "<gradient of plain>"


def test_function_forms() -> None:
    def f(x, y):
        return x * y * y

    assert adc.grad(f)(2.0, 3.0) == 9.0
    assert adc.grad(f, 1)(2.0, 3.0) == 12.0
    assert adc.grad(f, (1, 0))(2.0, 3.0) == (12.0, 9.0)
    assert adc.grad(f, -1)(2.0, 3.0) == 12.0
    assert adc.value_and_grad(f, argnums=[0])(2.0, 3.0) == (18.0, (9.0,))
    assert adc.vjp is adc.pullback
    y, back = adc.vjp(f, 2.0, 3.0)
    assert (y, back(0.5)) == (18.0, (4.5, 6.0))
    assert adc.grad(f) is adc.grad(f), "what was compiled for a function is kept"
    assert adc.grad(jit_grad(f), 1)(2.0, 3.0) == 12.0


def test_argnames() -> None:
    def f(x, y, *, k=2.0):
        return k * x * y * y

    assert adc.grad(f, argnames="y")(2.0, 3.0) == {"y": 24.0}
    assert adc.grad(f, argnames=("k", "x"))(2.0, 3.0) == {"k": 18.0, "x": 18.0}
    assert adc.grad(f, argnums=(0,), argnames="k")(2.0, 3.0) == ((18.0,), {"k": 18.0})
    assert adc.value_and_grad(f, argnums=0, argnames="k")(2.0, 3.0, k=1.0) == (18.0, (9.0, {"k": 18.0}))


def test_keywords_and_defaults(engine: str) -> None:
    @jit(engine)
    def f(x, n=3, *, k=2.0):
        for _ in range(n):
            x = x * k
        return x

    assert f(1.0) == f(x=1.0) == f(1.0, 3, k=2.0) == 8.0
    assert f(1.0, n=2) == 4.0
    assert f.grad(1.0, k=3.0) == 27.0
    assert f.value_and_grad(x=2.0) == (16.0, 8.0)


def test_tuples_come_back_as_tuples(engine: str) -> None:
    @jit(engine)
    def f(p, q):
        (a, n), (b, v) = p
        return a * n + b * v[1] * q[0]

    (a_bar, n_bar), (b_bar, v_bar) = f.grad(((2.0, 3), (4.0, np.array([5.0, 6.0]))), (7.0,))
    assert (a_bar, n_bar, b_bar) == (3.0, None, 42.0)
    np.testing.assert_array_equal(v_bar, [0.0, 28.0])
    assert adc.grad(f, 1)(((2.0, 3), (4.0, np.array([5.0, 6.0]))), (7.0,)) == (24.0,)


def test_results(engine: str) -> None:
    @jit(engine)
    def several(x, v):
        v[0] = x
        return x, (v * 2.0, len(v), x > 0.0, None, "text")

    v = np.array([1.0, 2.0])
    x, (doubled, n, positive, nothing, text) = several(3.0, v)
    assert (x, n, positive, nothing, text) == (3.0, 2, True, None, "text")
    assert type(x) is float and type(n) is int and type(positive) is bool
    np.testing.assert_array_equal(doubled, [6.0, 4.0])
    np.testing.assert_array_equal(v, [3.0, 2.0])

    @jit(engine)
    def identity(v):
        return v

    assert identity(v) is v or np.shares_memory(identity(v), v)

    @jit(engine)
    def nothing_at_all(v):
        v[:] = 0.0

    assert nothing_at_all(v) is None
    np.testing.assert_array_equal(v, [0.0, 0.0])


def test_gradients_have_the_dtype_of_arguments(engine: str) -> None:
    @jit(engine, argnums=(0, 1))
    def f(x, v):
        return np.sum(v * x)

    v = np.array([1.0, 2.0], np.float32)
    x_bar, v_bar = f.grad(np.float32(3.0), v)
    assert type(x_bar) is np.float32 and x_bar == 3.0
    assert v_bar.dtype == np.float32
    np.testing.assert_array_equal(v_bar, [3.0, 3.0])
    x_bar, v_bar = f.grad(np.float64(3.0), v.astype(float))
    assert type(x_bar) is np.float64 and v_bar.dtype == np.float64
    assert type(f.grad(3.0, v)[0]) is float


LAYOUTS = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "columns apart": lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    "rows apart": lambda a: np.repeat(a, 2, axis=0)[::2],
    "reversed": lambda a: a[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": lambda a: (lambda b: b.setflags(write=False) or b)(a.copy()),
    "repeated in place": lambda a: np.broadcast_to(a[:1], a.shape),
    "empty": lambda a: a[:0],
    "one row": lambda a: a[:1],
    "one column": lambda a: a[:, :1],
    "subclass": lambda a: a.view(type("Mine", (np.ndarray,), {})),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout: str, engine: str) -> None:
    @jit(engine)
    def f(a):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += a[i, j] * a[i, j] * (i + 2 * j + 1)
        return total

    a = LAYOUTS[layout](np.arange(1.0, 13.0).reshape(3, 4))
    i, j = np.indices(a.shape)
    expected = 2 * np.asarray(a) * (i + 2 * j + 1)
    gradient = f.grad(a)
    np.testing.assert_allclose(gradient, expected)
    assert type(gradient) is np.ndarray and gradient.shape == a.shape
    value, back = f.pullback(a)
    assert value == pytest.approx(np.sum(expected * np.asarray(a)) / 2)
    np.testing.assert_allclose(back(1.0)[0], expected)
    np.testing.assert_allclose(back(2.0)[0], 2 * expected)


# Compiling again -----------------------------------------------------------------------------------------------------


def test_specialisations_alternate() -> None:
    @jit_grad
    def f(x):
        return x * 2

    for _ in range(3):
        assert f(3) == 6 and type(f(3)) is int
        assert f(3.0) == 6.0 and type(f(3.0)) is float
        assert type(f(np.float32(3.0))) is np.float32
        np.testing.assert_array_equal(f(np.arange(3.0)), [0.0, 2.0, 4.0])
        assert f(True) == 2
    assert len(f._known()) == 5, "one for each type, compiled once"


def test_redefined_helper_is_seen() -> None:
    global _helper
    _helper = lambda x: x * 2.0

    @jit_grad
    def f(x):
        return _helper(x)

    assert (f(3.0), f.grad(3.0)) == (6.0, 2.0)
    _helper = lambda x: x * x
    assert (f(3.0), f.grad(3.0)) == (9.0, 6.0)
    _helper = lambda x: x * 2.0
    assert (f(3.0), f.grad(3.0)) == (6.0, 2.0)


def test_captured_values_are_read_at_the_call() -> None:
    scale, table = 2.0, np.array([1.0, 2.0])

    @jit_grad
    def f(x):
        return scale * x * table[1]

    assert (f(3.0), f.grad(3.0)) == (12.0, 4.0)
    scale = 5.0
    table = np.array([1.0, 10.0, 0.0])
    assert (f(3.0), f.grad(3.0)) == (150.0, 50.0)
    table[1] = 1.0
    assert f(3.0) == 15.0
    scale = 2  # an int now
    assert f(3.0) == 6.0


def test_static_arguments_select_code() -> None:
    def double(x):
        return 2.0 * x

    @jit_grad
    def f(x, mode, how=None):
        y = x if how is None else how(x)
        return y * y if mode == "square" else y

    assert f.grad(3.0, "square") == 6.0
    assert f.grad(3.0, "other") == 1.0
    assert f.grad(3.0, "square", double) == 24.0
    assert f.grad(3.0, "square", lambda x: 3.0 * x) == 54.0


def test_threads_compile_and_call_at_once() -> None:
    @jit_grad
    def f(x, v):
        for i in range(len(v)):
            x = math.sin(x) + v[i]
        return x

    v = np.linspace(0.0, 1.0, 50)
    expected = {"float": (f.__wrapped__(0.3, v)), "int": f.__wrapped__(1, v)}
    wrong: list[Any] = []

    def work(kind: str) -> None:
        for _ in range(50):
            x = 0.3 if kind == "float" else 1
            value = f(x, v)
            if abs(value - expected[kind]) > 1e-12:
                wrong.append((kind, value))
            if kind == "float":
                f.grad(x, v)

    threads = [threading.Thread(target=work, args=(kind,)) for kind in ("float", "int") * 3]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


# Pullbacks -----------------------------------------------------------------------------------------------------------


def test_pullback_of_arrays(engine: str) -> None:
    @jit(engine)
    def f(a, b):
        return np.sin(a) * b, a[0] * b

    a, b = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    (first, second), back = f.pullback(a, b)
    np.testing.assert_allclose(first, np.sin(a) * b)
    w, u = np.array([1.0, -1.0, 0.5]), np.array([0.0, 1.0, 2.0])
    a_bar, b_bar = back((w, u))
    expected_a = np.cos(a) * b * w
    expected_a[0] += np.sum(b * u)
    np.testing.assert_allclose(a_bar, expected_a)
    np.testing.assert_allclose(b_bar, np.sin(a) * w + a[0] * u)
    np.testing.assert_allclose(back((w, None))[1], np.sin(a) * w)
    np.testing.assert_allclose(back((w, u))[0], expected_a)
    assert back(None)[0].tolist() == [0.0, 0.0, 0.0]


def test_pullback_has_effects_and_final_state(engine: str) -> None:
    @jit(engine)
    def f(x, v):
        for i in range(len(v)):
            v[i] = v[i] * x

    v = np.array([1.0, 2.0])
    result, back = f.pullback(3.0, v)
    assert result is None
    np.testing.assert_array_equal(v, [3.0, 6.0])
    w = np.array([10.0, 1.0])
    x_bar, v_bar = back(final={"v": w})
    assert x_bar == 10.0 + 2.0
    np.testing.assert_array_equal(v_bar, 3.0 * w)
    assert back()[0] == 0.0


def test_pullback_notices_changed_arrays(engine: str) -> None:
    @jit(engine)
    def f(v):
        total = 0.0
        for i in range(len(v)):
            total += v[i] * v[i]
        return total

    v = np.arange(5000.0)
    _, back = f.pullback(v)
    np.testing.assert_array_equal(back(1.0)[0], 2 * v)
    v[[17, 18]] = v[[18, 17]]
    with pytest.raises(adc.errors.DifferentiationError, match="v was changed after the forward sweep"):
        back(1.0)
    v[[17, 18]] = v[[18, 17]]
    np.testing.assert_array_equal(back(1.0)[0], 2 * v)


def swapping(u, v, steps):
    for _ in range(steps):
        u *= 0.5
        u, v = v, u
    return np.sum(u * u)


def test_pullback_notices_changes_behind_swapped_names(engine: str) -> None:
    """Which of the two the reverse sweep reads depends on the run."""
    u, v = np.arange(6.0), np.ones(6)
    _, back = jit(engine)(swapping).pullback(u, v, 3)
    back(1.0)
    v[2] += 1.0
    with pytest.raises(adc.errors.DifferentiationError, match="v was changed after the forward sweep"):
        back(1.0)


def test_pullback_keeps_the_arrays_that_its_record_refers_to(engine: str) -> None:
    def pulled():
        u, v = np.arange(6.0), np.ones(6)
        return [weakref.ref(u), weakref.ref(v)], jit(engine)(swapping).pullback(u, v, 3)[1]

    held, back = pulled()
    gc.collect()
    assert all(a() is not None for a in held)
    np.testing.assert_array_equal(back(1.0)[1], 0.5 * np.ones(6))


def test_pullback_may_ignore_changes_it_does_not_need() -> None:
    @jit_grad
    def linear(v):
        return np.sum(v) * 2.0

    v = np.ones(3)
    _, back = linear.pullback(v)
    v[:] = 7.0
    np.testing.assert_array_equal(back(1.0)[0], [2.0, 2.0, 2.0])


def linear_steps(u, v, steps):
    for _ in range(steps):
        for i in range(1, len(u)):
            u[i] += 0.5 * v[i - 1]
        u, v = v, u
    return np.sum(u)


def linear_calls(u, v, steps):
    return linear_steps(u, v, steps) + linear_steps(v, u, 1)


@pytest.mark.parametrize("fn", [linear_steps, linear_calls])
def test_pullback_may_ignore_changes_behind_swapped_names(fn) -> None:
    """The record refers to both arrays, of which the reverse sweep asks only how long they are."""
    u, v = np.arange(4.0), np.ones(4)
    _, back = jit_grad(fn).pullback(u, v, 3)
    before = back(1.0)[:2]
    u[:], v[:] = 3.0, 4.0
    np.testing.assert_array_equal(back(1.0)[:2], before)


def test_pullbacks_are_independent() -> None:
    @jit_grad
    def f(x, n):
        v = np.zeros(n)
        for i in range(n):
            v[i] = math.sin(x * (i + 1))
        return np.sum(v * v)

    backs = [f.pullback(0.1 * k, 5 + k)[1] for k in range(4)]
    expected = [f.grad(0.1 * k, 5 + k) for k in range(4)]
    for _ in range(2):
        assert [back(1.0)[0] for back in reversed(backs)] == pytest.approx(expected[::-1], rel=1e-13)


# Zero, constant, unrelated -------------------------------------------------------------------------------------------


def test_results_that_do_not_depend_on_the_argument(engine: str) -> None:
    constant = jit(engine, argnums=(0, 1))(lambda x, v: 2.5)
    x_bar, v_bar = constant.grad(3.0, np.ones(2))
    assert x_bar == 0.0
    np.testing.assert_array_equal(v_bar, [0.0, 0.0])
    other = jit(engine)(lambda x, y: y * y)
    assert other.grad(3.0, 2.0) == 0.0
    through_int = jit(engine)(lambda x: float(int(x)) * 2.0)
    assert through_int.grad(3.7) == 0.0


def test_float32_result() -> None:
    @jit_grad
    def f(v):
        return v[0] * v[1]

    v = np.array([2.0, 3.0], np.float32)
    value, gradient = f.value_and_grad(v)
    assert type(value) is np.float32 and gradient.dtype == np.float32
    np.testing.assert_array_equal(gradient, [3.0, 2.0])


def test_traced_through_other_compiled_functions() -> None:
    @jit_grad(argnums=1)
    def inner(x, y):
        return x * y

    @jit_grad
    def outer(x):
        return inner(x, x) * 2.0

    assert outer.grad(3.0) == 12.0


# Gradients of gradients, and by values inside -------------------------------------------------------------------------


def test_second_derivatives(engine: str) -> None:
    @jit(engine)
    def f(x, v, n):
        total = 0.0
        for i in range(len(v)):
            y = x
            for _ in range(n):
                y = math.sin(y) * v[i] + x * x
            total += y * y
        return total

    v = np.array([0.3, 0.7, -0.2])
    first, second = adc.grad(f), adc.grad(adc.grad(f))
    h = 1e-5
    numeric = (first(0.4 + h, v, 3) - first(0.4 - h, v, 3)) / (2 * h)
    assert second(0.4, v, 3) == pytest.approx(numeric, rel=1e-8)
    third = adc.grad(second)
    assert third(0.4, v, 3) == pytest.approx((second(0.4 + h, v, 3) - second(0.4 - h, v, 3)) / (2 * h), rel=1e-7)
    assert repr(second) == "<gradient of gradient of f>"


def test_mixed_second_derivative(engine: str) -> None:
    @jit(engine)
    def f(x, y):
        return math.sin(x * y) * x

    def mixed(x, y):
        return 2 * x * math.cos(x * y) - x * x * y * math.sin(x * y)

    assert adc.grad(adc.grad(f, 0), 1)(0.7, 1.3) == pytest.approx(mixed(0.7, 1.3), rel=1e-14)
    assert adc.grad(adc.grad(f, 1), 0)(0.7, 1.3) == pytest.approx(mixed(0.7, 1.3), rel=1e-14)


def test_local_variables_by_name(engine: str) -> None:
    @jit(engine)
    def f(x, n):
        y = x
        for _ in range(n):
            step = y * 0.5
            y = y + step * x
        return y

    # With y' = y + (y/2 + s) x for each of n steps: d/ds = x sum of (1 + x/2)^k for k < n.
    x, n = 0.4, 5
    expected = x * sum((1 + x / 2) ** k for k in range(n))
    assert adc.grad(f, argnames="step")(x, n)["step"] == pytest.approx(expected, rel=1e-13)


def test_calls_that_leave_out_defaults_are_native() -> None:
    table = np.array([1.0, 2.0])

    @jit_grad
    def f(x, n=3, v=table, how=None):
        for _ in range(n):
            x = x * v[1]
        return x if how is None else how(x)

    for _ in range(3):
        assert (f(1.0), f(1.0, 2), f(1.0, 2, table), f(1.0, 2, table, None)) == (8.0, 4.0, 4.0, 4.0)
        assert (f.grad(1.0), f.grad(1.0, 1), f.grad(1.0, how=math.sqrt)) == (8.0, 2.0, pytest.approx(math.sqrt(8) / 2))
    assert len(f._known()) == 1
    for arguments in ((1.0,), (1.0, 2), (1.0, 2, table)):
        f(*arguments)
        target = f._target
        f(*arguments)
        assert f._target is target and target is f._known()[0].direct[len(arguments)]
    assert f(1.0, 2, np.array([1.0, 3.0])) == 9.0
    assert f(1.0, n=1) == 2.0


def test_equal_objects_are_as_good_as_the_same() -> None:
    global _mode

    @jit_grad
    def f(x, mode, n):
        y = x * x if mode == "square" else x
        return y * n if _mode == "times" else y

    _mode = "times"
    square, times = "".join(["squ", "are"]), "".join(["tim", "es"])
    assert f(3.0, "square", 2) == 18.0
    assert f(3.0, square, 2) == f.grad(3.0, square, 2) * 1.5 == 18.0
    _mode = times
    assert f(3.0, "square", 2) == 18.0
    _mode = "other"
    assert f(3.0, square, 2) == 9.0

    class Level(enum.IntEnum):
        HIGH = 3

    class Real(float):
        pass

    assert f(Real(3.0), square, Level.HIGH) == 9.0
    assert f.grad(np.float64(3.0), "line", Level.HIGH) == 1.0


def test_arrays_of_rank_zero(engine: str) -> None:
    @jit(engine)
    def f(v, w):
        return v[()] * v[()] * w[0]

    gradient = f.grad(np.array(3.0), np.array([2.0]))
    assert gradient.shape == () and gradient == 12.0


def test_stages_of_functions_that_do_not_return_one_float():
    """They are shown with their pullback; of integers alone, without derivative."""

    @jit_grad
    def doubled(x):
        return 2.0 * np.sin(x)

    @jit_grad
    def counted(n):
        return 2 * n

    doubled(np.ones(3))
    for stage in ("plan", "adjoint", "lowered", "llvm", "asm"):
        assert "doubled.rev" in doubled.dump_ir(stage)
    with pytest.raises(adc.errors.DifferentiationError, match="one float"):
        doubled.grad.dump_ir("asm")
    counted(3)
    for stage in ("lowered", "llvm", "asm"):
        assert "counted" in counted.dump_ir(stage)
    with pytest.raises(adc.errors.DifferentiationError, match="has no gradient"):
        counted.dump_ir("adjoint")
