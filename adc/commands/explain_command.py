"""``adc explain`` and ``adc explore``: what a gradient costs and why, as text and as a page."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any


def add(commands: Any) -> None:
    """Add the commands to those of ``adc``."""
    explain = commands.add_parser(
        "explain",
        help="say what a gradient costs and why",
        description="Say what the gradient of a function costs and why: a summary, then line by line what is stored, "
        "computed again, run on threads and made SIMD. Nothing is run.",
    )
    _target(explain)
    explain.add_argument("--json", action="store_true", help="print the report as JSON")
    explain.add_argument("--summary", action="store_true", help="print the summary alone")
    explain.add_argument("--no-simd", action="store_true", help="do not ask LLVM which loops are SIMD: faster")
    explain.set_defaults(run=_explain)
    explore = commands.add_parser(
        "explore",
        help="write a page with Python, IR, LLVM and assembly side by side",
        description="Write one page, for a browser, that shows a function at all stages: Python, primal IR, adjoint "
        "IR, LLVM IR and assembly, side by side, linked by source line. It needs no network.",
    )
    _target(explore)
    explore.add_argument("-o", "--output", type=Path, help="default: the function's name with .html")
    explore.set_defaults(run=_explore)


def _target(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", metavar="FILE[:FUNC]", help="a Python file, and the function if it has several")
    parser.add_argument("--signature", help="argument types as for adc compile; default: the annotations")


def _explain(options: argparse.Namespace) -> int:
    from adc.commands.loading import load

    found = load(options.target).report(options.signature, simd=not options.no_simd)
    if options.json:
        json.dump(found.as_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        print(found.summary() if options.summary else found)
    return 0


def _explore(options: argparse.Namespace) -> int:
    from adc.commands.explore import page
    from adc.commands.loading import check_folder, load

    if options.output is not None:
        check_folder(options.output)
    function = load(options.target)
    output = options.output or Path(f"{function._subject.name}.html")
    output.write_text(page(function, options.signature), encoding="utf-8")
    print(f"wrote {output}")
    return 0
