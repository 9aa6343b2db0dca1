"""LLVM IR of functions on doubles that are written here: one for a number, and one for each width of vectors.

All are of the same operations, so that what the loop vectoriser does not reach has the same bits. The widest is for two
registers: each operation waits for the one before, and while it does there is the other register to go on with.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adc.backend.lowering.lower_types import literal
from adc.ir.types import f64

if TYPE_CHECKING:
    from adc.backend.lowering.module_emitter import ModuleEmitter

PURE = "nounwind willreturn memory(none)"
PREFIX = "adc$own."  # of the names of such functions
ROUND = 1.5 * 2.0**52  # added to a small number, leaves the nearest integer in the low bits


def defines(name: str) -> bool:
    """Whether this is the name of one of these functions, which calls need in their module."""
    return name.startswith(PREFIX)


def define(module: ModuleEmitter, symbol: str, function: Callable[[str, int, str], str]) -> None:
    """Put a function and its variants for vectors into a module; ``function`` writes one, given its name, its lanes and
    its attributes."""
    if symbol in module.helpers:
        return
    module.helpers[symbol] = symbol
    target = module.target
    widths = (*target.double_lanes, target.twofold_lanes) if module.vectors else ()
    names = {lanes: f"{symbol}.{lanes}" for lanes in widths}
    listed = ",".join(f"_ZGV_LLVM_N{lanes}v_{symbol}({name})" for lanes, name in names.items())
    variants = f' "vector-function-abi-variant"="{listed}"' if names else ""
    # Not inlined before loops are made SIMD: a loop with a call is, one with what it does is not.
    module.bodies.append(function(symbol, 1, f"{PURE} noinline{variants}"))
    for lanes, name in names.items():
        module.bodies.append(function(name, lanes, f"{PURE} alwaysinline"))
        module.used[name] = None


class Code:
    """Instructions on doubles, or on vectors of as many as there are lanes."""

    def __init__(self, module: ModuleEmitter, lanes: int) -> None:
        self.module = module
        self.lanes = lanes
        self.lines: list[str] = []
        self.kind, self.integers = ("double", "i64") if lanes == 1 else (f"<{lanes} x double>", f"<{lanes} x i64>")
        self._count = 0

    def let(self, text: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {text}")
        return f"%v{self._count}"

    def intrinsic(self, name: str, arity: int) -> str:
        symbol = f"llvm.{name}.f64" if self.lanes == 1 else f"llvm.{name}.v{self.lanes}f64"
        self.module.declare(symbol, f"declare {self.kind} @{symbol}({', '.join([self.kind] * arity)})")
        return f"@{symbol}"

    def constant(self, value: float) -> str:
        return literal(value, f64) if self.lanes == 1 else f"splat (double {literal(value, f64)})"

    def integer(self, value: int) -> str:
        return str(value) if self.lanes == 1 else f"splat (i64 {value})"

    @property
    def booleans(self) -> str:
        return self.integers.replace("i64", "i1")

    def do(self, instruction: str, x: str, y: str) -> str:
        return self.let(f"{instruction} {self.kind} {x}, {y}")

    def integral(self, instruction: str, x: str, y: str) -> str:
        return self.let(f"{instruction} {self.integers} {x}, {y}")

    def bits(self, x: str) -> str:
        return self.let(f"bitcast {self.kind} {x} to {self.integers}")

    def number(self, bits: str) -> str:
        return self.let(f"bitcast {self.integers} {bits} to {self.kind}")

    def choose(self, predicate: str, x: str, y: float, then: str, otherwise: str) -> str:
        """One value or the other, by how ``x`` compares with ``y``."""
        holds = self.let(f"fcmp {predicate} {self.kind} {x}, {self.constant(y)}")
        return self.let(f"select {self.booleans} {holds}, {self.kind} {then}, {self.kind} {otherwise}")

    def fma(self, a: str, b: str, c: str) -> str:
        v = self.kind
        return self.let(f"call {v} {self.intrinsic('fma', 3)}({v} {a}, {v} {b}, {v} {c})")

    def polynomial(self, powers: list[str], coefficients: tuple[float, ...]) -> str:
        """By Estrin's scheme: neighbours are joined until one is left. ``powers``: z, z^2, z^4, ..."""
        values = list(map(self.constant, coefficients))
        for power in powers:
            pairs = zip(values[::2], values[1::2], strict=False)
            left = values[-1:] if len(values) % 2 else []
            values = [self.fma(high, power, low) for low, high in pairs] + left
        (value,) = values
        return value
