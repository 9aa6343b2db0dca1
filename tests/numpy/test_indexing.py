"""Subscripts that are arrays or masks: reading, storing, updates, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

R = np.random.default_rng(3)
A = R.normal(size=7)
B = R.normal(size=(3, 4))
C = R.normal(size=(3, 4, 5))
K = np.array([0, 2, 2, -1, -7])
I2, J3, M3, M4 = np.array([0, 1]), np.array([3, -1, 0]), np.array([True, False, True]), np.array([1, 0, 1, 1], bool)
M5, M34 = np.array([1, 0, 0, 1, 1], bool), C[:, :, 0] > 0


@pytest.mark.parametrize(
    "body",
    ["a[k]", "a[[0, -2, 2]] * 2", "a[k] * k + a[(k + 1) // 2]", "a[k][1:]", "a[k[::2]]", "a[None, k]", "np.sin(a)[k]"],
)
def test_a_vector_is_read_by_an_array(body: str) -> None:
    check(body, a=A, k=K, vmap=True)
    check(body, a=np.repeat(A, 2)[::-2], k=K.astype(np.int32))


@pytest.mark.parametrize(
    "body",
    [
        "c[i, :, i]",
        "c[:, i, ..., i]",
        "c[i, ..., i]",
        "c[0, i, :]",
        "c[0, :, i]",
        "c[:, 0, i]",
        "c[i, None, i]",
        "c[0, None, i]",
        "c[i[:, None], [1, 0, 2]]",
        "c[[[0, 1], [2, 0]], :, 1:3]",
        "c[i, ::2, -1]",
        "c[..., i]",
        "c[(0, 1), 1:]",
        "c[(1, slice(None), i)]",
        "c[i, i, i]",
    ],
)
def test_where_the_dimensions_of_index_arrays_go(body: str) -> None:
    check(body, c=C, i=I2)


@pytest.mark.parametrize(
    "body",
    [
        "c[m3]",
        "c[:, m4]",
        "c[:, :, m5]",
        "c[m34]",
        "c[0][:, m5]",
        "c[m3, i]",
        "c[0, :, m5]",
        "c[:, 1, m5]",
        "c[None, m3]",
        "c[:, m4, ::2] * 2",
        "c[c > 0]",
        "(2 * c)[m34] + c[m34]",
        "c[m3][1]",
        "c[~m3]",
        "c[m3 & (c[:, 0, 0] > 0)]",
    ],
)
def test_what_a_mask_selects(body: str) -> None:
    check(body, c=C, i=I2, m3=M3, m4=M4, m5=M5, m34=M34)


@pytest.mark.parametrize(
    "body",
    ["a[m].sum()", "a[m].mean() + np.sum(a[~m] ** 2)", "np.max(np.exp(a[m]))", "a[a > 0].prod()", "np.std(a[m])"],
)
def test_reductions_of_what_a_mask_selects(body: str) -> None:
    check(body, exact=False, a=A, m=A > -0.5)


@pytest.mark.parametrize(
    "statement",
    [
        "a[a < 0] = 0",
        "a[m] = b[m]",
        "a[m] = a[m] * np.sqrt(b[m]) + 2",
        "a[b > 1] = b[b > 1] * 2",
        "a[m] += 1",
        "a[m] *= b[m]",
        "a[m] = v",
        "a[m] -= v",
        "a[m] = b[::-1][m]",
        "a[m] = a[::-1][m]",
        "a[m] = b[0]",
        "a[a[::-1] < 0] = 1",
        "a[k] = 3",
        "a[k] = w",
        "a[k] += w",
        "a[k] *= a[k]",
        "a[[0, 3]] = a[[3, 0]]",
        "a[1:][k[:3]] = a[k[:3]]",
        "a[::2][[0, 0]] += w[:2]",
        "k[k[:3]] = 1",
        "a[k] = w[:1]",
        "a[None, k] = w",
    ],
)
def test_stores_into_a_vector(statement: str) -> None:
    m = np.array([1, 1, 0, 0, 1, 0, 1], bool)
    check(f"{statement}\nreturn a * a", a=A, b=A[::-1] ** 2, k=K, m=m, v=np.arange(4.0), w=np.arange(1.0, 6.0))


@pytest.mark.parametrize(
    "statement",
    [
        "b[m3] = v",
        "b[m3] = v[:2, None] * v",
        "b[:, m4] += v[:3, None]",
        "b[m34] = 0",
        "b[b[:, :1] > b] *= 2",
        "b[b[:, 0] > 0] = 0",
        "b[:, b[0] > 0] = 5",
        "b[i, j] = v[:2]",
        "b[i[:, None], j] += 1",
        "b[i] = b[::-1][i] * 2",
        "b[0, j] = v[:3]",
        "b[:, j] = b[:, j[::-1]]",
        "b[i, 1:] = v[1:]",
        "b.T[j] = 1",
    ],
)
def test_stores_into_a_matrix(statement: str) -> None:
    where = {"i": np.array([2, 0]), "j": J3[:2] if "b[i, j]" in statement else J3}
    check(f"{statement}\nreturn b * b", b=B, m3=M3, m4=M4, m34=B > 0.3, v=np.arange(4.0), **where)


@pytest.mark.parametrize("n", [0, 1])
@pytest.mark.parametrize("body", ["a[k]", "a[m]", "a[m] = a[m] * 2\nreturn a * 1", "a[k] += 1\nreturn a * 1"])
def test_nothing_and_one(body: str, n: int) -> None:
    check(body, a=A[:n], k=np.zeros(n, int), m=np.ones(n, bool))
    check(body, a=A, k=np.zeros(n, int), m=np.zeros(7, bool))


def test_float32() -> None:
    check("a[k] + a[m].sum()", a=A.astype(np.float32), k=K, m=A > 0, exact=False, rtol=1e-6)
    check("a[k] = 0.1\na[m] += 0.1\nreturn a * 1", a=A.astype(np.float32), k=K, m=A > 0)


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("a[k] = 1", {"a": A, "k": np.array([1, 7])}),
        ("return a[k]", {"a": A, "k": np.array([-8, 1])}),
        ("return c[:, [4]]", {"c": C}),
        ("c[i, j] = 0", {"c": C, "i": I2, "j": J3}),
        ("c[m] = 0", {"c": C, "m": M4}),
        ("return c[:, m]", {"c": C, "m": M3}),
        ("return c[m, i]", {"c": C, "m": np.ones(3, bool), "i": I2}),
        ("a[m] = v", {"a": A, "m": A > 0, "v": np.arange(9.0)}),
        ("a[k] = v", {"a": A, "k": K, "v": np.arange(4.0)}),
        ("return c[i, 9]", {"c": C, "i": I2}),
    ],
)
def test_errors_are_those_of_numpy(body: str, inputs: dict[str, Any]) -> None:
    plain = function_of(f"{body}\nreturn 0.0" if "return" not in body else body, *inputs)
    with pytest.raises((IndexError, ValueError)) as theirs:
        plain(**{n: v.copy() for n, v in inputs.items()})
    given = {n: v.copy() for n, v in inputs.items()}
    with pytest.raises(theirs.type) as ours:
        adc.jit_grad(plain)(**given)
    message = str(theirs.value).strip()
    message = message.replace("axis 1 with", "axis with") if "9" in body else message
    assert message in str(ours.value)
    assert body.split(" =")[0].removeprefix("return ") in str(ours.value)
    for name, v in inputs.items():
        np.testing.assert_array_equal(given[name], v)


def test_second_order_and_maps() -> None:
    f = function_of("return np.sum(a[k] ** 3) + np.sum(a[a > 0] ** 3)", "a", "k")
    h = adc.hessian(f)(A, K)
    expected = np.diag(6 * A * ((A > 0) + np.bincount(K % 7, minlength=7)))
    np.testing.assert_allclose(h, expected, atol=1e-12)
    check("a[m] = a[m] * 2\nreturn a[m].sum()", a=A, m=A > 0, vmap=True, exact=False)


def test_masked_assignment_is_one_loop_without_temporaries() -> None:
    text = adc.jit_grad(function_of("a[a < 0] = 0\nreturn None", "a")).dump_ir("simplified", "f64[::1]")
    assert "alloc" not in text
    assert text.count("scf.parallel") == 1


@pytest.mark.parametrize(
    "body",
    [
        "p = []\nfor i in range(a.size):\n    if a[i] > 0:\n        p.append(i)\nreturn a[p]",
        "a[[i for i in range(n)]]",
        "b[range(3), range(1, 4)]",
        "b[range(len(b)), k[:3]]",
        "for v in a[a > 0]:\n    a = a * v\nreturn a",
        "a[m][a[m] > 0.5]",
        "i, j = np.nonzero(b > 0)\nreturn b[i, j] * i + j",
        "b[np.argmin(b, axis=0), np.arange(4)]",
        "m = np.ones(a.size, bool)\nm[k] = False\nreturn a[m]",
        "c = a[k]\nc[0] = 5\nreturn a * 1, c",
        "a[k] = [1.0, 2.0, 3.0, 4.0, 5.0]\nreturn a * a",
        "a[:3] = (1, 2, 3)\nreturn a * a",
        "b[[0, 1]] = b[[1, 0]]\nreturn b * 1",
        "b[1, b[1] > 0] = 7\nreturn b * b",
        "b.T[m[:4], 1] += 7\nreturn b * b",
        "for i, j in zip(*np.nonzero(b > 0)):\n    b[i, j] *= 2\nreturn b * 1",
        "return np.cumsum(a[m]), np.argmax(a[m]), a[m] @ a[m], len(a[m])",
        "return np.sum(b[m[:3]], axis=0), np.max(b[:, m[:4]], axis=1), np.sum(b[m[:3]], axis=1)",
    ],
)
def test_as_people_write_them(body: str) -> None:
    check(body, a=A, b=B, k=K % 4, m=np.array([1, 0, 1, 0, 1, 0, 1], bool), n=3, exact=False)


def test_what_the_right_side_changes_is_read_before() -> None:
    head = "def change(m, k):\n    m[:] = m[::-1].copy()\n    k[:] = k[::-1].copy() * 0 + 1\n    return 1.0"
    check("a[m] += change(m, k)\nreturn a * 1", a=A, m=A > 0, k=K, head=head)
    check("a[k] += change(m, k)\nreturn a * 1", a=A, m=A > 0, k=K, head=head)
    check("a[k + 1] += change(m, k)\nreturn a * 1", a=A, m=A > 0, k=K - 1, head=head)


def test_sparse_matrix_times_vector() -> None:
    body = """
    y = np.zeros(n)
    for step in range(2):
        p = data * x[cols]
        for r in range(n):
            y[r] = np.sum(p[ptr[r]:ptr[r + 1]])
        x = x + y
    return x
    """
    ptr, cols = np.array([0, 2, 3, 5, 6]), np.array([0, 2, 1, 0, 3, 3])
    check(body, data=R.normal(size=6), x=R.normal(size=4), cols=cols, ptr=ptr, n=4, exact=False)


def test_upwind_by_masks() -> None:
    body = """
    for t in range(4):
        du = np.zeros(u.size)
        left = u[1:-1] - u[:-2]
        right = u[2:] - u[1:-1]
        up = v[1:-1] > 0
        inner = du[1:-1]
        inner[up] = v[1:-1][up] * left[up]
        inner[~up] = v[1:-1][~up] * right[~up]
        u = u - 0.1 * du
    return u
    """
    check(body, u=R.normal(size=9), v=R.normal(size=9), exact=False)


def test_mandelbrot_with_masks() -> None:
    body = """
    count = np.zeros(x.shape)
    a = np.zeros(x.shape)
    b = np.zeros(x.shape)
    for t in range(6):
        m = a * a + b * b < 4.0
        r = a[m] ** 2 - b[m] ** 2 + x[m]
        b[m] = 2 * a[m] * b[m] + y[m]
        a[m] = r
        count[m] += 1
    return count, a
    """
    x, y = np.meshgrid(np.linspace(-2, 0.5, 5), np.linspace(-1, 1, 4))
    check(body, x=x, y=y + 0.01, exact=False)


def test_one_hot_loss() -> None:
    body = """
    z = x @ w
    p = np.exp(z - 3.0)
    s = np.sum(p, axis=1)
    n = len(labels)
    loss = -np.sum(np.log(p[np.arange(n), labels] / s)) / n
    g = p / s[:, None]
    g[np.arange(n), labels] -= 1
    return loss, g
    """
    x, w = R.normal(size=(5, 3)), R.normal(size=(3, 4))
    check(body, x=x, w=w, labels=np.array([0, 3, 3, 1, 2]), exact=False)


def test_forces_from_neighbour_lists() -> None:
    body = """
    for t in range(3):
        d = x[pairs[:, 1]] - x[pairs[:, 0]]
        near = np.sum(d * d, axis=1) < 6.0
        d[~near] = 0
        f = np.zeros((n, 2))
        for p in range(len(pairs)):
            f[pairs[p, 0]] += d[p]
            f[pairs[p, 1]] -= d[p]
        x = x + 0.1 * f
    return x
    """
    pairs = np.array([[0, 1], [1, 2], [2, 3], [0, 3], [1, 3]])
    check(body, x=R.normal(size=(4, 2)), pairs=pairs, n=4, exact=False)


def test_lengths_that_depend_on_data_in_a_loop() -> None:
    body = """
    total = 0.0
    for t in range(5):
        part = a[a > 0.3 * t - 0.5]
        total = total + np.sum(part * part) / (1 + part.size)
        a = a * 1.1
    return total
    """
    check(body, a=A, exact=False)


@pytest.mark.parametrize(
    "body",
    [
        "z[k], np.sum(z[m] ** 2), z[z.real > 0.3]",
        "z[m] = z[m] ** 2 + c[m]\nz[k] += 1j\nz[np.abs(z) > 2] = 0\nreturn z * 1",
        "np.add.at(z, k, 1j)\nreturn z * z",
    ],
)
def test_complex_numbers(body: str) -> None:
    z = R.normal(size=7) + 1j * R.normal(size=7)
    check(body, z=z, c=z[::-1].copy(), k=K, m=A > 0, exact=False)


def test_mandelbrot_of_complex_numbers() -> None:
    body = """
    n = np.zeros(c.shape, int)
    z = np.zeros(c.shape, complex)
    for t in range(6):
        m = np.abs(z) < 2
        z[m] = z[m] ** 2 + c[m]
        n[m] += 1
    return n, z
    """
    check(body, c=np.linspace(-2, 0.5, 5) + 1j * np.linspace(-1, 1, 4)[:, None] + 0.01, exact=False)


@pytest.mark.parametrize(
    ("body", "views"),
    [
        ("a[m] = b[m]", (slice(1, None), slice(-1))),
        ("a[m] = b[m]", (slice(-1), slice(1, None))),
        ("a[m] += b[::-1][m]", (slice(-1), slice(1, None))),
        ("a[b > 0] = 0", (slice(-1), slice(1, None))),
        ("a[k] = b[:4]", (slice(-1), slice(1, None))),
        ("a[k] += b[k]", (slice(-1), slice(1, None))),
        ("np.add.at(a, k, b[:4])", (slice(-1), slice(1, None))),
        ("np.put(a, k, b)", (slice(None, None, 2), slice(1, 4))),
        ("np.place(a, m[:5], b)", (slice(None, None, 2), slice(1, 4))),
    ],
)
def test_arguments_that_overlap(body: str, views: tuple[slice, slice]) -> None:
    f = function_of(f"{body}\nreturn 0.0", "a", "b", "m", "k")
    m, k = np.array([1, 0, 1, 1, 0, 1, 1, 0], bool), np.array([0, 2, 2, 1])
    theirs = R.normal(size=9)
    ours = theirs.copy()
    f(theirs[views[0]], theirs[views[1]], m, k)
    adc.jit_grad(f)(ours[views[0]], ours[views[1]], m, k)
    np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.uint32, np.uint64])
def test_indices_of_narrow_integers(dtype: type) -> None:
    check("return a[k] * 2, a[k + 1]", a=A, k=np.array([0, 2, 2, 1]).astype(dtype))
