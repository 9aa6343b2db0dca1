"""Functions of adc in JAX: under ``jit``, ``vmap``, ``grad``, ``jvp`` and their combinations, to any order.

Such a function is a JAX primitive that runs compiled code in a callback. Its tangent and its transpose are the same
primitive, applied to adc's derivatives. So both modes work, whereas ``custom_vjp`` and ``custom_jvp`` allow only one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.border.boundary import public
from adc.interop.flat import Calls, Flat, Results, no_complex
from adc.interop.packages import package
from adc.interop.result_shapes import Aval, shapes_of
from adc.interop.trees import flatten, is_number, unflatten
from adc.ir import kinds


@public
def to_jax(fn: Callable[..., Any], *, result: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """``fn`` as a function of JAX arrays, which JAX differentiates and batches with adc's compiled code.

    Arrays among the arguments, also in containers, are passed to ``fn`` as NumPy arrays, and those without dimensions
    as numbers. The results of ``fn``, numbers and arrays in any containers, become JAX arrays. ``fn`` may be a Python
    function or one of adc's, and must not change its arguments. dtypes are JAX's: without ``jax_enable_x64`` all floats
    have 32 bits.

    The function works under ``jit``, ``vmap`` (the batch is one parallel loop), ``grad``, ``vjp``, ``jvp``, ``jacfwd``,
    ``jacrev``, ``hessian``, and combinations of these. JAX needs the shapes of results before they are computed. If
    they do not follow from those of the arguments, ``result``, called with the arguments, must return them:
    ``jax.ShapeDtypeStruct`` objects in the containers of the result of ``fn``.
    """
    package("jax", "to_jax")
    calls = Calls(fn)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        jax = package("jax", "to_jax")
        leaves, tree = flatten((args, kwargs), lambda v: isinstance(v, jax.Array) or is_number(v))
        operands = [jax.numpy.asarray(leaf) for leaf in leaves]
        if any(jax.numpy.iscomplexobj(x) for x in operands):
            raise no_complex("is given")
        flat = calls.flat(tree, len(leaves))
        results, avals = _told(flat, leaves, operands) if result is None else _said(result(*args, **kwargs))
        outputs = _bind(flat, results, avals, operands)
        return unflatten(results.tree, outputs)

    return call


def _told(flat: Flat, leaves: Sequence[Any], operands: Sequence[Any]) -> tuple[Results, list[Aval]]:
    tracer = package("jax", "to_jax").core.Tracer
    known = [not isinstance(leaf, tracer) for leaf in leaves]
    samples = [
        _number(np.asarray(leaf, x.dtype)) if yes and not x.shape else _like(x)
        for leaf, x, yes in zip(leaves, operands, known, strict=True)
    ]
    return shapes_of(flat, samples, known)


def _said(given: Any) -> tuple[Results, list[Aval]]:
    found, tree = flatten(given, lambda v: hasattr(v, "shape") and hasattr(v, "dtype"))
    avals = [(tuple(map(int, x.shape)), np.dtype(x.dtype)) for x in found]
    return Results(tree, tuple(dtype.kind == "f" for _, dtype in avals)), avals


def _like(operand: Any) -> Any:
    """An array of the same type and shape; its memory is not accessed."""
    sample = np.empty(operand.shape, operand.dtype) if operand.shape else np.ones((), operand.dtype)
    return _read_only(sample) if operand.shape else _number(sample)


def _read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view


def _number(array: Any) -> Any:
    """An array without dimensions becomes a number, as compiled code takes it."""
    if array.dtype.kind in "iu":
        return int(array)
    return array[()] if array.dtype == np.float32 else array.item()


def _host(flat: Flat, avals: Sequence[Aval], operands: Sequence[Any]) -> tuple[Any, ...]:
    """Run compiled code. JAX's arrays are never written to."""
    arrays = [np.asarray(x) for x in operands]
    found, _ = flat.run([_read_only(a) if a.shape else _number(a) for a in arrays])
    outputs = tuple(np.asarray(x, dtype) for x, (_, dtype) in zip(found, avals, strict=True))
    for output, (shape, _) in zip(outputs, avals, strict=True):
        if output.shape != shape:
            raise kinds.SHAPE_MISMATCH(f"a result has shape {output.shape}, where JAX was told {shape}")
    return outputs


def _bind(flat: Flat, results: Results, avals: Sequence[Aval], operands: Sequence[Any]) -> list[Any]:
    canonical = package("jax", "to_jax").dtypes.canonicalize_dtype
    told = tuple((shape, np.dtype(canonical(dtype))) for shape, dtype in avals)
    found: list[Any] = _primitive().bind(*operands, flat=flat, results=results, avals=told)
    return found


@functools.cache
def _primitive() -> Any:
    jax = package("jax", "to_jax")
    core = package("jax.extend.core", "to_jax")
    ad, batching, mlir = (package(f"jax.interpreters.{name}", "to_jax") for name in ("ad", "batching", "mlir"))
    primitive = core.Primitive("adc_call")
    primitive.multiple_results = True

    def structs(avals: Sequence[Aval]) -> list[Any]:
        return [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in avals]

    def run(*operands: Any, flat: Flat, results: Results, avals: Sequence[Aval]) -> list[Any]:
        return [jax.numpy.asarray(x) for x in _host(flat, avals, operands)]

    def staged(*operands: Any, flat: Flat, results: Results, avals: Sequence[Aval]) -> list[Any]:
        return list(jax.pure_callback(lambda *xs: _host(flat, avals, xs), tuple(structs(avals)), *operands))

    def abstract(*operands: Any, flat: Flat, results: Results, avals: Sequence[Aval]) -> list[Any]:
        return [jax.core.ShapedArray(shape, dtype) for shape, dtype in avals]

    def tangent(primals: Any, tangents: Any, *, flat: Flat, results: Results, avals: Sequence[Aval]) -> Any:
        outputs = _bind(flat, results, avals, primals)
        kinds_of = [dtype if yes else jax.dtypes.float0 for yes, (_, dtype) in zip(results.floats, avals, strict=True)]
        zeros = [ad.Zero(jax.core.ShapedArray(x.shape, dtype)) for x, dtype in zip(outputs, kinds_of, strict=True)]
        wrt = tuple(k for k, t in enumerate(tangents) if not isinstance(t, ad.Zero))
        places = results.differentiable
        if not (wrt and places):
            return outputs, zeros
        told = [avals[k] for k in places]
        given = [*primals, *(tangents[k] for k in wrt)]
        found = iter(_bind(flat.jvp(wrt, results), Results.all_floats(len(places)), told, given))
        return outputs, [next(found) if yes else zero for yes, zero in zip(results.floats, zeros, strict=True)]

    def transpose(cotangents: Any, *operands: Any, flat: Flat, results: Results, avals: Sequence[Aval]) -> Any:
        linear = tuple(k for k, x in enumerate(operands) if ad.is_undefined_primal(x))
        told = [(tuple(operands[k].aval.shape), operands[k].aval.dtype) for k in linear]
        given = [ad.instantiate_zeros(c) for c in cotangents]
        reverse, primals = _transposed(flat, results, linear, operands, jax.numpy.zeros)
        found = iter(_bind(reverse, Results.all_floats(len(linear)), told, [*primals, *given]))
        return [next(found) if k in linear else None for k in range(len(operands))]

    def batched(operands: Any, dims: Any, *, flat: Flat, results: Results, avals: Sequence[Aval]) -> Any:
        size = next(x.shape[d] for x, d in zip(operands, dims, strict=True) if d is not None)
        moved = [x if d is None else jax.numpy.moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True)]
        mapped = flat.mapped(tuple(None if d is None else 0 for d in dims))
        told = [((size, *shape), dtype) for shape, dtype in avals]
        return _bind(mapped, results, told, moved), [0] * len(avals)

    primitive.def_impl(run)
    primitive.def_abstract_eval(abstract)
    ad.primitive_jvps[primitive] = tangent
    ad.primitive_transposes[primitive] = transpose
    batching.primitive_batchers[primitive] = batched
    mlir.register_lowering(primitive, mlir.lower_fun(staged, multiple_results=True))
    return primitive


def _transposed(
    flat: Flat, results: Results, linear: tuple[int, ...], operands: Sequence[Any], zeros: Any
) -> tuple[Flat, list[Any]]:
    """The transpose of a function with respect to arguments in which it is linear: the function, and its first
    arguments."""
    if flat.of is not None:
        kind, of, its_results, wrt = flat.of
        if linear == tuple(range(of.count, flat.count)):  # all tangents or cotangents
            primals = list(operands[: of.count])
            return (of.vjp if kind == "jvp" else of.jvp)(wrt, its_results), primals
    filled = [zeros(x.aval.shape, x.aval.dtype) if k in linear else x for k, x in enumerate(operands)]
    return flat.vjp(linear, results), filled
