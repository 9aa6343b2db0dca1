"""``jit_grad`` and the function forms: Python objects whose calls run compiled code."""

from __future__ import annotations

import functools
import gc
import sys
import types
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from adc.border.bound import Bound, of_bound, unbind, unwrapped
from adc.border.boundary import public
from adc.border.checkpoints import Checkpoint, combined
from adc.border.misuse import no_function
from adc.border.options import (
    NONE,
    ArgNames,
    ArgNums,
    Engine,
    Options,
    Selection,
    default_contract,
    default_level,
    selection,
    tiles,
)
from adc.border.pickling import Memo, Recipe, made_of, reduced
from adc.driver.compiler import Staged
from adc.driver.specialise import Primal, Specialisation
from adc.driver.subject import Subject
from adc.frontend.abstract import Abstract
from adc.frontend.rules import gradients
from adc.functions.dispatch import Checkpointing, Dispatcher, Made
from adc.functions.gradient_function import GradientFunction, Kind
from adc.functions.jvps import JvpFunction
from adc.functions.pullback_code import PullbackCode
from adc.functions.pullbacks import Pullback
from adc.ir import kinds

P = ParamSpec("P")
R = TypeVar("R")


_OWN = "__adc__"  # attribute of a Python function: its JitFunction


class _PullbackFunction(Checkpointing):
    """The forward half of pullbacks."""

    _kind = "pullback"

    def __init__(self, subject: Subject, chosen: Selection) -> None:
        super().__init__(subject, chosen)
        self._describe("pullback", "value and the pullback", "")

    def _made_with(self) -> Made:
        return (self._chosen,), {}

    @classmethod
    def _made_again(cls, owner: Any, given: Made) -> Any:
        return owner.pullback

    def _variant(self, subject: Subject) -> Dispatcher:
        return _PullbackFunction(subject, self._chosen)

    def _compile(self, staged: Staged) -> Specialisation:
        return PullbackCode(staged, self._miss)

    @property
    def _kept_as(self) -> tuple[Any, ...]:
        return ("pullback",)


class JitFunction(Dispatcher, Generic[P, R]):
    """A Python function, compiled when it is called, with its derivatives.

    ``f(...)`` has the results and effects of the Python function. ``f.grad(...)`` and ``f.value_and_grad(...)``
    differentiate a function that returns one float, and do not change the caller's arrays. ``f.pullback(...)`` calls
    the function and returns its result and a ``Pullback``. ``f.jvp(args, tangents)`` is forward mode.
    """

    _kind = "primal"
    _in_columns = True

    def __init__(self, fn: Callable[P, R], chosen: Selection, options: Options, binding: str = "") -> None:
        fn = unwrapped(fn)
        self.__adc_binding__ = binding
        if not isinstance(fn, types.FunctionType):
            raise no_function("compiles", fn)
        super().__init__(Subject(fn, options, owner=self), chosen)
        functools.update_wrapper(self, fn, updated=())
        # Names with underscores are left out: ``functools.wraps`` may have copied attributes of another
        # ``JitFunction``.
        self.__dict__.update({name: value for name, value in vars(fn).items() if not name.startswith("_")})
        self._gradients: dict[Kind, GradientFunction] = {}
        self._hvps: dict[ArgNums, JvpFunction] = {}
        for made, (given, flags) in self.__dict__.pop("_incomplete", ()):
            made.__init__(self._subject, *given, **flags)
            if isinstance(made, GradientFunction) and len(made._chain) == 1:
                self._gradients[made._chain[0], made._with_value, made._has_aux] = made
        self._grad = self._gradient(chosen, with_value=False)
        self._value_and_grad = self._gradient(chosen, with_value=True)
        self._pullbacks = _PullbackFunction(self._subject, chosen)
        self._jvps = JvpFunction(self._subject, chosen, NONE)

    # These are properties because ``functools.wraps`` copies attributes, to functions with other gradients.
    @property
    def grad(self) -> GradientFunction:
        """The gradient with respect to the arguments given to ``jit_grad``, as a function of the same arguments."""
        self._check_class()
        return self._grad

    @property
    def value_and_grad(self) -> GradientFunction:
        """As ``grad``, returning ``(value, gradient)``."""
        self._check_class()
        return self._value_and_grad

    @property
    def pullback(self) -> Callable[P, tuple[R, Pullback]]:
        """A function of the same arguments, which returns the result of a call, with its effects, and the ``Pullback``
        of the call."""
        return self._pullbacks

    def _check_class(self) -> None:
        """From Python 3.13 on, attributes of a class method are those of the function, so that the class is lost."""
        if sys.version_info < (3, 13) or self._subject.parameters.names[:1] != ("cls",):
            return
        if any(type(holder) is classmethod for holder in gc.get_referrers(self)):
            raise kinds.WRONG_ARGUMENTS(
                f"{self._subject.name}.grad has no class to be called with: classmethod hides what jit_grad made",
                help="write @jit_grad above @classmethod; or adc.grad(Class.method)",
            )

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As an attribute of a class: a method, or a static or class method."""
        if self.__adc_binding__ == "staticmethod":
            return self
        if self.__adc_binding__ == "classmethod":
            return Bound(self, type(instance) if owner is None else owner)
        return super().__get__(instance, owner)

    def _compile(self, staged: Staged) -> Specialisation:
        return Primal(staged, self._miss)

    @property
    def _kept_as(self) -> tuple[Any, ...]:
        return ("primal",)

    @public
    def __reduce__(self) -> tuple[Any, ...]:
        return reduced(self, self._recipe)

    def _recipe(self) -> Recipe:
        fn = self._subject.fn
        memo = fn.__dict__.get(_OWN)
        own = isinstance(memo, Memo) and memo.value is self
        return _complete, (*self._made_of(), own)

    def _made_of(self) -> tuple[Any, ...]:
        return self._subject.fn, self._chosen, self._subject.options, self.__adc_binding__

    def _like(self, chosen: Selection, options: Options) -> JitFunction[P, R]:
        """The same function with other options."""
        return JitFunction(self._subject.fn, chosen, options, self.__adc_binding__)

    def _gradient(self, chosen: Selection, *, with_value: bool, has_aux: bool = False) -> GradientFunction:
        key = chosen, with_value, has_aux
        if key not in self._gradients:
            made = GradientFunction(self._subject, (chosen,), with_value=with_value, has_aux=has_aux)
            self._gradients.setdefault(key, made)
        return self._gradients[key]

    def _dumped(self, abstracts: tuple[Abstract, ...], stage: str, *, locs: bool) -> str:
        from adc.reports.dump import dump_function

        return dump_function(self._subject, abstracts, stage, self._derivative, locs=locs)

    @public
    def jvp(self, args: Sequence[Any], tangents: Sequence[Any], *, final: str | Sequence[str] = ()) -> tuple[Any, ...]:
        """The value for arguments ``args``, and its derivative along their ``tangents``; see ``adc.jvp``."""
        if final:
            return self._jvps.evaluate(args, tangents, (final,) if isinstance(final, str) else tuple(final))
        found: tuple[Any, Any] = self._jvps(args, tangents)
        return found

    def __repr__(self) -> str:
        return f"<adc function {self.__module__}.{getattr(self, '__qualname__', self._subject.name)}>"

    if TYPE_CHECKING:

        def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R: ...


made_of(JitFunction, JitFunction._made_of)


@overload
def jit_grad(fn: Callable[P, R], /) -> JitFunction[P, R]: ...


@overload
def jit_grad(
    *,
    argnums: ArgNums = None,
    argnames: ArgNames = (),
    threads: int | None = None,
    parallel: bool = True,
    accumulate: str = "auto",
    deterministic: bool = True,
    tile: bool | int | Sequence[int] = True,
    checkpoint: Checkpoint = None,
    memory: int | str | None = None,
    time_block: int | str | None = None,
    contract: bool | None = None,
    debug: str | None = None,
) -> Callable[[Callable[P, R]], JitFunction[P, R]]: ...


@public
def jit_grad(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    argnums: ArgNums = None,
    argnames: ArgNames = (),
    threads: int | None = None,
    parallel: bool = True,
    accumulate: str = "auto",
    deterministic: bool = True,
    tile: bool | int | Sequence[int] = True,
    checkpoint: Checkpoint = None,
    memory: int | str | None = None,
    time_block: int | str | None = None,
    contract: bool | None = None,
    debug: str | None = None,
    _engine: Engine = "native",
    _level: int | None = None,
    _bounds: bool = True,
) -> Any:
    """Compile a Python function, and its derivatives when they are called: as a decorator, with or without arguments.

    ``argnums`` (default 0) are the positions of the parameters with respect to which gradients are taken: one gradient
    for an int, a tuple of gradients for a tuple. ``argnames`` are names of parameters or of captured variables, whose
    gradients come in a dict. With both, the result is ``(those of argnums, dict)``.

    ``threads`` is the number of threads of parallel loops (default: ``ADC_NUM_THREADS``, or the processors
    that the process is granted). With ``parallel=False`` no loop runs on threads.

    ``accumulate`` says how parallel loops sum the terms that several iterations add to one element of a gradient:
    ``"gather"``, ``"rows"``, ``"blocks"``, ``"colours"``, ``"private"``, ``"serial"`` or ``"atomic"`` where that is
    possible. With ``"auto"``, and where the chosen way is not possible, adc chooses; the report says which way was
    taken. With ``deterministic=False`` the order of such sums, and so their last bits, may depend on threads, and terms
    that would be added serially are added atomically.

    ``tile`` says whether loop nests that read neighbours (stencils) are tiled, so that data is still in cache when it
    is read again: True for large arrays, False for none, or the block lengths of the second and the third loop:
    ``tile=16``, ``tile=(16, 4096)``. Results have the same bits.

    ``checkpoint`` makes the gradient keep snapshots of the state of a time loop, instead of a tape of all steps, and
    run steps again: ``adc.revolve(snapshots=N)``, ``adc.every(K)``, ``"sqrt"``, ``"recompute-all"``. It applies to the
    outermost sequential loops with loops or calls inside; the report says to which. All schedules give the same bits.

    ``memory`` (bytes, or text such as ``"2GB"``) limits everything that a call of the gradient allocates, including the
    gradient itself. The schedule is chosen when the gradient is called. If no schedule fits, it raises a MemoryError
    that says how much would be enough. ``checkpoint="auto"`` sets ``memory`` to half of the machine's memory.

    ``time_block`` is the number of steps of a stencil's time loop to run in one sweep over memory, where possible (the
    report says where); with ``"auto"`` adc chooses it. Such nests are not tiled. Results have the same bits.

    ``contract=True`` allows products that you wrote to be fused with sums, as C compilers do: faster for loops with
    much arithmetic; the last bits then differ from Python's. By default each operation is rounded (or as the
    environment variable ``ADC_CONTRACT`` says, 0 or 1).

    ``debug="nan"`` (or ``ADC_DEBUG=nan``) stops at the first NaN or infinity that is computed from finite numbers, in
    the function or a derivative, and names line and variable. ``debug="gdb"`` (or ``ADC_DEBUG=gdb``) lets debuggers
    break on lines of the function, in derivatives, too (docs/howto-debugging.md).
    """
    chosen = selection(argnums, argnames)
    schedule = combined(checkpoint, memory)
    level = default_level() if _level is None else _level
    fuses = default_contract() if contract is None else contract
    options = Options(
        threads, parallel, _engine, level, _bounds, fuses, accumulate, deterministic, tiles(tile), schedule, time_block
    )
    if debug is not None:
        options = replace(options, debug=debug)

    @public
    def decorate(function: Callable[..., Any]) -> Any:
        part = unbind(function)
        if part is not None:
            return Bound(decorate(part.func), *part.args, **part.keywords)
        if isinstance(function, JitFunction):
            return function._like(chosen, options)
        if isinstance(function, staticmethod | classmethod):
            inner = function.__func__
            plain = inner._subject.fn if isinstance(inner, JitFunction) else inner
            return JitFunction(plain, chosen, options, type(function).__name__)
        return JitFunction(function, chosen, options)

    return decorate if fn is None else decorate(fn)


def function_of(fn: Callable[..., Any]) -> JitFunction[..., Any]:
    """The ``JitFunction`` of ``fn``. A plain function keeps its ``JitFunction``, with all compiled code, as long as it
    lives."""
    fn = unwrapped(fn)
    if isinstance(fn, JitFunction):
        return fn
    if isinstance(fn, staticmethod):
        fn = fn.__func__
    if not isinstance(fn, types.FunctionType):
        raise no_function("differentiates", fn)
    made = _made_before(fn)
    if made is None:
        made = JitFunction(fn, Selection(), Options())
        fn.__dict__[_OWN] = Memo(fn, made)
    return made


def _made_before(fn: types.FunctionType) -> JitFunction[..., Any] | None:
    """The ``JitFunction`` that a Python function keeps, if there is one."""
    memo = fn.__dict__.get(_OWN)
    return memo.value if isinstance(memo, Memo) and memo.of is fn else None


def _complete(
    blank: JitFunction[..., Any], fn: types.FunctionType, chosen: Selection, options: Options, binding: str, own: bool
) -> JitFunction[..., Any]:
    """Complete a function that another process sent. ``own``: the Python function keeps it."""
    if own and (there := _made_before(fn)) is not None:
        return there
    blank.__init__(fn, chosen, options, binding)  # type: ignore[misc]
    if own:
        fn.__dict__[_OWN] = Memo(fn, blank)
    return blank


def known(fn: Callable[..., Any]) -> JitFunction[..., Any] | GradientFunction | None:
    """The result of ``differentiable``, if it already exists."""
    if isinstance(fn, JitFunction | GradientFunction):
        return fn
    return _made_before(fn) if isinstance(fn, types.FunctionType) else None


def compiled(fn: Callable[..., Any]) -> JitFunction[..., Any] | Bound:
    """As ``function_of``, also for functions with bound arguments."""
    part = unbind(fn)
    return function_of(fn) if part is None else Bound(function_of(part.func), *part.args, **part.keywords)


def differentiable(fn: Callable[..., Any]) -> JitFunction[..., Any] | GradientFunction:
    """``fn`` as something that has derivatives."""
    return fn if isinstance(fn, GradientFunction) else function_of(fn)


@public
@of_bound
def grad(
    fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = (), *, has_aux: bool = False
) -> GradientFunction:
    """The gradient of a function that returns one float, as a function of the same arguments; see ``jit_grad``.

    ``fn`` may itself be a gradient that is one float: ``grad(grad(f))``. Besides parameters, ``argnames`` may name
    captured variables, and local variables: the derivative with respect to a shift that is added to each value assigned
    to them. With ``has_aux``, ``fn`` returns a pair ``(value, aux)``. Only the value is differentiated, and ``aux``,
    made of numbers, arrays and containers, is passed through: the result is ``(gradient, aux)``.
    """
    return differentiable(fn)._gradient(selection(argnums, argnames), with_value=False, has_aux=has_aux)


@public
@of_bound
def value_and_grad(
    fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = (), *, has_aux: bool = False
) -> GradientFunction:
    """As ``grad``, returning ``(value, gradient)``; with ``has_aux``, ``((value, aux), gradient)``."""
    return differentiable(fn)._gradient(selection(argnums, argnames), with_value=True, has_aux=has_aux)


@public
def pullback(fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> tuple[R, Pullback]:
    """Call a function; returns its result and the ``Pullback`` of this call."""
    result: tuple[R, Pullback] = compiled(fn).pullback(*args, **kwargs)
    return result


vjp = pullback
gradients.register(grad, value_and_grad)  # in compiled code
