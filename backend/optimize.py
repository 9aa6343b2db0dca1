"""LLVM's optimiser and code generator on a lowered module."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

import llvmlite.binding as llvm

from adc.backend import cache_locks, chosen_stores, object_cache, scalar_selects
from adc.backend.granted import asked, processors
from adc.backend.llvm_calls import emit_object, run_passes
from adc.backend.loop_nodes import LoopNodes, Place, serial
from adc.backend.partial_sums import has_chains, keep_chains
from adc.backend.sunk_loads import sunk_loads
from adc.backend.target import Target, kept_machine, short_code_generation
from adc.ir import forks

# LLVM's pipeline for each level (docs/benchmarks.md has what they cost). O3 adds to O2 more inlining and unrolling,
# unswitching, and splitting of call sites: adc has done this already, or it does not pay. It takes a fifth more time,
# and the larger code is not faster. O1 takes 6 % less time, but does not forward stores to loads after unrolling: code
# on states of a few numbers takes up to three times as long. Hand-written LLVM IR, such as the run-time library, is not
# optimised: functions to be inlined are marked.
WRITTEN = -1
_PIPELINES = {WRITTEN: 0, 0: 0, 1: 1, 2: 2, 3: 2}
_GENERATION = {WRITTEN: 1, 0: 0, 1: 1, 2: 2, 3: 3}


def vectorises(level: int) -> bool:
    """Whether loops may become SIMD."""
    return level >= 2


class Optimized:
    """A module after LLVM's pipeline for a level (0 to 3, or ``WRITTEN``).

    Object code and assembly are made on demand. ``llvm_ir`` is the optimiser's output, before code generation changes
    it. May be used from several threads. ``kept`` is object code from the cache, ``key`` the name under which later
    processes find it.
    """

    def __init__(
        self, text: str, target: Target, level: int = 3, kept: bytes | None = None, key: str = ""
    ) -> None:
        self.key = key
        self.target = target
        self.level = level
        self._text = text
        self._lock = forks.Lock()
        self._module: llvm.ModuleRef | None = _run_pipeline(text, target, level) if kept is None else None
        if kept is not None:
            self.object_code = kept

    def _take(self) -> llvm.ModuleRef:
        """Take the module, which the caller may consume; it is optimised again if it was taken before."""
        with self._lock:
            module, self._module = self._module, None
        return module if module is not None else _run_pipeline(self._text, self.target, self.level)

    def llvm_ir(self) -> str:
        module = self._take()
        text = str(module)
        with self._lock:
            self._module = module
        return text

    @forks.held_off()
    def assembly(self) -> str:
        module = self._take()
        try:
            with short_code_generation(), kept_machine(self.target, _GENERATION[self.level]) as machine:
                return str(machine.emit_assembly(module))
        finally:
            module.close()

    def vectorized(self) -> frozenset[Place]:
        """The places of loops that became SIMD loops."""
        return LoopNodes(self.llvm_ir()).vectorized()

    @cached_property
    @forks.held_off()
    def object_code(self) -> bytes:
        """A relocatable object file, position-independent."""
        # Closed here rather than by a finaliser: an interrupt that arrives while a finaliser runs is lost.
        module = self._take()
        try:
            with short_code_generation(), kept_machine(self.target, _GENERATION[self.level]) as machine:
                return emit_object(machine, module)
        finally:
            module.close()


def optimize(text: str, target: Target, level: int = 3) -> Optimized:
    """Parse LLVM IR and optimise it; raises ``RuntimeError`` if it is not valid."""
    return Optimized(text, target, level)


def optimize_or_find(text: str, target: Target, level: int = 3) -> Optimized:
    """As ``optimize``, with object code from the cache, or else stored there for later processes."""
    key = object_cache.key(text, target, level)
    kept = object_cache.find(key)
    return _optimize_and_keep(text, target, level, key) if kept is None else Optimized(text, target, level, kept, key)


def _optimize_and_keep(text: str, target: Target, level: int, key: str) -> Optimized:
    with cache_locks.held(key):
        kept = object_cache.find(key)  # another process may have been first
        made = Optimized(text, target, level, kept, key)
        if kept is None:
            object_cache.keep(key, made.object_code)
    return made


def optimize_or_find_all(levels: Mapping[str, int], target: Target) -> list[Optimized]:
    """As ``optimize_or_find`` for several modules, given the level of each text. Those that are not in the cache are
    compiled by as many threads as there are processors."""
    keys = {text: object_cache.key(text, target, level) for text, level in levels.items()}
    kept = {text: code for text, key in keys.items() if (code := object_cache.find(key)) is not None}
    made = {text: Optimized(text, target, levels[text], code, keys[text]) for text, code in kept.items()}
    missing = sorted(keys.keys() - made.keys(), key=len, reverse=True)  # the longest first
    me = threading.get_ident()

    def compile_one(text: str) -> Optimized:
        with forks.helping(me):
            return _optimize_and_keep(text, target, levels[text], keys[text])

    pool = ThreadPoolExecutor(max(1, min(processors(), asked() or len(missing), len(missing))), "adc")
    try:
        compiled = pool.map(compile_one, missing)
        made.update(zip(missing, compiled, strict=True))
    finally:
        pool.shutdown(cancel_futures=True)
    return [made[text] for text in levels]


@forks.held_off()
def _run_pipeline(text: str, target: Target, level: int) -> llvm.ModuleRef:
    """The optimised module, ready for code generation."""
    module = _without_wrong_simd(text, target, level)
    chains = vectorises(level) and has_chains(text)
    matters = (vectorises(level) and "fcmp" in text) or scalar_selects.may_be_many(text)
    choices = matters and scalar_selects.are_branches(target)
    if not chains and not choices:
        return module
    final = optimized = str(module)
    if chains:
        final = keep_chains(final)
    if choices:
        final = chosen_stores.unmasked(scalar_selects.by_masks(final))
    if final == optimized:
        return module
    module.close()
    return llvm.parse_assembly(final, llvm.create_context())


def _without_wrong_simd(text: str, target: Target, level: int) -> llvm.ModuleRef:
    """The optimised module, without SIMD in loops where LLVM's SIMD code would be wrong (``sunk_loads``)."""
    module = _pass_over(text, target, level)
    masked = "llvm.masked.load.", "llvm.masked.gather."
    if not vectorises(level) or not any(f.name.startswith(masked) for f in module.functions):
        return module
    wrong = sunk_loads(str(module))
    if wrong is not None and not wrong:
        return module
    module.close()
    module = _pass_over(serial(text, wrong), target, level)
    if sunk_loads(str(module)) != frozenset():
        module.close()
        module = _pass_over(serial(text, None), target, level)
    return module


def _pass_over(text: str, target: Target, level: int) -> llvm.ModuleRef:
    """The module after one run of the pipeline, in an LLVM context of its own, so that several threads may do this at
    once."""
    with kept_machine(target, _GENERATION[level]) as machine:
        return _passed_over(text, machine, level)


def _passed_over(text: str, machine: llvm.TargetMachine, level: int) -> llvm.ModuleRef:
    module = llvm.parse_assembly(text, llvm.create_context())
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    options = llvm.create_pipeline_tuning_options(_PIPELINES[level])
    options.loop_vectorization = options.slp_vectorization = vectorises(level)
    options.loop_interleaving = options.loop_unrolling = vectorises(level)
    builder = llvm.create_pass_builder(machine, options)
    run_passes(builder.getModulePassManager(), module, builder)
    if vectorises(level) and "vector-function-abi-variant\"=\"_ZGV_LLVM" in text:
        # The vectoriser has just introduced calls of vector functions that are defined in this module.
        late = llvm.create_new_module_pass_manager()
        late.add_always_inliner_pass()
        late.add_instruction_combine_pass()
        run_passes(late, module, builder)
    return module
