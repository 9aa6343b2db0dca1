"""Sine and cosine of one number, together: gradients need both, and most of the work is common to them.

The argument is reduced by multiples of pi/2, represented as the sum of three doubles, with fused multiply-adds (W. J.
Cody and W. Waite, Software Manual for the Elementary Functions, 1980); on the remainder, at most pi/4, both functions
are minimax polynomials (Remez, relative error 4e-18). Results are within 1.5 ulp. For numbers that are too large for
this reduction, infinities and NaN the library is called.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from adc.backend.lowering.lane_code import PREFIX, PURE, ROUND, Code, define

if TYPE_CHECKING:
    from adc.backend.lowering.lower_emitter import FunctionEmitter
    from adc.backend.lowering.module_emitter import ModuleEmitter

SYMBOL = f"{PREFIX}sincos"
_HALF_PI = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
_TWO_OVER_PI = 0.6366197723675814
_LARGEST = 2.0**24
# sin(r) = r + r z P(z) and cos(r) = 1 - z/2 + z^2 Q(z) with z = r^2.
_SINE = (
    -0.1666666666666663,
    0.008333333333322108,
    -0.00019841269829580329,
    2.7557313618060165e-06,
    -2.5050747223405002e-08,
    1.589619787353913e-10,
)
_COSINE = (
    1.0,
    -0.5,
    0.041666666666666595,
    -0.001388888888887304,
    2.4801587288841367e-05,
    -2.7557314176233885e-07,
    2.087570041558386e-09,
    -1.13585139385981e-11,
)


def call(e: FunctionEmitter, x: str) -> tuple[str, str]:
    """Sine and cosine of the double ``x``."""
    _define(e.module)
    e.calls.twofold += 1
    pair = e.let(f"call {{ double, double }} @{SYMBOL}(double {x})")
    sine, cosine = (e.let(f"extractvalue {{ double, double }} {pair}, {k}") for k in range(2))
    return sine, cosine


def one(e: FunctionEmitter, name: str, x: str) -> str:
    """Sine or cosine alone, by its name: a separate function, because LLVM removes an unused result from a function,
    and then finds no vector variants for it."""
    _define(e.module)
    e.calls.twofold += 1
    define(e.module, f"{PREFIX}{name}", lambda called, lanes, attributes: _half(e.module, called, lanes, attributes))
    return e.let(f"call double @{PREFIX}{name}(double {x})")


def _half(module: ModuleEmitter, called: str, lanes: int, attributes: str) -> str:
    code = _Code(module, lanes)
    number = module.attributes(f"{attributes} {module.function_attributes}".rstrip())
    name = called.removeprefix(PREFIX).partition(".")[0]
    code.lines.append(f"define internal {code.kind} @{called}({code.kind} %x) {number} {{\nentry:")
    pair = code.let(f"call {code.pair} @{SYMBOL}{'' if lanes == 1 else f'.{lanes}'}({code.kind} %x)")
    result = code.let(f"extractvalue {code.pair} {pair}, {('sin', 'cos').index(name)}")
    return "\n".join([*code.lines, f"  ret {code.kind} {result}\n}}\n"])


def _define(module: ModuleEmitter) -> None:
    for function in ("sin", "cos"):
        module.declare(function, f"declare double @{function}(double) {PURE}")
    define(module, SYMBOL, lambda name, lanes, attributes: _function(module, name, lanes, attributes))


def _function(module: ModuleEmitter, name: str, lanes: int, attributes: str) -> str:
    code = _Code(module, lanes)
    v, pair = code.kind, code.pair
    number = module.attributes(f"{attributes} {module.function_attributes}".rstrip())
    code.lines.append(f"define internal {pair} @{name}({v} %x) {number} {{\nentry:")
    fast = code.both(*code.reduced("%x"))
    size = code.let(f"call {v} {code.intrinsic('fabs', 1)}({v} %x)")
    lane_large = large = code.let(f"fcmp ugt {v} {size}, {code.constant(_LARGEST)}")  # or not a number
    if lanes > 1:
        reduce = f"llvm.vector.reduce.or.v{lanes}i1"
        module.declare(reduce, f"declare i1 @{reduce}(<{lanes} x i1>)")
        large = code.let(f"call i1 @{reduce}(<{lanes} x i1> {large})")
    unlikely = module.metadata('!{!"branch_weights", i32 1, i32 1048575}')
    code.lines.append(f"  br i1 {large}, label %library, label %done, !prof {unlikely}\nlibrary:")
    slow = code.let(f"call {pair} @{name}.library({v} %x)")
    if lanes > 1:
        chosen = []
        for k in range(2):
            exact, other = (code.let(f"extractvalue {pair} {p}, {k}") for p in (slow, fast))
            chosen.append(code.let(f"select <{lanes} x i1> {lane_large}, {v} {exact}, {v} {other}"))
        slow = code.both(*chosen)
    code.lines.append("  br label %done\ndone:")
    code.lines.append(f"  %result = phi {pair} [ {fast}, %entry ], [ {slow}, %library ]\n  ret {pair} %result\n}}\n")
    return "\n".join(code.lines) + _library(module, f"{name}.library", lanes)


def _library(module: ModuleEmitter, name: str, lanes: int) -> str:
    """The library's results, lane by lane."""
    code = _Code(module, lanes)
    v, pair = code.kind, code.pair
    number = module.attributes(f"{PURE} noinline cold optsize")
    code.lines.append(f"define internal {pair} @{name}({v} %x) {number} {{\nentry:")
    sine, cosine = "poison", "poison"
    for k in range(lanes):
        one = "%x" if lanes == 1 else code.let(f"extractelement {v} %x, i64 {k}")
        found = [code.let(f"call double @{function}(double {one})") for function in ("sin", "cos")]
        if lanes == 1:
            sine, cosine = found
        else:
            sine, cosine = (
                code.let(f"insertelement {v} {vector}, double {value}, i64 {k}")
                for vector, value in zip((sine, cosine), found, strict=True)
            )
    code.lines.append(f"  ret {pair} {code.both(sine, cosine)}\n}}\n")
    return "\n".join(code.lines)


class _Code(Code):
    """Both functions at once."""

    def __init__(self, module: ModuleEmitter, lanes: int) -> None:
        super().__init__(module, lanes)
        self.pair = f"{{ {self.kind}, {self.kind} }}"

    def both(self, sine: str, cosine: str) -> str:
        half = self.let(f"insertvalue {self.pair} poison, {self.kind} {sine}, 0")
        return self.let(f"insertvalue {self.pair} {half}, {self.kind} {cosine}, 1")

    def reduced(self, x: str) -> tuple[str, str]:
        """Sine and cosine of arguments that are not large."""
        v, i = self.kind, self.integers
        rounded = self.fma(x, self.constant(_TWO_OVER_PI), self.constant(ROUND))
        quarters = self.let(f"fsub {v} {rounded}, {self.constant(ROUND)}")
        minus = self.let(f"fneg {v} {quarters}")
        r = x
        for part in _HALF_PI:
            r = self.fma(minus, self.constant(part), r)
        powers = [r]
        for _ in range(3):
            powers.append(self.let(f"fmul {v} {powers[-1]}, {powers[-1]}"))
        z, *_ = powers = powers[1:]
        cubic = self.let(f"fmul {v} {z}, {self.polynomial(powers, _SINE)}")
        sine, cosine = self.fma(cubic, r, r), self.polynomial(powers, _COSINE[2:])
        for coefficient in _COSINE[1::-1]:  # the largest terms last, to round well
            cosine = self.fma(cosine, z, self.constant(coefficient))
        # The quadrant (modulo 4) says which polynomial is which function, and the signs.
        quarter = self.let(f"bitcast {v} {rounded} to {i}")
        lowest = self.let(f"shl {i} {quarter}, {self.integer(63)}")
        odd = self.let(f"icmp slt {i} {lowest}, {self.integer(0)}")  # as a sign bit, which blends test
        after = self.let(f"add {i} {quarter}, {self.integer(1)}")
        choose = f"select {i.replace('i64', 'i1')} {odd}, {v}"
        sine, cosine = self.let(f"{choose} {cosine}, {v} {sine}"), self.let(f"{choose} {sine}, {v} {cosine}")
        sine, cosine = self._signed(sine, quarter), self._signed(cosine, after)
        zero = self.let(f"fcmp oeq {v} {x}, {self.constant(0.0)}")  # the sine of minus zero is minus zero
        return self.let(f"select {i.replace('i64', 'i1')} {zero}, {v} {x}, {v} {sine}"), cosine

    def _signed(self, value: str, quarter: str) -> str:
        """``value``, or its negative where bit 1 of ``quarter`` is set."""
        v, i = self.kind, self.integers
        bit = self.let(f"and {i} {quarter}, {self.integer(2)}")
        sign = self.let(f"shl {i} {bit}, {self.integer(62)}")
        bits = self.let(f"bitcast {v} {value} to {i}")
        return self.let(f"bitcast {i} {self.let(f'xor {i} {bits}, {sign}')} to {v}")
