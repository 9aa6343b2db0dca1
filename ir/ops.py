"""The operations: the reference card of adc's IR.

Where MLIR has the operation this is its name and meaning; what MLIR lacks is in the ``adc`` dialect. To add one:
a line here, a derivative in ``adc.passes.rules``, a lowering in ``adc.backend``; tests are generated from this table.

Conventions. A Python int is computed with as ``index``; ``i32`` and ``i64`` are what arrays and signatures hold.
``scf.for`` and ``scf.parallel`` need a positive step; ``scf.parallel`` has one counter and says that iterations may
run in any order. ``fastmath="reassoc"`` marks sums whose order is adc's own.
"""

from __future__ import annotations

from typing import Any

from adc.ir import typerules as t
from adc.ir.opdef import OpDef, Trait, TypeRule

PURE = frozenset({Trait.PURE})
COMMUTATIVE = frozenset({Trait.PURE, Trait.COMMUTATIVE})
TERMINATOR = frozenset({Trait.TERMINATOR})
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
constant = op("arith.constant", t.given, PURE, attrs={"value": ..., "type": ...})
FAST = {"fastmath": "none"}
addf = _math("arith.addf", 2, COMMUTATIVE, attrs=FAST)
subf = _math("arith.subf", 2, attrs=FAST)
mulf = _math("arith.mulf", 2, COMMUTATIVE, attrs=FAST)
divf = _math("arith.divf", 2)
negf = _math("arith.negf")
remf = _math("arith.remf", 2)  # C's fmod: sign of the dividend
maximumf = _math("arith.maximumf", 2, COMMUTATIVE)  # NaN if either is
minimumf = _math("arith.minimumf", 2, COMMUTATIVE)
maxnumf = _math("arith.maxnumf", 2, COMMUTATIVE)  # the other if one is NaN
minnumf = _math("arith.minnumf", 2, COMMUTATIVE)
cmpf = op("arith.cmpf", t.compare_floats, PURE, attrs={"predicate": ...})  # oeq one olt ole ogt oge une uno ord
select = op("arith.select", t.select, PURE)

# arith: integers -----------------------------------------------------------------------------------------------------
addi = _int("arith.addi", COMMUTATIVE)
subi = _int("arith.subi")
muli = _int("arith.muli", COMMUTATIVE)
divsi = _int("arith.divsi")  # towards zero; the divisor must not be zero
remsi = _int("arith.remsi")
floordivsi = _int("arith.floordivsi")  # towards minus infinity, as Python's //
ceildivsi = _int("arith.ceildivsi")
andi = _int("arith.andi", COMMUTATIVE)
ori = _int("arith.ori", COMMUTATIVE)
xori = _int("arith.xori", COMMUTATIVE)
shli = _int("arith.shli")
shrsi = _int("arith.shrsi")
maxsi = _int("arith.maxsi", COMMUTATIVE)
minsi = _int("arith.minsi", COMMUTATIVE)
cmpi = op("arith.cmpi", t.compare_integers, PURE, attrs={"predicate": ...})  # eq ne slt sle sgt sge

# arith: casts ----------------------------------------------------------------------------------------------------------
TO = {"type": ...}
extf = op("arith.extf", t.cast(t.FLOAT, t.FLOAT, grow=True), PURE, attrs=TO)
truncf = op("arith.truncf", t.cast(t.FLOAT, t.FLOAT, grow=False), PURE, attrs=TO)
sitofp = op("arith.sitofp", t.cast(t.INT + t.INDEX, t.FLOAT), PURE, attrs=TO)
uitofp = op("arith.uitofp", t.cast(t.INT, t.FLOAT), PURE, attrs=TO)  # i1 to 0.0 or 1.0
fptosi = op("arith.fptosi", t.cast(t.FLOAT, t.INT + t.INDEX), PURE, attrs=TO)  # truncates
extsi = op("arith.extsi", t.cast(t.INT, t.INT, grow=True), PURE, attrs=TO)
extui = op("arith.extui", t.cast(t.INT, t.INT, grow=True), PURE, attrs=TO)
trunci = op("arith.trunci", t.cast(t.INT, t.INT, grow=False), PURE, attrs=TO)
index_cast = op("arith.index_cast", t.cast(t.INT + t.INDEX, t.INT + t.INDEX), PURE, attrs=TO)  # sign-extends
index_castui = op("arith.index_castui", t.cast(t.INT, t.INDEX), PURE, attrs=TO)  # i1 to 0 or 1

# math --------------------------------------------------------------------------------------------------------------------
sin = _math("math.sin")
cos = _math("math.cos")
tan = _math("math.tan")
asin = _math("math.asin")
acos = _math("math.acos")
atan = _math("math.atan")
sinh = _math("math.sinh")
cosh = _math("math.cosh")
tanh = _math("math.tanh")
asinh = _math("math.asinh")
acosh = _math("math.acosh")
atanh = _math("math.atanh")
atan2 = _math("math.atan2", 2)
exp = _math("math.exp")
exp2 = _math("math.exp2")
expm1 = _math("math.expm1")
log = _math("math.log")
log2 = _math("math.log2")
log10 = _math("math.log10")
log1p = _math("math.log1p")
sqrt = _math("math.sqrt")
rsqrt = _math("math.rsqrt")
cbrt = _math("math.cbrt")
powf = _math("math.powf", 2)
fpowi = op("math.fpowi", t.float_power, PURE)
ipowi = _int("math.ipowi")  # the exponent must not be negative
erf = _math("math.erf")
erfc = _math("math.erfc")
fma = _math("math.fma", 3)
copysign = _math("math.copysign", 2)
absf = _math("math.absf")
absi = op("math.absi", t.integers(1), PURE)
floor = _math("math.floor")
ceil = _math("math.ceil")
trunc = _math("math.trunc")
round_ = _math("math.round")  # half away from zero, as C
roundeven = _math("math.roundeven")  # half to even, as Python and NumPy
hypot = _math("adc.hypot", 2)
lgamma = _math("adc.lgamma")
tgamma = _math("adc.tgamma")
polygamma = _math("adc.polygamma", attrs={"order": ...})  # order 0 is digamma
remainder = _math("adc.remainder", 2)  # IEEE: x - y * roundeven(x / y)

# memref --------------------------------------------------------------------------------------------------------------------
alloc = op("memref.alloc", t.alloc, frozenset({Trait.ALLOCATES}), attrs=TO)  # operands: the dynamic extents
dealloc = op("memref.dealloc", t.dealloc, WRITES)
dim = op("memref.dim", t.dim, PURE, attrs={"dim": ...})
load = op("memref.load", t.load, READS)  # %m[%i, %j]; subscripts are in range
store = op("memref.store", t.store, WRITES)  # %v, %m[%i, %j]
subview = op("memref.subview", t.subview, frozenset({Trait.PURE, Trait.VIEW}), attrs={"static_steps": ..., "dropped": ()})
transpose = op("memref.transpose", t.transpose, frozenset({Trait.PURE, Trait.VIEW}), attrs={"permutation": ...})
cast = op("memref.cast", t.memref_cast, frozenset({Trait.PURE, Trait.VIEW}), attrs=TO)
copy = op("memref.copy", t.copy, READS | WRITES)  # source, target: of equal shape, not overlapping
fill = op("linalg.fill", t.fill, WRITES)  # %v, %m

# scf: the terminator of each region gives its values to the parent ---------------------------------------------------------
for_ = op("scf.for", regions=1)  # lower, upper, step, inits...; block (counter, carried...); yields the next carried
while_ = op("scf.while", regions=2)  # inits; before (carried...) ends in condition; after (passed on...) in yield
if_ = op("scf.if", regions=2)  # condition; then, else; both yield the results
parallel = op("scf.parallel", regions=1)  # lower, upper, step, inits...; block (counter); ends in reduce
yield_ = op("scf.yield", t.nothing, TERMINATOR)
condition = op("scf.condition", t.nothing, TERMINATOR)  # go on?, then what after and the results get
reduce = op("scf.reduce", t.nothing, TERMINATOR, attrs={"kinds": ()})  # per value: "add", "mul", "min" or "max"

# func ------------------------------------------------------------------------------------------------------------------------
call = op("func.call", t.call, READS | WRITES | {Trait.TRAPS}, attrs={"callee": ..., "types": ...})
return_ = op("func.return", t.nothing, TERMINATOR)

# adc -------------------------------------------------------------------------------------------------------------------------
# A Python subscript into an extent: a negative one counts from the end; out of range raises IndexError if ``check``,
# else it must be known to be in range.
bound = op("adc.bound", t.bound, frozenset({Trait.TRAPS}), attrs={"check": True})
# Raises the Python exception ``error`` with ``message`` unless the first operand holds; "{}" in the message stand for
# the other operands, which are integers or floats.
assert_ = op("adc.assert", t.trap_unless, frozenset({Trait.TRAPS}), attrs={"error": ..., "message": ...})
accumulate = op("adc.accumulate", t.accumulate, READS | WRITES)  # %v, %m[...]: m[...] += v; sums commute
undef = op("adc.undef", t.given, PURE, attrs=TO)  # a value nobody reads; a memref of extent zero
grow = op("adc.grow", t.grow, READS | WRITES)  # 1-D buffer, i: the same contents with room for i, the old one is gone
pack = op("adc.pack", t.pack, frozenset({Trait.ALLOCATES}))  # values to a record
unpack = op("adc.unpack", t.unpack, PURE, attrs={"types": ..., "roots": ()})  # roots: see adc.ir.alias
