"""SciPy's special functions: values against SciPy and mpmath, derivatives in both modes and orders against mpmath."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import special

import adc
from adc import errors, jit_grad
from adc.cli import main


def _xlogy(x, y):
    return x * mpmath.log(y)


_UNIT, _NEAR = ((0.05, 0.4), (0.5, 0.95)), ((0.3, 1.0), (1.1, 6.0))
UNARY = {
    special.cbrt: (lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)), (-3.0, -0.2), (0.3, 4.0)),
    special.digamma: (mpmath.digamma, (0.2, 1.2), (1.8, 30.0)),
    special.entr: (lambda x: -x * mpmath.log(x), (0.01, 0.3), (0.5, 4.0)),
    special.erf: (mpmath.erf, (-2.0, -0.1), (0.1, 2.0)),
    special.erfc: (mpmath.erfc, (-2.0, -0.1), (0.1, 5.0)),
    special.exp2: (lambda x: mpmath.mpf(2) ** x, (-3.0, -1.0), (0.0, 3.0)),
    special.expit: (lambda x: 1 / (1 + mpmath.exp(-x)), (-30.0, -0.1), (0.0, 8.0)),
    special.expm1: (mpmath.expm1, (-2.0, -1e-3), (1e-3, 2.0)),
    special.gamma: (mpmath.gamma, (-1.9, -1.1), (0.2, 6.0)),
    special.gammaln: (lambda x: mpmath.log(abs(mpmath.gamma(x))), (0.1, 0.9), (2.5, 40.0)),
    special.log1p: (mpmath.log1p, (-0.9, -1e-3), (1e-3, 3.0)),
    special.log_expit: (lambda x: -mpmath.log1p(mpmath.exp(-x)), (-30.0, -0.1), (0.0, 8.0)),
    special.logit: (lambda p: mpmath.log(p / (1 - p)), (1e-6, 0.45), (0.55, 0.999)),
    special.ndtr: (mpmath.ncdf, (-8.0, -0.1), (0.1, 3.0)),
    special.psi: (mpmath.digamma, (-0.9, -0.6), (1.8, 30.0)),
}
# By SciPy's own code.
UNARY |= {
    special.erfcinv: (lambda x: mpmath.erfinv(1 - x), (0.01, 0.9), (1.1, 1.9)),
    special.erfcx: (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (-3.0, -0.1), (0.1, 3.0)),
    special.erfinv: (mpmath.erfinv, (-0.99, -0.01), (0.01, 0.99)),
    special.exp1: (mpmath.e1, (0.1, 1.0), (1.1, 9.0)),
    special.expi: (mpmath.ei, (-9.0, -0.1), (0.6, 9.0)),
    special.i0: (lambda x: mpmath.besseli(0, x), (-9.0, -0.1), (0.1, 9.0)),
    special.i0e: (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (-9.0, -0.1), (0.1, 9.0)),
    special.i1: (lambda x: mpmath.besseli(1, x), (-9.0, -0.1), (0.1, 9.0)),
    special.i1e: (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (-4.0, -0.1), (0.1, 4.0)),
    special.j0: (lambda x: mpmath.besselj(0, x), (-9.0, -0.1), (0.1, 9.0)),
    special.j1: (lambda x: mpmath.besselj(1, x), (-9.0, -0.1), (0.1, 9.0)),
    special.k0: (lambda x: mpmath.besselk(0, x), (0.1, 1.0), (1.1, 9.0)),
    special.k0e: (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), (0.1, 1.0), (1.1, 4.0)),
    special.k1: (lambda x: mpmath.besselk(1, x), (0.1, 1.0), (1.1, 9.0)),
    special.k1e: (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), (0.1, 1.0), (1.1, 4.0)),
    special.log_ndtr: (lambda x: mpmath.log(mpmath.ncdf(x)), (-5.0, -0.1), (0.1, 3.0)),
    special.ndtri: (lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), (0.01, 0.45), (0.55, 0.99)),
    special.y0: (lambda x: mpmath.bessely(0, x), (0.1, 1.0), (1.1, 9.0)),
    special.y1: (lambda x: mpmath.bessely(1, x), (0.1, 1.0), (1.1, 9.0)),
}


def _named(name, function):
    function.__name__ = name
    return function


# Whose first arguments have no derivative.
UNARY |= {
    _named(name, function): row
    for name, function, *row in (
        ("betainc", lambda x: special.betainc(1.5, 2.5, x), lambda x: mpmath.betainc(1.5, 2.5, 0, x, True), *_UNIT),
        ("gammainc", lambda x: special.gammainc(2.5, x), lambda x: mpmath.gammainc(2.5, 0, x, True), *_NEAR),
        ("gammaincc", lambda x: special.gammaincc(2.5, x), lambda x: mpmath.gammainc(2.5, x, regularized=True), *_NEAR),
        ("iv", lambda x: special.iv(1.5, x), lambda x: mpmath.besseli(1.5, x), *_NEAR),
        ("ive", lambda x: special.ive(1.5, x), lambda x: mpmath.besseli(1.5, x) * mpmath.exp(-x), *_NEAR),
        ("jv", lambda x: special.jv(2.5, x), lambda x: mpmath.besselj(2.5, x), *_NEAR),
        ("kv", lambda x: special.kv(1.5, x), lambda x: mpmath.besselk(1.5, x), *_NEAR),
        ("kve", lambda x: special.kve(1.5, x), lambda x: mpmath.besselk(1.5, x) * mpmath.exp(x), *_NEAR),
        ("yv", lambda x: special.yv(1.5, x), lambda x: mpmath.bessely(1.5, x), *_NEAR),
    )
}
BINARY = {
    special.betaln: (lambda a, b: mpmath.log(mpmath.beta(a, b)), (0.3, 4.0), (0.5, 6.0)),
    special.xlogy: (_xlogy, (-2.0, 3.0), (0.1, 5.0)),
    special.xlog1py: (lambda x, y: x * mpmath.log1p(y), (-2.0, 3.0), (-0.9, 5.0)),
}


def _derivatives(exact, x):
    """The value, and the first and second derivative, to 20 digits: by differences with 60."""
    with mpmath.workdps(60):
        h = mpmath.mpf(10) ** -18
        here, ahead, behind = (exact(mpmath.mpf(float(x)) + step) for step in (0, h, -h))
        return float(here), float((ahead - behind) / (2 * h)), float((ahead - 2 * here + behind) / h**2)


@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_of_one_number(function):
    exact, *ranges = UNARY[function]

    def f(x):
        return function(x)

    weights = np.arange(1.0, 51.0)

    def total(a):
        return np.sum(function(a) * weights)

    compiled, summed = jit_grad(f), jit_grad(total)
    points = np.concatenate([np.linspace(*r, 25) for r in ranges])
    twice = adc.grad(adc.grad(compiled))
    for x in points:
        zeroth, first, second = _derivatives(exact, x)
        for got, wanted in (
            (compiled(x), zeroth),
            (compiled.grad(x), first),
            (compiled.jvp((x,), (1.0,))[1], first),
            (adc.hvp(compiled, (x,), (1.0,)), second),
            (twice(x), second),
        ):
            assert abs(got - wanted) <= 1e-12 * max(abs(wanted), 1e-2), (function.__name__, x, got, wanted)
    assert summed(points) == pytest.approx(np.sum(function(points) * weights), rel=1e-12)
    np.testing.assert_allclose(summed.grad(points), weights * [compiled.grad(x) for x in points], rtol=1e-13)


@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_of_two_numbers(function):
    exact, first, second = BINARY[function]

    def f(x, y):
        return function(x, y)

    compiled = jit_grad(f)
    for x, y in zip(np.linspace(*first, 50), np.linspace(*second, 50), strict=True):
        with mpmath.workdps(25):
            at = mpmath.mpf(float(x)), mpmath.mpf(float(y))
            wanted = [float(mpmath.diff(exact, at, order)) for order in ((0, 0), (1, 0), (0, 1))]
        got = [compiled(x, y), *adc.grad(compiled, argnums=(0, 1))(x, y)]
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(compiled.jvp((x, y), (1.0, 0.0))[1], wanted[1], rtol=1e-12, atol=1e-13)


ORDERS = {
    0: lambda x: special.polygamma(0, x),
    1: lambda x: special.polygamma(1, x),
    4: lambda x: special.polygamma(4, x),
}


@pytest.mark.parametrize("order", ORDERS)
def test_polygamma(order):
    compiled = jit_grad(ORDERS[order])
    for x in np.linspace(0.3, 20.0, 50):
        assert compiled(x) == pytest.approx(float(mpmath.polygamma(order, x)), rel=1e-12, abs=1e-13)
        assert compiled.grad(x) == pytest.approx(float(mpmath.polygamma(order + 1, x)), rel=1e-12)
    assert adc.grad(lambda a: np.sum(special.polygamma(1, a)))(np.array([1.5, 2.5]))[0] == pytest.approx(
        float(mpmath.polygamma(2, 1.5)), rel=1e-12
    )


AXES = {
    None: lambda a, w: special.logsumexp(a) * w,
    0: lambda a, w: np.sum(special.logsumexp(a, axis=0) * w),
    1: lambda a, w: np.sum(special.logsumexp(a, axis=1) * w),
    -1: lambda a, w: np.sum(special.logsumexp(a, -1) * w),
    (0, 1): lambda a, w: special.logsumexp(a, axis=(0, 1)) * w,
}


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 1)], ids=str)
@pytest.mark.parametrize("function", [special.softmax, special.log_softmax], ids=lambda f: f.__name__)
def test_softmax(function, axis):
    a, w = np.array([[1.0, 800.0, -3.0], [0.5, 799.0, 2.0]]), np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    compiled = jit_grad(lambda a, w: np.sum(function(a, axis=axis) * w))
    p = special.softmax(a, axis=axis)
    np.testing.assert_allclose(jit_grad(lambda a: function(a, axis=axis))(a), function(a, axis=axis), rtol=1e-13)
    mean = np.sum(w * p, axis=axis, keepdims=True)
    expected = p * (w - mean) if function is special.softmax else w - p * np.sum(w, axis=axis, keepdims=True)
    np.testing.assert_allclose(compiled.grad(a, w), expected, rtol=1e-12, atol=1e-15)


LARGE = {
    "float32": np.array([1000, 1001, 1002.5], np.float32),
    "far": 1e10 + np.array([0.0, 1.0, 2.0]),
    "inf": np.array([np.inf, 0.0, 3.0]),
    "-inf": np.array([-np.inf, 0.0, 3.0]),
    "all -inf": np.array([-np.inf, -np.inf]),
}


@pytest.mark.parametrize("values", LARGE)
@pytest.mark.parametrize("function", [special.softmax, special.log_softmax, special.logsumexp])
def test_softmax_of_large_numbers(function, values):
    a = LARGE[values]
    with np.errstate(all="ignore"):
        expected = function(a)
    np.testing.assert_allclose(jit_grad(lambda a: function(a))(a), expected, rtol=1e-6 if a.dtype == "f4" else 1e-15)


@pytest.mark.parametrize("large", [1e7, 1e10, 1e15])
@pytest.mark.parametrize("small", [0.3, 2.0, 9.5])
def test_betaln_of_a_large_number(large, small):
    f = jit_grad(lambda a, b: special.betaln(a, b))
    with mpmath.workdps(60):
        wanted = mpmath.log(mpmath.beta(large, small))
        both = [mpmath.digamma(x) - mpmath.digamma(mpmath.mpf(large) + mpmath.mpf(small)) for x in (large, small)]
    for point, slopes in (((large, small), both), ((small, large), both[::-1])):
        assert f(*point) == pytest.approx(float(wanted), rel=1e-14)
        np.testing.assert_allclose(adc.grad(f, argnums=(0, 1))(*point), [float(x) for x in slopes], rtol=1e-13)


@pytest.mark.parametrize(("large", "small"), [(100.0, 3.0), (2e3, 0.5), (1e5, 7.0), (1e9, 2.0), (0.7, 0.2)])
def test_betaln_in_single_precision(large, small):
    a, b = np.float32(large), np.float32(small)
    f = jit_grad(lambda a, b: special.betaln(a, b), argnums=(0, 1))
    value, slopes = f.value_and_grad(a, b)
    assert value == pytest.approx(float(special.betaln(float(a), float(b))), rel=2e-7)
    wanted = [special.digamma(float(x)) - special.digamma(float(a) + float(b)) for x in (a, b)]
    np.testing.assert_allclose(slopes, wanted, rtol=1e-6)


@pytest.mark.parametrize("x", [30.0, 49.9, 50.1, 1e3, 1e6])
def test_erfcx_far_out(x):
    f = jit_grad(lambda x: special.erfcx(x))
    with mpmath.workdps(60):
        wanted = mpmath.diff(lambda t: mpmath.hyperu(0.5, 0.5, t * t) / mpmath.sqrt(mpmath.pi), mpmath.mpf(x))
    assert f.grad(x) == pytest.approx(float(wanted), rel=1e-12)
    assert adc.hvp(jit_grad(lambda x: special.log_ndtr(x)), (-1e6,), (1.0,)) == pytest.approx(-1.0, rel=1e-10)


def test_scipys_own_code():
    """In single precision, of arrays, by the interpreter, where arguments are at an end."""
    a = np.array([[0.1, 0.7], [-0.3, 0.2]], np.float32)
    made = jit_grad(lambda a: special.erfinv(a))(a)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, special.erfinv(a), rtol=1e-6)

    def f(x):
        return special.j0(x) * special.gammainc(1.0, x)

    assert adc.grad(jit_grad(f, _engine="interpreter"))(0.7) == pytest.approx(adc.grad(f)(0.7), rel=1e-14)
    assert adc.grad(lambda x: special.gammainc(1.0, x))(0.0) == 1.0
    assert adc.grad(lambda x: special.i0e(x))(0.0) == 0.0
    assert adc.grad(lambda x: special.betainc(1.0, 1.0, x))(0.0) == 1.0
    assert adc.grad(lambda x: special.betainc(1.0, 1.0, x))(1.0) == 1.0


def test_object_files_cannot_call_scipy(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text("from scipy import special\ndef f(x: float):\n    return special.j0(x) + special.erf(x)\n")
    assert main(["compile", f"{program}:f", "-o", str(tmp_path / "f.o")]) == 1
    told = capsys.readouterr().err
    assert "an object file cannot call scipy.special.j0" in told
    assert f"{program}:3" in told
    assert [p.name for p in tmp_path.iterdir() if p.name != "__pycache__"] == ["program.py"]


@pytest.mark.parametrize("axis", AXES, ids=str)
def test_logsumexp(axis):
    a = np.array([[1.0, 800.0, -3.0], [0.5, 799.0, 2.0]])
    compiled = jit_grad(AXES[axis])
    assert compiled(a, 1.5) == pytest.approx(AXES[axis](a, 1.5), rel=1e-14)
    np.testing.assert_allclose(compiled.grad(a, 1.5), 1.5 * special.softmax(a, axis=axis), rtol=1e-12, atol=1e-300)


def test_logsumexp_of_a_row_and_of_infinities():
    compiled = jit_grad(lambda a: special.logsumexp(a))
    row = np.array([0.1, 0.4, -2.0])
    np.testing.assert_allclose(compiled.grad(row), special.softmax(row), rtol=1e-14)
    np.testing.assert_allclose(
        adc.hessian(compiled)(row), np.diag(special.softmax(row)) - np.outer(*[special.softmax(row)] * 2), atol=1e-15
    )
    assert compiled(np.array([-np.inf, -np.inf])) == -np.inf
    assert compiled(np.array([1.0, np.inf])) == np.inf
    np.testing.assert_allclose(compiled.grad(np.array([-np.inf, 1.0, 1.0])), [0.0, 0.5, 0.5])


@pytest.mark.parametrize("x", [-800.0, -40.0, 0.0, 40.0, 800.0, np.inf, -np.inf])
def test_logistic_functions_far_out(x):
    for function, derivative in (
        (special.expit, special.expit(x) * special.expit(-x)),
        (special.log_expit, special.expit(-x)),
    ):
        compiled = jit_grad(lambda v, function=function: function(v))
        assert compiled(x) == pytest.approx(function(x), rel=1e-15)
        if np.isfinite(x):
            assert compiled.grad(x) == pytest.approx(derivative, rel=1e-14)


def test_where_a_factor_is_zero():
    f = jit_grad(lambda x, y: special.xlogy(x, y))
    by_both = adc.grad(f, argnums=(0, 1))
    assert f(0.0, 0.0) == 0.0 == f(0.0, -1.0)
    assert f(0.0, np.inf) == 0.0 == jit_grad(lambda x, y: special.xlog1py(x, y))(0.0, np.inf)
    assert np.isnan(f(0.0, np.nan))
    assert by_both(0.0, 0.0) == (-np.inf, 0.0)  # the logarithm, and nothing times infinity
    assert by_both(0.0, np.inf) == (np.inf, 0.0)
    assert by_both(0.0, 2.0) == (np.log(2.0), 0.0)
    g = jit_grad(lambda x, y: special.xlog1py(x, y))
    assert g(0.0, -1.0) == 0.0
    assert adc.grad(g, argnums=(0, 1))(0.0, 1.0) == (np.log(2.0), 0.0)
    h = jit_grad(lambda x: special.entr(x))
    assert (h(0.0), h(-1.0)) == (0.0, -np.inf)
    assert (h.grad(0.0), h.grad(-1.0)) == (np.inf, 0.0)
    assert adc.hessian(f, argnums=(0, 1))(0.0, 0.0) == ((0.0, np.inf), (np.inf, 0.0))
    for zero in (f(0.0, 0.5), f(-0.0, 2.0), g(0.0, -0.5), g(-0.0, 1.0), h(0.0), h(-0.0)):
        assert (zero, math.copysign(1.0, zero)) == (0.0, 1.0)
    assert math.copysign(1.0, f(-1.0, 1.0)) == -1.0  # of a product that only comes out as zero, its own


def test_single_precision_stays_single():
    def f(a):
        return special.expit(a)

    a = np.array([0.5, -2.0], np.float32)
    assert jit_grad(f)(a).dtype == np.float32
    np.testing.assert_allclose(jit_grad(f)(a), special.expit(a), rtol=1e-6)


def test_what_is_not_there_says_so():
    with pytest.raises(errors.CompileError, match="ellipk"):
        jit_grad(lambda x: special.ellipk(x))(0.5)
    with pytest.raises(errors.DifferentiationError, match=r"special\.jv has no derivative by argument 1"):
        adc.grad(lambda v: special.jv(v, 1.0))(0.5)
    with pytest.raises(errors.CompileError, match="order"):
        jit_grad(lambda n, x: special.polygamma(n, x))(1, 1.0)
    with pytest.raises(errors.CompileError, match="keyword 'b'"):
        jit_grad(lambda a: special.logsumexp(a, b=a))(np.ones(2))
