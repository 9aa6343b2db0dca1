"""LLVM IR of adc's own functions on doubles: a scalar version, and one for each vector width.

All versions have the same operations, so that code which is not vectorised gives the same bits. The widest version
takes two registers: operations form a dependent chain, so a second independent chain hides its latency.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from adc.backend.lowering.lower_types import literal
from adc.ir.types import f64

if TYPE_CHECKING:
    from adc.backend.lowering.module_emitter import ModuleEmitter

PURE = "nounwind willreturn memory(none)"
PREFIX = "adc$own."  # of the names of these functions
ROUND = 1.5 * 2.0**52  # adding it to a small number leaves the nearest integer in the low bits


def defines(name: str) -> bool:
    """Whether this is the name of one of these functions, which must be defined in the module that calls it."""
    return name.startswith(PREFIX)


def define(module: ModuleEmitter, symbol: str, function: Callable[[str, int, str], str]) -> None:
    """Add a function and its vector variants to a module; ``function`` writes one of them, given name, lanes and
    attributes."""
    if symbol in module.helpers:
        return
    module.helpers[symbol] = symbol
    target = module.target
    widths = (*target.double_lanes, target.twofold_lanes) if module.vectors else ()
    names = {lanes: f"{symbol}.{lanes}" for lanes in widths}
    listed = ",".join(f"_ZGV_LLVM_N{lanes}v_{symbol}({name})" for lanes, name in names.items())
    variants = f' "vector-function-abi-variant"="{listed}"' if names else ""
    # Not inlined before loops are vectorised: LLVM vectorises a loop that calls the function, but not its inlined body.
    module.bodies.append(function(symbol, 1, f"{PURE} noinline{variants}"))
    for lanes, name in names.items():
        module.bodies.append(function(name, lanes, f"{PURE} alwaysinline"))
        module.used[name] = None


class Code:
    """Instructions on doubles, or on vectors of ``lanes`` doubles."""

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
        """``then`` if ``x`` compares with ``y`` as ``predicate`` says, else ``otherwise``."""
        holds = self.let(f"fcmp {predicate} {self.kind} {x}, {self.constant(y)}")
        return self.let(f"select {self.booleans} {holds}, {self.kind} {then}, {self.kind} {otherwise}")

    def fma(self, a: str, b: str, c: str) -> str:
        v = self.kind
        return self.let(f"call {v} {self.intrinsic('fma', 3)}({v} {a}, {v} {b}, {v} {c})")

    def polynomial(self, powers: list[str], coefficients: tuple[float, ...]) -> str:
        """A polynomial by Estrin's scheme: neighbouring terms are combined until one is left. ``powers``: z, z^2, z^4,
        ..."""
        values = list(map(self.constant, coefficients))
        for power in powers:
            pairs = zip(values[::2], values[1::2], strict=False)
            left = values[-1:] if len(values) % 2 else []
            values = [self.fma(high, power, low) for low, high in pairs] + left
        (value,) = values
        return value
