"""Half precision on processors that can only convert it to single precision and back, as most do.

There LLVM would call functions of the compiler's run-time library, which a process need not have loaded.
"""

from __future__ import annotations

from adc.backend.lowering.lower_emitter import FunctionEmitter


def computes(e: FunctionEmitter) -> bool:
    """Whether the processor has arithmetic in half precision."""
    return e.module.target.has("avx512fp16")


def from_double(e: FunctionEmitter, x: str) -> str:
    """Convert a double to half precision through single precision. The first rounding is to odd, so that the second one
    gives the correct result.

    S. Boldo and G. Melquiond, Emulation of a FMA and correctly rounded sums, IEEE Trans. Computers 57 (2008).
    """
    narrow = e.let
    if computes(e):
        return narrow(f"fptrunc double {x} to half")
    single = narrow(f"fptrunc double {x} to float")
    back = narrow(f"fpext float {single} to double")
    magnitudes = [narrow(f"and i64 {narrow(f'bitcast double {v} to i64')}, {2**63 - 1}") for v in (back, x)]
    above = narrow(f"sext i1 {narrow('icmp ugt i64 {}, {}'.format(*magnitudes))} to i32")
    inexact = narrow(f"zext i1 {narrow(f'fcmp one double {back}, {x}')} to i32")
    down = narrow(f"add i32 {narrow(f'bitcast float {single} to i32')}, {above}")
    odd = narrow(f"bitcast i32 {narrow(f'or i32 {down}, {inexact}')} to float")
    exact = narrow(f"fcmp ueq double {back}, {x}")
    return narrow(f"fptrunc float {narrow(f'select i1 {exact}, float {single}, float {odd}')} to half")


def multiply_add(e: FunctionEmitter, a: str, b: str, c: str) -> str:
    """``a * b + c`` of halves, computed in double: there the product is exact, and the result can be wrongly rounded
    only if the sum is within 2**-42, relatively, of the midpoint between two halves."""
    x, y, z = (e.let(f"fpext half {v} to double") for v in (a, b, c))
    return from_double(e, e.let(f"fadd double {e.let(f'fmul double {x}, {y}')}, {z}"))
