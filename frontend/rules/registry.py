"""The derivative rules given by users, by function.

A rule is a Python function in the traced language; so it also runs in plain Python, where ``Rule.frule`` and
``Rule.rrule`` call it, or derive one from the other if possible. Others can build on the rules by hooks.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from adc.frontend import kernels
from adc.ir import forks
from adc.ir.lazy_dataclass import dataclass

Kind = Literal["scalar", "rrule", "frule", "none"]
Hook = Callable[["Rule"], object]
MODES = ("frule", "rrule")
GIVES: dict[str, tuple[str, ...]] = {"scalar": MODES, "rrule": ("rrule",), "frule": ("frule",), "none": ()}


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule. ``types`` are the types of the positional arguments that it is for, ``object`` for any; if ``rest`` is
    not None, further arguments are of that type.

    ``implementation`` is the function given by the user: ``rrule(*args, **kwargs)`` returns ``(value, pullback)``,
    ``frule(tangents, *args, **kwargs)`` returns ``(value, tangent)``; the function of a scalar rule returns the partial
    derivatives. Alternatively there are ``partials``, one for each argument: a number, None, or a function of the
    arguments. Partials also get the value if they have a parameter ``result``.
    """

    kind: Kind
    function: Any
    types: tuple[Any, ...]
    rest: Any
    implementation: Callable[..., Any] | None
    partials: tuple[Any, ...]
    name: str
    file: str
    line: int

    @property
    def signature(self) -> tuple[Any, ...]:
        """The function, then the types of its arguments; with ``...`` before the type of further ones."""
        return (self.function, *self.types) if self.rest is None else (self.function, *self.types, ..., self.rest)

    @property
    def modes(self) -> tuple[str, ...]:
        """The modes that it supports in plain Python."""
        return GIVES[self.kind]

    def takes(self, count: int) -> bool:
        """Whether it is for calls with ``count`` positional arguments."""
        return count == len(self.types) or (self.rest is not None and count >= len(self.types))

    def type_at(self, position: int) -> Any:
        return self.types[position] if position < len(self.types) else self.rest

    def frule(self, tangents: Sequence[Any], *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """In plain Python: the value and its tangent, given tangents of the arguments. None stands for no tangent."""
        if self.kind == "frule":
            assert self.implementation is not None
            value, tangent = self.implementation(tuple(tangents), *args, **kwargs)
            return value, tangent
        if self.kind != "scalar":
            raise NotImplementedError(f"{self.name} gives no frule")
        value = self.function(*args, **kwargs)
        terms = [
            partial * t
            for partial, t in zip(self.partials_at(value, args, kwargs), tangents, strict=True)
            if partial is not None and t is not None
        ]
        return value, sum(terms[1:], terms[0]) if terms else 0.0

    def rrule(self, *args: Any, **kwargs: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
        """In plain Python: the value, and the pullback from its cotangent to cotangents of the positional arguments."""
        if self.kind == "rrule":
            assert self.implementation is not None
            value, pullback = self.implementation(*args, **kwargs)
            return value, pullback
        if self.kind == "scalar":
            value = self.function(*args, **kwargs)
            partials = self.partials_at(value, args, kwargs)
            return value, lambda g: tuple(None if p is None else g * p for p in partials)
        if self.kind != "frule":
            raise NotImplementedError(f"{self.name} gives no rrule")
        columns = [self.frule([float(k == n) for k in range(len(args))], *args, **kwargs) for n in range(len(args))]
        value = columns[0][0] if columns else self.function(*args, **kwargs)
        return value, lambda g: tuple(g * tangent for _, tangent in columns)

    def partials_at(self, value: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The partial derivatives of a scalar rule, given in either way."""
        if self.implementation is not None:
            found = self.implementation(*args, **kwargs, **_result(self.implementation, value))
            return list(found) if isinstance(found, tuple) else [found]
        return [p(*args, **kwargs, **_result(p, value)) if callable(p) else p for p in self.partials]

    def __str__(self) -> str:
        shown = [_type_name(t) for t in self.types] + ([f"*{_type_name(self.rest)}"] if self.rest is not None else [])
        kind = "scalar rule" if self.kind == "scalar" else self.kind
        return f"{kind} {name_of(self.function)}({', '.join(shown)})"

    def __repr__(self) -> str:
        return f"<{self} at {self.file}:{self.line}>"


def _replaces(new: Rule, old: Rule) -> bool:
    """Whether ``old`` is superseded. A rule and the declaration that there is none exclude each other."""
    if _all(new) or _all(old):
        return True
    return (new.types, new.rest) == (old.types, old.rest) and (new.kind == old.kind or "none" in (new.kind, old.kind))


def _all(rule: Rule) -> bool:
    """Whether this declares that the function has no rules at all."""
    return rule.kind == "none" and rule.types == () and rule.rest is object


def _result(partial: Callable[..., Any], value: Any) -> dict[str, Any]:
    return {"result": value} if wants_result(partial) else {}


def wants_result(partial: Callable[..., Any]) -> bool:
    """Whether a partial derivative also uses the value."""
    try:
        return "result" in inspect.signature(partial).parameters
    except (TypeError, ValueError):
        return False


def _type_name(t: Any) -> str:
    return "_" if t is object else t if isinstance(t, str) else getattr(t, "__name__", str(t))


def name_of(function: Any) -> str:
    """The name, in messages and listings, of a function that has a rule; for libraries, with the module."""
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or repr(function))
    module = getattr(function, "__module__", None)
    if module in (None, "builtins", "__main__") or isinstance(function, types.FunctionType):
        return name.rpartition("<locals>.")[2]
    return f"{str(module).removeprefix('_')}.{name}"


def subject_of(obj: Any) -> Any:
    """The object by which rules of ``obj`` are stored: the plain function behind a compiled one, or behind a method."""
    while type(obj).__module__.split(".")[0] == "adc" and hasattr(obj, "__wrapped__"):
        obj = obj.__wrapped__
    if isinstance(obj, staticmethod | classmethod):
        obj = obj.__func__
    return obj


class Registry:
    """All rules. ``version`` grows with every change; ``changed`` tells which functions have changed since a
    version."""

    def __init__(self) -> None:
        self.lock = forks.Lock()
        self.version = 0
        self._rules: dict[int, tuple[Any, list[Rule]]] = {}  # by the id of the function, which is kept alive
        self._changes: dict[int, int] = {}  # by the id of the function: the version of its last change
        self._hooks: list[tuple[Hook, str, list[Rule]]] = []  # and the rules that it was called with
        self.listeners: list[Callable[[], None]] = []  # called after each change, without the lock

    def add(self, rule: Rule) -> None:
        """Add a rule; one of the same kind for the same types is replaced."""
        with self.lock:
            _, rules = self._rules.setdefault(id(rule.function), (rule.function, []))
            rules[:] = [r for r in rules if not _replaces(rule, r)] + [rule]
            self.version += 1
            self._changes[id(rule.function)] = self.version
        for listener in list(self.listeners):
            listener()
        self.refresh()

    def of(self, function: Any) -> list[Rule]:
        """The rules of a function, in the order in which they were added."""
        found = self._rules.get(id(function))
        return list(found[1]) if found is not None else list(_of_kernel(function))

    def has(self, function: Any) -> bool:
        return id(function) in self._rules or bool(_of_kernel(function))

    def all(self) -> list[Rule]:
        with self.lock:
            return [rule for _, rules in self._rules.values() for rule in rules]

    def changed(self, functions: Iterable[int], version: int) -> bool:
        """Whether rules of some functions, given by their ids, have changed since ``version``."""
        return self.version != version and any(self._changes.get(f, 0) > version for f in functions)

    # Hooks ------------------------------------------------------------------------------------------------------------

    def hook(self, hook: Hook, mode: str) -> None:
        with self.lock:
            self._hooks.append((hook, mode, []))
        self.refresh()

    def clear_hooks(self) -> None:
        with self.lock:
            self._hooks.clear()

    def refresh(self) -> None:
        """Call each hook with the rules that it has not seen."""
        for hook, mode, seen in list(self._hooks):
            for rule in list(self._unseen(mode, seen)):
                seen.append(rule)
                try:
                    hook(rule)
                except BaseException:
                    seen.remove(rule)  # the next refresh tries again
                    raise

    def _unseen(self, mode: str, seen: list[Rule]) -> Iterator[Rule]:
        for rule in self.all():
            if mode in rule.modes and not any(rule is known for known in seen):
                yield rule


def _of_kernel(function: Any) -> tuple[Rule, ...]:
    """The rules of a function of adc's own, which are not listed or changed."""
    return _kernel_rules(function) if isinstance(function, types.FunctionType) and function in kernels.REVERSE else ()


@functools.cache
def _kernel_rules(function: types.FunctionType) -> tuple[Rule, ...]:
    accepted: tuple[Any, ...] = (object,) * function.__code__.co_argcount
    given: tuple[tuple[Kind, types.FunctionType], ...] = (
        ("rrule", kernels.REVERSE[function]),
        ("frule", kernels.FORWARD[function]),
    )
    return tuple(
        Rule(kind, function, accepted, None, rule, (), rule.__name__, code.co_filename, code.co_firstlineno)
        for kind, rule, code in ((kind, rule, rule.__code__) for kind, rule in given)
    )


RULES = Registry()
