"""The operations: the reference card of adc's IR.

Where MLIR has the operation this is its name and meaning; what MLIR lacks is in the ``adc`` dialect. To add one:
a line here, a derivative in ``adc.passes.rules``, a lowering in ``adc.backend``; tests are generated from this table.

Conventions. A Python int is computed with as ``index``; ``i32`` and ``i64`` are what arrays and signatures hold.
``scf.for`` and ``scf.parallel`` need a positive step; ``scf.parallel`` has one counter and says that iterations may
run in any order. ``fastmath="reassoc"`` marks sums whose order is adc's own.
"""

from __future__ import annotations

from typing import Any

from adc.ir import checks as v
from adc.ir import evaluate as e
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
FAST, FAST_CHECK = {"fastmath": "none"}, v.one_of("fastmath", v.FAST_MATH)
addf = _math("arith.addf", 2, COMMUTATIVE, attrs=FAST, verify=FAST_CHECK, evaluate=e.addf)
subf = _math("arith.subf", 2, attrs=FAST, verify=FAST_CHECK, evaluate=e.subf)
mulf = _math("arith.mulf", 2, COMMUTATIVE, attrs=FAST, verify=FAST_CHECK, evaluate=e.mulf)
divf = _math("arith.divf", 2, evaluate=e.divf)
negf = _math("arith.negf", evaluate=e.negf)
remf = _math("arith.remf", 2, evaluate=e.remf)  # C's fmod: sign of the dividend
maximumf = _math("arith.maximumf", 2, COMMUTATIVE, evaluate=e.maximumf)  # NaN if either is
minimumf = _math("arith.minimumf", 2, COMMUTATIVE, evaluate=e.minimumf)
maxnumf = _math("arith.maxnumf", 2, COMMUTATIVE, evaluate=e.maxnumf)  # the other if one is NaN
minnumf = _math("arith.minnumf", 2, COMMUTATIVE, evaluate=e.minnumf)
# oeq one olt ole ogt oge une uno ord
PREDICATE, CMPF_CHECK = {"predicate": ...}, v.one_of("predicate", e.FLOAT_PREDICATES)
cmpf = op("arith.cmpf", t.compare_floats, PURE, attrs=PREDICATE, evaluate=e.cmpf, verify=CMPF_CHECK)
select = op("arith.select", t.select, PURE, evaluate=e.select)

# arith: integers ------------------------------------------------------------------------------------------------------
addi = _int("arith.addi", COMMUTATIVE, evaluate=e.addi)
subi = _int("arith.subi", evaluate=e.subi)
muli = _int("arith.muli", COMMUTATIVE, evaluate=e.muli)
divsi = _int("arith.divsi", evaluate=e.divsi)  # towards zero; the divisor must not be zero
remsi = _int("arith.remsi", evaluate=e.remsi)
floordivsi = _int("arith.floordivsi", evaluate=e.floordivsi)  # towards minus infinity, as Python's //
ceildivsi = _int("arith.ceildivsi", evaluate=e.ceildivsi)
andi = _int("arith.andi", COMMUTATIVE, evaluate=e.andi)
ori = _int("arith.ori", COMMUTATIVE, evaluate=e.ori)
xori = _int("arith.xori", COMMUTATIVE, evaluate=e.xori)
shli = _int("arith.shli", evaluate=e.shli)
shrsi = _int("arith.shrsi", evaluate=e.shrsi)
maxsi = _int("arith.maxsi", COMMUTATIVE, evaluate=e.maxsi)
minsi = _int("arith.minsi", COMMUTATIVE, evaluate=e.minsi)
CMPI_CHECK = v.one_of("predicate", e.INTEGER_PREDICATES)  # eq ne slt sle sgt sge
cmpi = op("arith.cmpi", t.compare_integers, PURE, attrs=PREDICATE, evaluate=e.cmpi, verify=CMPI_CHECK)

# arith: casts ---------------------------------------------------------------------------------------------------------
TO = {"type": ...}
extf = op("arith.extf", t.cast(t.FLOAT, t.FLOAT, grow=True), PURE, attrs=TO, evaluate=e.cast_float)
truncf = op("arith.truncf", t.cast(t.FLOAT, t.FLOAT, grow=False), PURE, attrs=TO, evaluate=e.cast_float)
sitofp = op("arith.sitofp", t.cast(t.INT + t.INDEX, t.FLOAT), PURE, attrs=TO, evaluate=e.sitofp)
uitofp = op("arith.uitofp", t.cast(t.INT, t.FLOAT), PURE, attrs=TO, evaluate=e.uitofp)  # i1 to 0.0 or 1.0
fptosi = op("arith.fptosi", t.cast(t.FLOAT, t.INT + t.INDEX), PURE, attrs=TO, evaluate=e.fptosi)  # truncates
extsi = op("arith.extsi", t.cast(t.INT, t.INT, grow=True), PURE, attrs=TO, evaluate=e.signed_cast)
extui = op("arith.extui", t.cast(t.INT, t.INT, grow=True), PURE, attrs=TO, evaluate=e.extui)
trunci = op("arith.trunci", t.cast(t.INT, t.INT, grow=False), PURE, attrs=TO, evaluate=e.signed_cast)
# sign-extends
index_cast = op("arith.index_cast", t.cast(t.INT + t.INDEX, t.INT + t.INDEX), PURE, attrs=TO, evaluate=e.signed_cast)
# zero-extends: i1 to 0 or 1
index_castui = op("arith.index_castui", t.cast(t.INT, t.INDEX), PURE, attrs=TO, evaluate=e.index_castui)

# math -----------------------------------------------------------------------------------------------------------------
sin = _math("math.sin", evaluate=e.sin)
cos = _math("math.cos", evaluate=e.cos)
tan = _math("math.tan", evaluate=e.tan)
asin = _math("math.asin", evaluate=e.asin)
acos = _math("math.acos", evaluate=e.acos)
atan = _math("math.atan", evaluate=e.atan)
sinh = _math("math.sinh", evaluate=e.sinh)
cosh = _math("math.cosh", evaluate=e.cosh)
tanh = _math("math.tanh", evaluate=e.tanh)
asinh = _math("math.asinh", evaluate=e.asinh)
acosh = _math("math.acosh", evaluate=e.acosh)
atanh = _math("math.atanh", evaluate=e.atanh)
atan2 = _math("math.atan2", 2, evaluate=e.atan2)
exp = _math("math.exp", evaluate=e.exp)
exp2 = _math("math.exp2", evaluate=e.exp2)
expm1 = _math("math.expm1", evaluate=e.expm1)
log = _math("math.log", evaluate=e.log)
log2 = _math("math.log2", evaluate=e.log2)
log10 = _math("math.log10", evaluate=e.log10)
log1p = _math("math.log1p", evaluate=e.log1p)
sqrt = _math("math.sqrt", evaluate=e.sqrt)
rsqrt = _math("math.rsqrt", evaluate=e.rsqrt)
cbrt = _math("math.cbrt", evaluate=e.cbrt)
powf = _math("math.powf", 2, evaluate=e.powf)
fpowi = op("math.fpowi", t.float_power, PURE, evaluate=e.fpowi)
ipowi = _int("math.ipowi", evaluate=e.ipowi)  # the exponent must not be negative
erf = _math("math.erf", evaluate=e.erf)
erfc = _math("math.erfc", evaluate=e.erfc)
fma = _math("math.fma", 3, evaluate=e.fma)
copysign = _math("math.copysign", 2, evaluate=e.copysign)
absf = _math("math.absf", evaluate=e.absf)
absi = op("math.absi", t.integers(1), PURE, evaluate=e.absi)
floor = _math("math.floor", evaluate=e.floor)
ceil = _math("math.ceil", evaluate=e.ceil)
trunc = _math("math.trunc", evaluate=e.trunc)
round_ = _math("math.round", evaluate=e.round_)  # half away from zero, as C
roundeven = _math("math.roundeven", evaluate=e.roundeven)  # half to even, as Python and NumPy
hypot = _math("adc.hypot", 2, evaluate=e.hypot)
lgamma = _math("adc.lgamma", evaluate=e.lgamma)
tgamma = _math("adc.tgamma", evaluate=e.tgamma)
polygamma = _math("adc.polygamma", attrs={"order": ...}, evaluate=e.polygamma, verify=v.order)  # order 0 is digamma
remainder = _math("adc.remainder", 2, evaluate=e.remainder)  # IEEE: x - y * roundeven(x / y)

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
return_ = op("func.return", t.nothing, TERMINATOR)

# adc ------------------------------------------------------------------------------------------------------------------
# A Python subscript into an extent: a negative one counts from the end; out of range raises IndexError if ``check``,
# else it must be known to be in range.
bound = op("adc.bound", t.bound, frozenset({Trait.TRAPS}), attrs={"check": True})
# Raises the Python exception ``error`` with ``message`` unless the first operand holds; "{}" in the message stand for
# the other operands, which are integers or floats.
ERROR = {"error": ..., "message": ...}
assert_ = op("adc.assert", t.trap_unless, frozenset({Trait.TRAPS}), attrs=ERROR, verify=v.error_kind)
accumulate = op("adc.accumulate", t.accumulate, READS | WRITES)  # %v, %m[...]: m[...] += v; sums commute
undef = op("adc.undef", t.given, PURE, attrs=TO)  # a value nobody reads; a memref of extent zero
grow = op("adc.grow", t.grow, READS | WRITES)  # 1-D buffer, i: the same contents with room for i, the old one is gone
pack = op("adc.pack", t.pack, frozenset({Trait.ALLOCATES}))  # values to a record
unpack = op("adc.unpack", t.unpack, PURE, attrs={"types": ..., "roots": ()})  # roots: see adc.ir.alias
