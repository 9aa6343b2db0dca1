"""A process whose free memory consists of pages far apart: code and its constants are loaded there. Prints its result.

All free memory near the libraries, and 4 GB below them, is reserved, except single pages; so anything longer than a
page is placed further away than 32-bit offsets reach.
"""

from __future__ import annotations

import ctypes
import itertools

from adc.backend.jit import engine
from adc.backend.optimize import optimize
from adc.backend.target import host

PAGE = 4096
TERMS = 400  # constants of less than a page, code of more


def reserve_all_but_pages() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    without_effect = 0x2 | 0x20 | 0x4000 | 0x100000  # private, anonymous, no swap space, at this address or nowhere
    for _ in range(4):  # what Python makes to look may be new memory
        with open("/proc/self/maps") as file:
            taken = [tuple(int(x, 16) for x in line.split()[0].split("-")) for line in file]
        libraries = [(a, b) for a, b in taken if 0x7000_0000_0000 <= a < 0x7FFF_0000_0000]
        low = min(a for a, _ in libraries)
        if libc.mmap(low - (1 << 32), 1 << 32, 0, without_effect, -1, 0) == low - (1 << 32):
            break
    else:
        raise AssertionError("other threads allocate")
    for (_, end), (start, _) in itertools.pairwise(libraries):
        if start > end:
            libc.mmap(end, start - end, 0, without_effect, -1, 0)
    for k in range(1, 40):
        libc.munmap(low - k * 16 * PAGE, PAGE)


def main() -> None:
    lines = ["define double @f(double %x) {", "  %s0 = fadd double %x, 0.0"]
    for k in range(TERMS):
        lines += [f"  %p{k} = fmul double %s{k}, 1.{k:03}", f"  %s{k + 1} = fadd double %p{k}, %x"]
    code = optimize("\n".join([*lines, f"  ret double %s{TERMS}", "}"]), host(), 0).object_code
    linker = engine()
    reserve_all_but_pages()
    library = linker.load(code, ["f"])
    print(ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(library.address("f"))(1e-30))


if __name__ == "__main__":
    main()
