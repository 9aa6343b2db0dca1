"""Calls by the reference interpreter: the same signatures that the native stubs implement, in plain Python.

This is the oracle of the tests (option ``engine="interpreter"``): what a compiled function must agree with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.backend.calls.abi import (
    ArrayParam,
    CallOut,
    Fetched,
    ObjectOut,
    Out,
    Output,
    RecordParam,
    ScalarParam,
    ShadowOut,
    ShadowParam,
    Signature,
    Source,
    StaticOut,
    StaticParam,
    TupleOut,
    Unchanged,
    Unseen,
)
from adc.border.options import Options
from adc.driver.cpu import Cpu
from adc.driver.loadable import Builtin, Loadable
from adc.frontend.abstract import numpy_dtype
from adc.ir.core import Module
from adc.ir.interpret import interpreter
from adc.ir.interpret.memory import dtype_of
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import FloatType, IntType, MemRefType, RecordType, Type, f64, i1


@dataclass(frozen=True)
class Interpreter(Cpu):
    """A target that interprets the code that the CPU would run."""

    resident: bool = False

    def kernels(self, options: Options) -> None:
        """None: programs contain their kernels."""

    def functions(
        self,
        module: Module,
        signatures: Sequence[Signature],
        options: Options,
        *,
        name: str,
        doc: str | None,
        miss: Callable[..., Any],
    ) -> tuple[Loadable | None, list[Builtin]]:
        return None, [interpreted(module, s) for s in signatures]


INTERPRETER = Interpreter()


def interpreted(module: Module, signature: Signature) -> Callable[..., Any]:
    """A function with the arguments of the stub of ``signature``, which runs ``module`` in the interpreter.

    Arguments that do not fit raise a ``TypeError``: the caller must have found the right specialisation.
    """

    def call(*args: Any) -> Any:
        if len(args) != len(signature.arguments):
            raise TypeError(f"{signature.function}: {len(args)} arguments, not {len(signature.arguments)}")
        passed: list[Any] = []
        by_param: dict[int, Any] = {}
        objects: dict[int, Any] = {}
        for position, param in enumerate(signature.params):
            if isinstance(param, ShadowParam):
                like = signature.params[param.of]
                columns = isinstance(like, ArrayParam) and like.layout == "F"
                made = np.zeros_like(by_param[param.of], order="F" if columns else "C", subok=False)
                by_param[position] = made
                passed.append(made.T if columns else made)
                continue
            if isinstance(param, StaticParam | Unchanged):
                continue
            if isinstance(param, Unseen):
                passed.append(np.empty((0,) * param.type.rank, numpy_dtype(param.type.element)))
                continue
            value = objects[position] = _fetch(param.source, args)
            if isinstance(param, ScalarParam):
                value = _scalar(value, param.type)
            elif isinstance(param, ArrayParam):
                _check_array(value, param)
            else:
                assert isinstance(param, RecordParam)
            by_param[position] = value
            passed.append(value.T if isinstance(param, ArrayParam) and param.layout == "F" else value)
        results = interpreter.run(module, signature.function, passed)
        return _output(signature.output, results, signature.results, by_param, objects)

    call.__name__ = signature.function
    return call


def _fetch(source: Source, args: tuple[Any, ...]) -> Any:
    if isinstance(source, Fetched):
        return source.fetch()
    value: Any = args
    for position in source.path:
        value = value[position]
    return value


def _scalar(value: Any, type: Type) -> Any:
    if isinstance(type, FloatType):
        return float(value) if type == f64 else dtype_of(type).type(value)
    return bool(value) if type == i1 else int(value)


def _check_array(value: Any, param: ArrayParam) -> None:
    if not isinstance(value, np.ndarray) or value.dtype != numpy_dtype(param.element) or value.ndim != param.rank:
        raise TypeError(f"needs a {param.rank}-D {numpy_dtype(param.element)} array")


def _output(
    output: Output, results: list[Any], types: tuple[Type, ...], by_param: dict[int, Any], objects: dict[int, Any]
) -> Any:
    if isinstance(output, TupleOut | CallOut):
        items = tuple(_output(item, results, types, by_param, objects) for item in output.items)
        return output.function(*items) if isinstance(output, CallOut) else items
    if isinstance(output, ShadowOut):
        return by_param[output.param]
    if isinstance(output, ObjectOut):
        return objects[output.param]
    if isinstance(output, StaticOut):
        return output.value
    assert isinstance(output, Out)
    value, type = results[output.position], types[output.position]
    if isinstance(type, MemRefType | RecordType):
        return value
    if output.strong and isinstance(type, FloatType | IntType):
        return numpy_dtype(type).type(value)
    return value
