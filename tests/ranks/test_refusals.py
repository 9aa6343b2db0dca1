"""Programs that would wait for ever, or have a wrong gradient, are refused or end on all ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.programs import on_ranks

X = np.ones(3)


def branch(x: Any) -> Any:
    if x[0] > 0.0:
        return mpi.allreduce(x[0])
    return 0.0


def loop(x: Any, count: Any) -> Any:
    total = 0.0
    for _ in range(count):
        total += mpi.allreduce(x[0])
    return total


def until(x: Any) -> Any:
    size = np.sum(x * x)
    while size > 1.0:
        size = 0.5 * size
        mpi.bcast(size)
    return size


def by_rank(x: Any) -> Any:
    y = np.zeros(3)
    if mpi.rank() == 0:
        y = helper(x)
    return np.sum(y)


def helper(x: Any) -> Any:
    return mpi.allgather(x[0])


@pytest.mark.parametrize("f, args", [(branch, (X,)), (loop, (X, 3)), (until, (X,)), (by_rank, (X,))])
def test_collective_under_a_condition_of_the_rank(f: Any, args: Any) -> None:
    with pytest.raises(SyntaxError, match="all ranks have to do this at once") as caught:
        jit_grad(f)(*args)
    assert isinstance(caught.value, errors.CompileError) and caught.value.kind == "collective-apart"
    assert caught.value.filename == __file__ and "mpi." in (caught.value.text or "")


def test_conditions_that_are_the_same() -> None:
    @jit_grad
    def f(x: Any, count: mpi.Same, on: mpi.Same) -> Any:
        total = mpi.allreduce(np.sum(x))
        for k in range(count):
            if on and total > 1.0 and k < mpi.size():
                total = total + mpi.allreduce(x[0])
        return total

    assert on_ranks(f, [X, X], same=(3, True)) == [10.0, 10.0]


@pytest.mark.parametrize(
    "f", [lambda x: np.sum(mpi.sendrecv(x, 0, 0)), lambda x: mpi.allreduce(x[0]) + x[1], lambda x: mpi.rank() * x[0]]
)
def test_loss_that_differs(f: Any) -> None:
    if f(X) == 0.0:  # which rank it is, is no message
        return
    with pytest.raises(TypeError, match="may differ between ranks") as caught:
        adc.grad(f)(X)
    assert caught.value.kind == "not-same"  # type: ignore[attr-defined]


@jit_grad
def scalar(x: mpi.Same) -> Any:
    return mpi.allreduce(x * x)


@jit_grad
def array(x: Any) -> Any:
    return mpi.allreduce(x * x)


def test_other_derivatives() -> None:
    with pytest.raises(TypeError, match="the gradient of a gradient"):
        adc.grad(scalar.grad)(2.0)
    with pytest.raises(TypeError, match="the Jacobian"):
        adc.jacobian(array)(X)
    with pytest.raises(TypeError, match="the Jacobian"):
        adc.hessian(lambda x: mpi.allreduce(np.sum(x * x)))(X)
    with pytest.raises(TypeError, match="the same on all ranks, and has no pullback"):
        array.pullback(X)
    with pytest.raises(TypeError, match="derivatives inside"):
        jit_grad(lambda x: adc.grad(lambda y: mpi.allreduce(y * y))(x))(2.0)
    with pytest.raises(TypeError, match="derivatives inside"):
        jit_grad(lambda x: adc.jvp(lambda y: mpi.allreduce(y * y), (x,), (1.0,))[1])(2.0)
    with pytest.raises(TypeError, match="derivatives inside"):
        jit_grad(lambda a: adc.root(lambda y, b: mpi.allreduce(y * y) - b, 1.0, a)).grad(2.0)


def test_same_is_only_read() -> None:
    @jit_grad
    def f(w: mpi.Same) -> Any:
        v = w[1:]
        v[0] = 2.0
        return np.sum(w)

    with pytest.raises(errors.CompileError, match=r"annotated mpi\.Same: what is the same on all ranks is only read"):
        f(X)


def test_same_of_a_tuple() -> None:
    def f(w: mpi.Same) -> Any:
        return w[0]

    with pytest.raises(TypeError, match=r"'w' is annotated mpi\.Same"):
        jit_grad(f)((1.0, 2.0))


def test_dtypes_that_cannot_be_sent() -> None:
    for x in (X + 1j, X > 0.0, X.astype(np.int8)):
        with pytest.raises(TypeError, match="cannot be sent to other ranks"):
            jit_grad(mpi_sum)(x)


def mpi_sum(x: Any) -> Any:
    return mpi.allreduce(x)


def test_no_such_operation_or_rank() -> None:
    with pytest.raises(NotImplementedError):
        mpi.allreduce(X, "product")
    with pytest.raises(errors.AdcError, match=r"no op='product'"):
        jit_grad(lambda x: mpi.allreduce(x, "product"))(X)
    with pytest.raises(ValueError, match="there is no rank 7: there are 1"):
        mpi.send(X, 7)


@jit_grad
def waits(x: Any) -> Any:
    return np.sum(mpi.recv(x, (mpi.rank() + 1) % mpi.size()))


@jit_grad
def unequal(x: Any) -> Any:
    return np.sum(mpi.sendrecv(x, 1 - mpi.rank(), 1 - mpi.rank()))


@jit_grad
def one_by_one(x: Any) -> Any:
    return mpi.allreduce(x) + mpi.allreduce(np.sum(x))


def test_all_wait() -> None:
    with pytest.raises(errors.RankError, match="no rank can go on: rank 0 waits for a message from rank 1") as caught:
        on_ranks(waits, [X, X])
    assert caught.value.filename == __file__ and "mpi.recv(x" in (caught.value.text or "")


def test_lengths_that_differ() -> None:
    with pytest.raises(ValueError, match=r"has 3 numbers, and 2 are received|has 2 numbers, and 3 are received"):
        on_ranks(unequal, [X, X[:2]])
    with pytest.raises(errors.RankError, match="ranks do not do the same: rank 0 does allreduce of 3 float64 in line"):
        on_ranks(one_by_one, [X, X[:2]])


def test_what_one_rank_raises_ends_all() -> None:
    @jit_grad
    def f(x: Any) -> Any:
        if x[0] > 1.0:
            raise KeyError("too large")
        return np.sum(mpi.sendrecv(x, (mpi.rank() + 1) % 3, (mpi.rank() - 1) % 3))

    with pytest.raises(KeyError, match="too large"):
        on_ranks(f, [X, 2.0 * X, X])


def test_single_rank_that_speaks_to_itself() -> None:
    np.testing.assert_array_equal(mpi.sendrecv(X, 0, 0), X)
    np.testing.assert_array_equal(mpi.sendrecv(X, mpi.NOBODY, mpi.NOBODY), np.zeros(3))
    with pytest.raises(RuntimeError, match="single rank"):
        mpi.send(X, 0)


@jit_grad(argnums=(0, 1))
def two(x: Any, y: Any) -> Any:
    return mpi.allreduce(np.sum(x)) * mpi.allreduce(np.sum(y))


def test_derivatives_that_differ() -> None:
    """Ranks that differentiate by other arguments do not take what others send for something else."""

    def along(x: Any) -> Any:
        tangents = (x, None) if mpi.rank() == 0 else (None, x)
        return adc.jvp(two, (x, x), tangents)

    text = r"rank 0 does allreduce of 1 float64, tangents, in line \d+:12; rank 1 does"
    with pytest.raises(errors.RankError, match=text):
        on_ranks(along, [X, X])

    def by(x: Any) -> Any:
        return adc.grad(two.__wrapped__, argnums=mpi.rank())(x, x)

    with pytest.raises(errors.RankError, match="ranks do not do the same"):
        on_ranks(by, [X, X])


def test_other_lines_of_the_program() -> None:
    @jit_grad
    def f(x: Any, first: mpi.Same) -> Any:
        if first:
            return mpi.allreduce(x[0])
        return mpi.allreduce(x[1])

    with pytest.raises(errors.RankError, match="ranks do not do the same"):
        on_ranks(lambda x: f(x, mpi.rank() == 0), [X, X])


def test_what_is_said_to_be_the_same_is_compared() -> None:
    def f(x: Any, r: mpi.Same) -> Any:
        return mpi.allreduce(np.sum(x)) * np.sum(r)

    for r in (2.0, X, np.ones(1000)):
        gradient = adc.grad(f, argnums=1)
        assert np.sum(on_ranks(gradient, [X, X], same=(r,))[1]) == 6.0 * np.size(r)
        with pytest.raises(errors.RankError, match=r"what is annotated mpi\.Same is not the same on all ranks: "):
            on_ranks(lambda x, k, r=r: gradient(x, r + k), [X, X], [0.0, 1e-3])


def test_values_that_differ_by_constants_of_the_ranks() -> None:
    """What a program has as a constant counts as the same."""

    def run() -> Any:
        factor = 1.0 + mpi.rank()
        return adc.grad(lambda x: mpi.allreduce(np.sum(x)) * factor)(X)

    with pytest.raises((errors.RankError, errors.DifferentiationError), match=r"the same on all ranks|may differ"):
        mpi.simulate(2, run)


def test_cotangents_of_one_value_that_differ() -> None:
    def pulled(x: Any) -> Any:
        _, back = scalars.pullback(x)
        return back(1.0 + mpi.rank())

    said = r"its cotangent, is not the same on all ranks: 2\.0 on rank 1, 1\.0 on the first"
    with pytest.raises(errors.RankError, match=said):
        on_ranks(pulled, [X, X])


@jit_grad
def scalars(x: Any) -> Any:
    return mpi.allreduce(np.sum(x))
