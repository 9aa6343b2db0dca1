"""Jacobians as functions with the arguments of the differentiated function, and how a call finds its code."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from adc.backend.calls.stub import set_miss
from adc.border.alignment import Borrowed
from adc.border.boundary import leaving
from adc.border.containers import lower
from adc.border.options import Derivative, Selection
from adc.driver.compiler import Staged
from adc.driver.specialise import Misfit, Specialisation, misfit
from adc.driver.subject import Builtin, Subject
from adc.driver.wrappers import written
from adc.errors import CompileError, DifferentiationError
from adc.frontend.abstract import Abstract
from adc.frontend.rules.registry import RULES
from adc.functions.along import jvp
from adc.functions.decorator import JitFunction
from adc.functions.dispatch import Dispatcher, Made, writable
from adc.functions.gradient_function import GradientFunction
from adc.functions.jacobian_inside import inside
from adc.functions.jacobians import MODES, Jacobian, Mode
from adc.ir import kinds


class JacobianFunction(Dispatcher):
    """The Jacobian of a function, or of its gradient: takes the function's arguments."""

    _kind = "jvp"

    def __init__(self, subject: Subject, chosen: Selection, of: Derivative, mode: Mode) -> None:
        super().__init__(subject, chosen)
        if mode not in MODES:
            raise kinds.INVALID_OPTION(f"mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
        if mode == "reverse" and of.chain:
            raise kinds.INVALID_OPTION(
                f"the Jacobian of a gradient of {subject.name} is formed forward", help="leave mode out"
            )
        self._of = of
        self._mode = mode
        # The code of the last call, and the shapes of its arguments if the choice of code depends on them.
        self._quick: tuple[Builtin, list[Any]] | None = None
        what = f"Jacobian{' of the gradient' * len(of.chain)}"
        self._describe("jacobian", what, f" by {chosen.by(subject.parameters.names)}")

    def _made_with(self) -> Made:
        return (self._chosen, self._of, self._mode), {}

    @property
    def _function(self) -> Any:
        """The function that is differentiated."""
        chain = self._of.chain
        if not chain:
            return self._subject.owner
        options = {"with_value": self._of.with_value, "has_aux": self._of.has_aux}
        return GradientFunction(self._subject, chain, **options)

    @functools.cached_property
    def __adc_traced__(self) -> Callable[..., Any] | None:
        """The function that compiled code calls instead."""
        if self._chosen.names:
            return None
        traced: Callable[..., Any] = inside(jvp, self._function, self._chosen.numbers, self._chosen.single)
        return traced

    @functools.cached_property
    def _forward(self) -> JitFunction[..., Any] | None:
        """One function of the same arguments that does all runs of forward mode; None if there is none."""
        subject, traced = self._subject, self.__adc_traced__
        if traced is None or subject.parameters.by_position(0) is None or subject.options.checkpoint is not None:
            return None
        runs = written("jacobian", dict.fromkeys(subject.parameters.names, ""), traced)
        return JitFunction(runs, Selection(), subject.options)

    def _set_target(self, target: object) -> None:
        self._quick = None
        super()._set_target(target)

    def _compile(self, staged: Staged) -> Specialisation:
        return Jacobian(staged, self._of, self._chosen, self._mode, self._miss)

    @property
    def _kept_as(self) -> tuple[Any, ...] | None:
        return "jacobian", self._of, self._chosen, self._mode

    @property
    def _forward_of(self) -> Derivative:
        return self._of

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        return writable(abstracts)

    def _dispatch(self, /, *args: Any, **kwargs: Any) -> Any:
        quick = self._quick
        if quick is not None and not kwargs and quick[1] == [np.shape(a) for a in args]:
            with contextlib.suppress(Misfit):
                return quick[0](*args)
        return self._for(args, kwargs, self._run)

    def _dumped(self, abstracts: tuple[Abstract, ...], stage: str, *, locs: bool) -> str:
        """Stages that are lowered show the code that a Jacobian runs: the loop over all directions, or the sweeps of
        reverse mode. Earlier ones show the function."""
        from adc.reports.dump import dump

        if stage in ("lowered", "llvm", "asm"):
            if self._mode != "reverse" and self._forward is not None:
                with contextlib.suppress(CompileError, DifferentiationError):  # the way through Python supports more
                    return dump(self._forward._subject, abstracts, stage, kind="primal", locs=locs)
            if not self._of.chain:
                return dump(self._subject, abstracts, stage, kind="pullback", locs=locs)
        return super()._dumped(abstracts, stage, locs=locs)

    def _run(self, spec: Jacobian, values: tuple[Any, ...]) -> Any:
        version = RULES.version
        leaves = spec.leaf_values(values)
        way, by_shapes = spec.way(leaves)
        if way is None and spec.is_plain:
            args, kwargs = self._subject.parameters.arguments(values)
            spec.learn(leaves, self._subject.owner(*args, **kwargs))
            way, by_shapes = spec.way(leaves)
        direct = self._compiled_forward(spec, values) if way == "forward" else None
        if direct is None:
            return spec.run(values)
        if by_shapes:
            set_miss(direct, misfit)
            self._set_target(None)
            self._quick = direct, [np.shape(value) for value in values]
        else:
            set_miss(direct, self._miss)
            self._set_target(direct)
        if RULES.version != version:  # a rule was declared meanwhile
            self._set_target(None)
        return direct(*spec.canonical(values))

    def _compiled_forward(self, spec: Jacobian, values: tuple[Any, ...]) -> Builtin | None:
        """The code for calls in forward mode with arguments like these ``values``, without Python in between."""
        if not spec.is_plain or self._forward is None or not self._subject.target.resident:
            return None
        names, borrowed = self._subject.parameters.names, Borrowed()
        try:
            found, _ = self._forward._find(lower(names, values), borrowed)
        except (CompileError, DifferentiationError):  # the way through Python supports more
            spec.is_plain = False
            return None
        finally:
            borrowed.give_back()
        spec.is_compiled = True
        direct: Builtin | None = found.direct.get(len(names))
        return direct

    def _for(self, args: Any, kwargs: Any, use: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
        """The result of ``use`` for the specialisation for these arguments, and their values."""
        subject, borrowed = self._subject, Borrowed()
        try:
            lowered = lower(subject.parameters.names, subject.parameters.bind(args, kwargs))
            spec, values = self._find(lowered, borrowed)
            result = use(spec, values)
            self._keep(spec)
            return result
        except Exception as error:
            left = leaving(error, subject.name)
        finally:
            borrowed.give_back()
        raise left

    def __repr__(self) -> str:
        return f"<Jacobian of {'gradient of ' * len(self._of.chain)}{self._subject.name}>"
