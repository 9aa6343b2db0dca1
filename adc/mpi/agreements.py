"""Checks that all ranks call the same distributed function, in the same version, with equal common arguments.

Otherwise messages would be mistaken for others, and results would be wrong. Each part of a call is summarised in a few
bytes, which all ranks compare before they begin.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import itertools
import sys
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from adc.driver.fingerprints import is_of_library
from adc.frontend.syntax import texts
from adc.ir import kinds
from adc.ir.messages import Communicator

BYTES = 16
"""Size of the digest of a part."""

ARGUMENT = "the argument"
_HELP = "all ranks give equal arguments; of what is a Field of the grid (grid.scatter), each has its own block"


def agree(group: Communicator, what: str, parts: Mapping[str, Any]) -> None:
    """Raise on all ranks if one of the named parts of a call is not the same on all ranks. All ranks call this at
    once."""
    if group.size == 1:
        return
    mine = np.frombuffer(b"".join(_told(part) for part in ((what, list(parts)), *parts.values())), np.uint8)
    all = np.empty(group.size * len(mine), np.uint8)
    group.allgather(mine, all)
    rows = all.reshape(group.size, -1, BYTES)
    for name, column in zip((f"what is called (here {what})", *parts), rows.transpose(1, 0, 2), strict=True):
        first, others = 0, [rank for rank, told in enumerate(column) if not np.array_equal(told, column[0])]
        if others:
            raise kinds.RANK_FAILED(
                f"ranks do not do the same: {name} is not the same on rank {others[0]} as on rank {first}",
                help=_HELP if name.startswith(ARGUMENT) else "",
            )


def _told(part: Any) -> bytes:
    return hashlib.blake2b(repr(_facts(part)).encode(), digest_size=BYTES).digest()


def version(fn: Any, inside: tuple[int, ...] = ()) -> object:
    """A summary of a function, and of the functions, numbers, arrays and objects that it refers to, directly or
    indirectly, as globals or captured variables. ``inside``: the objects that are being summarised already."""
    inside = (*inside, id(fn))
    todo: list[Any] = [fn]
    seen: dict[int, Any] = {}
    found: list[object] = []
    while todo:
        fn = todo.pop()
        if id(fn) in seen:
            continue
        seen[id(fn)] = fn
        if isinstance(fn, functools.partial):
            given = [*fn.args, *fn.keywords.values()]
            found.append(_facts((fn.args, fn.keywords), inside))
            todo += [fn.func, *filter(callable, given)]
        elif isinstance(fn, types.MethodType):
            found.append(_facts(fn.__self__, inside))
            todo.append(fn.__func__)
        elif not isinstance(fn, types.FunctionType):
            found.append(_facts_of_object(fn, inside))
            todo += [fn.__wrapped__] if hasattr(fn, "__wrapped__") else []
        elif not is_of_library(fn):
            named = dict(_named(fn))
            defaults = _facts((fn.__defaults__, fn.__kwdefaults__), inside)
            captured = [(k, _facts(v, inside)) for k, v in named.items() if not callable(v)]
            found.append((fn.__qualname__, _facts_of_code(fn.__code__), defaults, captured))
            todo += [v for v in named.values() if callable(v)]
    return np.__version__, sys.version_info[:2], found


_NUMBERS = (bool, int, float, complex, str)


def _named(fn: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """What code reads by name; of a module or an object only the attributes that are read, if they are in its own
    dictionary."""
    cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
    for name, attribute in _read(fn.__code__):
        if name in cells:
            try:
                value = cells[name].cell_contents
            except ValueError:  # has no value yet
                continue
        elif name in fn.__globals__:
            value = fn.__globals__[name]
        else:
            continue
        if attribute in getattr(value, "__dict__", {}) and not isinstance(value, type):
            yield f"{name}.{attribute}", vars(value)[attribute]
        else:
            yield name, value


@functools.lru_cache(1024)
def _read(code: types.CodeType) -> tuple[tuple[str, str], ...]:
    """The globals and captured variables that code reads, each with the attribute that is read from it, or an empty
    text."""
    found: dict[tuple[str, str], None] = {}
    for each in texts.within(code):
        steps = [step for step in dis.get_instructions(each) if step.opname != "EXTENDED_ARG"]
        for step, after in itertools.pairwise(steps):
            if step.opname in ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF"):
                found[step.argval, after.argval if after.opname in ("LOAD_ATTR", "LOAD_METHOD") else ""] = None
    known = {name for name, _ in found}
    found.update(dict.fromkeys((name, "") for name in code.co_freevars if name not in known))
    return tuple(found)


@functools.lru_cache(1024)
def _facts_of_code(code: types.CodeType) -> str:
    return hashlib.sha256(repr(texts.facts(code)).encode()).hexdigest()


def _facts(x: Any, inside: tuple[int, ...] = ()) -> object:
    """A summary that distinguishes a value from others. ``inside``: objects that are being summarised already, which
    may be recursive."""
    if isinstance(x, np.ndarray):
        return x.shape, str(x.dtype), _sum(x) if x.dtype.kind in "biufc" else None
    if x is None or isinstance(x, (*_NUMBERS, bytes, np.generic, np.dtype)):
        return type(x).__name__, repr(x)
    if id(x) in inside:
        return type(x).__name__, inside[::-1].index(id(x))
    inside = (*inside, id(x))
    if isinstance(x, Mapping):
        return type(x).__name__, [(_facts(key, inside), _facts(value, inside)) for key, value in x.items()]
    if isinstance(x, Sequence):
        return type(x).__name__, [_facts(item, inside) for item in x]
    if is_dataclass(x) and not isinstance(x, type):
        return type(x).__name__, [_facts(getattr(x, each.name), inside) for each in fields(x)]
    if isinstance(x, types.FunctionType | types.MethodType | functools.partial) or hasattr(x, "__wrapped__"):
        return version(x, inside[:-1])
    return _facts_of_object(x, inside)


def _facts_of_object(x: Any, inside: tuple[int, ...]) -> object:
    """The type of an object and, if the class is the user's, its attributes."""
    plain = isinstance(x, types.SimpleNamespace) or not is_of_library(type(x))
    attributes = getattr(x, "__dict__", {}) if plain and not isinstance(x, type | types.ModuleType) else {}
    return type(x).__name__, [(name, _facts(value, inside)) for name, value in sorted(attributes.items())]


def _sum(x: Any) -> int:
    """A checksum of the bits of an array; it is formed by rows, so that it depends on positions."""
    bits = np.ascontiguousarray(x).reshape(-1).view(np.uint8)
    whole = len(bits) // 8 * 8
    rest = hashlib.blake2b(bits[whole:].tobytes(), digest_size=8).digest()
    numbers = bits[:whole].view(np.uint64)
    if len(numbers) <= 4096:
        return int.from_bytes(hashlib.blake2b(bits.tobytes(), digest_size=8).digest(), "little")
    rows = np.add.reduceat(numbers, np.arange(0, len(numbers), 1024))
    return int.from_bytes(hashlib.blake2b(rows.tobytes() + rest, digest_size=8).digest(), "little")
