"""adc can be imported without anything that only Linux has, and says so where it cannot run code."""

from __future__ import annotations

import subprocess
import sys
import textwrap

# Packages that adc needs are imported first: they were built for the system that this really is.
_PRETEND = """
import builtins, ctypes, importlib, os, pkgutil, platform, sys
import asyncio, concurrent.futures, ctypes.util, multiprocessing.connection
import shutil, subprocess, sysconfig, tempfile, zipfile
import llvmlite.binding, numpy, rich.console, rich.syntax, rich.table
sysconfig.get_config_vars()
SYSTEM, NAME = {system!r}
sys.platform, platform.system = SYSTEM, lambda: NAME
missing = ["sched_getaffinity", "posix_fallocate", "memfd_create", "eventfd"]
if SYSTEM == "win32":
    missing += ["register_at_fork", "fork", "getuid", "geteuid", "killpg", "O_NOFOLLOW", "O_DIRECTORY", "O_NONBLOCK"]
for name in missing:
    if hasattr(os, name):
        delattr(os, name)
absent = {{"fcntl", "resource", "pwd", "grp", "termios"}} if SYSTEM == "win32" else set()
really = builtins.__import__
def imported(name, *args, **kwargs):
    if name in absent:
        raise ModuleNotFoundError(name)
    return really(name, *args, **kwargs)
for name in absent:
    sys.modules.pop(name, None)
builtins.__import__ = imported
def no_library(*args, **kwargs):
    raise OSError("no such library")
ctypes.CDLL = no_library
"""
_ALL = """
import adc
RUN = "adc.__main__", "adc.backend.ahead.wheel_runtime"  # scripts
for module in pkgutil.walk_packages(adc.__path__, "adc."):
    if module.name not in RUN:
        importlib.import_module(module.name)
print(len([name for name in sys.modules if name.startswith("adc.")]))
"""
_LAYERS = """
import adc, adc.cli, adc.errors, adc.ir.text.parser, adc.ir.interpret.interpreter, adc.passes.pipelines, adc.frontend
for name in ("target", "cache_locks", "object_cache", "granted", "lowering.lower", "ahead.header"):
    importlib.import_module(f"adc.backend.{name}")
try:
    adc.jit_grad
except ImportError as error:
    print(error)
"""


def run(system: tuple[str, str], code: str) -> subprocess.CompletedProcess[str]:
    program = textwrap.dedent(_PRETEND).format(system=system) + code
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


def test_every_module_is_imported_on_macos() -> None:
    done = run(("darwin", "Darwin"), _ALL)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) > 300


def test_windows_is_told_so() -> None:
    done = run(("win32", "Windows"), _LAYERS)
    assert done.returncode == 0, done.stderr
    assert "adc runs code on Linux and macOS, not on Windows (on Windows, use WSL)" in done.stdout
