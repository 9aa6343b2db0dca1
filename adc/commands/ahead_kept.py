"""A cache of the output of ``adc compile``, for the next time that the same is requested.

The functions are traced anew each time: so the output is never out of date, whatever files and variables they depend
on. Everything after tracing, object code and headers, depends only on the traced functions and the options, and is
found by a digest of these.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from pathlib import Path

from adc.backend import object_cache
from adc.commands.units import Output, Unit
from adc.driver import changes
from adc.driver.compiler import Staged
from adc.driver.fingerprints import UnknownThing, digest, of_rules
from adc.driver.makers import makers
from adc.frontend.rules.registry import RULES
from adc.frontend.traced import Traced
from adc.ir.core import UNKNOWN, Module
from adc.ir.text.printer import print_module
from adc.persistent import records


def name_of(units: Sequence[Unit], staged: Sequence[Staged], options: Sequence[object]) -> str | None:
    """The name of the cache entry; None if the output is not cached. ``options``: plain values that affect the whole
    output."""
    if not records.enabled or object_cache.directory() is None or changes.are_asked_for():
        return None
    try:
        functions = tuple(_function(unit, each, each.traced()) for unit, each in zip(units, staged, strict=True))
    except (UnknownThing, OSError):
        return None
    return digest(("ahead", functions, repr(options), makers(), os.getcwd()))


def _function(unit: Unit, staged: Staged, traced: Traced) -> tuple[object, ...]:
    texts = tuple(Path(file).read_bytes() for file in _files(traced.module))
    rules = tuple(map(repr, (of_rules(RULES.of(function)) for function in traced.consulted)))
    mapped = repr((traced.entry, traced.leaves, traced.result, sorted(traced.mutated), sorted(traced.stored)))
    more = repr((traced.never, traced.changed, traced.aux, str(traced.parameters), unit.chosen, unit.c_name))
    who = repr((unit.subject.name, staged.subject.options, staged.abstracts))
    return print_module(traced.module, locs=True), mapped, more, who, rules, texts


def _files(module: Module) -> list[str]:
    """The source files of the module; errors and headers quote lines of them."""
    funcs = module.funcs.values()
    locs = {*(func.loc for func in funcs), *(op.loc for func in funcs for op in func.walk())}
    return sorted({loc.file for loc in locs if loc != UNKNOWN and not loc.file.startswith("<")})


def find(name: str | None, done: Output, folder: Path) -> bool:
    """Write the files that were cached under this name, and describe them in ``done``; returns whether there were
    any."""
    data = None if name is None else object_cache.find(name)
    if data is None:
        return False
    contents, done.functions, done.libraries, done.remarks = pickle.loads(data)
    for file, content in contents:
        (folder / file).write_bytes(content)
        done.files.append(folder / file)
    return True


def keep(name: str | None, done: Output) -> None:
    if name is not None:
        contents = [(path.name, path.read_bytes()) for path in done.files]
        object_cache.keep(name, pickle.dumps((contents, done.functions, done.libraries, done.remarks)))
