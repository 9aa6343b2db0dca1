"""Traces one module: an IR function for each function and the types that it is called with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any

from adc.frontend import abstract, traps
from adc.frontend.attempts import Attempt
from adc.frontend.callee import Callee
from adc.frontend.calls import call_value
from adc.frontend.closures import bind_captured, brought_home, capture, keep_variables
from adc.frontend.control import thrown
from adc.frontend.control.jumps import NEVER
from adc.frontend.data.described import describe, without_dims
from adc.frontend.data.dims import argument_dim
from adc.frontend.data.roots import NOWHERE, Phase, Root, Roots, grounded, in_order
from adc.frontend.data.values import NONE, AbstractValue, Array, Compound, Method, Ref
from adc.frontend.errors import refuse
from adc.frontend.frame import ArraysOfPrograms, Frame, NeedsConstant, NeedsPool, Undetermined, discard
from adc.frontend.functions import apart, generators
from adc.frontend.functions.apart import by_itself, of_no_tracer
from adc.frontend.functions.declared import Library, Traced, general, unprotected
from adc.frontend.functions.finish import finish
from adc.frontend.functions.keyed_arguments import Constants, keep_elsewhere
from adc.frontend.functions.recursion import Assumption, Specialisation, assumed, common
from adc.frontend.functions.signature import arrays_of, describe_arguments, leaves_of, operands_of, passed_dim, receive
from adc.frontend.looks import Looks
from adc.frontend.names import symbol
from adc.frontend.numeric import snapshots
from adc.frontend.objects import heap, held
from adc.frontend.objects.merge import Clash, arrays, coerce, flatten, rebuild
from adc.frontend.objects.merge import types as ir_types
from adc.frontend.objects.pools import begin as begin_pools
from adc.frontend.rules.registry import RULES
from adc.frontend.sites import ListPools, OtherPools, Pools
from adc.frontend.statements.execution import execute_function
from adc.frontend.statements.folds import first_of, fold, list_of_comprehension, list_of_generator, yielded
from adc.frontend.syntax.source import FunctionSource
from adc.ir import kinds, ops
from adc.ir.builder import build, current_loc, insert_at
from adc.ir.callgraph import reachable
from adc.ir.core import Func, Module, Op
from adc.ir.diagnostics import CompileError, Note
from adc.ir.fixpoint import Builder
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import REMATERIALISED
from adc.ir.types import Type

Key = tuple[object, tuple[abstract.Abstract, ...]]  # a callee's identity, and the types of its arguments
MAX_NESTED = 24  # calls of one function for different types, each while the one before is being traced


class RecursiveEntry(Exception):
    """The entry function calls itself."""


@dataclass(frozen=True)
class _Attempt:
    """The IR function that is being traced for a signature, the types of its arguments, and their roots."""

    name: str
    types: tuple[Type, ...]
    roots: tuple[Root, ...]


@dataclass(eq=False)
class Tracer:
    """Traces one module."""

    aliases: Mapping[str, int]
    lapack: bool = False  # whether code may call LAPACK in this process
    deterministic: bool = True  # whether libraries must use one thread
    module: Module = field(default_factory=Module)
    looks: Looks = field(default_factory=Looks)
    outer: dict[tuple[Any, ...], tuple[str, Callable[[], Any]]] = field(default_factory=dict)
    consulted: dict[int, object] = field(default_factory=dict)  # functions whose rules, or lack of them, matter
    version: int = field(default_factory=lambda: RULES.version)  # of the rules
    library: Library | None = None  # of functions compiled by themselves; None: they are traced here
    root: Key | None = None  # the key of a function that is traced to be compiled by itself
    attempt: Attempt = field(default_factory=Attempt)
    quiet: bool = False  # whether the program controls warnings
    warns: bool = False  # whether it gives some
    entry: object = None  # identity of the callee that is the entry
    called: tuple[Op, Roots] | None = None  # the last call of a function, and the caller's memory that it writes to
    known: dict[Key, Specialisation] = field(default_factory=dict)
    constants: dict[object, Constants] = field(default_factory=dict)  # per callee: parameters that must be known
    tasks: dict[Key, tuple[Callee, list[str]]] = field(default_factory=dict)
    pools: dict[Key, Pools] = field(default_factory=dict)  # the objects of each function that are kept in pools
    elsewhere: ListPools = field(default_factory=ListPools)  # of lists that others change than those who make them
    owned: ArraysOfPrograms = field(default_factory=ArraysOfPrograms)
    _attempts: dict[Key, _Attempt] = field(default_factory=dict)
    _parts: dict[Key, list[str]] = field(default_factory=dict)  # functions made for rules
    sources: dict[str, FunctionSource] = field(default_factory=dict)  # of the functions in IR, by their names
    _solve: Builder[Key, Assumption] = field(init=False)

    def __post_init__(self) -> None:
        self._solve = Builder(self._first, self._specialise, self._forget)

    def changed_elsewhere(self, need: OtherPools) -> bool:
        """Whether functions that were called have to keep other lists in pools, which then holds in later attempts."""
        return self.elsewhere.take([pools for pools in self.pools.values() if need.change(pools)])

    def _first(self, key: Key) -> Assumption:
        """The first assumption about a signature. For a function with rules: what it returns without them."""
        callee, names = self.tasks[key]
        if callee.ruled is None or callee.ruled.plain is None:
            return Assumption()
        alone = callee.ruled.plain
        plain = (alone.identity, tuple(map(general, key[1])) if by_itself(alone) else key[1])
        self.tasks[plain] = alone, names
        return self._solve(plain)

    def read_outer(self, key: tuple[Any, ...], name: str, fetch: Callable[[], Any]) -> None:
        self.outer[key] = name, fetch

    collected, comprehended = staticmethod(list_of_generator), staticmethod(list_of_comprehension)
    captured = staticmethod(capture)
    folded, first, yielded_from = staticmethod(fold), staticmethod(first_of), staticmethod(yielded)

    def consult(self, function: object) -> None:
        self.consulted[id(function)] = function

    def capture_alias(self, name: str) -> int | None:
        return self.aliases.get(name)

    def call(
        self, frame: Frame, callee: AbstractValue, args: Sequence[AbstractValue], kwargs: Mapping[str, AbstractValue]
    ) -> AbstractValue:
        result = call_value(frame, callee, args, kwargs, self._call_function)
        keep_variables(frame, result)
        return result

    def _call_function(self, frame: Frame, callee: Callee, bound: Mapping[str, AbstractValue]) -> AbstractValue:
        """A call of a Python function, which is traced once per signature."""
        if callee.function is not None:
            self.looks.function(callee.function)
        arguments = {name: generators.passed(frame, callee, name, v) for name, v in bound.items()} | dict(callee.free)
        hands_on = bool(frame.catching) and callee.ruled is None and not by_itself(callee)
        if hands_on and callee.identity is not self.entry:
            callee = callee.handing_on(frame.catching)
        if frame.pools.has_site(current_loc()) and callee.ruled is None and callee.identity is not self.entry:
            callee = callee if by_itself(callee) else callee.keeping()
        while True:
            told = self.attempt.counts and callee.source.placed is None
            wanted = self.constants.setdefault(callee.identity, Constants(counts=told))
            numbers: dict[str, int] = {}
            prepared, constants = wanted.passed(frame, arguments)
            packed = dict(zip(arguments, heap.pack(frame, prepared, numbers), strict=True))
            # Once more: ``packed`` has revealed what objects hold.
            values = [wanted.given(name, v, constants) for name, v in packed.items()]
            refs = [frame.heap.refs[key] for key in numbers]
            signature = describe_arguments(values, told)
            if callee.ruled is not None:
                signature = tuple(map(unprotected, signature))
            if by_itself(callee):
                signature = tuple(map(general, signature))
            key = (callee.identity, signature)
            if callee.identity is self.entry:
                raise RecursiveEntry
            self.tasks[key] = callee, list(arguments)
            self._refuse_endless(callee, sum(len(operands_of(v)) for v in values))
            try:
                known = self._solve(key)
            except CompileError as error:
                if callee.source.placed is not None:
                    raise
                at = current_loc()
                raise error.noted(Note(f"in the call of {callee.source.told(at.file)}", at)) from None
            except NeedsPool as pool:
                if pool.given is None or pool.frame.pools is not self.pools.get(key):
                    raise
                raise keep_elsewhere(frame, refs[pool.given]) from None
            except NeedsConstant as need:
                name = need.name.split(".")[0]  # of a tuple, all items
                if need.frame.source is not callee.source or name in constants:
                    raise
                wanted.add(name, need.keyed)
                continue
            if known.result is None:
                if self._solve.is_settled(key):
                    raise refuse(
                        callee.source.header,
                        f"{callee.source.name}() has no end: every path through it calls it again",
                        "return something without calling it in some case",
                        kind=kinds.ENDLESS_RECURSION,
                    )
                raise Undetermined
            called = self._callable(key, known)
            left = self._emit_call(frame, called, values)
            if frame.lent and not self._comes_back(called.name, frame):
                left = brought_home(frame, left)
            result = heap.absorb(frame, left, refs)
            if called.never and callee.ruled is None:
                thrown.end_path(frame)
            chosen = callee.ruled.chosen if callee.ruled is not None else None
            if frame.catching and chosen is not None and chosen.kernel is None:
                thrown.check_call(frame, called.name, callee.source.name)
            return thrown.received(frame, result) if hands_on else result

    def _comes_back(self, name: str, frame: Frame) -> bool:
        """Whether a call may run the function of ``frame`` again. All IR functions of one Python function have the same
        source."""
        return any(self.sources.get(called) is frame.source for called in reachable(self.module, [name]))

    def _refuse_endless(self, callee: Callee, size: int) -> None:
        """Refuse a function that calls itself with other types each time; ``size``: the number of values in its
        arguments."""
        nested = sum(identity == callee.identity for identity, _ in self._solve.active)
        if nested > MAX_NESTED or (nested > 3 and size > 200):
            raise refuse(
                callee.source.header,
                f"{callee.source.name}() calls itself with arguments of ever new types or constants",
                "pass arguments of the same types; a bool counts as a constant, an int or float does not",
                kind=kinds.ENDLESS_RECURSION,
            )

    def _callable(self, key: Key, known: Assumption) -> Specialisation:
        """The target of a call of ``key``: the function itself, with its assumed result, while it is being traced."""
        if (attempt := self._attempts.get(key)) is None:
            return self.known[key]
        assert known.result is not None
        types = tuple(ir_types(known.result))
        return assumed(attempt.name, attempt.types, types, known, attempt.roots)

    def _forget(self, key: Key) -> None:
        found = self.known.pop(key, None)
        if found is not None:
            for name in (found.name, *self._parts.pop(key, ())):
                del self.module.funcs[name]

    def _specialise(self, key: Key, before: Assumption) -> Assumption:
        """Trace a callee for a signature under an assumption about it. Returns what follows."""
        kept = self.pools.setdefault(key, self.elsewhere.pools())
        while True:
            try:
                return self._attempt(key, before, kept)
            except (NeedsPool, OtherPools) as need:
                if not need.change(kept):
                    raise

    def _attempt(self, key: Key, before: Assumption, pools: Pools) -> Assumption:
        callee, names = self.tasks[key]
        self._forget(key)
        declared = apart.declared(self, key)
        if declared is not None:
            return before.widened(declared.assumption())
        kept = apart.rules_kept(self, key)
        if kept is not None and callee.ruled is not None:
            callee = replace(callee, ruled=callee.ruled.elsewhere(self._call_function, kept))
        name = self.module.unique_name(symbol(callee.source.name) + (callee.ruled.suffix if callee.ruled else ""))
        func = self.module.add(Func(name, [], loc=callee.source.header))
        if callee.rematerialised:
            func.attrs[REMATERIALISED] = True
        self.sources[name] = callee.source
        frame = Frame(
            self, func, callee.source, callee.source.liveness, callee.module_globals, callee.cells, entry=False
        )
        frame.catching, frame.pools = callee.catching or (), pools
        objects: dict[int, Ref] = {}
        for n, a in zip(names, key[1], strict=True):
            given = heap.unpack(frame, receive(a, n, frame.add_argument), objects, given=True)
            frame.env[n] = generators.received(given)
        bind_captured(frame)
        roots = tuple(frame.argument_roots.values())
        for c in before.captures:
            frame.capture(c)
        self._attempts[key] = _Attempt(name, tuple(a.type for a in func.args), roots)
        try:
            left: AbstractValue = heap.outcome(frame, self.run(callee, frame), keeps=callee.keeps)
        except Undetermined:
            if before.result is None:
                del self.module.funcs[name]
            else:
                # The result is known, as for a function with rules that call it. Calls go to a stand-in, until what it
                # depends on is known too and it is traced again.
                discard(func.body)
                types = tuple(ir_types(before.result))
                self.known[key] = assumed(name, tuple(a.type for a in func.args), types, before, roots)
            return before
        except BaseException:
            del self.module.funcs[name]
            raise
        finally:
            del self._attempts[key]
        spec = without_dims(describe(left), argument_dim)
        try:
            after = spec if before.result is None else common(before.result, spec)
        except Clash as clash:
            assert isinstance(before.result, abstract.Tuple) and isinstance(spec, abstract.Tuple)
            one, other = abstract.spelled(before.result.items[0]), abstract.spelled(spec.items[0])
            raise refuse(
                callee.source.header,
                f"{callee.source.name}() returns {one} in one case and {other} in another: {clash}",
                "return values of one type",
                kind=kinds.TYPE_DIFFERS,
            ) from None
        captured = {frame.argument_roots[v.memref.index]: c for c, v in frame.captures.values() if isinstance(v, Array)}
        with insert_at(func.body, func.loc):
            left = coerce(left, after)
            build(ops.return_, flatten(left))
        made = callee.ruled.complete(frame, after) if callee.ruled is not None else []
        finish(frame)
        func.result_types = tuple(ir_types(after))
        self._parts[key] = [self.module.add(part).name for part in made]
        found = self.known[key] = Specialisation(
            name,
            tuple(a.type for a in func.args),
            func.result_types,
            after,
            tuple(c for c, _ in frame.captures.values()),
            roots,
            captured,
            tuple(a.roots for a in arrays(left)),
            grounded(frozenset(frame.written)),  # callers know arguments and captures, not the phases of loops in here
            NEVER in frame.env,
            held.handed_on(frame, [a.memref for a in arrays(left)]),
        )
        return before.widened(found.assumption())

    def alone(self, key: Key) -> Callable[[], Traced]:
        callee, names = self.tasks[key]
        if callee.ruled is not None:
            callee = replace(callee, ruled=callee.ruled.elsewhere(of_no_tracer, None))
        new = partial(Tracer, {}, self.lapack, self.deterministic, library=self.library, root=key)
        return lambda: new().root_traced(callee, names)

    def root_traced(self, callee: Callee, names: list[str]) -> Traced:
        assert self.root is not None
        ruled = callee.ruled.elsewhere(self._call_function, None) if callee.ruled is not None else None
        self.tasks[self.root] = replace(callee, ruled=ruled), names
        self._solve(self.root)
        made = self.known[self.root]
        return self.module, made.name, made.result

    def run(self, callee: Callee, frame: Frame) -> AbstractValue:
        with frame.in_body(), traps.watched(thrown.watch(frame)):
            begin_pools(frame)
            result = callee.ruled.run(frame) if callee.ruled else execute_function(frame, callee.source.body)
            if callee.catching is not None:
                result = thrown.outcome(frame, result)
        if any(isinstance(leaf, Method) for leaf in _parts(result)):
            message = f"{callee.source.name}() returns a function, which is not supported"
            raise refuse(callee.source.header, message, kind=kinds.CANNOT_RETURN)
        return result

    def _emit_call(self, frame: Frame, s: Specialisation, values: list[AbstractValue]) -> AbstractValue:
        captured = [frame.capture(c) for c in s.captures]
        operands = [x for v in (*values, *captured) for x in operands_of(v)]
        attrs = {"callee": s.name, "types": s.result_types}
        op = build(ops.call, _conformed(operands, s.argument_types), attrs)
        passed: dict[Root, Roots] = {}
        given = list(zip(s.roots, (a for v in values for a in arrays_of(v)), strict=True))
        for root, c in s.captured_roots.items():
            value = frame.capture(c)
            assert isinstance(value, Array)
            given.append((root, value))
        for root, a in given:
            passed[root] = passed.get(root, frozenset()) | a.roots
        if s.never:
            frame.env[NEVER] = NONE
        written = frozenset[Root]().union(*(passed.get(root, frozenset()) for root in s.written))
        snapshots.check(frame, written)
        frame.written |= written
        self.called = op, written
        frame.call_writes[op] = [a.memref for root, a in given if root in s.written]
        fresh: dict[Root | None, Root] = {}

        def roots(k: int) -> Roots:
            result: Roots = frozenset()
            for root in in_order(s.result_roots[k]):
                for ground in in_order(grounded(frozenset({root}))):
                    known = passed.get(ground)
                    result |= known if known is not None else {_fresh(frame, fresh, ground)}
                if isinstance(root, Phase):  # memory made by an iteration
                    result |= {_fresh(frame, fresh, None)}
            return result | ({held.copied_root(frame)} if k in dict(s.handed.stands) else NOWHERE)

        passed_leaves = [leaf for v in (*values, *captured) for leaf in leaves_of(v)]
        result = without_dims(s.result, lambda dim: passed_dim(passed_leaves, dim))
        made = rebuild(result, iter(op.results), roots)
        held.note_call(frame, op, s.handed, dict(given), arrays(made))
        return made


def _fresh(frame: Frame, fresh: dict[Root | None, Root], root: Root | None) -> Root:
    if root not in fresh:
        fresh[root] = frame.new_root("result", root.protected if root is not None else "")
    return fresh[root]


def _conformed(operands: list[Any], types: Sequence[Type]) -> list[Any]:
    """Operands cast to the layouts that the callee was compiled for."""
    return [v if v.type == t else ops.cast(v, type=t) for v, t in zip(operands, types, strict=True)]


def _parts(v: AbstractValue) -> list[AbstractValue]:
    return [x for item in v.items for x in _parts(item)] if isinstance(v, Compound) else [v]
