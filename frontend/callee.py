"""The target of a call: a Python function to trace."""

from __future__ import annotations

import ast
import functools
import types
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Protocol

from adc.frontend import abstract
from adc.frontend.closures import SELF, capture
from adc.frontend.data.callables import Closure
from adc.frontend.data.values import AbstractValue, Static
from adc.frontend.errors import refuse
from adc.frontend.frame import Frame
from adc.frontend.looks import Attribute, Item, Object
from adc.frontend.names import external
from adc.frontend.syntax.source import FunctionSource, function_source
from adc.frontend.syntax.texts import NoSource
from adc.ir import kinds
from adc.ir.core import Func, Loc
from adc.ir.lazy_dataclass import dataclass


class Chosen(Protocol):
    """Derivative rules; see ``adc.frontend.rules.selection``."""

    @property
    def kernel(self) -> Any:
        """The function, if it is compiled by itself and the rules are the ones it came with; else None."""


class Ruled(Protocol):
    """A function with derivative rules; see ``adc.frontend.rules.application``."""

    suffix: ClassVar[str]  # suffix of the function's name in the IR

    @property
    def chosen(self) -> Chosen | None:
        """The chosen rules, if rules are what is traced."""

    @property
    def plain(self) -> Callee | None:
        """The function without rules, if it can be traced by itself."""

    def elsewhere(self, call_function: Callable[..., AbstractValue], kept: str | None) -> Ruled:
        """The same for another tracer. ``kept``: the name under which a library keeps the rules, if they are not traced
        here."""

    def run(self, frame: Frame) -> AbstractValue:
        """Trace the function and its rules; its result."""

    def complete(self, frame: Frame, left: abstract.Abstract) -> list[Func]:
        """Make the functions that the rules consist of, once the type of the function's result is known."""


@dataclass(frozen=True, eq=False)
class Callee:
    """A Python function to trace. ``identity`` distinguishes it from others. ``free``: further arguments; a function
    defined in a traced function gets what it captured. ``rematerialised``: its calls are run again in the reverse
    sweep; with and without this, it counts as two functions. ``function`` is None for one that was defined in a traced
    function."""

    identity: object
    source: FunctionSource
    module_globals: dict[str, Any]
    cells: dict[str, Any]
    defaults: Mapping[str, Any]
    free: Mapping[str, AbstractValue]
    ruled: Ruled | None = None  # if it has derivative rules: they are traced instead of its body
    rematerialised: bool = False
    function: Any = None  # a Python function, which may be changed
    catching: tuple[type[Exception], ...] | None = None  # exceptions that it returns to its caller beside the result
    keeps: bool = False  # whether objects that it makes and then chooses between at run time leave it in pools

    @staticmethod
    def of(fn: types.FunctionType, loc: Loc) -> Callee:
        """The callee for a function object; refused at ``loc`` if its source is not available."""
        refuse_dispatching(fn, loc)
        try:
            source = function_source(fn)
        except NoSource as reason:
            message = f"{fn.__name__} cannot be compiled: {reason}"
            raise refuse(loc, message, reason.help, kind=kinds.NO_SOURCE) from None
        if not isinstance(source.node, ast.FunctionDef | ast.Lambda):
            raise refuse(
                source.header,
                "async functions are not supported",
                "use a plain function",
                kind=kinds.UNSUPPORTED_FUNCTION,
            )
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        a = source.node.args
        positional = [p.arg for p in (*a.posonlyargs, *a.args)]
        values = fn.__defaults__ or ()
        defaults: dict[str, Any] = dict(zip(positional[len(positional) - len(values) :], values, strict=True))
        defaults |= fn.__kwdefaults__ or {}
        return Callee(fn, source, fn.__globals__, cells, defaults, {}, function=fn)

    @staticmethod
    def of_closure(closure: Closure) -> Callee:
        """The callee for a function defined in a traced function."""
        c = capture(closure)
        a = c.source.node.args
        positional = [p.arg for p in (*a.posonlyargs, *a.args)]
        defaults: dict[str, Any] = dict(zip(positional[len(positional) - len(c.defaults) :], c.defaults, strict=True))
        defaults |= c.keyword_defaults
        code = c.code
        identity = (code.node, code.cell_ids, c.source.placed)
        return Callee(identity, c.source, code.module_globals, code.cells, defaults, {SELF: c})

    @staticmethod
    def of_library(fn: types.FunctionType, loc: Loc) -> Callee:
        """A stand-in for a library's function, called at ``loc``, which is the location of all of its code."""
        made = Callee.of(fn, loc)
        return replace(made, identity=(fn, loc), source=made.source.placed_at(loc), function=None)

    def run_again(self) -> Callee:
        """The same function, whose calls are run again in a reverse sweep; rules decide themselves what is kept."""
        if self.ruled is not None:
            return self
        return replace(self, identity=("rematerialised", self.identity), rematerialised=True)

    def handing_on(self, classes: tuple[type[Exception], ...]) -> Callee:
        """The same function, called where handlers take exceptions of ``classes``."""
        return replace(self, identity=("handing on", classes, self.identity), catching=classes)

    def keeping(self) -> Callee:
        """The same function, called where the objects that it makes go to pools: it knows which object is which."""
        return replace(self, identity=("keeping", self.identity), keeps=True)

    def default(self, frame: Frame, name: str) -> AbstractValue:
        """The default of a parameter; numbers are known, arrays are captured."""
        value = self.defaults[name]
        if isinstance(value, AbstractValue):
            return value
        if value is None or isinstance(value, bool | int | float | str) or self.source.placed is not None:
            return Static(value)
        return external(frame, value, ("default", id(self.identity), name), name, self._place(name))

    def _place(self, name: str) -> Callable[[], Any]:
        """How to read the default of a parameter again."""
        fn = self.function
        if fn is None:
            return Object(self.defaults[name])
        if name in (fn.__kwdefaults__ or {}):
            return Item(Attribute(Object(fn), "__kwdefaults__"), name)
        code, given = fn.__code__, fn.__defaults__ or ()
        first = code.co_argcount - len(given)
        return Item(Attribute(Object(fn), "__defaults__"), code.co_varnames.index(name) - first)


def refuse_dispatching(obj: Any, loc: Loc) -> None:
    """Refuse functions made by ``functools.singledispatch`` and ``singledispatchmethod``: they choose by a table that
    is filled elsewhere."""
    by_method = isinstance(obj, functools.singledispatchmethod)
    if by_method or (isinstance(obj, types.FunctionType) and hasattr(obj, "registry") and hasattr(obj, "dispatch")):
        name = getattr(obj.func if by_method else obj, "__name__", "")
        decorator = "singledispatchmethod" if by_method else "singledispatch"
        message = f"{name}() chooses what it calls by functools.{decorator}, which is not supported"
        help = "call the function for this type by a name of its own, or choose with isinstance() in one function"
        raise refuse(loc, message, help, kind=kinds.UNSUPPORTED_FUNCTION)


def python_function(obj: Any) -> Any:
    """The function that decorators wrapped, or ``obj`` itself."""
    while not isinstance(obj, types.FunctionType) and hasattr(obj, "__wrapped__"):
        obj = obj.__wrapped__
    return obj
