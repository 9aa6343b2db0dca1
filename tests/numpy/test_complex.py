"""Complex numbers and arrays, compared with Python and NumPy; gradients also with closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.errors import AdcError
from tests.numpy.checking import check, function_of

RNG = np.random.default_rng(3)


def draw(*shape: int) -> Any:
    return RNG.normal(size=shape) + 1j * RNG.normal(size=shape)


Z, W, M = draw(5), draw(5), draw(3, 4)
X = RNG.normal(size=5)

EXACT = [
    "z + w, z - w, z * x, -z, +z, 2 * z, z * 1j, z + 1, z * True",
    "z / w, z / x, 1 / z, z / 2",
    "z == w, z != z, z == z, z == x",
    "z.real, z.imag, z.conj(), z.conjugate(), x.real, x.imag, x.conj()",
    "np.real(z), np.imag(z), np.conj(z), np.real(x), np.imag(x), np.conjugate(w)",
    "z.copy(), np.array(z), np.asarray(z), z[::-1], z[1:4:2], z.T, z[2], z[-1]",
    "m.T, m[:, ::-1], m[1], m[:, 2], m.T[1:], m[1, 2], m.real.T",
    "np.zeros(3, dtype=complex), np.ones(2, dtype=np.complex64), np.full(3, 1j), np.full_like(z, 2 - 1j)",
    "np.zeros_like(z), np.ones_like(z), np.array([1, 2j]), np.array([z[0], 1.5])",
    "x.astype(complex), z.astype(complex), z.astype(bool), z.shape, z.size, len(z)",
    "np.where(x > 0, z, w), np.where(x > 0, z, 1), np.where(x > 0, x, 1j)",
    "np.isfinite(z), np.isnan(z), np.isinf(z / x), np.iscomplexobj(z), np.isrealobj(x)",
    "np.any(z), np.all(z), np.count_nonzero(z)",
    "np.add(z, w), np.subtract(z, x), np.negative(z), np.equal(z, w)",
]


@pytest.mark.parametrize("text", EXACT)
def test_to_the_bit(text: str) -> None:
    check(text, z=Z, w=W, x=X, m=M)


ROUNDED = [
    "z * w, np.multiply(z, w), np.square(z), z**2, z**3, z**-2, z**9",
    "np.reciprocal(z), np.divide(z, w), np.abs(z), np.absolute(w), abs(z), np.angle(z), np.angle(z, deg=True)",
    "z**w, z**x, z**0.5, 2**z, x**z, np.power(z, w)",
    "np.exp(z), np.log(z), np.log10(z), np.sqrt(z)",
    "np.sin(z), np.cos(z), np.tan(z)",
    "np.sinh(z), np.cosh(z), np.tanh(z)",
    "np.arcsin(z), np.arccos(z), np.arctan(z), np.arcsinh(z), np.arccosh(z), np.arctanh(z)",
    "np.log2(z), np.exp2(z), np.expm1(z), np.log1p(z)",
    "np.sum(z), np.mean(z), np.prod(z), z.sum(), z.mean(), z.prod()",
    "m.sum(axis=0), m.mean(axis=1), np.prod(m, axis=1), np.sum(m * m)",
    "np.var(z), np.std(z), np.linalg.norm(z), np.linalg.norm(m)",
    "z @ w, np.dot(z, x), np.vdot(z, w), z.dot(w), np.outer(z, w)",
    "m.T.conj() @ m, m @ m[0], m[:, 0] @ m, m.real @ m.T",
    "sum(z), np.exp(1j * x)",
]


@pytest.mark.parametrize("text", ROUNDED)
def test_to_a_few_ulps(text: str) -> None:
    check(text, exact=False, rtol=1e-13, z=Z, w=W, x=X, m=M)


PROGRAMS = {
    "a sum": "s = 0\nfor k in range(len(z)):\n    s = s + z[k] * k\nreturn s",
    "an integer, a float and a complex number": "s = 0\nfor k in range(5):\n    s = s * s + z[k]\nreturn s",
    "a branch": "r = 1\nif x[0] > -9:\n    r = z[0]\nreturn r * z[1], abs(r)",
    "elements": "u = np.zeros(3, dtype=complex)\nu[0] = 1\nu[1] = z[0]\nu[2] = x[1]\nu += 1\nu *= 1j\nreturn u",
    "views": "z[1:] = z[:-1]\nz[::2] -= 1j\ny = z[1:4]\ny *= 2\nreturn z, y",
    "parts": "z.real = x\nz.imag *= 2\nz.real[1] = 7\ny = z.imag\ny += 1\nreturn z, z.real * 2",
    "a real array added": "z += x\nz[0] *= z[1]\nz[2] /= 3j\nreturn z",
    "functions": "def g(a, b=1j):\n    return a * b\nreturn g(z[0]) + g(2.0) + g(z[1], 3)",
    "swapped": "a, b = z[0], z[1]\nfor k in range(3):\n    a, b = b, a * b\nreturn a, b",
    "unpacked": "a, b, c, d, e = z\nreturn a * e, [v * 2 for v in (b, c)]",
    "a list": "return np.array([v * 2 for v in z])",
    "chosen": "u = np.empty_like(z)\nfor k in range(5):\n    u[k] = z[k] if x[k] > 0 else w[k]\nreturn u",
    "while": "k = 0\nc = z[0]\ns = 0j\nwhile abs(s) < 2 and k < 20:\n    s = s * s + c\n    k += 1\nreturn s, k",
    "closure": "c = z[1]\ndef g(v):\n    return v * c\nreturn g(z), g(1.0)",
    "dict": "d = {'a': z[0], 'b': 2}\nd['a'] *= d['b']\nreturn d['a'] + 1",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    check(PROGRAMS[name], exact=False, rtol=1e-13, z=Z, w=W, x=X)


NUMBERS = [
    "a + b, a - b, a * b, a / b, -a, +a, a * 2, 3 - a, a * True, x / a, x * a",
    "a == b, a != b, a == a, bool(a), not a, abs(a), a.real, a.imag, a.conjugate()",
    "a**2, a**3, a**-1, a**0, a**b, a**0.5, a**x, 2**a, x**a, pow(a, 2)",
    "complex(x, 2), complex(x), complex(a), complex(), (1 + 2j) * (3 - 1j), 1j**2",
    "[a, b], (a, (b, x)), sum([a, b]), a if x > 0 else b",
    "np.exp(a), np.sqrt(b), np.abs(a), np.angle(a), np.conj(a), np.real(a), np.square(a), np.isfinite(a)",
    "np.complex128(x), np.complex128(a), np.int32(2) * a, np.float64(2) * b",
]


@pytest.mark.parametrize("kind", [complex, np.complex128])
@pytest.mark.parametrize("text", NUMBERS)
def test_numbers(text: str, kind: Any) -> None:
    check(text, exact=False, rtol=1e-14, a=kind(1.5 - 0.7j), b=0.2 + 2j, x=1.25)


def test_types_of_numbers() -> None:
    same = adc.jit_grad(lambda a, b: a * b)
    for a in (2, 1.5, 1j, np.complex64(1j), np.complex128(1j), np.float32(2), np.float64(2), True):
        for b in (1 + 1j, np.complex64(2j), np.complex128(2j)):
            found, wanted = same(a, b), a * b
            assert type(found) is type(wanted) and found == wanted, (a, b)


def test_kinds_of_numbers() -> None:
    text = "(a, b) == (a, b), a in (b, a), isinstance(a, complex), type(a), type(b * 2), {'k': a}"
    for a, b in ((1j, 2j), (np.complex128(1j), 1.5), (np.complex64(2), 1j)):
        plain = function_of(text, "a", "b")
        found, wanted = adc.jit_grad(plain)(a, b), plain(a, b)
        assert found == wanted and list(map(type, found)) == list(map(type, wanted))


def test_single_precision() -> None:
    z = Z.astype(np.complex64)
    check("z * 2j, z * np.float32(2), z.real, abs(z), np.sum(z * z)", exact=False, rtol=1e-6, z=z)
    check("z + x, z.astype(np.complex64), np.complex64(x[0])", exact=False, rtol=1e-6, derivatives=False, z=z, x=X)


OF_CMATH = ("exp log log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh phase").split()


@pytest.mark.parametrize("name", OF_CMATH)
def test_cmath(name: str) -> None:
    plain = function_of(f"cmath.{name}(z)", "z", head="import cmath")
    function = adc.jit_grad(plain)
    for z in (1.5 - 0.7j, -0.3 + 0.1j, -2.0 - 0.0j, 0.999 + 0.03j, 2.5):
        found, wanted = function(z), plain(z)
        assert type(found) is type(wanted)
        assert found == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("name, pole", [("log", 0.0), ("atanh", -1.0), ("atan", 1j)])
def test_poles_of_cmath(name: str, pole: complex) -> None:
    function = adc.jit_grad(function_of(f"cmath.{name}(z)", "z", head="import cmath"))
    with pytest.raises(ValueError, match="math domain error"):
        function(complex(pole))


@pytest.mark.parametrize("name", ["sqrt", "arcsin", "arccos", "arctan", "arcsinh", "arctanh", "log", "log1p", "tanh"])
def test_derivatives_on_the_axes(name: str) -> None:
    """A part that is zero has a derivative all the same: that of the function, by which both parts go."""
    plain = function_of(f"np.{name}(complex(x, y))", "x", "y")
    f = getattr(np, name)
    for x, y in ((0.3, 0.0), (0.5, -0.0), (0.0, 0.4), (0.0, -0.6)):
        along_x, along_y = (adc.jvp(plain, (x, y), (a, b))[1] for a, b in ((1.0, 0.0), (0.0, 1.0)))
        z, step = complex(x, y), 1e-5 * (1 + 1j)
        wanted = (f(z + step) - f(z - step)) / (2 * step)
        assert along_x == pytest.approx(wanted, rel=1e-8) and along_y == pytest.approx(1j * wanted, rel=1e-8)
        _, back = adc.pullback(plain, x, y)
        assert back(1.0 + 0j) == pytest.approx((along_x.real, along_y.real), rel=1e-13)


def test_edges() -> None:
    parts = [0.0, -0.0, 1.0, -2.5, 1e300, np.inf, np.nan]
    z = np.array([complex(a, b) for a in parts for b in parts])
    for text in ("z * (2 - 1j)", "z / (2 - 1j)", "z / 0", "(1 + 2j) / z", "abs(z)", "z.conj()", "z + z", "z == z"):
        plain = function_of(text, "z")
        with np.errstate(all="ignore"):
            wanted = plain(z)
        np.testing.assert_allclose(adc.jit_grad(plain)(z), wanted, rtol=1e-15)
    divide = adc.jit_grad(lambda a, b: a / b)
    with pytest.raises(ZeroDivisionError):
        divide(1j, 0j)
    assert np.isnan(divide(np.complex128(0), 0j))


def test_memory() -> None:
    z = Z.copy()
    assert np.shares_memory(adc.jit_grad(lambda z: z.real)(z), z)
    assert np.shares_memory(adc.jit_grad(lambda z: z[::-1].imag)(z), z)
    assert np.shares_memory(adc.jit_grad(lambda z: z[1:3])(z), z)
    for given in (z[::2], z[::-1], M.T, M[:, ::2], M[::-1, 1:]):
        np.testing.assert_array_equal(adc.jit_grad(lambda z: z * 2)(given), given * 2)


def test_gradients_are_as_in_jax() -> None:
    """With ``z = x + iy`` the gradient of a float is ``df/dx - i df/dy``; cotangents pair without conjugation."""
    energy = adc.jit_grad(lambda z: np.sum(np.abs(z) ** 2))
    np.testing.assert_allclose(energy.grad(Z), 2 * Z.conj(), rtol=1e-14)
    assert energy.grad(Z.astype(np.complex64)).dtype == np.complex64
    square = adc.jit_grad(lambda z, c: abs(z * c) ** 2)
    assert square.grad(1 + 2j, 3.0) == pytest.approx(18 * (1 - 2j))
    assert type(square.grad(np.complex64(1 + 2j), np.float32(3.0))) is np.complex64
    product = adc.jit_grad(lambda z, c: z * z * c)
    c, cotangent, tangent = 1.5 - 2j, draw(5), draw(5)
    _, back = product.pullback(Z, c)
    by_z, by_c = back(cotangent)
    np.testing.assert_allclose(by_z, 2 * Z * c * cotangent, rtol=1e-13)
    assert by_c == pytest.approx(np.sum(Z * Z * cotangent))
    _, moved = product.jvp((Z, c), (tangent, 1j))
    np.testing.assert_allclose(moved, 2 * Z * c * tangent + Z * Z * 1j, rtol=1e-13)
    conjugate = adc.jit_grad(lambda z: z.conjugate())
    assert conjugate.pullback(2 + 1j)[1](3 - 1j)[0] == pytest.approx((3 - 1j).conjugate())


def test_gradients_of_shared_memory() -> None:
    def scaled(a: Any, b: Any) -> Any:
        a[:] = a * b
        return np.sum(np.abs(a + b) ** 2)

    def of_whole(z: Any) -> Any:
        z = z.copy()
        return scaled(z[:3], z[1:])

    z = draw(4)
    by_a, by_b = adc.grad(scaled, (0, 1))(z[:3], z[1:])
    found = np.concatenate([by_a, by_b[-1:]])
    np.testing.assert_array_equal(by_a[1:], by_b[:2])
    for k in range(4):
        step = np.zeros(4, complex)
        step[k] = 1e-6
        by_parts = [(of_whole(z + u * step) - of_whole(z - u * step)) / 2e-6 for u in (1, 1j)]
        assert found[k] == pytest.approx(by_parts[0] - 1j * by_parts[1], rel=1e-6)


def test_second_derivatives() -> None:
    quartic = adc.jit_grad(lambda z, x: x**3 * np.sum(np.abs(z) ** 4))
    tangent = draw(5)
    gradient, moved = adc.jvp(quartic.grad, (Z, 2.0), (tangent, None))
    np.testing.assert_allclose(gradient, 32 * np.abs(Z) ** 2 * Z.conj(), rtol=1e-12)
    step = 1e-6
    wanted = (quartic.grad(Z + step * tangent, 2.0) - quartic.grad(Z - step * tangent, 2.0)) / (2 * step)
    np.testing.assert_allclose(moved, wanted, rtol=1e-7)
    twice = adc.grad(adc.grad(quartic, 1), 0)
    np.testing.assert_allclose(twice(Z, 2.0), 12 * 4 * np.abs(Z) ** 2 * Z.conj(), rtol=1e-12)


def test_vmap() -> None:
    mapped = adc.jit_grad(adc.vmap(lambda z: (z * z + abs(z), z.real)))
    for found, wanted in zip(mapped(Z), (Z * Z + abs(Z), Z.real), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)
    rows = adc.jit_grad(adc.vmap(lambda row: np.sum(row * row)))
    np.testing.assert_allclose(rows(M), np.sum(M * M, axis=1), rtol=1e-13)


ROTATION = 0.6 + 0.8j
FACTORS = draw(3)


def test_captured() -> None:
    global ROTATION, FACTORS
    turned = adc.jit_grad(lambda z: z * ROTATION)
    assert turned(1j) == 1j * ROTATION
    ROTATION = 2 - 1j
    assert turned(1j) == 1j * ROTATION
    scaled = adc.jit_grad(lambda x: x * FACTORS)
    np.testing.assert_array_equal(scaled(2.0), 2 * FACTORS)
    FACTORS = FACTORS[:2]
    np.testing.assert_array_equal(scaled(2.0), 2 * FACTORS)


REFUSED = {
    "x[0] = 1j": "stored into an array of real numbers",
    "x[:] = z": "stored into an array of real numbers",
    "x += z": "cannot store the result",
    "return z < z[::-1]": "< is not defined",
    "return float(z[0])": "a real number is needed",
    "return z.astype(float)": "a real number is needed",
    "return np.max(z)": "max() of complex numbers",
    "return np.cbrt(z)": "a real number is needed",
    "return x[z[0]]": "",
}


@pytest.mark.parametrize("text", REFUSED)
def test_refused(text: str) -> None:
    body = text if "return" in text else f"{text}\nreturn x"
    with pytest.raises(AdcError) as caught:
        adc.jit_grad(function_of(body, "x", "z"))(X.copy(), Z.copy())
    assert REFUSED[text] in str(caught.value)


def test_derivatives_that_have_no_meaning() -> None:
    with pytest.raises(AdcError, match="returns a complex"):
        adc.grad(lambda z: z * z)(1j)
    with pytest.raises(AdcError, match="have no Jacobian"):
        adc.jacobian(lambda z: z * z)(Z)


SHAPES = [
    "m.reshape(4, 3), m.ravel(), m.T.reshape(2, 6), m[::-1].reshape(-1), m[:, ::2].reshape(-1), z[None], z[..., None]",
    "z[:, None] - w, np.squeeze(m[None]), np.expand_dims(z, 0), np.moveaxis(m, 0, 1), m[1, ...], m.mT",
    "z[[0, 2, 2]], z[x > 0], m[[0, 1], [2, 3]], np.argmax(abs(z))",
    "np.cumsum(z), np.cumsum(m, axis=0), np.cumsum(m), np.diff(z)",
    "m.sum(axis=1, keepdims=True), np.sum(m, where=m.real > 0), np.sum(z, initial=1j), np.sum(x, dtype=complex)",
    "np.correlate(z, w[:3], 'full'), np.correlate(z[:2], w, 'same'), np.convolve(z, w), np.nanvar(z)",
    "np.mean(z, where=x > 0), np.var(m, axis=0), np.std(z, ddof=1), np.mean(m, axis=(0, 1))",
    "np.einsum('ij,kj->ik', m, m), np.inner(z, w), np.vecdot(z, w), np.add.reduce(z), np.multiply.outer(z, w)",
]


@pytest.mark.parametrize("text", SHAPES)
def test_shapes_and_axes(text: str) -> None:
    check(text, exact=False, rtol=1e-13, z=Z, w=W, x=X, m=M)


def test_stores_by_arrays() -> None:
    check("z[[0, 1]] = 2j\nz[x > 0] *= 1j\nz.reshape(5)[2] = w[0]\nreturn np.add(z, w, out=w), z", z=Z, w=W, x=X)


def test_gradients_inside() -> None:
    """Of a function that is compiled code's own: by the same convention."""

    def energy(z: Any) -> Any:
        return np.sum(np.abs(z) ** 2)

    number = adc.jit_grad(lambda z: adc.grad(lambda u: abs(u) ** 2)(z))
    assert number(2 + 1j) == pytest.approx(2 * (2 - 1j))
    array = adc.jit_grad(lambda z: adc.grad(energy)(z))
    np.testing.assert_allclose(array(Z), 2 * Z.conj(), rtol=1e-14)
    both = adc.jit_grad(lambda z, x: adc.grad(lambda p: energy(p[0]) * p[1])((z, x)))
    by_z, by_x = both(Z, 3.0)
    np.testing.assert_allclose(by_z, 6 * Z.conj(), rtol=1e-14)
    assert by_x == pytest.approx(energy(Z))
    outer = adc.grad(lambda z: np.sum(adc.grad(energy)(z).imag ** 2))
    np.testing.assert_allclose(outer(Z), -8j * Z.imag, rtol=1e-13, atol=1e-15)


def rotated(z: Any) -> Any:
    return z * 1j


@adc.rrule(rotated)
def _(z: Any) -> Any:
    return z * 1j, lambda g: (g * 1j,)


def test_rules_say_nothing_of_complex_numbers() -> None:
    for given in (1j, Z, (2.0, Z)):
        with pytest.raises(AdcError, match="a function with a derivative rule takes or returns complex numbers"):
            adc.jit_grad(lambda z: rotated(z) if not isinstance(z, tuple) else rotated(z[1]))(given)
    with pytest.raises(AdcError, match="a function with a derivative rule takes or returns complex numbers"):
        adc.pullback(lambda x: rotated(x), 1.0)


def test_loops_with_schedules_and_budgets() -> None:
    def turning(z: Any, n: Any) -> Any:
        u = z.copy()
        for _ in range(n):
            u = u * np.exp(0.1j) + 0.01 * u * u
        return np.sum(np.abs(u) ** 2)

    wanted = adc.jit_grad(turning).grad(Z, 30)
    np.testing.assert_array_equal(adc.jit_grad(turning, checkpoint="sqrt").grad(Z, 30), wanted)
    np.testing.assert_array_equal(adc.jit_grad(turning, memory="8KB").grad(Z, 30), wanted)


def test_quotients_by_real_numbers() -> None:
    parts = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan, 1e-310, 1e308, -1e308]
    z = np.array([complex(a, b) for a in parts for b in parts])
    for cast in (np.complex128, np.complex64):
        with np.errstate(all="ignore"):
            given, by = z.astype(cast), np.array(parts).astype(cast(0).real.dtype)
            wanted = given[:, None] / by
        found = adc.jit_grad(lambda z, x: z[:, None] / x, argnums=())(given, by)
        for a, b in ((found.real, wanted.real), (found.imag, wanted.imag)):
            np.testing.assert_array_equal(a, b)
            np.testing.assert_array_equal(np.signbit(a[~np.isnan(a)]), np.signbit(b[~np.isnan(b)]))
