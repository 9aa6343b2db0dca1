"""Arrays joined, split, rearranged, padded, and made from formulas."""

from __future__ import annotations

import re

import numpy as np
import pytest

import adc
from adc.errors import AdcError
from tests.numpy.checking import check, function_of

INPUTS = {
    "A": np.arange(12.0).reshape(3, 4) + 0.5,
    "B": np.arange(12.0).reshape(3, 4) - 7.5,
    "C": np.arange(24.0).reshape(2, 3, 4) + 0.25,
    "x": np.linspace(1.0, 2.0, 6),
}
PROGRAMS = """
np.concatenate((A,B)), np.concatenate([A,B],axis=1), np.concatenate((A,B),axis=None)
np.concatenate((A,x.reshape(3,2),A),axis=-1), np.concatenate(C), np.concatenate(C,axis=1)
np.concatenate((x,[1.0,2.0])), np.concatenate((x,np.arange(3))), np.stack((A,B)), np.stack([A,B],axis=1)
np.stack([x[0],x[1]]), np.stack((A,B),-1), np.vstack((x,x*2)), np.hstack((x,x*2,1.0)), np.hstack((A,B))
np.dstack((A,B)), np.column_stack((x,x*2)), np.block([[A,B],[B,A]]), np.block([A,B]), np.append(x,3.0)
np.append(A,B,axis=0), np.array_split(x,4), np.split(x,3), np.split(x,[2,5])[1]*2, np.hsplit(A,2)[1]*1.0
np.vsplit(A,3)[1]*1.0, np.roll(x,2), np.roll(A,1,axis=0), np.roll(A,-1,1), np.roll(A,3), np.roll(A,(1,2),axis=(0,1))
np.roll(C,(1,2),axis=(0,2)), np.roll(A,1,axis=(0,1)), np.flip(A), np.flip(A,1), np.flip(C,(0,2))
np.flipud(A),np.fliplr(A), np.rot90(A), np.rot90(A,2),np.rot90(A,-1),np.rot90(A,0), np.rot90(C,1,(1,2))
np.tile(x,2), np.tile(A,(2,3)), np.tile(A,(2,1,3)), np.tile(C,2), np.repeat(x,3), np.repeat(A,2)
np.repeat(A,2,axis=0), np.repeat(A,2,axis=1), np.repeat(A,[1,0,2],axis=0), np.repeat(x,np.array([1,0,2,1,0,3]))
np.resize(x,(2,5)), np.delete(x,2), np.delete(A,-1,axis=1), np.insert(x,2,5.0), np.insert(A,1,x[:4],axis=0)
np.insert(A,1,x[0],axis=1), np.array([A,B]), np.array([[x[0],1.0],[2.0,x[1]]])
np.array([x,[1.0,2.0,3.0,4.0,5.0,6.0]]), np.array([[A,B],[B,A]]), np.array([x*2,x+1]), np.array([1,x[0]])
np.eye(3)*x[0], np.eye(3,5,1), np.eye(4,k=-1), np.identity(2), np.eye(3,dtype=int)
np.tri(3),np.tri(3,4,1),np.tri(3,4,-1), np.tril(A),np.triu(A),np.tril(A,-1),np.triu(A,1),np.tril(C),np.triu(x)
np.diag(x),np.diag(x,2),np.diag(x,-1),np.diag(A),np.diag(A,1),np.diagflat(A)
np.diagonal(A)*1.0, np.diagonal(C,1,1,2), A.diagonal()
np.vander(x), np.vander(x,3), np.vander(x,4,increasing=True), np.vander(np.arange(4)), np.meshgrid(x,x*2)
np.meshgrid(x,x[:2],indexing='ij'), np.meshgrid(x,x[:2],sparse=True), np.meshgrid(x,x[:2],x[:3]), np.indices((2,3))
(np.fromfunction(lambda i,j: i*x[0]+j,(2,3))), np.broadcast_to(x,(3,6))*1.0
np.hanning(5),np.hamming(6),np.blackman(4),np.bartlett(5), np.hanning(1)
np.fill_diagonal(A,x[0])
"""


def _inputs(body: str) -> dict[str, np.ndarray]:
    used = set(re.findall(r"\w+", body))
    return {name: value for name, value in INPUTS.items() if name in used}


@pytest.mark.parametrize("body", PROGRAMS.strip().splitlines())
def test_as_numpy(body: str) -> None:
    check(body, **_inputs(body))


@pytest.mark.parametrize(
    "body",
    [
        "np.roll(x[:0], 2)",
        "np.roll(x, n, axis=0)",
        "np.roll(A, (n, -n), axis=(0, 1))",
        "np.roll(A, np.array([[n, 1], [-n, 3]])[1], (0, 1)), np.roll(A, np.array([n, 2])[1:], (0, 1))",
        "np.repeat(x, n)",
        "np.tile(A, (n, 2))",
        "np.pad(x, n, mode='reflect')",
        "np.pad(A, ((n, 0), (0, n)))",
        "np.eye(n) * x[0], np.tri(n, 3, n) * x[0], np.diag(x, n)",
        "np.split(x, [n, 4])[1] * 2",
        "np.diagonal(A, n) * 2, np.diag(A, -n) * 2",
    ],
)
def test_numbers_known_at_run_time(body: str) -> None:
    for n in (0, 2, 5):
        check(body, **_inputs(body), n=n, derivatives=n == 2)


@pytest.mark.parametrize(
    "options",
    [
        "((1, 2), (0, 3)), 'edge'",
        "1, 'constant', constant_values=x[0]",
        "((1, 2), (0, 1)), 'constant', constant_values=((1.0, 2.0), (3.0, 4.0))",
        "2, 'linear_ramp', end_values=(1.0, 2.0)",
        "(4, 7), 'reflect'",
        "(5, 3), 'symmetric'",
        "(5, 7), 'wrap'",
        "np.array([[1, 0], [2, 3]]), 'edge'",
        "np.array([2])",
        "1, 'maximum'",
        "1, 'minimum'",
        "1, 'mean'",
    ],
)
def test_padding(options: str) -> None:
    body = f"np.pad(A, {options})"
    check(body, **_inputs(body))


def test_parts_are_views() -> None:
    a = INPUTS["A"]
    check("p, q = np.split(A, 2, axis=1)\np[0] = q[1] * 2\nreturn A * A", A=a)
    check("B = np.flip(A, 0)\nB[0] = 2 * A[0]\nreturn A * A", A=a)
    check("d = np.diagonal(A, 1)\nA[1, 2] = A[0, 0] ** 2\nreturn d * d", A=a)
    check("B = np.rot90(A)\nB[0] *= 2.0\nreturn A * A, B", A=a)


def test_wrong_axes_are_refused() -> None:
    programs = ["np.flip(A, 2)", "np.rot90(A, 1, (0, 0))", "np.roll(A, 1, 2)", "np.fliplr(x)"]
    for body in programs:
        inputs = _inputs(body)
        with pytest.raises(AdcError):
            adc.jit_grad(function_of(body, *inputs))(*inputs.values())


def test_errors_are_numpys() -> None:
    programs = [
        "np.concatenate((A, x[:2]))",
        "np.concatenate((A, A[:, :2]))",
        "np.stack((A, A[:2]))",
        "np.split(A, 2)",
        "np.pad(x[:0], 2, 'edge')",
        "np.pad(x, -1)",
        "np.repeat(x, [1, 2])",
        "np.delete(x, 6)",
    ]
    for body in programs:
        inputs = _inputs(body)
        plain = function_of(body, *inputs)
        with pytest.raises((ValueError, IndexError)) as theirs:
            plain(*inputs.values())
        with pytest.raises((AdcError, ValueError, IndexError)) as ours:
            adc.jit_grad(plain)(*inputs.values())
        assert str(theirs.value)[:20] in str(ours.value)
