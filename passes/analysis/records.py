"""What functions say of the memory that a record holds."""

from __future__ import annotations

from adc.ir import ops
from adc.ir.core import Func


def names_arguments(func: Func) -> bool:
    """Whether it says of what a record holds that it may be of an argument, by the position of that: such a
    function is not inlined, since the position means nothing elsewhere."""
    unpacked = (op for op in func.walk() if op.opdef is ops.unpack)
    return any(n >= 0 for op in unpacked for name in ("roots", "contents") for ns in op.attrs.get(name, ()) for n in ns)
