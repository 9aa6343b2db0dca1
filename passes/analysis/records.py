"""What functions say about the memory that a record holds."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Func


def names_arguments(func: Func) -> bool:
    """Whether a function says, by position, that a record may hold memory of an argument. Such a function is not
    inlined, since the position means nothing elsewhere."""
    unpacked = (op for op in func.walk() if op.opdef is ops.unpack)
    return any(n >= 0 for op in unpacked for name in ("roots", "contents") for ns in op.attrs.get(name, ()) for n in ns)
