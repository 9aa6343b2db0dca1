"""Jacobians: all partial derivatives of a function, by forward mode along unit directions or by reverse mode.

Forward mode takes one run for each number that is differentiated by, reverse mode one reverse sweep for each number
that is returned. The shapes decide, unless the caller does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from adc import binding, containers
from adc.alignment import Borrowed
from adc.boundary import leaving
from adc.compiler import Staged, Subject
from adc.complexes import holds_complex, imaginary, is_pairs
from adc.containers import lower
from adc.directions import Direction
from adc.dispatch import Dispatcher, Made, writable
from adc.frontend.abstract import Abstract, Array, Scalar, numpy_dtype
from adc.frontend.forms import Form, build
from adc.frontend.traced import Result, ResultLeaf, ResultTuple
from adc.ir import kinds
from adc.jvps import JvpCode, Pattern
from adc.options import Derivative, Selection
from adc.passes.differentiation.ranks import refuse_ranks
from adc.pullbacks import Pullback, PullbackCode
from adc.selecting import Wanted, is_float, select
from adc.specialise import Specialisation

NDArray = np.ndarray[Any, Any]
Mode = Literal["auto", "forward", "reverse"]
MODES = ("auto", "forward", "reverse")


class JacobianFunction(Dispatcher):
    """The Jacobian of a function, or of its gradient: takes the function's arguments."""

    _kind = "jvp"
    __adc_traced__: Callable[..., Any] | None = None  # what compiled code calls in its place

    def __init__(self, subject: Subject, chosen: Selection, of: Derivative, mode: Mode) -> None:
        super().__init__(subject, chosen)
        if mode not in MODES:
            raise kinds.INVALID_OPTION(f"mode must be one of {', '.join(map(repr, MODES))}, not {mode!r}")
        if mode == "reverse" and of.chain:
            raise kinds.INVALID_OPTION(
                f"the Jacobian of a gradient of {subject.name} is formed forward", help="leave mode out"
            )
        self._of = of
        self._mode = mode
        what = f"Jacobian{' of the gradient' * len(of.chain)}"
        self._describe("jacobian", what, f" by {chosen.by(subject.parameters.names)}")

    def _made_with(self) -> Made:
        return (self._chosen, self._of, self._mode), {}

    def _compile(self, staged: Staged) -> Specialisation:
        return Jacobian(staged, self._of, self._chosen, self._mode, self._miss)

    @property
    def _kept_as(self) -> tuple[Any, ...] | None:
        return "jacobian", self._of, self._chosen, self._mode

    @property
    def _forward_of(self) -> Derivative:
        return self._of

    def _key(self, abstracts: tuple[Abstract, ...]) -> tuple[Abstract, ...]:
        return writable(abstracts)

    def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
        return self._for(args, kwargs, lambda spec, values: spec.run(values))

    def _for(self, args: Any, kwargs: Any, use: Callable[[Any, tuple[Any, ...]], Any]) -> Any:
        """What ``use`` makes of the specialisation for these arguments, and of their values."""
        subject, borrowed = self._subject, Borrowed()
        try:
            lowered = lower(subject.parameters.names, subject.parameters.bind(args, kwargs))
            spec, values = self._find(lowered, borrowed)
            result = use(spec, values)
            self._keep(spec)
            return result
        except Exception as error:
            left = leaving(error, subject.name)
        finally:
            borrowed.give_back()
        raise left

    def __repr__(self) -> str:
        return f"<Jacobian of {'gradient of ' * len(self._of.chain)}{self._subject.name}>"


@dataclass(frozen=True)
class Output:
    """A float, or an array of them, among the results of the IR."""

    leaf: ResultLeaf
    shape: tuple[int, ...]

    @property
    def is_array(self) -> bool:
        return isinstance(self.leaf.abstract, Array)

    @property
    def dtype(self) -> np.dtype[Any]:
        a = self.leaf.abstract
        assert isinstance(a, Array | Scalar)
        return numpy_dtype(a.element if isinstance(a, Array) else a.type)


class Jacobian(Specialisation):
    """The Jacobian for argument types. The way it takes may depend on extents, so it is chosen at each call."""

    def __init__(self, staged: Staged, of: Derivative, chosen: Selection, mode: Mode, miss: Any) -> None:
        self._forward = JvpCode(staged, of)
        super().__init__(staged, self._forward.traced)
        help = "adc.jvp and a pullback go along one direction on each rank"
        refuse_ranks(self.traced.module, self.traced.entry, "the Jacobian", help)
        self._wrapped_miss = miss
        self._mode = mode
        self._reverse: PullbackCode | None = None
        self.wanted: Wanted = select(self.subject.name, self.subject.parameters, self.abstracts, self.traced, chosen)
        made = _with_identity(self.traced.result)
        if made is not None:
            raise kinds.NO_DERIVATIVE(
                f"{self.subject.name} returns a {made} that it was given; its Jacobian has no place for that",
                self.traced.module.funcs[self.traced.entry].loc,
                help="return the numbers and arrays in a tuple",
            )
        wrt = self.wanted.wrt
        if (
            imaginary(self.wanted)
            or any(is_pairs(self.traced.leaves[k].abstract) for k in wrt)
            or holds_complex(self.traced.result)
        ):
            raise kinds.NO_DERIVATIVE(
                f"{self.subject.name} takes or returns complex numbers, which have no Jacobian: the derivative by the "
                "imaginary part need not follow from that by the real one",
                self.traced.module.funcs[self.traced.entry].loc,
                help="write a function of the real and imaginary parts that returns them; or use jvp and pullback",
            )
        # What the forward half of a pullback may be run on: it has the effects of the function.
        self._reversible = (
            not of.chain
            and not self.traced.mutated
            and not self.traced.changed
            and not self.aliased
            and all(self.traced.leaves[k].kind == "argument" for k in wrt)
        )
        if mode == "reverse" and not self._reversible:
            raise kinds.INVALID_OPTION(
                f"the Jacobian of {self.subject.name} is formed forward: the function changes its arguments, they "
                "overlap, or captured variables are asked for",
                help="leave mode out",
            )

    def run(self, values: tuple[Any, ...]) -> Any:
        leaves = self.leaf_values(values)
        inputs = sum(np.size(leaves[k]) for k in self.wanted.wrt)
        outputs = self._scalar_outputs()
        if self._mode == "reverse" or (self._prefers_reverse(inputs, outputs)):
            return self._by_reverse(values, leaves)
        return self._by_forward(values, leaves, inputs)

    def _prefers_reverse(self, inputs: int, outputs: int | None) -> bool:
        """Whether fewer numbers are returned than are differentiated by, as far as it is known before a run."""
        return self._mode == "auto" and self._reversible and outputs is not None and outputs < inputs

    def _scalar_outputs(self) -> int | None:
        """The number of floats that are returned; None if it depends on extents."""
        leaves = [leaf for leaf in _leaves(self.traced.result) if is_float(leaf.abstract)]
        return None if any(isinstance(leaf.abstract, Array) for leaf in leaves) else len(leaves)

    # Forward ---------------------------------------------------------------------------------------------------------

    def _by_forward(self, values: tuple[Any, ...], leaves: list[Any], inputs: int) -> Any:
        pattern = Pattern(frozenset(self.wanted.wrt), value=False)
        blocks: dict[tuple[int, int], NDArray] = {}
        outputs: list[Output] | None = None
        for k, at, direction in self._directions(leaves):
            sweep = self._forward.sweep(values, {k: direction}, pattern)
            if outputs is None:
                outputs = outputs_of(self.traced.result, sweep.value)
                returned = sum(int(np.prod(o.shape)) for o in outputs)
                if self._prefers_reverse(inputs, returned):
                    return self._by_reverse(values, leaves)
                blocks = self._blocks(outputs, leaves)
            for output in outputs:
                found = sweep.held.results.get(output.leaf.position)
                if found is not None:
                    block = blocks[output.leaf.position, k]
                    block.reshape(*output.shape, -1)[..., at] = found
        if outputs is None:  # by arrays without elements
            sweep = self._forward.sweep(values, {}, pattern)
            blocks = self._blocks(outputs_of(self.traced.result, sweep.value), leaves)
        return self._assemble(blocks)

    def _directions(self, leaves: list[Any]) -> Iterator[tuple[int, int, Direction]]:
        """The unit directions: the argument, the number of the element, and the direction itself."""
        for k in self.wanted.wrt:
            shape, dtype = np.shape(leaves[k]), np.asarray(leaves[k]).dtype
            for at in range(int(np.prod(shape))):
                one = np.zeros(shape, dtype)
                one.reshape(-1)[at] = 1.0
                yield k, at, Direction(one, f"a direction of {self.leaf_name(k)}")

    def _blocks(self, outputs: Sequence[Output], leaves: list[Any]) -> dict[tuple[int, int], NDArray]:
        """The derivatives of each output by each input, zero to begin with."""
        return {
            (o.leaf.position, k): np.zeros((*o.shape, *np.shape(leaves[k])), o.dtype)
            for o in outputs
            for k in self.wanted.wrt
        }

    # Reverse ---------------------------------------------------------------------------------------------------------

    def _by_reverse(self, values: tuple[Any, ...], leaves: list[Any]) -> Any:
        value, back = self._pulled(values)
        outputs = outputs_of(self.traced.result, value)
        blocks = self._blocks(outputs, leaves)
        for output in outputs:
            position = output.leaf.position
            for at in np.ndindex(output.shape):
                one: Any = 1.0
                if output.shape or output.is_array:
                    one = np.zeros(output.shape, output.dtype)
                    one[at] = 1.0
                cotangent = back.by_result({position: one})
                for k in self.wanted.wrt:
                    blocks[position, k][at] = cotangent(k)
        return self._assemble(blocks)

    def _pulled(self, values: tuple[Any, ...]) -> tuple[Any, Pullback]:
        """The value of a call, and its pullback."""
        with self.subject.lock:
            if self._reverse is None:
                self._reverse = PullbackCode(self.staged, self._wrapped_miss)
        return self._reverse.run(self.canonical(values))

    # Together --------------------------------------------------------------------------------------------------------

    def _assemble(self, blocks: dict[tuple[int, int], NDArray]) -> Any:
        """For each float, or array of them, in the result: its derivatives, arranged as a gradient is."""
        return self._arranged(self.traced.result, blocks)

    def _arranged(self, tree: Result, blocks: dict[tuple[int, int], NDArray]) -> Any:
        if isinstance(tree, ResultLeaf):
            if not is_float(tree.abstract):
                return None
            found = {k: self._block(tree, k, blocks[tree.position, k]) for k in self.wanted.wrt}
            return self.wanted.build(found)
        if isinstance(tree, ResultTuple):
            form = containers.plain_form(tree.form)
            if form.kind == "structured":  # no array of such a dtype holds what differs in shape from field to field
                form = Form("dict", dict, form.names)
            return build(form, [self._arranged(item, blocks) for item in tree.items])
        return None

    def _block(self, tree: ResultLeaf, k: int, block: NDArray) -> Any:
        if isinstance(tree.abstract, Scalar) and isinstance(self.traced.leaves[k].abstract, Scalar):
            return binding.as_scalar(block[()].item(), tree.abstract.type, strong=not tree.abstract.weak)
        return block


def _leaves(tree: Result) -> Iterator[ResultLeaf]:
    if isinstance(tree, ResultLeaf):
        yield tree
    elif isinstance(tree, ResultTuple):
        for item in tree.items:
            yield from _leaves(item)


def outputs_of(tree: Result, raw: Any) -> list[Output]:
    """The floats and arrays of floats of a result, each once, given its value in nested tuples."""
    leaves = [(leaf, part) for leaf, part in containers.result_leaves(tree, raw) if is_float(leaf.abstract)]
    return list({leaf.position: Output(leaf, np.shape(part)) for leaf, part in leaves}.values())


def _with_identity(tree: Result) -> str | None:
    """What of a result is an object that was there before or is met twice, or a list of run-time length; or None."""
    if not isinstance(tree, ResultTuple):
        return None
    if tree.form.again or (tree.form.kind == "list" and tree.form.names):
        return str(tree.form)
    return next((found for item in tree.items if (found := _with_identity(item)) is not None), None)
