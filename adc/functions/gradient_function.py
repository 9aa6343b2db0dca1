"""Gradients as Python objects whose calls run compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adc.border.alignment import Borrowed
from adc.border.boundary import compiling, public
from adc.border.containers import lower
from adc.border.options import ArgNums, Derivative, Selection
from adc.border.pickling import made_of
from adc.border.signature import normalise
from adc.driver.budgeted import Budgeted
from adc.driver.compiler import Staged
from adc.driver.specialise import Gradient, Specialisation
from adc.driver.subject import Subject
from adc.errors import DifferentiationError
from adc.frontend.abstract import Abstract
from adc.functions.dispatch import Checkpointing, Dispatcher, Made, writable
from adc.functions.jvps import JvpFunction
from adc.ir import kinds

if TYPE_CHECKING:
    from adc.reports.forecast import Forecast

_OF_PULLBACKS = (
    "forecast the gradient of a function that returns np.sum(w * result) for a cotangent w: it takes about what the "
    "pullback takes"
)
Kind = tuple[Selection, bool, bool]  # with respect to what, with the value, with an auxiliary value


class GradientFunction(Checkpointing):
    """The gradient of a function, or its value and gradient: takes the function's arguments.

    A call may also have ``checkpoint=`` or ``memory=``, which then replace those of ``jit_grad``.
    """

    _kind = "gradient"
    _in_columns = True

    def __init__(
        self, subject: Subject, chain: tuple[Selection, ...], *, with_value: bool, has_aux: bool = False
    ) -> None:
        super().__init__(subject, chain[-1])
        self._chain = chain
        self._with_value = with_value
        self._has_aux = has_aux
        self._gradients: dict[Kind, GradientFunction] = {}
        self._hvps: dict[ArgNums, JvpFunction] = {}
        self._jvps = JvpFunction(subject, chain[-1], self._forward_of)
        self._along = JvpFunction(subject, chain[-1], self._forward_of, with_value=False)  # may be faster
        by = " by ".join(["", *(chosen.by(subject.parameters.names) for chosen in reversed(chain))])
        what = f"{'value and ' if with_value else ''}{'gradient of the ' * (len(chain) - 1)}gradient"
        self._describe("value_and_grad" if with_value else "grad", what, by)

    def _compile(self, staged: Staged) -> Specialisation:
        asked = staged.subject.options.checkpoint
        if asked is not None and asked.memory:
            return Budgeted(staged, self._made_of, asked.memory)
        return self._made_of(staged)

    @property
    def _kept_as(self) -> tuple[Any, ...] | None:
        asked = self._subject.options.checkpoint
        budgeted = asked is not None and bool(asked.memory)
        return None if budgeted else ("gradient", self._chain, self._with_value, self._has_aux)

    def _made_of(self, staged: Staged, sized: bool = False) -> Gradient:
        options: dict[str, bool] = {"with_value": self._with_value, "has_aux": self._has_aux, "sized": sized}
        return Gradient(staged, self._chain, self._miss, **options)

    def _made_with(self) -> Made:
        return (self._chain,), {"with_value": self._with_value, "has_aux": self._has_aux}

    @classmethod
    def _made_again(cls, owner: Any, given: Made) -> Any:
        ((first, *others),), flags = given
        last = {"with_value": flags["with_value"], "has_aux": flags["has_aux"]}
        made = owner._gradient(first, **({"with_value": False} if others else last))
        for n, chosen in enumerate(others, 1):
            made = made._gradient(chosen, **(last if n == len(others) else {"with_value": False}))
        return made

    def _variant(self, subject: Subject) -> Dispatcher:
        return GradientFunction(subject, self._chain, with_value=self._with_value, has_aux=self._has_aux)

    @property
    def _derivative(self) -> Derivative:
        return Derivative(self._chain, self._has_aux)

    @property
    def _forward_of(self) -> Derivative:
        return replace(self._derivative, with_value=self._with_value)

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        return writable(abstracts)

    def _gradient(self, chosen: Selection, *, with_value: bool, has_aux: bool = False) -> GradientFunction:
        """The gradient of this gradient."""
        if self._with_value:
            raise kinds.NOT_SCALAR(f"value_and_grad of {self._subject.name} returns a tuple: differentiate its grad")
        if self._has_aux or has_aux:
            raise kinds.NOT_SCALAR(
                f"has_aux is for first derivatives, not for a gradient of a gradient of {self._subject.name}",
                help="differentiate a function that returns the float alone",
            )
        key = chosen, with_value, False
        if key not in self._gradients:
            made = GradientFunction(self._subject, (*self._chain, chosen), with_value=with_value)
            self._gradients.setdefault(key, made)
        return self._gradients[key]

    @public
    def forecast(self, /, *args: Any, **kwargs: Any) -> Forecast:
        """What a call with these arguments will need: peak memory, snapshots, steps that are run again; and the effect
        of more or less memory. Nothing is run. The result prints as a table."""
        from adc.reports.forecast import forecast

        if (variant := self._asked_otherwise(kwargs)) is not None:
            assert isinstance(variant, GradientFunction)
            return variant.forecast(*args, **kwargs)
        subject, borrowed = self._subject, Borrowed()
        lowered = lower(subject.parameters.names, subject.parameters.bind(args, kwargs))
        values = normalise(subject.parameters.names, lowered.values, borrowed, lowered.shapes)
        try:
            with compiling(subject.name):
                found, _ = self._made(lowered, borrowed, lambda key: forecast(subject, key, values, self._derivative))
        except DifferentiationError as error:
            raise error.helped(_OF_PULLBACKS) if error.kind == kinds.NOT_SCALAR.name else error from None
        return found

    @public
    def jvp(self, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
        """The gradient and its derivative along tangents of the arguments: forward over reverse; see ``adc.jvp``."""
        found: tuple[Any, Any] = self._jvps(args, tangents)
        return found

    @property
    def __adc_gradient__(self) -> tuple[str, Any, int | tuple[int, ...], bool] | None:
        """The meaning of a call in compiled code: the function, its differentiated arguments, and whether the value is
        returned."""
        chosen = self._chain[-1]
        if chosen.names or self._has_aux:
            return None
        inner = self._chain[:-1]
        function = GradientFunction(self._subject, inner, with_value=False) if inner else self._subject.fn
        argnums = chosen.numbers[0] if chosen.single else chosen.numbers
        return "value_and_grad" if self._with_value else "grad", function, argnums, self._with_value

    def __repr__(self) -> str:
        what = "value and gradient of " if self._with_value else "gradient of "
        return f"<{what}{'gradient of ' * (len(self._chain) - 1)}{self._subject.name}>"


def _parts(function: GradientFunction) -> tuple[Any, ...]:
    return function._differentiated, function._chain, function._with_value, function._has_aux


made_of(GradientFunction, _parts)
