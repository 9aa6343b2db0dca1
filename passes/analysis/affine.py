"""Subscripts and loop bounds as polynomials with integer coefficients over loop counters, extents and other symbols.

A *form* is read in two ways. Modulo 2**64 every form that ``Forms.of`` gives equals its value: enough to compare two
subscripts for equality. As an integer it equals its value where its interval shows that nothing wraps around: what
comparisons need (``adc.passes.analysis.ranges``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, KeysView, Mapping
from typing import ClassVar

from adc.ir import ops
from adc.ir.core import Block, Op, Value
from adc.ir.nesting import enclosing, inside
from adc.passes.analysis.conditions import is_wide
from adc.passes.analysis.extents import Extent, Extents
from adc.passes.analysis.integers import Integers, Interval
from adc.passes.analysis.kinds import COUNTED
from adc.passes.analysis.linear import sum_of_terms

MAX_TERMS = 12
MAX_DEGREE = 4
MAX_DEPTH = 48
MAX_CONSTANT = 1 << 62
INT64: Interval = (-(1 << 63), (1 << 63) - 1)


class Symbol:
    """What forms are made of: a value, or (``dim`` not None) an extent of the memref ``value``.

    ``later``: the value that it has in another, later iteration of that loop.
    """

    __slots__ = ("dim", "later", "number", "value")

    def __init__(self, value: Value, dim: int | None, number: int, later: Op | None = None) -> None:
        self.value = value
        self.dim = dim
        self.number = number
        self.later = later

    @property
    def loop(self) -> Op | None:
        """The loop whose counter this is, if it is one."""
        owner = self.value.owner
        if self.dim is None and isinstance(owner, Block) and self.value.index == 0:
            op = owner.parent_op
            if op is not None and op.opdef in COUNTED:
                return op
        return None

    def __repr__(self) -> str:
        name = self.value.hint or f"v{self.number}"
        prime = "'" if self.later is not None else ""
        return name + prime + ("" if self.dim is None else f".shape[{self.dim}]")


Monomial = tuple[Symbol, ...]


class Form:
    """``sum(coefficient * product of symbols)``. Monomials are sorted by symbol; no coefficient is zero. Immutable, so
    that answers which are asked for repeatedly are remembered."""

    __slots__ = ("_hash", "_symbols", "terms")
    ZERO: ClassVar[Form]

    def __init__(self, terms: Mapping[Monomial, int]) -> None:
        self.terms = terms
        self._symbols: KeysView[Symbol] | None = None
        self._hash: int | None = None

    @staticmethod
    def number(value: int) -> Form:
        return Form({(): value}) if value else Form.ZERO

    @staticmethod
    def symbol(symbol: Symbol) -> Form:
        return Form({(symbol,): 1})

    @property
    def constant(self) -> int:
        return self.terms.get((), 0)

    @property
    def is_constant(self) -> bool:
        return not self.terms or (len(self.terms) == 1 and () in self.terms)

    @property
    def degree(self) -> int:
        return max(map(len, self.terms), default=0)

    def symbols(self) -> KeysView[Symbol]:
        known = self._symbols
        if known is None:
            known = self._symbols = dict.fromkeys([s for monomial in self.terms for s in monomial]).keys()
        return known

    def split(self, symbol: Symbol) -> tuple[Form, Form]:
        """``(a, b)`` with ``self == a * symbol + b``; ``b`` is free of ``symbol``, ``a`` too if self is linear."""
        with_it: dict[Monomial, int] = {}
        without: dict[Monomial, int] = {}
        for monomial, coefficient in self.terms.items():
            if symbol in monomial:
                k = monomial.index(symbol)
                with_it[monomial[:k] + monomial[k + 1 :]] = coefficient
            else:
                without[monomial] = coefficient
        return Form(with_it), Form(without)

    def coefficient(self, symbol: Symbol) -> Form:
        return self.split(symbol)[0]

    def substitute(self, symbol: Symbol, value: Form) -> Form:
        factor, rest = self.split(symbol)
        return self if not factor.terms else factor.substitute(symbol, value) * value + rest

    def __add__(self, other: Form | int) -> Form:
        return self._plus(other, 1)

    def __sub__(self, other: Form | int) -> Form:
        return self._plus(other, -1)

    def __neg__(self) -> Form:
        return Form({m: -c for m, c in self.terms.items()})

    def _plus(self, other: Form | int, factor: int) -> Form:
        if isinstance(other, int):
            other = Form.number(other)
        if not other.terms:
            return self
        return Form(sum_of_terms(self.terms, other.terms, factor))

    def __mul__(self, other: Form | int) -> Form:
        if isinstance(other, int):
            other = Form.number(other)
        if other.is_constant:  # as most are
            number = other.constant
            return self if number == 1 else Form({m: c * number for m, c in self.terms.items() if number})
        terms: dict[Monomial, int] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                product = tuple(sorted(m + n, key=_number)) if m and n else m + n
                terms[product] = terms.get(product, 0) + c * d
        return Form({m: c for m, c in terms.items() if c})

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Form) and self.terms == other.terms)

    def __hash__(self) -> int:
        known = self._hash
        if known is None:
            known = self._hash = hash(frozenset(self.terms.items()))
        return known

    def __str__(self) -> str:
        text = ""
        for monomial, c in sorted(self.terms.items(), key=lambda t: (-len(t[0]), [s.number for s in t[0]])):
            factors = "*".join(map(repr, monomial))
            size = factors if abs(c) == 1 and factors else f"{abs(c)}{'*' if factors else ''}{factors}"
            text += (" - " if c < 0 else " + ") + size if text else ("-" if c < 0 else "") + size
        return text or "0"


Form.ZERO = Form({})


def _number(symbol: Symbol) -> int:
    return symbol.number


class Forms:
    """The forms of the values of one function, found when asked for and remembered.

    What is remembered of a value stays true while passes replace values by equal ones.
    """

    def __init__(self) -> None:
        self.extents = Extents()
        self._integers = Integers()
        self._symbols: dict[tuple[Value, int | None, Op | None], Symbol] = {}
        self._forms: dict[Value, Form] = {}
        self._nonnegative: set[Symbol] = set()
        self.known: dict[Symbol, Interval] = {}  # what is known of symbols at this point, besides what they are made of

    # Forms ------------------------------------------------------------------------------------------------------------

    def symbol(self, value: Value, dim: int | None = None, later: Op | None = None) -> Symbol:
        known = self._symbols.get((value, dim, later))
        if known is None:
            known = self._symbols[value, dim, later] = Symbol(value, dim, len(self._symbols), later)
        return known

    def rename(self, old: Value, new: Value) -> None:
        """Let what is known of ``old`` hold for ``new``, which has taken its place."""
        for key in [k for k in self._symbols if k[0] is old]:
            symbol = self._symbols.pop(key)
            symbol.value = new
            self._symbols[new, *key[1:]] = symbol
        self.extents = Extents()

    def forget(self, values: Iterable[Value]) -> None:
        """Find the forms of ``values`` again when they are asked for, since what they are made of has been replaced."""
        for value in values:
            self._forms.pop(value, None)
        self.extents = Extents()

    def later(self, form: Form, loop: Op) -> Form:
        """The form in a later iteration of ``loop``: what is defined inside has other values there."""
        for symbol in sorted(form.symbols(), key=_number):
            if inside(symbol.value, loop):
                form = form.substitute(symbol, Form.symbol(self.symbol(symbol.value, symbol.dim, loop)))
        return form

    def of(self, value: Value, depth: int = MAX_DEPTH) -> Form:
        """The form of ``value``, an index or i64, equal to it modulo 2**64."""
        known = self._forms.get(value)
        if known is None:
            form = self._find(value, depth - 1) if depth else None
            if form is None or not _modest(form):
                form = Form.symbol(self.symbol(value))
            if not depth:
                return form
            known = self._forms[value] = form
        return known

    def extent(self, memref: Value, dim: int) -> Form:
        """An extent, with memrefs that are known to be of one shape reduced to one."""
        return self.in_extents(self.extents, memref, dim)

    def in_extents(self, extents: Extents, memref: Value, dim: int) -> Form:
        """The same, according to ``extents``."""
        return self._of_extent(extents.shape(memref)[dim])

    def _of_extent(self, extent: Extent) -> Form:
        if isinstance(extent, int):
            return Form.number(extent)
        if isinstance(extent, tuple):
            return Form.symbol(self.symbol(*extent))
        return self.of(extent)

    def _find(self, value: Value, depth: int) -> Form | None:
        op = value.op
        if op is None:
            return self._induction(value, depth)
        kind = op.opdef
        if kind is ops.constant:
            return Form.number(op.attrs["value"])
        if not is_wide(value):
            return None
        if kind is ops.addi or kind is ops.subi or kind is ops.muli:
            a, b = [self.of(v, depth) for v in op.operands]
            return a + b if kind is ops.addi else a - b if kind is ops.subi else a * b
        if kind is ops.index_cast and is_wide(op.operands[0]):
            return self.of(op.operands[0], depth)
        if kind is ops.dim:
            return self.extent(op.operands[0], op.attrs["dim"])
        return None

    def _induction(self, value: Value, depth: int) -> Form | None:
        """A carried integer to which every iteration adds the same: ``init + (i - lower) * addend`` (step one)."""
        block = value.owner
        loop = block.parent_op if isinstance(block, Block) else None
        if loop is None or loop.opdef is not ops.for_ or value.index == 0 or not is_wide(value):
            return None
        own = Form.symbol(self.symbol(value))
        known = len(self._forms)
        self._forms[value] = own
        addend = self.of(loop.regions[0].terminator.operands[value.index - 1], depth) - own
        while len(self._forms) > known:  # forms found in terms of ``own`` may not be the best
            self._forms.popitem()
        init = self.of(loop.operands[2 + value.index], depth)
        if not addend.terms:
            return init
        if self.of(loop.operands[2], depth) != Form.number(1) or any(inside(s.value, loop) for s in addend.symbols()):
            return None
        counter = Form.symbol(self.symbol(loop.regions[0].args[0]))
        return init + (counter - self.of(loop.operands[0], depth)) * addend

    # Intervals --------------------------------------------------------------------------------------------------------

    def assume_nonnegative(self, value: Value) -> Symbol | None:
        """From now on ``value``, the extent of a memref, is known not to be negative. Returns the symbol, if it is
        new."""
        form = self.of(value)
        for symbol in form.symbols():
            if symbol not in self._nonnegative and symbol.dim is None and form == Form.symbol(symbol):
                self._nonnegative.add(symbol)
                return symbol
        return None

    def forget_nonnegative(self, symbols: Iterable[Symbol]) -> None:
        """Forget assumptions whose scope has been left."""
        self._nonnegative.difference_update(symbols)

    def interval_of(self, symbol: Symbol, limit: int | None = None) -> Interval:
        """Two integers between which ``symbol`` lies; ``limit`` bounds the size of symbols that are not counters."""
        loop = symbol.loop
        if loop is not None:
            lower, upper = loop.operands[:2]
            low = self._of_value(self.of(lower), limit)[0]
            return low, max(self._of_value(self.of(upper), limit)[1] - 1, low)
        if symbol.dim is not None:
            low_high = (0, INT64[1])
        else:
            low_high = self._integers.interval(symbol.value)
            if symbol in self._nonnegative:
                low_high = (max(0, low_high[0]), low_high[1])
        known = self.known.get(symbol, INT64)
        low_high = (max(low_high[0], known[0]), min(low_high[1], known[1]))
        if limit is not None:
            low_high = (max(low_high[0], -limit), min(low_high[1], limit))
        return low_high

    def interval(self, form: Form, limit: int | None = None) -> Interval:
        """The integers between which the form lies, read as a polynomial over integers."""
        low = high = 0
        for monomial, coefficient in form.terms.items():
            if len(monomial) == 1:
                a, b = self.interval_of(monomial[0], limit)
                if coefficient < 0:
                    a, b = b, a
                low, high = low + coefficient * a, high + coefficient * b
                continue
            a = b = coefficient
            for symbol in monomial:
                c, d = self.interval_of(symbol, limit)
                corners = (a * c, a * d, b * c, b * d)
                a, b = min(corners), max(corners)
            low, high = low + a, high + b
        return low, high

    def _of_value(self, form: Form, limit: int | None) -> Interval:
        """The interval of the value that the form stands for, which may have wrapped around."""
        low, high = self.interval(form, limit)
        return (low, high) if low >= INT64[0] and high <= INT64[1] else INT64

    def is_nonnegative(self, form: Form) -> bool:
        """Whether the value that the form stands for is never negative, as far as intervals show."""
        return self._of_value(form, None)[0] >= 0

    def is_exact(self, form: Form, limit: int | None = None) -> bool:
        """Whether the form cannot wrap around: as an integer it is the value that it stands for."""
        low, high = self.interval(form, limit)
        return low >= INT64[0] and high <= INT64[1]


def _modest(form: Form) -> bool:
    if len(form.terms) > MAX_TERMS or form.degree > MAX_DEGREE:
        return False
    return all(abs(c) < MAX_CONSTANT for c in form.terms.values())


def nest_around(op: Op, known: Iterable[Value]) -> Op:
    """``op``, or the outermost loop or branch around it before which the values are known."""
    values = list(known)
    while True:
        around = next(enclosing(op.parent), None)
        if around is None or any(inside(v, around) for v in values):
            return op
        op = around


def never_zero(form: Form) -> bool:
    """Whether the form is zero for no integers: the constant is not a multiple of the divisor of all other
    coefficients."""
    divisor = math.gcd(*(c for monomial, c in form.terms.items() if monomial))
    return bool(form.constant % divisor) if divisor else form.constant != 0
