"""Functions with some arguments already bound: methods of an object, partials, callable objects.

A form such as ``adc.grad`` differentiates the function itself, and then binds the same arguments again. So argnums
count the remaining parameters, as ``inspect.signature`` of the user's object shows them.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from adc.border.boundary import public
from adc.border.options import ArgNames, ArgNums, Selection, selection
from adc.frontend.checkpoints import not_checkpointed
from adc.ir import kinds


class Computed:
    """An attribute that is computed for each instance; on the class its value is ``own``, if given."""

    def __init__(self, of: Callable[[Any], Any], own: Any = None) -> None:
        self.of = of
        self.own = own

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None and self.own is None:
            raise AttributeError
        return self.own if instance is None else self.of(instance)


class Bound(functools.partial[Any]):
    """A function of adc with its first arguments bound, or some by name: for instance a method of an object.

    It has the attributes of the function: ``grad``, ``value_and_grad``, ``pullback``, ``jvp``, ``report``, ``dump_ir``.
    """

    if TYPE_CHECKING:

        @property
        def func(self) -> Any:
            """The function of adc."""

    __doc__ = Computed(lambda self: self.func.__doc__, __doc__)
    __signature__ = Computed(lambda self: inspect.signature(functools.partial(self.func, *self.args, **self.keywords)))

    def __getattr__(self, name: str) -> Any:
        if name in ("__name__", "__qualname__"):
            return getattr(self.func, name)
        raise AttributeError(f"{self!r} has no attribute {name!r}")

    @property
    def __self__(self) -> Any:
        """The object of a method."""
        if not self.args:
            raise AttributeError("__self__")
        return self.args[0]

    @property
    def __func__(self) -> Any:
        return self.func

    def __get__(self, instance: Any, owner: type | None = None) -> Bound:
        """As an attribute of a class it stays as it is, like a bound method."""
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Bound) or self.func is not other.func or self.keywords.keys() != other.keywords.keys():
            return False
        mine, yours = ((*b.args, *(b.keywords[name] for name in self.keywords)) for b in (self, other))
        return len(mine) == len(yours) and all(a is b for a, b in zip(mine, yours, strict=True))

    def __hash__(self) -> int:
        return hash((id(self.func), *map(id, self.args)))

    def __repr__(self) -> str:
        given = ", ".join([*map(repr, self.args), *(f"{n}={v!r}" for n, v in self.keywords.items())])
        return f"<{repr(self.func).strip('<>')} with {given}>"

    @property
    @public
    def grad(self) -> Bound:
        """The gradient with respect to the arguments given to ``jit_grad``."""
        return self._of(self.func._gradient(shifted(self, self.func._chosen), with_value=False))

    @property
    @public
    def value_and_grad(self) -> Bound:
        """As ``grad``, returning ``(value, gradient)``."""
        return self._of(self.func._gradient(shifted(self, self.func._chosen), with_value=True))

    def _of(self, made: Any) -> Bound:
        return Bound(made, *self.args, **self.keywords)

    @public
    def pullback(self, /, *args: Any, **kwargs: Any) -> Any:
        """The result of a call, and its pullback, which returns a cotangent for each argument that is not bound."""
        result, back = self.func.pullback(*self.args, *args, **{**self.keywords, **kwargs})
        return result, back.without(len(self.args))

    @public
    def jvp(self, args: Sequence[Any], tangents: Sequence[Any], **options: Any) -> Any:
        """The value for ``args`` and its derivative along their ``tangents``; see ``adc.jvp``."""
        return self.func.jvp(*self.spread(args, tangents), **options)

    def spread(self, args: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """All positional arguments of the function, and their tangents: None for bound arguments."""
        values, along = [*self.args, *args], [*(None for _ in self.args), *tangents]
        if not self.keywords:
            return values, along
        signature = inspect.signature(self.func, follow_wrapped=False)
        try:
            bound = signature.bind(*values, **self.keywords)
        except TypeError as error:
            raise kinds.WRONG_ARGUMENTS(f"{self.__name__}() {error}") from None
        bound.apply_defaults()
        if bound.kwargs:
            raise kinds.WRONG_ARGUMENTS(
                f"{self.__name__}() takes {', '.join(bound.kwargs)} by name only, and tangents are by position",
                help="write a function that takes all by position",
            )
        return list(bound.args), [*along, *(None for _ in bound.args[len(along) :])]

    @public
    def forecast(self, /, *args: Any, **kwargs: Any) -> Any:
        """The memory and work of a call with these arguments; see ``GradientFunction.forecast``."""
        return self.func.forecast(*self.args, *args, **{**self.keywords, **kwargs})

    @public
    def colouring(self, /, *args: Any, **kwargs: Any) -> Any:
        """The pattern of a sparse Jacobian for these arguments; see ``SparseFunction.colouring``."""
        return self.func.colouring(*self.args, *args, **{**self.keywords, **kwargs})

    @public
    def report(self, signature: str | None = None) -> Any:
        """What the gradient stores, repeats and runs on threads; ``signature`` includes bound arguments."""
        return self.func.report(signature)

    @public
    def dump_ir(self, stage: str = "simplified", signature: str | None = None, *, locs: bool = False) -> str:
        """The function at a stage of compilation, as text; ``signature`` includes bound arguments."""
        return str(self.func.dump_ir(stage, signature, locs=locs))


_CACHED = type(functools.lru_cache(lambda: None))


def unwrapped(fn: Any) -> Any:
    """A function without wrappers that cache its results (``lru_cache``) or mark it for checkpointing."""
    while True:
        inner = fn.__wrapped__ if isinstance(fn, _CACHED) else not_checkpointed(fn)
        if inner is fn:
            return fn
        fn = inner


def unbind(fn: Any) -> functools.partial[Any] | None:
    """A function with bound arguments, as a partial of the underlying function; None for other functions.

    It is a bound method, a partial, or an object of a class with ``__call__``.
    """
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    found = False
    while (part := _part(unwrapped(fn))) is not None:
        found = True
        fn, first, named = part
        args, keywords = (*first, *args), {**named, **keywords}
    return functools.partial(unwrapped(fn), *args, **keywords) if found else None


def _part(fn: Any) -> tuple[Any, tuple[Any, ...], Mapping[str, Any]] | None:
    if isinstance(fn, functools.partial):
        return fn.func, fn.args, fn.keywords
    if isinstance(fn, types.MethodType):
        return fn.__func__, (fn.__self__,), {}
    cls = type(fn)
    if cls.__module__.split(".")[0] in ("builtins", "adc", "functools", "numpy") or issubclass(cls, type):
        return None  # functions, classes and adc's objects are used as they are
    own = next((vars(c)["__call__"] for c in cls.__mro__ if "__call__" in vars(c)), None)
    if own is None:
        return None
    method = own.__get__(fn, cls) if hasattr(own, "__get__") else own
    return _part(method) or (method, (), {})


Form = TypeVar("Form", bound=Callable[..., Any])


def of_bound(form: Form) -> Form:
    """Extend a form, which takes a function, argnums, argnames and options, to functions with bound arguments: the
    result has the same arguments bound."""

    @functools.wraps(form)
    def formed(fn: Any, argnums: ArgNums = None, argnames: ArgNames = (), **options: Any) -> Any:
        part = unbind(fn)
        if part is None:
            return form(fn, argnums, argnames, **options)
        chosen = shifted(part, selection(argnums, argnames))
        numbers = None if not chosen.numbers else chosen.numbers[0] if chosen.single else chosen.numbers
        return Bound(form(part.func, numbers, chosen.names, **options), *part.args, **part.keywords)

    return formed  # type: ignore[return-value]


def shifted(bound: functools.partial[Any], chosen: Selection) -> Selection:
    """A selection among the remaining arguments, as a selection among all arguments of the function."""
    first = len(bound.args)
    numbers = tuple(n + first if n >= 0 else n for n in chosen.numbers)
    subject = getattr(bound.func, "_subject", None)
    count = 0 if subject is None else len(subject.parameters.names) - first
    if not all(0 <= n < count for n in chosen.numbers):
        left = list(inspect.signature(bound).parameters.values())
        outside = [n for n in chosen.numbers if not -len(left) <= n < len(left)]
        if outside and not any(p.kind is p.VAR_POSITIONAL for p in left):
            known = ", ".join(f"{k} ({p.name})" for k, p in enumerate(left))
            help = f"numbers count the arguments that are left to be given: {known}"
            name, taken = bound.func.__name__, ", ".join(inspect.signature(bound.func).parameters)
            message = f"{name} has no argument number {outside[0]} that is left to be given"
            if not left and len(bound.args) == 1 and not bound.keywords:
                help = f"a method takes its object first: def {name}(self, {taken})"
            raise kinds.WRONG_ARGNUMS(message, help=help)
    return replace(chosen, numbers=numbers) if first else chosen
