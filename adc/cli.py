"""The command ``adc`` and its commands: ``adc compile``, ``adc explain``, ``adc check`` and others."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from adc.border.boundary import full_traceback, internal
from adc.commands import compile_command, explain_command
from adc.errors import AdcError
from adc.ir import kinds


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code: 0, 1 after a diagnostic, 2 for an invalid command line."""
    parser, commands = _parser()
    options, unknown = parser.parse_known_args(argv)
    if unknown:  # reported with the usage of the subcommand
        commands.get(options.command, parser).error(f"unrecognized arguments: {' '.join(unknown)}")
    if options.command is None:
        parser.print_help()
        return 2
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except AdcError as error:
        _show(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        sys.stderr.write(f"error: {error.filename}: {error.strerror}\n" if error.filename else f"error: {error}\n")
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return 130
    return 1


def _parser() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    """The parser of the command line, and those of the commands by their names."""
    parser = argparse.ArgumentParser(prog="adc", description="A differentiation compiler for Python.")
    parser.add_argument("--version", action="version", version=f"adc {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    compile_command.add(commands)
    explain_command.add(commands)
    check = commands.add_parser(
        "check",
        help="check a function's values and derivatives with arguments drawn at random",
        description="Check a Python function with arguments drawn at random: compiled code against plain Python, "
        "forward and reverse mode against each other and against finite differences. If something is wrong, the rule "
        "or operation is named with its line, and the exit code is 1.",
    )
    check.add_argument("target", metavar="FILE[:FUNC]", help="a Python file, and the function if it has several")
    check.add_argument("--signature", help="argument types as for adc compile; default: the annotations")
    check.add_argument("--draws", type=int, default=12, help="how many arguments to draw (default: 12)")
    check.add_argument("--seed", type=int, default=0, help="what the drawing starts from (default: 0)")
    check.add_argument("--rtol", type=float, default=1e-6, help="how far derivatives may be apart (default: 1e-6)")
    check.add_argument(
        "--no-native", action="store_true", help="no machine code: fast for long programs, in the interpreter alone"
    )
    check.set_defaults(run=_check)
    opt = commands.add_parser(
        "opt",
        help="run passes on IR, and see what each of them changes",
        description="Read IR as --dump-ir prints it, run passes on it, verify it after each, and print the result.",
    )
    opt.add_argument("file", metavar="FILE", nargs="?", default="-", help="default: standard input")
    opt.add_argument(
        "--passes",
        default="",
        metavar="NAMES",
        help='passes and pipelines in order, as "simplify,tile-loops{tile=16,64},cse"',
    )
    opt.add_argument("--list-passes", action="store_true", help="list passes and pipelines, with their options")
    opt.add_argument("-o", "--output", type=Path, help="where the result goes (default: it is printed)")
    compile_command.print_changed(opt)
    opt.set_defaults(run=_opt)
    rules = commands.add_parser(
        "rules",
        help="list the derivative rules",
        description="List the derivative rules: what has one, its signature, and the line of the source.",
    )
    rules.add_argument("files", metavar="FILE", nargs="*", type=Path, help="Python files, to list their rules as well")
    rules.set_defaults(run=_rules)
    cache = commands.add_parser(
        "cache",
        help="show or clear the machine code that is kept on disk",
        description="Show where machine code is kept from one process to the next, and how much of it there is.",
    )
    cache.add_argument("action", nargs="?", choices=("show", "clear"), default="show", help="default: show")
    cache.set_defaults(run=_cache)
    demo = commands.add_parser(
        "demo",
        help="the plate problem, from a Python function to an object file",
        description="Go through an inverse problem, a plate that cools: compile it, show its IR and its gradient's, "
        "check the gradient, recover the plate from noisy measurements, and link an object file of it.",
    )
    demo.add_argument("--output", type=Path, default=Path("demo-output"), help="where files go (default: demo-output)")
    demo.add_argument("--size", type=int, default=48, help="points along each side of the plate (default: 48)")
    demo.set_defaults(run=_demo)
    return parser, commands.choices


def _opt(options: argparse.Namespace) -> int:
    from adc.commands.opt import list_passes, optimise

    if options.list_passes:
        list_passes(sys.stdout)
        return 0
    try:
        optimise(options.file, options.passes, options.print_changed, options.output)
    except (AdcError, OSError):
        raise
    except Exception as error:
        if full_traceback():
            raise
        raise internal(error, options.file) from error
    return 0


def _check(options: argparse.Namespace) -> int:
    from adc.checks.examining import examine
    from adc.commands.loading import load

    function = load(options.target)
    chosen = {"draws": options.draws, "rtol": options.rtol, "seed": options.seed, "native": not options.no_native}
    found = examine(function, options.signature, **chosen, say=print)
    for note in found.notes:
        sys.stderr.write(f"note: {note}\n")
    if not found.wrong:
        print(found.summary())
        return 0
    if found.culprit is not None:
        _show(kinds.WRONG_DERIVATIVE(found.wrong, found.culprit.loc, notes=found.culprit.notes))
    else:
        help = (
            "by itself no rule, operation or function is wrong in the interpreter: what is wrong may be adc's own code"
        )
        _show(kinds.WRONG_DERIVATIVE(found.wrong, help=help))
    return 1


def _rules(options: argparse.Namespace) -> int:
    from adc.commands.loading import run_file
    from adc.commands.rule_listing import listing

    for file in options.files:
        if not file.is_file():
            raise kinds.NO_SUCH_FUNCTION(f"no such file: {file}", help="give Python files, or none")
        run_file(file)
    sys.stdout.write(listing())
    return 0


def _demo(options: argparse.Namespace) -> int:
    from adc.commands.demo import demo

    demo(options.output, options.size)
    return 0


def _cache(options: argparse.Namespace) -> int:
    from adc.backend import object_cache

    folder = object_cache.directory()
    if folder is None:
        print("no machine code is kept (ADC_CACHE=0)")
    elif options.action == "clear":
        print(f"deleted {object_cache.clear()} files in {folder}")
    else:
        count, size = object_cache.usage()
        print(f"{folder}: {count} files, {size / 1e6:.1f} of at most {object_cache.limit() / 1e6:.0f} MB")
    return 0


def _show(error: AdcError) -> None:
    """Print the diagnostic, in colours on a terminal."""
    text = error.render()
    if sys.stderr.isatty() and "NO_COLOR" not in os.environ:
        from rich.console import Console
        from rich.text import Text

        shown = Text(text)
        shown.highlight_regex(r"^error", "bold red")
        shown.highlight_regex(r"\^+", "bold red")
        shown.highlight_regex(r"(?m)^ *\d* *\||-->", "blue")
        shown.highlight_regex(r"= (help|note):", "bold cyan")
        Console(file=sys.stderr, highlight=False).print(shown, soft_wrap=True)
    else:
        sys.stderr.write(text + "\n")


def _version() -> str:
    try:
        return metadata.version("adc-compiler")
    except metadata.PackageNotFoundError:
        return "(not installed)"
