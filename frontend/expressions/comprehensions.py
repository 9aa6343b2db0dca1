"""Comprehensions and generator expressions.

Over items that are known one by one they are unrolled: the result is a list or dict of the tracer's, or the items'
``sum``, ``min``, ``max``, ``any`` or ``all``. Over a run-time number of items, these five become loops, and a list
passed to NumPy becomes an array. The variables of a comprehension are its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from adc.frontend import abstract
from adc.frontend.arrays import arrays
from adc.frontend.containers import making, sequences
from adc.frontend.control.branches import branch
from adc.frontend.control.loops import Counted, decided, for_counted, needed
from adc.frontend.data.callables import Closure
from adc.frontend.data.described import widen
from adc.frontend.data.dims import dim_value, equal_dims, same_dim
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Array,
    Compound,
    Generator,
    Range,
    Ref,
    Static,
    Stream,
    Tuple,
    is_list,
    is_numeric,
)
from adc.frontend.errors import refuse
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept
from adc.frontend.expressions.generators import over_generator
from adc.frontend.expressions.item_effects import tried
from adc.frontend.expressions.targets import bind_target
from adc.frontend.few_items import each
from adc.frontend.frame import Frame
from adc.frontend.iteration import Indexed, Items, Known, known, not_iterable, sequence
from adc.frontend.numeric import views
from adc.frontend.numeric.convert import as_number, store_scalar
from adc.frontend.numeric.nests import allocate
from adc.frontend.objects import growing, heap
from adc.frontend.syntax.bindings import assigned_in
from adc.frontend.traps import trap_unless
from adc.ir import kinds, ops
from adc.ir.arith import const_index
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass

Comprehension = ast.ListComp | ast.GeneratorExp | ast.DictComp
Nodes = (ast.ListComp, ast.GeneratorExp)
IN_A_LOOP = "fill an array made with np.zeros() in a loop; sum(), min(), max(), any() and all() of it work as well"
_ARRAYS = frozenset(
    {np.array, np.asarray, np.sum, np.min, np.max, np.prod, np.mean, np.dot, np.median, np.std, np.var, np.argmin}
    | {np.argmax, np.stack, np.vstack, np.column_stack, np.cumsum}
)
_ONE_BEHIND_THE_OTHER = frozenset({np.concatenate, np.hstack})
_JOINED = frozenset({np.vstack, np.column_stack})  # their items may differ in length unless they are rows


@dataclass(eq=False)
class Walk:
    """One pass through a comprehension. ``carried``: the variables that a loop over it carries; None if the number of
    items must be known."""

    frame: Frame
    node: Comprehension
    emit: Callable[[], None]
    carried: frozenset[str] | None = None
    first: Callable[[Items], Items] = lambda items: items  # done before a loop; returns the items that remain

    @property
    def named(self) -> frozenset[str]:
        """The names assigned by ``:=``, which belong to the enclosing function."""
        return assigned_in([self.node])

    def run(self) -> None:
        undecided = self.frame.tracer.attempt.undecided(self.frame.loc(self.node))
        with undecided, _own_scope(self.frame, self.node):
            self._generator(0, self.items(0))

    def items(self, level: int) -> Items:
        source = self.node.generators[level].iter
        value = evaluate(self.frame, source)
        if isinstance(value, Range):
            value = needed(value) if self.carried is None else decided(self.frame, self.frame.loc(self.node), value)
        with self.frame.at(source):
            found = sequence(self.frame, value)
        if found is None:
            if isinstance(value, Generator):
                message = f"a comprehension cannot go through {describe_type(value)}"
                help = "make a list of it: list(f(...))"
                raise refuse(self.frame.loc(source), message, help, kind=kinds.NOT_ITERABLE)
            with self.frame.at(source):
                raise not_iterable(value, "cannot loop over")
        return found

    def _generator(self, level: int, items: Items) -> None:
        if self.carried is None:
            few = items if isinstance(items, Known) else items.one_by_one()
            known = None if few is None else few.whole()
        else:
            known = items.all()
        if known is not None:
            self._one_by_one(level, known)
            return
        if self.carried is None:
            raise refuse(
                self.frame.loc(self.node),
                "the number of items must be known when the function is compiled",
                IN_A_LOOP,
                kind=kinds.NOT_CONSTANT,
            )
        items = self.first(items)
        if isinstance(items, Known):
            self._limited(level, items, self.carried)
            return
        with each(self.frame, self.node.generators[level].iter, items) as few:
            if few is None:
                self.loop(level, items, lambda: self._conditions(level, 0))
            else:
                self._one_by_one(level, few.whole())

    def _one_by_one(self, level: int, items: Sequence[AbstractValue]) -> None:
        for item in items:
            self._bind(level, item)
            self._conditions(level, 0)

    def _limited(self, level: int, items: Known, carried: frozenset[str]) -> None:
        """Items that are known one by one; each exists only if the run-time limits say so."""

        def one(k: int) -> None:
            self._bind(level, items.item(k))
            self._conditions(level, 0)

        for k in range(items.count):
            branch(self.frame, items.has(k), partial(one, k), lambda: None, carried | self.named)

    def loop(self, level: int, items: Indexed, body: Callable[[], None], counter: list[Value] | None = None) -> None:
        """A loop in the code over a run-time number of items."""
        length = dim_value(items.length)
        numbers = Counted(const_index(0), length, const_index(1), lambda k: k, lambda: length)

        def start(k: Value) -> None:
            if counter is not None:
                counter[:] = [k]
            with self.frame.at(self.node.generators[level].target):
                self._bind(level, items.item(k))

        read = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        carried = self.carried or frozenset()
        stmt = _statement(self.frame, self.node.generators[level], carried, self.named, self.named & read)
        for_counted(self.frame, stmt, numbers, start, body, "k")

    def _bind(self, level: int, item: AbstractValue) -> None:
        bind_target(self.frame, self.node.generators[level].target, item)

    def _conditions(self, level: int, k: int) -> None:
        generator = self.node.generators[level]
        if k == len(generator.ifs):
            if level + 1 == len(self.node.generators):
                self.emit()
            else:
                self._generator(level + 1, self.items(level + 1))
            return
        at, attempt = self.frame.loc(generator.ifs[k]), self.frame.tracer.attempt
        known = attempt.decide(at, condition(self.frame, generator.ifs[k]))
        if not isinstance(known, bool):
            with attempt.undecided(at):
                self._item_if(known, generator.ifs[k], lambda: self._conditions(level, k + 1))
        elif known:
            self._conditions(level, k + 1)

    def _item_if(self, known: Value, test: ast.expr, item: Callable[[], None]) -> None:
        if self.carried is None:
            raise refuse(
                self.frame.loc(test),
                "which items belong to it must be known when the function is compiled",
                "use sum(), min(), max(), any() or all() of a generator expression, or a loop",
                kind=kinds.NOT_CONSTANT,
            )
        branch(self.frame, known, item, lambda: None, self.carried | self.named)


@contextmanager
def _own_scope(frame: Frame, node: Comprehension) -> Iterator[None]:
    """The variables of a comprehension hide those of the function while it runs."""
    hidden = {name: frame.env.get(name) for name in _variables(node)}
    yield
    for name, value in hidden.items():
        if value is None:
            frame.env.pop(name, None)
        else:
            frame.env[name] = value


def _variables(node: Comprehension) -> set[str]:
    return {n.id for g in node.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}


def item_of(frame: Frame, node: Comprehension, part: ast.expr) -> AbstractValue:
    """An item that outlives its iteration. A function in it must not read the comprehension's variables later."""
    value = evaluate_kept(frame, part)
    late = sorted(_read_later(frame, value) & _variables(node))
    if late:
        raise refuse(
            frame.loc(part),
            f"a function that the comprehension makes reads its variable '{late[0]}' after it has changed",
            f"give it the present value: lambda ..., {late[0]}={late[0]}: ...",
            kind=kinds.UNSUPPORTED_EXPRESSION,
        )
    return value


def _read_later(frame: Frame, value: AbstractValue) -> set[str]:
    """The variables that functions within ``value`` read when they are called."""
    if isinstance(value, Closure):
        return set(value.code.free) if value.code.frame is frame else set()
    items = value.items if isinstance(value, Compound) else ()
    if isinstance(value, Ref):
        items = heap.contents(frame, value).items
    return {name for item in items for name in _read_later(frame, item)}


def _statement(
    frame: Frame, generator: ast.comprehension, carried: frozenset[str], named: frozenset[str], read: frozenset[str]
) -> ast.For:
    """The loop statement equivalent to a generator, with the variables that it assigns and reads."""
    live = frame.liveness
    known = live.generators.get(generator)
    if known is None:
        known = ast.For(generator.target, generator.iter, [], [])
        ast.copy_location(known, generator.iter)
        live.generators[generator] = known
    for table in (live.assigns, live.body_assigns, live.after):
        table[known] = carried | named
    live.reads[known] = carried | read
    live.settles[known] = frozenset()
    return known


def list_of(frame: Frame, node: ast.ListComp | ast.GeneratorExp) -> AbstractValue:
    """The list of a comprehension, whose number of items may be known only at run time."""
    if over_generator(frame, node):
        return frame.tracer.comprehended(frame, node)
    made = sequences.new_list(frame, [])
    name = f"<list {node.lineno}:{node.col_offset}>"
    frame.env[name] = made

    def emit() -> None:
        item = item_of(frame, node, node.elt)
        with frame.at(node.elt):
            growing.append(frame, made, item)

    Walk(frame, node, emit, frozenset()).run()
    frame.env.pop(name, None)
    return made


def set_of(frame: Frame, node: ast.SetComp) -> AbstractValue:
    """The set of the items of a comprehension."""
    made = list_of(frame, ast.copy_location(ast.ListComp(node.elt, node.generators), node))
    return making.construct(frame, set, [made], {})


def generator(frame: Frame, node: ast.GeneratorExp) -> Stream:
    """The items of a generator expression, whose number must be known: computed ahead, for use in place."""
    found: list[AbstractValue] = []
    Walk(frame, node, lambda: found.append(item_of(frame, node, node.elt))).run()
    return Stream("", known(found), ahead=True)


def takes_array(callee: Any) -> bool:
    """Whether a function of NumPy takes the array of a list's items instead of the list."""
    return isinstance(callee, Hashable) and callee in _ARRAYS


def array_of(frame: Frame, callee: Any, node: ast.ListComp) -> Array | None:
    """The array that NumPy makes of a list with a run-time number of items; None if ``node`` is not such a list."""
    if not takes_array(callee) or len(node.generators) != 1 or node.generators[0].ifs:
        return None
    walk = Walk(frame, node, lambda: None, frozenset())
    with _own_scope(frame, node):
        items = walk.items(0)
        if not isinstance(items, Indexed) or items.all() is not None:
            return None
        sample = _sample(frame, walk, items)
        if sample is None:
            return None
        if isinstance(sample, Array):
            if callee not in _JOINED or sample.rank == 1:
                return _rows(frame, walk, items)
            return None
        if callee in _JOINED:
            return None
        spec = widen(abstract.Static(sample.value)) if isinstance(sample, Static) else None
        dtype = spec.type if isinstance(spec, abstract.Scalar) else as_number(sample).dtype
        result = allocate(frame, [items.length], dtype)
        counter: list[Value] = []

        def store() -> None:
            store_scalar(evaluate_kept(frame, node.elt), result.memref, counter, dtype)

        walk.loop(0, items, store, counter)
    return result


def joined_of(frame: Frame, callee: Any, node: ast.ListComp) -> ast.ListComp:
    """The list of all elements of the arrays in the list ``node``, if ``callee`` concatenates them; else ``node``."""
    if not isinstance(callee, Hashable) or callee not in _ONE_BEHIND_THE_OTHER or len(node.generators) != 1:
        return node
    walk = Walk(frame, node, lambda: None, frozenset())
    with _own_scope(frame, node):
        items = walk.items(0)
        if not isinstance(items, Indexed) or items.all() is not None:
            return node
        sample = _sample(frame, walk, items)
    if not isinstance(sample, Array) or sample.rank != 1:
        return node
    item = ast.comprehension(ast.Name("<item>", ast.Store()), node.elt, [], 0)
    made = ast.ListComp(ast.Name("<item>", ast.Load()), [*node.generators, item])
    for part in (made, made.elt, item.target):
        ast.copy_location(part, node)
    return made


def _rows(frame: Frame, walk: Walk, items: Indexed) -> Array:
    """The array of items that are arrays, or lists and tuples of numbers: the first determines their shape."""
    node = walk.node
    assert isinstance(node, ast.ListComp)

    def row() -> Array:
        value = evaluate_kept(frame, node.elt)
        with frame.at(node.elt):
            found = frame.tracer.call(frame, Static(np.asarray), [value], {})
        assert isinstance(found, Array)
        return found

    some = ops.cmpi(dim_value(items.length), const_index(0), predicate="sgt")
    trap_unless(some, "ValueError", "an array of rows needs one of them at least")
    bind_target(frame, node.generators[0].target, items.item(const_index(0)))
    first = row()
    result = allocate(frame, [items.length, *first.dims], first.dtype)
    arrays.store(frame, views.row(result, const_index(0)), first)
    counter: list[Value] = []

    def store() -> None:
        found = row()
        for a, b in zip(found.dims, first.dims, strict=True):
            if not same_dim(a, b):
                trap_unless(equal_dims(a, b), "ValueError", "the requested array has an inhomogeneous shape")
        arrays.store(frame, views.row(result, ops.addi(counter[0], const_index(1))), found)

    left = Indexed(ops.subi(dim_value(items.length), const_index(1)), lambda k: items.item(ops.addi(k, const_index(1))))
    walk.loop(0, left, store, counter)
    return result


def _sample(frame: Frame, walk: Walk, items: Indexed) -> AbstractValue | None:
    """An item, traced and then discarded: a number, or the array of its contents. None if computing it changes objects,
    which the first of the items must not do before the others, or what other items refer to."""
    node = walk.node
    assert isinstance(node, ast.ListComp)

    def compute(look: Callable[[AbstractValue], None]) -> AbstractValue:
        bind_target(frame, node.generators[0].target, items.item(const_index(0)))
        value = evaluate_kept(frame, node.elt)
        look(value)
        if isinstance(value, Tuple) or is_list(value):
            return frame.tracer.call(frame, Static(np.array), [value], {})
        return value

    value, effects = tried(frame, compute)
    if effects.objects or effects.on_items:
        return None
    if value is None or not (is_numeric(value) or isinstance(value, Array)):
        shown = describe_type(value) if value is not None else "nothing"
        raise refuse(
            frame.loc(node.elt),
            f"a list of a run-time number of items holds numbers or arrays, not {shown}",
            kind=kinds.WRONG_TYPE,
        )
    return value
