"""Python integers beyond 64 bits in all places: containers, objects, calls, closures, threads, derivatives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange


def in_a_list(n):  # type: ignore[no-untyped-def]
    a = [0, 0]
    for i in range(n):
        a[i % 2] += i * n
    return a[0] * 3 + a[1]


class Holder:
    def __init__(self) -> None:
        self.n = 1


def in_an_object(n):  # type: ignore[no-untyped-def]
    p = Holder()
    for _ in range(n):
        p.n *= 3
    return p.n


def factorial(n):  # type: ignore[no-untyped-def]
    return 1 if n < 2 else n * factorial(n - 1)


def in_a_closure(n):  # type: ignore[no-untyped-def]
    k = n

    def inner():  # type: ignore[no-untyped-def]
        nonlocal k
        k += k

    for _ in range(3):
        inner()
    return k


def power_modulo(b, e, m):  # type: ignore[no-untyped-def]
    r = 1
    while e > 0:
        if e % 2 == 1:
            r = r * b % m
        b = b * b % m
        e //= 2
    return r


def generated(n):  # type: ignore[no-untyped-def]
    return sum(i * i * i for i in range(n))


def enumerated(x):  # type: ignore[no-untyped-def]
    t = 0
    for i, _ in enumerate(x):
        t += i * 2**61
    return t


def extents(x):  # type: ignore[no-untyped-def]
    return x.size * x.shape[0] * 2**60


def chosen(n, c):  # type: ignore[no-untyped-def]
    return (n if c > 0 else 2**62) * 2


def in_place(n):  # type: ignore[no-untyped-def]
    n <<= 3
    n -= 7
    n **= 2
    n //= 5
    return n


def counters(n):  # type: ignore[no-untyped-def]
    t = 0
    for i in range(n, n + 5, 2):
        t += i
    return t


def converted(x):  # type: ignore[no-untyped-def]
    t = 0
    for v in x:
        t += int(v) * 3
    return t


def triangle(x, n):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += x[i * (i - 1) // 2 + j]
    return s


def strided(x, n, k):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(n):
        s += x[k * i + 1]
    return s


@pytest.mark.parametrize(
    ("f", "inside", "beyond"),
    [
        (in_a_list, (100,), (2**22,)),
        (in_an_object, (39,), (40,)),
        (factorial, (20,), (21,)),
        (in_a_closure, (2**58,), (2**60,)),
        (power_modulo, (3, 10**9, 10**9 + 7), (3, 1000, 2**61 - 1)),
        (generated, (1000,), (100_000,)),
        (enumerated, (np.ones(3),), (np.ones(5),)),
        (extents, (np.ones((1, 1)),), (np.ones((4, 4)),)),
        (chosen, (5, 1), (5, -1)),
        (in_place, (100,), (2**31,)),
        (counters, (2**60,), (2**62,)),
        (converted, (np.array([1.5, 2.5]),), (np.array([9e18, 2.5]),)),
        (triangle, (np.arange(10.0), 5), None),
        (strided, (np.arange(10.0), 3, 2), None),
        (strided, (np.arange(10.0), 3, -2), None),
    ],
)
def test_everywhere(f: Callable[..., Any], inside: tuple[Any, ...], beyond: tuple[Any, ...] | None) -> None:
    compiled = jit_grad(f)
    assert compiled(*inside) == f(*inside)
    if beyond is not None:
        with pytest.raises(OverflowError):
            compiled(*beyond)


def test_what_was_stored_before_stays() -> None:
    def f(x, n):  # type: ignore[no-untyped-def]
        for i in range(len(x)):
            x[i] = 1.0
            n *= 2
        return n

    x = np.zeros(5)
    with pytest.raises(OverflowError):
        jit_grad(f)(x, 2**60)
    assert list(x) == [1.0, 1.0, 1.0, 0.0, 0.0]


def test_prange() -> None:
    def f(x, n):  # type: ignore[no-untyped-def]
        s = 0.0
        for i in prange(len(x)):
            s += x[i] * (i * n)
        return s

    compiled = jit_grad(f, threads=2)
    assert compiled(np.ones(8), 5) == 140.0
    assert np.array_equal(compiled.grad(np.ones(3), 5), [0.0, 5.0, 10.0])
    with pytest.raises(OverflowError):
        compiled(np.ones(8), 2**62)
    with pytest.raises(OverflowError):
        compiled.grad(np.ones(8), 2**62)


def test_derivatives_raise_as_values_do() -> None:
    def f(x, n):  # type: ignore[no-untyped-def]
        k = 1
        for _ in range(n):
            k = k * 2
            x = x * 1.5 + k
        return x

    compiled = jit_grad(f)
    assert compiled.grad(1.0, 10) == 1.5**10
    assert compiled.jvp((1.0, 5), (1.0, None)) == (f(1.0, 5), 1.5**5)
    y, back = compiled.pullback(1.0, 5)
    assert (y, back(1.0)[0]) == (f(1.0, 5), 1.5**5)
    calls = (
        lambda: compiled.grad(1.0, 80),
        lambda: compiled.jvp((1.0, 80), (1.0, None)),
        lambda: compiled.pullback(1.0, 80),
    )
    for call in calls:
        with pytest.raises(OverflowError):
            call()
    with pytest.raises(OverflowError):
        adc.vmap(lambda x, n: x * (n * n), in_axes=(0, None))(np.ones(3), 2**40)
    with pytest.raises(OverflowError):
        jit_grad(f, checkpoint=adc.revolve(3)).grad(1.0, 80)


def test_sums_of_elements_wrap() -> None:
    def f(a):  # type: ignore[no-untyped-def]
        t = 0
        for v in a:
            t += v
        return t

    assert jit_grad(f)(np.array([2**62, 2**62])) == -(2**63)


def test_on_several_threads() -> None:
    square, found = jit_grad(lambda n: n * n), []

    def run() -> None:
        for i in range(50):
            try:
                found.append(square(2**33))
            except OverflowError:
                found.append("over")
            found.append(square(i))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found.count("over") == 200 and sum(v for v in found if v != "over") == 4 * sum(i * i for i in range(50))
