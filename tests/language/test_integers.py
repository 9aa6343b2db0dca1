"""Python's integers are exact within 64 bits, and raise OverflowError beyond. NumPy's wrap around."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad

MOST, LEAST = 2**63 - 1, -(2**63)


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    """What a call returns, or that it raises OverflowError."""
    try:
        return f(*args)
    except OverflowError:
        return "OverflowError"


def in_64_bits(value: Any) -> Any:
    return "OverflowError" if isinstance(value, int) and not LEAST <= value <= MOST else value


BINARY: dict[str, Callable[[int, int], Any]] = {
    "+": lambda n, m: n + m,
    "-": lambda n, m: n - m,
    "*": lambda n, m: n * m,
    "//": lambda n, m: n // m,
    "%": lambda n, m: n % m,
    "<<": lambda n, m: n << m,
    ">>": lambda n, m: n >> m,
    "**": lambda n, m: n**m,
    "divmod": lambda n, m: divmod(n, m)[0],
}
EDGES = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    62,
    63,
    64,
    2**31,
    -(2**31),
    3037000499,
    3037000500,
    2**53 + 1,
    2**62,
    MOST - 1,
    MOST,
    LEAST,
]


@pytest.mark.parametrize("symbol", BINARY)
def test_binary_operators(symbol: str) -> None:
    f = BINARY[symbol]
    compiled = jit_grad(f)
    seen = set()
    for n in EDGES:
        for m in EDGES:
            if symbol in ("<<", "**") and not 0 <= m <= 64:
                continue  # refused where m is negative; Python itself does not end where it is large
            if m == 0 and symbol in ("//", "%", "divmod"):
                with pytest.raises(ZeroDivisionError):
                    compiled(n, m)
                continue
            if symbol == ">>" and m < 0:
                with pytest.raises(ValueError, match="negative shift count"):
                    compiled(n, m)
                continue
            got, want = outcome(compiled, n, m), in_64_bits(f(n, m))
            assert got == want, (n, m)
            seen.add(got == "OverflowError")
    assert seen == ({False} if symbol in ("%", ">>") else {True, False})


UNARY: dict[str, Callable[[int], Any]] = {
    "-": lambda n: -n,
    "~": lambda n: ~n,
    "abs": lambda n: abs(n),
    "square": lambda n: n**2,
    "cube": lambda n: n**3,
    "seventh": lambda n: n**7,
    "// -1": lambda n: n // -1,
    "% -1": lambda n: n % -1,
    "plus": lambda n: n + 7,
    "from": lambda n: 7 - n,
    "times": lambda n: 1000 * n,
    "shift": lambda n: n << 3,
    "of a constant": lambda n: 3 << (n % 64),
    "literal": lambda n: n + 2**63 - 2**63,
    "known": lambda n: n + (2**63 - 2**63),
}


@pytest.mark.parametrize("name", UNARY)
def test_one_run_time_integer(name: str) -> None:
    f = UNARY[name]
    compiled = jit_grad(f)
    for n in EDGES:
        want = "OverflowError" if name == "literal" else in_64_bits(f(n))
        assert outcome(compiled, n) == want, n


def test_the_message_names_numbers_and_line() -> None:
    def f(n: int) -> int:
        m = n + 1
        return m * n

    with pytest.raises(OverflowError, match=r"4294967297 \* 4294967296 does not fit into 64 bits") as error:
        jit_grad(f)(2**32)
    assert "return m * n" in str(error.value)


def total(n: int) -> int:
    t = 0
    for i in range(n):
        t += i * i
    return t


def steps(n: int, m: int, c: int) -> int:
    for _ in range(n):
        for _ in range(m):
            c += 3
    return c


def doubled(n: int) -> int:
    k, p = 0, 1
    while k < n:
        p = p + p
        k += 1
    return p


def fibonacci(n: int) -> int:
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


@pytest.mark.parametrize(
    ("f", "args", "want"),
    [
        (total, (10,), 285),
        (total, (2**20 + 1,), (2**20) * (2**20 + 1) * (2**21 + 1) // 6),
        (total, (4_000_000,), "OverflowError"),
        (steps, (10, 20, 5), 605),
        (steps, (2**31, 1, 2**62), 2**62 + 3 * 2**31),
        (steps, (1, 2, MOST - 6), MOST),
        (steps, (1, 2, MOST - 5), "OverflowError"),
        (steps, (2, 1, MOST - 5), "OverflowError"),
        (steps, (0, 0, MOST), MOST),
        (doubled, (62,), 2**62),
        (doubled, (63,), "OverflowError"),
        (fibonacci, (91,), 4660046610375530309),
        (fibonacci, (92,), "OverflowError"),
    ],
)
def test_sums_in_loops(
    f: Callable[..., int], args: tuple[int, ...], want: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if args[0] >= 2**31:  # seconds without LLVM's optimiser
        monkeypatch.setenv("ADC_LEVEL", "3")
    assert outcome(jit_grad(f), *args) == want


def test_ranges_far_apart() -> None:
    def far(a: int, b: int, s: int) -> int:
        k = 0
        for _ in range(a, b, s):
            k += 1
        return k

    def down(a: int, b: int) -> int:
        k = 0
        for _ in range(a, b, -(2**61)):
            k += 1
        return k

    def up(a: int, b: int) -> int:
        k = 0
        for _ in range(a, b, 2**61):
            k += 1
        return k

    f = jit_grad(far)
    assert f(0, MOST, 2**62) == 2 and f(MOST, LEAST, 5) == 0 and f(LEAST, MOST, -5) == 0 and f(-1, LEAST, -(2**62)) == 2
    assert outcome(f, LEAST, MOST, 2**62) == outcome(f, MOST, LEAST, -(2**62)) == "OverflowError"
    assert jit_grad(up)(-5, 2**62) == 3 and jit_grad(up)(MOST, LEAST) == 0 and jit_grad(down)(5, -(2**62)) == 3
    assert outcome(jit_grad(up), LEAST, MOST) == outcome(jit_grad(down), MOST, LEAST) == "OverflowError"


@pytest.mark.parametrize("value", [1e19, -1e19, 2.0**63, np.inf, -np.inf, np.nan, -(2.0**63), 9.2e18, -0.5])
def test_int_of_floats(value: float) -> None:
    try:
        want: Any = in_64_bits(int(value))
    except (OverflowError, ValueError) as error:
        want = type(error).__name__
    try:
        got: Any = jit_grad(lambda x: int(x))(value)
    except OverflowError:
        got = "OverflowError"
    except ValueError:
        got = "ValueError"
    assert got == want


# Where no check is left ----------------------------------------------------------------------------------------------


def periodic(u):  # type: ignore[no-untyped-def]
    s, n = 0.0, len(u)
    for i in range(n):
        s += u[(i + 1) % n] * u[(i - 1) % n]
    return s


def mirrored(u):  # type: ignore[no-untyped-def]
    s, n = 0.0, len(u)
    for i in range(n - 1, -1, -1):
        s += u[i] * u[n - 1 - i]
    return s


def counted(u):  # type: ignore[no-untyped-def]
    c = 0
    for i in range(len(u)):
        if u[i] > 0.5:
            c += 1
    return c


def iterated(u):  # type: ignore[no-untyped-def]
    k, x = 0, u[0]
    while abs(x * x - 2.0) > 1e-9 and k < 50:
        x -= (x * x - 2.0) / (2.0 * x)
        k += 1
    return x + k


def random_numbers(u):  # type: ignore[no-untyped-def]
    s = 1
    for _ in range(len(u)):
        s = (1103515245 * s + 12345) % 2147483648
    return s


@pytest.mark.parametrize("f", [periodic, mirrored, counted, iterated, random_numbers])
def test_proved_ranges_are_not_checked(f: Callable[..., Any]) -> None:
    u = np.random.default_rng(0).random(9) + 0.1
    compiled = jit_grad(f)
    assert compiled(u) == pytest.approx(f(u), rel=1e-14)
    assert "adc.fits" not in compiled.dump_ir("lowered")


def flat(u, n, m):  # type: ignore[no-untyped-def]
    s = 0.0
    for i in range(n):
        for j in range(m):
            s += u[i * m + j]
    return s


def count_in_nest(u, n, m):  # type: ignore[no-untyped-def]
    c = 0
    for i in range(n):
        for j in range(m):
            if u[i + j] > 0.5:
                c += 1
    return c


def sum_of_counts(u, n, m):  # type: ignore[no-untyped-def]
    """What bounds the second loop's sum is inside the first one, out of its scope."""
    c = 0
    for i in range(n):
        k, p = 0, i
        for j in range(m):
            k += j * p
        while p > 0:
            p -= 1
            for j in range(m):
                if u[j] > 0.5:
                    c += k
    return c


@pytest.mark.parametrize("f", [flat, count_in_nest, sum_of_counts])
def test_small_integers_are_tested_before_the_loops(f: Callable[..., Any]) -> None:
    u = np.random.default_rng(0).random(12)
    compiled = jit_grad(f)
    assert compiled(u, 3, 4) == pytest.approx(f(u, 3, 4), rel=1e-14)
    text = compiled.dump_ir("simplified")
    fast, _, slow = text.partition("} else {")
    assert "adc.fits" not in fast[fast.index("scf.for") :] and "adc.fits" in slow
