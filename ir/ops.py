"""The operations: the reference card of adc's IR.

Where MLIR has the operation this is its name and meaning; what MLIR lacks is in the ``adc`` dialect. All that is known
of an operation by itself is on its card here; ``adc.ir.opdef`` explains the facts, and refuses a card that lacks one.
To add one: a card here and a derivative in ``adc.passes.differentiation.rules``; a lowering in
``adc.backend.lowering``, unless it is a function of C's library; a line in ``adc.frontend.libraries``. Tests are
generated from this table.

Conventions. Python ints are computed with as ``index``; ``i32`` and ``i64`` occur in arrays and signatures. ``scf.for``
and ``scf.parallel`` need a positive step; ``scf.parallel`` has one counter and says that iterations may run in any
order. ``fastmath`` says what may be done to sums and products: nothing where the user wrote them; ``contract`` lets a
product and a sum be fused, ``reassoc,contract`` also marks sums whose order is adc's own.
"""

from __future__ import annotations

import math
from typing import Any

from adc.ir import checks as v
from adc.ir import typerules as t
from adc.ir.evaluate import evaluate as e
from adc.ir.evaluate import evaluate_integers as n
from adc.ir.evaluate import samples as s
from adc.ir.evaluate import special
from adc.ir.opdef import Evaluate, OpDef, Trait, TypeRule

PURE = frozenset({Trait.PURE})
COMMUTATIVE = frozenset({Trait.PURE, Trait.COMMUTATIVE})
LINEAR = frozenset({Trait.PURE, Trait.LINEAR})
POSITIVE_ZERO = frozenset({Trait.PURE, Trait.POSITIVE_ZERO})
DIVISION = frozenset({Trait.PURE, Trait.DIVISION})
TERMINATOR = frozenset({Trait.TERMINATOR})
VIEW = frozenset({Trait.PURE, Trait.VIEW})
READS, WRITES = frozenset({Trait.READS}), frozenset({Trait.WRITES})
LOOP = frozenset({Trait.LOOP})
COUNTED = LOOP | {Trait.COUNTED}

# Costs: see OpDef.cost.
CHEAP, MEMORY, MATH, CALL = 1.0, 1.5, 8.0, 20.0

TABLE: dict[str, OpDef] = {}


def op(name: str, infer: TypeRule | None = None, traits: frozenset[Trait] = frozenset(), **fields: Any) -> OpDef:
    """Declare an operation."""
    TABLE[name] = definition = OpDef(name, infer, traits, **fields)
    return definition


def having(*traits: Trait, **facts: Any) -> frozenset[OpDef]:
    """The operations with all of these traits and facts."""
    return frozenset(
        kind
        for kind in TABLE.values()
        if kind.traits.issuperset(traits) and all(getattr(kind, fact) == value for fact, value in facts.items())
    )


def _scalar(name: str, infer: TypeRule, evaluate: Evaluate, samples: s.Samples, **fields: Any) -> OpDef:
    return op(name, infer, fields.pop("traits", PURE), evaluate=evaluate, samples=samples, **fields)


def _float(name: str, operands: int, evaluate: Evaluate, samples: s.Samples, **fields: Any) -> OpDef:
    """An operation on floats."""
    return _scalar(name, t.floats(operands), evaluate, samples, **fields)


def _function(
    name: str,
    evaluate: Evaluate,
    samples: s.Samples,
    *,
    cost: float,
    singular: bool,
    operands: int = 1,
    c_name: str | None = None,
    **fields: Any,
) -> OpDef:
    """An operation on floats that calls a function of C's library, which has the operation's name by default."""
    c_name = name.split(".")[1] if c_name is None else c_name
    facts = {"cost": cost, "singular": singular, "called": True, "c_name": c_name, "defined": True, **fields}
    return _scalar(name, t.floats(operands), evaluate, samples, **facts)


def _int(name: str, evaluate: Evaluate, samples: s.Samples = s.INT_PAIRS, operands: int = 2, **fields: Any) -> OpDef:
    """An operation on integers."""
    return _scalar(name, t.integers(operands), evaluate, samples, **fields)


# A few instructions at most, with a result and a derivative everywhere, and no name in C.
EASY: dict[str, Any] = {"cost": CHEAP, "defined": True, "singular": False, "called": False, "c_name": ""}

# arith: constants, float arithmetic -----------------------------------------------------------------------------------
VALUE = {"value": ..., "type": ...}
FREE: dict[str, Any] = {**EASY, "cost": 0.0}
constant = op("arith.constant", t.given, PURE, attrs=VALUE, evaluate=e.constant, verify=v.constant, **FREE)
CONTRACT, OWNED = v.CONTRACT, v.OWNED
FAST: dict[str, Any] = {"attrs": {"fastmath": "none"}, "verify": v.one_of("fastmath", v.FAST_MATH), **EASY}
addf = _float("arith.addf", 2, e.addf, s.PAIRS, traits=COMMUTATIVE | LINEAR, **FAST)
subf = _float("arith.subf", 2, e.subf, s.PAIRS, traits=LINEAR, **FAST)
mulf = _float("arith.mulf", 2, e.mulf, s.PAIRS, traits=COMMUTATIVE, **FAST)
divf = _float("arith.divf", 2, e.divf, s.PAIRS, **EASY | {"cost": 7.0, "singular": True})
negf = _float("arith.negf", 1, e.negf, s.REAL, traits=LINEAR, **EASY)
remf = _function("arith.remf", e.remf, s.QUOTIENTS, operands=2, cost=30.0, singular=True, c_name="fmod")
maximumf = _float("arith.maximumf", 2, e.maximumf, s.PAIRS, traits=COMMUTATIVE, **EASY)  # NaN if either is
minimumf = _float("arith.minimumf", 2, e.minimumf, s.PAIRS, traits=COMMUTATIVE, **EASY)
maxnumf = _float("arith.maxnumf", 2, e.maxnumf, s.PAIRS, traits=COMMUTATIVE, **EASY)  # the other if one is NaN
minnumf = _float("arith.minnumf", 2, e.minnumf, s.PAIRS, traits=COMMUTATIVE, **EASY)
# oeq one olt ole ogt oge une uno ord
PREDICATE = {"predicate": ...}
CMPF: dict[str, Any] = {"attrs": PREDICATE, "verify": v.one_of("predicate", e.FLOAT_PREDICATES), **EASY}
cmpf = _scalar("arith.cmpf", t.compare_floats, e.cmpf, s.COMPARED, **CMPF)
select = _scalar("arith.select", t.select, e.select, s.CHOICES, traits=LINEAR, **EASY)

# arith: integers ------------------------------------------------------------------------------------------------------
addi = _int("arith.addi", n.addi, traits=COMMUTATIVE, **EASY)
subi = _int("arith.subi", n.subi, **EASY)
muli = _int("arith.muli", n.muli, traits=COMMUTATIVE, **EASY)
DIVIDE: dict[str, Any] = {**EASY, "traits": DIVISION, "cost": 4.0, "defined": lambda divisor: divisor not in (0, -1)}
divsi = _int("arith.divsi", n.divsi, **DIVIDE)  # towards zero; the divisor must not be zero
remsi = _int("arith.remsi", n.remsi, **DIVIDE)
floordivsi = _int("arith.floordivsi", n.floordivsi, **DIVIDE)  # down, as Python's //
ceildivsi = _int("arith.ceildivsi", n.ceildivsi, **DIVIDE)  # up
divui = _int("arith.divui", n.divui, **DIVIDE)  # of unsigned integers
remui = _int("arith.remui", n.remui, **DIVIDE)
andi = _int("arith.andi", n.andi, traits=COMMUTATIVE, **EASY)
ori = _int("arith.ori", n.ori, traits=COMMUTATIVE, **EASY)
xori = _int("arith.xori", n.xori, traits=COMMUTATIVE, **EASY)
SHIFT: dict[str, Any] = {**EASY, "defined": lambda amount: 0 <= amount < 32}
shli = _int("arith.shli", n.shli, s.SHIFTS, **SHIFT)
shrsi = _int("arith.shrsi", n.shrsi, s.SHIFTS, **SHIFT)
shrui = _int("arith.shrui", n.shrui, s.SHIFTS, **SHIFT)  # shifts in zeros
maxsi = _int("arith.maxsi", n.maxsi, traits=COMMUTATIVE, **EASY)
minsi = _int("arith.minsi", n.minsi, traits=COMMUTATIVE, **EASY)
CMPI: dict[str, Any] = {"attrs": PREDICATE, "verify": v.one_of("predicate", n.INTEGER_PREDICATES), **EASY}
cmpi = _scalar("arith.cmpi", t.compare_integers, n.cmpi, s.INT_PAIRS, **CMPI)
# Whether the result of ``kind`` on two integers is exact, without wrapping around.
FITS: dict[str, Any] = {"attrs": {"kind": ...}, "verify": v.one_of("kind", n.EXACT_RESULTS), **EASY}
fits = _scalar("adc.fits", t.compare_wide, n.fits, s.FITTING, **FITS)

# arith: casts ---------------------------------------------------------------------------------------------------------
TO = {"type": ...}
_INTS = t.INT + t.INDEX


def _cast(name: str, rule: TypeRule, evaluate: Evaluate, samples: s.Samples, **fields: Any) -> OpDef:
    return _scalar(name, rule, evaluate, samples, **{"attrs": TO, **EASY, **fields})


extf = _cast("arith.extf", t.cast(t.FLOAT, t.FLOAT, grow=True), e.cast_float, s.REAL, traits=LINEAR)
truncf = _cast("arith.truncf", t.cast(t.FLOAT, t.FLOAT, grow=False), e.cast_float, s.REAL, traits=LINEAR)
sitofp = _cast("arith.sitofp", t.cast(_INTS, t.FLOAT), n.sitofp, s.INTS, traits=POSITIVE_ZERO)
uitofp = _cast("arith.uitofp", t.cast(t.INT, t.FLOAT), n.uitofp, s.BITS, traits=POSITIVE_ZERO)  # i1 to 0.0 or 1.0
fptosi = _cast("arith.fptosi", t.cast(t.FLOAT, _INTS), n.fptosi, s.REAL, defined=False)  # truncates
extsi = _cast("arith.extsi", t.cast(t.INT, t.INT, grow=True), n.signed_cast, s.INTS)
extui = _cast("arith.extui", t.cast(t.INT, t.INT, grow=True), n.extui, s.INTS)
trunci = _cast("arith.trunci", t.cast(t.INT, t.INT, grow=False), n.signed_cast, s.INTS)
index_cast = _cast("arith.index_cast", t.cast(_INTS, _INTS), n.signed_cast, s.INTS, cost=0.0)  # sign-extends
index_castui = _cast("arith.index_castui", t.cast(t.INT, t.INDEX), n.index_castui, s.BITS)  # to 0 or 1
bitcast = _cast("arith.bitcast", t.bitcast, n.bitcast, s.INTS)  # the same bits as a float, or as an integer

# math: functions of C's library ---------------------------------------------------------------------------------------
sin = _function("math.sin", e.total(math.sin), s.REAL, cost=MATH, singular=False)
cos = _function("math.cos", e.total(math.cos), s.REAL, cost=MATH, singular=False)
tan = _function("math.tan", e.total(math.tan), s.REAL, cost=10.0, singular=False)
asin = _function("math.asin", e.total(math.asin), s.UNIT, cost=13.0, singular=True)
acos = _function("math.acos", e.total(math.acos), s.UNIT, cost=13.0, singular=True)
atan = _function("math.atan", e.total(math.atan), s.REAL, cost=13.0, singular=False)
sinh = _function("math.sinh", e.total(math.sinh, odd=True), s.REAL, cost=13.0, singular=True)
cosh = _function("math.cosh", e.total(math.cosh), s.REAL, cost=13.0, singular=True, traits=POSITIVE_ZERO)
tanh = _function("math.tanh", e.total(math.tanh), s.REAL, cost=18.0, singular=False)
asinh = _function("math.asinh", e.total(math.asinh), s.REAL, cost=18.0, singular=False)
acosh = _function("math.acosh", e.total(math.acosh), s.ABOVE_ONE, cost=18.0, singular=True)
atanh = _function("math.atanh", e.between_poles(math.atanh, 1.0), s.UNIT, cost=18.0, singular=True)
atan2 = _function("math.atan2", e.on_floats(math.atan2), s.PAIRS, cost=18.0, singular=True, operands=2)
exp = _function("math.exp", e.total(math.exp), s.REAL, cost=MATH, singular=True, traits=POSITIVE_ZERO)
exp2 = _function("math.exp2", e.total(math.exp2), s.REAL, cost=MATH, singular=True, traits=POSITIVE_ZERO)
expm1 = _function("math.expm1", e.total(math.expm1), s.REAL, cost=MATH, singular=True)
log = _function("math.log", e.logarithm(math.log), s.POSITIVE, cost=10.0, singular=True)
log2 = _function("math.log2", e.logarithm(math.log2), s.POSITIVE, cost=10.0, singular=True)
log10 = _function("math.log10", e.logarithm(math.log10), s.POSITIVE, cost=10.0, singular=True)
log1p = _function("math.log1p", e.logarithm(math.log1p, pole=-1.0), s.ABOVE_MINUS_ONE, cost=10.0, singular=True)
cbrt = _function("math.cbrt", e.total(math.cbrt), s.REAL, cost=13.0, singular=True)
powf = _function("math.powf", e.powf, s.POWERS, cost=30.0, singular=True, operands=2, c_name="pow")
erf = _function("math.erf", e.total(math.erf), s.REAL, cost=13.0, singular=False)
erfc = _function("math.erfc", e.total(math.erfc), s.REAL, cost=13.0, singular=False)
HYPOT: dict[str, Any] = {"operands": 2, "cost": 7.0, "singular": False, "traits": POSITIVE_ZERO}
hypot = _function("adc.hypot", e.on_floats(math.hypot), s.PAIRS, **HYPOT)
lgamma = _function("adc.lgamma", e.on_floats(special.lgamma), s.GAMMA, cost=30.0, singular=True)
tgamma = _function("adc.tgamma", e.on_floats(special.tgamma), s.GAMMA, cost=30.0, singular=True)
# IEEE: x - y * roundeven(x / y)
remainder = _function("adc.remainder", e.remainder, s.QUOTIENTS, operands=2, cost=30.0, singular=True)
ORDER: dict[str, Any] = {"attrs": {"order": ...}, "verify": v.order, "c_name": ""}  # order 0 is digamma
polygamma = _function("adc.polygamma", e.polygamma, s.GAMMA, cost=30.0, singular=True, **ORDER)

# math: the rest -------------------------------------------------------------------------------------------------------
ROOT: dict[str, Any] = {**EASY, "cost": 10.0, "singular": True}
sqrt = _float("math.sqrt", 1, e.total(math.sqrt), s.POSITIVE, **ROOT | {"c_name": "sqrt"})
rsqrt = _float("math.rsqrt", 1, e.rsqrt, s.POSITIVE, **ROOT)
POWER: dict[str, Any] = {**EASY, "cost": MATH, "called": True}
PRODUCTS: dict[str, Any] = {**EASY, "cost": 3.0, "singular": True}  # what expand-powers makes of it
fpowi = _scalar("math.fpowi", t.float_power, e.fpowi, s.FLOAT_INT, **PRODUCTS)
ipowi = _int("math.ipowi", n.ipowi, s.INT_POWERS, **POWER | {"defined": lambda exponent: exponent >= 0})
fma = _float("math.fma", 3, e.fma, s.TRIPLES, **EASY | {"c_name": "fma"})
copysign = _float("math.copysign", 2, e.on_floats(math.copysign), s.PAIRS, **EASY | {"c_name": "copysign"})
absf = _float("math.absf", 1, e.on_floats(abs), s.REAL, traits=POSITIVE_ZERO, **EASY | {"c_name": "fabs"})
absi = _int("math.absi", n.absi, s.INTS, operands=1, **EASY)
floor = _float("math.floor", 1, e.rounding(math.floor), s.REAL, **EASY | {"c_name": "floor"})
ceil = _float("math.ceil", 1, e.rounding(math.ceil), s.REAL, **EASY | {"c_name": "ceil"})
trunc = _float("math.trunc", 1, e.rounding(math.trunc), s.REAL, **EASY | {"c_name": "trunc"})
# Half away from zero, as C; half to even, as Python and NumPy.
round_ = _float("math.round", 1, e.rounding(e.half_away), s.REAL, **EASY | {"c_name": "round"})
roundeven = _float("math.roundeven", 1, e.rounding(round), s.REAL, **EASY | {"c_name": "roundeven"})
# One number computed twice: %a is its value, and the derivative is that of %b; evaluates to %a.
twin = _float("adc.twin", 2, e.twin, s.PAIRS, **FREE)
stop_gradient = _float("adc.stop_gradient", 1, e.stop_gradient, s.REAL, **FREE)
# %a * %b and %a / %b, or zero where a mark (i1) says that %a, or %b, is a strong zero: zero even times infinity.
STRONG: dict[str, Any] = {**FAST, "plain": mulf}
strong_mulf = _scalar("adc.strong_mulf", t.strong(2, 2), e.strong_mulf, s.STRONG_PRODUCTS, **STRONG)
STRONG = {**EASY, "cost": 7.0, "singular": True, "plain": divf}
strong_divf = _scalar("adc.strong_divf", t.strong(2, 1), e.strong_divf, s.STRONG_QUOTIENTS, **STRONG)
EXTERNAL: dict[str, Any] = {"library": ..., "symbol": ..., **TO}
external = op("adc.external", t.external, PURE, attrs=EXTERNAL, cost=CALL, singular=True)  # a C function of numbers
# A C function that takes arrays, or that has effects of its own. It may read all arrays, and write to those at the
# positions ``written``. If ``ordered``, it is called as often as the program says, and in its order. The function that
# contains it does nothing else, and is not inlined: so what holds for calls holds for it; see
# ``adc.passes.analysis.effects``. ``by_address``: numbers are passed by their addresses, and arrays as pointers alone,
# as Fortran's subroutines take them. ``alone``: the library uses one thread meanwhile.
FOREIGN: dict[str, Any] = {"library": ..., "symbol": ..., "types": ..., "written": ()}
FOREIGN |= {"ordered": False, "by_address": False, "alone": False}
foreign = op("adc.foreign", t.foreign, READS | WRITES | {Trait.TRAPS}, attrs=FOREIGN, cost=CALL)

# memref ---------------------------------------------------------------------------------------------------------------
alloc = op("memref.alloc", t.alloc, frozenset({Trait.ALLOCATES}), attrs=TO, cost=MATH)  # operands: the dynamic extents
dealloc = op("memref.dealloc", t.dealloc, WRITES, cost=MEMORY)
dim = op("memref.dim", t.dim, PURE, attrs={"dim": ...}, cost=0.0)
load = op("memref.load", t.load, READS, cost=MEMORY, element=0)  # %m[%i, %j]; subscripts are in range
store = op("memref.store", t.store, WRITES, cost=MEMORY, element=1, target=1)  # %v, %m[%i, %j]
WINDOW: dict[str, Any] = {"attrs": {"static_steps": ..., "dropped": ()}, "verify": v.subview(constant)}
subview = op("memref.subview", t.subview, VIEW, cost=0.0, **WINDOW)
transpose = op("memref.transpose", t.transpose, VIEW, attrs={"permutation": ...}, cost=0.0)
# %m[extents]: the same elements in order of their subscripts. ``groups``: pairs (m, n): m dimensions as n ones.
reshape = op("adc.reshape", t.reshape, VIEW, attrs={"groups": ...}, cost=0.0)
# %m[offset][extents][strides]: a window on contiguous memory, in which all elements are distinct.
reinterpret_cast = op("memref.reinterpret_cast", t.reinterpret_cast, VIEW, attrs={"static_strides": ...}, cost=0.0)
cast = op("memref.cast", t.memref_cast, VIEW, attrs=TO, cost=0.0)
copy = op("memref.copy", t.copy, READS | WRITES, cost=MEMORY, target=1)  # of equal shape, not overlapping
fill = op("linalg.fill", t.fill, WRITES, cost=MEMORY, target=1)  # %v, %m
# %c += %a @ %b; %c does not overlap the others. Made when code is lowered: see ``adc.passes.sums.match_products``.
# ``strong``: "left" or "right", the side whose zeros are strong (zero even times infinity); or neither.
SIDE: dict[str, Any] = {"attrs": {"strong": ""}, "verify": v.one_of("strong", ("", "left", "right"))}
matmul = op("linalg.matmul", t.matmul, READS | WRITES, cost=1000 * MEMORY, **SIDE)

# How ``scf.reduce`` combines values of each kind: on floats, on integers.
COMBINE = {"add": (addf, addi), "mul": (mulf, muli), "min": (minimumf, minsi), "max": (maximumf, maxsi)}
# The float that changes nothing.
NEUTRAL = {"add": -0.0, "mul": 1.0, "min": float("inf"), "max": float("-inf")}

# scf: the terminator of each region gives its values to the parent ----------------------------------------------------
NEXT = 8.0  # going into a region, on to the next iteration, or out
yield_ = op("scf.yield", t.nothing, TERMINATOR, cost=NEXT)
condition = op("scf.condition", t.nothing, TERMINATOR, cost=NEXT)  # go on?, then what after and the results get
# kinds, per value: "add", "mul", "min" or "max"
reduce = op("scf.reduce", t.nothing, TERMINATOR, attrs={"kinds": ()}, verify=v.reduction(COMBINE), cost=NEXT)
# lower, upper, step, inits...; block (counter, carried...); yields the next carried
for_ = op("scf.for", None, COUNTED, cost=NEXT, regions=1, verify=v.for_loop(yield_))
# inits; before (carried...) ends in condition; after (passed on...) in yield
while_ = op("scf.while", None, LOOP, cost=NEXT, regions=2, verify=v.while_loop(condition, yield_))
if_ = op("scf.if", cost=NEXT, regions=2, verify=v.branch(yield_))  # condition; then, else; both yield the results
# lower, upper, step, inits...; block (counter); ends in reduce
parallel = op("scf.parallel", None, COUNTED, cost=NEXT, regions=1, verify=v.parallel_loop(reduce))

# func -----------------------------------------------------------------------------------------------------------------
call = op("func.call", t.call, READS | WRITES | {Trait.TRAPS}, attrs={"callee": ..., "types": ...}, cost=CALL)
LIKELY = "adc.likely"
"""Attribute of an ``scf.if`` between versions that do the same: the first is the faster one, and the usual one."""
COLD = "adc.cold"
"""Attribute of an ``scf.if``: which of its regions, "then" or "else", is for rare cases. Also of a function."""

# The float that ``callee`` returns, then its derivatives by the floats among the arguments ``wrt``. The operands are
# its arguments, then a shadow for each memref in ``wrt``, to which its gradient is added. A pass makes it a call.
GRADIENT: dict[str, Any] = {"callee": ..., "types": ..., "wrt": ...}
gradient = op("adc.gradient", t.call, READS | WRITES | {Trait.TRAPS}, attrs=GRADIENT, cost=CALL)
return_ = op("func.return", t.nothing, TERMINATOR, cost=NEXT)

# The results of a call of ``callee``, which has derivative rules (``adc.ir.attached``). The operands are the results,
# the residuals of its rrule, and the arguments of the call; the derivative is that of the rule.
ruled = op("adc.ruled", t.ruled, PURE, attrs={"callee": ..., "types": ...}, cost=MATH)

# adc ------------------------------------------------------------------------------------------------------------------
# A Python subscript into an extent: a negative one counts from the end; out of range raises IndexError if ``check``,
# else it must be known to be in range.
bound = op("adc.bound", t.bound, frozenset({Trait.TRAPS}), attrs={"check": True}, cost=0.0)
# Raises the Python exception ``error`` with ``message`` unless the first operand holds; the message shows the other
# operands, which are integers or floats: see adc.ir.raising.
ERROR = {"error": ..., "message": ...}
assert_ = op("adc.assert", t.trap_unless, frozenset({Trait.TRAPS}), attrs=ERROR, verify=v.error_kind, cost=MATH)
ATOMIC = {"atomic": False}  # if not atomic, iterations add one at a time
# %v, %m[...]: m[...] += v; sums commute
accumulate = op("adc.accumulate", t.accumulate, READS | WRITES, attrs=ATOMIC, cost=MEMORY, element=1, target=1)
# How many threads a parallel loop may use; no result may depend on it.
threads = op("adc.threads", t.one_index, PURE, cost=0.0)
undef = op("adc.undef", t.given, PURE, attrs=TO, cost=0.0)  # a value that is never read; a memref of extent zero
# 1-D buffer, i: the same contents with room for i; the old buffer is gone.
grow = op("adc.grow", t.grow, READS | WRITES, cost=MEMORY)
page_out = op("adc.page_out", t.page_out, WRITES, cost=MEMORY)  # %m, %i: the window %m[%i], in a file, may leave memory
pack = op("adc.pack", t.pack, frozenset({Trait.ALLOCATES}), cost=MATH)  # values to a record
release = op("adc.release", t.release, WRITES, cost=MEMORY)  # frees a record, not what it holds
UNPACK = {"types": ..., "roots": (), "contents": (), "apart": ()}  # see adc.ir.alias
unpack = op("adc.unpack", t.unpack, PURE, attrs=UNPACK, cost=MATH)
