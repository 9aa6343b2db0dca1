"""``jit_grad`` and the function forms: Python objects whose calls run compiled code."""

from __future__ import annotations

import functools
import os
import threading
import types
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, ParamSpec, TypeVar, overload

from adc.alignment import Borrowed
from adc.backend.calls.callable_type import NativeCallable
from adc.boundary import internal, leaving, public
from adc.checkpoints import Checkpoint, read
from adc.compiler import Staged, Subject, UnknownConstant
from adc.containers import Lowered, lower
from adc.errors import AdcError
from adc.frontend.abstract import Abstract, Array, Scalar, map_abstract
from adc.ir import kinds
from adc.options import ArgNames, ArgNums, Derivative, Engine, Options, Selection, selection
from adc.pullbacks import Pullback, PullbackCode
from adc.signature import Parameters, abstracts_of, leaf_type, normalise, pinned
from adc.specialise import Gradient, Primal, Specialisation

if TYPE_CHECKING:
    from adc.culprit import Culprit
    from adc.report import Report

P = ParamSpec("P")
R = TypeVar("R")


class Dispatcher(NativeCallable):
    """Finds, or compiles, the specialisation for the arguments of a call.

    The compiled code of the last one is the target of the object: a call whose arguments fit it runs without any of
    this. All others come here.
    """

    _kind: ClassVar[str]

    def __init__(self, subject: Subject, chosen: Selection) -> None:
        self._subject = subject
        self._chosen = chosen
        self._table: dict[tuple[Abstract, ...], list[Specialisation]] = {}
        self._here = threading.local()

    def _compile(self, staged: Staged) -> Specialisation:
        raise NotImplementedError

    @property
    def _derivative(self) -> Derivative:
        """What is shown as the gradient."""
        return Derivative((self._chosen,))

    def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
        borrowed = Borrowed()
        try:
            values = self._subject.parameters.bind(args, kwargs)
            lowered = lower(self._subject.parameters.names, values)
            spec, values = self._find(lowered, borrowed)
            if spec.wrapped:
                return spec.run_wrapped(spec.canonical(values), lowered.objects)
            count = None if kwargs else self._subject.parameters.by_position(len(args))
            direct = None if count is None else spec.direct.get(count)
            if direct is not None and direct is not self._target and self._subject.options.engine == "native":
                self._set_target(direct)
            return spec.run(spec.canonical(values))
        except Exception as error:
            left = leaving(error, self._subject.name)
        finally:
            borrowed.give_back()
        raise left

    def _miss(self, *args: Any) -> Any:
        """Called by compiled code for arguments that it was not made for."""
        # The handler of a signal may call this function while a call that came here runs.
        depth = getattr(self._here, "misses", 0)
        if depth == _MOST_MISSES:
            raise kinds.WRONG_ARGUMENTS(f"{self._subject.name}: compiled code does not take these arguments")
        self._here.misses = depth + 1
        try:
            return self._dispatch(*args)
        finally:
            self._here.misses = depth

    def _find(self, lowered: Lowered, borrowed: Borrowed) -> tuple[Specialisation, tuple[Any, ...]]:
        """The specialisation for the values of all parameters, and the values as it takes them."""
        subject = self._subject
        values = normalise(subject.parameters.names, lowered.values, borrowed, lowered.shapes)
        types = self._key(abstracts_of(subject.parameters.names, values, lowered.shapes))
        while True:
            try:
                return self._compiled(pinned(types, values, subject.constants.get(types, ()))), values
            except UnknownConstant as unknown:
                leaf = leaf_type(types, unknown.path)
                known = subject.constants.setdefault(types, set())
                if not isinstance(leaf, Scalar) or leaf.type.is_float or unknown.path in known:
                    raise
                known.add(unknown.path)

    def _compiled(self, key: tuple[Abstract, ...]) -> Specialisation:
        """What was compiled for argument types, or is now."""
        subject = self._subject
        for spec in self._table.get(key, ()):
            if spec.fits():
                return spec
        with subject.lock:
            for spec in self._table.get(key, ()):
                if spec.fits():
                    return spec
            try:
                spec = self._compile(Staged(subject, key))
            except (AdcError, MemoryError):
                raise
            except Exception as error:
                raise internal(error, subject.name) from error
            # The newest first: what was redefined does not come back as a rule.
            self._table[key] = [spec, *self._table.get(key, ())][:_KEPT]
            subject.last = key
        if "ADC_DUMP_IR" in os.environ:
            self._dump(key)
        return spec

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        """What to compile for, given the types of the arguments."""
        return abstracts

    def _dump(self, key: tuple[Abstract, ...]) -> None:
        """Show a function that was just compiled, as the environment variable ``ADC_DUMP_IR`` asks."""
        from adc.dump import dump_requested

        dump_requested(self._subject, key, self._derivative, self._kind)

    @public
    def dump_ir(self, stage: str = "simplified", signature: str | None = None, *, locs: bool = False) -> str:
        """The function at a stage of compilation, as text: traced, simplified, plan, adjoint, lowered, llvm or asm.

        It is shown for the types of ``signature`` (``"f64[:, ::1], f64, i64"``); without, for those of the last call,
        or for the annotations of the parameters. Nothing is run.
        """
        from adc.dump import dump, resolve

        return dump(self._subject, resolve(self._subject, signature), stage, self._derivative, locs=locs)

    @public
    def report(self, signature: str | None = None) -> Report:
        """What the gradient stores, repeats and runs on threads, line by line; for the types that ``dump_ir`` takes."""
        from adc.dump import resolve
        from adc.report import report

        return report(self._subject, resolve(self._subject, signature), self._derivative)

    def _known(self) -> list[Specialisation]:
        return [spec for specs in self._table.values() for spec in specs]


def _made_writable(leaf: Abstract) -> Abstract:
    return replace(leaf, writable=True) if isinstance(leaf, Array) else leaf


_Kind = tuple[Selection, bool, bool]  # by what, with the value or without, and whether more is handed on
_MOST_MISSES = 4  # calls inside calls, each with arguments that nothing was compiled for
_KEPT = 8  # specialisations for equal argument types that differ in what they read by name


class GradientFunction(Dispatcher):
    """The gradient of a function, or its value and gradient: takes the function's arguments."""

    _kind = "gradient"

    def __init__(
        self, subject: Subject, chain: tuple[Selection, ...], *, with_value: bool, has_aux: bool = False
    ) -> None:
        super().__init__(subject, chain[-1])
        self._chain = chain
        self._with_value = with_value
        self._has_aux = has_aux
        self._gradients: dict[_Kind, GradientFunction] = {}

    def _compile(self, staged: Staged) -> Specialisation:
        return Gradient(staged, self._chain, self._miss, with_value=self._with_value, has_aux=self._has_aux)

    @property
    def _derivative(self) -> Derivative:
        return Derivative(self._chain, self._has_aux)

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        """A gradient leaves the caller's arrays as they are: it does not matter whether they could be written."""
        return tuple(map_abstract(a, _made_writable) for a in abstracts)

    def _gradient(self, chosen: Selection, *, with_value: bool, has_aux: bool = False) -> GradientFunction:
        """The gradient of this gradient."""
        if self._with_value:
            raise kinds.NOT_SCALAR(f"value_and_grad of {self._subject.name} returns a tuple: differentiate its grad")
        if self._has_aux or has_aux:
            raise kinds.NOT_SCALAR(
                f"has_aux is for first derivatives, not for a gradient of a gradient of {self._subject.name}",
                help="differentiate a function that returns the float alone",
            )
        made = GradientFunction(self._subject, (*self._chain, chosen), with_value=with_value)
        return self._gradients.setdefault((chosen, with_value, False), made)

    def __repr__(self) -> str:
        what = "value and gradient of " if self._with_value else "gradient of "
        return f"<{what}{'gradient of ' * (len(self._chain) - 1)}{self._subject.name}>"


class _PullbackFunction(Dispatcher):
    """The forward half of pullbacks."""

    _kind = "pullback"

    def _compile(self, staged: Staged) -> Specialisation:
        return PullbackCode(staged, self._miss)


class JitFunction(Dispatcher, Generic[P, R]):
    """A Python function, compiled when it is called, with its derivatives.

    ``f(...)`` does what the Python function does, results and effects. ``f.grad(...)`` and ``f.value_and_grad(...)``
    differentiate a function that returns one float, and leave the caller's arrays as they were. ``f.pullback(...)``
    calls the function and returns its result and a ``Pullback``.
    """

    _kind = "primal"
    grad: GradientFunction
    value_and_grad: GradientFunction

    def __init__(self, fn: Callable[P, R], chosen: Selection, options: Options) -> None:
        if not isinstance(fn, types.FunctionType):
            raise kinds.NOT_A_FUNCTION(f"adc compiles Python functions, not {fn!r}", help="wrap it in a function")
        super().__init__(Subject(fn, Parameters(fn), options), chosen)
        functools.update_wrapper(self, fn)
        self.__dict__.pop("__adc__", None)
        self._gradients: dict[_Kind, GradientFunction] = {}
        self.grad = self._gradient(chosen, with_value=False)
        self.value_and_grad = self._gradient(chosen, with_value=True)
        self._pullbacks = _PullbackFunction(self._subject, chosen)

    def _compile(self, staged: Staged) -> Specialisation:
        return Primal(staged, self._miss)

    def _gradient(self, chosen: Selection, *, with_value: bool, has_aux: bool = False) -> GradientFunction:
        made = GradientFunction(self._subject, (chosen,), with_value=with_value, has_aux=has_aux)
        return self._gradients.setdefault((chosen, with_value, has_aux), made)

    @public
    def pullback(self, *args: P.args, **kwargs: P.kwargs) -> tuple[R, Pullback]:
        """The result of a call, effects included, and the pullback of its cotangents."""
        result: tuple[R, Pullback] = self._pullbacks._dispatch(*args, **kwargs)
        return result

    def __repr__(self) -> str:
        return f"<adc function {self.__module__}.{getattr(self, '__qualname__', self._subject.name)}>"

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R: ...


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
    checkpoint: Checkpoint = None,
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
    checkpoint: Checkpoint = None,
    _engine: Engine = "native",
    _level: int = 3,
    _bounds: bool = True,
) -> Any:
    """Compile a Python function and its gradient: as a decorator, with or without arguments.

    ``argnums`` (default 0) are the positions of the parameters to differentiate with respect to: one gradient for an
    int, a tuple of gradients for a tuple. ``argnames`` are names of parameters or of captured variables, whose
    gradients come in a dict; with both, ``(those of argnums, dict)``. ``threads`` is the number of threads of parallel
    loops (default: ``ADC_NUM_THREADS``, or all cores); without ``parallel`` no loop runs on threads.

    ``accumulate`` is how parallel loops sum what several iterations add to one element of a gradient: ``"gather"``,
    ``"rows"``, ``"blocks"``, ``"colours"``, ``"private"``, ``"serial"`` or ``"atomic"`` where that is right, and
    ``"auto"`` elsewhere, which weighs them; the report tells. With ``deterministic=False`` the order of such sums,
    and so their last bits, may depend on threads, and terms that else would be added one after the other are added
    atomically.

    ``checkpoint`` lets the gradient keep snapshots of what a time loop changes, instead of a tape of all steps, and
    run steps again: ``adc.revolve(snapshots=N)``, ``adc.every(K)``, ``"sqrt"``, ``"recompute-all"``. It is for the
    outermost sequential loops with loops or calls inside; the report tells. The gradient's bits stay the same.
    """
    chosen = selection(argnums, argnames)
    options = Options(threads, parallel, _engine, _level, _bounds, accumulate, deterministic, read(checkpoint))

    @public
    def decorate(function: Callable[..., Any]) -> JitFunction[..., Any]:
        return JitFunction(_plain_function(function), chosen, options)

    return decorate if fn is None else decorate(fn)


def _plain_function(fn: Callable[..., Any]) -> Callable[..., Any]:
    return fn._subject.fn if isinstance(fn, JitFunction) else fn


def _function_of(fn: Callable[..., Any]) -> JitFunction[..., Any]:
    """``fn`` as adc calls it. A plain function remembers what was compiled for it, as long as it lives."""
    if isinstance(fn, JitFunction):
        return fn
    if not isinstance(fn, types.FunctionType):
        raise kinds.NOT_A_FUNCTION(f"adc differentiates Python functions, not {fn!r}", help="wrap it in a function")
    known = fn.__dict__.get("__adc__")
    if not isinstance(known, JitFunction) or known._subject.fn is not fn:
        known = fn.__dict__.setdefault("__adc__", JitFunction(fn, Selection(), Options()))
    return known


def _differentiable(fn: Callable[..., Any]) -> JitFunction[..., Any] | GradientFunction:
    return fn if isinstance(fn, GradientFunction) else _function_of(fn)


@public
def grad(
    fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = (), *, has_aux: bool = False
) -> GradientFunction:
    """The gradient of a function that returns one float, as a function of the same arguments; see ``jit_grad``.

    ``fn`` may be such a gradient itself, if that is one float: ``grad(grad(f))``. Besides parameters, ``argnames`` may
    name captured variables, and local variables: the derivative by what is added to each value assigned to them. With
    ``has_aux``, ``fn`` returns a pair ``(value, aux)``: the value is differentiated, and ``aux``, made of numbers,
    arrays and containers, is handed on: ``(gradient, aux)``.
    """
    return _differentiable(fn)._gradient(selection(argnums, argnames), with_value=False, has_aux=has_aux)


@public
def value_and_grad(
    fn: Callable[..., Any], argnums: ArgNums = None, argnames: ArgNames = (), *, has_aux: bool = False
) -> GradientFunction:
    """As ``grad``, returning ``(value, gradient)``; with ``has_aux``, ``((value, aux), gradient)``."""
    return _differentiable(fn)._gradient(selection(argnums, argnames), with_value=True, has_aux=has_aux)


@public
def pullback(fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> tuple[R, Pullback]:
    """Call a function: its result, and the ``Pullback`` of this call."""
    result: tuple[R, Pullback] = _function_of(fn).pullback(*args, **kwargs)
    return result


vjp = pullback


@public
def find_culprit(
    fn: Callable[..., Any], /, *args: Any, tolerance: float = 1e-5, step: float = 1e-6, **kwargs: Any
) -> Culprit | None:
    """The last operation of ``fn``, or function that it calls, whose derivative is wrong; None if all are right.

    The derivative of the result by every value that ``fn`` computes is compared with central differences of the given
    step: they may differ by ``tolerance`` of the larger, or of one. For small inputs: it runs in the interpreter. The
    result prints with the source line.
    """
    from adc import culprit

    subject = _function_of(fn)._subject
    lowered = lower(subject.parameters.names, subject.parameters.bind(args, kwargs))
    values = normalise(subject.parameters.names, lowered.values, shapes=lowered.shapes)
    staged = Staged(subject, abstracts_of(subject.parameters.names, values, lowered.shapes))
    return culprit.find(staged, Specialisation(staged, staged.traced()).leaf_values(values), tolerance, step)
