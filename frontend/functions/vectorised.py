"""Callable objects of libraries: functions made by ``np.vectorize``, splines of SciPy's."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adc.frontend.data.callables import partial
from adc.frontend.data.values import NONE, AbstractValue, Static, Tuple
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.libraries.rules import static_of
from adc.frontend.names import attribute_of
from adc.frontend.prelude import python_functions, scipy_interpolate
from adc.ir import kinds
from adc.ir.builder import current_loc

_PROGRAM = Static(python_functions.vectorised)


def taken_apart(frame: Frame, callee: AbstractValue) -> AbstractValue | None:
    """The function that such an object from outside calls; None for anything else."""
    made = callee.value if isinstance(callee, Static) else None
    interpolate: Any = sys.modules.get("scipy.interpolate")
    if interpolate is not None and isinstance(made, interpolate.PPoly):
        if made.extrapolate is not True and made.extrapolate is not np.True_:
            message = "a spline that does not extrapolate is not supported"
            raise refuse(current_loc(), message, "choose with np.where", kind=kinds.UNSUPPORTED_OPTION)
        parts = [attribute_of(frame, made, name) for name in ("c", "x")]
        return partial([Static(scipy_interpolate.piecewise_polynomial), *parts], {})
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
