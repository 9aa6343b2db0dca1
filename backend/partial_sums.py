"""Sums over the lanes of a block, in several chains of multiply-adds.

In a single one each multiply-add would wait for the one before. The loop vectoriser makes as many chains as it is told
to, and leaves them even where it unrolls the loop completely. But then the code generator of LLVM 22 puts one behind
the other again: it may reassociate additions that carry the flag, and saves one of them (DAGCombiner, ``fadd (fma a, b,
(fmul c, d)), e``). When the optimiser is done nothing else needs the flag, so it is taken from additions then;
``llvm.vector.reduce.fadd`` keeps it.
"""

from __future__ import annotations

CHAINS = '!{!"llvm.loop.interleave.count", i32 4}'
"""Metadata of a loop over lanes that sums."""


def has_chains(llvm_ir: str) -> bool:
    return CHAINS in llvm_ir


def keep_chains(optimized: str) -> str:
    """The text of an optimised module, with additions in the order that they are written in."""
    return optimized.replace(" = fadd reassoc ", " = fadd ")
