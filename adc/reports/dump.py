"""The stages of compilation as text: what ``dump_ir``, ``adc compile --dump-ir`` and ``ADC_DUMP_IR`` show.

====================  ==========================================================================================
traced                the function as it was written, operation by operation
simplified            after folding, forwarding, hoisting; independent loops are parallel: this is differentiated
plan                  for each value that the reverse sweep needs: still available, recomputed or stored, and why
adjoint               the gradient: forward and reverse sweep
tangent               forward mode: the function with tangents
lowered               primal and gradient as translated to LLVM IR, with parallel updates chosen
llvm, asm             LLVM IR after optimisation, machine code for the host
====================  ==========================================================================================
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TextIO

from adc.border.options import FIRST, NONE, Derivative
from adc.border.selecting import everything, select
from adc.driver.compiler import Staged, part_of
from adc.driver.seeding import clears, seeded
from adc.driver.subject import Subject
from adc.errors import DifferentiationError
from adc.frontend.abstract import Abstract, Array, map_abstract
from adc.frontend.annotations import annotated, parse_signature
from adc.frontend.suggestions import nearest
from adc.ir import kinds
from adc.ir.text.printer import print_module

STAGES = ("traced", "simplified", "plan", "adjoint", "tangent", "lowered", "llvm", "asm")


def stages_of(text: str) -> tuple[str, ...]:
    """The stages named in ``text``, separated by commas; all of them for ``"all"`` or nothing."""
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    if not names or names in (("all",), ("1",)):
        return STAGES
    for name in names:
        if name not in STAGES:
            close = nearest(name, STAGES)
            help = f"the stages are {', '.join(STAGES)}" if close is None else f"did you mean '{close}'?"
            raise kinds.INVALID_OPTION(f"there is no stage {name!r}", help=help)
    return names


def resolve(subject: Subject, signature: str | None) -> tuple[Abstract, ...]:
    """The abstract arguments to show a function for: of a signature, of the last call, of its annotations."""
    if signature is not None:
        try:
            found = tuple(parse_signature(signature))
        except ValueError as error:
            raise kinds.UNKNOWN_TYPES(str(error)) from None
        if len(found) != len(subject.parameters.names):
            raise kinds.UNKNOWN_TYPES(
                f"{subject.name} takes {len(subject.parameters.names)} arguments; the signature has {len(found)}"
            )
        return found
    if subject.last is not None:
        return subject.last
    try:
        from_annotations = annotated(subject.fn)
    except ValueError as error:
        raise kinds.UNKNOWN_TYPES(f"{subject.name}: {error}") from None
    if from_annotations is not None:
        return tuple(from_annotations)
    raise kinds.UNKNOWN_TYPES(
        f"the argument types of {subject.name} are not known yet",
        help='annotate the parameters, give a signature such as "f64[:, ::1], f64, i64" (in a command: --signature), '
        "or, in Python, call the function first",
    )


def as_called(subject: Subject, signature: str | None) -> tuple[Abstract, ...]:
    """As ``resolve``, for a call: no extent of an array is assumed to be 1, unless it was in the last call."""
    return tuple(map_abstract(a, _not_stretched) for a in resolve(subject, signature))


def _not_stretched(a: Abstract) -> Abstract:
    return replace(a, ones=(False,) * a.rank) if isinstance(a, Array) and not a.ones else a


def dump_function(
    subject: Subject, abstracts: Sequence[Abstract], stage: str, derivative: Derivative, *, locs: bool = False
) -> str:
    """A function at one stage, with its gradient; with its pullback if it does not return one float; without a
    derivative if it has no float arguments and the stage also shows the function."""
    try:
        return dump(subject, abstracts, stage, derivative, locs=locs)
    except DifferentiationError as error:
        if error.kind == kinds.NOT_SCALAR.name:
            return dump(subject, abstracts, stage, kind="pullback", locs=locs)
        if error.kind == kinds.NO_GRADIENT.name and stage in ("lowered", "llvm", "asm"):
            return dump(subject, abstracts, stage, kind="primal", locs=locs)
        raise


def dump(
    subject: Subject,
    abstracts: Sequence[Abstract],
    stage: str,
    derivative: Derivative = FIRST,
    *,
    kind: str = "gradient",
    forward: Derivative = NONE,
    locs: bool = False,
) -> str:
    """A function at one stage, as text.

    ``kind`` selects the derivative: ``"gradient"``, ``"pullback"``, ``"jvp"``, or ``"primal"`` for none. ``forward`` is
    the function, or a gradient of it, of which forward mode is shown.
    """
    (stage,) = stages_of(stage) if stage else ("simplified",)
    staged = Staged(subject, tuple(abstracts))
    if stage == "traced":
        return print_module(staged.traced().module, locs=locs)
    if stage == "simplified":
        return print_module(staged.simplified(staged.traced()), locs=locs)
    found: object = None
    names = subject.parameters.names
    if kind == "jvp" or stage == "tangent":
        traced = staged.function(forward)
        wrt = select(subject.name, subject.parameters, staged.abstracts, traced, derivative.chain[-1]).wrt
        module, tangent = staged.tangent(traced, wrt, sorted(traced.mutated))
        found, roots = tangent, [tangent.name]
    elif kind == "primal":
        if stage in ("plan", "adjoint"):
            raise kinds.INVALID_OPTION(f"the stage {stage} is one of the gradient")
        traced = staged.traced()
        module, roots = staged.simplified(traced), []
    elif kind == "pullback":
        traced = staged.traced(reverse=True)
        module, found, plan = staged.split(traced, everything(names, staged.abstracts, traced))
        roots = [plan.augmented, plan.reverse]
        if stage in ("lowered", "llvm", "asm"):  # with the code that takes cotangents and clears shadows
            forward_half, reverse_half, _ = seeded(module, traced.entry, plan)
            clears(module, traced, plan, reverse_half)
            roots = [forward_half, reverse_half]
    else:
        traced, wanted = staged.traced_for(derivative.chain, has_aux=derivative.has_aux)
        module, adjoint = staged.gradient(traced, wanted, with_value=True, clears=True)
        found, roots = adjoint, [adjoint.name]
    if stage == "plan":
        return f"{found}\n\n{staged.planned(module, [traced.entry, *roots])}\n"
    if stage in ("adjoint", "tangent"):
        return print_module(part_of(staged.tidied(module), roots), locs=locs)
    shown = [traced.entry, *roots]
    module = staged.prepared(module, shown)
    if kind == "gradient":
        staged.keep_to_memory(module, roots[0])
    with_primal = part_of(module, shown)
    if stage == "lowered":
        return print_module(with_primal, locs=locs)
    optimized = subject.target.shown(with_primal, shown, subject.options)
    return optimized.llvm_ir() if stage == "llvm" else optimized.assembly()


# What is shown of a function that was just compiled, by kind.
_SHOWN = {
    "primal": tuple(stage for stage in STAGES if stage not in ("plan", "adjoint", "tangent")),
    "gradient": tuple(stage for stage in STAGES if stage != "tangent"),
    "pullback": tuple(stage for stage in STAGES if stage != "tangent"),
    "jvp": tuple(stage for stage in STAGES if stage not in ("plan", "adjoint")),
}


def dump_requested(
    subject: Subject, abstracts: Sequence[Abstract], derivative: Derivative, kind: str, forward: Derivative
) -> None:
    """Print to stderr the stages that ``ADC_DUMP_IR`` names, for a function that was just compiled."""
    requested = os.environ.get("ADC_DUMP_IR")
    if requested is None:
        return
    for stage in stages_of(requested):
        if stage not in _SHOWN[kind]:
            continue
        text = dump(subject, abstracts, stage, derivative, kind=kind, forward=forward)
        write_stage(sys.stderr, f"{subject.name}: {stage}", text, language_of(stage))


def language_of(stage: str) -> str:
    return stage if stage in ("plan", "asm") else "ir"


def write_stage(out: TextIO, title: str, text: str, language: str = "ir") -> None:
    """Write one stage: in colours to a terminal, as plain text to anything else."""
    if out.isatty() and "NO_COLOR" not in os.environ:
        _write_in_colours(out, title, text, language)
    else:
        out.write(f"// {title}\n{text.rstrip()}\n\n")
        out.flush()


_TOKENS = re.compile(
    r"(?P<comment>//[^\n]*|;[^\n]*)"
    r'|(?P<string>"[^"\n]*")'
    r"|(?P<symbol>@[\w.$\"-]+)"
    r"|(?P<value>%[\w.$#-]+)"
    r"|(?P<type>\b(?:memref|strided)<[^\n]*?>+|\b[fi]\d+\b|\bindex\b|!adc\.record|\bptr\b|\bdouble\b)"
    r"|(?P<op>\b(?:arith|math|memref|scf|func|adc|linalg)\.[\w.]+)"
    r"|(?P<number>\b-?\d+(?:\.\d+)?(?:e[+-]?\d+)?\b)"
)
_STYLES = {
    "comment": "bright_black",
    "string": "green",
    "symbol": "bold yellow",
    "value": "cyan",
    "type": "blue",
    "op": "magenta",
    "number": "green",
}


def _write_in_colours(out: TextIO, title: str, text: str, language: str) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=out, highlight=False)
    console.rule(f"[bold]{title}", align="left")
    shown = Text(text.rstrip(), no_wrap=True)
    if language == "ir":
        for match in _TOKENS.finditer(text.rstrip()):
            kind = match.lastgroup
            assert kind is not None
            shown.stylize(_STYLES[kind], match.start(), match.end())
    console.print(shown, soft_wrap=True)
    console.print()
