"""Finds the function that the command line names: in a file, decorated or not."""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

from adc.errors import CompileError
from adc.functions.decorator import JitFunction, jit_grad
from adc.ir import kinds
from adc.ir.core import Loc


def load(target: str) -> JitFunction[..., Any]:
    """The function that ``FILE`` or ``FILE:FUNC`` names.

    Without a name the file must have exactly one decorated function, or exactly one function. The file is run as if
    imported; exceptions are reported with their lines.
    """
    found = load_all(target)
    if len(found) != 1:
        raise kinds.NO_SUCH_FUNCTION(f"{target} names {len(found)} functions", help="name one: FILE.py:FUNCTION")
    return found[0]


def load_all(target: str) -> list[JitFunction[..., Any]]:
    """The functions that ``FILE:FUNC,FUNC`` names, or the only function of ``FILE``."""
    path, _, names = target.rpartition(":") if ":" in target else (target, "", "")
    file = Path(path)
    if not file.is_file():
        raise kinds.NO_SUCH_FUNCTION(f"no such file: {path}", help="the form is FILE.py or FILE.py:FUNCTION")
    module = run_file(file)
    if names:
        return [_named(module, path, name.strip()) for name in names.split(",")]
    own = _functions(module)
    decorated = {n: f for n, f in own.items() if isinstance(f, JitFunction)}
    candidates = decorated or own
    if len(candidates) != 1:
        raise kinds.NO_SUCH_FUNCTION(f"which function of {path} is meant?", help=_listing(module))
    return [_decorated(next(iter(candidates.values())))]


def _named(module: types.ModuleType, path: str, name: str) -> JitFunction[..., Any]:
    found = getattr(module, name, None)
    if not isinstance(found, JitFunction | types.FunctionType):
        raise kinds.NO_SUCH_FUNCTION(f"{path} has no function {name!r}", help=_listing(module))
    return _decorated(found)


def _decorated(function: Any) -> JitFunction[..., Any]:
    return function if isinstance(function, JitFunction) else jit_grad(function)


def _functions(module: types.ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, JitFunction | types.FunctionType) and value.__module__ == module.__name__
    }


def _listing(module: types.ModuleType) -> str:
    names = sorted(_functions(module))
    return f"write FILE:FUNCTION; it has {', '.join(names)}" if names else "it defines no function"


def check_folder(output: Path) -> None:
    """Refuse an output file in a folder that does not exist, before anything is compiled."""
    if not output.parent.is_dir():
        raise kinds.INVALID_OPTION(f"there is no folder {output.parent} for {output.name}", help="create it first")


def run_file(file: Path) -> types.ModuleType:
    """Run a file, and return it as a module."""
    name = f"__adc_compile_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    if spec is None or spec.loader is None:
        raise kinds.NO_SUCH_FUNCTION(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        if isinstance(error, CompileError):
            raise
        column = max(0, (error.offset or 1) - 1)
        own = error.filename in (None, str(file.resolve()))
        where = str(file) if own else str(error.filename)
        raise kinds.INVALID_SOURCE(error.msg, Loc(where, error.lineno or 1, column)) from None
    except Exception as error:
        trace = error.__traceback__
        line = 1
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == str(file.resolve()):
                line = trace.tb_lineno
            trace = trace.tb_next
        raise kinds.INVALID_SOURCE(
            f"running the file raised {type(error).__name__}: {error}", Loc(str(file), line)
        ) from None
    finally:
        sys.path.pop(0)
    return module
