"""ForwardPieces: arrays that are put together from pieces are read where the pieces came from, or stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import adc
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes.bounds.forward_pieces import ForwardPieces
from tests.passes.rewriting import run_text

FUNC = """func.func @f(%u: memref<?xf64>, %v: memref<?xf64>, %n: index, %m: index, %x: f64) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %wide = arith.addi %n, %c1 : index
  %p = memref.alloc(%wide) : memref<?xf64>
  {first}
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {{
    %a = memref.load %u[%i] : memref<?xf64>
    {value}
    {at}
    memref.store %b, %p[%k] : memref<?xf64>
    scf.reduce()
  }}
  {between}
  scf.parallel (%j) = (%c0) to (%n) step (%c1) {{
    {read}
    %w = memref.load %p[%l] : memref<?xf64>
    memref.store %w, %v[%j] : memref<?xf64>
    scf.reduce()
  }}
  func.return
}}"""
FIRST = "memref.store %x, %p[%n] : memref<?xf64>"
NEXT = "%l = arith.addi %j, %c1 : index"


def program(
    first: str = FIRST,
    value: str = "%t = arith.cmpi slt, %i, %m : index\n%b = arith.select %t, %a, %x : f64",
    at: str = "%k = arith.addi %i, %c0 : index",
    between: str = "",
    read: str = NEXT,
) -> str:
    return FUNC.format(first=first, value=value, at=at, between=between, read=read)


def changes(text: str) -> bool:
    return run_text((ForwardPieces(),), text) != run_text((), print_module(parse_module(text)))


def test_it_is_read_where_the_pieces_came_from() -> None:
    assert changes(program())


STAYS = {
    "what a piece was made from is written": {"between": "memref.store %x, %u[%c0] : memref<?xf64>"},
    "a piece is no box": {"at": "%k = arith.muli %i, %c2 : index"},
    "a piece is dear": {"value": "%b = math.exp %a : f64"},
    "it is read at any place": {"read": "%l = arith.remsi %j, %m : index"},
    "it is read at every other place": {"read": "%l = arith.muli %j, %c2 : index"},
    "the loop would be cut too often": {
        "first": "\n".join(
            f"%q{k} = arith.muli %m, %d{k} : index\nmemref.store %x, %p[%q{k}] : memref<?xf64>" for k in (3, 5)
        )
    },
}


@pytest.mark.parametrize("why", STAYS)
def test_an_array_stays(why: str) -> None:
    text = program(**STAYS[why])
    constants = "\n".join(f"  %d{k} = arith.constant {k} : index" for k in (3, 5))
    assert not changes(text.replace("  %c2 =", f"{constants}\n  %c2 =", 1))


NUMBERS = """func.func @f(%u: memref<?xi64>, %v: memref<?xi64>, %n: index, %x: i64, %y: i64) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %p = memref.alloc(%n) : memref<?xi64>
  linalg.fill ins(%y : i64) outs(%p : memref<?xi64>)
  memref.store %x, %p[%c0] : memref<?xi64>
  %i = memref.load %p[%c0] : memref<?xi64>
  %k = arith.index_cast %i : i64 to index
  %first = arith.maxsi %k, %c0 : index
  scf.parallel (%j) = (%first) to (%n) step (%c1) {
    %a = memref.load %u[%j] : memref<?xi64>
    memref.store %a, %p[%j] : memref<?xi64>
    scf.reduce()
  }
  scf.parallel (%l) = (%c0) to (%k) step (%c1) {
    %next = arith.addi %l, %c1 : index
    %w = memref.load %p[%next] : memref<?xi64>
    memref.store %w, %v[%l] : memref<?xi64>
    scf.reduce()
  }
  func.return
}"""


def test_a_piece_may_begin_where_an_element_of_the_array_says() -> None:
    assert "memref.load %" in run_text((ForwardPieces(),), NUMBERS)  # which verifies: no use of the first load is left


def ring(u: Any, k: float) -> Any:
    for _ in range(3):
        u = u + k * (np.concatenate([u[1:], u[:1]]) * np.append(u[-1:], u[:-1]) - 2 * u)
    return u


def before(u: Any, k: float) -> Any:
    p = np.zeros(len(u) + 1, u.dtype)
    for _ in range(3):
        u = u + k * p[1:] * p[:-1]
        p[:-1] = u
        p[-1:] = k
    return u


def margins(u: Any, k: float) -> Any:
    for _ in range(2):
        p = np.concatenate([u[:1], u, u[-1:]])
        u = u + k * (p[2:] * p[:-2] - 2 * u)
    return u


def padded(u: Any, k: float) -> Any:
    for _ in range(2):
        p = np.pad(u, (1, 2), constant_values=(3.0, k))
        u = u + k * (p[3:] * p[:-3] + p[1:-2] - 2 * u)
    return u


def extrapolated(u: Any, k: float) -> Any:
    for _ in range(2):
        p = np.empty(len(u) + 2, u.dtype)
        p[1:-1] = u
        p[:1], p[-1:] = 2 * u[:1] - u[-1:], u[-1:] ** 2
        u = u + k * (p[2:] * p[:-2] - 2 * u)
    return u


def written_over(u: Any, k: float) -> Any:
    p = np.full(len(u) + 1, k, u.dtype)
    p[1:] = u
    p[:-1] = u[::-1]
    p[2:-1] = u[2:] if len(u) > 1 else 0
    return p[1:] * p[:-1] * u


def written_between(u: Any, k: float) -> Any:
    u = u.copy()
    p = np.concatenate([u[1:], u[:1]])
    u[:] = u * 1.5
    q = np.concatenate([p[1:], p[:1]])
    u[:1] = k
    return p * q * u


def neighbours(u: Any, k: float) -> Any:
    u = u[:, None] * u[None, :2]
    for _ in range(2):
        up, down = np.concatenate([u[:1], u[:-1]]), np.vstack([u[1:], u[-1:]])
        left, right = np.concatenate([u[:, :1], u[:, :-1]], axis=1), np.hstack([u[:, 1:], u[:, -1:]])
        u = u + k * (up * down + left * right - 4 * u)
    return u


def ghosts(u: Any, k: float) -> Any:
    u = u[:, None] * u[None, :]
    p = np.zeros((u.shape[0] + 2, u.shape[1] + 2), u.dtype)
    for _ in range(2):
        p[1:-1, 1:-1] = u
        p[:1, 1:-1], p[-1:, 1:-1], p[1:-1, :1] = u[:1], u[-1:], 2 * u[:, :1]
        u = u + k * (p[2:, 1:-1] * p[:-2, 1:-1] + p[1:-1, 2:] * p[1:-1, :-2] - 4 * u)
    return u


PROGRAMS = [ring, margins, padded, extrapolated, written_over, written_between, before, neighbours, ghosts]


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_are_numpys_and_gradients_those_of_complex_steps(function: Callable[..., Any]) -> None:
    compiled = adc.jit_grad(function)
    for n in (0, 1, 2, 3, 7, 66):
        u = np.cos(np.arange(float(n)) ** 2)
        if n == 0 and function in (extrapolated, ghosts):
            continue  # shapes do not fit
        y, back = compiled.pullback(u, 0.25)
        np.testing.assert_array_equal(y, function(u, 0.25))
        weights = np.sin(1.0 + np.arange(y.size).reshape(y.shape))
        gradient = back(weights)[0]
        for i in {0, 1, n // 2, n - 1} & set(range(n)):
            e = np.zeros(n, complex)
            e[i] = 1e-30j
            expected = np.sum(np.imag(function(u + e, 0.25)) * weights) / 1e-30
            assert gradient[i] == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize("function", [ring, padded], ids=lambda f: f.__name__)
def test_views_and_single_precision(function: Callable[..., Any]) -> None:
    compiled = adc.jit_grad(function)
    wide = np.cos(np.arange(131.0) ** 2)
    for u in (wide[::-2], wide[:65].astype(np.float32)):
        found, expected = compiled(u, np.float32(0.25)), function(u, np.float32(0.25))
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [ring, margins, padded], ids=lambda f: f.__name__)
def test_no_array_is_put_together(function: Callable[..., Any]) -> None:
    compiled = adc.jit_grad(function)
    compiled(np.ones(3), 0.25)
    (value,) = (
        part for part in compiled.dump_ir("lowered").split("func.func") if part.startswith(f" @{function.__name__}(")
    )
    assert value.count("memref.alloc(") <= 2  # steps take turns
