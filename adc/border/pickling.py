"""Pickling of users' objects: compiled functions, their derivatives, maps, C functions.

Objects that are found by name in a module are sent as that name. Others, such as lambdas or functions defined in a
notebook or a script, are sent by value: the Python function (by ``cloudpickle``), its source text, its rules and its
options. A process that receives the same object again and again makes it only once, and so compiles it only once:
objects are identified by a digest of what was sent.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import inspect
import io
import pickle
import sys
import threading
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

from adc.frontend.rules.registry import RULES, Rule
from adc.frontend.syntax import texts
from adc.ir import forks, kinds

_KEPT = 128  # number of objects, most recently sent or received, that are remembered
_known: OrderedDict[bytes, Any] = OrderedDict()
_lock = forks.Lock()
Recipe = tuple[Callable[..., Any], tuple[Any, ...]]  # a function of a module, and what to call it with


class _Work(threading.local):
    """The stacks of objects that are being sent, or made, in this thread; each is part of the one before."""

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.made: list[Any] = []
        self.outermost = sys.maxsize  # the outermost of the objects being sent that is referred to


_work = _Work()


class Memo:
    """Something that adc stores in an attribute of a function. It is not sent with the function."""

    __slots__ = ("of", "value")

    def __init__(self, of: object = None, value: Any = None) -> None:
        self.of = of  # decorators copy attributes, so the memo may belong to another function
        self.value = value

    def __reduce__(self) -> Any:
        return Memo, ()


# Sending --------------------------------------------------------------------------------------------------------------


def reduced(obj: Any, recipe: Callable[[], Recipe]) -> tuple[Any, ...]:
    """For ``__reduce__``: send an object by name, or by a recipe that makes an equal object, usually from a function.

    Objects may refer to each other in cycles: a recursive function to itself, through a global variable. An object that
    is already being sent is referred to by its position; the receiver first makes ``cls.__new__(cls)``, to which these
    references can point.
    """
    named = by_name(obj)
    if named is not None:
        return named
    for position, other in enumerate(_work.sent):
        if other is obj:
            _work.outermost = min(_work.outermost, position)
            return _unfinished, (position,)
    make, (first, *others) = recipe()
    place = _place(obj, None) or (_place(first, (make, others)) if isinstance(first, types.FunctionType) else None)
    around, _work.outermost = _work.outermost, sys.maxsize
    _work.sent.append(obj)
    try:
        parcel = _packed((make, (first, *others)), obj)
    except Exception:
        if place is None:
            raise
        parcel = b""  # only for processes that have the module
    finally:
        _work.sent.pop()
        closed = _work.outermost >= len(_work.sent)
        _work.outermost = around if closed else min(around, _work.outermost)
    if closed:  # its contents do not depend on the objects that it is sent with
        _remember(_digest(parcel, place), obj)
    return _arrived, (parcel, type(obj), closed, place)


class Place(NamedTuple):
    """The module and name under which the sender has an object, or the Python function from which ``recipe`` makes it.
    A receiver that has the same there, for instance because it runs the same script, uses its own. ``code`` tells
    whether it is the same: a digest of the code of the function and of all options."""

    module: str
    name: str
    code: str
    recipe: tuple[Callable[..., Any], list[Any]] | None


def _place(obj: Any, recipe: tuple[Callable[..., Any], list[Any]] | None) -> Place | None:
    named = _own_name(obj)
    return None if named is None else Place(*named, _fingerprint(obj), recipe)


def _there(place: Place) -> Any:
    """The object of this process at the place, if it is the same; else None."""
    try:
        found = _named(place.module, place.name)
    except (ImportError, AttributeError):
        return None
    return found if _fingerprint(found) == place.code else None


_MADE_OF: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


def made_of(cls: type, parts: Callable[[Any], tuple[Any, ...]]) -> None:
    """Identify the objects of a class by their parts: functions, options, numbers and texts."""
    _MADE_OF[cls] = parts


def parts_of(obj: Any) -> tuple[Any, ...] | None:
    """The parts of an object, if its class was registered by ``made_of``."""
    parts = next((_MADE_OF[cls] for cls in type(obj).__mro__ if cls in _MADE_OF), None)
    return None if parts is None else parts(obj)


def _fingerprint(obj: Any) -> str:
    """A digest that identifies a function: its code, and how it is compiled."""
    return hashlib.sha256(repr(_facts(obj)).encode()).hexdigest()


def _facts(obj: Any) -> object:
    kind = type(obj)
    if isinstance(obj, types.FunctionType):
        inner = obj.__dict__.get("__wrapped__")
        return "function", texts.facts(obj.__code__), None if inner is None else _facts(inner)
    if (parts := parts_of(obj)) is not None:
        return kind.__qualname__, [_facts(part) for part in parts]
    if dataclasses.is_dataclass(obj) and not isinstance(obj, type):
        return kind.__qualname__, [(f.name, _facts(getattr(obj, f.name))) for f in dataclasses.fields(obj)]
    return [_facts(item) for item in obj] if kind is tuple else repr(obj)


def by_name(obj: Any) -> tuple[Any, ...] | None:
    """How to send an object by its name in a module; None if it has no such name, or must be sent by value."""
    named = _own_name(obj)
    return None if named is None or _is_by_value(named[0]) else (_named, named)


def _own_name(obj: Any) -> tuple[str, str] | None:
    """The module and the name under which an object is found; None if it is not."""
    module, name = getattr(obj, "__module__", None), getattr(obj, "__qualname__", None)
    if module not in sys.modules or not isinstance(name, str) or "<" in name:
        return None
    try:
        return (module, name) if _named(module, name) is obj else None
    except (ImportError, AttributeError):
        return None


def _named(module: str, name: str) -> Any:
    """The object of a module under a name; for a static or class method, its function."""
    found: Any = sys.modules.get(module) or importlib.import_module(module)
    *owners, last = name.split(".")
    for owner in owners:
        found = getattr(found, owner)
    found = inspect.getattr_static(found, last)
    return found.__func__ if isinstance(found, staticmethod | classmethod) else found


def _is_by_value(module: str) -> bool:
    """Whether other processes may lack the objects of a module: a script, a notebook, or one that the user registered
    for this."""
    cloudpickle = _cloudpickle()
    return cloudpickle is not None and (module == "__main__" or module in cloudpickle.list_registry_pickle_by_value())


def _cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError:
        return None
    return cloudpickle


def _packed(recipe: Recipe, obj: Any) -> bytes:
    """The pickled recipe; then lists of rules, ended by an empty one; then the source texts of functions."""
    out, functions = io.BytesIO(), [obj]
    pickler, rules = _pickler(out, functions), list[Rule]()
    try:
        pickler.dump(recipe)
        while new := [rule for rule in _rules_of(functions) if not any(rule is known for known in rules)]:
            rules += new
            pickler.dump(new)
        pickler.dump([])
        pickler.dump(texts.texts_of(functions))
    except Exception as error:
        if _cloudpickle() is not None:
            raise
        raise kinds.NOT_SENDABLE(
            f"{obj!r} is not found in a module under its name, and cannot be sent by value without the package "
            f"cloudpickle ({error})",
            help="install cloudpickle, or the extra: pip install 'adc-compiler[pickle]'; or define it at the top of a "
            "module under its own name",
        ) from None
    return out.getvalue()


def _pickler(out: io.BytesIO, functions: list[Any]) -> pickle.Pickler:
    """A pickler to ``out`` that notes the functions which it sends by value."""
    cloudpickle = _cloudpickle()
    if cloudpickle is None:
        return pickle.Pickler(out, pickle.HIGHEST_PROTOCOL)

    class Pickler(cloudpickle.Pickler):  # type: ignore[name-defined,misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, types.CodeType) and obj.co_filename != _NO_FILE:  # which cloudpickle forgets
                return _in_file, (obj.replace(co_filename=_NO_FILE), obj.co_filename)
            made = super().reducer_override(obj)
            if isinstance(obj, types.FunctionType) and made is not NotImplemented:
                functions.append(obj)
            return made

    made: pickle.Pickler = Pickler(out, protocol=pickle.HIGHEST_PROTOCOL)
    return made


_NO_FILE = "<no file>"


def _in_file(code: types.CodeType, name: str) -> types.CodeType:
    return code.replace(co_filename=name)


def _rules_of(functions: list[Any]) -> list[Rule]:
    """The rules of functions that are sent by value, and all rules that the other process may lack."""
    own = [rule for function in functions for rule in RULES.of(function)]
    return own + [rule for rule in RULES.all() if _is_by_value(_home(rule)) and by_name(rule.function) is not None]


def _home(rule: Rule) -> str:
    """The module that a rule was written in."""
    given = [rule.implementation, *rule.partials]
    return next((str(f.__module__) for f in given if isinstance(f, types.FunctionType)), "")


# Receiving ------------------------------------------------------------------------------------------------------------


def _arrived(parcel: bytes, cls: Any, closed: bool, place: Place | None) -> Any:
    """The received object: one already made from the same parcel, the one at the same place, or a new one."""
    with _lock:
        digest = _digest(parcel, place)
        if closed and digest in _known:
            _known.move_to_end(digest)
            return _known[digest]
        there = None if place is None else _there(place)
        if there is not None and place is not None and place.recipe is None:
            return there
        made = cls.__new__(cls)
        if there is not None and place is not None and place.recipe is not None:
            make, others = place.recipe
            made = make(made, there, *others)
        elif not parcel and place is not None:
            raise kinds.NOT_SENDABLE(
                f"{place.name} was sent by its name in {place.module}, which does not have it, or has another function "
                "of that name",
                help="send it to a process that runs the same program; or make what it refers to something to pickle",
            )
        else:
            made = _unpacked(parcel, made)
        if closed:
            _remember(digest, made)
        return made


def _unpacked(parcel: bytes, blank: Any) -> Any:
    _work.made.append(blank)
    try:
        unpickler = pickle.Unpickler(io.BytesIO(parcel))
        make, args = unpickler.load()
        rules: list[Rule] = []
        while new := unpickler.load():
            rules += new
        texts.enter(unpickler.load())
        made = make(blank, *args)
        _enter(rules)
        return made
    finally:
        _work.made.pop()


def _unfinished(position: int) -> Any:
    return _work.made[position]


def _enter(rules: list[Rule]) -> None:
    for rule in rules:
        if not any(_is_same(rule, known) for known in RULES.of(rule.function)):
            RULES.add(rule)


def _is_same(one: Rule, other: Rule) -> bool:
    """Whether a received rule is the one that exists. Functions that were sent twice are different objects."""
    places = [(r.kind, r.types, r.rest, r.name, r.file, r.line) for r in (one, other)]
    codes = [getattr(r.implementation, "__code__", r.implementation) for r in (one, other)]
    return places[0] == places[1] and codes[0] == codes[1]


def _digest(parcel: bytes, place: Place | None) -> bytes:
    return hashlib.sha256(parcel or repr(place).encode()).digest()


def _remember(digest: bytes, obj: Any) -> None:
    with _lock:
        _known[digest] = obj
        _known.move_to_end(digest)
        while len(_known) > _KEPT:
            _known.popitem(last=False)
