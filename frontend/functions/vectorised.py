"""``np.vectorize``: a function of numbers, called for the elements of arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.data.callables import partial
from adc.frontend.data.values import NONE, AbstractValue, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.names import attribute_of
from adc.frontend.numeric.rules import static_of
from adc.frontend.prelude import python_functions
from adc.ir import kinds
from adc.ir.builder import current_loc

_PROGRAM = Static(python_functions.vectorised)


def taken_apart(frame: Frame, callee: AbstractValue) -> AbstractValue | None:
    """What an object that ``np.vectorize`` made outside calls; None of anything else."""
    made = callee.value if isinstance(callee, Static) else None
    if not isinstance(made, np.vectorize):
        return None
    if made.excluded or made.signature is not None:
        raise _refused("excluded" if made.excluded else "signature")
    types = None if made.otypes is None else tuple(made.otypes)
    return partial([_PROGRAM, attribute_of(frame, made, "pyfunc"), _type(types)], {})


def made(frame: Frame, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]) -> AbstractValue:
    """``np.vectorize(function)`` in a compiled function."""
    given = dict(zip(("pyfunc", "otypes", "doc"), args, strict=False)) | dict(kwargs)
    others = set(given) - {"pyfunc", "otypes", "doc", "cache"}
    if others:
        raise _refused(min(others))
    if "pyfunc" not in given:  # a decorator with options
        return partial([Static(np.vectorize)], given)
    wanted = given.get("otypes", NONE)
    types: Any = wanted.items if isinstance(wanted, Tuple) else static_of(wanted, "'otypes'")
    if types is not None:
        types = tuple(static_of(t, "'otypes'") if isinstance(t, AbstractValue) else t for t in types)
    return partial([_PROGRAM, given["pyfunc"], _type(types)], {})


def _type(types: Any) -> AbstractValue:
    if types is not None and len(types) != 1:
        raise _refused("otypes of several results")
    return NONE if types is None else Static(np.dtype(types[0]))


def _refused(what: str) -> Exception:
    message = f"np.vectorize() with {what} is not supported"
    help = "call the function in a loop over the elements"
    return refuse(current_loc(), message, help, kind=kinds.UNSUPPORTED_OPTION)
