"""The operations: the reference card of adc's IR.

Where MLIR has the operation this is its name and meaning; what MLIR lacks is in the ``adc`` dialect. To add one:
a line here, a derivative in ``adc.passes.differentiation.rules``, a lowering in ``adc.backend.lowering``; tests are
generated from this table.

Conventions. A Python int is computed with as ``index``; ``i32`` and ``i64`` are what arrays and signatures hold.
``scf.for`` and ``scf.parallel`` need a positive step; ``scf.parallel`` has one counter and says that iterations may
run in any order. ``fastmath`` says what may be done to sums and products: nothing where the user wrote them;
``contract`` lets one of each be fused, ``reassoc,contract`` marks sums whose order is adc's own as well.
"""

from __future__ import annotations

from typing import Any

from adc.ir import checks as v
from adc.ir import evaluate as e
from adc.ir import samples as s
from adc.ir import typerules as t
from adc.ir.opdef import OpDef, Trait, TypeRule

PURE = frozenset({Trait.PURE})
COMMUTATIVE = frozenset({Trait.PURE, Trait.COMMUTATIVE})
TERMINATOR = frozenset({Trait.TERMINATOR})
VIEW = frozenset({Trait.PURE, Trait.VIEW})
READS, WRITES = frozenset({Trait.READS}), frozenset({Trait.WRITES})

TABLE: dict[str, OpDef] = {}


def op(name: str, infer: TypeRule | None = None, traits: frozenset[Trait] = frozenset(), **fields: Any) -> OpDef:
    """Declare an operation."""
    TABLE[name] = definition = OpDef(name, infer, traits, **fields)
    return definition


def _math(name: str, operands: int = 1, traits: frozenset[Trait] = PURE, **fields: Any) -> OpDef:
    return op(name, t.floats(operands), traits, **fields)


def _int(name: str, traits: frozenset[Trait] = PURE, **fields: Any) -> OpDef:
    return op(name, t.integers(2), traits, **fields)


# arith: constants, float arithmetic -----------------------------------------------------------------------------------
VALUE = {"value": ..., "type": ...}
constant = op("arith.constant", t.given, PURE, attrs=VALUE, evaluate=e.constant, verify=v.constant)
CONTRACT, OWNED = v.CONTRACT, v.OWNED
FAST, FAST_CHECK = {"fastmath": "none"}, v.one_of("fastmath", v.FAST_MATH)
addf = _math("arith.addf", 2, COMMUTATIVE, attrs=FAST, verify=FAST_CHECK, evaluate=e.addf, samples=s.PAIRS)
subf = _math("arith.subf", 2, attrs=FAST, verify=FAST_CHECK, evaluate=e.subf, samples=s.PAIRS)
mulf = _math("arith.mulf", 2, COMMUTATIVE, attrs=FAST, verify=FAST_CHECK, evaluate=e.mulf, samples=s.PAIRS)
divf = _math("arith.divf", 2, evaluate=e.divf, samples=s.PAIRS)
negf = _math("arith.negf", evaluate=e.negf, samples=s.REAL)
remf = _math("arith.remf", 2, evaluate=e.remf, samples=s.QUOTIENTS)  # C's fmod: sign of the dividend
maximumf = _math("arith.maximumf", 2, COMMUTATIVE, evaluate=e.maximumf, samples=s.PAIRS)  # NaN if either is
minimumf = _math("arith.minimumf", 2, COMMUTATIVE, evaluate=e.minimumf, samples=s.PAIRS)
maxnumf = _math("arith.maxnumf", 2, COMMUTATIVE, evaluate=e.maxnumf, samples=s.PAIRS)  # the other if one is NaN
minnumf = _math("arith.minnumf", 2, COMMUTATIVE, evaluate=e.minnumf, samples=s.PAIRS)
# oeq one olt ole ogt oge une uno ord
PREDICATE, CMPF_CHECK = {"predicate": ...}, v.one_of("predicate", e.FLOAT_PREDICATES)
cmpf = op("arith.cmpf", t.compare_floats, PURE, attrs=PREDICATE, evaluate=e.cmpf, samples=s.COMPARED, verify=CMPF_CHECK)
select = op("arith.select", t.select, PURE, evaluate=e.select, samples=s.CHOICES)

# arith: integers ------------------------------------------------------------------------------------------------------
addi = _int("arith.addi", COMMUTATIVE, evaluate=e.addi, samples=s.INT_PAIRS)
subi = _int("arith.subi", evaluate=e.subi, samples=s.INT_PAIRS)
muli = _int("arith.muli", COMMUTATIVE, evaluate=e.muli, samples=s.INT_PAIRS)
divsi = _int("arith.divsi", evaluate=e.divsi, samples=s.INT_PAIRS)  # towards zero; the divisor must not be zero
remsi = _int("arith.remsi", evaluate=e.remsi, samples=s.INT_PAIRS)
floordivsi = _int("arith.floordivsi", evaluate=e.floordivsi, samples=s.INT_PAIRS)  # down, as Python's //
ceildivsi = _int("arith.ceildivsi", evaluate=e.ceildivsi, samples=s.INT_PAIRS)  # up
andi = _int("arith.andi", COMMUTATIVE, evaluate=e.andi, samples=s.INT_PAIRS)
ori = _int("arith.ori", COMMUTATIVE, evaluate=e.ori, samples=s.INT_PAIRS)
xori = _int("arith.xori", COMMUTATIVE, evaluate=e.xori, samples=s.INT_PAIRS)
shli = _int("arith.shli", evaluate=e.shli, samples=s.SHIFTS)
shrsi = _int("arith.shrsi", evaluate=e.shrsi, samples=s.SHIFTS)
maxsi = _int("arith.maxsi", COMMUTATIVE, evaluate=e.maxsi, samples=s.INT_PAIRS)
minsi = _int("arith.minsi", COMMUTATIVE, evaluate=e.minsi, samples=s.INT_PAIRS)
CMPI_FIELDS: dict[str, Any] = {"attrs": PREDICATE, "verify": v.one_of("predicate", e.INTEGER_PREDICATES)}
cmpi = op("arith.cmpi", t.compare_integers, PURE, evaluate=e.cmpi, samples=s.INT_PAIRS, **CMPI_FIELDS)
# Whether what ``kind`` computes of two integers is the true result, not one that wrapped around.
FITS: dict[str, Any] = {"attrs": {"kind": ...}, "verify": v.one_of("kind", e.EXACT_RESULTS)}
fits = op("adc.fits", t.compare_wide, PURE, evaluate=e.fits, samples=s.FITTING, **FITS)

# arith: casts ---------------------------------------------------------------------------------------------------------
TO = {"type": ...}
_INTS = t.INT + t.INDEX


def _cast(name: str, rule: TypeRule, **fields: Any) -> OpDef:
    return op(name, rule, PURE, attrs=TO, **fields)


extf = _cast("arith.extf", t.cast(t.FLOAT, t.FLOAT, grow=True), evaluate=e.cast_float, samples=s.REAL)
truncf = _cast("arith.truncf", t.cast(t.FLOAT, t.FLOAT, grow=False), evaluate=e.cast_float, samples=s.REAL)
sitofp = _cast("arith.sitofp", t.cast(_INTS, t.FLOAT), evaluate=e.sitofp, samples=s.INTS)
uitofp = _cast("arith.uitofp", t.cast(t.INT, t.FLOAT), evaluate=e.uitofp, samples=s.BITS)  # i1 to 0.0 or 1.0
fptosi = _cast("arith.fptosi", t.cast(t.FLOAT, _INTS), evaluate=e.fptosi, samples=s.REAL)  # truncates
extsi = _cast("arith.extsi", t.cast(t.INT, t.INT, grow=True), evaluate=e.signed_cast, samples=s.INTS)
extui = _cast("arith.extui", t.cast(t.INT, t.INT, grow=True), evaluate=e.extui, samples=s.INTS)
trunci = _cast("arith.trunci", t.cast(t.INT, t.INT, grow=False), evaluate=e.signed_cast, samples=s.INTS)
index_cast = _cast("arith.index_cast", t.cast(_INTS, _INTS), evaluate=e.signed_cast, samples=s.INTS)  # sign-extends
index_castui = _cast("arith.index_castui", t.cast(t.INT, t.INDEX), evaluate=e.index_castui, samples=s.BITS)  # to 0 or 1

# math -----------------------------------------------------------------------------------------------------------------
sin = _math("math.sin", evaluate=e.sin, samples=s.REAL)
cos = _math("math.cos", evaluate=e.cos, samples=s.REAL)
tan = _math("math.tan", evaluate=e.tan, samples=s.REAL)
asin = _math("math.asin", evaluate=e.asin, samples=s.UNIT)
acos = _math("math.acos", evaluate=e.acos, samples=s.UNIT)
atan = _math("math.atan", evaluate=e.atan, samples=s.REAL)
sinh = _math("math.sinh", evaluate=e.sinh, samples=s.REAL)
cosh = _math("math.cosh", evaluate=e.cosh, samples=s.REAL)
tanh = _math("math.tanh", evaluate=e.tanh, samples=s.REAL)
asinh = _math("math.asinh", evaluate=e.asinh, samples=s.REAL)
acosh = _math("math.acosh", evaluate=e.acosh, samples=s.ABOVE_ONE)
atanh = _math("math.atanh", evaluate=e.atanh, samples=s.UNIT)
atan2 = _math("math.atan2", 2, evaluate=e.atan2, samples=s.PAIRS)
exp = _math("math.exp", evaluate=e.exp, samples=s.REAL)
exp2 = _math("math.exp2", evaluate=e.exp2, samples=s.REAL)
expm1 = _math("math.expm1", evaluate=e.expm1, samples=s.REAL)
log = _math("math.log", evaluate=e.log, samples=s.POSITIVE)
log2 = _math("math.log2", evaluate=e.log2, samples=s.POSITIVE)
log10 = _math("math.log10", evaluate=e.log10, samples=s.POSITIVE)
log1p = _math("math.log1p", evaluate=e.log1p, samples=s.ABOVE_MINUS_ONE)
sqrt = _math("math.sqrt", evaluate=e.sqrt, samples=s.POSITIVE)
rsqrt = _math("math.rsqrt", evaluate=e.rsqrt, samples=s.POSITIVE)
cbrt = _math("math.cbrt", evaluate=e.cbrt, samples=s.REAL)
powf = _math("math.powf", 2, evaluate=e.powf, samples=s.POWERS)
fpowi = op("math.fpowi", t.float_power, PURE, evaluate=e.fpowi, samples=s.FLOAT_INT)
ipowi = _int("math.ipowi", evaluate=e.ipowi, samples=s.INT_POWERS)  # the exponent must not be negative
erf = _math("math.erf", evaluate=e.erf, samples=s.REAL)
erfc = _math("math.erfc", evaluate=e.erfc, samples=s.REAL)
fma = _math("math.fma", 3, evaluate=e.fma, samples=s.TRIPLES)
copysign = _math("math.copysign", 2, evaluate=e.copysign, samples=s.PAIRS)
absf = _math("math.absf", evaluate=e.absf, samples=s.REAL)
absi = op("math.absi", t.integers(1), PURE, evaluate=e.absi, samples=s.INTS)
floor = _math("math.floor", evaluate=e.floor, samples=s.REAL)
ceil = _math("math.ceil", evaluate=e.ceil, samples=s.REAL)
trunc = _math("math.trunc", evaluate=e.trunc, samples=s.REAL)
round_ = _math("math.round", evaluate=e.round_, samples=s.REAL)  # half away from zero, as C
roundeven = _math("math.roundeven", evaluate=e.roundeven, samples=s.REAL)  # half to even, as Python and NumPy
twin = _math("adc.twin", 2, evaluate=e.twin, samples=s.PAIRS)  # one number found twice: %a its value, %b its derivative
stop_gradient = _math("adc.stop_gradient", evaluate=e.stop_gradient, samples=s.REAL)  # the number, as a constant
# %a * %b and %a / %b, or zero where it is marked (i1) that %a, or %b, is nothing at all: even times infinity.
STRONG: dict[str, Any] = {"attrs": FAST, "verify": FAST_CHECK}
strong_mulf = op("adc.strong_mulf", t.strong(2, 2), PURE, evaluate=e.strong_mulf, samples=s.STRONG_PRODUCTS, **STRONG)
strong_divf = op("adc.strong_divf", t.strong(2, 1), PURE, evaluate=e.strong_divf, samples=s.STRONG_QUOTIENTS)
hypot = _math("adc.hypot", 2, evaluate=e.hypot, samples=s.PAIRS)
lgamma = _math("adc.lgamma", evaluate=e.lgamma, samples=s.GAMMA)
tgamma = _math("adc.tgamma", evaluate=e.tgamma, samples=s.GAMMA)
ORDER: dict[str, Any] = {"attrs": {"order": ...}, "verify": v.order}  # order 0 is digamma
polygamma = _math("adc.polygamma", evaluate=e.polygamma, samples=s.GAMMA, **ORDER)
remainder = _math("adc.remainder", 2, evaluate=e.remainder, samples=s.QUOTIENTS)  # IEEE: x - y * roundeven(x / y)
EXTERNAL: dict[str, Any] = {"library": ..., "symbol": ..., **TO}
external = op("adc.external", t.external, PURE, attrs=EXTERNAL)  # a C function of numbers
# A C function that takes arrays, or that has effects of its own. It may read all arrays, and write to those at the
# positions ``written``. If ``ordered`` it is called as often as the program says, and in its order. It is all that the
# function does which calls it, and is not inlined: so what holds of calls holds of it; see
# ``adc.passes.analysis.effects``.
FOREIGN: dict[str, Any] = {"library": ..., "symbol": ..., "types": ..., "written": (), "ordered": False}
foreign = op("adc.foreign", t.foreign, frozenset({Trait.READS, Trait.WRITES, Trait.TRAPS}), attrs=FOREIGN)

# memref ---------------------------------------------------------------------------------------------------------------
alloc = op("memref.alloc", t.alloc, frozenset({Trait.ALLOCATES}), attrs=TO)  # operands: the dynamic extents
dealloc = op("memref.dealloc", t.dealloc, WRITES)
dim = op("memref.dim", t.dim, PURE, attrs={"dim": ...})
load = op("memref.load", t.load, READS)  # %m[%i, %j]; subscripts are in range
store = op("memref.store", t.store, WRITES)  # %v, %m[%i, %j]
subview = op("memref.subview", t.subview, VIEW, attrs={"static_steps": ..., "dropped": ()}, verify=v.subview(constant))
transpose = op("memref.transpose", t.transpose, VIEW, attrs={"permutation": ...})
cast = op("memref.cast", t.memref_cast, VIEW, attrs=TO)
copy = op("memref.copy", t.copy, READS | WRITES)  # source, target: of equal shape, not overlapping
fill = op("linalg.fill", t.fill, WRITES)  # %v, %m

# How ``scf.reduce`` combines values of each kind: on floats, on integers.
COMBINE = {"add": (addf, addi), "mul": (mulf, muli), "min": (minimumf, minsi), "max": (maximumf, maxsi)}
# The float that changes nothing.
NEUTRAL = {"add": -0.0, "mul": 1.0, "min": float("inf"), "max": float("-inf")}

# scf: the terminator of each region gives its values to the parent ----------------------------------------------------
yield_ = op("scf.yield", t.nothing, TERMINATOR)
condition = op("scf.condition", t.nothing, TERMINATOR)  # go on?, then what after and the results get
# kinds, per value: "add", "mul", "min" or "max"
reduce = op("scf.reduce", t.nothing, TERMINATOR, attrs={"kinds": ()}, verify=v.reduction(COMBINE))
# lower, upper, step, inits...; block (counter, carried...); yields the next carried
for_ = op("scf.for", regions=1, verify=v.for_loop(yield_))
# inits; before (carried...) ends in condition; after (passed on...) in yield
while_ = op("scf.while", regions=2, verify=v.while_loop(condition, yield_))
if_ = op("scf.if", regions=2, verify=v.branch(yield_))  # condition; then, else; both yield the results
# lower, upper, step, inits...; block (counter); ends in reduce
parallel = op("scf.parallel", regions=1, verify=v.parallel_loop(reduce))

# func -----------------------------------------------------------------------------------------------------------------
call = op("func.call", t.call, READS | WRITES | {Trait.TRAPS}, attrs={"callee": ..., "types": ...})
# The float that ``callee`` returns, then its derivatives by the floats among the arguments ``wrt``. The operands are
# its arguments, then a shadow for each memref in ``wrt``, to which its gradient is added. A pass makes it a call.
LIKELY = "adc.likely"
"""Attribute of an ``scf.if`` between versions that do the same: the first is the faster one, and the usual one."""

GRADIENT: dict[str, Any] = {"callee": ..., "types": ..., "wrt": ...}
gradient = op("adc.gradient", t.call, READS | WRITES | {Trait.TRAPS}, attrs=GRADIENT)
return_ = op("func.return", t.nothing, TERMINATOR)

# What the function ``callee``, which has derivative rules (``adc.ir.attached``), gave: %results, the %residuals of its
# rrule, the %arguments of the call. The results are the first operands; the derivative is that of the rule.
ruled = op("adc.ruled", t.ruled, PURE, attrs={"callee": ..., "types": ...})

# adc ------------------------------------------------------------------------------------------------------------------
# A Python subscript into an extent: a negative one counts from the end; out of range raises IndexError if ``check``,
# else it must be known to be in range.
bound = op("adc.bound", t.bound, frozenset({Trait.TRAPS}), attrs={"check": True})
# Raises the Python exception ``error`` with ``message`` unless the first operand holds; the message shows the other
# operands, which are integers or floats: see adc.ir.raising.
ERROR = {"error": ..., "message": ...}
assert_ = op("adc.assert", t.trap_unless, frozenset({Trait.TRAPS}), attrs=ERROR, verify=v.error_kind)
ATOMIC = {"atomic": False}  # what is not atomic is added by one iteration at a time
accumulate = op("adc.accumulate", t.accumulate, READS | WRITES, attrs=ATOMIC)  # %v, %m[...]: m[...] += v; sums commute
threads = op("adc.threads", t.one_index, PURE)  # how many a parallel loop may run on; no result may depend on it
undef = op("adc.undef", t.given, PURE, attrs=TO)  # a value nobody reads; a memref of extent zero
grow = op("adc.grow", t.grow, READS | WRITES)  # 1-D buffer, i: the same contents with room for i, the old one is gone
page_out = op("adc.page_out", t.page_out, WRITES)  # %m, %i: the window %m[%i], in a file, may leave memory
pack = op("adc.pack", t.pack, frozenset({Trait.ALLOCATES}))  # values to a record
release = op("adc.release", t.release, WRITES)  # frees a record, not what it holds
UNPACK = {"types": ..., "roots": (), "contents": (), "apart": ()}  # see adc.ir.alias
unpack = op("adc.unpack", t.unpack, PURE, attrs=UNPACK)
