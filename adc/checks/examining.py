"""The command ``adc check``: compares a function with plain Python at random arguments, and finds the culprit of an
error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field, replace
from itertools import product
from typing import Any

import numpy as np

from adc.backend.runtime import on_threads
from adc.checks import drawing
from adc.checks.culprit import Culprit
from adc.checks.drawing import Style, Wanted
from adc.checks.finding import find_culprit
from adc.checks.leaves import copied, flat, is_float
from adc.checks.verdict import Check, Disagreement
from adc.errors import AdcError, DifferentiationError
from adc.functions.decorator import JitFunction
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass

THREADS = (1, 2)
_THOROUGH = 3  # draws in which operations and functions, not only rules, are tested alone


@dataclass
class Examination:
    """The result: numbers of draws that are ``right``, at a ``kink``, or without arguments (``skipped``), and what is
    ``wrong``."""

    native: bool = True
    right: int = 0
    kinks: int = 0
    skipped: int = 0
    modes: set[str] = field(default_factory=set)
    slopes: list[float] = field(default_factory=list)
    notes: dict[str, None] = field(default_factory=dict)  # each once, in order
    wrong: str = ""
    culprit: Culprit | None = None

    def summary(self) -> str:
        said = [f"{self.right} right"]
        said += [f"{self.kinks} at a kink, not judged"] if self.kinks else []
        said += [f"{self.skipped} without arguments"] if self.skipped else []
        if not self.native:
            return f"{'; '.join(said)} (values, rules, operations and functions in the interpreter)"
        how = ["values", "arguments", *sorted(self.modes)]
        how += ["<w, J v> = <J' w, v>"] if len(self.modes) == 2 else []
        how += [f"Taylor slope {min(self.slopes):.2f}"] if self.slopes else []
        return f"{'; '.join(said)} ({', '.join(how)}; {' and '.join(map(str, THREADS))} threads)"


def examine(
    function: JitFunction[..., Any],
    signature: str | None,
    *,
    draws: int,
    rtol: float,
    seed: int,
    native: bool,
    say: Callable[[str], object],
) -> Examination:
    """Check ``function`` with ``draws`` draws of arguments, until something is wrong; ``say`` gets a line for each
    draw.

    Without ``native`` no machine code is made: values, and the parts of derivatives, are checked in the interpreter.

    Raises ``AdcError`` for types that are not known, for a function that does not compile or has no derivative, and if
    plain Python runs with none of the arguments tried.
    """
    if draws < 1:
        raise kinds.INVALID_OPTION(f"--draws is at least 1, not {draws}")
    if not 0.0 < rtol < 1.0:
        raise kinds.INVALID_OPTION(f"--rtol is between 0 and 1, not {rtol:g}")
    if seed < 0:
        raise kinds.INVALID_OPTION(f"--seed is not negative, as {seed} is")
    subject = function._subject
    subject.options = replace(subject.options, threads=None, engine="native" if native else "interpreter")
    wanted = drawing.wanted_types(subject, signature)
    names = subject.parameters.names
    shown = ", ".join(f"{n}: {w}" for n, w in zip(names, wanted))
    say(f"{subject.name}({shown}): {draws} draws, seed {seed}, rtol {rtol:g}")
    styles, found = drawing.styles(wanted), Examination(native)
    if not native:
        styles = [s for s in styles if s.extents != "large"]
    for k in range(draws):
        style = styles[k % len(styles)]
        args, why = _drawn(subject.fn, wanted, style, k, seed)
        if args is None:
            found.skipped += 1
            say(f"{k + 1:3}  {style}: skipped, {why}")
            continue
        described = ", ".join(drawing.shown(n, a) for n, a in zip(names, args))
        line = f"{k + 1:3}  {style}: {described}"
        say(f"{line}: {_judged(function, args, style, rtol, seed + k, k < _THOROUGH, found)}")
        if found.wrong:
            found.wrong += f" (draw {k + 1}: {described})"
            return found
    if not found.right and not found.kinks:
        raise kinds.UNKNOWN_TYPES(
            f"with no arguments that were drawn does {subject.name} run in plain Python: {why}",
            help="give narrower types with --signature, more --draws, or check one call with adc.test_rule(f, *args)",
        )
    return found


def _judged(
    function: JitFunction[..., Any],
    args: tuple[Any, ...],
    style: Style,
    rtol: float,
    seed: int,
    thorough: bool,
    found: Examination,
) -> str:
    """The verdict on one draw in a word or two; it is also noted in ``found``.

    First the parts of the function are checked, which needs no compilation and finds errors that hardly affect the
    result; then the whole function.
    """
    name = function._subject.name
    thorough &= style.extents != "large"
    with np.errstate(all="ignore"):
        try:
            if style.extents != "large":
                found.culprit = _culprit(function, args, rtol, rules_only=not thorough)
            if found.culprit is not None:
                found.wrong = f"{name}: {found.culprit.message}"
                return "WRONG"
            check = Check(function, args, rtol, seed)
            if found.native:
                _all_checks(check, style, found)
            else:
                check.value()
        except Disagreement as wrong:
            found.culprit = _culprit(function, args, rtol) if not thorough else None
            if wrong.kink and found.culprit is None:
                found.kinks += 1
                return "at a kink: differences from both sides have the derivative between them"
            found.wrong = wrong.message + (f"; {found.culprit.message}" if found.culprit is not None else "")
            return "WRONG"
        except AdcError as error:
            if not style.sharing:
                raise
            found.notes[f"{style}: refused, {error.message}"] = None
            found.skipped += 1
            return "refused"
    found.right += 1
    return "right"


def _all_checks(check: Check, style: Style, found: Examination) -> None:
    """Check everything on one thread; then compiled code on more threads must give the same bits."""
    large = style.extents == "large"
    bits: list[list[bytes]] = []
    for count in THREADS:
        with on_threads(count):
            leaves = check.value()
            tangent: float | None = None
            truth = count == THREADS[0] and not large
            for mode in ("forward mode", "reverse mode"):
                try:
                    if mode == "forward mode":
                        tangent, more = check.forward(truth=truth)
                    else:
                        mine, more = check.reverse(tangent, truth=truth)
                        tangent = mine if tangent is None else tangent
                except DifferentiationError as error:
                    found.notes[f"no {mode}: {error.message}"] = None
                    continue
                found.modes.add(mode)
                leaves += more
            bits.append([np.asarray(a).tobytes() for a in leaves if is_float(a)])
            if truth and tangent is not None:
                slope = check.slope(tangent)
                found.slopes += [slope] if slope is not None else []
    if any(other != bits[0] for other in bits[1:]):
        raise Disagreement(f"{check.name}: {THREADS[0]} and {THREADS[1]} threads give different bits")
    if not found.modes and any(map(is_float, check.leaves)):
        raise kinds.NO_DERIVATIVE(f"{check.name} has no derivative: {next(iter(found.notes))}")


def _culprit(
    function: JitFunction[..., Any], args: tuple[Any, ...], rtol: float, *, rules_only: bool = False
) -> Culprit | None:
    try:
        return find_culprit(function, *args, tolerance=rtol, _rules_only=rules_only)
    except AdcError:
        return None  # if this fails, the whole check decides


def _drawn(
    python: Callable[..., Any], wanted: Sequence[Wanted], style: Style, number: int, seed: int
) -> tuple[tuple[Any, ...] | None, str]:
    """Arguments with which plain Python runs and gives finite numbers; or None, and the reason.

    The relations between extents are not known: unequal ones are tried first, equal ones last.
    """
    ranges = drawing.RANGES[number % 3 :] + drawing.RANGES[: number % 3]
    first = (2, 3, 1, 4)[number % 4] if style.extents != "zero" else 0
    integers = dict.fromkeys((first, 2, 1, 0))
    constraints = drawing.CONSTRAINTS if style.extents != "large" else drawing.CONSTRAINTS[-1:]
    why = "plain Python gives no finite numbers"
    for attempt, (values, integer, constraint) in enumerate(product(ranges, integers, constraints)):
        rng = np.random.default_rng([seed, number, attempt])
        args = drawing.draw(wanted, style, constraint, values, integer, rng)
        leaves, rebuild = flat(args)
        given = rebuild(copied(leaves))
        try:
            with np.errstate(all="ignore"):
                result = python(*given)
        except Exception as error:
            why = f"plain Python raises {type(error).__name__}: {error}"
            continue
        if all(np.all(np.isfinite(a)) for a in (*flat(result)[0], *flat(given)[0]) if is_float(a)):
            return args, ""
    return None, why
