"""Kernels, library functions that are compiled separately, once for a machine (``adc.frontend.kernels``).

A kernel is identified by its name, its argument types, and everything that affects its compilation. It is found in this
process, or in the cache, as a description next to its object code. Programs call it by its symbol.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import TypeVar

from adc.backend import object_cache, runtime
from adc.backend.jit import Library
from adc.backend.lowering.lower_effects import Effects
from adc.backend.optimize import optimize_or_find_all, vectorises
from adc.border.options import Options
from adc.driver.fingerprints import digest
from adc.driver.late_units import provide
from adc.driver.makers import makers
from adc.driver.objects import Objects, levels_of_units, objects_of
from adc.driver.parts import part_of
from adc.driver.recipes import RECIPES, Recipe
from adc.frontend.abstract import Abstract
from adc.frontend.entrance import traced_alone
from adc.frontend.functions.declared import Declared, Traced
from adc.frontend.kernels import SMALL
from adc.ir import forks, ops
from adc.ir.alias import returned_memory
from adc.ir.arith import contract
from adc.ir.attached import mentioned
from adc.ir.callgraph import reachable
from adc.ir.core import Func, Module
from adc.ir.externals import SYMBOL, UNIT, provided
from adc.ir.lazy_dataclass import dataclass
from adc.ir.packing import Packed, packed, unpacked
from adc.ir.rewrite import clone_module, erase_if
from adc.ir.types import MemRefType, Type
from adc.passes.analysis.kinds import LOOPS
from adc.passes.base import asked_verification, run_pipeline

T = TypeVar("T")


@dataclass(frozen=True)
class Code:
    """What is kept of a compiled kernel: its object code, its symbol there, and how to make the kernels that it calls,
    should the cache have lost them."""

    objects: Objects
    exported: str
    recipes: dict[str, Recipe]


@dataclass(frozen=True)
class KeptRules:
    """What is kept of a function with its rules: the module and its name there, and how to make the kernels that are
    called."""

    module: Packed
    name: str
    recipes: dict[str, Recipe]


@dataclass(frozen=True)
class KernelLibrary:
    """Kernels for one way to compile: LLVM's ``level``, whether there are threads, whether arithmetic is fused,
    and how LAPACK is called.

    A kernel is traced when a program first mentions it, but compiled only when code that calls it is loaded: programs
    also mention kernels that only derivative rules call.
    """

    level: int
    parallel: bool
    contract: bool
    lapack: bool
    deterministic: bool

    def find(
        self, function: FunctionType, signature: tuple[Abstract, ...], trace: Callable[[], Traced]
    ) -> Declared | None:
        symbol = self.symbol(function, signature)
        if symbol is None:
            return None
        with _lock:
            trace = functools.cache(trace)
            if symbol not in _DECLARED:
                _DECLARED[symbol] = _from_cache(f"declared {symbol}", lambda: _declared(symbol, trace()))
            declared = _DECLARED[symbol]
            if declared is not None and symbol not in _LOADED and symbol not in _PENDING:
                _PENDING[symbol] = lambda: self._compiled(symbol, trace(), function in SMALL)
            return declared

    def symbol(self, function: FunctionType, signature: tuple[Abstract, ...]) -> str | None:
        try:
            name = digest((function.__module__, function.__qualname__, signature, self, makers()))
        except Exception:  # an argument cannot be identified in another process
            return None
        symbol = f"adc.kernel.{function.__name__}.{name[:32]}"
        RECIPES.setdefault(symbol, Recipe(self, function.__module__, function.__qualname__, signature))
        return symbol

    def keep_rules(
        self, function: FunctionType, signature: tuple[Abstract, ...], trace: Callable[[], Traced]
    ) -> str | None:
        try:
            known = function.__module__, function.__qualname__, signature, self, makers()
            name = f"{function.__name__} {digest(known)}"
        except Exception:  # as in find()
            return None
        with _lock:
            _RULES.setdefault(name, functools.cache(trace))
        return name

    def rules(self, name: str) -> tuple[Module, str]:
        with _lock:
            return _RULES[name]()[:2]

    def first_rules(self, name: str) -> tuple[Module, str]:
        """As ``rules``, simplified, for derivatives that are not differentiated again: from the cache, if they are
        there. Rules of the kernels that they call can then not be asked for."""
        with _lock:
            if name not in _FIRST_RULES:
                kept = _from_cache(f"rules {name}", lambda: _kept_rules(*_RULES[name]()[:2]))
                RECIPES.update(kept.recipes)
                _FIRST_RULES[name] = unpacked(kept.module), kept.name
            return _FIRST_RULES[name]

    def _compiled(self, symbol: str, traced: Traced, small: bool) -> tuple[Code, list[bytes]]:
        from adc.backend.lowering.lower import lower_module
        from adc.backend.lowering.lower_units import lower_units
        from adc.passes import pipelines
        from adc.passes.bounds.drop_checks import DropChecks
        from adc.passes.calls.drop_rules import DropRules
        from adc.passes.simplify.dce import DCE

        module, name = clone_module(traced[0]), traced[1]  # after an interrupt it may be compiled again
        for func in module.funcs.values():  # the checks in its source always hold
            erase_if(func.body, lambda op: op.opdef is ops.assert_)
        if self.contract:
            contract(module)
        module.funcs[name].attrs["adc.entry"] = True
        for func in module.funcs.values():
            if func.name != name and any(op.opdef in LOOPS for op in func.walk()):
                func.attrs["adc.noinline"] = True
        simplify = DropRules(), DropChecks(), DropChecks(ops.fits), DCE(), *pipelines.PREPARE
        module = run_pipeline(module, simplify, verify=asked_verification())
        reached = reachable(module, [name])
        module = Module({n: func for n, func in module.funcs.items() if n in reached})
        module = run_pipeline(module, pipelines.LOWER, verify=asked_verification())
        threads, vectors = self.parallel and not (small and _calls_lapack(module)), vectorises(self.level)
        _mark_units(module, name)
        apart = lower_units(module, threads=threads, vectors=vectors, is_kernel=True)
        lowered = lower_module(
            module, exports=[name], threads=threads, polls=True, vectors=vectors, is_kernel=True, units=apart.units
        )
        levels = levels_of_units(lowered, apart, self.level) | {lowered.text(): self.level}
        optimized = optimize_or_find_all(levels, lowered.target)
        objects = objects_of(lowered, apart, levels, optimized, self.level)
        code = Code(objects, f"adc.{name}", _recipes(objects.elsewhere))
        object_cache.keep(_place(symbol), pickle.dumps(code))
        return code, [each.object_code for each in optimized]


def library_for(options: Options) -> KernelLibrary | None:
    """The library where programs find their kernels; None if programs contain them, because the memory of a run must be
    known."""
    if options.checkpoint is not None and options.checkpoint.memory:
        return None
    return KernelLibrary(
        options.level, options.parallel, options.contract, options.lapack, options.deterministic
    )


def _mark_units(module: Module, entry: str) -> None:
    """Functions with loops are compiled separately; many are for some sizes only, and are never called."""
    loops = Effects.of(module).looping
    for name, func in module.funcs.items():
        if name != entry and name in loops and SYMBOL not in func.attrs:
            func.attrs[UNIT] = True


def _calls_lapack(module: Module) -> bool:
    return any(op.opdef is ops.foreign for f in module.funcs.values() if SYMBOL not in f.attrs for op in f.walk())


_DECLARED: dict[str, Declared | None] = {}
_RULES: dict[str, Callable[[], Traced]] = {}
_FIRST_RULES: dict[str, tuple[Module, str]] = {}
_PENDING: dict[str, Callable[[], tuple[Code, list[bytes]]]] = {}
_LOADED: dict[str, tuple[Library, object, int]] = {}
_lock = forks.Lock()


def address(symbol: str, recipe: Recipe | None = None) -> int:
    """The address of a kernel. It is compiled now if a program has mentioned it, or its recipe is known, and no process
    has compiled it yet. Raises ``LookupError`` if there is no such kernel."""
    with _lock:
        if symbol not in _LOADED:
            code, made = _kept(symbol) or _pending(symbol, recipe)
            library, units = code.objects.load(made, [code.exported], linked(code.objects))
            _LOADED[symbol] = library, units, library.address(code.exported)
            _PENDING.pop(symbol, None)
        return _LOADED[symbol][2]


def _place(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


def _from_cache(name: str, make: Callable[[], T]) -> T:
    """What the cache has under this name, or else what ``make`` returns, which is kept there."""
    data = object_cache.find(_place(name))
    if data is not None:
        found: T = pickle.loads(data)
        return found
    made = make()
    object_cache.keep(_place(name), pickle.dumps(made))
    return made


def _kept(symbol: str) -> tuple[Code, list[bytes]] | None:
    """The kernel from the cache."""
    data = object_cache.find(_place(symbol))
    if data is None:
        return None
    code: Code = pickle.loads(data)
    RECIPES.update(code.recipes)
    made = code.objects.find()
    return None if made is None else (code, made)


def _pending(symbol: str, recipe: Recipe | None) -> tuple[Code, list[bytes]]:
    if symbol in _PENDING:
        return _PENDING[symbol]()
    recipe = recipe or RECIPES.get(symbol)
    if recipe is None:
        raise LookupError(symbol)
    function, library = recipe.function(), recipe.library
    assert isinstance(library, KernelLibrary)
    traced = traced_alone(function, recipe.signature, library.lapack, library.deterministic, library)
    return library._compiled(symbol, traced, function in SMALL)


def linked(objects: Objects) -> dict[str, int]:
    """The addresses of functions of other libraries, and of kernels; those that are called late are compiled when a
    call reaches them. Raises ``LookupError`` if one is missing."""
    for symbol, recipe in objects.reached:
        provide(symbol, functools.partial(address, symbol, recipe))
    found: dict[str, int] = {}
    for symbol, function in objects.externals:
        if (known := provided(function)) is None:
            raise LookupError(symbol)
        found[symbol] = known.address
        if known.threads is not None:
            runtime.keep_to_one_thread(*known.threads)
    return found | {symbol: address(symbol) for symbol in objects.elsewhere}


def _kept_rules(module: Module, name: str) -> KeptRules:
    from adc.passes import pipelines

    part = clone_module(part_of(module, [name], mentioned))
    part = part_of(run_pipeline(part, pipelines.KEEP, verify=asked_verification()), [name], mentioned)
    return KeptRules(packed(part), name, _recipes(func.attrs.get(SYMBOL, "") for func in part.funcs.values()))


def _recipes(symbols: Iterable[str]) -> dict[str, Recipe]:
    return {symbol: RECIPES[symbol] for symbol in symbols if symbol in RECIPES}


def _declared(symbol: str, traced: Traced) -> Declared | None:
    module, name, result = traced
    func = module.funcs[name]
    if not _is_plain(module, func):
        return None
    return Declared(symbol, tuple(a.type for a in func.args), func.result_types, result)


def _is_plain(module: Module, func: Func) -> bool:
    """Whether a function takes numbers and arrays, and returns numbers and new arrays."""
    if not all(map(_is_number_or_array, (*(a.type for a in func.args), *func.result_types))):
        return False
    if any(isinstance(t, MemRefType) and t.strides is not None for t in func.result_types):
        return False
    for arg, attrs in zip(func.args, func.arg_attrs, strict=True):
        if isinstance(arg.type, MemRefType) and "adc.readonly" not in attrs:
            return False
    returned = returned_memory(module)(func.name)
    return all(not arguments and all(len(results) == 1 for results in new) for arguments, new in returned)


def _is_number_or_array(t: Type) -> bool:
    element = t.element if isinstance(t, MemRefType) else t
    return element.is_float or element.is_integer
