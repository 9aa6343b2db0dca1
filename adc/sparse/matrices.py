"""Sparse Jacobians and Hessians: the entries of a sparsity pattern, from as few sweeps as its colouring has groups.

The pattern is given, or detected by propagating sets of dependences through the compiled function (``detection.py``). A
detected pattern holds for the shapes, the integers and the branches of a call: where branches may depend on floats,
each call propagates dependences again. A given pattern is checked along a random direction.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from adc.border.boundary import public
from adc.border.directions import Direction
from adc.border.options import Derivative, Selection
from adc.border.selecting import is_float
from adc.driver.compiler import Staged
from adc.driver.specialise import Specialisation
from adc.driver.subject import Subject
from adc.functions.dispatch import Made
from adc.functions.jacobian_function import JacobianFunction
from adc.functions.jacobians import Jacobian, Mode, Output, outputs_of
from adc.functions.jvps import Pattern
from adc.ir import kinds
from adc.ir.lazy_dataclass import dataclass
from adc.sparse import colouring
from adc.sparse.colouring import Colouring
from adc.sparse.detection import Detection, detect, detection_of
from adc.sparse.memory import Memory
from adc.sparse.rows import Rows, join, rows_alike
from adc.sparse.sparsity import Sparsity, disagreement, given_sparsity
from adc.sparse.together import Together, Units, compiled, has_rows, unit_directions

NDArray = np.ndarray[Any, Any]

_KEPT = 16  # most colourings kept for one tuple of argument types


class SparseFunction(JacobianFunction):
    """The sparse Jacobian, or Hessian, of a function: takes the function's arguments, and returns a CSR array.

    The pattern and its colouring are determined at the first call with given shapes and integers, and kept.
    """

    def __init__(
        self, subject: Subject, chosen: Selection, of: Derivative, mode: Mode, pattern: Any, *, symmetric: bool = False
    ) -> None:
        super().__init__(subject, chosen, of, mode)
        self._pattern = pattern
        self._symmetric = symmetric
        what = "Hessian" if symmetric else "Jacobian"
        self._describe(f"sparse_{what.lower()}", f"sparse {what}", f" by {chosen.by(subject.parameters.names)}")
        scipy_sparse()

    def _made_with(self) -> Made:
        return (self._chosen, self._of, self._mode, self._pattern), {"symmetric": self._symmetric}

    def _compile(self, staged: Staged) -> Specialisation:
        return SparseJacobian(
            staged, self._of, self._chosen, self._mode, self._miss, pattern=self._pattern, symmetric=self._symmetric
        )

    @functools.cached_property
    def __adc_traced__(self) -> None:
        """Compiled code has no sparse matrices."""

    def _run(self, spec: Jacobian, values: tuple[Any, ...]) -> Any:
        return spec.run(values)

    @property
    def _kept_as(self) -> tuple[Any, ...] | None:
        return None  # most of its state are plans, which depend on shapes and integers

    @public
    def colouring(self, /, *args: Any, **kwargs: Any) -> Colouring:
        """The pattern for these arguments and its colouring; ``print`` shows how many sweeps it takes."""
        found: Colouring = self._for(args, kwargs, lambda spec, values: spec.plan(values).colouring)
        return found

    def __repr__(self) -> str:
        return f"<sparse {'Hessian' if self._symmetric else 'Jacobian'} of {self._subject.name}>"


@dataclass(frozen=True, eq=False)
class _Plan:
    """The data kept for given shapes and integers: the colouring, and the results of the function."""

    colouring: Colouring
    outputs: list[Output]
    seeds: NDArray  # for each column or row, its colour
    probe: NDArray  # the direction along which the matrix of a given pattern is checked
    detection: Detection | None  # how the pattern was detected, if it may change between calls
    together: Together | None  # runs all sweeps at once, with that along ``probe`` if the pattern is given
    rows: Rows | None  # if rows are alike, how the matrix is read from the results of sweeps that are run at once

    @property
    def reverse(self) -> bool:
        return self.colouring.way == "reverse"


class SparseJacobian(Jacobian):
    """The sparse Jacobian, or Hessian, for argument types."""

    def __init__(
        self,
        staged: Staged,
        of: Derivative,
        chosen: Selection,
        mode: Mode,
        miss: Callable[..., Any],
        *,
        pattern: Any,
        symmetric: bool,
    ) -> None:
        super().__init__(staged, of, chosen, mode, miss)
        overlapping = {k for members in self.aliased.values() for k in members}
        if any(is_float(self.traced.leaves[k].abstract) for k in overlapping):
            raise kinds.OVERLAPPING_ARGUMENTS(
                f"arguments of {self.subject.name} overlap, and a sparse Jacobian is by each element by itself",
                help="pass copies",
            )
        self._given = pattern
        self._symmetric = symmetric
        self._columns = self.wanted.ordered
        self._floats = Pattern(frozenset(self.wanted.wrt), value=False)
        self._words = replace(self._floats, words=True)
        self._codes: dict[tuple[Units, ...], Together | None] = {}
        self._plans: dict[tuple[Any, ...], _Plan] = {}
        self._hashed: dict[int, tuple[NDArray, bytes]] = {}  # last contents of a leaf, and their hash
        self._memory = Memory()

    @property
    def _what(self) -> str:
        return f"the {'Hessian' if self._symmetric else 'Jacobian'} of {self.subject.name}"

    # Plans -----------------------------------------------------------------------------------------------------------

    def plan(self, values: tuple[Any, ...]) -> _Plan:
        """The plan for the shapes and integers of a call; it is made at the first call."""
        leaves = self.leaf_values(values)
        return self._plan(values, leaves, self._key(leaves))

    def _plan(self, values: tuple[Any, ...], leaves: list[Any], key: tuple[Any, ...]) -> _Plan:
        known = self._plans.get(key)
        return known if known is not None else self._keep(key, self._planned(values, leaves, None))

    def _keep(self, key: tuple[Any, ...], plan: _Plan) -> _Plan:
        with self.subject.lock:
            self._plans.pop(key, None)
            while len(self._plans) >= _KEPT:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = plan
        return plan

    def _key(self, leaves: list[Any]) -> tuple[Any, ...]:
        """The data that determines the pattern, if branches and subscripts do not depend on floats."""
        found: list[Any] = []
        for k, (leaf, value) in enumerate(zip(self.traced.leaves, leaves, strict=True)):
            found.append(np.shape(value))
            if not is_float(leaf.abstract):
                found.append(self._hash(k, np.asarray(value)))
        return tuple(found)

    def _hash(self, k: int, data: NDArray) -> bytes:
        """A hash of the contents of a leaf. Comparing them with the last contents is faster than hashing."""
        last = self._hashed.get(k)
        if last is not None and last[0].dtype == data.dtype and np.array_equal(last[0], data):
            return last[1]
        contents = np.array(data, order="C")
        found = hashlib.blake2b(contents.tobytes(), digest_size=16).digest()
        self._hashed[k] = contents, found
        return found

    def _planned(self, values: tuple[Any, ...], leaves: list[Any], before: Sparsity | None) -> _Plan:
        """A plan for a call. ``before``: a previously detected pattern that lacked entries."""
        outputs = self._outputs_of(values)
        inputs = [np.shape(leaves[k]) for k in self._columns]
        results = [o.shape for o in outputs]
        shape = sum(map(math.prod, results)), sum(map(math.prod, inputs))
        detection: Detection | None = None
        if self._given is not None:
            pattern = given_sparsity(self._given, shape, self._what)
        else:
            detection = detect(shape[1], functools.partial(self._dependences, values, leaves, outputs), shape[0])
            if before is not None:
                detection = detection_of(detection.pattern.union(before))
            pattern = detection.pattern
        if self._symmetric:
            found = colouring.symmetric(pattern.symmetric(), inputs)
        elif self._mode == "reverse":
            found = colouring.reverse(pattern, results)
        elif self._mode == "forward" or not self._reversible:
            found = colouring.forward(pattern, inputs)
        else:
            found = colouring.fewest(pattern, inputs, results)
        if detection is not None:
            found = replace(found, detected=True, detection_sweeps=len(detection.sweeps))
        rng = np.random.default_rng(20050101)
        size = len(found.colours)
        probe = (rng.uniform(0.5, 1.0, size) * rng.choice([-1.0, 1.0], size)).astype(np.float32).astype(np.float64)
        if detection is not None and not self._forward.floats_decide(self._words):
            detection = None
        code = self._together(found, inputs)
        rows = None if code is None else rows_alike(found, outputs, probe if self._given is not None else None)
        return _Plan(found, outputs, found.colours, probe, detection, code, rows)

    def _may_go_together(self, shapes: Iterable[tuple[int, ...]]) -> bool:
        return self.is_plain and not self._forward.of_gradient and has_rows(shapes)

    def _together(self, found: Colouring, shapes: list[tuple[int, ...]]) -> Together | None:
        if found.way == "reverse" or not self._may_go_together(shapes):
            return None
        units = unit_directions(found.colours, found.sweeps, self._columns, shapes)
        if units is None:
            return None
        with self.subject.lock:
            if units not in self._codes:
                given = frozenset(self._columns) if self._given is not None else frozenset[int]()
                self._codes[units] = compiled(self._forward, units, given)
            return self._codes[units]

    def _outputs_of(self, values: tuple[Any, ...]) -> list[Output]:
        """The floats that the function returns for these arguments, computed by code that will be used anyway."""
        leaves = self.leaf_values(values)
        if self._given is not None and self._mode == "reverse":
            value, _ = self._pulled(values)
        elif self._given is not None and self._may_go_together(np.shape(leaves[k]) for k in self._columns):
            args, kwargs = self.subject.parameters.arguments(values)
            value = self.subject.owner(*args, **kwargs)
        else:
            pattern = self._words if self._given is None else self._floats
            value = self._forward.sweep(values, {}, pattern).value
        return outputs_of(self.traced.result, value)

    def _dependences(
        self, values: tuple[Any, ...], leaves: list[Any], outputs: list[Output], words: NDArray
    ) -> NDArray:
        sweep = self._forward.sweep(values, self._split(words, leaves), self._words)
        self._check_outputs(sweep.value, outputs)
        found = np.empty(sum(math.prod(o.shape) for o in outputs), np.int64)
        join([sweep.held.results.get(o.leaf.position) for o in outputs], [o.shape for o in outputs], found)
        return found

    def _split(self, flat: NDArray, leaves: list[Any]) -> dict[int, Direction]:
        """Split numbers, one for each column, into directions of the arguments."""
        found, at = {}, 0
        for k in self._columns:
            shape = np.shape(leaves[k])
            part = flat[at : at + math.prod(shape)].reshape(shape)
            if flat.dtype.kind == "f":
                part = part.astype(np.asarray(leaves[k]).dtype, copy=False)
            found[k] = Direction(part, f"a direction of {self.leaf_name(k)}")
            at += math.prod(shape)
        return found

    # Sweeps ----------------------------------------------------------------------------------------------------------

    def run(self, values: tuple[Any, ...]) -> Any:
        leaves = self.leaf_values(values)
        key = self._key(leaves)
        plan = self._plan(values, leaves, key)
        try:
            if not self._covers(values, leaves, plan):  # branches went another way than in detection
                plan = self._keep(key, self._planned(values, leaves, plan.colouring.pattern))
            return self._formed(values, leaves, plan)
        except _OtherShapes:
            return self._formed(values, leaves, self._keep(key, self._planned(values, leaves, None)))

    def _covers(self, values: tuple[Any, ...], leaves: list[Any], plan: _Plan) -> bool:
        """Whether a detected pattern has all the entries of a call."""
        propagate = functools.partial(self._dependences, values, leaves, plan.outputs)
        return plan.detection is None or plan.detection.covers(propagate)

    def _formed(self, values: tuple[Any, ...], leaves: list[Any], plan: _Plan) -> Any:
        """Compute the matrix. Raises if a given pattern does not agree with a sweep along a random direction."""
        dtype = np.result_type(*(o.dtype for o in plan.outputs)) if plan.outputs else np.dtype(np.float64)
        if plan.together is None:
            return self._matrix(*self._run_one_by_one(values, leaves, plan, dtype), leaves, plan)
        found = self._run_together(plan.together, values, leaves, plan)
        read = plan.rows and plan.rows.data(found, self._memory, dtype, np.sqrt(self._precision(dtype, leaves)))
        if read:
            data, agrees = read
            return self._matrix(data, None if agrees else self._along(found, plan), leaves, plan)
        sums = self._memory.array((plan.colouring.sweeps, plan.colouring.shape[0]), dtype)
        for parts, row in zip(found, sums, strict=False):
            self._joined(parts, plan, row)
        return self._matrix(self._read(sums, plan), self._along(found, plan), leaves, plan)

    def _matrix(self, data: NDArray, along: NDArray | None, leaves: list[Any], plan: _Plan) -> Any:
        """The matrix with this data, which is checked against a sweep along the probe if there is one."""
        found = plan.colouring
        columns, starts = map(self._memory.copy, found.pattern.indices)
        made = scipy_sparse().csr_array((data, columns, starts), shape=found.shape)
        made.has_sorted_indices = made.has_canonical_format = True
        if along is not None:
            precision = self._precision(data.dtype, leaves)
            wrong = disagreement(made.T if plan.reverse else made, plan.probe, along, precision)
            if wrong is not None:
                raise self._too_small(wrong, plan)
        return made

    def _precision(self, dtype: np.dtype[Any], leaves: list[Any]) -> float:
        return max(float(np.finfo(t).eps) for t in (dtype, *(np.asarray(leaves[k]).dtype for k in self._columns)))

    def _read(self, sums: NDArray, plan: _Plan) -> NDArray:
        """The entries of the matrix, from the results of all sweeps."""
        out = self._memory.array(plan.colouring.places.shape, sums.dtype)
        return sums.ravel().take(plan.colouring.places, out=out, mode="clip")

    def _sweeping(self, values: tuple[Any, ...], leaves: list[Any], plan: _Plan) -> Callable[[NDArray, NDArray], None]:
        """A function that runs a sweep along a direction, or for weights of the results, and stores its result in an
        array."""
        if plan.reverse:
            value, back = self._pulled(values)
            self._check_outputs(value, plan.outputs)

            def pull(weights: NDArray, out: NDArray) -> None:
                seeds, at = {}, 0
                for o in plan.outputs:
                    part = weights[at : at + math.prod(o.shape)].reshape(o.shape).astype(o.dtype)
                    seeds[o.leaf.position] = part if o.shape or o.is_array else part.item()
                    at += math.prod(o.shape)
                cotangent = back.by_result(seeds)
                join([cotangent(k) for k in self._columns], [np.shape(leaves[k]) for k in self._columns], out)

            return pull

        def push(direction: NDArray, out: NDArray) -> None:
            done = self._forward.sweep(values, self._split(direction, leaves), self._floats)
            self._check_outputs(done.value, plan.outputs)
            join([done.held.results.get(o.leaf.position) for o in plan.outputs], [o.shape for o in plan.outputs], out)

        return push

    def _run_one_by_one(
        self, values: tuple[Any, ...], leaves: list[Any], plan: _Plan, dtype: np.dtype[Any]
    ) -> tuple[NDArray, NDArray | None]:
        """The entries of the matrix, and the result of the sweep along the probe if the pattern is given."""
        found = plan.colouring
        length = found.shape[1] if plan.reverse else found.shape[0]
        sums, sweep = self._memory.array((found.sweeps, length), dtype), self._sweeping(values, leaves, plan)
        for colour in range(found.sweeps):
            sweep((plan.seeds == colour).astype(np.float64), sums[colour])
        along = None
        if self._given is not None:
            along = np.empty(length)
            sweep(plan.probe, along)
        return self._read(sums, plan), along

    def _run_together(
        self, code: Together, values: tuple[Any, ...], leaves: list[Any], plan: _Plan
    ) -> list[dict[int, Any]]:
        """The results of all sweeps, followed by that of the sweep along the probe if the pattern is given."""
        along = self._split(plan.probe, leaves) if self._given is not None else {}
        probe = {k: self._forward.tangent(k, leaves[k], direction, words=False) for k, direction in along.items()}
        found = code.run(self.canonical(values), probe)
        shapes = {k: np.shape(part) for parts in found for k, part in parts.items()}
        if [shapes[o.leaf.position] for o in plan.outputs] != [o.shape for o in plan.outputs]:
            raise _OtherShapes
        return found

    def _along(self, found: list[dict[int, Any]], plan: _Plan) -> NDArray | None:
        return self._joined(found[-1], plan, np.empty(plan.colouring.shape[0])) if self._given is not None else None

    def _joined(self, parts: dict[int, Any], plan: _Plan, out: NDArray) -> NDArray:
        join([parts.get(o.leaf.position) for o in plan.outputs], [o.shape for o in plan.outputs], out)
        return out

    def _check_outputs(self, value: Any, outputs: Sequence[Output]) -> None:
        if [o.shape for o in outputs_of(self.traced.result, value)] != [o.shape for o in outputs]:
            raise _OtherShapes

    def _too_small(self, where: int, plan: _Plan) -> Exception:
        return kinds.PATTERN_TOO_SMALL(
            f"the pattern given for {self._what} leaves out nonzero entries, in "
            f"{'column' if plan.reverse else 'row'} {where}",
            self.traced.module.funcs[self.traced.entry].loc,
            help="leave pattern out, and adc finds it, or add the missing places",
        )


class _OtherShapes(Exception):
    """The results have different shapes than those that the plan was made for."""


def scipy_sparse() -> Any:
    """The module ``scipy.sparse``; raises an error of adc's own if SciPy is not installed."""
    try:
        import scipy.sparse
    except ImportError:
        raise kinds.MISSING_PACKAGE(
            "sparse Jacobians and Hessians are matrices of SciPy, which is not installed", help="pip install scipy"
        ) from None
    return scipy.sparse
