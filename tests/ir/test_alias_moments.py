"""Which memrefs can overlap at a given moment: permuted buffers, and the choices of branches."""

from __future__ import annotations

import gc
import weakref

from adc.ir.alias import Aliasing
from adc.ir.core import Func, Value
from adc.ir.permutations import Permutations
from adc.ir.text.parser import parse_module

PROGRAM = """
func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %p: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %r = scf.if %p -> (memref<?xf64>, memref<?xf64>) {
    %s, %t = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> (memref<?xf64>, memref<?xf64>) {
      scf.yield %v, %u : memref<?xf64>, memref<?xf64>
    }
    scf.yield %s, %t : memref<?xf64>, memref<?xf64>
  } else {
    scf.yield %b, %a : memref<?xf64>, memref<?xf64>
  }
  func.return
}
"""
SAME = PROGRAM.replace("scf.yield %b, %a", "scf.yield %b, %b")


def _results(text: str) -> tuple[Func, tuple[Value, ...]]:
    func = parse_module(text).funcs["f"]
    (branch,) = (op for op in func.body.ops if op.opdef.name == "scf.if")
    return func, branch.results


def test_results_of_a_branch_whose_sides_yield_distinct_memrefs_are_distinct() -> None:
    func, (q, r) = _results(PROGRAM)
    aliasing = Aliasing(func)
    assert aliasing.roots(q) == aliasing.roots(r) == {func.args[0], func.args[1]}
    assert not aliasing.may_overlap(q, r)
    assert aliasing.may_overlap(q, func.args[0])


def test_they_may_overlap_if_one_side_yields_the_same_memref_twice() -> None:
    func, (q, r) = _results(SAME)
    assert Aliasing(func).may_overlap(q, r)


def test_permuted_buffers_are_distinct_inside_the_loop() -> None:
    func, _ = _results(PROGRAM)
    (loop,) = (op for op in func.walk() if op.opdef.name == "scf.for")
    _, u, v = loop.regions[0].args
    assert not Aliasing(func).may_overlap(u, v)


NESTED = """
func.func @f(%a: memref<?xf64>, %b: memref<?xf64>, %p: i1, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %q, %r = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> (memref<?xf64>, memref<?xf64>) {
    %s, %t = scf.for %j = %c0 to %n step %c1 iter_args(%x = %u, %y = %v) -> (memref<?xf64>, memref<?xf64>) {
      scf.yield %y, %x : memref<?xf64>, memref<?xf64>
    }
    %k, %l = scf.if %p -> (memref<?xf64>, memref<?xf64>) {
      scf.yield %t, %s : memref<?xf64>, memref<?xf64>
    } else {
      scf.yield %s, %t : memref<?xf64>, memref<?xf64>
    }
    scf.yield %k, %l : memref<?xf64>, memref<?xf64>
  }
  func.return
}
"""


def _memrefs(text: str) -> dict[str, Value]:
    func = parse_module(text).funcs["f"]
    values = [*func.args]
    for op in func.walk():
        values += [*op.results, *(a for region in op.regions for a in region.args)]
    return {v.hint: v for v in values}


def _overlapping(text: str, pairs: str) -> list[str]:
    named = _memrefs(text)
    block = named["a"].block
    assert block is not None
    func = block.parent
    assert isinstance(func, Func)
    aliasing = Aliasing(func)
    return [p for p in pairs.split() if aliasing.may_overlap(*(named[n] for n in p.split("-")))]


def test_buffers_swapped_in_nested_loops_and_branches_are_distinct() -> None:
    assert _overlapping(NESTED, "u-v x-y s-t k-l q-r") == []
    assert _overlapping(NESTED, "u-a x-u x-v s-u k-s q-a") == ["u-a", "x-u", "x-v", "s-u", "k-s", "q-a"]


def test_the_outer_loop_is_not_a_permutation_if_it_yields_one_of_them_twice() -> None:
    twice = NESTED.replace("yield %k, %l", "yield %k, %k")
    assert _overlapping(twice, "u-v x-y s-t k-l q-r") == ["u-v", "x-y", "s-t", "k-l", "q-r"]
    assert _overlapping(NESTED.replace("yield %y, %x", "yield %y, %y"), "u-v x-y k-l") == ["u-v", "x-y", "k-l"]
    assert _overlapping(NESTED.replace("yield %t, %s", "yield %t, %t"), "u-v x-y k-l") == ["u-v", "x-y", "k-l"]


def test_new_memory_is_none_that_was_there_before() -> None:
    text = NESTED.replace("    %k, %l", "    %w = memref.alloc(%n) : memref<?xf64>\n    %k, %l")
    text = text.replace("yield %k, %l", "yield %w, %k")
    assert _overlapping(text, "u-v x-y w-u w-t w-k q-r") == []
    assert _overlapping(text.replace("yield %w, %k", "yield %w, %w"), "u-v w-u") == ["u-v"]


SLOTS = """
func.func @f(%n: index, %p: i1) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = memref.alloc(%n) : memref<?xf64>
  %b = memref.alloc(%n) : memref<?xf64>
  %tape_u = memref.alloc(%n) : memref<?xmemref<?xf64>>
  %tape_v = memref.alloc(%n) : memref<?xmemref<?xf64>>
  %tape_w = memref.alloc(%n) : memref<?xmemref<?xf64>>
  %q, %r = scf.for %i = %c0 to %n step %c1 iter_args(%u = %a, %v = %b) -> (memref<?xf64>, memref<?xf64>) {
    %j = arith.addi %i, %c1 : index
    memref.store %u, %tape_u[%i] : memref<?xmemref<?xf64>>
    memref.store %v, %tape_v[%i] : memref<?xmemref<?xf64>>
    %w, %s = scf.if %p -> (memref<?xf64>, memref<?xf64>) {
      %t = memref.alloc(%n) : memref<?xf64>
      memref.store %t, %tape_w[%i] : memref<?xmemref<?xf64>>
      scf.yield %t, %u : memref<?xf64>, memref<?xf64>
    } else {
      scf.yield %v, %u : memref<?xf64>, memref<?xf64>
    }
    scf.yield %w, %s : memref<?xf64>, memref<?xf64>
  }
  scf.for %k = %c0 to %n step %c1 {
    %l = arith.addi %k, %c1 : index
    %x = memref.load %tape_u[%k] : memref<?xmemref<?xf64>>
    %y = memref.load %tape_v[%k] : memref<?xmemref<?xf64>>
    %z = memref.load %tape_w[%k] : memref<?xmemref<?xf64>>
    %o = memref.load %tape_v[%l] : memref<?xmemref<?xf64>>
    scf.yield
  }
  func.return
}
"""


def test_what_one_iteration_put_into_slots_is_as_it_was_there() -> None:
    asked = "x-y x-z y-z"
    assert _overlapping(SLOTS, asked) == []
    # At another subscript is what another iteration put there, and a slot may have been filled again.
    assert _overlapping(SLOTS, "z-o y-o x-a") == ["z-o", "y-o", "x-a"]
    assert _overlapping(SLOTS.replace("%v, %tape_v[%i]", "%u, %tape_v[%i]"), asked) == ["x-y"]
    assert _overlapping(SLOTS.replace("%w, %s :", "%w, %w :"), asked) == ["x-y"]
    assert _overlapping(SLOTS.replace("%tape_v[%i]", "%tape_v[%j]"), asked) == ["x-y", "y-z"]
    assert _overlapping(SLOTS.replace("%tape_w[%i]", "%tape_w[%c1]"), asked) == ["x-z", "y-z"]
    again = "scf.yield %t, %u : memref<?xf64>, memref<?xf64>"
    stored = "memref.store %v, %tape_w[%i] : memref<?xmemref<?xf64>>"
    assert _overlapping(SLOTS.replace(again, f"{stored}\n{again}"), asked) == ["x-z", "y-z"]


GROWN = """
func.func @f(%n: index, %a: memref<?xf64>, %b: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = adc.undef : memref<?xmemref<?xf64>>
  %u, %v, %trips, %tape_u, %tape_v = scf.while (%u_0 = %a, %v_0 = %b, %t_0 = %c0, %g_0 = %none, %h_0 = %none) : (memref<?xf64>, memref<?xf64>, index, memref<?xmemref<?xf64>>, memref<?xmemref<?xf64>>) -> (memref<?xf64>, memref<?xf64>, index, memref<?xmemref<?xf64>>, memref<?xmemref<?xf64>>) {
    %go = arith.cmpi slt, %t_0, %n : index
    scf.condition(%go) %u_0, %v_0, %t_0, %g_0, %h_0 : memref<?xf64>, memref<?xf64>, index, memref<?xmemref<?xf64>>, memref<?xmemref<?xf64>>
  } do {
  ^bb0(%u_1: memref<?xf64>, %v_1: memref<?xf64>, %t_1: index, %g_1: memref<?xmemref<?xf64>>, %h_1: memref<?xmemref<?xf64>>):
    %g = adc.grow %g_1, %t_1 : memref<?xmemref<?xf64>>
    memref.store %u_1, %g[%t_1] : memref<?xmemref<?xf64>>
    %h = adc.grow %h_1, %t_1 : memref<?xmemref<?xf64>>
    memref.store %v_1, %h[%t_1] : memref<?xmemref<?xf64>>
    %t = arith.addi %t_1, %c1 : index
    scf.yield %v_1, %u_1, %t, %g, %h : memref<?xf64>, memref<?xf64>, index, memref<?xmemref<?xf64>>, memref<?xmemref<?xf64>>
  }
  scf.for %k = %c0 to %trips step %c1 {
    %l = arith.addi %k, %c1 : index
    %x = memref.load %tape_u[%k] : memref<?xmemref<?xf64>>
    %y = memref.load %tape_v[%k] : memref<?xmemref<?xf64>>
    %o = memref.load %tape_v[%l] : memref<?xmemref<?xf64>>
    scf.yield
  }
  func.return
}
"""  # noqa: E501


def test_so_is_what_an_iteration_put_into_slots_that_grow() -> None:
    assert _overlapping(GROWN, "x-y x-o u-v") == ["x-o"]
    assert _overlapping(GROWN.replace("scf.yield %v_1, %u_1", "scf.yield %v_1, %v_1"), "x-y") == ["x-y"]
    # Slots that several iterations fill, or that were filled before.
    assert _overlapping(GROWN.replace("%h[%t_1]", "%h[%c1]"), "x-y") == ["x-y"]
    assert _overlapping(GROWN.replace("addi %t_1, %c1", "addi %t_1, %c0"), "x-y") == ["x-y"]
    assert _overlapping(
        GROWN.replace("%h_0 = %none", "%h_0 = %old").replace("%n: index,", "%n: index, %old: memref<?xmemref<?xf64>>,"),
        "x-y",
    ) == ["x-y"]
    assert _overlapping(GROWN.replace("%g, %h :", "%h, %h :"), "x-y") == ["x-y"]


def test_orbits_of_loops_and_branches() -> None:
    named = _memrefs(NESTED)
    permutations = Permutations()
    outer, inner, branch = (named[n].op for n in "qsk")
    assert outer is not None and inner is not None and branch is not None
    for op, inputs in ((outer, "ab"), (inner, "uv"), (branch, "ts")):
        (orbit,) = permutations.of(op).orbits
        assert orbit.positions == (0, 1) and set(orbit.inputs) == {named[n] for n in inputs}
    (body,) = outer.regions
    assert permutations.of(outer).inner.keys() == {(body, named[n]) for n in "uvst"}
    for lost in ("yield %k, %l|yield %k, %u", "yield %y, %x|yield %y, %y", "yield %t, %s|yield %t, %u"):
        changed = _memrefs(NESTED.replace(*lost.split("|")))["q"].op
        assert changed is not None and not Permutations().of(changed).orbits, lost


def test_nothing_of_an_analysis_waits_for_the_garbage_collector() -> None:
    func, (q, r) = _results(PROGRAM)
    aliasing = Aliasing(func)
    assert not aliasing.may_overlap(q, r)
    gone = weakref.ref(aliasing)
    gc.disable()
    try:
        del aliasing
        assert gone() is None
    finally:
        gc.enable()
