"""``to_torch``: PyTorch's own checks of first and second derivatives, and closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.interop import asarray, to_torch
from tests.interop.programs import arguments, called, heat, recurrence, waves

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
ARGUMENTS = arguments(np.random.default_rng(3))


def tensors(name: str, *, grad: bool = True) -> list[Any]:
    return [torch.tensor(v, dtype=torch.float64, requires_grad=grad) for v in ARGUMENTS[name]]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_pytorch_accepts_the_derivatives(name: str) -> None:
    fn, given = called(name, to_torch), tensors(name)
    assert torch.autograd.gradcheck(fn, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(fn, given)


@pytest.mark.parametrize("name", ["waves", "recurrence", "pair"])
def test_a_batch_is_what_its_items_are(name: str) -> None:
    fn, given = called(name, to_torch), tensors(name, grad=False)
    rows = torch.stack([given[0], 2 * given[0]])
    dims = (0,) + (None,) * (len(given) - 1)

    def total(*args: Any) -> Any:
        found = fn(*args)
        return sum(torch.sum(part**2) for part in (found if isinstance(found, tuple) else (found,)))

    for function in (total, torch.func.grad(total), torch.func.grad(total, argnums=1)):
        batch = torch.vmap(function, in_dims=dims)(rows, *given[1:])
        assert torch.allclose(batch, torch.stack([function(row, *given[1:]) for row in rows]), rtol=1e-12)
    by_rows = torch.func.grad(lambda *args: torch.vmap(total, in_dims=dims)(*args).sum(), argnums=1)
    parts = sum(torch.func.grad(total, argnums=1)(row, *given[1:]) for row in rows)
    assert torch.allclose(by_rows(rows, *given[1:]), parts, rtol=1e-12)


def test_transformations_of_torch_func() -> None:
    fn, (x, k) = to_torch(waves), tensors("waves", grad=False)
    assert torch.allclose(torch.func.hessian(fn)(x, k), torch.diag(-torch.sin(x) * k))
    assert torch.allclose(torch.func.jvp(fn, (x, k), (x, k))[1], torch.sum(torch.cos(x) * k * x + torch.sin(x) * k))
    x, y = tensors("recurrence", grad=False)
    both = to_torch(recurrence)
    assert torch.allclose(torch.func.jacrev(both)(x, y)[0], torch.func.jacfwd(both)(x, y)[0])


def test_it_learns_with_an_optimiser_of_pytorch() -> None:
    model = to_torch(heat)
    target = model(torch.linspace(0, 1, 8, dtype=torch.float64) ** 2, torch.tensor(0.2, dtype=torch.float64), 4)
    rate = torch.tensor(0.05, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([rate], lr=0.02)
    for _ in range(150):
        optimiser.zero_grad()
        loss = torch.sum((model(torch.linspace(0, 1, 8, dtype=torch.float64) ** 2, rate, 4) - target) ** 2)
        loss.backward()
        optimiser.step()
    assert abs(rate.item() - 0.2) < 1e-3


def test_dtypes_numbers_and_what_is_not_differentiable() -> None:
    @to_torch
    def fn(x: Any, n: int, mask: Any) -> Any:
        return {"sum": np.sum(x[mask]) * n, "count": len(x), "array": x}

    x = torch.ones(3, requires_grad=True)
    found = fn(x, 2, torch.tensor([True, False, True]))
    assert found["sum"].dtype == found["array"].dtype == torch.float32 and found["count"].item() == 3
    assert found["array"].data_ptr() != x.data_ptr() and not found["count"].requires_grad
    found["sum"].backward()
    assert torch.equal(x.grad, torch.tensor([2.0, 0.0, 2.0]))
    x.grad = None
    fn(x, 2, np.array([True, False, True]))["array"].sum().backward()
    assert torch.equal(x.grad, torch.ones(3))


def test_refusals() -> None:
    @to_torch
    def writes(x: Any) -> Any:
        x[0] = 1.0
        return np.sum(x)

    with pytest.raises(adc.AdcError, match="read-only"):
        writes(torch.ones(3))
    with pytest.raises(adc.AdcError, match="complex"):
        to_torch(waves)(torch.ones(3, dtype=torch.complex64), 1.0)
    with pytest.raises(adc.AdcError, match="CPU"):
        to_torch(waves)(torch.ones(3, device="meta"), 1.0)
    with pytest.raises(adc.AdcError, match="requires a gradient"):
        asarray(torch.ones(3, requires_grad=True))


def test_memory_is_shared() -> None:
    x = torch.arange(6.0).reshape(2, 3)
    view = asarray(x.T)
    view[0, 1] = 9.0
    assert x[1, 0] == 9.0 and view.shape == (3, 2)
