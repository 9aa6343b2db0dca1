"""Comprehensions and generator expressions.

Over items that are known one by one they are unrolled: the result is a list or dict of the tracer's, or the items'
``sum``, ``min``, ``max``, ``any`` or ``all``. Over a run-time number of items, these five become loops, and a list
passed to NumPy becomes an array. The variables of a comprehension are its own.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from adc.frontend.containers import making, sequences
from adc.frontend.control.branches import branch
from adc.frontend.control.loops import Counted, decided, for_counted, needed
from adc.frontend.data.callables import Closure
from adc.frontend.data.dims import dim_value
from adc.frontend.data.type_names import describe_type
from adc.frontend.data.values import (
    AbstractValue,
    Compound,
    Generator,
    Range,
    Ref,
    Stream,
)
from adc.frontend.errors import refuse
from adc.frontend.expressions.conditions import condition
from adc.frontend.expressions.evaluation import evaluate, evaluate_kept, only_makes
from adc.frontend.expressions.generators import over_generator
from adc.frontend.expressions.streams import gathered
from adc.frontend.expressions.targets import bind_target
from adc.frontend.few_items import each
from adc.frontend.frame import Frame
from adc.frontend.item_effects import unchanged_meanwhile
from adc.frontend.iteration import Indexed, Items, Known, known, not_iterable, sequence
from adc.frontend.objects import growing, heap
from adc.frontend.syntax.bindings import assigned_in
from adc.ir import kinds
from adc.ir.arith import const_index
from adc.ir.core import Value
from adc.ir.lazy_dataclass import dataclass

Comprehension = ast.ListComp | ast.GeneratorExp | ast.DictComp
Nodes = (ast.ListComp, ast.GeneratorExp)
IN_A_LOOP = "fill an array made with np.zeros() in a loop; sum(), min(), max(), any() and all() of it work as well"


@dataclass(eq=False)
class Walk:
    """One pass through a comprehension. ``carried``: the variables that a loop over it carries; None if the number of
    items must be known."""

    frame: Frame
    node: Comprehension
    emit: Callable[[], None]
    carried: frozenset[str] | None = None
    first: Callable[[Items], Items] = lambda items: items  # done before a loop; returns the items that remain
    gathers: str = ""  # the object that ``emit`` puts the items into
    complete: bool = True  # all items are asked for
    ahead: str = ""  # what the items are that were computed before the first is asked for

    @property
    def named(self) -> frozenset[str]:
        """The names assigned by ``:=``, which belong to the enclosing function."""
        return assigned_in([self.node])

    def run(self) -> None:
        undecided = self.frame.tracer.attempt.undecided(self.frame.loc(self.node))
        with undecided, own_scope(self.frame, self.node):
            self._level(0)

    def _level(self, level: int) -> None:
        """Go through the items of a generator. Where they were computed ahead, the rest must not change them."""
        items = self.items(level)
        own, later = self.node.generators[level], self.node.generators[level + 1 :]
        node = self.node
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        parts += [*own.ifs, *(part for g in later for part in (g.iter, *g.ifs))]
        if not self.ahead or all(only_makes(self.frame, part) for part in parts):
            self._generator(level, items)
            return
        loc, shown = self.frame.loc(own.iter), self.ahead
        with unchanged_meanwhile(self.frame, self.gathers, loc, shown):
            self._generator(level, items)

    def items(self, level: int) -> Items:
        source = self.node.generators[level].iter
        with self.frame.at(source):
            value = gathered(self.frame, evaluate(self.frame, source), level > 0 and self.complete)
        self.ahead = value.shown if isinstance(value, Stream) and value.ahead else ""
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
                self._level(level + 1)
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
def own_scope(frame: Frame, node: Comprehension) -> Iterator[None]:
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

    assert isinstance(made, Ref)
    Walk(frame, node, emit, frozenset(), gathers=made.key).run()
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
