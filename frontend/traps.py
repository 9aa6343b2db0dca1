"""What is checked at run time."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.builder import build
from adc.ir.core import Value


def trap_unless(condition: Value, error: str, message: str, *values: Value) -> None:
    """Raise ``error`` at run time unless ``condition`` holds; says nothing if it is known to."""
    if not constant_of(condition):
        build(ops.assert_, [condition, *values], {"error": error, "message": message})
