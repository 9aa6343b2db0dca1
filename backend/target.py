"""The machine that code is generated for: CPU, vector widths, and the run-time libraries that are available."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

import llvmlite.binding as llvm

from adc.ir import forks
from adc.ir.lazy_dataclass import dataclass
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

# CPUs with gathers and scatters slower than LLVM's cost model assumes: on Cascade Lake, strided loads of short rows
# take a third less time without them, loads by index arrays the same. The others are slowed down by Intel's microcode
# against Gather Data Sampling (CVE-2022-40982).
_SLOW_GATHER_CPUS = re.compile(
    "x86-64-v4|skylake.*|skx|cascadelake|cooperlake|cannonlake|icelake-.*|rocketlake|tigerlake"
)

# CPUs whose scatters alone are slow: on Zen 4 one takes longer than the stores that it stands for (bundle adjustment
# takes a fifth less time without them).
_SLOW_SCATTER_CPUS = re.compile("znver[45]")

# These can only be set for the whole process, so they affect other users of llvmlite, too; no results change.
_OPTIONS = (
    # Sums in program order are vectorised, too: vectors of terms are computed, and then added one by one.
    "-force-ordered-reductions=true",
    # A value that the iteration before has loaded, such as a neighbour in a stencil, is loaded again: loop-carried
    # values prevent SIMD in loops with more than one store, and are no faster elsewhere.
    "-enable-load-in-loop-pre=false",
    # No versioned SIMD loops for rows of one element: `pairs[i, 0]` is loaded with a gather. Arrays with contiguous
    # rows have another type, so nothing is lost.
    "-enable-mem-access-versioning=false",
)
_HAVE_OPTIONS = (22,)  # LLVM aborts the process if it does not know an option

# Loop strength reduction decides which addresses in a loop become induction variables. It takes two fifths of the time
# of code generation, most of it where loops were unrolled or have many arrays. adc's accesses are a row and an index in
# it, which matches the addressing modes of the machine: without the pass the problems of the suite are as fast, and
# loops over short rows take two thirds of the time, since computations before each loop do not pay there.
_SWITCH = "-disable-lsr"

initialised = forks.Lock()
_generating = forks.Lock()
_generators = 0  # number of threads that are generating code


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
    """A context in which LLVM generates code without loop strength reduction.

    This is only possible with an option of the whole process, which LLVM reads when it begins with a module. So it is
    set only while threads are in this context, for the sake of other users of llvmlite.
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
    """The machine that code is generated for.

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
        """Whether the system is Linux; else it is macOS."""
        return "linux" in self.triple

    @property
    def vector_bits(self) -> int:
        """Width of the vectors that LLVM should prefer; 0 leaves the choice to it.

        LLVM prefers 256 bits on CPUs where 512-bit vectors lower the clock rate, such as Cascade Lake. Even there,
        loops of elementary functions and of arithmetic in cache take between a half and nine tenths of the time with
        512 bits, and stencils the same.
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
        """The possible numbers of doubles in the vectors of SIMD loops."""
        widths = {"avx512f": 8, "avx2": 4}
        return tuple(lanes for feature, lanes in widths.items() if self.is_x86 and self.has(feature)) or (2,)

    @property
    def twofold_lanes(self) -> int:
        """The number of doubles in two of the widest vectors."""
        return 2 * max(self.double_lanes)

    @property
    def _tuning(self) -> tuple[str, ...]:
        """What LLVM should prefer, as features of its target machine."""
        if self.is_x86 and _SLOW_GATHER_CPUS.fullmatch(self.cpu):
            return "+prefer-no-gather", "+prefer-no-scatter"
        return ("+prefer-no-scatter",) if self.is_x86 and _SLOW_SCATTER_CPUS.fullmatch(self.cpu) else ()

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
    """A target machine for the exclusive use of this thread; it is reused later, since setting one up takes as long as
    generating code for a small function."""
    idle = _machines.setdefault((target, level), [])
    try:
        machine = idle.pop()
    except IndexError:
        machine = target.machine(level)
    yield machine
    idle.append(machine)  # not after an error, which may have left it in any state


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
    """glibc's vector mathematics library, loaded so that compiled code can call it; None where it is not available."""
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
    """If libgomp is loaded in this context, its threads spin only some microseconds before they sleep.

    The default is milliseconds. On two cores, one of them busy with other work, 200 steps of a 512 by 512 stencil (33
    microseconds a step on each of two threads) took 18 ms with a spin count of 300, 30 ms with 1000, over 100 ms with
    10000, and 17 ms without spinning; on an idle machine it was 8 ms with all of these counts. Environment variables of
    the user take precedence.
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
    """Addresses of the OpenMP runtime's entry points, or None (with one warning) where no runtime is found."""
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
