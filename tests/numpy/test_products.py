"""Products of vectors, matrices and arrays, compared with NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import adc
from tests.numpy.checking import check
from tests.numpy.functions import function_of

RNG = np.random.default_rng(3)
A = RNG.normal(size=(3, 4))
B = RNG.normal(size=(4, 2))
V = RNG.normal(size=4)
MANY = RNG.normal(size=(2, 3, 4))


def near(body, **inputs):
    return check(body, exact=False, rtol=1e-12, **inputs)


def test_matmul_of_all_ranks() -> None:
    near("(a @ b, a @ v, v @ b, v @ v)", a=A, b=B, v=V)
    near("(m @ b, m @ v)", m=MANY, b=B, v=V)


def test_matmul_stretches_leading_axes() -> None:
    near("np.matmul(m, n)", m=RNG.normal(size=(2, 1, 3, 4)), n=RNG.normal(size=(5, 4, 2)))
    near("m @ n", m=MANY, n=RNG.normal(size=(1, 4, 3)))


def test_few_rows_or_columns_have_the_bits_of_many() -> None:
    compiled = adc.jit_grad(function_of("return a @ b, a @ c.T", "a", "b", "c"))
    rng = np.random.default_rng(0)
    for dtype in (np.float64, np.float32):
        a, b = rng.random((26, 300)).astype(dtype), rng.random((300, 33)).astype(dtype)
        whole, turned = compiled(a, b, b.T.copy())
        np.testing.assert_allclose(whole, a @ b, rtol=1e-12 if dtype is np.float64 else 1e-4)
        np.testing.assert_array_equal(turned, whole)
        for m, n in ((2, 3), (3, 4), (4, 5), (5, 8), (12, 9), (13, 17)):
            part = compiled(a[:m].copy(), b[:, :n].copy(), b[:, :n].T.copy())
            np.testing.assert_array_equal(part[0], whole[:m, :n])
            np.testing.assert_array_equal(part[1], whole[:m, :n])


def test_extents_that_differ() -> None:
    with pytest.raises(ValueError, match="inner extents differ, 4 and 3"):
        adc.jit_grad(lambda a, b: a @ b)(A, A)
    with pytest.raises(ValueError, match="2 and 3"):
        adc.jit_grad(lambda a, b: a @ b)(MANY, RNG.normal(size=(3, 4, 2)))


def test_dot_inner_and_kin() -> None:
    near("(np.dot(m, b), np.dot(m, n), np.dot(v, 2.0), m.dot(v))", m=MANY, b=B, v=V, n=RNG.normal(size=(2, 4, 3)))
    near("(np.inner(m, a), np.inner(v, v), np.vdot(a, a))", m=MANY, a=A, v=V)
    near("np.vecdot(m, a)", m=MANY, a=A)


def test_tensordot() -> None:
    near("(np.tensordot(m, a, axes=2), np.tensordot(m, a, 0))", m=MANY, a=A)
    near("(np.tensordot(m, a, axes=([1, 2], [0, 1])), np.tensordot(m, a, axes=(-1, 1)))", m=MANY, a=A)


def test_einsum() -> None:
    near("(np.einsum('ij,jk->ik', a, b), np.einsum('ij,jk', a, b), np.einsum('ij->ji', a))", a=A, b=B)
    near("(np.einsum('ii', s), np.einsum('ii->i', s), np.einsum('ij->', s), np.einsum('ij->j', s))", s=A[:, :3])
    near("(np.einsum('...ij,jk->...ik', m, b), np.einsum('...j,j', m, v))", m=MANY, b=B, v=V)


def test_einsum_of_several_operands() -> None:
    near("np.einsum('i,ij,jk,k->', a[:, 0], a, b, b[0])", a=A, b=B)
    near("np.einsum('bij,ik,jl->bkl', m, a, b)", m=MANY, a=A, b=B)
    near("np.einsum('i,j->ij', a[0], b[0], optimize=True)", a=A, b=B)


def test_einsum_that_is_wrong_is_refused() -> None:
    for text in ("ij,jk->il", "ij,jkl", "ij->i", "ij,jk->ii", "i-,jk"):
        with pytest.raises(adc.AdcError, match=r"np\.einsum"):
            adc.jit_grad(lambda a, b, text=text: np.einsum(text, a, b))(A, B)


def test_integers_keep_their_dtype() -> None:
    i = np.arange(6, dtype=np.int32).reshape(2, 3)
    check("(i @ i.T, np.einsum('ij->j', i), np.tensordot(i, i))", i=i)


@pytest.mark.skipif(not hasattr(np, "matvec"), reason="NumPy has it from 2.2 on")
def test_matrices_by_vectors() -> None:
    rng = np.random.default_rng(4)
    a, x, y = rng.normal(size=(5, 3, 4)), rng.normal(size=(5, 4)), rng.normal(size=3)
    body = "return np.matvec(a, x), np.matvec(a[0], x[0]), np.matvec(a, x[0]), np.matvec(a[0], x)"
    check(body, a=a, x=x, exact=False)
    body = "return np.vecmat(y, a), np.vecmat(y, a[0]), np.vecmat(z, a), np.vecmat(z, a[0])"
    check(body, a=a, y=y, z=a[:, :, 0], exact=False)
    check("np.matvec(a[0], x[0], out=y)", a=a, x=x, y=y, exact=False, by=("a", "x"))


def test_trace() -> None:
    near("(np.trace(a), np.trace(a, 1), np.trace(m, axis1=2, axis2=1), np.linalg.trace(m, offset=-1))", a=A, m=MANY)


def test_kron_and_outer() -> None:
    check("(np.kron(a, b), np.kron(v, a), np.outer(a, v), np.linalg.outer(v, v))", a=A[:2, :2], b=B[:2], v=V[:3])


def test_cross() -> None:
    near("(np.cross(v, w), np.cross(m, v), np.linalg.cross(m, m[::-1]))", m=RNG.normal(size=(2, 3)), v=V[:3], w=V[1:])
    near("(np.cross(m, m[:, ::-1], axis=0), np.cross(m, v, axisa=0))", m=RNG.normal(size=(3, 2)), v=V[:3])


def test_powers_and_chains() -> None:
    near("(np.linalg.matrix_power(a, 5), np.linalg.matrix_power(a, 0))", a=A[:, :3])
    near("(np.linalg.multi_dot([a, b, b.T]), np.linalg.multi_dot((a, b, b.T, v)))", a=A, b=B, v=V)


def test_norms_of_vectors() -> None:
    near("[np.linalg.norm(v, p) for p in (None, 1, 2, 3.5, 0, np.inf, -np.inf)]", v=V)
    near("(np.linalg.norm(a, axis=1), np.linalg.norm(a, 1, 0, keepdims=True), np.linalg.norm(m))", a=A, m=MANY)
    near("(np.linalg.vector_norm(a, axis=0), np.linalg.vector_norm(a, ord=1))", a=A)
    near("(np.linalg.norm(v, np.inf), np.linalg.norm(v, -1.5), np.linalg.norm(a, ord=-np.inf))", v=V, a=A)


def test_norms_of_matrices() -> None:
    near("[np.linalg.norm(a, p) for p in ('fro', 1, -1, np.inf, -np.inf)]", a=A)
    near("(np.linalg.norm(m, axis=(1, 2)), np.linalg.matrix_norm(m, ord=1, keepdims=True))", m=MANY)
    near("(np.linalg.norm(a, 2), np.linalg.norm(a, 'nuc'))", a=A)


def test_norm_of_zero_has_the_gradient_zero() -> None:
    assert not adc.grad(lambda a: np.sum(np.linalg.norm(a, axis=1)))(np.zeros((2, 2))).any()


def test_cond() -> None:
    near("np.linalg.cond(a)", a=A)
    check("np.linalg.cond(a, 1)", a=A[:, :3], exact=False, derivatives=False)
