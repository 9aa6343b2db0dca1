"""Hand-written kernels in LLVM IR, and the JIT that loads them for tests of the call path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import llvmlite.binding as llvm

from adc.backend import llvm_text, runtime, target
from adc.backend.calls.abi import Signature
from adc.backend.calls.stub import bind, imports, stub_ir
from adc.backend.support import contexts

_numbers = count()
SUPPORT_DECLARATIONS = "\n".join(contexts.DECLARATIONS[n] for n in ("adc_alloc", "adc_free", "adc_grow", "adc_raise"))


def load(text: str, exports: Sequence[str]) -> llvm.ResourceTracker:
    """Compile a module and load it."""
    machine = target.host().machine()
    module = llvm.parse_assembly(f'target triple = "{target.host().triple}"\n{text}')
    module.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)
    library = llvm.JITLibraryBuilder().add_object_img(machine.emit_object(module)).add_current_process()
    for name in imports(text):
        library.import_symbol(name, runtime.address(name))
    for name in exports:
        library.export_symbol(name)
    return library.link(_jit(), f"test{next(_numbers)}")


_JIT: list[llvm.LLJIT] = []


def _jit() -> llvm.LLJIT:
    if not _JIT:
        _JIT.append(llvm.create_lljit_compiler(target.host().machine()))
    return _JIT[0]


def stub_for(
    kernel: str,
    signature: Signature,
    miss: Callable[..., Any] | None = None,
    error: Callable[[int, int, int], BaseException] | None = None,
) -> Callable[..., Any]:
    """A Python function that calls a kernel; what does not fit gives ``("miss", args)``."""
    fragment = stub_ir(signature, "stub")
    exports = ["stub", *(["stub.objects"] if "stub.objects" in fragment.text else [])]
    library = load(llvm_text.merge(kernel, [fragment]), exports)
    return bind(
        signature,
        "stub",
        library.__getitem__,
        library,
        miss=miss or (lambda *args: ("miss", args)),
        error=error or (lambda site, a, b, more: ArithmeticError(site, a, b)),
    )


def pool() -> int:
    """The address of the first waiting context."""
    import ctypes

    return ctypes.c_void_p.from_address(runtime.address("adc_pool")).value or 0
