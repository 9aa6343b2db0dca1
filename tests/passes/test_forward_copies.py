"""ForwardCopies: copies that are only read, and those that must stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.driver.compiler import compile_functions, part_of
from adc.functions import pullback_code
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes.memory.forward_copies import ForwardCopies
from tests.passes.rewriting import check, run_text

FUNC = """func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %n: index, %x: f64) -> f64 {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {body}
  func.return %s : f64
}}"""
COPY = "memref.copy %a, %t : memref<?xf64> to memref<?xf64>"

VIEW = "memref<?xf64, strided<[1], offset: ?>>"


def program(body: str) -> str:
    return FUNC.format(body=body)


def test_what_reads_a_copy_reads_the_array() -> None:
    body = """
      scf.for %i = %c0 to %n step %c1 {{
        %v = memref.load {m}[%i] : memref<?xf64>
        memref.store %v, %b[%i] : memref<?xf64>
      }}
      %s = memref.load {m}[%c1] : memref<?xf64>"""
    alloc = "%t = memref.alloc(%n) : memref<?xf64>"
    before = program(f"memref.store %x, %a[%c0] : memref<?xf64>\n{alloc}\n{COPY}" + body.format(m="%t"))
    after = program(f"memref.store %x, %a[%c0] : memref<?xf64>\n{alloc}" + body.format(m="%a"))
    check((ForwardCopies(),), before, after)


STAYS = {
    "the array is written before the last look": "memref.store %x, %a[%c0] : memref<?xf64>",
    "the copy is written": "memref.store %x, %t[%c0] : memref<?xf64>",
    "the copy is added to": "adc.accumulate %x, %t[%c0] : memref<?xf64>",
    "the array is written in a loop": """scf.for %i = %c0 to %n step %c1 {
        memref.store %x, %a[%i] : memref<?xf64>
      }""",
    "a view of the array is written": f"""
      %v = memref.subview %a[%c1][%c1][%c1] {{static_steps = [1]}} : memref<?xf64> to {VIEW}
      linalg.fill ins(%x : f64) outs(%v : {VIEW})""",
    "it is copied back": "memref.copy %t, %a : memref<?xf64> to memref<?xf64>",
}


@pytest.mark.parametrize("why", STAYS)
def test_copies_that_stay(why: str) -> None:
    text = program(f"""%t = memref.alloc(%n) : memref<?xf64>
      {COPY}
      {STAYS[why]}
      %s = memref.load %t[%c1] : memref<?xf64>""")
    assert run_text((ForwardCopies(),), text) == run_text((), text)


def test_a_loop_that_writes_the_array_later_in_each_iteration() -> None:
    """Each iteration has its own copy, which is looked at before the array changes."""
    text = program("""scf.for %i = %c0 to %n step %c1 {
        %t = memref.alloc(%n) : memref<?xf64>
        memref.copy %a, %t : memref<?xf64> to memref<?xf64>
        %v = memref.load %t[%i] : memref<?xf64>
        memref.store %x, %a[%i] : memref<?xf64>
        memref.store %v, %b[%i] : memref<?xf64>
      }
      %s = memref.load %b[%c1] : memref<?xf64>""")
    assert "memref.copy" not in run_text((ForwardCopies(),), text)
    later = text.replace("memref.store %v, %b", "%w = memref.load %t[%c0] : memref<?xf64>\n memref.store %w, %b")
    assert "memref.copy" in run_text((ForwardCopies(),), later)


# Pullbacks, whose copies of cotangents these are ----------------------------------------------------------------------


def product(a: Any, b: Any) -> Any:
    return np.sin(2 * a) * np.cos(3 * b) * 4


def same_twice(a: Any, b: Any) -> Any:
    r = a * b
    return r, r


def argument_too(a: Any, b: Any) -> Any:
    a[1:] = a[1:] * b[1:]
    return a, a * b


def views(a: Any, b: Any) -> Any:
    r = a * b
    return r[1:], r[:-1]


def branches(a: Any, b: Any) -> Any:
    r = np.exp(a)
    if b[0] > 0.0:
        r *= b
    for k in range(1, len(a)):
        r[k] += r[k - 1] * b[k]
    return r


@pytest.mark.parametrize("function", [product, same_twice, argument_too, views, branches], ids=lambda f: f.__name__)
def test_a_pullback_leaves_its_cotangent_as_it_was(function: Any) -> None:
    """And gives the same when it is called again, the transpose of what forward mode gives."""
    rng = np.random.default_rng(2)
    compiled = jit_grad(function, argnums=(0, 1))
    a, b, da, db = rng.uniform(0.5, 1.5, (4, 9))
    results, back = compiled.pullback(a.copy(), b.copy())
    single = not isinstance(results, tuple)
    seeds = [rng.standard_normal(np.shape(r)) for r in ((results,) if single else results)]
    kept = [s.copy() for s in seeds]
    given: Any = seeds[0] if single else tuple(seeds)
    first, second = back(given), back(given)
    tangents = adc.jvp(function, (a.copy(), b.copy()), (da, db))[1]
    assert all(np.array_equal(s, k) for s, k in zip(seeds, kept, strict=True))
    assert all(np.array_equal(x, y) for x, y in zip(first, second, strict=True))
    along = sum(np.vdot(s, t) for s, t in zip(seeds, (tangents,) if single else tangents, strict=True))
    np.testing.assert_allclose(np.vdot(first[0], da) + np.vdot(first[1], db), along, rtol=1e-12)


def test_a_cotangent_that_is_an_argument() -> None:
    a, b = np.linspace(0.1, 0.9, 8), np.linspace(1.0, 2.0, 8)
    _, back = jit_grad(product).pullback(a, b)
    by_a, by_b = back(a)
    np.testing.assert_allclose(by_a, a * 8 * np.cos(2 * a) * np.cos(3 * b), rtol=1e-13)
    np.testing.assert_allclose(by_b, a * -12 * np.sin(2 * a) * np.sin(3 * b), rtol=1e-13)


def test_what_is_shown_of_a_pullback_is_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is shown has the function itself, too."""
    texts: list[str] = []
    roots: list[str] = []

    def compiled(staged: Any, module: Any, signatures: Any, miss: Any) -> Any:
        roots[:] = [s.function for s in signatures]
        texts.append(print_module(part_of(module, roots)))
        return compile_functions(staged, module, signatures, miss)

    monkeypatch.setattr(pullback_code, "compile_functions", compiled)
    for function in (product, branches, views):
        _, back = jit_grad(function).pullback(np.ones(5), np.ones(5))
        shown = parse_module(back.dump_ir("lowered"))
        assert print_module(part_of(shown, roots)) == print_module(parse_module(texts[-1]))
    assert "memref.copy" not in texts[0]
