"""ForwardElements: arrays whose elements are computed where they are read, and those that must stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes.memory.forward_elements import ForwardElements
from tests.numpy.checking import check as check_program
from tests.passes.rewriting import check, run_text

FUNC = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %at: memref<?xindex>, %n: index, %x: f64) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc({extent}) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    %k = memref.load %at[%i] : memref<?xindex>
    %v = memref.load %a[%k] : memref<?xf64>
    {fill}
    scf.reduce()
  }}
  {between}
  {read}
  func.return %x : f64
}}"""
FILL = "memref.store %v, %t[%i] : memref<?xf64>"
READ = """scf.parallel (%j) = (%c0) to (%n) step (%c1) {
    %w = memref.load %t[%j] : memref<?xf64>
    memref.store %w, %b[%j] : memref<?xf64>
    scf.reduce()
  }"""


def program(fill: str = FILL, between: str = "", read: str = READ, extent: str = "%n") -> str:
    return FUNC.format(fill=fill, between=between, read=read, extent=extent)


def test_what_is_gathered_is_gathered_where_it_is_read() -> None:
    again = "%l = memref.load %at[%j] : memref<?xindex>\n%w = memref.load %a[%l] : memref<?xf64>"
    check((ForwardElements(),), program(), program(read=READ.replace("%w = memref.load %t[%j] : memref<?xf64>", again)))


OTHER = "%w2 = memref.load %t[%c0] : memref<?xf64>\nmemref.store %w2, %b[%c0] : memref<?xf64>"
STAYS = {
    "what it reads is written": {"between": "memref.store %x, %a[%c0] : memref<?xf64>"},
    "where it reads is written": {"between": "memref.store %c0, %at[%c0] : memref<?xindex>"},
    "what it reads is written in the reading loop": {"read": READ.replace("%w, %b[%j]", "%w, %a[%j]")},
    "it is written twice": {"between": "memref.store %x, %t[%c0] : memref<?xf64>"},
    "it is read twice": {"between": OTHER},
    "it is longer than the loop": {"extent": "%c1"},
    "it is filled in another order, more than once": {"fill": "memref.store %v, %t[%k] : memref<?xf64>"},
    "it is dear": {"fill": "%y = math.exp %v : f64\nmemref.store %y, %t[%i] : memref<?xf64>"},
    "it is read often": {
        "read": f"scf.parallel (%m) = (%c0) to (%n) step (%c1) {{\n{READ.replace('%b[%j]', '%b[%m]')}\nscf.reduce()\n}}"
    },
    "it is read in a recurrence": {
        "read": READ.replace("scf.parallel (%j) = (%c0) to (%n) step (%c1)", "scf.for %j = %c0 to %n step %c1").replace(
            "scf.reduce()", "scf.yield"
        )
    },
}


@pytest.mark.parametrize("why", STAYS)
def test_an_array_stays(why: str) -> None:
    text = program(**STAYS[why])
    assert run_text((ForwardElements(),), text) == run_text((), print_module(parse_module(text)))


def test_a_gather_that_is_multiplied_makes_no_array() -> None:
    def f(x: Any, at: Any, v: Any) -> Any:
        return v @ x[at]

    compiled = adc.jit_grad(argnums=(0, 2))(f)
    compiled.grad(np.ones(3), np.array([0, 2, 2, -1]), np.ones(4))
    assert "memref.alloc" not in compiled.dump_ir("lowered").split("func.func")[1]
    with pytest.raises(IndexError):
        compiled(np.ones(3), np.array([0, 3]), np.ones(2))


SUMS = """func.func @f(%a: memref<?x?xf64>, %b: memref<?x?xf64>, %n: index, %m: index, %x: f64) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = memref.alloc(%n) : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    %s = scf.parallel (%k) = (%c0) to (%m) step (%c1) init (%x) -> f64 {{
      %v = memref.load %a[{at}] : memref<?x?xf64>
      scf.reduce(%v : f64) {{kinds = ["add"]}}
    }}
    memref.store %s, %t[%i] : memref<?xf64>
    scf.reduce()
  }}
  %r = scf.parallel (%j) = (%c0) to (%n) step (%c1) init (%x) -> f64 {{
    %w = memref.load %t[%j] : memref<?xf64>
    {read}
    scf.reduce(%w : f64) {{kinds = ["min"]}}
  }}
  func.return %r : f64
}}"""


@pytest.mark.parametrize(
    ("at", "read", "moves"),
    [
        ("%i, %k", "", True),
        ("%k, %i", "", False),  # along columns
        ("%i, %k", "%e = math.exp %w : f64\nmemref.store %e, %b[%j, %c0] : memref<?x?xf64>", False),
        ("%i, %k", "memref.store %w, %b[%j, %c0] : memref<?x?xf64>", True),
        ("%i, %k", "memref.store %w, %a[%j, %c0] : memref<?x?xf64>", False),
    ],
)
def test_sums_move_to_where_they_are_read(at: str, read: str, moves: bool) -> None:
    text = SUMS.format(at=at, read=read)
    found = run_text((ForwardElements(),), text)
    if moves:
        assert found.count("memref.load %arg0[") == 2 and "memref.load %0[" not in found, found
    else:
        assert found == run_text((), print_module(parse_module(text)))


PROGRAMS = {
    "sums of rows": "np.min(np.sum((x[:, None] - v) ** 2 * v, axis=1))",
    "sums of columns": "np.max(np.sum((x[:, None] - v) ** 2 * v, axis=0))",
    "sums, then functions": "np.sum(np.exp(np.sum(x[:, None] * v, axis=1)))",
    "sums that are read backwards": "np.max(np.sum(x[:, None] * v, axis=1)[::-1] * x)",
    "sums, then written": "y = np.sum(x[:, None] * v, axis=1)\nv[0] = 5.0\nreturn np.max(y) + v[0]",
    "differences in a loop": "t = 0.0\nfor i in range(3):\n    t += np.sum((x[:, None] * v) @ (v - x[i]))\nreturn t",
    "gather": "v @ x[at]",
    "gather, then written": "y = x[at]\nx[0] = 5.0\nreturn v @ y + x[0]",
    "standardised": "(x - x.mean()) / x.std()",
    "rows": "y = np.zeros(2)\nfor i in range(2):\n    y[i] = v[2 * i : 2 * i + 2] @ x[at[2 * i : 2 * i + 2]]\nreturn y",
    "outer": "(x * 2.0)[:, None] * v",
    "transposed": "(x[:, None] - v).T @ x",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str) -> None:
    rng = np.random.default_rng(0)
    check_program(PROGRAMS[name], exact=False, x=rng.random(3), at=np.array([0, 2, 2, -1]), v=rng.random(4))


def test_products_of_matrices_stay() -> None:
    def batches(x: Any, y: Any) -> Any:
        return np.max(x @ y, axis=2)

    def differences(x: Any, y: Any) -> Any:
        out = np.zeros(x.shape[:2])
        for b in range(len(x)):
            out[b] = np.sum((x[b] - 1.0) @ y[b], axis=1)
        return out

    x, y = np.random.default_rng(0).random((2, 4, 3)), np.random.default_rng(1).random((2, 3, 5))
    for function in (batches, differences):
        compiled = adc.jit_grad(function)
        np.testing.assert_allclose(compiled(x, y), function(x, y), rtol=1e-13)
        assert "linalg.matmul" in compiled.dump_ir("lowered")


def scaled_distances(x, mu, sigma):
    z = (x[:, None, :] - mu) / sigma
    return np.sum(np.sqrt((z**2).sum(-1)))


def test_what_is_read_once_is_not_kept_however_long_it_takes() -> None:
    """Arrays that iterations of a loop make of a few elements would be found one by one in the reverse sweep."""
    rng = np.random.default_rng(5)
    args = rng.random((7, 3)), rng.random((2, 3)), rng.random((2, 3)) + 0.5
    f = adc.jit_grad(argnums=(0, 1, 2))(scaled_distances)
    found = f.grad(*args)
    z = (args[0][:, None, :] - args[1]) / args[2]
    by_z = z / np.sqrt((z**2).sum(-1))[..., None]
    expected = (by_z / args[2]).sum(1), -(by_z / args[2]).sum(0), -(by_z * z / args[2]).sum(0)
    for gradient, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(gradient, wanted, rtol=1e-12)
    assert "the array itself" not in str(f.report())
