"""Functions of numbers that are one operation or a short formula, with their names in each library."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from adc.frontend.libraries import formulas
from adc.frontend.numeric.integers import sign_of_integer
from adc.ir import ops
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass

Emit = Callable[..., Value]


@dataclass(frozen=True)
class Function:
    """A function of ``count`` floats, with its names in ``math``, ``numpy`` and ``scipy.special``: the first name is
    the one in NumPy's messages, the others are aliases.

    With ``on_integers``, NumPy returns an integer for integers, and ``math`` returns an integer even for floats.
    """

    emit: Emit
    count: int = 1
    math: str = ""
    numpy: str = ""
    special: str = ""
    on_integers: Emit | None = None


FUNCTIONS = (
    Function(ops.sin, math="sin", numpy="sin"),
    Function(ops.cos, math="cos", numpy="cos"),
    Function(ops.tan, math="tan", numpy="tan"),
    Function(ops.asin, math="asin", numpy="arcsin asin"),
    Function(ops.acos, math="acos", numpy="arccos acos"),
    Function(ops.atan, math="atan", numpy="arctan atan"),
    Function(ops.atan2, 2, math="atan2", numpy="arctan2"),
    Function(ops.sinh, math="sinh", numpy="sinh"),
    Function(ops.cosh, math="cosh", numpy="cosh"),
    Function(ops.tanh, math="tanh", numpy="tanh"),
    Function(ops.asinh, math="asinh", numpy="arcsinh asinh"),
    Function(ops.acosh, math="acosh", numpy="arccosh acosh"),
    Function(ops.atanh, math="atanh", numpy="arctanh atanh"),
    Function(formulas.times(180.0 / math.pi), math="degrees", numpy="rad2deg degrees"),
    Function(formulas.times(math.pi / 180.0), math="radians", numpy="deg2rad radians"),
    # exponentials, logarithms, powers, roots
    Function(ops.exp, math="exp", numpy="exp"),
    Function(ops.exp2, math="exp2", numpy="exp2", special="exp2"),
    Function(ops.expm1, math="expm1", numpy="expm1", special="expm1"),
    Function(ops.log, numpy="log"),
    Function(ops.log2, math="log2", numpy="log2"),
    Function(ops.log10, math="log10", numpy="log10"),
    Function(ops.log1p, math="log1p", numpy="log1p", special="log1p"),
    Function(formulas.logaddexp(math.e), 2, numpy="logaddexp"),
    Function(formulas.logaddexp(2.0), 2, numpy="logaddexp2"),
    Function(formulas.product_or_zero(ops.log, 0.0), 2, special="xlogy"),
    Function(formulas.product_or_zero(ops.log1p, -1.0), 2, special="xlog1py"),
    Function(formulas.entr, special="entr"),
    Function(formulas.expit, special="expit"),
    Function(formulas.log_expit, special="log_expit"),
    Function(formulas.logit, special="logit"),
    Function(ops.sqrt, math="sqrt", numpy="sqrt"),
    Function(ops.cbrt, math="cbrt", numpy="cbrt", special="cbrt"),
    Function(ops.hypot, 2, math="hypot", numpy="hypot"),
    # special functions
    Function(ops.erf, math="erf", special="erf"),
    Function(ops.erfc, math="erfc", special="erfc"),
    Function(formulas.ndtr, special="ndtr"),
    Function(ops.tgamma, math="gamma", special="gamma"),
    Function(ops.lgamma, math="lgamma", special="gammaln"),
    Function(partial(ops.polygamma, order=0), special="digamma psi"),
    Function(formulas.betaln, 2, special="betaln"),
    # signs, rounding, extrema
    Function(ops.copysign, 2, math="copysign", numpy="copysign"),
    Function(ops.absf, math="fabs", numpy="fabs"),
    Function(ops.absf, numpy="abs", on_integers=ops.absi),
    Function(formulas.sign, numpy="sign", on_integers=sign_of_integer),
    Function(ops.floor, math="floor", numpy="floor", on_integers=formulas.same),
    Function(ops.ceil, math="ceil", numpy="ceil", on_integers=formulas.same),
    Function(ops.trunc, math="trunc", numpy="trunc", on_integers=formulas.same),
    Function(ops.roundeven, numpy="rint"),
    Function(ops.remf, 2, math="fmod"),
    Function(ops.remainder, 2, math="remainder"),
    Function(ops.maximumf, 2, numpy="maximum", on_integers=ops.maxsi),
    Function(ops.minimumf, 2, numpy="minimum", on_integers=ops.minsi),
    Function(ops.maxnumf, 2, numpy="fmax", on_integers=ops.maxsi),
    Function(ops.minnumf, 2, numpy="fmin", on_integers=ops.minsi),
)
