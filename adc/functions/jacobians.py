"""Jacobians: all partial derivatives of a function, by forward mode along unit directions or by reverse mode.

Forward mode takes one run for each number in the differentiated arguments, reverse mode one reverse sweep for each
number that is returned. The shapes decide, unless the caller does. If arguments and results are numbers and arrays, all
runs of forward mode are one compiled function (``adc.functions.jacobian_inside``); otherwise Python loops over the
directions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np

from adc.border import binding, containers
from adc.border.complexes import holds_complex, imaginary, is_pairs
from adc.border.directions import Direction
from adc.border.options import Derivative, Selection
from adc.border.selecting import Wanted, is_float, select
from adc.driver.compiler import Staged
from adc.driver.specialise import Specialisation
from adc.frontend.abstract import Array, Scalar, numpy_dtype
from adc.frontend.forms import Form, build
from adc.frontend.traced import Result, ResultLeaf, ResultTuple
from adc.functions.jvps import JvpCode, Pattern
from adc.functions.pullback_code import PullbackCode
from adc.functions.pullbacks import Pullback
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.passes.differentiation.activity.ranks import refuse_ranks

NDArray = np.ndarray[Any, Any]
Mode = Literal["auto", "forward", "reverse"]
MODES = ("auto", "forward", "reverse")


@dataclass(frozen=True)
class Output:
    """A float, or an array of floats, among the results of the IR."""

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
    """The Jacobian for argument types. The better mode may depend on extents, so it is chosen at each call."""

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
        # Whether reverse mode is possible: the forward half of a pullback has the effects of the function.
        self._reversible = (
            not of.chain
            and not self.traced.mutated
            and not self.traced.changed
            and not self.aliased
            and all(self.traced.leaves[k].kind == "argument" for k in wrt)
        )
        # Whether one compiled function can run all directions: arguments and results are numbers and arrays.
        self.is_plain = (
            not (self.wrapped or self.aliased or self.traced.mutated or self.traced.stored)
            and all(self.traced.leaves[k].kind == "argument" and len(self.traced.leaves[k].path) == 1 for k in wrt)
            and _holds_floats_alone(self.traced.result)
        )
        self.is_compiled = False  # whether this function has been compiled
        self._returned: dict[tuple[Any, ...], int] = {}  # the number of floats in results, by shapes of arguments
        if mode == "reverse" and not self._reversible:
            raise kinds.INVALID_OPTION(
                f"the Jacobian of {self.subject.name} is formed forward: the function changes its arguments, they "
                "overlap, or captured variables are asked for",
                help="leave mode out",
            )

    @property
    def found_out(self) -> int:
        return super().found_out + self.is_compiled + len(self._returned)

    def way(self, leaves: list[Any]) -> tuple[Literal["forward", "reverse"] | None, bool]:
        """The mode that needs fewer runs, None if that is only known after a run; and whether it depends on shapes."""
        if self._mode != "auto" or not self._reversible:
            return ("reverse" if self._mode == "reverse" else "forward"), False
        inputs, outputs = self._inputs(leaves), self._scalar_outputs()
        if outputs is None:
            outputs = self._returned.get(_shapes(leaves))
        if outputs is None:
            return None, True
        return ("reverse" if outputs < inputs else "forward"), True

    def learn(self, leaves: list[Any], value: Any) -> None:
        """Remember how many floats a value has, for calls with arguments of the same shapes."""
        returned = sum(int(np.prod(o.shape)) for o in outputs_of(self.traced.result, value))
        self._returned[_shapes(leaves)] = returned

    def _inputs(self, leaves: list[Any]) -> int:
        return sum(np.size(leaves[k]) for k in self.wanted.wrt)

    def run(self, values: tuple[Any, ...]) -> Any:
        leaves = self.leaf_values(values)
        way, _ = self.way(leaves)
        return self._by_reverse(values, leaves) if way == "reverse" else self._by_forward(values, leaves)

    def _scalar_outputs(self) -> int | None:
        """The number of floats that are returned; None if it depends on extents."""
        leaves = [leaf for leaf in _leaves(self.traced.result) if is_float(leaf.abstract)]
        return None if any(isinstance(leaf.abstract, Array) for leaf in leaves) else len(leaves)

    # Forward ---------------------------------------------------------------------------------------------------------

    def _by_forward(self, values: tuple[Any, ...], leaves: list[Any]) -> Any:
        pattern = Pattern(frozenset(self.wanted.wrt), value=False)
        blocks: dict[tuple[int, int], NDArray] = {}
        outputs: list[Output] | None = None
        for k, at, direction in self._directions(leaves):
            sweep = self._forward.sweep(values, {k: direction}, pattern)
            if outputs is None:
                outputs = outputs_of(self.traced.result, sweep.value)
                self.learn(leaves, sweep.value)
                if self.way(leaves)[0] == "reverse":
                    return self._by_reverse(values, leaves)
                blocks = self._blocks(outputs, leaves)
            for output in outputs:
                found = sweep.held.results.get(output.leaf.position)
                if found is not None:
                    block = blocks[output.leaf.position, k]
                    block.reshape(*output.shape, np.size(leaves[k]))[..., at] = found
        if outputs is None:  # all arguments are arrays without elements
            sweep = self._forward.sweep(values, {}, pattern)
            blocks = self._blocks(outputs_of(self.traced.result, sweep.value), leaves)
        return self._assemble(blocks)

    def _directions(self, leaves: list[Any]) -> Iterator[tuple[int, int, Direction]]:
        """The unit directions: for each the argument, the number of the element, and the direction itself."""
        for k in self.wanted.wrt:
            shape, dtype = np.shape(leaves[k]), np.asarray(leaves[k]).dtype
            for at in range(int(np.prod(shape))):
                one = np.zeros(shape, dtype)
                one.reshape(-1)[at] = 1.0
                yield k, at, Direction(one, f"a direction of {self.leaf_name(k)}")

    def _blocks(self, outputs: Sequence[Output], leaves: list[Any]) -> dict[tuple[int, int], NDArray]:
        """Arrays for the derivatives of each output with respect to each input, initially zero."""
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
        """The containers of the result; in place of each float, or array of floats, its derivatives, arranged like a
        gradient."""
        return self._arranged(self.traced.result, blocks)

    def _arranged(self, tree: Result, blocks: dict[tuple[int, int], NDArray]) -> Any:
        if isinstance(tree, ResultLeaf):
            if not is_float(tree.abstract):
                return None
            found = {k: self._block(tree, k, blocks[tree.position, k]) for k in self.wanted.wrt}
            return self.wanted.build(found)
        if isinstance(tree, ResultTuple):
            form = containers.plain_form(tree.form)
            if form.kind == "structured":  # the shapes of derivatives differ from field to field
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


def _holds_floats_alone(tree: Result) -> bool:
    """Whether a result is a float, an array of floats, or a tuple of these."""
    if isinstance(tree, ResultTuple):
        return bool(tree.items) and all(map(_holds_floats_alone, tree.items))
    return isinstance(tree, ResultLeaf) and is_float(tree.abstract)


def _shapes(leaves: list[Any]) -> tuple[Any, ...]:
    return tuple(map(np.shape, leaves))


def outputs_of(tree: Result, raw: Any) -> list[Output]:
    """The floats and arrays of floats of a result, each once, given its value in nested tuples."""
    leaves = [(leaf, part) for leaf, part in containers.result_leaves(tree, raw) if is_float(leaf.abstract)]
    return list({leaf.position: Output(leaf, np.shape(part)) for leaf, part in leaves}.values())


def _with_identity(tree: Result) -> str | None:
    """The first part of a result that is an existing object, occurs twice, or is a list of run-time length; else
    None."""
    if not isinstance(tree, ResultTuple):
        return None
    if tree.form.again or (tree.form.kind == "list" and tree.form.names):
        return str(tree.form)
    return next((found for item in tree.items if (found := _with_identity(item)) is not None), None)
