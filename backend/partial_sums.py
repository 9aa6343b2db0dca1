"""Sums over the lanes of a block, in several chains of multiply-adds.

In a single chain each multiply-add would wait for the one before. The loop vectoriser makes as many chains as
requested, and keeps them even where the loop is unrolled completely. But then the code generator of LLVM 22
concatenates them again: it may reassociate additions with the flag ``reassoc``, and saves one of them (DAGCombiner,
``fadd (fma a, b, (fmul c, d)), e``). After the optimiser nothing else needs the flag, so it is removed from additions;
``llvm.vector.reduce.fadd`` keeps it.
"""

from __future__ import annotations

CHAINS = '!{!"llvm.loop.interleave.count", i32 4}'
"""Metadata of a loop over lanes that computes a sum."""


def has_chains(llvm_ir: str) -> bool:
    return CHAINS in llvm_ir


def keep_chains(optimized: str) -> str:
    """The text of an optimised module whose additions must not be reassociated any more."""
    return optimized.replace(" = fadd reassoc ", " = fadd ")
