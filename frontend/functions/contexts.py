"""What ``with`` may enter: contexts that say what becomes of warnings, which compiled code gives none of."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from contextlib import nullcontext

import numpy as np

from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import NONE, AbstractValue, Static
from adc.frontend.errors import refuse
from adc.ir import kinds
from adc.ir.builder import current_loc

_QUIET = ("ignore", "warn")


def enter(args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``with args[0](*args[1:], **kwargs)``, whose body follows."""
    context = args[0].value if isinstance(args[0], Static) else None
    if context is np.errstate:
        for name, v in kwargs.items():
            if not isinstance(v, Static) or v.value not in _QUIET:
                shown = repr(v.value) if isinstance(v, Static) else describe_type(v)
                message = f"np.errstate({name}={shown}) is not supported: compiled code tells nobody of such a value"
                help = "test for it: if not np.all(np.isfinite(y)): raise FloatingPointError()"
                raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
    elif context not in (warnings.catch_warnings, nullcontext):
        message, help = "with is not supported", "open resources outside the compiled function"
        raise refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_STATEMENT)
    return NONE
