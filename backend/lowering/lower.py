"""From a module of the IR to LLVM IR.

Each function ``f`` becomes ``i32 @adc.f(ptr ctx, arguments..., ptr per result)``: a memref argument is a data pointer,
its extents, and, unless its layout is the identity, its strides in elements; a memref result is written as 64-bit
words, always with strides; the status is zero on success. Functions that cannot fail become internal functions that
return values; if they are exported, a wrapper has the interface above.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import field

from adc.backend.lowering import counting
from adc.backend.lowering.debuginfo import DebugInfo
from adc.backend.lowering.linking import Linking
from adc.backend.lowering.lower_alias import Scopes
from adc.backend.lowering.lower_control import call_by_value, return_status, return_values, symbol, value_type
from adc.backend.lowering.lower_effects import LOOPS, Effects, Facts, is_brief
from adc.backend.lowering.lower_emitter import FunctionEmitter
from adc.backend.lowering.lower_memory import write
from adc.backend.lowering.lower_table import LOWERINGS
from adc.backend.lowering.lower_types import abi_types, quoted
from adc.backend.lowering.module_emitter import FIRST_LOOP, FIRST_SITE, Counted, ModuleEmitter, Unit
from adc.backend.lowering.stack_depth import Depth, check
from adc.backend.sites import Site
from adc.backend.support import contexts
from adc.backend.target import Target, host
from adc.ir import ops
from adc.ir.alias import Aliasing
from adc.ir.callgraph import callees, closure, repeated
from adc.ir.core import Func, Module
from adc.ir.externals import SYMBOL
from adc.ir.lazy_dataclass import dataclass
from adc.ir.schedules import MEMORY
from adc.ir.types import MemRefType

__all__ = ["Lowered", "Site", "lower_module"]


@dataclass(frozen=True)
class Lowered:
    """A module in LLVM IR.

    ``functions`` are the definitions, ``declarations`` those of external functions (symbol to text), ``trailer`` the
    attributes and metadata. ``exports`` are the symbols that can be called; ``adc_raise`` gets indices into ``sites``.
    ``counted`` are the loops that count their steps; the addresses from ``adc_counted`` on are their names.
    ``repeats``: it has loops or recursive functions. ``linking`` has the user's C functions that it calls. ``places``:
    file and line of loops, by number. ``elsewhere`` are the symbols of functions that are compiled separately,
    ``needs`` those of units that it is linked with; ``reached`` and ``late`` are those functions and units that are
    compiled when it calls them.
    """

    target: Target
    functions: str
    declarations: dict[str, str]
    trailer: str
    exports: tuple[str, ...]
    sites: tuple[Site, ...]
    counted: tuple[Counted, ...] = ()
    repeats: bool = True
    linking: Linking = field(default_factory=Linking)
    places: tuple[tuple[str, int], ...] = ()
    elsewhere: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    late: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()

    def text(self, definitions: str = "", defined: Collection[str] = ()) -> str:
        """The module as text, with additional ``definitions`` of the symbols ``defined``.

        These must contain their own declarations, except those in ``declarations``, and have attributes inline.
        """
        declared = [text for name, text in self.declarations.items() if name not in defined]
        head = f'target triple = "{self.target.triple}"'
        return "\n".join([head, *declared, definitions, self.functions, self.trailer])

    def __str__(self) -> str:
        return self.text()


def lower_module(
    module: Module,
    target: Target | None = None,
    *,
    exports: Collection[str] | None = None,
    threads: bool = True,
    debug: bool = False,
    polls: bool = False,
    vectors: bool = True,
    alike: bool = False,
    linking: Linking | None = None,
    is_kernel: bool = False,
    is_unit: bool = False,
    units: Mapping[str, Unit] | None = None,
    quick: bool = False,
) -> Lowered:
    """Lower a module for ``target`` (default: this machine).

    ``exports`` names the functions that can be called from outside (default: those with the attribute
    ``adc.entry``, or all if there are none). Without ``threads`` parallel loops run on the calling thread.
    ``debug`` maps machine code to Python lines. With ``polls`` loops end when a signal handler has raised an
    exception, and those that are marked count their steps. ``vectors``: loops may become SIMD, so mathematical
    functions get vector variants; with ``alike`` these are called elsewhere, too. ``linking`` says how C functions
    are called: by default by their addresses in this process. ``is_kernel``: other modules call it, and its only
    possible error is lack of memory. ``units`` are functions that are lowered to modules of their own; functions
    that only these call are left out. ``is_unit``: this module is a unit. ``quick``: functions that run once per
    call, beside others that have long loops, are not optimised if their own loops run on threads or in units:
    optimising them would take a quarter of LLVM's time, or more, and save 0.1 microseconds per call.
    """
    target = target or host()
    if exports is None:
        exports = [name for name, f in module.funcs.items() if f.attrs.get("adc.entry")] or list(module.funcs)
    depth = Depth(module)
    effects, info = Effects.of(module, polls=polls), DebugInfo() if debug else None
    limited = depth.recursive.difference(exports)
    has_threads = threads and target.openmp
    emitter = ModuleEmitter(module, target, effects, LOWERINGS, has_threads, info, is_kernel, is_unit, limited)
    emitter.linking = linking or Linking()
    emitter.vectors = vectors
    emitter.alike = alike
    emitter.units = units or {}
    emitter.once = set(module.funcs) - repeated(module) if quick and _lasts(module) else ()
    for func in _lowered_here(module, exports, emitter.units):
        if SYMBOL in func.attrs or func.name in emitter.units:
            _declare_function(emitter, func)
        else:
            _lower_function(emitter, func, func.name in exports, depth)
    emitter.linking.check_others(emitter.declarations)
    return Lowered(
        target=target,
        functions="\n".join(emitter.bodies),
        declarations={**emitter.externals, **emitter.declarations},
        trailer=emitter.trailer(),
        exports=tuple(f"adc.{name}" for name in exports),
        sites=tuple(emitter.sites),
        counted=tuple(emitter.counted),
        repeats=emitter.repeats or bool(depth.recursive),
        linking=emitter.linking,
        elsewhere=tuple(emitter.elsewhere),
        places=tuple(emitter.places),
        needs=tuple(emitter.needs),
        late=tuple(emitter.late),
        reached=tuple(emitter.reached),
    )


def _lasts(module: Module) -> bool:
    """Whether there are loops that take longer than code that runs once, here or in code that is called."""
    return any(
        SYMBOL in func.attrs or any(op.opdef in LOOPS and not is_brief(op) for op in func.walk())
        for func in module.funcs.values()
    )


def _lowered_here(module: Module, exports: Collection[str], units: Mapping[str, Unit]) -> list[Func]:
    """The functions that a module defines or declares, where ``units`` are modules of their own."""
    if not units:
        return list(module.funcs.values())
    names = set(closure(module, exports, lambda func: [] if func.name in units else callees(func)))
    return [func for name, func in module.funcs.items() if name in names]


def _debug_scope(module: ModuleEmitter, func: Func) -> str:
    if module.debug is None:
        return ""
    return module.debug.subprogram(module, func.name, f"adc.{func.name}", func.loc)


def _parameters(func: Func, aliasing: Aliasing) -> tuple[list[str], list[list[str]]]:
    """The text of the LLVM parameters, and the names of the parts of each argument."""
    texts, names = ["ptr %ctx"], []
    loose = _reachable_otherwise(func, aliasing)
    for number, arg in enumerate(func.args):
        parts = [f"%a{number}.{k}" for k in range(len(abi_types(arg.type)))]
        names.append(parts)
        distinct = (
            isinstance(arg.type, MemRefType) and "adc.alias" not in func.arg_attrs[number] and number not in loose
        )
        for kind, part in zip(abi_types(arg.type), parts, strict=True):
            texts.append(f"{kind}{' noalias' if distinct and kind == 'ptr' else ''} {part}")
    return texts, names


def _reachable_otherwise(func: Func, aliasing: Aliasing) -> set[int]:
    """Positions of arguments whose memory may also be accessed through pointers in memory: in a record, or an array of
    memrefs."""
    loose: set[int] = set()
    for op in func.walk():
        if op.opdef is ops.unpack:
            for numbers in op.attrs.get("roots") or ():
                loose.update(n for n in numbers if n >= 0)
        elif op.opdef is ops.load and isinstance(op.result.type, MemRefType):
            loose.update(root.index for root in aliasing.roots(op.result) if root.owner is func.body)
        elif op.opdef in (ops.store, ops.fill) and isinstance(op.operands[0].type, MemRefType):
            for root in aliasing.roots(op.operands[0]):
                if root.owner is func.body:
                    loose.add(root.index)
    return loose


def _lower_function(module: ModuleEmitter, func: Func, exported: bool, depth: Depth) -> None:
    fallible = func.name in module.effects.fallible
    scopes = Scopes(module, func, module.module)
    scope = _debug_scope(module, func)
    e = FunctionEmitter(module, func, scopes, Facts.of(func, module.effects), scope)
    e.at(func.loc)
    texts, names = _parameters(func, scopes.aliasing)
    for arg, parts in zip(func.args, names, strict=True):
        e.env[arg] = e.from_abi(arg.type, parts)
    recurses = func.name in depth.recursive
    if recurses:
        if func.name in module.limited:
            e.stack_limit = "%limit"
            texts.insert(1, "ptr %limit")
        check(e, depth.room(func.name))
        e.poll()
    counting.enter(e)
    if MEMORY in func.attrs:
        limit = e.let(f"getelementptr i8, ptr %ctx, i64 {contexts.CONTEXT_LIMIT}")
        e.do(f"store i64 {func.attrs[MEMORY]}, ptr {limit}")
    terminator = e.lower_ops(func.body)
    stays = recurses or "adc.noinline" in func.attrs
    rare = "noinline cold optsize " if func.attrs.get(ops.COLD) else "noinline " if stays else ""
    module.repeats |= e.repeats
    if func.name in module.once and not e.repeats:
        rare = "noinline optnone "
    inline = "alwaysinline " if func.name in module.effects.inlined and not rare else ""
    loops = any(op.opdef in LOOPS for op in func.walk())
    common = module.loop_attributes if loops else module.function_attributes
    attributes = module.attributes(f"nounwind {inline}{rare}{common}")
    place = f" !dbg {scope}" if scope else ""
    if fallible:
        return_status(e, terminator)
        texts += [f"ptr noalias %out{k}" for k in range(len(func.result_types))]
        linkage = "" if exported else "internal "
        if module.is_unit:
            module.taking[func.name] = bool(module.sites), bool(module.counted)  # its callees' too
            texts[1:1] = _firsts(*module.taking[func.name])
        head = f"define {linkage}i32 {symbol(func.name)}({', '.join(texts)}) {attributes}{place} {{"
        module.bodies.append(f"{head}\nentry:\n{e.text()}\n}}\n")
        return
    return_values(e, terminator)
    head = f"define internal {value_type(func.result_types)} {symbol(func.name, '$value')}({', '.join(texts)})"
    module.bodies.append(f"{head} {attributes}{place} {{\nentry:\n{e.text()}\n}}\n")
    if exported:
        _interface(module, func, texts)


def _firsts(sites: bool, loops: bool) -> list[str]:
    """The additional parameters of a unit that has sites, or loops that count."""
    return [*([f"i32 {FIRST_SITE}"] if sites else []), *([f"ptr {FIRST_LOOP}"] if loops else [])]


def _declare_function(module: ModuleEmitter, func: Func) -> None:
    """Declare a function whose code is in another module."""
    places = ["ptr"] * len(func.result_types)
    types = ["ptr", *(t for arg in func.args for t in abi_types(arg.type)), *places]
    if func.name in module.units:
        name, unit = module.enter_unit(func.name), module.units[func.name]
        types[1:1] = [text.split()[0] for text in _firsts(bool(unit.sites), bool(unit.counted))]
        module.declare(name, f"declare i32 @{quoted(name)}({', '.join(types)}) nounwind")
        return
    name = func.attrs[SYMBOL]
    module.declare(name, f"declare i32 @{quoted(name)}({', '.join(types)}) nounwind")


def _interface(module: ModuleEmitter, func: Func, texts: list[str]) -> None:
    """A wrapper with the common interface around a function that returns values."""
    scope = _debug_scope(module, func)
    e = FunctionEmitter(module, func, Scopes(module, Func("", []), module.module), Facts.none(), scope)
    e.at(func.loc)
    plain = [text.replace(" noalias", "") for text in texts]
    results = call_by_value(e, symbol(func.name, "$value"), ", ".join(plain), func.result_types)
    for k, (t, value) in enumerate(zip(func.result_types, results, strict=True)):
        write(e, f"%out{k}", t, value, "")
    e.do("ret i32 0")
    texts = texts + [f"ptr noalias %out{k}" for k in range(len(func.result_types))]
    place = f" !dbg {scope}" if scope else ""
    attributes = module.attributes(f"nounwind {module.function_attributes}")
    head = f"define i32 {symbol(func.name)}({', '.join(texts)}) {attributes}{place} {{"
    module.bodies.append(f"{head}\nentry:\n{e.text()}\n}}\n")
