"""Specialisations that an earlier process compiled: how they are recorded, and how they are restored.

A record is found by the function's code, the types of the arguments, the options, and the versions of adc, Python and
the machine. It contains what tracing looked at, and what it saw; the objects that Python calls; and the names of object
files in the cache. It is used only if each look sees the same now. So a record is never out of date, and nothing is
traced to find out. What cannot be recorded, or is not the same in another process, is compiled as if there were no
record.
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

from adc.backend import cache_locks, object_cache
from adc.border.binding import static_values, table_of
from adc.driver import changes
from adc.driver.fingerprints import digest, fingerprint, of_rules
from adc.driver.makers import makers
from adc.frontend.abstract import Tuple
from adc.frontend.looks import Look, Looks, look
from adc.frontend.rules.registry import RULES
from adc.frontend.traced import Traced
from adc.ir import raising
from adc.persistent.references import Reader, Writer

if TYPE_CHECKING:
    from adc.driver.compiler import Staged
    from adc.driver.specialise import Specialisation

enabled = True  # most tests of adc need real tracing, and switch this off
_SLOTS = 4  # records of one function for the same types


class _Stale(Exception):
    """Something has changed since the record was written."""


def name_of(kind: tuple[Any, ...], staged: Staged) -> str | None:
    """The name of the record of a function, or of one of its derivatives; None if it cannot be recorded."""
    if not enabled or object_cache.directory() is None or not staged.subject.target.resident:
        return None
    if changes.are_asked_for():
        return None
    subject = staged.subject
    try:
        return digest((kind, subject.fn, subject.options, staged.abstracts, makers()))
    except Exception:  # something cannot be identified in another process
        return None


@contextmanager
def alone(name: str | None) -> Iterator[bool]:
    """A context in which no other process compiles what this record is for; yields whether one did so before, and may
    have written the record."""
    if name is None:
        yield False
        return
    with cache_locks.held(_slot(name, 0), outermost=True) as waited:
        yield waited


# Writing --------------------------------------------------------------------------------------------------------------


def keep(name: str, spec: Specialisation) -> bool:
    """Write the record of a specialisation; returns whether that was possible."""
    try:
        data = _written(spec)
    except Exception:  # users' objects may raise anything; a call must not fail because of a record
        return False
    own = spec.staged.slot  # an existing record that is extended
    if own is None:
        free = (n for n in range(_SLOTS) if object_cache.find(_slot(name, n)) is None)
        own = next(free, secrets.randbelow(_SLOTS))
    spec.staged.slot = own
    object_cache.keep(_slot(name, own), data)
    return True


def _slot(name: str, n: int) -> str:
    """The name of one of several records of a function, which may have been compiled with different values of what it
    reads."""
    return hashlib.sha256(f"{name} {n}".encode()).hexdigest()


def keep_constants(name: str, spec: Specialisation, paths: tuple[tuple[int, ...], ...]) -> None:
    """Record which arguments must be constants; ``spec`` is a specialisation with these constants."""
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
        raise _Stale  # rules were changed by another thread
    writer.know(traced.parameters, ("parameters",))
    writer.know(traced.looks, ("looks",))
    writer.dump(replace(traced, consulted=()))
    writer.know(traced, ("traced",))
    writer.know(table_of(traced), ("table",))
    writer.dump([(loadable, miss) for loadable, miss, _ in staged.loaded])
    for i, (_, _, functions) in enumerate(staged.loaded):
        for j, function in enumerate(functions):
            writer.know(function, ("function", i, j))
    writer.dump([(name, raising.class_of(name)) for name in _raised(staged)])
    writer.dump(spec)
    return out.getvalue()


def _write_looks(writer: Writer, spec: Specialisation) -> None:
    """Write the looks, as references that start from objects which both processes have."""
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
    """Static arguments, whose values are part of the types: functions, strings."""
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


def _raised(staged: Staged) -> set[str]:
    """The names of the exceptions' classes that the code raises, and that are not built in."""
    sites = (site for loadable, _, _ in staged.loaded for site in loadable.sites)
    return {site.error for site in sites if "." in site.error}


def _may_have_rules(function: object) -> bool:
    """Whether there can be rules for a function: not for local functions of traced code."""
    return not type(function).__module__.startswith("adc.frontend.") or RULES.has(function)


# Reading --------------------------------------------------------------------------------------------------------------


def find(name: str, staged: Staged, miss: Callable[..., Any]) -> Specialisation | None:
    """The specialisation that an earlier process compiled, if everything is as it was then; else None."""
    for n in range(_SLOTS):
        data = object_cache.find(_slot(name, n))
        if data is None:
            return None
        try:
            spec = _read(Reader(io.BytesIO(data)), staged, miss)
        except Exception:  # something has changed or moved
            staged.loaded.clear()
            continue
        staged.slot, staged.recorded = n, spec.found_out
        return spec
    return None


def find_constants(name: str, staged: Staged) -> tuple[tuple[int, ...], ...]:
    """The arguments that were constants in an earlier process; empty if there is no record, or if something has
    changed."""
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
    version = RULES.version  # read before the rules: if they change meanwhile, they are checked again
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
        code = loadable.objects.find()
        if code is None:
            raise _Stale
        functions = loadable.load(code, miss=missed, name=subject.name, doc=subject.fn.__doc__)
        staged.loaded.append((loadable, missed, functions))
        known.update({("function", i, j): function for j, function in enumerate(functions)})
    if not all(raising.give_name(name, cls) for name, cls in reader.load()):
        raise _Stale
    spec: Specialisation = reader.load()
    if not spec.fits():
        raise _Stale
    return spec


def _seen_again(reader: Reader, k: int) -> Look:
    """A look from a record, if it sees the same as before."""
    name, fetch, seen = reader.load()
    now = look(fetch)
    if fingerprint(now) != seen:
        raise _Stale
    reader.known[("seen", k)] = now
    return Look(name, fetch, now)
