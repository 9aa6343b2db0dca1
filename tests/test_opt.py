"""``adc opt``, and what each pass changes, as users see it."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import pkgutil
import subprocess
import sys
from dataclasses import dataclass, is_dataclass
from pathlib import Path
from typing import ClassVar, get_type_hints
from unittest import mock

import pytest

import adc.passes
from adc.cli import main
from adc.driver.changes import PrintChanges
from adc.ir import ops
from adc.ir.core import Module
from adc.ir.text.parser import parse_module
from adc.ir.text.printer import print_module
from adc.passes import named, pipelines
from adc.passes.base import Pass, Pipeline, Verify, run_pipeline
from adc.passes.cache.block_time import BlockTime
from adc.passes.cache.tile_loops import TileLoops
from adc.passes.calls.inline import Inline
from adc.passes.checkpointing.count_steps import CountSteps
from adc.passes.scatter.lower_accumulate import LowerAccumulate
from adc.passes.simplify.cse import CSE

TEXT = """\
func.func @f(%x: f64) -> f64 {
  %one = arith.constant 1.0 : f64
  %y = arith.mulf %x, %one : f64
  %z = arith.addf %y, %y : f64
  func.return %z : f64
}
"""
DONE = """\
func.func @f(%x: f64) -> f64 {
  %z = arith.addf %x, %x : f64
  func.return %z : f64
}
"""
CHANGED = """\
// canonicalize
--- @f
+++ @f
@@ -1,6 +1,5 @@
 func.func @f(%x: f64) -> f64 {
   %one = arith.constant 1.0 : f64
-  %y = arith.mulf %x, %one : f64
-  %z = arith.addf %y, %y : f64
+  %z = arith.addf %x, %x : f64
   func.return %z : f64
 }

// licm (unchanged)
// dce
--- @f
+++ @f
@@ -1,5 +1,4 @@
 func.func @f(%x: f64) -> f64 {
-  %one = arith.constant 1.0 : f64
   %z = arith.addf %x, %x : f64
   func.return %z : f64
 }

"""


def opt(*arguments: str, given: str = "", command: str = "opt", **variables: str) -> subprocess.CompletedProcess[str]:
    told, errors = io.StringIO(), io.StringIO()
    with (
        mock.patch("sys.stdin", io.StringIO(given)),
        mock.patch.dict(os.environ, variables),
        contextlib.redirect_stdout(told),
        contextlib.redirect_stderr(errors),
    ):
        code = main([command, *arguments])
    return subprocess.CompletedProcess(arguments, code, told.getvalue(), errors.getvalue())


def test_passes_run_on_a_file(tmp_path: Path) -> None:
    file = tmp_path / "f.mlir"
    file.write_text(TEXT)
    run = opt(str(file), "--passes=canonicalize,dce")
    assert (run.returncode, run.stdout, run.stderr) == (0, DONE, "")
    assert opt(str(file)).stdout == TEXT
    opt(str(file), "--passes=simplify", "-o", str(tmp_path / "out.mlir"))
    assert (tmp_path / "out.mlir").read_text() == DONE


def test_what_each_pass_changed_is_shown() -> None:
    run = opt("--passes=canonicalize,licm,dce", "--print-changed", given=TEXT)
    assert (run.returncode, run.stdout, run.stderr) == (0, DONE, CHANGED)
    whole = opt("-", "--passes=licm,tidy", "--whole", given=TEXT).stderr
    assert whole.startswith("// licm (unchanged)\n// canonicalize\nfunc.func @f(")
    assert whole.endswith(f"// dce\n{DONE}\n")


@dataclass(frozen=True)
class Renames:
    """Puts @g in the place of @f."""

    name: ClassVar[str] = "renames"

    def run(self, module: Module) -> Module:
        func = module.funcs.pop("f")
        func.name = "g"
        module.add(func)
        return module


def test_functions_that_come_and_go_are_shown() -> None:
    module, out = parse_module(TEXT), io.StringIO()
    run_pipeline(module, (Renames(),), after=PrintChanges(module, out).after)
    assert out.getvalue() == f"// renames\n// @f is gone\n{TEXT.replace('@f', '@g')}\n"


def test_what_a_program_goes_through_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("def f(x: 'f64', n: 'i64'):\n    for _ in range(n):\n        x = x * x\n    return x\n")
    arguments = (str(program), "--dump-ir=adjoint")
    quiet = opt(*arguments, command="compile")
    assert quiet.stderr == ""
    for run in (
        opt(*arguments, "--print-changed", command="compile"),
        opt(*arguments, command="compile", ADC_PRINT_CHANGED="1"),
    ):
        assert run.stdout == quiet.stdout
        titles = [line for line in run.stderr.splitlines() if line.startswith("// ")]
        names = [line.removeprefix("// f: ").removesuffix(" (unchanged)") for line in titles]
        seen = iter(names)
        assert all(step.name in seen for step in (*pipelines.PREPARE, *pipelines.SIMPLIFY) if isinstance(step, Pass))
        assert 0 < sum("unchanged" not in line for line in titles) < len(titles)


def test_passes_are_shown_where_an_earlier_process_compiled_the_same(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("from adc import jit_grad\n\n@jit_grad\ndef f(x):\n    return x * x\n\nprint(f.grad(3.0))\n")
    root = str(Path(__file__).resolve().parent.parent)
    here = {**os.environ, "PYTHONPATH": root, "ADC_CACHE": "1", "ADC_CACHE_DIR": str(tmp_path / "kept")}

    def run(**variables: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(program)]
        return subprocess.run(command, env={**here, **variables}, check=True, capture_output=True, text=True)

    assert run().stdout == "6.0\n"
    watched = run(ADC_PRINT_CHANGED="1")
    assert watched.stdout == "6.0\n" and "// f: canonicalize" in watched.stderr


REFUSED = {
    "--passes=canonicalise": "there is no pass or pipeline 'canonicalise'",
    "--passes=cse{size=1}": "cse has no option 'size'; its options are memory",
    "--passes=dce{size=1}": "dce has no option 'size'; it has none",
    "--passes=cse{memory=2}": "cse: memory cannot be '2'; it is true or false",
    "--passes=cse{memory}": "cse: an option is spelled name=value, not 'memory'",
    "--passes=cse{memory": "'cse{memory' is no name of a pass with options",
    "--passes=cse,,dce": "',dce' is no name of a pass",
    "--passes=simplify{size=1}": "simplify is a pipeline, which has no options",
    "--passes=count-steps": "count-steps needs the option roots",
    "--passes=tile-loops{tile=a}": "tile-loops: tile cannot be 'a'; it is true or false or a number,...",
}


@pytest.mark.parametrize("argument", REFUSED)
def test_what_names_no_pass_is_refused(argument: str) -> None:
    run = opt(argument, given=TEXT)
    assert run.returncode == 1 and run.stdout == ""
    assert run.stderr.startswith(f"error[invalid-option]: --passes: {REFUSED[argument]}")
    assert "adc opt --list-passes" in run.stderr


def test_what_is_no_ir_is_refused(tmp_path: Path) -> None:
    run = opt("--passes=dce", given=TEXT.replace("mulf", "mulg"))
    assert run.returncode == 1
    assert "error[invalid-source]: there is no operation arith.mulg" in run.stderr and "<stdin>:3" in run.stderr
    invalid = opt("--passes=dce", given=TEXT.replace("-> f64", "-> f32"))
    assert invalid.returncode == 1 and "error[invalid-source]: <stdin> is not valid IR: @f" in invalid.stderr
    missing = opt(str(tmp_path / "none.mlir"))
    assert missing.returncode == 1 and "no such file: " in missing.stderr
    nowhere = opt("-o", str(tmp_path / "no" / "where.mlir"), given=TEXT)
    assert nowhere.returncode == 1 and "there is no folder" in nowhere.stderr


def test_ways_to_print_are_refused_by_name(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("def f(x: 'f64'):\n    return x\n")
    run = opt(str(program), "--dump-ir=simplified", command="compile", ADC_PRINT_CHANGED="nonsense")
    assert run.returncode == 1
    assert run.stderr.startswith("error[invalid-option]: there is no way 'nonsense' to print what passes change")


def test_options_are_the_fields_of_passes() -> None:
    assert named.parse_pipeline(" cse{memory=false}, tile-loops{tile=16,64},tile-loops{tile=off}") == (
        *(CSE(False), TileLoops((16, 64)), TileLoops(False)),
    )
    assert named.parse_pipeline("inline{most=60 growth=200}") == (Inline(most=60, growth=200),)
    assert named.parse_pipeline("block-time{steps=auto},block-time{steps=8},block-time{steps=none}") == (
        *(BlockTime("auto"), BlockTime(8), BlockTime(None)),
    )
    assert named.parse_pipeline("lower-accumulate{wanted=gather atomics=true}") == (LowerAccumulate("gather", True),)
    assert named.parse_pipeline("count-steps{roots=f,g}") == (CountSteps(("f", "g")),)
    (drop,) = named.parse_pipeline("drop-checks{of=adc.bound}")
    assert drop.of is ops.bound  # type: ignore[attr-defined]
    assert named.parse_pipeline("") == ()
    assert named.parse_pipeline("tidy,cse") == (*pipelines.TIDY, CSE())


def test_every_pass_has_its_name_and_a_summary() -> None:
    """All that runs in pipelines is found; so is whatever else is written like a pass."""
    found = set()
    for info in pkgutil.walk_packages(adc.passes.__path__, "adc.passes."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, type) and is_dataclass(value) and isinstance(vars(value).get("name"), str):
                if callable(getattr(value, "run", None)):
                    found.add(value)
    assert found == set(named.PASSES.values())
    for name, kind in named.PASSES.items():
        text = named.summary(kind)
        assert text.endswith(".") and "\n" not in text, name
        if not named.options_of(kind) or name in ("inline", "cse"):
            (step,) = named.parse_pipeline(name)
            assert type(step) is kind


def test_no_pass_is_given_passes_to_run() -> None:
    for kind in named.PASSES.values():
        assert Pipeline not in get_type_hints(kind).values()


def test_the_listing_names_all() -> None:
    run = opt("--list-passes")
    lines = run.stdout.splitlines()
    assert run.returncode == 0
    for name in (*named.PASSES, *named.PIPELINES):
        assert any(line.startswith(f"  {name}: ") for line in lines)
    assert "      tile: true or false or a number,..." in lines


def test_named_pipelines_do_what_pipelines_do() -> None:
    text = print_module(run_pipeline(parse_module(TEXT), pipelines.LOWER, verify=Verify.PASSES))
    assert opt("--passes=lower", given=TEXT).stdout == text


def test_the_list_of_passes_is_plain_text() -> None:
    assert "`adc.cold`" in named.listing() and "``" not in named.listing()
