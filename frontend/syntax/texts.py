"""The text that a function was compiled from: of a file, a notebook's cell, ``python -c``, standard input."""

from __future__ import annotations
import __future__

import ast
import linecache
import os
import stat
import sys
import textwrap
import time
import types
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

_FUTURE = 0
for _name in __future__.all_feature_names:
    _FUTURE |= getattr(__future__, _name).compiler_flag

# Files that are older cannot have changed since they were imported. Times of files may be rounded down.
_STARTED = time.time() - 2.0


class NoSource(Exception):
    """The source of a function is not available, and why; ``help`` is the way out."""

    def __init__(self, reason: str, help: str = "") -> None:
        super().__init__(reason)
        self.help = help


def text_of(code: types.CodeType, module_globals: dict[str, object]) -> tuple[tuple[str, ...], types.CodeType]:
    """The lines of the file that ``code`` was compiled from, and the corresponding code object of the present file.
    Raises ``NoSource``."""
    name = code.co_filename
    # A function sent by another package has no file name any more.
    every = (lines for known in _came.values() for lines in known)
    for came in every if name in _NAMELESS else _came.get(name, ()):
        if (found := _made_from("".join(came), code)) is not None:
            return came, found
    linecache.checkcache(name)
    lines = tuple(linecache.getlines(name, module_globals))
    if lines and name not in _NAMELESS:
        if not _may_have_changed(name):
            return lines, code
        if (found := _made_from("".join(lines), code, _pytest_config(module_globals))) is not None:
            return lines, found
        raise NoSource(
            f"its file {name} was changed after import", "import the module again (importlib.reload, or a new process)"
        )
    for text in ("".join(lines), *_program(), *_files_of(module_globals)):
        if text and (found := _made_from(text, code)) is not None:
            return tuple(text.splitlines(keepends=True)), found
    if name in _came:
        return _came[name][-1], code
    raise NoSource(*_reason(name))


_TAKE_ALONG = "run where the file is; what adc.jit_grad decorates takes its text along when it is pickled"


_NAMELESS = ("<string>", "<stdin>", "<dynamic-code>")


def _reason(name: str) -> tuple[str, str]:
    if name == "<stdin>":
        return (
            "Python keeps no text of what it read from standard input",
            "save the program as a file and run that; or use python -c, IPython, or the prompt of Python 3.13",
        )
    if name.startswith("<"):
        return (
            f"it was made from text that Python does not keep ({name})",
            "write the function in a file; or enter the text that was compiled into linecache.cache",
        )
    return f"its source file {name} cannot be read", _TAKE_ALONG


def _files_of(module_globals: dict[str, object]) -> Iterator[str]:
    """The texts of the file that a function's globals belong to (functions that were sent by value keep these), and of
    the program."""
    main = sys.modules.get("__main__")
    for name in (module_globals.get("__file__"), getattr(main, "__file__", None)):
        if isinstance(name, str):
            yield "".join(linecache.getlines(name))


def _may_have_changed(name: str) -> bool:
    try:
        return os.stat(name).st_mtime > _STARTED
    except OSError:
        return False


@lru_cache(maxsize=1)
def _program() -> tuple[str, ...]:
    """The text of the program itself, if it is not a file: the argument of ``-c``, or a file as standard input."""
    found = []
    given = sys.orig_argv
    for k, argument in enumerate(given[1:-1], 1):
        if argument.startswith("-") and not argument.startswith("--") and argument.endswith("c"):
            found += [given[k + 1], textwrap.dedent(given[k + 1])]
            break
    try:
        facts = os.fstat(0)
        if stat.S_ISREG(facts.st_mode):
            found.append(os.pread(0, facts.st_size, 0).decode(errors="replace"))
    except OSError:
        pass
    return tuple(found)


def _pytest_config(module_globals: dict[str, object]) -> tuple[object] | None:
    """The configuration of pytest, if it has rewritten the assertions in a module."""
    return (getattr(module_globals.get("__loader__"), "config", None),) if "@pytest_ar" in module_globals else None


def _made_from(text: str, code: types.CodeType, pytest_config: tuple[object] | None = None) -> types.CodeType | None:
    """The code object in a text that is ``code``: at the same place, or else with the same instructions. IPython's
    autoreload compiles functions without the lines before them."""
    every = _compiled(text, code.co_flags & _FUTURE, pytest_config)
    if code in every:
        return code
    wanted = facts(code)
    return next((made for made in every if made.co_name == code.co_name and facts(made) == wanted), None)


def facts(code: types.CodeType) -> tuple[object, ...]:
    """The features that distinguish the code of one function from that of another, wherever it is."""
    constants = [facts(c) if isinstance(c, types.CodeType) else _constant(c) for c in code.co_consts]
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, constants, names, code.co_argcount, code.co_kwonlyargcount, code.co_flags


def _constant(value: object) -> str:
    return str(sorted(map(repr, value))) if isinstance(value, frozenset) else repr(value)


@lru_cache(maxsize=16)
def _compiled(text: str, flags: int, pytest_config: tuple[object] | None) -> tuple[types.CodeType, ...]:
    """All code objects of a text; none if it has an error."""
    tree = None
    try:
        if pytest_config is not None:
            tree = ast.parse(text)
            sys.modules["_pytest.assertion.rewrite"].rewrite_asserts(tree, text.encode(), "<text>", *pytest_config)
        whole = compile(text if tree is None else tree, "<text>", "exec", flags=flags, dont_inherit=True)
    except (SyntaxError, ValueError):
        return ()
    return tuple(within(whole))


def within(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code object and those of functions, classes and comprehensions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from within(constant)


_VERSIONS = 16  # of one file, at most
# Texts that came with functions from other processes, by the names of their files.
_came: dict[str, list[tuple[str, ...]]] = {}


def texts_of(objects: Iterable[object]) -> dict[str, tuple[str, ...]]:
    """The lines of the files of functions among objects, for another process; as far as they are available."""
    found: dict[str, tuple[str, ...]] = {}
    for function in objects:
        if not isinstance(function, types.FunctionType) or function.__code__.co_filename in found:
            continue
        try:
            found[function.__code__.co_filename], _ = text_of(function.__code__, function.__globals__)
        except NoSource:
            continue
    return found


def enter(given: Mapping[str, tuple[str, ...]]) -> None:
    """Store the result of ``texts_of`` in another process."""
    for name, lines in given.items():
        known = _came.setdefault(name, [])
        if lines not in known:
            known.append(lines)
            del known[:-_VERSIONS]
