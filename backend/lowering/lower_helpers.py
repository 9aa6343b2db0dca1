"""Internal functions that are added to a module when an operation needs them: integer powers, the polygamma function.

The polygamma function of order n at x > 0 is computed by recurrence up to an argument where the asymptotic series is
accurate (Abramowitz and Stegun 6.3.18, 6.4.11), and for negative x by reflection (6.4.7):

    psi_n(x)     = psi_n(x + 1) - (-1)^n n! / x^(n+1)
    psi_n(x)     ~ (-1)^(n+1) [ (n-1)!/x^n + n!/(2 x^(n+1)) + sum_k B_2k (2k+n-1)! / ((2k)! x^(2k+n)) ]
    psi_n(1 - x) = (-1)^n [ psi_n(x) + pi d^n/dx^n cot(pi x) ]

The relative error is about 1e-14; near zeros of the function, the absolute error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from adc.backend.lowering.lower_types import literal
from adc.ir.types import f64

if TYPE_CHECKING:
    from adc.backend.lowering.module_emitter import ModuleEmitter

_INTEGER_POWER = """define internal {kind} @{name}({kind} %x, {kind} %n) nounwind willreturn memory(none) {{
entry:
  br label %loop
loop:
  %result = phi {kind} [1, %entry], [%product, %step]
  %base = phi {kind} [%x, %entry], [%square, %step]
  %rest = phi {kind} [%n, %entry], [%half, %step]
  %go = icmp sgt {kind} %rest, 0
  br i1 %go, label %step, label %done
step:
  %bit = and {kind} %rest, 1
  %odd = icmp ne {kind} %bit, 0
  %times = mul {kind} %result, %base
  %product = select i1 %odd, {kind} %times, {kind} %result
  %square = mul {kind} %base, %base
  %half = lshr {kind} %rest, 1
  br label %loop
done:
  ret {kind} %result
}}
"""


def integer_power(module: ModuleEmitter, kind: str) -> str:
    """The symbol of a function that raises an integer to a non-negative power by squaring, wrapping around."""
    name = f"adc$ipow.{kind}"
    if name not in module.helpers:
        module.helpers[name] = name
        module.bodies.append(_INTEGER_POWER.format(kind=kind, name=name))
    return name


_POWER_FITS = """define internal i1 @{name}(i64 %x, i64 %n) nounwind willreturn memory(none) {{
entry:
  br label %loop
loop:
  %result = phi i64 [1, %entry], [%product, %step]
  %base = phi i64 [%x, %entry], [%square, %step]
  %rest = phi i64 [%n, %entry], [%half, %step]
  %held = phi i1 [true, %entry], [%holds, %step]
  %fine = phi i1 [true, %entry], [%good, %step]
  %go = icmp sgt i64 %rest, 0
  br i1 %go, label %step, label %done
step:
  %odd = trunc i64 %rest to i1
  %times = call {{i64, i1}} @llvm.smul.with.overflow.i64(i64 %result, i64 %base)
  %exact = extractvalue {{i64, i1}} %times, 0
  %over = extractvalue {{i64, i1}} %times, 1
  %not = xor i1 %over, true
  %right = and i1 %held, %not
  %product = select i1 %odd, i64 %exact, i64 %result
  %still = select i1 %odd, i1 %right, i1 true
  %good = and i1 %fine, %still
  %squared = call {{i64, i1}} @llvm.smul.with.overflow.i64(i64 %base, i64 %base)
  %square = extractvalue {{i64, i1}} %squared, 0
  %beyond = extractvalue {{i64, i1}} %squared, 1
  %within = xor i1 %beyond, true
  %holds = and i1 %held, %within
  %half = lshr i64 %rest, 1
  br label %loop
done:
  ret i1 %fine
}}
"""


def power_fits(module: ModuleEmitter) -> str:
    """The symbol of a function that tells whether an integer to a non-negative power fits into 64 bits."""
    name = "adc$power_fits"
    if name not in module.helpers:
        module.helpers[name] = name
        overflow = "llvm.smul.with.overflow.i64"
        module.declare(overflow, f"declare {{i64, i1}} @{overflow}(i64, i64)")
        module.bodies.append(_POWER_FITS.format(name=name))
    return name


_TERMS = 12
_SHIFT = 16.0  # least argument of the series; order n adds n to it


def polygamma_function(module: ModuleEmitter, order: int) -> str:
    """The symbol of ``double (double)`` computing the polygamma function of ``order`` (0: digamma)."""
    name = f"adc$polygamma.{order}"
    if name not in module.helpers:
        module.helpers[name] = name
        module.declare("llvm.roundeven.f64", "declare double @llvm.roundeven.f64(double)")
        for symbol in ("log", "sin", "cos"):
            module.declare(symbol, f"declare double @{symbol}(double) nounwind willreturn memory(none)")
        module.bodies.append(_polygamma(name, order))
    return name


def _polygamma(name: str, n: int) -> str:
    sign = -1.0 if n % 2 else 1.0  # (-1)^n
    lines = _Lines()
    lines.write(f"define internal double @{name}(double %x) nounwind memory(none) {{")
    lines.write("entry:")
    lines.write("  %positive = fcmp ogt double %x, 0.0")
    lines.write("  %mirror = fsub double 1.0, %x")
    lines.write("  %start = select i1 %positive, double %x, double %mirror")
    lines.write("  br label %climb")
    # Up to the argument where the series is accurate, summing 1 / y^(n+1).
    lines.write("climb:")
    lines.write("  %y = phi double [%start, %entry], [%y1, %step]")
    lines.write("  %sum = phi double [0.0, %entry], [%sum1, %step]")
    lines.write(f"  %low = fcmp olt double %y, {literal(_SHIFT + n, f64)}")
    lines.write("  br i1 %low, label %step, label %series")
    lines.write("step:")
    power = lines.power("%y", n + 1)
    lines.write(f"  %term = fdiv double 1.0, {power}")
    lines.write("  %sum1 = fadd double %sum, %term")
    lines.write("  %y1 = fadd double %y, 1.0")
    lines.write("  br label %climb")
    lines.write("series:")
    lines.write("  %r = fdiv double 1.0, %y")
    lines.write("  %r2 = fmul double %r, %r")
    # With z = 1/y^2 the tail is z/y^n * (c_1 + z (c_2 + ...)).
    coefficients = [
        _bernoulli(2 * k) * Fraction(math.factorial(2 * k + n - 1), math.factorial(2 * k)) for k in range(1, _TERMS + 1)
    ]
    tail = lines.let(f"fmul double %r2, {lines.horner('%r2', [float(c) for c in coefficients])}")
    if n == 0:
        log = lines.let("call double @log(double %y)")
        half = lines.let("fmul double %r, 0.5")
        less = lines.let(f"fsub double {log}, {half}")
        asymptotic = lines.let(f"fsub double {less}, {tail}")
        above = lines.let(f"fsub double {asymptotic}, %sum")
    else:
        # n!/(2 y^(n+1)) = r^n * n!/2 * r
        half = lines.let(f"fmul double %r, {literal(math.factorial(n) / 2.0, f64)}")
        both = lines.let(f"fadd double {half}, {tail}")
        inner = lines.let(f"fadd double {both}, {literal(float(math.factorial(n - 1)), f64)}")
        scaled = lines.let(f"fmul double {lines.power('%r', n)}, {inner}")
        climbed = lines.let(f"fmul double %sum, {literal(float(math.factorial(n)), f64)}")
        total = lines.let(f"fadd double {scaled}, {climbed}")
        above = lines.let(f"fmul double {total}, {literal(-sign, f64)}")
    lines.write("  br i1 %positive, label %right, label %left")
    lines.write("right:")
    lines.write(f"  ret double {above}")
    # psi_n(x) = (-1)^n [psi_n(1-x) - pi^(n+1) (-1)^n P_n(cot pi x)], where P_n is the n-th derivative of cot.
    lines.write("left:")
    # The distance from the nearest integer is exact.
    lines.write("  %nearest = call double @llvm.roundeven.f64(double %x)")
    lines.write("  %fraction = fsub double %x, %nearest")
    lines.write("  %whole = fcmp oeq double %fraction, 0.0")
    lines.write("  br i1 %whole, label %pole, label %reflect")
    lines.write("pole:")
    # At poles: infinite if n is odd; else the sign depends on the side, which only the sign of zero tells.
    if n % 2:
        lines.write(f"  ret double {literal(math.inf, f64)}")
    else:
        zero = lines.let("fcmp oeq double %x, 0.0")
        infinite = lines.let("fdiv double -1.0, %x")
        pole = lines.let(f"select i1 {zero}, double {infinite}, double {literal(math.nan, f64)}")
        lines.write(f"  ret double {pole}")
    lines.write("reflect:")
    angle = lines.let(f"fmul double %fraction, {literal(math.pi, f64)}")
    cos = lines.let(f"call double @cos(double {angle})")
    sin = lines.let(f"call double @sin(double {angle})")
    cot = lines.let(f"fdiv double {cos}, {sin}")
    derivative = lines.horner(cot, [float(c) for c in _cotangent_derivative(n)])
    scaled = lines.let(f"fmul double {derivative}, {literal(math.pi ** (n + 1), f64)}")
    signed = lines.let(f"fmul double {above}, {literal(sign, f64)}")
    result = lines.let(f"fsub double {signed}, {scaled}")
    lines.write(f"  ret double {result}")
    lines.write("}\n")
    return lines.text()


class _Lines:
    def __init__(self) -> None:
        self._lines: list[str] = []
        self._count = 0

    def write(self, line: str) -> None:
        self._lines.append(line)

    def let(self, text: str) -> str:
        self._count += 1
        self.write(f"  %t{self._count} = {text}")
        return f"%t{self._count}"

    def power(self, x: str, n: int) -> str:
        result = x
        for _ in range(n - 1):
            result = self.let(f"fmul double {result}, {x}")
        return result

    def horner(self, x: str, coefficients: Sequence[float]) -> str:
        """The polynomial with these coefficients, lowest power first."""
        result = literal(coefficients[-1], f64)
        for c in reversed(coefficients[:-1]):
            product = self.let(f"fmul contract double {result}, {x}")
            result = self.let(f"fadd contract double {product}, {literal(c, f64)}")
        return result

    def text(self) -> str:
        return "\n".join(self._lines)


def _bernoulli(n: int) -> Fraction:
    """The Bernoulli number B_n, by the Akiyama-Tanigawa scheme."""
    row = [Fraction(0)] * (n + 1)
    for m in range(n + 1):
        row[m] = Fraction(1, m + 1)
        for j in range(m, 0, -1):
            row[j - 1] = j * (row[j - 1] - row[j])
    return row[0]


def _cotangent_derivative(n: int) -> list[int]:
    """Coefficients in c = cot u of the n-th derivative of cot u: c' = -(1 + c^2)."""
    polynomial = [0, 1]
    for _ in range(n):
        derivative = [k * a for k, a in enumerate(polynomial)][1:]
        polynomial = [0] * (len(derivative) + 2)
        for k, a in enumerate(derivative):
            polynomial[k] -= a
            polynomial[k + 2] -= a
    return polynomial
