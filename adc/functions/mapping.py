"""``adc.vmap``: turns a function of one item into a function of many items, with one parallel loop over them."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable
from typing import Any

from adc.border.bound import Bound, unbind
from adc.border.boundary import public
from adc.border.options import Options, Selection
from adc.border.pickling import Memo, Recipe
from adc.driver.wrappers import written
from adc.frontend.functions import mapped
from adc.frontend.functions.mapped_arguments import After, Axes
from adc.frontend.libraries.table import LIBRARY
from adc.functions.decorator import JitFunction
from adc.functions.dispatch import Dispatcher
from adc.ir import kinds

_KNOWN = "__adc_vmaps__"  # attribute of a function: its mapped functions, so that each is compiled once


@public
def vmap(fn: Callable[..., Any], in_axes: int | tuple[int | None, ...] | None = 0, out_axes: int = 0) -> Any:
    """Calls ``fn`` for each item along an axis of its arguments, and stacks the results.

    ``in_axes`` is the axis of all arguments, or a tuple with one entry per argument: an int (negative ones count from
    the end), or None for an argument that is the same for all items. In an argument with containers (tuples, lists,
    dicts, dataclasses) each array has the axis, and an item is a new container. All mapped axes must have the same
    length ``n``; otherwise there is a ``ShapeError``. Arguments are positional.

    A number that ``fn`` returns becomes an array of shape ``(n,)``, an array of shape ``s`` an array of shape
    ``(n, *s)`` (all items must have the same ``s``), and containers of these keep their structure. ``out_axes`` is 0;
    other values are refused. If ``n`` is 0 and ``s`` depends on more than shapes, there is a ``ShapeError``.

    The items are one parallel loop, as with ``prange``: it runs on threads, with the same bits for any number of
    threads. An array is passed to ``fn`` as a view, like ``x[i]`` in NumPy: stores into it change the caller's array.
    Stores into an array that is the same for all items are refused. If ``fn`` raises for several items, one of the
    exceptions is raised.

    The result is like a result of ``jit_grad``, which can set options for it: ``jit_grad(threads=4)(vmap(fn))``. It has
    derivatives in all modes, and may be called in compiled code; there ``fn`` may also be a lambda or a local function.
    ``fn`` may itself be made by ``grad``, ``value_and_grad`` or ``vmap``.
    """
    axes = tuple(in_axes) if isinstance(in_axes, tuple | list) else in_axes
    for axis in axes if isinstance(axes, tuple) else (axes,):
        if axis is not None and type(axis) is not int:
            raise kinds.INVALID_OPTION(
                f"in_axes cannot be {in_axes!r}", help="an int, None, or a tuple with one of these for each argument"
            )
    if type(out_axes) is not int or out_axes != 0:
        raise kinds.INVALID_OPTION(
            f"out_axes cannot be {out_axes!r}: the mapped axis comes first in results", help="transpose the result"
        )
    if not callable(fn):
        raise kinds.NOT_A_FUNCTION(f"vmap() takes a function, not {fn!r}", help="wrap it in a function")
    part = unbind(fn)
    if part is not None and not part.keywords:
        return Bound(_mapped(part.func, After(len(part.args), axes)), *part.args)
    return _mapped(fn, axes)


def _mapped(fn: Callable[..., Any], axes: Axes) -> JitFunction[..., Any]:
    """The mapped function of ``fn``, which is made at the first call."""
    memo = getattr(fn, _KNOWN, None)
    if not isinstance(memo, Memo) or memo.of is not fn:
        memo = Memo(fn, {})
        if isinstance(fn, types.FunctionType | Dispatcher):  # other objects have no memo
            setattr(fn, _KNOWN, memo)
    known: dict[Axes, JitFunction[..., Any]] = memo.value
    if axes not in known:
        known[axes] = MappedFunction(fn, axes, Selection(), Options())
    return known[axes]


class MappedFunction(JitFunction[..., Any]):
    """A function that ``vmap`` made, compiled when it is called."""

    def __init__(self, of: Callable[..., Any], axes: Axes, chosen: Selection, options: Options) -> None:
        def loop(*args: Any) -> Any:
            return self(*args)

        wrapper = written("vmap", _parameters(of, axes), loop, ABSENT=mapped.Absent.ABSENT)
        mapped.marked(wrapper, loop, of, axes)
        wrapper.__qualname__ = f"vmap({getattr(of, '__qualname__', of)})"
        wrapper.__doc__ = of.__doc__
        self._of, self._axes = of, axes
        super().__init__(wrapper, chosen, options)

    def _like(self, chosen: Selection, options: Options) -> JitFunction[..., Any]:
        return MappedFunction(self._of, self._axes, chosen, options)

    def _recipe(self) -> Recipe:
        return _complete, (self._of, self._axes, self._chosen, self._subject.options)


def _complete(
    blank: MappedFunction, of: Callable[..., Any], axes: Axes, chosen: Selection, options: Options
) -> JitFunction[..., Any]:
    """Complete a mapped function that another process sent."""
    if (chosen, options) == (Selection(), Options()):
        return _mapped(of, axes)
    blank.__init__(of, axes, chosen, options)  # type: ignore[misc]
    return blank


def _parameters(fn: Callable[..., Any], axes: Axes) -> dict[str, str]:
    """The positional parameters of ``fn``, each with the text after its name: the default, if there is one."""
    try:
        found = list(inspect.signature(fn._subject.fn if isinstance(fn, Dispatcher) else fn).parameters.values())
    except ValueError:  # a C function without a signature
        found = [inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL)]
    positional = [p for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    first, rest = (axes.count, axes.axes) if isinstance(axes, After) else (0, axes)
    if isinstance(rest, tuple):
        count = first + len(rest)
        names = [p.name for p in positional[:count]]
        return dict.fromkeys([*names, *(f"argument_{n}" for n in range(len(names), count))], "")
    listed = {p.name: "" if p.default is p.empty else "=ABSENT" for p in positional}
    return listed | {f"*{p.name}": "" for p in found if p.kind is p.VAR_POSITIONAL}


LIBRARY[vmap] = mapped.rule  # in compiled code
