"""Targets for other systems than this one."""

from __future__ import annotations

import functools

import llvmlite.binding as llvm

from adc.backend.target import ARM, Target, initialise, initialised
from adc.ir import kinds


def for_triple(triple: str, cpu: str = "") -> Target:
    """The target for another system: ``"aarch64-linux-gnu"``, ``"arm64-apple-macosx"``.

    Without a CPU the code runs on every processor of the architecture. It does not call libmvec, which the other system
    may not have.
    """
    normal = triple.strip().lower()
    architecture = normal.partition("-")[0]
    if architecture not in ("x86_64", *ARM) or not any(name in normal for name in ("linux", "darwin", "macos")):
        raise kinds.INVALID_OPTION(
            f"code is made for x86_64 or aarch64, and Linux or macOS, not {triple!r}",
            help="give a target such as aarch64-linux-gnu, x86_64-linux-gnu or arm64-apple-macosx",
        )
    _initialise_others()
    baseline = {"x86_64": "x86-64"}.get(architecture, "generic" if "linux" in normal else "apple-m1")
    chosen = baseline if cpu in ("", "native", "host") else cpu
    return Target(normal, chosen, "", vector_math=False, openmp=True)


@functools.cache
def _initialise_others() -> None:
    """Initialise LLVM for other machines."""
    initialise()
    with initialised:
        llvm.initialize_all_targets()
        llvm.initialize_all_asmprinters()
