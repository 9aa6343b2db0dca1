"""Specialisations that an earlier process compiled: what to write down of one, and how to make it again.

A record is found by the function's code, the types of the arguments, the options, and what adc, Python and the machine
are. It holds what tracing looked at, and what was seen; what Python calls; and the names of object files in the cache.
It is used if each look sees the same now: so a record is never out of date, and nothing is traced to find that out.
Whatever cannot be written down, or does not lead to the same in another process, is compiled there as if there were
no record.
"""

from __future__ import annotations

import hashlib
import inspect
import io
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from adc import changes
from adc.backend import cache_locks, object_cache
from adc.binding import static_values, table_of
from adc.fingerprints import digest, fingerprint, of_rules
from adc.frontend.abstract import Tuple
from adc.frontend.looks import Look, Looks, look
from adc.frontend.rules.registry import RULES
from adc.frontend.traced import Traced
from adc.makers import makers
from adc.persistent.references import Reader, Writer

if TYPE_CHECKING:
    from adc.compiler import Staged
    from adc.specialise import Specialisation

enabled = True  # the tests of adc itself look at what tracing does, most often
_SLOTS = 4  # records of one function for the same types


class _Stale(Exception):
    """Something is not what it was when the record was written."""


def name_of(kind: tuple[Any, ...], staged: Staged) -> str | None:
    """The name of the record of a function, or of a derivative of one; None if there can be none."""
    if not enabled or object_cache.directory() is None or not staged.subject.target.resident:
        return None
    if changes.are_asked_for():
        return None
    subject = staged.subject
    try:
        return digest((kind, subject.fn, subject.options, staged.abstracts, makers()))
    except Exception:  # of something nothing can be said that holds in another process
        return None


@contextmanager
def alone(name: str | None) -> Iterator[bool]:
    """No other process makes what has this record meanwhile; whether one did, and may have written it."""
    if name is None:
        yield False
        return
    with cache_locks.held(_slot(name, 0), outermost=True) as waited:
        yield waited


# Writing --------------------------------------------------------------------------------------------------------------


def keep(name: str, spec: Specialisation) -> bool:
    """Write the record of a specialisation; whether that could be done."""
    try:
        data = _written(spec)
    except Exception:  # whatever user's objects raise when they are looked at: no call fails for a record
        return False
    own = spec.staged.slot  # what was found, and has become more
    if own is None:
        free = (n for n in range(_SLOTS) if object_cache.find(_slot(name, n)) is None)
        own = next(free, secrets.randbelow(_SLOTS))
    spec.staged.slot = own
    object_cache.keep(_slot(name, own), data)
    return True


def _slot(name: str, n: int) -> str:
    """The name of one of the records of a function: it may have been compiled with several things that it reads."""
    return hashlib.sha256(f"{name} {n}".encode()).hexdigest()


def keep_constants(name: str, spec: Specialisation, paths: tuple[tuple[int, ...], ...]) -> None:
    """Write which arguments have to be known; ``spec`` is of code that knows them."""
    out = io.BytesIO()
    try:
        writer = Writer(out)
        _write_looks(writer, spec)
        writer.dump(paths)
    except Exception:
        return
    object_cache.keep(name, out.getvalue())


def _written(spec: Specialisation) -> bytes:
    out, traced, staged = io.BytesIO(), spec.traced, spec.staged
    writer = Writer(out)
    _write_looks(writer, spec)
    ruled = [function for function in traced.consulted if _may_have_rules(function)]
    writer.dump([(function, of_rules(RULES.of(function))) for function in ruled])
    if RULES.changed(map(id, traced.consulted), traced.version):
        raise _Stale  # by another thread
    writer.know(traced.parameters, ("parameters",))
    writer.know(traced.looks, ("looks",))
    writer.dump(replace(traced, consulted=()))
    writer.know(traced, ("traced",))
    writer.know(table_of(traced), ("table",))
    writer.dump([(loadable, miss) for loadable, miss, _ in staged.loaded])
    for i, (_, _, functions) in enumerate(staged.loaded):
        for j, function in enumerate(functions):
            writer.know(function, ("function", i, j))
    writer.dump(spec)
    return out.getvalue()


def _write_looks(writer: Writer, spec: Specialisation) -> None:
    """What was looked at, from what both processes have before they look anywhere."""
    subject = spec.subject
    writer.know(subject.fn, ("fn",))
    writer.know(spec.staged, ("staged",))
    writer.know(subject, ("subject",))
    for n, value in enumerate(_statics(spec.staged)):
        writer.know(value, ("static", n))
    for n, cls in enumerate(_classes(spec.staged)):
        writer.know(cls, ("class", n))
    looks = list(spec.traced.looks)
    writer.dump(len(looks))
    for k, one in enumerate(looks):
        writer.dump((one.name, one.fetch, fingerprint(one.seen)))
        writer.know(one.seen, ("seen", k))


def _statics(staged: Staged) -> list[Any]:
    """What stands in the types of the arguments itself: functions, strings."""
    return list(static_values(staged.abstracts).values())


def _classes(staged: Staged) -> list[type]:
    """The classes of the containers among the arguments."""
    found: list[type] = []

    def visit(a: Any) -> None:
        if isinstance(a, Tuple):
            found.append(a.form.cls)
            for item in a.items:
                visit(item)

    for a in staged.abstracts:
        visit(a)
    return found


def _may_have_rules(function: object) -> bool:
    """Whether somebody can give rules for it: not for functions that were defined in what was traced."""
    return not type(function).__module__.startswith("adc.frontend.") or RULES.has(function)


# Reading --------------------------------------------------------------------------------------------------------------


def find(name: str, staged: Staged, miss: Callable[..., Any]) -> Specialisation | None:
    """What an earlier process compiled, if all is as it was then; None if there is nothing."""
    for n in range(_SLOTS):
        data = object_cache.find(_slot(name, n))
        if data is None:
            return None
        try:
            spec = _read(Reader(io.BytesIO(data)), staged, miss)
        except Exception:  # something is not what it was, or not where it was
            staged.loaded.clear()
            continue
        staged.slot, staged.recorded = n, spec.found_out
        return spec
    return None


def find_constants(name: str, staged: Staged) -> tuple[tuple[int, ...], ...]:
    """Which arguments an earlier process had to know; none if that is not known, or if something has changed."""
    data = object_cache.find(name)
    if data is None:
        return ()
    reader = Reader(io.BytesIO(data))
    try:
        _read_looks(reader, staged)
        paths: tuple[tuple[int, ...], ...] = reader.load()
    except Exception:
        return ()
    return paths


def _read_looks(reader: Reader, staged: Staged) -> list[Look]:
    subject, known = staged.subject, reader.known
    known[("fn",)], known[("staged",)], known[("subject",)] = subject.fn, staged, subject
    known.update({("static", n): value for n, value in enumerate(_statics(staged))})
    known.update({("class", n): cls for n, cls in enumerate(_classes(staged))})
    return [_seen_again(reader, k) for k in range(reader.load())]


def _read(reader: Reader, staged: Staged, miss: Callable[..., Any]) -> Specialisation:
    subject, known = staged.subject, reader.known
    looks = _read_looks(reader, staged)
    known[("miss",)] = miss
    version = RULES.version  # of now, or an earlier one: then they are looked at again
    rules = reader.load()
    if any(of_rules(RULES.of(function)) != made_of for function, made_of in rules):
        raise _Stale
    known[("parameters",)] = inspect.signature(subject.fn, follow_wrapped=False)
    known[("looks",)] = Looks(looks)
    traced: Traced = replace(
        reader.load(), consulted=tuple(function for function, _ in rules), version=version
    )
    known[("traced",)] = traced
    known[("table",)] = table_of(traced)
    for i, (loadable, missed) in enumerate(reader.load()):
        code = loadable.find()
        if code is None:
            raise _Stale
        functions = loadable.load(code, miss=missed, name=subject.name, doc=subject.fn.__doc__)
        staged.loaded.append((loadable, missed, functions))
        known.update({("function", i, j): function for j, function in enumerate(functions)})
    spec: Specialisation = reader.load()
    if not spec.fits():
        raise _Stale
    return spec


def _seen_again(reader: Reader, k: int) -> Look:
    """A look, if it sees what it saw."""
    name, fetch, seen = reader.load()
    now = look(fetch)
    if fingerprint(now) != seen:
        raise _Stale
    reader.known[("seen", k)] = now
    return Look(name, fetch, now)
