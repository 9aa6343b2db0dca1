"""From a call to the specialisation for its arguments: shared by functions and their derivatives."""

from __future__ import annotations

import contextlib
import copy
import inspect
import os
import pickle
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from adc.backend.calls.callable_type import NativeCallable
from adc.backend.calls.stub import set_miss
from adc.border.alignment import Borrowed
from adc.border.bound import Bound, Computed
from adc.border.boundary import compiling, leaving, public
from adc.border.checkpoints import combined
from adc.border.containers import Lowered, lower
from adc.border.known_containers import Known
from adc.border.options import NONE, Derivative, Selection
from adc.border.pickling import by_name
from adc.border.signature import abstracts_of, leaf_type, normalise, pinned
from adc.driver import collector
from adc.driver.compiler import Staged
from adc.driver.specialise import Misfit, Specialisation, misfit
from adc.driver.subject import Builtin, Subject, UnknownConstant
from adc.frontend.abstract import Abstract, Array, Scalar, map_abstract, walk_abstract
from adc.frontend.rules.registry import RULES
from adc.functions.overlap import with_overlap
from adc.ir import forks, kinds, notices
from adc.ir.diagnostics import CompileError
from adc.ir.schedules import Schedule
from adc.persistent import records
from adc.persistent.constants import Constants
from adc.watch.compiling import told

if TYPE_CHECKING:
    from adc.reports.report import Report

T = TypeVar("T")
Made = tuple[tuple[Any, ...], dict[str, Any]]  # arguments of a constructor

_MOST_MISSES = 4  # nested calls that each miss: no code fits their arguments
_KEPT = 8  # specialisations for equal argument types that differ in what they read by name


class Dispatcher(NativeCallable):
    """Finds, or compiles, the specialisation for the arguments of a call.

    The compiled code used last is the target of the object: a call whose arguments fit it runs directly. All other
    calls come here.
    """

    _kind: ClassVar[str]
    _in_columns: ClassVar[bool] = False  # whether arrays in Fortran's order have code of their own
    __signature__ = Computed(lambda self: inspect.signature(self._subject.fn))  # a derivative has the same parameters

    def __init__(self, subject: Subject, chosen: Selection) -> None:
        self._subject = subject
        self._chosen = chosen
        self._table: dict[tuple[Abstract, ...], list[Specialisation]] = {}
        self._here = threading.local()
        # The forms of containers in the last call that had any; the specialisation that ran, if that came twice.
        self._shapes: Any = None
        self._last: tuple[Known, Specialisation] | None = None
        # The code for the last call with keywords, which takes all parameters by position.
        self._named: Builtin | None = None
        with _dispatchers_lock:
            _DISPATCHERS.add(self)

    def _set_target(self, target: object) -> None:
        self._named = None
        super()._set_target(target)

    def _made_with(self) -> Made:
        """The constructor arguments of a derivative, apart from the subject."""
        raise NotImplementedError

    @classmethod
    def _made_again(cls, owner: Any, given: Made) -> Any:
        """The derivative of a function with these constructor arguments; the same object for equal arguments."""
        known: dict[Any, Any] = owner.__dict__.setdefault("_derived", {})
        key = cls, pickle.dumps(given)
        if key not in known:
            known[key] = cls(owner._subject, *given[0], **given[1])
        return known[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return by_name(self) or (_derived, (self._subject.owner, type(self), self._made_with()))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self

    def _describe(self, prefix: str, what: str, by: str) -> None:
        """Give a derivative a name and a docstring: those of the function, and which derivative it is."""
        fn = self._subject.fn
        self.__name__ = f"{prefix}_{self._subject.name}"
        self.__qualname__ = f"{fn.__qualname__.rpartition('.')[0]}.{self.__name__}".removeprefix(".")
        self.__module__ = fn.__module__
        text = f"The {what} of {self._subject.name}{by}, as a function of the same arguments."
        self.__doc__ = f"{text}\n\n{inspect.cleandoc(fn.__doc__)}" if fn.__doc__ else text

    def _compile(self, staged: Staged) -> Specialisation:
        raise NotImplementedError

    @property
    def _differentiated(self) -> Any:
        """The function that it is a derivative of."""
        return self._subject.owner

    @property
    def _kept_as(self) -> tuple[Any, ...] | None:
        """What distinguishes this derivative from others of the function in the records of compiled code; None if it is
        not recorded."""
        return None

    @property
    def _derivative(self) -> Derivative:
        """The derivative that is shown as the gradient."""
        return Derivative((self._chosen,))

    @property
    def _forward_of(self) -> Derivative:
        """The function or derivative of which forward mode is shown."""
        return NONE

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """As an attribute of a class, a method."""
        return self if instance is None else Bound(self, instance)

    def _dispatch(self, /, *args: Any, **kwargs: Any) -> Any:
        borrowed = Borrowed()
        version = RULES.version
        try:
            parameters, named = self._subject.parameters, self._named
            if kwargs and named is not None and (values := parameters.in_order(args, kwargs)) is not None:
                with contextlib.suppress(Misfit):
                    return named(*values)
            if kwargs and (variant := self._asked_otherwise(kwargs)) is not None:
                return variant._dispatch(*args, **kwargs)
            bound, last = parameters.bind(args, kwargs), self._last
            if last is not None and (again := last[0].lower(bound)) is not None and last[1].fits():
                with contextlib.suppress(Misfit):
                    return last[1].run_wrapped(again.values, again.objects)
            lowered = lower(parameters.names, bound)
            spec, values = self._find(lowered, borrowed)
            if spec.wrapped:
                repeated = lowered.shapes is not None and lowered.shapes == self._shapes
                looks_itself = spec.repeatable and self._subject.target.resident
                self._last = (Known(lowered), spec) if repeated and looks_itself else None
                self._shapes = lowered.shapes
                return spec.run_wrapped(spec.canonical(values), lowered.objects)
            count = None if kwargs else parameters.by_position(len(args))
            direct = None if count is None else spec.direct.get(count)
            if direct is not None and direct is not self._target and self._subject.target.resident:
                self._set_target(direct)
            if kwargs and self._subject.target.resident:
                self._named = spec.direct.get(len(parameters.names))
                if self._named is not None and parameters.by_position(0) is None:
                    set_miss(self._named, misfit)  # its parameters cannot be passed by position
            if RULES.version != version:  # a rule was declared meanwhile
                self._set_target(None)
            return spec.run(spec.canonical(values))
        except Misfit:
            message = f"{self._subject.name}: compiled code does not take these arguments"
            left = leaving(kinds.WRONG_ARGUMENTS(message), self._subject.name)
        except Exception as error:
            left = leaving(error, self._subject.name)
        finally:
            borrowed.give_back()
        raise left

    def _asked_otherwise(self, kwargs: dict[str, Any]) -> Dispatcher | None:
        """The function that runs this call, if the call has its own schedule or memory, which are removed from
        ``kwargs``."""
        return None

    def _miss(self, *args: Any) -> Any:
        """Called by compiled code for arguments that it was not made for."""
        # A signal handler may call this function during another call that missed, so only a depth is an error.
        depth = getattr(self._here, "misses", 0)
        if depth == _MOST_MISSES:
            raise kinds.WRONG_ARGUMENTS(f"{self._subject.name}: compiled code does not take these arguments")
        self._here.misses = depth + 1
        try:
            return self._dispatch(*args)
        finally:
            self._here.misses = depth

    def _find(self, lowered: Lowered, borrowed: Borrowed) -> tuple[Specialisation, tuple[Any, ...]]:
        """The specialisation for the values of all parameters, and the values in the form that it takes."""
        return self._made(lowered, borrowed, self._compiled)

    def _made(
        self, lowered: Lowered, borrowed: Borrowed, make: Callable[[tuple[Abstract, ...]], T]
    ) -> tuple[T, tuple[Any, ...]]:
        """The result of ``make`` for the types of all parameters, and their values in the form that it takes."""
        subject = self._subject
        values = normalise(subject.parameters.names, lowered.values, borrowed, lowered.shapes)
        columns = self._in_columns and not subject.options.shared
        types = self._key(abstracts_of(subject.parameters.names, values, lowered.shapes, columns))
        constants = Constants(subject, types)
        while True:
            try:
                made = make(with_overlap(subject, pinned(types, values, constants.paths), values, borrowed))
            except UnknownConstant as unknown:
                leaf = leaf_type(types, unknown.path)
                if not isinstance(leaf, Scalar) or leaf.type.is_float or unknown.path in constants.paths:
                    raise
                constants.add(unknown.path)
            except CompileError as error:
                constants.add_sizes(values, error)  # once more, for arrays of these sizes alone
            else:
                if isinstance(made, Specialisation):
                    constants.keep(made)
                return made, values

    def _compiled(self, key: tuple[Abstract, ...]) -> Specialisation:
        """The specialisation for argument types; it is compiled now if there is none."""
        subject = self._subject
        for spec in self._table.get(key, ()):
            if spec.fits():
                return spec
        with subject.lock:
            for spec in self._table.get(key, ()):
                if spec.fits():
                    return spec
            kind = "" if self._kind == "primal" else f" ({self._kind})"
            with compiling(subject.name), told(f"{subject.name}{kind}"):
                spec = self._found_or_compiled(Staged(subject, key))
            # The newest first: something redefined rarely returns to an earlier definition.
            self._table[key] = [spec, *self._table.get(key, ())][:_KEPT]
            subject.last = key
        if "ADC_DUMP_IR" in os.environ:
            self._dump(key)
        return spec

    def _found_or_compiled(self, staged: Staged) -> Specialisation:
        """The specialisation that an earlier process compiled, or a new one, which is recorded for later processes."""
        kind = self._kept_as
        staged.record = None if kind is None else records.name_of(kind, staged)
        if staged.record is not None and (spec := records.find(staged.record, staged, self._miss)) is not None:
            return spec
        with records.alone(staged.record) as waited:
            spec = records.find(staged.record, staged, self._miss) if waited and staged.record is not None else None
            if spec is None:
                said = notices.said
                with collector.paused():  # also between stages: the garbage of all is collected together
                    spec = self._compile(staged)
                if notices.said != said:  # the next process must give the notice, too
                    staged.record = None
                self._keep(spec)
        return spec

    @staticmethod
    def _keep(spec: Specialisation) -> None:
        """Record a specialisation for later processes, if it has learned something since the last time."""
        staged = spec.staged
        if staged.record is not None and staged.recorded != spec.found_out:
            with spec.subject.lock:
                staged.recorded = spec.found_out
                records.keep(staged.record, spec)

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        """The types to compile for, given the types of the arguments."""
        return abstracts

    def _dump(self, key: tuple[Abstract, ...]) -> None:
        """Show a function that was just compiled, as requested by the environment variable ``ADC_DUMP_IR``."""
        from adc.reports.dump import dump_requested

        dump_requested(self._subject, key, self._derivative, self._kind, self._forward_of)

    @public
    def dump_ir(self, stage: str = "simplified", signature: str | None = None, *, locs: bool = False) -> str:
        """The function at a stage of compilation, as text: traced, simplified, plan, adjoint, tangent, lowered, llvm
        or asm.

        It is shown for the types of ``signature`` (``"f64[:, ::1], f64, i64"``); without one, for those of the last
        call, or for the annotations of the parameters. Nothing is run.
        """
        from adc.reports.dump import as_called

        return self._dumped(as_called(self._subject, signature), stage, locs=locs)

    def _dumped(self, abstracts: tuple[Abstract, ...], stage: str, *, locs: bool) -> str:
        from adc.reports.dump import dump

        return dump(self._subject, abstracts, stage, self._derivative, forward=self._forward_of, locs=locs)

    @public
    def report(self, signature: str | None = None, *, call: Sequence[Any] | None = None, simd: bool = False) -> Report:
        """What the gradient costs and why: a summary, then what is stored, repeated and run on threads, line by line.

        The types are chosen as in ``dump_ir``. ``call`` are arguments: the function and its gradient are run with
        copies of them, and the summary says how long that took and how much memory it needs. With ``simd`` LLVM
        compiles the gradient once more, and the report says which loops became SIMD.
        """
        from adc.reports.dump import as_called
        from adc.reports.report import report, with_run

        if call is not None:
            self(*copy.deepcopy(tuple(call)))  # determines the types
        found = report(self._subject, as_called(self._subject, signature), self._derivative, simd=simd)
        owner = self._subject.owner
        if call is None or owner is None:
            return found
        gradient = owner.value_and_grad if found.what == "gradient" else owner.pullback
        return with_run(found, owner, gradient, tuple(call))

    def _known(self) -> list[Specialisation]:
        return [spec for specs in self._table.values() for spec in specs]


def sharing(
    function: Dispatcher, args: tuple[Any, ...], kwargs: Mapping[str, Any] = {}
) -> list[list[np.ndarray[Any, Any]]]:
    """The arrays among the arguments of a call that share a shadow: those that overlap an array that is written."""
    names = function._subject.parameters.names
    lowered = lower(names, function._subject.parameters.bind(args, kwargs))
    types, values = function._made(lowered, Borrowed(), lambda key: key)
    if not any(isinstance(leaf, Array) and leaf.alias is not None for a in types for leaf in walk_abstract(a)):
        return []
    staged = Staged(function._subject, types)
    spec = Specialisation(staged, staged.traced())
    leaves = spec.leaf_values(values)
    return [[leaves[k] for k in group] for group in spec.sharing(leaves)]


def _derived(owner: Any, cls: type[Dispatcher], given: Made) -> Any:
    """A derivative that another process sent. Its function may be sent with it, and may still be incomplete."""
    if hasattr(owner, "_subject"):
        return cls._made_again(owner, given)
    made = cls.__new__(cls)
    owner.__dict__.setdefault("_incomplete", []).append((made, given))
    return made


def writable(abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
    """The types to compile for when the caller's arrays are not changed: whether they are writable does not matter."""
    return tuple(map_abstract(a, _made_writable) for a in abstracts)


def _made_writable(leaf: Abstract) -> Abstract:
    return replace(leaf, writable=True) if isinstance(leaf, Array) else leaf


class Checkpointing(Dispatcher):
    """A function whose calls accept their own ``checkpoint=`` or ``memory=``, unless it has parameters of these
    names."""

    def __init__(self, subject: Subject, chosen: Selection) -> None:
        super().__init__(subject, chosen)
        self._variants: dict[Schedule | None, Dispatcher] = {}

    def _variant(self, subject: Subject) -> Dispatcher:
        """The same for a function with other options."""
        raise NotImplementedError

    def _asked_otherwise(self, kwargs: dict[str, Any]) -> Dispatcher | None:
        names = [n for n in ("checkpoint", "memory") if n in kwargs and n not in self._subject.parameters.names]
        if not names:
            return None
        given = {name: kwargs.pop(name) for name in names}
        schedule = combined(given.get("checkpoint"), given.get("memory"))
        if schedule not in self._variants:
            self._variants.setdefault(schedule, self._variant(self._subject.with_schedule(schedule)))
        return self._variants[schedule]


_DISPATCHERS: weakref.WeakSet[Dispatcher] = weakref.WeakSet()
_dispatchers_lock = forks.Lock()


def _look_again() -> None:
    """Let every function check, at its next call, whether its compiled code is still right for the current rules."""
    with _dispatchers_lock:
        known = list(_DISPATCHERS)
    for dispatcher in known:
        dispatcher._set_target(None)


RULES.listeners.append(_look_again)
