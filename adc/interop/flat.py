"""Functions whose parameters are numbers and arrays, not containers, and their derivatives as functions of the same
form.

What a framework differentiates is a ``Flat``. Its pullback is again a ``Flat``, of the arguments and the cotangents;
its tangent is one of the arguments and the tangents; and mapping it over a batch gives a ``Flat``, too. So derivatives
of any order and batches can be nested.
"""

from __future__ import annotations

import linecache
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import adc
from adc.border.bound import unbind
from adc.border.options import Options, Selection
from adc.functions.decorator import JitFunction, differentiable
from adc.interop.trees import Tree, flat_tree, flatten, is_number, places, unflatten
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass

Axes = tuple[int | None, ...]


@dataclass(frozen=True)
class Results:
    """The structure of a function's result: the tree, and for each leaf whether it consists of floats."""

    tree: Tree
    floats: tuple[bool, ...]

    @staticmethod
    def all_floats(count: int) -> Results:
        return Results(flat_tree(count), (True,) * count)

    @property
    def differentiable(self) -> list[int]:
        return [k for k, yes in enumerate(self.floats) if yes]


Origin = tuple[str, "Flat", Results, tuple[int, ...]]


class Flat:
    """A function of ``count`` numbers and arrays. ``of``: for a derivative, its kind, its function, and with respect to
    what."""

    def __init__(self, fn: JitFunction[..., Any], count: int, of: Origin | None = None) -> None:
        self.fn = fn
        self.count = count
        self.of = of
        self._made: dict[Any, Flat] = {}

    @staticmethod
    def calling(fn: Any, options: Options, tree: Tree, count: int) -> Flat:
        """``fn``, called with the positional and keyword arguments in a tree whose leaves are the arguments of the
        ``Flat``."""
        names = [f"a{k}" for k in range(count)]
        rest, constants = iter(names), dict[str, Any]()
        (_, _, (positional, keywords)) = tree
        written = [_text(item, rest, constants) for item in positional[2]]
        written += [f"{n}={_text(t, rest, constants)}" for n, t in zip(keywords[2], keywords[3], strict=True)]
        source = f"def call({', '.join(names)}):\n    return adc_function({', '.join(written)})\n"
        return Flat(_compiled(source, "call", {"adc_function": fn, **constants}, options), count)

    def run(self, values: Sequence[Any]) -> tuple[list[Any], Results]:
        """The leaves of the result."""
        return results_of(self.fn(*values), values)

    def pullback(self, values: Sequence[Any]) -> tuple[list[Any], Results, Callable[[Sequence[Any]], Sequence[Any]]]:
        """As ``run``, with a function that maps the cotangents of float results to those of the arguments."""
        result, back = self.fn.pullback(*values)
        leaves, results = results_of(result, values)

        def pulled(cotangents: Sequence[Any]) -> Sequence[Any]:
            given = iter(cotangents)
            seeds = unflatten(results.tree, [next(given) if yes else None for yes in results.floats])
            found: Sequence[Any] = back(seeds)
            return found

        return leaves, results, pulled

    def vjp(self, wrt: tuple[int, ...], results: Results) -> Flat:
        """The function of the arguments, then the cotangents of float results, that returns the cotangents of the
        arguments."""
        return self._derived(("vjp", wrt, results), lambda: self._vjp(wrt, results))

    def jvp(self, wrt: tuple[int, ...], results: Results) -> Flat:
        """The function of the arguments, then the tangents of those in ``wrt``, that returns the tangents of float
        results."""
        return self._derived(("jvp", wrt, results), lambda: self._jvp(wrt, results))

    def mapped(self, axes: Axes) -> Flat:
        """The function mapped over a batch: along the first axis of those arguments for which ``axes`` has 0."""
        return self._derived(("map", axes), lambda: Flat(self._vmap(axes), self.count))

    def _vmap(self, axes: Axes) -> JitFunction[..., Any]:
        made: JitFunction[..., Any] = adc.vmap(self.fn, in_axes=axes)
        return made._like(Selection(), self._options)

    @property
    def _options(self) -> Options:
        return self.fn._subject.options

    def _derived(self, key: Any, make: Callable[[], Flat]) -> Flat:
        if key not in self._made:
            self._made.setdefault(key, make())
        return self._made[key]

    def _floats(self, results: Results) -> JitFunction[..., Any]:
        """The same function, returning only the float leaves of its result, as a tuple."""
        found = list(places(results.tree, "out"))
        wanted = "".join(f"{found[k]}, " for k in results.differentiable)
        args = self._names
        source = f"def floats({args}):\n    out = adc_function({args})\n    return ({wanted})\n"
        return _compiled(source, "floats", {"adc_function": self.fn}, self._options)

    def _vjp(self, wrt: tuple[int, ...], results: Results) -> Flat:
        count = len(results.differentiable)
        weights = [f"w{k}" for k in range(count)]
        total = " + ".join(f"np.sum(w{k} * out[{k}])" for k in range(count))
        source = (
            f"def weighted({', '.join([self._names, *weights])}):\n    out = adc_function({self._names})\n"
            f"    return {total}\n"
        )
        weighted = _compiled(source, "weighted", {"adc_function": self._floats(results), "np": np}, self._options)
        return self._of("vjp", wrt, results, weights, "adc_gradient({})", adc.grad(weighted, argnums=wrt))

    def _jvp(self, wrt: tuple[int, ...], results: Results) -> Flat:
        tangents = [f"t{k}" for k in wrt]
        given = ", ".join(f"t{k}" if k in wrt else "None" for k in range(self.count))
        text = f"adc.jvp(adc_gradient, ({self._names},), ({given},))[1]"
        return self._of("jvp", wrt, results, tangents, text, self._floats(results))

    def _of(self, kind: str, wrt: tuple[int, ...], results: Results, more: list[str], text: str, fn: Any) -> Flat:
        args = ", ".join([self._names, *more])
        source = f"def {kind}({args}):\n    return {text.format(args)}\n"
        made = _compiled(source, kind, {"adc_gradient": fn, "adc": adc}, self._options)
        return Flat(made, self.count + len(more), (kind, self, results, wrt))

    @property
    def _names(self) -> str:
        return ", ".join(f"a{k}" for k in range(self.count))


class Calls:
    """A Python function as ``Flat`` functions, one for each structure of its arguments."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        bound = unbind(fn)
        self._options = differentiable(fn if bound is None else bound.func)._subject.options
        self._known: dict[Tree, Flat] = {}

    def flat(self, tree: Tree, count: int) -> Flat:
        if tree not in self._known:
            self._known.setdefault(tree, Flat.calling(self.fn, self._options, tree, count))
        return self._known[tree]


def results_of(result: Any, values: Sequence[Any]) -> tuple[list[Any], Results]:
    """The leaves of a result; arrays that share memory with an argument are copied."""
    leaves, tree = flatten(result, is_number)
    arrays = [v for v in values if isinstance(v, np.ndarray)]
    for k, leaf in enumerate(leaves):
        if isinstance(leaf, np.ndarray) and any(np.may_share_memory(leaf, other) for other in arrays):
            leaves[k] = leaf.copy()
        if np.iscomplexobj(leaf):
            raise no_complex("returns")
    return leaves, Results(tree, tuple(np.asarray(leaf).dtype.kind == "f" for leaf in leaves))


def no_complex(verb: str) -> Exception:
    return kinds.UNSUPPORTED_ARGUMENT(
        f"the function {verb} complex numbers, which frameworks differentiate by different conventions",
        help="pass and return the real and the imaginary part",
    )


def _compiled(source: str, name: str, namespace: dict[str, Any], options: Options) -> JitFunction[..., Any]:
    """A function made from source text, which adc can read."""
    file = f"<adc.interop {name} {zlib.crc32(source.encode()):08x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    names = {**namespace, "__name__": __name__}
    exec(compile(source, file, "exec"), names)
    return JitFunction(names[name], Selection(), options)


def _text(tree: Tree, names: Any, constants: dict[str, Any]) -> str:
    """Python text that builds the value of a tree of ``names``."""
    kind = tree[0]
    if kind == "leaf":
        return str(next(names))
    if kind == "constant":
        return _constant(tree[1].value, constants)
    items = [_text(item, names, constants) for item in tree[-1]]
    if kind == "sequence" and tree[1] is list:
        return f"[{', '.join(items)}]"
    if kind == "sequence" and tree[1] is tuple:
        return f"({', '.join(items)}{',' * (len(items) == 1)})"
    if kind == "dict":
        return "{" + ", ".join(f"{k!r}: {item}" for k, item in zip(tree[2], items, strict=True)) + "}"
    cls = _constant(tree[1], constants)
    if kind == "record":
        items = [f"{name}={item}" for name, item in zip(tree[2], items, strict=True)]
    return f"{cls}({', '.join(items)})"


def _constant(value: Any, constants: dict[str, Any]) -> str:
    if value is None or isinstance(value, str):
        return repr(value)
    name = f"adc_constant_{len(constants)}"
    constants[name] = value
    return name
