"""One object with code for several levels of x86-64; at run time the highest level that the processor has is chosen.

Each level is compiled and optimised separately, with its own run-time support, and all are linked into one module. The
functions of the interface are GNU indirect functions: when the program is loaded, a resolver asks the processor (CPUID,
and XGETBV for what the system saves) and returns the address. The level is the same for all functions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

import llvmlite.binding as llvm

from adc.backend.ahead import aot
from adc.backend.optimize import Optimized
from adc.backend.target import Target, for_cpu, short_code_generation
from adc.ir import forks, kinds

ORDER = ("x86-64-v2", "x86-64-v3", "x86-64-v4")

# The level that the processor has: 2, 3 or 4.
_LEVEL = """\
define internal i32 @adc.level() {
entry:
  %leaves = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{flags}"(i32 0, i32 0)
  %most = extractvalue { i32, i32, i32, i32 } %leaves, 0
  %has7 = icmp uge i32 %most, 7
  br i1 %has7, label %ask, label %two
ask:
  %one = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{flags}"(i32 1, i32 0)
  %c1 = extractvalue { i32, i32, i32, i32 } %one, 2
  %c1v3 = and i32 %c1, 943722496
  %ok1 = icmp eq i32 %c1v3, 943722496
  br i1 %ok1, label %more, label %two
more:
  %seven = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{flags}"(i32 7, i32 0)
  %b7 = extractvalue { i32, i32, i32, i32 } %seven, 1
  %b7v3 = and i32 %b7, 296
  %ok7 = icmp eq i32 %b7v3, 296
  %far = call { i32, i32, i32, i32 } asm "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{flags}"(i32 -2147483647, i32 0)
  %cf = extractvalue { i32, i32, i32, i32 } %far, 2
  %lzcnt = and i32 %cf, 32
  %okf = icmp ne i32 %lzcnt, 0
  %xcr = call { i32, i32 } asm "xgetbv", "={ax},={dx},{cx}"(i32 0)
  %saved = extractvalue { i32, i32 } %xcr, 0
  %avx = and i32 %saved, 6
  %okx = icmp eq i32 %avx, 6
  %p = and i1 %ok7, %okf
  %three = and i1 %p, %okx
  br i1 %three, label %top, label %two
top:
  %b7v4 = and i32 %b7, -805109760
  %ok4 = icmp eq i32 %b7v4, -805109760
  %zmm = and i32 %saved, 230
  %okz = icmp eq i32 %zmm, 230
  %four = and i1 %ok4, %okz
  %level = select i1 %four, i32 4, i32 3
  ret i32 %level
two:
  ret i32 2
}
"""


class Linked(Optimized):
    """A module that is already optimised; only code generation remains."""

    def __init__(self, text: str, target: Target) -> None:
        self.target = target
        self._linked = text

    def llvm_ir(self) -> str:
        return self._linked

    @forks.held_off()
    def assembly(self) -> str:
        with short_code_generation():
            return str(self.target.machine(3).emit_assembly(self._parsed()))

    @cached_property
    @forks.held_off()
    def object_code(self) -> bytes:
        with short_code_generation():
            return bytes(self.target.machine(3).emit_object(self._parsed()))

    def _parsed(self) -> llvm.ModuleRef:
        return llvm.parse_assembly(self._linked, llvm.create_context())


def build(
    parts: Sequence[aot.Part],
    prefix: str,
    cpus: Sequence[str],
    *,
    level: int = 3,
    threads: bool = True,
    debug: bool = False,
) -> aot.Built:
    """Compile the parts for several levels of x86-64; every processor is assumed to have the lowest. ``level`` is
    LLVM's optimisation level."""
    wanted = sorted(set(cpus))
    for cpu in wanted:
        if cpu not in ORDER:
            raise kinds.INVALID_OPTION(
                f"code for several processors is for levels of x86-64, not {cpu!r}", help="--cpu v2,v3,v4"
            )
    built = [aot.build(parts, prefix, for_cpu(cpu), level=level, threads=threads, debug=debug) for cpu in wanted]
    base = for_cpu(wanted[0])
    if not base.is_x86 or not base.is_linux:
        raise kinds.INVALID_OPTION("code for several levels is for x86-64 and Linux", help="give one --cpu")
    public = _public(built[0], prefix)
    context = llvm.create_context()
    linked = llvm.parse_assembly(f'target triple = "{base.triple}"\n' + _LEVEL + _chooser(public, wanted), context)
    for cpu, made in zip(wanted, built, strict=True):
        linked.link_in(_for_level(made.optimized.llvm_ir(), cpu, public, context))
    for item in (*linked.functions, *linked.global_variables):
        if not item.is_declaration and not item.name.startswith("llvm.") and item.name not in public:
            item.linkage = llvm.Linkage.internal
    libraries = tuple(dict.fromkeys(library for made in built for library in made.libraries))
    return aot.Built(prefix, built[0].functions, Linked(str(linked), base), libraries)


def _public(built: aot.Built, prefix: str) -> list[str]:
    frees = [f.name.removesuffix("_aug") + "_free" for f in built.functions if f.kind == "forward"]
    return [*(f.name for f in built.functions), *frees, *aot.shared_names(prefix)]


def _chooser(public: Sequence[str], cpus: Sequence[str]) -> str:
    """The functions of the interface, with the resolver that selects the code for each."""
    lines = [f"declare void @{_named(name, cpu)}()" for name in public for cpu in cpus]
    for name in public:
        lines += [f"@{name} = ifunc void (), ptr @adc.resolve.{name}", f"define internal ptr @adc.resolve.{name}() {{"]
        lines.append("  %level = call i32 @adc.level()")
        found = f"@{_named(name, cpus[0])}"
        for cpu in cpus[1:]:
            lines.append(f"  %has{cpu[-1]} = icmp sge i32 %level, {cpu[-1]}")
            lines.append(f"  %f{cpu[-1]} = select i1 %has{cpu[-1]}, ptr @{_named(name, cpu)}, ptr {found}")
            found = f"%f{cpu[-1]}"
        lines += [f"  ret ptr {found}", "}"]
    return "\n".join(lines) + "\n"


def _named(name: str, cpu: str) -> str:
    return f"{name}.{cpu[-2:]}"


def _for_level(text: str, cpu: str, public: Sequence[str], context: llvm.ContextRef) -> llvm.ModuleRef:
    """The optimised code of a level: its functions have the level's CPU as an attribute, and names of their own."""
    text = re.sub(r"^(attributes #\d+ = \{)", rf'\1 "target-cpu"="{cpu}"', text, flags=re.MULTILINE)
    module = llvm.parse_assembly(text, context)
    for function in module.functions:
        if function.name in public and not function.is_declaration:
            function.name = _named(function.name, cpu)
    for item in (*module.functions, *module.global_variables):
        own = not any(item.name == _named(name, cpu) for name in public)
        if own and not item.is_declaration and not item.name.startswith("llvm."):
            item.linkage = llvm.Linkage.internal
    return module
