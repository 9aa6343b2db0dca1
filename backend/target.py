"""The machine that code is generated for: CPU, vector widths, and which run-time libraries it can count on."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import llvmlite.binding as llvm

from adc.ir import forks
from adc.ir.notices import warn

_LIBMVEC = "libmvec.so.1"
# libgomp, or LLVM's runtime, which has libgomp's entry points too; on macOS it is Homebrew's or conda's.
_OPENMP = (
    *("libgomp.so.1", "libomp.so.5", "libomp.so", "libiomp5.so", "libomp.dylib"),
    *("/opt/homebrew/opt/libomp/lib/libomp.dylib", "/usr/local/opt/libomp/lib/libomp.dylib"),
)
OPENMP_SYMBOLS = ("GOMP_parallel", "omp_get_thread_num", "omp_get_num_threads", "omp_in_parallel")

# What a CPU name implies, for code that is not generated for this machine.
_AVX512_CPUS = re.compile(
    "x86-64-v4|skylake-avx512|skx|cascadelake|cooperlake|cannonlake|icelake-.*|rocketlake|tigerlake|"
    "sapphirerapids|emeraldrapids|graniterapids.*|diamondrapids|znver[4-9]"
)
_AVX2_CPUS = re.compile(
    "x86-64-v3|core-avx2|haswell|broadwell|skylake|alderlake|raptorlake|meteorlake|arrowlake.*|lunarlake|pantherlake|"
    "gracemont|sierraforest|grandridge|clearwaterforest|bdver4|znver[1-3]"
)

# Where gathers and scatters are worth less than LLVM's costs say: on Cascade Lake strided loads of short rows take a
# third less time without, loads by index arrays the same. The others are those that Intel's microcode against Gather
# Data Sampling (CVE-2022-40982) is for, which slows gathers down.
_SLOW_GATHER_CPUS = re.compile(
    "x86-64-v4|skylake.*|skx|cascadelake|cooperlake|cannonlake|icelake-.*|rocketlake|tigerlake"
)

# There is no other way to ask for these, so they hold for other users of llvmlite in the process; no result changes.
_OPTIONS = (
    # Sums whose order is the program's are vectorised too: the terms are, and then added one by one.
    "-force-ordered-reductions=true",
    # What an iteration loads that the one before has loaded, as neighbours of stencils are, is loaded again: values
    # that are handed on keep loops with more than one store from becoming SIMD, and are no faster where they do not.
    "-enable-load-in-loop-pre=false",
    # No SIMD loop that runs only if the rows of an array have one element: `pairs[i, 0]` is loaded by gathering.
    # Arrays whose innermost elements are side by side are another type, so that nothing is lost.
    "-enable-mem-access-versioning=false",
)
_HAVE_OPTIONS = (22,)  # LLVM ends the process if it does not know an option

# Loop strength reduction decides which addresses in a loop have a variable of their own. That takes two fifths of the
# time of code generation, most where loops were unrolled or have many arrays. adc's accesses are a row and a place in
# it, which is how the machine addresses memory: without, the problems of the suite are as fast, and loops over short
# rows take two thirds of the time, since what is computed in front of each loop does not pay there.
_SWITCH = "-disable-lsr"

initialised = forks.Lock()
_generating = forks.Lock()
_generators = 0  # threads that generate code


@functools.cache
def initialise() -> None:
    """Make LLVM ready to generate code for this machine (once per process)."""
    with initialised:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.initialize_native_asmparser()
        if llvm.llvm_version_info[0] in _HAVE_OPTIONS:
            for option in _OPTIONS:
                llvm.set_option("adc", option)


@contextlib.contextmanager
def short_code_generation() -> Iterator[None]:
    """LLVM generates code without loop strength reduction meanwhile.

    There is no other way to ask for it than an option of the process. LLVM looks at it when it begins with a module, so
    it is set while threads are here, and other users of llvmlite have what they expect.
    """
    initialise()
    _generate(1)
    try:
        yield
    finally:
        _generate(-1)


def _generate(more: int) -> None:
    global _generators
    with _generating:
        before, _generators = _generators, _generators + more
        if bool(before) != bool(_generators) and llvm.llvm_version_info[0] in _HAVE_OPTIONS:
            llvm.set_option("adc", f"{_SWITCH}={'true' if _generators else 'false'}")


@dataclass(frozen=True)
class Target:
    """What code is generated for.

    ``vector_math``: glibc's libmvec may be called; ``openmp``: an OpenMP runtime may be called.
    """

    triple: str
    cpu: str
    features: str
    vector_math: bool
    openmp: bool

    def has(self, feature: str) -> bool:
        """Whether the CPU has an instruction set extension, by LLVM's name: ``"avx2"``."""
        if f"-{feature}" in self.features.split(","):
            return False
        if f"+{feature}" in self.features.split(","):
            return True
        if feature in ("avx2", "fma", "avx") and _AVX2_CPUS.fullmatch(self.cpu):
            return True
        return feature in ("avx512f", "avx2", "fma", "avx") and bool(_AVX512_CPUS.fullmatch(self.cpu))

    @property
    def is_x86(self) -> bool:
        return self.triple.startswith("x86_64")

    @property
    def is_linux(self) -> bool:
        """Whether the C library is that of Linux; else it is that of macOS."""
        return "linux" in self.triple

    @property
    def vector_bits(self) -> int:
        """Width of the vectors that LLVM should prefer; 0 leaves the choice to it.

        LLVM prefers 256 bits where 512 lower the clock, as on Cascade Lake. There, too, loops of elementary functions
        and of arithmetic in cache take between a half and nine tenths of the time with 512, and stencils the same.
        """
        return 512 if self.is_x86 and self.has("avx512f") else 0

    @property
    def vector_classes(self) -> tuple[tuple[str, int], ...]:
        """The x86 vector function ABI's letters for the usable register classes, with their width in bits."""
        if not self.is_x86 or not self.vector_math:
            return ()
        classes = [("b", 128)]
        if self.has("avx2"):
            classes.append(("d", 256))
        elif self.has("avx"):
            classes.append(("c", 256))
        if self.has("avx512f"):
            classes.append(("e", 512))
        return tuple(classes)

    @cached_property
    def fused(self) -> bool:
        """Whether a multiply-add with one rounding is one instruction."""
        return self.has("fma") if self.is_x86 else self.triple.startswith(ARM)

    @property
    def double_lanes(self) -> tuple[int, ...]:
        """How many doubles the vectors may have that loops are made of."""
        widths = {"avx512f": 8, "avx2": 4}
        return tuple(lanes for feature, lanes in widths.items() if self.is_x86 and self.has(feature)) or (2,)

    @property
    def twofold_lanes(self) -> int:
        """How many doubles two of the widest vectors have together."""
        return 2 * max(self.double_lanes)

    @property
    def _tuning(self) -> tuple[str, ...]:
        """What LLVM should prefer, as features of its target machine."""
        if not self.is_x86 or not _SLOW_GATHER_CPUS.fullmatch(self.cpu):
            return ()
        return ("+prefer-no-gather", "+prefer-no-scatter")

    def machine(self, level: int = 3) -> llvm.TargetMachine:
        """LLVM's target machine: position-independent code, so that one object serves JIT, cache and linker."""
        initialise()
        features = ",".join(filter(None, (self.features, *self._tuning)))
        return llvm.Target.from_triple(self.triple).create_target_machine(
            self.cpu, features, opt=level, reloc="pic", codemodel="default"
        )


ARM = "aarch64", "arm64"


@contextlib.contextmanager
def kept_machine(target: Target, level: int) -> Iterator[llvm.TargetMachine]:
    """A target machine for this thread alone, which later ones get again: what it finds out about the processor, the
    same for all modules, takes as long as the code of a small function."""
    idle = _machines.setdefault((target, level), [])
    try:
        machine = idle.pop()
    except IndexError:
        machine = target.machine(level)
    yield machine
    idle.append(machine)  # not after an error, which may have come in the middle


_machines: dict[tuple[Target, int], list[llvm.TargetMachine]] = {}


@functools.cache
def host() -> Target:
    """The machine that this process runs on."""
    initialise()
    triple = llvm.get_process_triple()
    features = llvm.get_host_cpu_features().flatten()
    return Target(
        triple=triple,
        cpu=llvm.get_host_cpu_name(),
        features=features,
        vector_math=platform.system() == "Linux" and libmvec() is not None,
        openmp=openmp() is not None,
    )


def for_cpu(cpu: str, features: str = "") -> Target:
    """This machine's system with another CPU; ``"native"`` is the host."""
    if cpu in ("", "native", "host"):
        return host() if not features else replace(host(), features=f"{host().features},{features}")
    return replace(host(), cpu=cpu, features=features, openmp=True)


@functools.cache
def libmvec() -> ctypes.CDLL | None:
    """glibc's vector mathematics, loaded so that compiled code finds it; None where there is none."""
    try:
        return ctypes.CDLL(_LIBMVEC, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return None


@functools.cache
def libmvec_exports(symbol: str) -> bool:
    library = libmvec()
    return library is not None and hasattr(library, symbol)


@contextlib.contextmanager
def _short_spin() -> Iterator[None]:
    """Let libgomp's threads, if it is loaded with this in force, spin only some microseconds before they sleep.

    Its default is milliseconds. On two cores of which other work wanted one, a 512 by 512 stencil (33 microseconds a
    step on each of two threads) took 18 ms for 200 steps with 300 turns of spinning, 30 with 1000, over 100 with 10000,
    and 8 ms with all of them when the machine was idle; without spinning 17. Environment variables of the user prevail.
    """
    if "GOMP_SPINCOUNT" in os.environ or "OMP_WAIT_POLICY" in os.environ:
        yield
        return
    os.environ["GOMP_SPINCOUNT"] = "500"
    try:
        yield
    finally:
        del os.environ["GOMP_SPINCOUNT"]


@functools.cache
def openmp() -> dict[str, int] | None:
    """Addresses of the OpenMP runtime's entry points, or None (said once) where no runtime is found."""
    for name in _OPENMP:
        try:
            with _short_spin():
                library = ctypes.CDLL(name)
            addresses = {s: ctypes.cast(getattr(library, s), ctypes.c_void_p).value for s in OPENMP_SYMBOLS}
        except (OSError, AttributeError):
            continue
        return {symbol: address for symbol, address in addresses.items() if address is not None}
    warn("no OpenMP runtime (libgomp or libomp) was found: parallel loops run on one thread")
    return None
