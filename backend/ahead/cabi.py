"""The C interface of ahead-of-time output: the functions, their parameters and results, and all names.

For a Python function ``heat`` an object file has ``heat`` and, on request, ``heat_grad``, ``heat_jvp`` for forward
mode, and ``heat_aug``, ``heat_rev`` and ``heat_free`` for the pullback. All return a status. Arguments are flat: an
array is a pointer, its extents, and, if its layout is not C-contiguous, its strides in elements. Results come last,
through pointers.
"""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from adc.backend.ahead.c_names import identifier
from adc.ir import kinds
from adc.ir.core import Func, Module
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import FloatType, IntType, MemRefType, RecordType, Type, f16, i1, index

# in: read; inout: read and written; gradient: overwritten with a gradient; cotangent: read, and replaced.
Role = Literal["in", "inout", "gradient", "cotangent"]  # a tangent has the role of its argument
Kind = Literal["call", "forward", "reverse"]


@dataclass(frozen=True)
class CParam:
    """An argument of the compiled function. ``like``: the parameter that has the same extents as this array.
    ``copied``: the wrapper passes a copy, so that the caller's array is not written."""

    name: str
    type: Type
    role: Role = "in"
    like: int | None = None
    meaning: str = ""
    copied: bool = False


@dataclass(frozen=True)
class CResult:
    """A result of the compiled function. It is stored through a pointer, which may be null."""

    name: str
    type: Type
    meaning: str


@dataclass(frozen=True)
class CFunction:
    """One function of the interface. ``function`` names it in the IR. ``kind`` says what happens to its context.
    ``inside``: the context is in memory of the caller, which the first two arguments give. ``overload``: its name in
    C++, where functions with different parameters may share a name."""

    name: str
    function: str
    kind: Kind
    summary: str
    params: tuple[CParam, ...]
    results: tuple[CResult, ...]
    inside: bool = False
    overload: str = ""

    @property
    def workspace(self) -> tuple[str, str]:
        """The names of the two parameters: the memory and its size."""
        taken = [*(p.name for p in self.params), *(r.name for r in self.results)]
        names = (f"workspace{k or ''}" for k in itertools.count())
        name = next(n for n in names if not any(t == n or t.startswith(f"{n}_") for t in taken))
        return name, f"{name}_bytes"

    def disjoint(self) -> list[tuple[int, int]]:
        """The pairs of array parameters that must not overlap: at least one of the two is written."""
        arrays = [k for k, p in enumerate(self.params) if isinstance(p.type, MemRefType)]
        written = {k for k in arrays if self.params[k].role != "in" or self.params[k].copied}
        return [(a, b) for n, b in enumerate(arrays) for a in arrays[:n] if a in written or b in written]


class Names:
    """Hands out unique C identifiers; for an array, those of its extents and strides are reserved with its name."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, wanted: str, type: Type) -> str:
        base = identifier(wanted)
        name, count = base, 1
        while not self._taken.isdisjoint(found := _with_dimensions(name, type)):
            count += 1
            name = f"{base}_{count}"
        self._taken.update(found)
        return name


def _with_dimensions(name: str, type: Type) -> list[str]:
    if not isinstance(type, MemRefType):
        return [name]
    of_each = [f"{name}_{what}{d}" for d in range(type.rank) for what in ("shape", "stride")]
    return [name, f"{name}_shape", *of_each]


def primal(module: Module, function: str, name: str) -> CFunction:
    """The function itself."""
    func, names = module.funcs[function], Names()
    params = [
        CParam(names(_name(func, k), arg.type), arg.type, _role(func, k))
        for k, arg in enumerate(func.args)
    ]
    results = _results(names, func.result_types)
    return CFunction(name, function, "call", f"Computes {name}.", tuple(params), tuple(results))


def gradient(
    module: Module,
    function: str,
    name: str,
    arguments: Sequence[str],
    wrt: Sequence[int],
    values: int = 0,
    stored: Container[int] = (),
) -> CFunction:
    """The joint gradient. It takes arguments and shadows; its results are ``values`` results of the primal, then scalar
    cotangents.

    ``arguments`` are the names of the primal's arguments, ``wrt`` the positions of those with respect to which it is
    differentiated, ``stored`` the positions of those that the primal writes to.
    """
    func, names = module.funcs[function], Names()
    params: list[CParam] = []
    for k, arg in enumerate(func.args):
        attrs = func.arg_attrs[k]
        if "adc.shadow" in attrs:
            of = int(attrs["adc.shadow"])
            params.append(CParam(names(f"{arguments[of]}_grad", arg.type), arg.type, "gradient", of))
        else:
            params.append(CParam(names(arguments[k], arg.type), arg.type, copied=k in stored))
    results = _results(names, func.result_types[:values])
    scalars = [arguments[k] for k in wrt if not isinstance(func.args[k].type, MemRefType)]
    for t, argument in zip(func.result_types[values:], scalars, strict=True):
        results.append(CResult(names(f"{argument}_grad", t), t, f"the derivative with respect to {argument}"))
    summary = "Computes the gradient; the arrays that it is taken of keep their contents."
    return CFunction(name, function, "call", summary, tuple(params), tuple(results))


def tangent(
    module: Module, function: str, name: str, arguments: Sequence[str], of: Sequence[int], results: Sequence[int]
) -> CFunction:
    """Forward mode. It takes the arguments and the tangents of those at ``of``; it returns the results and the tangents
    of those at ``results``."""
    func, names = module.funcs[function], Names()
    params = []
    for k, argument in enumerate(arguments):
        t = func.args[k].type
        params.append(CParam(names(argument, t), t, _role(func, k)))
    for n, k in enumerate(of, len(arguments)):
        t = func.args[n].type
        like = k if isinstance(t, MemRefType) else None
        meaning = f"the tangent of {arguments[k]}"
        params.append(CParam(names(f"{arguments[k]}_dot", t), t, _role(func, k), like, meaning))
    count = len(func.result_types) - len(results)
    found = _results(names, func.result_types[:count])
    for t, k in zip(func.result_types[count:], results, strict=True):
        found.append(CResult(names(f"{found[k].name}_dot", t), t, f"the tangent of {found[k].name}"))
    summary = (
        f"Computes what {name.removesuffix('_jvp')} does, and its derivative along tangents of the arguments. "
        "The tangents of arrays that are changed change with them."
    )
    return CFunction(name, function, "call", summary, tuple(params), tuple(found))


def workspace(module: Module, function: str, of: CFunction, arguments: Sequence[str]) -> CFunction:
    """How many bytes a call of ``of`` needs, given its scalars and the extents of its arrays. ``arguments`` are the
    names of the primal's arguments."""
    func, names = module.funcs[function], Names()
    params: list[CParam] = []
    rest = iter(func.args)
    for param in of.params[: len(arguments)]:
        if isinstance(param.type, MemRefType):
            for d in range(param.type.rank):
                meaning = f"an extent of {param.name}"
                params.append(CParam(names(f"{param.name}_shape{d}", index), next(rest).type, meaning=meaning))
        else:
            params.append(CParam(names(param.name, param.type), next(rest).type))
    summary = f"Says how many bytes a call of {of.name} takes at most, the arrays of the gradient included."
    results = (CResult(names("bytes", index), func.result_types[0], "the number of bytes"),)
    return CFunction(f"{of.name}_workspace_bytes", function, "call", summary, tuple(params), results)


def in_workspace(function: CFunction) -> CFunction:
    """The same function with a workspace: memory that the caller provides."""
    summary = (
        f"{function.summary} Temporary memory is taken from a workspace of the caller, of any contents, as far as "
        f"there is room, else from the system. What {function.name}_workspace_bytes says is in use at a time; a "
        f"quarter and 4096 bytes more leave room for how it lies. One call uses the workspace at a time."
    )
    return replace(function, name=f"{function.name}_in", summary=summary, inside=True)


def _role(func: Func, position: int) -> Role:
    return "in" if func.arg_attrs[position].get("adc.readonly") else "inout"


def forward(module: Module, function: str, name: str, arguments: Sequence[str], shadows: Sequence[int]) -> CFunction:
    """The forward sweep of a pullback. It takes the arguments and shadows of those at ``shadows``; it returns the
    results and perhaps a record."""
    func, names = module.funcs[function], Names()
    params = []
    for k, argument in enumerate(arguments):
        t = func.args[k].type
        params.append(CParam(names(argument, t), t, _role(func, k)))
    for k, arg in zip(shadows, func.args[len(arguments) :], strict=True):
        params.append(CParam(names(f"{arguments[k]}_bar", arg.type), arg.type, "cotangent", k))
    results = _results(names, [t for t in func.result_types if not isinstance(t, RecordType)])
    if len(results) < len(func.result_types):
        results.append(CResult("record", func.result_types[-1], ""))
    summary = (
        f"Computes what {name.removesuffix('_aug')} does and keeps what the reverse sweep needs. "
        "The arrays of cotangents are only remembered."
    )
    return CFunction(name, function, "forward", summary, tuple(params), tuple(results))


def reverse(
    module: Module,
    function: str,
    name: str,
    arguments: Sequence[str],
    kept: Sequence[int],
    shadows: Sequence[int],
    results: Mapping[int, str],
    out: Sequence[int],
) -> CFunction:
    """The reverse sweep. It takes the arguments ``kept``, shadows, cotangents of ``results`` (names by position), and
    the record.

    Its results are the cotangents of the arguments ``out``.
    """
    func, names = module.funcs[function], Names()
    types = iter(arg.type for arg in func.args)
    params = [CParam(names(arguments[k], t), t) for k, t in zip(kept, types, strict=False)]
    for k, t in zip(shadows, types, strict=False):
        like = list(kept).index(k) if k in kept else None
        params.append(CParam(names(f"{arguments[k]}_bar", t), t, "cotangent", like))
    for result, t in zip(results.values(), types, strict=False):
        params.append(CParam(names(f"{result}_bar", t), t, meaning=f"the cotangent of {result}"))
    params += [CParam("record", t) for t in types]
    outs = [
        CResult(names(f"{arguments[k]}_bar", t), t, f"the cotangent of {arguments[k]}")
        for k, t in zip(out, func.result_types, strict=True)
    ]
    summary = (
        f"Pulls cotangents back through a call of {name.removesuffix('_rev')}_aug, "
        "given its arguments as that left them."
    )
    return CFunction(name, function, "reverse", summary, tuple(params), tuple(outs))


def argument_names(func: Func) -> list[str]:
    """The names of a function's arguments in C."""
    names = Names()
    return [names(_name(func, k), arg.type) for k, arg in enumerate(func.args)]


def result_names(types: Sequence[Type]) -> list[str]:
    """The names of a function's results in C."""
    return [result.name for result in _results(Names(), types)]


def _name(func: Func, position: int) -> str:
    return str(func.arg_attrs[position].get("adc.name") or func.args[position].hint or f"arg{position}")


def _results(names: Names, types: Iterable[Type]) -> list[CResult]:
    types = list(types)
    if len(types) == 1:
        return [CResult(names("result", types[0]), types[0], "the result")]
    return [CResult(names(f"result{k}", t), t, f"result {k}") for k, t in enumerate(types)]


def c_type(t: Type) -> str:
    """The C type of a scalar or of an array's element."""
    if isinstance(t, FloatType):
        return {16: "_Float16", 32: "float", 64: "double"}[t.width]
    if t == i1:
        return "bool"
    if isinstance(t, IntType):
        return f"{'u' if t.unsigned else ''}int{t.width}_t"
    return "int64_t"


def portable_type(t: Type, language: str) -> str:
    """As ``c_type``, for a language that has no half precision."""
    if t == f16:
        raise kinds.INVALID_OPTION(f"{language} has no float16", help="take float32: x.astype(np.float16)")
    return c_type(t)


def dynamic_strides(t: MemRefType) -> list[int]:
    """The dimensions whose strides the caller passes."""
    return [] if t.strides is None else [d for d, stride in enumerate(t.strides) if stride is None]
