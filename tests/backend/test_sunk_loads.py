"""Masked loads that LLVM moved past stores are found, and their loops are compiled without SIMD."""

from __future__ import annotations

import pytest

from adc.backend.loop_nodes import LoopNodes, serial
from adc.backend.sunk_loads import sunk_loads

MODULE = """
define void @f(ptr noalias %a, <8 x i1> %m, <8 x double> %old) {{
entry:
  br label %vector.body

vector.body:                                      ; preds = %vector.body, %entry
  %index = phi i64 [ 0, %entry ], [ %next, %vector.body ]
  {before}
  %x = tail call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %p, <8 x i1> %m, <8 x double> {other}), {load}
  {after}
  %next = add nuw i64 %index, 8
  %done = icmp eq i64 %next, 64
  br i1 %done, label %exit, label %vector.body, !llvm.loop !9

exit:
  ret void
}}

!0 = distinct !{{!0, !"f"}}
!1 = distinct !{{!1, !0}}
!2 = distinct !{{!2, !0}}
!3 = !{{!1}}
!4 = !{{!2}}
!5 = !{{!"llvm.loop.mustprogress"}}
!6 = !{{!"adc.loop", i32 3}}
!7 = !{{!"llvm.loop.isvectorized", i32 1}}
!9 = distinct !{{!9, !5, {place}!7}}
"""
A = "!alias.scope !3, !noalias !4"
B = "!alias.scope !4, !noalias !3"
STORE = "store <8 x double> %old, ptr %p, align 8, "
MASKED = "call void @llvm.masked.store.v8f64.p0(<8 x double> %old, ptr align 8 %p, <8 x i1> %m), "
HERE = frozenset({3})


def module(before: str = "", after: str = "", other: str = "%old", load: str = A, place: str = "!6, ") -> str:
    return MODULE.format(before=before, after=after, other=other, load=load, place=place)


@pytest.mark.parametrize("store", [STORE, MASKED])
@pytest.mark.parametrize("other", ["%old", "zeroinitializer", "splat (double 1.000000e+00)"])
@pytest.mark.parametrize("scopes", [A, "!tbaa !5"], ids=["same", "unknown"])
def test_behind_a_store_to_what_it_reads(store: str, other: str, scopes: str) -> None:
    assert sunk_loads(module(before=store + scopes, other=other)) == HERE


def test_loads_without_scopes_may_read_anything() -> None:
    assert sunk_loads(module(before=STORE + B, load="!tbaa !5")) == HERE


@pytest.mark.parametrize(
    "text",
    [
        module(before=STORE + A, other="poison"),
        module(before=STORE + B),
        module(after=STORE + A),
        module(),
    ],
    ids=["not-fused", "elsewhere", "later", "none"],
)
def test_others_are_left(text: str) -> None:
    assert sunk_loads(text) == frozenset()


def test_in_a_loop_of_no_place() -> None:
    assert sunk_loads(module(before=STORE + A, place="")) is None


def test_loops_are_marked_as_serial() -> None:
    text = module()
    for places in (HERE, None):
        marked = LoopNodes(serial(text, places))
        assert marked.nodes["!9"][-1] == "!10" and marked.nodes["!10"] == ['!"llvm.loop.vectorize.enable"', "i1 false"]
        assert marked.nodes["!1"] == ["!1", "!0"] and marked.place("!9") == 3
    assert LoopNodes(serial(text, [7])).nodes["!9"] == LoopNodes(text).nodes["!9"]
    assert LoopNodes(text).vectorized() == HERE
