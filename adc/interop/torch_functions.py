"""Functions of adc in PyTorch: ``torch.autograd`` and ``torch.func`` differentiate and batch them by compiled code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adc.border.boundary import public
from adc.interop.flat import Calls, Flat, Results, no_complex
from adc.interop.packages import package
from adc.interop.trees import flatten, is_number, unflatten
from adc.ir import kinds


@public
def to_torch(fn: Callable[..., Any]) -> Callable[..., Any]:
    """``fn`` as a function of PyTorch tensors, which ``torch.autograd`` differentiates with adc's compiled code.

    Tensors among the arguments, also in containers, are passed to ``fn`` as NumPy arrays that share their memory, and
    tensors without dimensions as numbers. The results of ``fn``, numbers and arrays in any containers, become tensors.
    ``fn`` may be a Python function or one of adc's, and must not change its arguments.

    Derivatives of any order work (``backward``, ``create_graph=True``, ``torch.func.grad``, ``jvp``, ``jacrev``,
    ``hessian``), and ``torch.vmap`` runs the batch in one parallel loop. Tensors must be on the CPU.
    """
    package("torch", "to_torch")
    calls = Calls(fn)

    @functools.wraps(fn, updated=())
    def call(*args: Any, **kwargs: Any) -> Any:
        torch = package("torch", "to_torch")
        leaves, tree = flatten((args, kwargs), lambda v: isinstance(v, torch.Tensor) or is_number(v))
        for leaf in leaves:
            if isinstance(leaf, torch.Tensor):
                _check(leaf)
        traced = torch.is_grad_enabled() and any(getattr(leaf, "requires_grad", False) for leaf in leaves)
        run = _Run(calls.flat(tree, len(leaves)), wanted=traced)
        outputs = _function_class().apply(run, *leaves)
        assert run.results is not None
        return unflatten(run.results.tree, outputs)

    return call


def _check(tensor: Any) -> None:
    if tensor.device.type != "cpu":
        raise kinds.UNSUPPORTED_ARRAY(
            f"the tensor is on {tensor.device}; adc computes on the CPU", help="pass tensor.cpu()"
        )
    if tensor.is_complex():
        raise no_complex("is given")


class _Run:
    """One call: its function; after it has run, the structure of its result, and its pullback.

    ``pending``: the reverse sweep that belongs to a forward sweep already run, where ``flat`` computes the cotangents
    of ``wrt``; it is used instead of ``flat`` if there is no batch.
    """

    def __init__(self, flat: Flat, *, wanted: bool = False, pending: Any = None) -> None:
        self.flat = flat
        self.wanted = wanted
        self.pending = pending
        self.results: Results | None = None
        self.back: Any = None

    def __call__(self, leaves: Sequence[Any]) -> list[Any]:
        values = [_to_numpy(leaf) for leaf in leaves]
        if self.pending is not None:
            assert self.flat.of is not None
            _, of, _, wrt = self.flat.of
            cotangents = self.pending(values[of.count :])
            self.results = Results.all_floats(len(wrt))
            return [cotangents[k] for k in wrt]
        if self.wanted:
            found, self.results, self.back = self.flat.pullback(values)
        else:
            found, self.results = self.flat.run(values)
        return found


def _to_numpy(leaf: Any) -> Any:
    """A leaf as compiled code takes it. Its memory must not be written to."""
    if not hasattr(leaf, "detach"):
        return leaf
    array = leaf.detach().numpy()
    if array.ndim == 0:
        return array[()] if array.dtype != np.float64 else float(array)
    if 0 in array.strides:  # expanded tensors, such as cotangents of sums
        array = np.ascontiguousarray(array)
    view = array.view()
    view.flags.writeable = False
    return view


@functools.cache
def _function_class() -> Any:
    torch = package("torch", "to_torch")

    class AdcFunction(torch.autograd.Function):  # type: ignore[misc, name-defined]
        @staticmethod
        def forward(run: _Run, *leaves: Any) -> Any:
            return tuple(torch.as_tensor(np.asarray(leaf)) for leaf in run(leaves))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.run, *leaves = inputs
            ctx.places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]
            ctx.rest = [None if k in ctx.places else leaf for k, leaf in enumerate(leaves)]
            tensors = [leaves[k] for k in ctx.places]
            ctx.save_for_backward(*tensors)
            ctx.save_for_forward(*tensors)
            ctx.mark_non_differentiable(*(t for t in output if not t.is_floating_point()))

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            run, leaves = ctx.run, _saved(ctx)
            wrt = tuple(k for k in ctx.places if ctx.needs_input_grad[1 + k])
            given = [cotangents[k] for k in run.results.differentiable]
            reverse = _Run(run.flat.vjp(wrt, run.results), pending=run.back)
            found = dict(zip(wrt, AdcFunction.apply(reverse, *leaves, *given), strict=True))
            return (None, *(found.get(k) for k in range(len(leaves))))

        @staticmethod
        def jvp(ctx: Any, _: Any, *tangents: Any) -> Any:
            run, leaves = ctx.run, _saved(ctx)
            wrt = tuple(k for k, t in enumerate(tangents) if t is not None)
            forward = _Run(run.flat.jvp(wrt, run.results))
            found = iter(AdcFunction.apply(forward, *leaves, *(tangents[k] for k in wrt)))
            return tuple(next(found) if yes else None for yes in run.results.floats)

        @staticmethod
        def vmap(info: Any, in_dims: Any, run: _Run, *leaves: Any) -> Any:
            dims = in_dims[1:]
            moved = [x if d is None else x.movedim(d, 0) for x, d in zip(leaves, dims, strict=True)]
            axes = tuple(None if d is None else 0 for d in dims)
            batch = _Run(run.flat.mapped(axes), wanted=run.wanted)
            outputs = AdcFunction.apply(batch, *moved)
            run.results = batch.results
            return outputs, (0,) * len(outputs)

    return AdcFunction


def _saved(ctx: Any) -> list[Any]:
    leaves = list(ctx.rest)
    for k, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
        leaves[k] = tensor
    return leaves
