"""Python's own functions of arrays, compared with Python."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check, function_of

V = np.random.default_rng(2).normal(size=7)
A = np.random.default_rng(2).normal(size=(3, 4))


def test_extremes_and_truth() -> None:
    check("max(v), min(v * 2), max(k), any(v > 1), all(v < 9), any(k > 9)", v=V, k=np.array([3, 1, 2]))
    n = np.array([np.nan, 1.0, 2.0])
    check("max(n), min(n), max(n[::-1]), min(n[::-1])", n=n, derivatives=False)


def test_sums_of_rows() -> None:
    check("sum(a), sum(a, 1.0), sum(a.T)", a=A)
    check("sum(k), sum(k > 2)", k=np.arange(6).reshape(3, 2))


def test_sorted() -> None:
    check("s = sorted(v)\nreturn s[0] * 2 + s[-1], np.array(sorted(v, reverse=True))", v=V)


def test_sums_of_arrays_that_are_made() -> None:
    check("sum(k * a[i : i + 2] for i, k in enumerate(w))", a=A, w=V[:2])
    check("sum(a[i] * i for i in range(len(a))), sum([a[i] for i in range(n)])", a=A, n=3)


HEAD = "import functools, itertools, operator"


def test_map_and_filter() -> None:
    check("np.array(list(map(lambda x, y: x * y, v, w))), sum(map(np.sin, v)), max(map(abs, v))", v=V, w=V[::-1])
    check("sum(filter(lambda x: x > 0, v)), np.array([2 * x for x in filter(None, v)])", v=V)
    check("a, b = map(np.sum, (v, v[1:]))\nc, d, e = map(float, v[:3])\nreturn a * b + c * d * e", v=V)


def test_map_calls_when_an_item_is_asked_for() -> None:
    body = "s = 0.0\nc = 1.0\nfor {} in {}:\n    s += y\n    c = y + 0.5\nreturn s"
    check(body.format("y", "map(lambda x: x * c, v)"), v=V)
    check("def g(x):\n    return x * c\n" + body.format("i, y", "enumerate(map(g, v))"), v=V)


def test_extremes_by_a_key() -> None:
    check("max(v, key=abs), min(v, key=lambda x: (x - 1) ** 2), max(v[:0], default=1.5), max(a.flat)", v=V, a=A)
    check("r = min(a, key=lambda q: q @ q)\nr *= 2\nreturn a, max(range(len(a)), key=lambda i: a[i, 1])", a=A)
    check("max([v[0], v[1]], key=abs), min(v[0], v[1], v[2], key=lambda x: x * x)", v=V)


def test_sorted_by_a_key() -> None:
    check("x = sorted(range(len(v)), key=lambda i: -v[i])\ny = [k for k in v]\ny.sort(key=abs)\nreturn v[x], y[1]", v=V)
    check("sorted([3, 1, 2], reverse=True), sorted(k, key=lambda x: x // 2, reverse=True)", k=np.array([5, 2, 3, 4, 1]))


def test_functools_and_operator() -> None:
    check("functools.reduce(lambda a, b: a * b, v), functools.reduce(operator.add, v, 2.0)", head=HEAD, v=V)
    check("functools.reduce(np.dot, [s, s, s]) * functools.reduce(operator.mul, s.shape)", head=HEAD, s=A[:, :3])


def test_itertools() -> None:
    check("sum(a[i, j] * i * j for i, j in itertools.product(range(len(a)), range(4)))", head=HEAD, a=A)
    check("sum(np.linalg.norm(p - q) for p, q in itertools.combinations(a, 2))", head=HEAD, a=A)
    check("sum(p * q for p, q in itertools.combinations_with_replacement(v, 2))", head=HEAD, v=V)
    check("np.array([y - x for x, y in itertools.pairwise(v)])", head=HEAD, v=V)


def test_subscripts_of_all_elements() -> None:
    check("for i, x in np.ndenumerate(a):\n    a[i] = x * i[0]\nreturn a", a=A)
    check("s = 0.0\nfor i, j in np.ndindex(a.shape):\n    s += a[i, j] * j\nreturn s", a=A)
    check("s = 1.0\nfor x in a.T.flat:\n    s = s * x + 1\nreturn s", a=A)


def test_arrays_are_unpacked() -> None:
    check("p, q, r = np.unstack(a)\nreturn p * q + r, [c.sum() for c in np.unstack(a[:, :2], axis=1)]", a=A)
    check("first, *rest = v\n*most, x, y = v\nreturn first + sum(rest), len(most), x * y", v=V)


def test_arrays_without_axes_are_numbers() -> None:
    check("z = np.array(v[0])\nz[...] = z * v[1]\nz *= 0.5\nreturn float(z), float(z * 2.0), int(z + 3.0)", v=V)
    check("z = np.zeros(())\nz += v[2]\nreturn bool(z * 0.0), float(v[0] * z) + abs(z), np.float64(z + 1.0)", v=V)
    check("z = np.array(v[0])\nz += 1.0\nreturn (1.0 if z * v[0] > 0.1 else v[1]), not z, -3.0 < z < v[0]", v=V)


def test_lists_of_numbers() -> None:
    check("x = v.tolist()\nx.append(1.0)\nreturn np.array(x), sum(x) / len(x), v[0].round(1), v.sum().clip(0, 1)", v=V)
    check("np.fromiter((x**2 for x in v), float), np.fromiter(map(abs, v), dtype=float, count=3)", v=V)
    check("3 in k, 7 in k, 0 not in k, 2 in [i for i in k]", k=np.array([2, 0, 3]))


def test_lists_beside_arrays() -> None:
    check("a + [1, 2, 3, 4], [1, 2, 3, v[0]] - a, a @ [1, 2, 3, 4.0], a * (1, 2, 3, 4), a > [0, 1, 0, 1]", a=A, v=V)
    check("out = np.zeros((3, 4))\nout[:, 1] = [v[0], v[1], v[2]]\nout[0] += [1, 2, 3, 4]\nreturn out", v=V)
    check("v[:2] == [1, 2], [1, 2] != v[:2]", v=V)


def test_arrays_of_rows() -> None:
    check("np.array([row * 2 for row in a]), np.array([(x, i) for i, x in enumerate(v)]), np.array(list(zip(v, w)))",
          a=A, v=V, w=V[::-1])  # fmt: skip
    check("np.stack([r for r in a], axis=1), np.vstack([r for r in a]), np.column_stack([r for r in a])", a=A)
    check("np.concatenate([v[:i] for i in range(len(v))]), np.sum([r * 2 for r in a], axis=0)", a=A, v=V)
    f = adc.jit_grad(function_of("np.array([v[i:] for i in range(len(v))])", "v"))
    with pytest.raises(ValueError, match="inhomogeneous"):
        f(V)


def test_vectorize() -> None:
    check("np.vectorize(lambda x: x * x if x > 0 else -x)(v), np.vectorize(int)(v)", v=V)
    outside = "@np.vectorize\ndef g(x, y):\n    if x > y:\n        return x * y\n    return 0.5 * x"
    check("g(a, v[3:]), g(a[0], 2.0), g(2.0, 3.0)", head=outside, a=A, v=V)
    check("@np.vectorize(otypes=[float])\ndef g(x):\n    return x * c\nreturn g(v), g(v[:0])", v=V, c=2.0)


def test_imports_in_functions() -> None:
    check("import math\nfrom functools import reduce as fold\nimport numpy.linalg as la\n"
          "return fold(lambda a, b: a * b, v) * math.sin(v[0]) * la.norm(v)", exact=False, v=V)  # fmt: skip
