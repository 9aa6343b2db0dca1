"""Object code for a linker, kept from one run of ``adc compile`` to the next."""

from __future__ import annotations

from functools import cached_property

from adc.backend import llvm_text, object_cache
from adc.backend.optimize import Optimized
from adc.backend.target import Target


class Linkable(Optimized):
    """A module whose object file is made on demand.

    ``called`` are the names of the functions that it calls and does not define. They are kept beside the object code,
    so that the module need not be optimised again to find them.
    """

    def __init__(self, text: str, target: Target, level: int = 3) -> None:
        key = object_cache.key(text, target, level)
        beside = object_cache.key(f"{text}\n; what is called", target, level)
        code, called = object_cache.find(key), object_cache.find(beside)
        super().__init__(text, target, level, None if called is None else code, key)
        if code is None or called is None:
            called = "\n".join(llvm_text.functions(self.llvm_ir(), "declare")).encode()
            object_cache.keep(beside, called)
        self.called = frozenset(called.decode().split())

    @cached_property
    def object_code(self) -> bytes:
        code = super().object_code
        object_cache.keep(self.key, code)
        return code
