"""Functions of an MLIR file, which are compiled and differentiated like those of a Python file."""

from __future__ import annotations

import keyword
import types
from pathlib import Path

from adc.backend.mlir.reading import read_module
from adc.driver.compiler import part_of
from adc.driver.subject import Subject
from adc.frontend.abstract import Abstract, Array, Scalar
from adc.frontend.looks import Looks
from adc.frontend.traced import Leaf, Result, ResultLeaf, ResultStatic, ResultTuple, Traced
from adc.functions.decorator import jit_grad
from adc.ir import kinds, ops
from adc.ir.core import Func, Module
from adc.ir.types import MemRefType, Type, i64, index
from adc.ir.verifier import VerificationError, verify
from adc.passes.analysis.effects import Memory, Summaries


def load_mlir(target: str) -> list[tuple[Subject, tuple[Abstract, ...]]]:
    """The functions that ``FILE:FUNC,FUNC`` names, or the only public one of ``FILE``, and the types of their
    arguments."""
    path, _, names = target.rpartition(":") if ":" in target else (target, "", "")
    if not Path(path).is_file():
        raise kinds.NO_SUCH_FUNCTION(f"no such file: {path}", help="the form is FILE.mlir or FILE.mlir:FUNCTION")
    module = read_module(Path(path))
    try:
        verify(module)
    except VerificationError as error:
        help = "mlir-opt FILE verifies it, too"
        raise kinds.INVALID_SOURCE(f"{path}: {error}", help=help) from None
    public = [name for name, func in module.funcs.items() if func.attrs.get("adc.entry")]
    wanted = [name.strip() for name in names.split(",")] if names else public
    if len(wanted) != 1 and not names:
        raise kinds.NO_SUCH_FUNCTION(
            f"which function of {path} is meant?", help=f"write FILE:FUNCTION; it has {', '.join(public) or 'none'}"
        )
    for name in wanted:
        if name not in public:
            raise kinds.NO_SUCH_FUNCTION(f"{path} has no function {name!r}", help=f"it has {', '.join(public)}")
    return [subject_of(module, name) for name in wanted]


def _refuse_overlaps(module: Module) -> None:
    """Refuse calls in which an argument overlaps another one that the callee writes to: functions are compiled for
    arguments without such overlaps."""
    summaries = Summaries.asked(module)
    for func in module.funcs.values():
        memory = Memory(func, summaries)
        for op in func.walk():
            summary = summaries.of(op.attrs["callee"]) if op.opdef is ops.call else None
            arrays = [k for k, v in enumerate(op.operands) if isinstance(v.type, MemRefType)] if summary else []
            reach = {k: memory.reach(op.operands[k]) for k in arrays}
            for k in arrays:
                written = summary is not None and k in summary.writes
                if written and any(j != k and not reach[j].isdisjoint(reach[k]) for j in arrays):
                    raise kinds.OVERLAPPING_ARGUMENTS(
                        f"{op.attrs['callee']} writes to an argument that another one overlaps here", op.loc
                    )


def subject_of(module: Module, entry: str) -> tuple[Subject, tuple[Abstract, ...]]:
    """The subject of compilation for a function of a module, and the types of its arguments."""
    module = part_of(module, [entry])
    _refuse_overlaps(module)
    func = module.funcs[entry]
    names: list[str] = []
    for k, arg in enumerate(func.args):
        usable = arg.hint.isidentifier() and not keyword.iskeyword(arg.hint) and arg.hint not in names
        names.append(arg.hint if usable else f"arg{k}")
        func.arg_attrs[k]["adc.name"] = names[k]
    abstracts = tuple(_abstract(func, arg.type) for arg in func.args)
    written = frozenset(summary.writes) if (summary := Summaries.asked(module).of(entry)) is not None else frozenset()
    for k, arg in enumerate(func.args):
        if isinstance(arg.type, MemRefType) and k not in written:
            func.arg_attrs[k]["adc.readonly"] = True
    fn = _stub(entry, names)
    subject = jit_grad(fn)._subject
    subject.read = lambda: Traced(
        part_of(module, [entry]),
        entry,
        tuple(Leaf((name,), abstract, "argument") for name, abstract in zip(names, abstracts, strict=True)),
        _result(func),
        written,
        Looks(),
        subject.parameters.signature,
        stored=written,
    )
    return subject, abstracts


def _abstract(func: Func, t: Type) -> Abstract:
    if not isinstance(t, MemRefType):
        return Scalar(i64 if t == index else t)
    if isinstance(t.element, MemRefType) or any(extent is not None for extent in t.shape):
        raise kinds.UNSUPPORTED_VALUE(
            f"{func.name} takes a {t}: arrays that functions take have extents that are known at run time",
            func.loc,
            help="write memref<?xf64>",
        )
    inner = t.strides is not None and t.strides[-1:] == (1,)
    return Array(t.element, t.rank, "C" if t.strides is None else "inner" if inner else "any")


def _result(func: Func) -> Result:
    leaves = [ResultLeaf(k, _abstract(func, t)) for k, t in enumerate(func.result_types)]
    if not leaves:
        return ResultStatic(None)
    return leaves[0] if len(leaves) == 1 else ResultTuple(tuple(leaves))


def _stub(name: str, parameters: list[str]) -> types.FunctionType:
    """A Python function with this name and these parameters, as a stand-in for the function in the file."""
    scope: dict[str, types.FunctionType] = {}
    plain = name if name.isidentifier() and not keyword.iskeyword(name) else "function"
    exec(f"def {plain}({', '.join(parameters)}): raise NotImplementedError", scope)
    return scope[plain]
