"""``adc compile``: compiles functions of a file ahead of time, for one or several signatures."""

from __future__ import annotations

import argparse
import os
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adc.border.boundary import full_traceback, internal
from adc.errors import AdcError
from adc.ir import kinds

if TYPE_CHECKING:
    from adc.commands.units import Unit
    from adc.driver.subject import Subject

_LEVELS = {"v2": "x86-64-v2", "v3": "x86-64-v3", "v4": "x86-64-v4"}
_SIGNATURE = re.compile(
    r"\s*(?P<function>[^\W\d]\w*)\s*\((?P<types>.*)\)\s*(?:as\s+(?P<name>[^\W\d]\w*)\s*)?", re.DOTALL
)


_EMITTED = {
    "obj": "an object file (the default)",
    "shared": "a shared library",
    "wheel": "a Python package that needs NumPy alone",
    "asm": "assembly",
    "llvm": "LLVM IR",
    "mlir": "MLIR of the standard dialects",
}


def _what_is_emitted() -> str:
    return "; ".join(f"{name}: {what}" for name, what in _EMITTED.items())


def add(commands: Any) -> None:
    """Add the command to those of ``adc``."""
    parser = commands.add_parser(
        "compile",
        help="compile functions, their gradients and pullbacks to an object file with a C header",
        description="Compile Python functions, their gradients and their pullbacks ahead of time. The object file "
        "needs neither Python nor NumPy; the header beside it says what each function takes and how to link.",
    )
    parser.add_argument(
        "targets",
        metavar="FILE[:FUNC[,FUNC...]]",
        nargs="+",
        help="a Python file, and the functions if it has several; all go into one object",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        help="default: the first function's name with .o, .so, .s, .ll or .mlir; of a wheel, the name of the package",
    )
    parser.add_argument(
        "--signature",
        action="append",
        metavar="TYPES",
        help='argument types, e.g. "f64[:, ::1], f64, i64" (f32 f64 i32 i64 bool); default: the annotations. With '
        'several functions "FUNC(TYPES)"; for several signatures of one "FUNC(TYPES) as NAME". May be repeated',
    )
    parser.add_argument("--emit", choices=tuple(_EMITTED), default="obj", help=_what_is_emitted())
    parser.add_argument(
        "--from",
        dest="language",
        choices=("python", "mlir"),
        default="python",
        help="what the files are: Python, or MLIR, such as --emit mlir writes (default: python)",
    )
    parser.add_argument("--cpp", action="store_true", help="also write a C++20 header, with std::span and overloads")
    parser.add_argument("--fortran", action="store_true", help="also write a Fortran module, with iso_c_binding")
    parser.add_argument(
        "--dump-ir",
        nargs="?",
        const="all",
        metavar="STAGES",
        help="print stages: traced, simplified, plan, adjoint, lowered, llvm, asm (comma-separated; default all)",
    )
    parser.add_argument(
        "-g",
        dest="lines",
        action="store_true",
        help="map machine code to lines of Python, for gdb and perf",
    )
    parser.add_argument("--argnums", help="positions of the parameters to differentiate by: 0 or 0,1 (default 0)")
    parser.add_argument("--argnames", help="names of the parameters to differentiate by")
    parser.add_argument(
        "--cpu",
        default="native",
        help="the CPU to compile for: v2, v3 or v4 (the levels of x86-64), or LLVM's name (default: this one); or "
        "several levels, as v2,v3,v4, of which the processor that runs the code takes the highest it has",
    )
    parser.add_argument(
        "--target",
        dest="triple",
        default="",
        metavar="TRIPLE",
        help="the system to compile for, as aarch64-linux-gnu, x86_64-linux-gnu or arm64-apple-macosx (default: this "
        "one); --cpu is then one of its processors (default: any)",
    )
    parser.add_argument(
        "--checkpoint", metavar="SPEC", help="revolve:N, every:K, sqrt, recompute-all: how gradients repeat time steps"
    )
    parser.add_argument(
        "--memory", metavar="BYTES", help="how much gradients may allocate, for instance 2GB: they repeat steps to fit"
    )
    parser.add_argument(
        "--tile", metavar="SIZES", help="lengths of blocks that stay in cache, as 16 or 16,4096; or off (default: auto)"
    )
    parser.add_argument(
        "--time-block", metavar="STEPS", help="auto, or a number: steps of a stencil in one sweep over memory"
    )
    parser.add_argument(
        "--contract", action="store_true", help="let products be fused with sums, as C compilers do (default: not)"
    )
    parser.add_argument(
        "--no-threads", "--no-parallel", dest="no_parallel", action="store_true", help="no threads; needs no OpenMP"
    )
    print_changed(parser)
    parser.set_defaults(run=run)


def print_changed(command: argparse.ArgumentParser) -> None:
    """Add the options of commands that run passes."""
    command.add_argument(
        "--print-changed", action="store_const", const="diff", help="after each pass: how functions differ, on stderr"
    )
    command.add_argument(
        "--whole", dest="print_changed", action="store_const", const="whole", help="the same, with functions in full"
    )


def run(options: argparse.Namespace) -> int:
    from adc.commands.ahead import SUFFIXES, compile_units
    from adc.commands.loading import check_folder

    if options.output is not None:
        check_folder(options.output)
    if options.print_changed is not None:
        os.environ["ADC_PRINT_CHANGED"] = options.print_changed
    units = _units(options)
    if _dumped(options, units):
        return 0
    output = options.output or Path(units[0].subject.name + SUFFIXES[options.emit])
    if (options.cpp or options.fortran) and options.emit not in ("obj", "shared"):
        raise kinds.INVALID_OPTION(
            f"--emit {options.emit} has no interface to describe", help="leave out --cpp and --fortran"
        )
    try:
        done = compile_units(
            units,
            output,
            emit=options.emit,
            cpu=",".join(_LEVELS.get(cpu, cpu) for cpu in options.cpu.replace(" ", "").split(",")),
            source=" ".join(options.targets),
            cpp=options.cpp,
            fortran=options.fortran,
            triple=options.triple,
            lines=options.lines,
        )
    except (AdcError, OSError):
        raise
    except Exception as error:
        if full_traceback():
            raise
        raise internal(error, units[0].subject.name) from error
    for remark in done.remarks:
        sys.stderr.write(f"note: {remark}; left out\n")
    files = [str(path) for path in done.files]
    print(f"wrote {', '.join(files[:-1])}{' and ' * (len(files) > 1)}{files[-1]}: {', '.join(done.functions)}")
    if options.emit == "obj":
        print(f"link with: cc main.c {output} {' '.join(done.libraries)}")
    return 0


def _dumped(options: argparse.Namespace, units: list[Unit]) -> bool:
    """Print the stages that were requested; returns whether nothing else was requested."""
    from adc.border.options import Derivative
    from adc.reports.dump import dump, language_of, stages_of, write_stage

    requested = options.dump_ir if options.dump_ir is not None else os.environ.get("ADC_DUMP_IR")
    if requested is None:
        return False
    for unit in units:
        for stage in stages_of(requested):
            text = dump(unit.subject, unit.abstracts, stage, Derivative((unit.chosen,)))
            write_stage(sys.stdout, f"{unit.c_name}: {stage}", text, language_of(stage))
    return options.output is None


def _units(options: argparse.Namespace) -> list[Unit]:
    """Each function for each of its signatures."""
    from adc.border.options import selection
    from adc.commands.loading import load_all
    from adc.commands.units import Unit
    from adc.reports.dump import resolve

    if options.language == "mlir":
        return _mlir_units(options)
    functions = [function for target in options.targets for function in load_all(target)]
    given = _signatures(options.signature or [], [f._subject.name for f in functions])
    units = []
    for function in functions:
        subject = _with_options(function._subject, options)
        chosen = function._chosen
        if options.argnums is not None or options.argnames is not None:
            chosen = selection(_numbers(options.argnums), _names(options.argnames))
        for types, name in given.get(subject.name) or [(None, "")]:
            units.append(Unit(subject, resolve(subject, types), chosen, name))
    return units


def _mlir_units(options: argparse.Namespace) -> list[Unit]:
    from adc.border.options import Selection, selection
    from adc.commands.mlir_source import load_mlir
    from adc.commands.units import Unit

    if options.signature:
        raise kinds.INVALID_OPTION("functions of MLIR have their types in the file", help="leave out --signature")
    chosen = Selection()
    if options.argnums is not None or options.argnames is not None:
        chosen = selection(_numbers(options.argnums), _names(options.argnames))
    functions = [function for target in options.targets for function in load_mlir(target)]
    return [Unit(_with_options(subject, options), abstracts, chosen) for subject, abstracts in functions]


def _signatures(texts: list[str], names: list[str]) -> dict[str, list[tuple[str | None, str]]]:
    """The requested signatures of each function, each with its name in C."""
    found: dict[str, list[tuple[str | None, str]]] = {}
    for text in texts:
        match = _SIGNATURE.fullmatch(text)
        if match is not None and match["function"] in names:
            found.setdefault(match["function"], []).append((match["types"], match["name"] or ""))
        elif match is not None:
            raise kinds.UNKNOWN_TYPES(f"--signature {text!r}: {match['function']} is not compiled here")
        elif len(names) == 1 and len(texts) == 1:
            found[names[0]] = [(text, "")]
        else:
            raise kinds.UNKNOWN_TYPES(
                f"--signature {text!r} does not say of which function",
                help=f"with several, write '{names[0]}({text})', or '{names[0]}({text}) as NAME'",
            )
    return found


def _with_options(subject: Subject, options: argparse.Namespace) -> Subject:
    if options.no_parallel:
        subject.options = replace(subject.options, parallel=False)
    if options.contract:
        subject.options = replace(subject.options, contract=True)
    if options.tile not in (None, "auto"):
        subject.options = replace(subject.options, tile=options.tile != "off" and _lengths(options.tile))
    if options.time_block is not None:
        steps = options.time_block
        subject.options = replace(subject.options, time_block=int(steps) if steps.isdecimal() else steps)
    if options.checkpoint is not None or options.memory is not None:
        from adc.border.checkpoints import combined

        if options.checkpoint == "auto":
            raise kinds.INVALID_OPTION(
                "--checkpoint auto is for the machine that compiles, and an object file may run on another one",
                help="say --memory, for instance --memory 2GB",
            )
        subject.options = replace(subject.options, checkpoint=combined(options.checkpoint, options.memory))
    return subject


def _numbers(text: str | None) -> int | tuple[int, ...] | None:
    if text is None:
        return None
    try:
        numbers = tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise kinds.WRONG_ARGNUMS(f"--argnums takes positions such as 0 or 0,1, not {text!r}") from None
    return numbers[0] if len(numbers) == 1 and "," not in text else numbers


def _lengths(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(",") if part.strip())
    except ValueError:
        raise kinds.INVALID_OPTION(f"--tile takes lengths such as 16 or 16,4096, or off, not {text!r}") from None


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())
