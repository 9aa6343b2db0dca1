"""Ahead-of-time compilation: a Python function and its derivatives as one object file with a C header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from adc.backend.ahead import aot, cabi, levels
from adc.backend.ahead.c_names import identifier
from adc.backend.ahead.cpp_header import cpp_header
from adc.backend.ahead.fortran_module import fortran_module
from adc.backend.ahead.header import header
from adc.backend.ahead.processors import check_processor
from adc.backend.ahead.wheel import write_wheel
from adc.backend.mlir.functions import module_text
from adc.backend.target import Target, for_cpu
from adc.backend.triples import for_triple
from adc.border.options import Selection
from adc.border.selecting import everything, select
from adc.commands import ahead_kept
from adc.commands.units import Output, Unit
from adc.driver.compiler import Staged, part_of
from adc.driver.seeding import both_halves, seeded
from adc.driver.subject import Subject
from adc.errors import DifferentiationError
from adc.frontend.abstract import Abstract
from adc.frontend.traced import Traced
from adc.ir import kinds
from adc.passes.checkpointing.budget import allocates

Emit = Literal["obj", "shared", "wheel", "asm", "llvm", "mlir"]
SUFFIXES: dict[str, str] = {"obj": ".o", "shared": ".so", "wheel": "", "asm": ".s", "llvm": ".ll", "mlir": ".mlir"}


def compile_ahead(
    subject: Subject,
    abstracts: Sequence[Abstract],
    chosen: Selection,
    output: Path,
    *,
    emit: Emit = "obj",
    cpu: str = "native",
    source: str = "",
) -> Output:
    """Write ``output`` and, for an object or a shared library, a header beside it.

    The functions are named after the Python function: ``f``, ``f_grad`` if it returns one float and the arguments that
    ``chosen`` selects have a gradient, ``f_grad_workspace_bytes`` if the gradient allocates memory whose size is known
    in advance, ``f_jvp`` with tangents of the arguments that ``chosen`` selects, and the pullback ``f_aug``, ``f_rev``,
    ``f_free`` if any argument has a cotangent.
    """
    return compile_units([Unit(subject, tuple(abstracts), chosen)], output, emit=emit, cpu=cpu, source=source)


def compile_units(
    units: Sequence[Unit],
    output: Path,
    *,
    emit: Emit = "obj",
    cpu: str = "native",
    source: str = "",
    cpp: bool = False,
    fortran: bool = False,
    triple: str = "",
    lines: bool = False,
) -> Output:
    """As ``compile_ahead``, for several functions and signatures, in one file. ``cpp`` and ``fortran`` ask for a C++
    header and a Fortran module as well. Shared functions are named after the only unit, or after the file. ``triple``
    is the system to compile for; this one if it is empty. ``lines``: with a table of the Python line of each
    instruction."""
    done = Output()
    if emit == "mlir":
        return _mlir(units, output, done)
    staged = [unit.staged() for unit in units]
    asked = output.name, source, emit, cpu, cpp, fortran, triple, lines
    kept = ahead_kept.name_of(units, staged, asked) if emit in ("obj", "asm", "llvm") else None
    if ahead_kept.find(kept, done, output.parent):
        return done
    parts = [part for unit, each in zip(units, staged, strict=True) for part in _parts(unit, each, done)]
    _check_names([f.name for part in parts for f in part.functions])
    prefix = units[0].c_name if len(units) == 1 else identifier(output.stem)
    options, cpus = units[0].subject.options, cpu.split(",")
    chosen: Any = {"level": options.level, "threads": options.parallel, "debug": lines}
    if len(cpus) > 1 and triple:
        raise kinds.INVALID_OPTION("code for several processors is for this system", help="leave out --target")
    if emit == "wheel" and triple:
        raise kinds.INVALID_OPTION("a wheel is for this system", help="leave out --target, or --emit obj")
    if len(cpus) > 1:
        built = levels.build(parts, prefix, cpus, **chosen)
    else:
        built = aot.build(parts, prefix, _target(triple, cpu), **chosen)
    if emit == "wheel":
        package, folder = identifier(output.name), output.parent
        public = [unit.c_name for unit in units]
        done.files.append(write_wheel(built, public, package, source or units[0].subject.name, folder))
        done.functions = [f.name for f in built.functions]
        return done
    if emit == "obj":
        output.write_bytes(built.object_code)
    elif emit == "shared":
        built.shared(output)
    else:
        output.write_text(built.assembly() if emit == "asm" else built.llvm_ir())
    done.files.append(output)
    source = source or units[0].subject.name
    if emit in ("obj", "shared"):
        _write(done, output.with_suffix(".h"), header(built, source, output.name))
    if cpp:
        _write(done, output.with_suffix(".hpp"), cpp_header(built, source, output.with_suffix(".h").name))
    if fortran:
        _write(done, output.with_suffix(".f90"), fortran_module(built, source, f"{prefix}_module"))
    done.functions = [f.name for f in built.functions]
    done.libraries = built.libraries
    ahead_kept.keep(kept, done)
    return done


def _target(triple: str, cpu: str) -> Target:
    target = for_triple(triple, cpu) if triple else for_cpu(cpu)
    check_processor(target)
    return target


def _mlir(units: Sequence[Unit], output: Path, done: Output) -> Output:
    """The functions, their gradients and forward mode, in MLIR's standard dialects."""
    parts: list[aot.Part] = []
    for unit in units:
        staged = unit.staged(serial=True)
        parts.append(_primal(staged, unit.c_name))
        for make in (_gradient, _tangent):
            try:
                parts.append(make(staged, unit.c_name, unit.chosen))
            except DifferentiationError as error:
                done.remarks.append(error.message)
    done.functions = [part.functions[0].name for part in parts]
    _check_names(done.functions)
    entries = [(part.module, part.functions[0].function, part.functions[0].name) for part in parts]
    _write(done, output, module_text([(part_of(module, [entry]), entry, name) for module, entry, name in entries]))
    return done


def _write(done: Output, path: Path, text: str) -> None:
    path.write_text(text)
    done.files.append(path)


def _parts(unit: Unit, staged: Staged, done: Output) -> list[aot.Part]:
    name = unit.c_name
    parts = [_primal(staged, name)]
    for make in (_gradient, _tangent, _pullback):
        try:
            parts.append(make(staged, name, unit.chosen))
        except DifferentiationError as error:
            done.remarks.append(error.message)
    own = identifier(unit.subject.name)
    return [
        replace(
            part,
            functions=tuple(replace(f, overload=own + f.name.removeprefix(name)) for f in part.functions),
        )
        for part in parts
    ]


def _check_names(names: Sequence[str]) -> None:
    for k, name in enumerate(names):
        if name in names[:k]:
            raise kinds.INVALID_OPTION(
                f"two functions would be called {name} in C",
                help="give one another name: --signature 'FUNC(TYPES) as NAME'",
            )


def _no_captures(subject: Subject, traced: Traced) -> None:
    for leaf in traced.leaves:
        if leaf.kind == "capture":
            raise kinds.UNSUPPORTED_VALUE(
                f"{subject.name} reads the variable {leaf.path[0]!r}, which an object file does not have",
                traced.module.funcs[traced.entry].loc,
                help=f"pass {leaf.path[0]} as an argument",
            )


def _primal(staged: Staged, name: str) -> aot.Part:
    traced = staged.traced()
    _no_captures(staged.subject, traced)
    module = staged.primal(traced)
    return aot.Part(part_of(module, [traced.entry]), (cabi.primal(module, traced.entry, name),))


def _gradient(staged: Staged, name: str, chosen: Selection) -> aot.Part:
    traced, wanted = staged.traced_for([chosen])
    arguments = cabi.argument_names(traced.module.funcs[traced.entry])
    module, adjoint = staged.gradient(traced, wanted, with_value=True)
    module = staged.prepared(module, [adjoint.name])
    chosen_schedules = staged.keep_to_memory(module, adjoint.name)
    function = cabi.gradient(module, adjoint.name, f"{name}_grad", arguments, wanted.wrt, 1, traced.stored)
    sized = None
    if allocates(module, adjoint.name):
        sized = staged.workspace(module, adjoint.name, chosen_schedules, fails=True)
    if sized is None:
        return aot.Part(part_of(module, [adjoint.name]), (function,))
    size = cabi.workspace(module, sized.name, function, arguments)
    return aot.Part(part_of(module, [adjoint.name, sized.name]), (function, cabi.in_workspace(function), size))


def _tangent(staged: Staged, name: str, chosen: Selection) -> aot.Part:
    traced = staged.traced()
    entry = traced.module.funcs[traced.entry]
    arguments = cabi.argument_names(entry)
    wanted = select(staged.subject.name, staged.subject.parameters, staged.abstracts, traced, chosen)
    module, found = staged.tangent(traced, wanted.wrt, sorted(traced.mutated))
    module = staged.prepared(module, [found.name])
    function = cabi.tangent(module, found.name, f"{name}_jvp", arguments, found.arguments, found.results)
    return aot.Part(part_of(module, [found.name]), (function,))


def _pullback(staged: Staged, name: str, chosen: Selection) -> aot.Part:
    subject = staged.subject
    traced = staged.traced(reverse=True)
    wanted = everything(subject.parameters.names, staged.abstracts, traced)
    if not wanted.wrt:
        raise kinds.NO_GRADIENT(f"{subject.name} takes no floats: it has no pullback")
    entry = traced.module.funcs[traced.entry]
    arguments, results = cabi.argument_names(entry), cabi.result_names(entry.result_types)
    module, _, plan = staged.split(traced, wanted)
    forward, reverse, taken = seeded(module, traced.entry, plan)
    module = staged.prepared(module, [forward, reverse])
    staged.keep_to_memory(module, forward, reverse, both_halves(module, forward, reverse, plan, taken))
    functions = (
        cabi.forward(module, forward, f"{name}_aug", arguments, plan.shadows),
        cabi.reverse(
            module,
            reverse,
            f"{name}_rev",
            arguments,
            plan.kept,
            plan.shadows,
            {k: results[k] for k in taken},
            plan.cotangents_out,
        ),
    )
    return aot.Part(part_of(module, [forward, reverse]), functions)
