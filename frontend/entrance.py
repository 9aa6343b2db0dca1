"""The entrance: ``trace`` turns a Python function, for given argument types, into a module of IR."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from adc.frontend import abstract
from adc.frontend.attempts import Attempt
from adc.frontend.callee import Callee, python_function
from adc.frontend.control.jumps import NEVER
from adc.frontend.data.values import AbstractValue, Ref, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame, NeedsConstant, NeedsPool
from adc.frontend.functions.declared import Library
from adc.frontend.functions.declared import Traced as TracedAlone
from adc.frontend.functions.finish import finish
from adc.frontend.functions.signature import receive
from adc.frontend.names import symbol
from adc.frontend.objects import growing, heap
from adc.frontend.rules import ranks
from adc.frontend.rules.layout import Layout
from adc.frontend.rules.registry import RULES
from adc.frontend.sites import ListPools, OtherPools, Pools
from adc.frontend.traced import Leaf, ResultTuple, Traced, gathered, result_tree
from adc.frontend.tracer import RecursiveEntry, Tracer
from adc.ir import kinds, ops
from adc.ir.attached import drop_unmentioned
from adc.ir.builder import build, insert_at
from adc.ir.core import UNKNOWN, Func
from adc.ir.diagnostics import CompileError


def trace(
    fn: Callable[..., Any],
    args: Sequence[abstract.Abstract],
    kwargs: Mapping[str, abstract.Abstract] = {},
    *,
    capture_aliases: Mapping[str, int] = {},
    pins: bool = False,
    lapack: bool = False,
    deterministic: bool = True,
    library: Library | None = None,
) -> Traced:
    """Trace ``fn`` for arguments of the given types.

    ``capture_aliases`` maps the name of a captured array, as in its leaf's path, to the alias group of the arguments
    that it may overlap. Raises ``CompileError`` for source that adc does not compile, ``TypeError`` for arguments that
    do not fit the signature. With ``pins`` it raises ``NeedsConstant`` for an integer that has to be ``Static``, see
    ``constant_path``.
    ``lapack``: whether the code may call LAPACK, if there is one, by its addresses in this process; ``deterministic``:
    with one thread. ``library`` has the functions that are not traced with the program but compiled by themselves.
    """
    function = python_function(fn)
    if not isinstance(function, types.FunctionType):
        raise refuse(UNKNOWN, f"{getattr(fn, '__name__', fn)} is not written in Python", kind=kinds.NO_SOURCE)
    callee, how = Callee.of(function, UNKNOWN), (lapack, deterministic)
    entry, pools, elsewhere = None if RULES.has(function) else function, Pools(), ListPools()
    given = [leaf for a in (*args, *kwargs.values()) for leaf in abstract.walk_abstract(a)]
    given_arrays = [leaf for leaf in given if isinstance(leaf, abstract.Array) and leaf.rank > 0]
    sized = any(leaf.extents for leaf in given_arrays)
    attempt = Attempt(counts=sized, sized=sized, sizable=bool(given_arrays) and not sized)
    while True:
        tracer = Tracer(capture_aliases, *how, entry=entry, library=library, attempt=attempt, elsewhere=elsewhere)
        try:
            return _traced(callee, args, kwargs, tracer, pins, pools)
        except CompileError as error:
            if not attempt.again(error, bool(tracer.constants), bool(given_arrays)):
                assert attempt.refused is not None
                raise attempt.refused from None
            pools, elsewhere = Pools(), ListPools()
        except RecursiveEntry:
            entry = None  # the entry function then calls the recursive one
        except NeedsPool as need:
            if not need.change(pools):
                raise
        except OtherPools as need:
            if not need.change(pools) and not tracer.changed_elsewhere(need):
                raise need.refusal from None


def constant_path(need: NeedsConstant) -> tuple[str | int, ...]:
    """The path of the argument leaf that must be known, as in ``Leaf.path``."""
    name, *positions = need.name.split(".")
    return (name, *map(int, positions))


def _traced(
    callee: Callee,
    args: Sequence[abstract.Abstract],
    kwargs: Mapping[str, abstract.Abstract],
    tracer: Tracer,
    pins: bool,
    pools: Pools,
) -> Traced:
    assert callee.function is not None
    tracer.looks.function(callee.function)
    parameters = inspect.signature(callee.function, follow_wrapped=False)
    func = tracer.module.add(Func(symbol(callee.source.name), [], loc=callee.source.header))
    func.attrs["adc.entry"] = True
    frame = Frame(tracer, func, callee.source, callee.source.liveness, callee.module_globals, callee.cells, entry=True)
    frame.pins, frame.pools = pins, pools
    leaves: list[Leaf] = []
    bound = parameters.bind(*args, **kwargs).arguments

    def receive_leaf(path: tuple[str | int, ...]) -> Callable[[abstract.Abstract, str], AbstractValue]:
        def add(a: abstract.Abstract, name: str) -> AbstractValue:
            tail = tuple(int(p) for p in name.split(".")[1:])
            leaves.append(Leaf((*path, *tail), a, "argument"))
            return frame.add_argument(a, name)

        return add

    objects: dict[int, Ref] = {}
    with insert_at(frame.prologue, func.loc):
        for name in parameters.parameters:
            if name in bound:
                value = receive(gathered(bound[name], len(objects)), name, receive_leaf((name,)))
                frame.env[name] = heap.unpack(frame, value, objects, given=True)
            elif name in callee.defaults:
                frame.env[name] = callee.default(frame, name)
            else:
                empty: Any = () if parameters.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL else {}
                value = receive(gathered(empty, len(objects)), name, frame.add_argument)
                frame.env[name] = heap.unpack(frame, value, objects, given=True)
    same = ranks.parameters(callee)
    for position, leaf in enumerate(leaves):
        if leaf.path[0] in same:
            func.arg_attrs[position][ranks.SAME] = True
    with frame.in_body():
        ranks.receive(frame, same)
    if tracer.entry is None:
        with frame.in_body():
            positional, keywords = Layout.of(callee.source).spread(frame)
            result = tracer.call(frame, Static(callee.identity), [v for _, v in positional], keywords)
    else:
        tracer.consult(callee.identity)
        result = tracer.run(callee, frame)
    with frame.in_body():
        result = ranks.left(frame, result, bool(same))
    with insert_at(func.body, func.loc):
        heap.check_result(frame, result)
        outcome = heap.outcome(frame, result)
        growing.check_given(frame)
        left = growing.exact(frame, outcome)
        tree, values = result_tree(left)
        assert isinstance(tree, ResultTuple)
        build(ops.return_, values)
    func.result_types = tuple(v.type for v in values)
    drop_unmentioned(tracer.module, [func.name])
    mutated = finish(frame)
    for c, _ in frame.captures.values():
        leaves.append(Leaf((c.name,), c.abstract, "capture", c.fetch))
    return Traced(
        tracer.module,
        func.name,
        tuple(leaves),
        tree.items[0],
        frozenset(mutated),
        tracer.looks,
        parameters,
        {n: t for n, t in enumerate(tree.items[1:]) if isinstance(t, ResultTuple)},
        tuple(tracer.outer.values()),
        never=NEVER in frame.env,
        consulted=tuple(tracer.consulted.values()),
        version=tracer.version,
        stored=frozenset(mutated),
    )


def traced_alone(
    function: types.FunctionType,
    signature: tuple[abstract.Abstract, ...],
    lapack: bool,
    deterministic: bool,
    library: Library,
) -> TracedAlone:
    """Trace a kernel, or a part of kernels, for arguments of these types."""
    callee = Callee.of(function, UNKNOWN)
    key = callee.identity, signature
    tracer = Tracer({}, lapack, deterministic, library=library, root=key)
    return tracer.root_traced(callee, list(inspect.signature(function).parameters))
