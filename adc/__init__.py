"""adc, a differentiation compiler for Python: exact native gradients of loops, in-place updates and time stepping.

    from adc import jit_grad

    @jit_grad
    def f(x, n):
        for i in range(n):
            x = x * x
        return x

    f(3.0, 2), f.grad(3.0, 2)        # 81.0, 108.0

Names are loaded when they are first used, so that a layer below (``adc.ir``) can be imported by itself.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from adc import began as began  # before any other module of adc is read

if TYPE_CHECKING:
    from adc import errors, interop
    from adc.api.externs import extern
    from adc.api.implicit import fixed_point, root
    from adc.api.modes import hessian, jacobian, sparse_hessian, sparse_jacobian
    from adc.api.rules import clear_new_rule_hooks, frule, no_rule, on_new_rule, refresh_rules, rrule, scalar_rule
    from adc.border.checkpoints import checkpoint, every, revolve, steps
    from adc.checks.checking import check_grads, test_rule
    from adc.checks.finding import find_culprit
    from adc.errors import AdcError
    from adc.frontend import prange, stop_gradient
    from adc.functions.along import hvp, jvp
    from adc.functions.decorator import JitFunction, grad, jit_grad, pullback, value_and_grad, vjp
    from adc.functions.mapping import vmap
    from adc.functions.pullbacks import Pullback
    from adc.mpi.distributed import Distributed, distribute
    from adc.mpi.fields import Field, Grid
    from adc.shots.summing import sum_shots
    from adc.watch.watching import progress

__all__ = [
    "AdcError",
    "Distributed",
    "Field",
    "Grid",
    "JitFunction",
    "Pullback",
    "check_grads",
    "checkpoint",
    "clear_new_rule_hooks",
    "distribute",
    "errors",
    "every",
    "extern",
    "find_culprit",
    "fixed_point",
    "frule",
    "grad",
    "hessian",
    "hvp",
    "interop",
    "jacobian",
    "jit_grad",
    "jvp",
    "no_rule",
    "on_new_rule",
    "prange",
    "progress",
    "pullback",
    "refresh_rules",
    "revolve",
    "root",
    "rrule",
    "scalar_rule",
    "sparse_hessian",
    "sparse_jacobian",
    "steps",
    "stop_gradient",
    "sum_shots",
    "test_rule",
    "value_and_grad",
    "vjp",
    "vmap",
]

_HOMES = {
    "AdcError": "adc.errors",
    "Distributed": "adc.mpi.distributed",
    "Field": "adc.mpi.fields",
    "Grid": "adc.mpi.fields",
    "JitFunction": "adc.functions.decorator",
    "Pullback": "adc.functions.pullbacks",
    "check_grads": "adc.checks.checking",
    "checkpoint": "adc.border.checkpoints",
    "clear_new_rule_hooks": "adc.api.rules",
    "distribute": "adc.mpi.distributed",
    "every": "adc.border.checkpoints",
    "find_culprit": "adc.checks.finding",
    "extern": "adc.api.externs",
    "fixed_point": "adc.api.implicit",
    "frule": "adc.api.rules",
    "grad": "adc.functions.decorator",
    "hessian": "adc.api.modes",
    "hvp": "adc.functions.along",
    "jacobian": "adc.api.modes",
    "jit_grad": "adc.functions.decorator",
    "jvp": "adc.functions.along",
    "no_rule": "adc.api.rules",
    "on_new_rule": "adc.api.rules",
    "prange": "adc.frontend",
    "progress": "adc.watch.watching",
    "pullback": "adc.functions.decorator",
    "refresh_rules": "adc.api.rules",
    "revolve": "adc.border.checkpoints",
    "root": "adc.api.implicit",
    "rrule": "adc.api.rules",
    "scalar_rule": "adc.api.rules",
    "sparse_hessian": "adc.api.modes",
    "sparse_jacobian": "adc.api.modes",
    "steps": "adc.border.checkpoints",
    "stop_gradient": "adc.frontend",
    "sum_shots": "adc.shots.summing",
    "test_rule": "adc.checks.checking",
    "value_and_grad": "adc.functions.decorator",
    "vjp": "adc.functions.decorator",
    "vmap": "adc.functions.mapping",
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


def __getattr__(name: str) -> Any:
    if name in ("errors", "interop"):
        return importlib.import_module(f"adc.{name}")
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module 'adc' has no attribute {name!r}{_instead(name)}", name=name)
    from adc.driver.collector import paused

    with paused():  # loading modules makes many objects, all in use
        value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def _instead(name: str) -> str:
    """A suggestion for a name that adc does not have; the names listed first are those of other tools."""
    import difflib

    if name in ("jit", "njit", "compile", "function"):
        return ": adc.jit_grad compiles every function, also one of which you need no gradient"
    known = {"jacfwd": "jacobian", "jacrev": "jacobian", "custom_vjp": "rrule", "custom_jvp": "frule"}
    known |= dict.fromkeys(("gradient", "derivative", "autograd"), "grad")
    close = [known[name]] if name in known else difflib.get_close_matches(name, __all__, 1, 0.7)
    return f": did you mean 'adc.{close[0]}'?" if close else ""


def _version() -> str:
    """The version of the installed distribution; for a checkout that is not installed, the one in its
    pyproject.toml."""
    from importlib import metadata

    try:
        return metadata.version("adc-compiler")
    except metadata.PackageNotFoundError:
        import tomllib
        from pathlib import Path

        with (Path(__file__).resolve().parents[1] / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
