"""Where a nest of loops reads the same elements again in a later iteration of its outer loop, and how it can be cut.

The loops inside a parallel loop are taken level by level: the body must consist of one loop, or of a branch between
loops, with statements before and after it that run once. Accesses to one array at several offsets in the outer loop
tell how many of its planes (rows, in two dimensions) must stay in cache so that each is read from memory once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field

from adc.ir import ops
from adc.ir.arith import constant_of
from adc.ir.core import Block, Op, Value
from adc.ir.lazy_dataclass import dataclass
from adc.ir.loop_attrs import REVERSE
from adc.ir.nesting import enclosing, inside
from adc.ir.types import MemRefType, scalar_bytes
from adc.passes.analysis.affine import Form, Forms, Symbol
from adc.passes.analysis.cold import walk_warm, warm_regions
from adc.passes.analysis.costs import has_known_length
from adc.passes.analysis.kinds import COUNTED, ELEMENT, PURE, TRAPS, WRITES, accessed
from adc.passes.simd.align_loops import is_quick

Span = tuple[Form, Form]  # lower and upper bound of a loop
SHORT = 32  # iterations of a loop of known length
_PLAIN = frozenset({REVERSE, "threads"})
_SUMS = frozenset({ops.addf, ops.subf})
_STATEMENTS = PURE | {ops.load, ops.store}


class Whole(Exception):
    """Raised with the reason why a nest is not cut."""


@dataclass(eq=False)
class Part:
    """A block in which ``main``, a loop or a branch, does the work.

    ``before`` and ``after`` are operations that run once; ``shared`` are those of the block that both, or the loop,
    use. ``inner``: the body of a loop whose inner loop is cut as well, or the sides of a branch; None for sides without
    a loop.
    """

    block: Block
    main: Op
    before: list[Op]
    shared: list[Op]
    after: list[Op]
    inner: list[Part | None] = field(default_factory=list)

    def loops(self) -> Iterator[Op]:
        """The loops of this level."""
        if self.main.opdef is ops.if_:
            for side in self.inner:
                if side is not None:
                    yield from side.loops()
        else:
            yield self.main

    def bodies(self) -> Iterator[Part]:
        """The bodies of the loops of this level whose inner loops are cut as well."""
        for part in self.inner:
            if part is not None:
                yield from [part] if self.main.opdef is not ops.if_ else part.bodies()


def find_part(block: Block, forms: Forms, apart: Callable[[Op], bool]) -> Part:
    """The loop that takes the time in ``block``. ``apart``: whether nothing in the nest writes what a load reads."""
    found = [op for op in block.ops if op.regions and not _is_short(op, forms)]
    if len(found) != 1:
        raise Whole("several loops or branches in an iteration" if found else "no long loop in an iteration")
    (main,) = found
    inner: list[Part | None] = []
    if main.results:
        raise Whole("a loop inside sums" if main.opdef in COUNTED else "a branch inside has results")
    if main.opdef is ops.if_:
        inner = [_side(region, main, forms, apart) for region in main.regions]
        if all(side is None for side in inner):
            raise Whole("no side of a branch inside is one loop")
    elif main.opdef not in COUNTED or not main.attrs.keys() <= _PLAIN or constant_of(main.operands[2]) != 1:
        raise Whole("a loop inside is of another kind")
    return _split(block, main, apart, inner)


def _side(region: Block, branch: Op, forms: Forms, apart: Callable[[Op], bool]) -> Part | None:
    if region not in warm_regions(branch):
        return None
    try:
        return find_part(region, forms, apart)
    except Whole:
        return None


def _split(block: Block, main: Op, apart: Callable[[Op], bool], inner: list[Part | None]) -> Part:
    """Separate what is to run once from what is only computed for others to use."""
    *body, _ = block.ops
    at = body.index(main)
    first, after = body[:at], body[at + 1 :]
    if not all(op.regions or op.opdef in _STATEMENTS for op in (*first, *after)):
        raise Whole("more than arithmetic beside the loop inside")
    shared: set[Op] = set()
    work = [main, *after]
    while work:
        op = work.pop()
        for user in (op, *(o for region in op.regions for o in region.walk())):
            for made in (v.op for v in user.operands):
                if made is None or made in shared or made not in first:
                    continue
                if made.regions or (made.opdef is ops.load and not apart(made)):
                    raise Whole("the loop inside uses what is changed in the nest")
                shared.add(made)
                work.append(made)
    before = [op for op in first if op not in shared]
    if any(_is_fused(op, shared) for op in (*before, *after)):
        raise Whole("a product beside the loop inside may be fused with a sum")
    if all(op.opdef in PURE for op in before):
        shared.update(before)
        before = []
    return Part(block, main, before, [op for op in first if op in shared], after, inner)


def _is_fused(op: Op, products: set[Op]) -> bool:
    """Whether ``op`` may be fused with one of ``products`` into one operation, if both stay in one block."""
    if op.opdef not in _SUMS:
        return False
    return any(v.op is not None and v.op.opdef is ops.mulf and v.op in products for v in op.operands)


@dataclass(eq=False)
class Level:
    """Loops of which one runs in each iteration of what is around them; the first one determines the range."""

    loops: list[Op]
    lower: Form
    upper: Form
    span: int = 0
    """The number of iterations over which accesses to one array are spread."""
    innermost: bool = False
    """Whether code inside is at most unrolled, so that these loops are SIMD."""


@dataclass(eq=False)
class Nest:
    """A parallel loop whose iterations read what others read. ``point``: bytes that must stay in cache for one point of
    the levels, by the ranges of inner loops that arrays go along as well. ``arrays``: those that are read again, and
    the number of planes of each."""

    outer: Op
    body: Part
    levels: list[Level]
    point: dict[tuple[Span, ...], int]
    arrays: list[tuple[str, int]]


def find_nest(outer: Op, forms: Forms, may_overlap: Callable[[Value, Value], bool], most: int) -> Nest | None:
    """How up to ``most`` loops inside ``outer`` can be cut; None if nothing is gained. Raises ``Whole``."""
    if outer.results or not outer.attrs.keys() <= _PLAIN or constant_of(outer.operands[2]) is None:
        return None
    inner = [op for op in walk_warm(outer.regions[0]) if op.regions or op.opdef in ELEMENT]
    if not any(op.opdef in COUNTED for op in inner) or not _reads_neighbours(outer, inner, forms):
        return None
    everything = [op for op in outer.regions[0].walk() if not op.regions]
    if any(op.opdef is ops.accumulate for op in everything):
        raise Whole("it sums in order")
    if any(op.opdef in WRITES and op.opdef is not ops.store for op in everything):
        raise Whole("it does more to memory than loading and storing")
    if any(op.opdef in TRAPS and op.attrs.get("check", True) for op in everything):
        raise Whole("it calls functions, or may raise an error")
    stores = {op.operands[1] for op in everything if op.opdef is ops.store}

    def apart(load: Op) -> bool:
        return not any(_may_meet(load.operands[0], m, outer, may_overlap) for m in stores)

    body = find_part(outer.regions[0], forms, apart)
    levels = [_level(body, outer, forms)]
    parts = [body]
    while len(levels) < most and all(loop.opdef is ops.parallel for loop in levels[-1].loops):
        try:
            level = _deeper(parts, outer, forms, apart)
        except Whole:
            break
        parts = [inner for part in parts for inner in part.bodies()]
        levels.append(level)
    bodies = [op for loop in levels[-1].loops for op in loop.regions[0].ops if op.regions]
    levels[-1].innermost = all(_is_short(op, forms) for op in bodies)
    _check_vectors(levels, forms)
    point, arrays = _planes(outer, levels, forms)
    return Nest(outer, body, levels, point, arrays) if arrays else None


def _check_vectors(levels: Sequence[Level], forms: Forms) -> None:
    """Elementary functions of vectors may differ in the last bit from scalar ones: blocks must not change which
    elements form a vector."""
    last = levels[-1]
    for loop in (loop for loop in last.loops if not all(map(is_quick, loop.regions[0].walk()))):
        if last.innermost and forms.of(loop.operands[0]) != last.lower:
            raise Whole("loops with elementary functions start differently")
        if not last.innermost and any(map(has_known_length, loop.regions[0].walk())):
            raise Whole("a loop of known length with elementary functions may be unrolled")


def _may_meet(a: Value, b: Value, outer: Op, may_overlap: Callable[[Value, Value], bool]) -> bool:
    return a is b or inside(a, outer) or inside(b, outer) or may_overlap(a, b)


def _level(part: Part, outer: Op, forms: Forms) -> Level:
    loops = list(part.loops())
    lower, upper = (forms.of(v) for v in loops[0].operands[:2])
    if any(inside(s.value, outer) for s in lower.symbols() | upper.symbols()):
        raise Whole("rows differ in length")
    return Level(loops, lower, upper)


def _is_short(op: Op, forms: Forms) -> bool:
    """Whether ``op`` is a loop of few iterations, or a branch, without long loops inside: it is unrolled, or short
    compared with another loop."""
    if op.opdef in COUNTED:
        lower, upper = (forms.of(v) for v in op.operands[:2])
        length = upper - lower
        if not length.is_constant or length.constant > SHORT or not op.attrs.keys() <= _PLAIN:
            return False
    elif op.opdef is not ops.if_:
        return False
    return all(_is_short(inner, forms) for region in op.regions for inner in region.ops if inner.regions)


def _deeper(parts: Sequence[Part], outer: Op, forms: Forms, apart: Callable[[Op], bool]) -> Level:
    """Let the loops inside those of the last level be cut as well."""
    leaves = [part for whole in parts for part in _leaves(whole)]
    found = [find_part(part.main.regions[0], forms, apart) for part in leaves]
    levels = [_level(part, outer, forms) for part in found]
    for part, inner in zip(leaves, found, strict=True):
        part.inner = [inner]
    return Level([loop for level in levels for loop in level.loops], levels[0].lower, levels[0].upper)


def _leaves(part: Part) -> Iterator[Part]:
    if part.main.opdef is not ops.if_:
        yield part
    for side in part.inner:
        if side is not None and part.main.opdef is ops.if_:
            yield from _leaves(side)


# What is read again ---------------------------------------------------------------------------------------------------


def _reads_neighbours(outer: Op, found: Sequence[Op], forms: Forms) -> bool:
    """Whether a closer look is worth while."""
    counter = forms.symbol(outer.regions[0].args[0])
    seen: dict[object, set[int]] = {}
    for op in found:
        if op.opdef not in ELEMENT:
            continue
        memref, *subscripts = accessed(op)
        if inside(memref, outer):
            continue
        for d, v in enumerate(subscripts):
            form = forms.of(v)
            if counter in form.symbols():
                seen.setdefault((memref, d), set()).add(form.constant)
    return any(len(constants) > 1 for constants in seen.values())


@dataclass(eq=False)
class _Array:
    """Accesses to one array that differ only in constant offsets. ``spans``: for each level, the least and greatest of
    these; ``inner``: inner loops that the array goes along; ``scale``: one of so many elements is accessed."""

    memref: Value
    spans: dict[int, tuple[int, int]]
    inner: tuple[Span, ...]
    scale: int


def _planes(
    outer: Op, levels: Sequence[Level], forms: Forms
) -> tuple[dict[tuple[Span, ...], int], list[tuple[str, int]]]:
    step = constant_of(outer.operands[2])
    assert step is not None
    arrays: dict[object, _Array] = {}
    for loop in levels[-1].loops:
        counters = {forms.symbol(outer.regions[0].args[0]): 0}
        around = [loop, *enclosing(loop.parent)]
        for n, level in enumerate(levels):
            own = next(op for op in around if op in level.loops)
            counters[forms.symbol(own.regions[0].args[0])] = n + 1
        for op in walk_warm(loop.regions[0]):
            if op.opdef in ELEMENT:
                _note(op, outer, counters, forms, arrays)
    point: dict[tuple[Span, ...], int] = {}
    shown = []
    found = [a for a in arrays.values() if set(range(1, len(levels) + 1)) <= a.spans.keys()]
    rank = max((_long(a.inner) for a in found), default=0)
    for array in (a for a in found if _long(a.inner) == rank):  # beside these, others are small
        t = array.memref.type
        assert isinstance(t, MemRefType)
        low, high = array.spans.get(0, (0, 0))
        planes = (high - low) // int(step) + 1
        point[array.inner] = point.get(array.inner, 0) + planes * scalar_bytes(t.element) * array.scale
        for n, level in enumerate(levels):
            low, high = array.spans[n + 1]
            level.span = max(level.span, high - low)
        if planes > 1:
            shown.append((array.memref.hint or "an array", planes))
    return point, shown


def _long(spans: Iterable[Span]) -> int:
    """The number of loops that are not known to be short."""
    lengths = [upper - lower for lower, upper in spans]
    return sum(not length.is_constant or length.constant > SHORT for length in lengths)


def _note(op: Op, outer: Op, counters: dict[Symbol, int], forms: Forms, arrays: dict[object, _Array]) -> None:
    """Group an access with similar ones. One that follows no loops, such as a gather, is left out."""
    memref, *subscripts = accessed(op)
    if inside(memref, outer):
        return
    key: list[object] = [memref]
    offsets: dict[int, int] = {}
    inner: list[Span] = []
    scale = 1
    for rest in map(forms.of, subscripts):
        followed: list[tuple[int | Span, int]] = []
        for symbol in sorted(rest.symbols(), key=lambda s: s.number):
            if symbol not in counters and not inside(symbol.value, outer):
                continue
            factor, rest = rest.split(symbol)
            what = counters.get(symbol) if symbol in counters else _span(symbol, outer, forms)
            if not factor.is_constant or what is None:
                return
            if not isinstance(what, int):
                inner.append(what)
            followed.append((what, factor.constant))
        if len(followed) == 1:
            ((what, size),) = followed
            if isinstance(what, int):
                if what in offsets:
                    return
                offsets[what] = rest.constant // abs(size)
            scale *= abs(size) if what != 0 else 1
            rest = rest - rest.constant
        key.append((tuple(followed), rest))
    array = arrays.setdefault(tuple(key), _Array(memref, {n: (o, o) for n, o in offsets.items()}, tuple(inner), scale))
    for level, offset in offsets.items():
        low, high = array.spans[level]
        array.spans[level] = min(low, offset), max(high, offset)


def _span(symbol: Symbol, outer: Op, forms: Forms) -> Span | None:
    """The range of the loop in ``outer`` whose counter ``symbol`` is, if it is known before ``outer``."""
    if symbol.loop is None:
        return None
    lower, upper = (forms.of(v) for v in symbol.loop.operands[:2])
    return None if any(inside(s.value, outer) for s in lower.symbols() | upper.symbols()) else (lower, upper)
