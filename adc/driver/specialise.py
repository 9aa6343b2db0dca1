"""Specialisations: a function, or its gradient, compiled for one tuple of abstract arguments and its captured
variables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from adc.backend.calls.abi import CallOut, Out, Output, Param, Signature, TupleOut
from adc.border import aliasing, binding, containers
from adc.border.complexes import as_pairs
from adc.border.options import Selection
from adc.border.signature import at, replace_leaves
from adc.driver import numbers
from adc.driver.compiler import Staged, compile_functions
from adc.driver.float_results import result_type
from adc.driver.remembered import fetched, still_holds
from adc.driver.subject import Builtin
from adc.frontend.abstract import Array, Scalar, with_alias
from adc.frontend.traced import ResultLeaf, Traced
from adc.ir import kinds
from adc.ir.core import Func, Module
from adc.ir.lazy_dataclass import dataclass

NDArray = np.ndarray[Any, Any]


class Misfit(Exception):
    """Compiled code got arguments, already taken apart, that it was not compiled for."""


def misfit(*args: Any) -> Any:
    """Compiled code calls this when its arguments do not fit and are not those of the user's call."""
    raise Misfit


class Specialisation:
    """The base of all specialisations: whether one still fits, and the values of the leaves of a call."""

    def __init__(self, staged: Staged, traced: Traced) -> None:
        self.staged = staged
        self.subject = staged.subject
        self.names = staged.subject.parameters.names
        self.abstracts = staged.abstracts
        self.traced = traced
        self._statics = binding.static_values(self.abstracts)
        self.aliased = traced.alias_groups
        self._stored: frozenset[int] | None = None  # written through themselves; known if arguments overlap
        # Whether arguments or results have containers other than tuples: then calls go through Python.
        self._takes_containers = any(map(containers.is_special, self.abstracts)) or bool(traced.changed)
        self.wrapped = self._takes_containers or containers.needs_assembly(traced.result)
        # The paths of the IR arguments in the arguments of a call; None for captured variables.
        self._paths = [
            None if leaf.kind == "capture" else binding.leaf_path(self.names, leaf) for leaf in traced.leaves
        ]
        # Whether a call with the same containers may be tried without checking their contents, because the code checks
        # them.
        self.repeatable = False
        # By number of arguments: code that takes them by position, without Python in between.
        self.direct: dict[int, Builtin] = {}

    @property
    def found_out(self) -> int:
        """A measure of what later processes can reuse; it only grows."""
        return len(self.staged.loaded)

    def run(self, values: tuple[Any, ...]) -> Any:
        """The result of a call with the values of all parameters."""
        raise NotImplementedError

    def run_wrapped(self, values: tuple[Any, ...], objects: tuple[Any, ...]) -> Any:
        """As ``run``, with containers other than tuples. ``objects`` are the mutable objects by number."""
        changed = [objects[n] for n in self.traced.changed]
        for name, fetch in self.traced.outer if changed else ():
            if any(fetch() is value for value in changed):
                raise kinds.OVERLAPPING_ARGUMENTS(
                    f"{self.subject.name} changes an argument which it also reads by the name {name}",
                    help=f"pass {name} as an argument only",
                )
        return self._run_wrapped(values, dict(enumerate(objects)))

    def _run_wrapped(self, values: tuple[Any, ...], objects: dict[int, Any]) -> Any:
        raise NotImplementedError

    def finished(self, raw: Any, objects: dict[int, Any]) -> Any:
        """The Python result of a call of the function, effects on objects included."""
        if not self.traced.changed:
            return containers.assemble(self.traced.result, raw, objects)
        result, *left = raw
        made = containers.assemble(self.traced.result, result, objects)
        containers.apply_changes(self.traced.changed, left, objects)
        return made

    def canonical(self, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The values of a call, with static ones (such as strings) replaced by the equal objects that the code was
        compiled for."""
        result: tuple[Any, ...] = replace_leaves(values, self._statics) if self._statics else values
        return result

    def compile_for_calls(self, module: Module, signature: Signature, miss: Callable[..., Any]) -> dict[int, Builtin]:
        """Callables by number of arguments: for all arguments, and with trailing defaults omitted."""
        defaults = () if self.wrapped else self.subject.parameters.defaults
        signatures = [signature, *binding.with_defaults(signature, self.abstracts, defaults)]
        callables = compile_functions(self.staged, module, signatures, miss)
        return {len(s.arguments): c for s, c in zip(signatures, callables, strict=True)}

    def fits(self) -> bool:
        """Whether tracing a call now would give the same result."""
        return still_holds(self.traced)

    def leaf_values(self, values: tuple[Any, ...]) -> list[Any]:
        """The values of the IR arguments, captured ones included."""
        return [
            fetched(leaf) if path is None else at(values, path)
            for leaf, path in zip(self.traced.leaves, self._paths, strict=True)
        ]

    def leaf_name(self, position: int) -> str:
        leaf = self.traced.leaves[position]
        if leaf.kind == "capture":
            return str(leaf.path[0])
        return containers.label(self.abstracts, self.names, binding.leaf_path(self.names, leaf))

    def check_captures(self, leaves: list[Any]) -> None:
        """Refuse arguments that the function writes to and that overlap a captured array."""
        arrays = {k: v for k, v in enumerate(leaves) if isinstance(v, np.ndarray)}
        for c in arrays:
            if self.traced.leaves[c].kind != "capture":
                continue
            for k in self.traced.stored:
                if k in arrays and aliasing.groups({k: arrays[k], c: arrays[c]}):
                    raise kinds.OVERLAPPING_ARGUMENTS(
                        f"{self.subject.name}: argument {self.leaf_name(k)} shares memory with {self.leaf_name(c)}, "
                        "which the function reads by name",
                        help=f"pass {self.leaf_name(c)} as an argument too",
                    )

    def sharing(self, leaves: Sequence[Any]) -> list[list[int]]:
        """The IR arguments that share shadows, in groups: arrays with common elements, one of which is written."""
        if not self.aliased:
            return []
        if self._stored is None:
            apart = tuple(with_alias(a, None) for a in self.abstracts)
            self._stored = Staged(self.subject, apart).traced().stored
        return [
            joined
            for members in self.aliased.values()
            for joined in aliasing.joined({k: leaves[k] for k in members}, self._stored)
        ]


class Primal(Specialisation):
    """The function itself."""

    def __init__(self, staged: Staged, miss: Callable[..., Any]) -> None:
        traced = staged.traced()
        super().__init__(staged, traced)
        module = staged.primal(traced)
        params = binding.leaf_params(self.names, traced, read_only=False)
        guards = binding.guard_params(self.abstracts, traced)
        output = binding.effects_output(traced)
        if self.wrapped and not self._takes_containers:
            self.wrapped, output = False, CallOut(containers.Assembly(traced.result), (output,))
        signature = binding.signature(
            self.names,
            self.abstracts,
            module,
            traced.entry,
            [*guards, *params],
            output,
            disjoint=binding.disjoint_pairs(self.names, self.abstracts, traced, len(guards)),
            threads=self.subject.options.threads or 0,
        )
        self.direct = self.compile_for_calls(module, signature, misfit if self.wrapped else miss)
        self.repeatable = self.wrapped and not self.aliased

    def run(self, values: tuple[Any, ...]) -> Any:
        self.check_captures(self.leaf_values(values))
        return self.direct[len(values)](*values)

    def _run_wrapped(self, values: tuple[Any, ...], objects: dict[int, Any]) -> Any:
        return self.finished(self.run(values), objects)


class Gradient(Specialisation):
    """The gradient, with or without the value. Calls with overlapping arguments go through Python."""

    def __init__(
        self,
        staged: Staged,
        chain: Sequence[Selection],
        miss: Callable[..., Any],
        *,
        with_value: bool,
        has_aux: bool = False,
        sized: bool = False,
    ) -> None:
        """``sized``: the gradient must be able to tell its memory in advance."""
        traced, self.wanted = staged.traced_for(chain, has_aux=has_aux)
        super().__init__(staged, traced)
        self.with_value = with_value
        self.has_aux = has_aux
        self.wrapped = self.wrapped or (traced.aux is not None and containers.needs_assembly(traced.aux))
        assert isinstance(traced.result, ResultLeaf)
        self.result = traced.result
        self.value_type = result_type(traced, self.result.position)
        module, adjoint = staged.gradient(traced, self.wanted, with_value=with_value or has_aux, clears=True)
        module = staged.prepared(module, [adjoint.name])
        staged.keep_to_memory(module, adjoint.name)
        func = module.funcs[adjoint.name]
        self._size: tuple[Func, Any] | None = None
        if sized and not self.aliased and (size := staged.workspace(module, func.name, None)) is not None:
            self._size = func, *numbers.compiled(staged, module, [size.name])
        self.shadows = binding.shadow_positions(func)
        guards = binding.guard_params(self.abstracts, traced)
        leaves = binding.leaf_params(self.names, traced, read_only=not self.aliased)
        shift = len(guards)
        if self.aliased:
            types = [func.args[len(traced.leaves) + n].type for n in range(len(self.shadows))]
            extra: list[Param] = binding.explicit_shadows(len(self.names), types)
            given = binding.value_outputs(traced, with_value=with_value)
            first = binding.cotangents_from(traced, with_value=with_value)
            output: Output = TupleOut((*given, *(Out(k) for k in range(first, len(func.result_types)))))
        else:
            output, made = binding.gradient_output(
                traced, self.wanted, self.shadows, shift, with_value=with_value, flat=self.wrapped
            )
            extra = list(made)
        signature = binding.signature(
            self.names,
            self.abstracts,
            module,
            func.name,
            [*guards, *leaves, *extra],
            output,
            disjoint=binding.disjoint_pairs(self.names, self.abstracts, traced, shift),
            extra_arguments=len(self.shadows) if self.aliased else 0,
            threads=self.subject.options.threads or 0,
        )
        miss = misfit if self.wrapped else miss
        self.repeatable = self.wrapped and not self.aliased
        if self.aliased or self.wanted.named:
            (self.kernel,) = compile_functions(staged, module, [signature], miss)
        else:
            self.direct = self.compile_for_calls(module, signature, miss)
            self.kernel = self.direct[len(self.names)]

    def takes(self, values: tuple[Any, ...]) -> int | None:
        """The most bytes that a call with these values allocates at a time; None if that is not known in advance."""
        if self._size is None:
            return None
        func, measure = self._size
        (found,) = measure(*numbers.sizes(func, self.leaf_values(values), shadows=False))
        return int(found)

    def run(self, values: tuple[Any, ...]) -> Any:
        leaves = self.leaf_values(values)
        self.check_captures(leaves)
        if not self.aliased and self.wrapped:
            before, found = self._parts(self.kernel(*values))
            return self._arranged(before, dict(zip(self.wanted.wrt, found, strict=True)))
        if not self.aliased:
            return self._named(self.kernel(*values))
        names = {k: self.leaf_name(k) for k in range(len(leaves))}
        arranged = arrange(self, leaves, self.shadows, names, copy=True)
        replaced = {binding.leaf_path(self.names, self.traced.leaves[k]): array for k, array in arranged.copies.items()}
        results = self.kernel(*replace_leaves(values, replaced), *(as_pairs(arranged.shadows[k]) for k in self.shadows))
        conjugate = {k: a.conj() if a.dtype.kind == "c" else a for k, a in arranged.shadows.items()}
        return self._assemble(results, conjugate)

    def _named(self, result: Any) -> Any:
        if not self.wanted.named or not (self.with_value or self.has_aux):
            return binding.name_gradients(result, self.wanted)
        if self.with_value:
            return result[0], binding.name_gradients(result[1], self.wanted)
        return binding.name_gradients(result[0], self.wanted), result[1]

    def _parts(self, results: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The value and the auxiliary value, as far as they are returned; and the rest."""
        count = self.with_value + self.has_aux
        return results[:count], results[count:]

    def _assemble(self, results: tuple[Any, ...], shadows: Mapping[int, NDArray]) -> Any:
        """The Python result of a call to which shadows were passed."""
        before, found = self._parts(results)
        rest = iter(found)
        scalars = {}
        for k in self.wanted.wrt:
            abstract = self.traced.leaves[k].abstract
            if isinstance(abstract, Scalar):
                scalars[k] = binding.as_scalar(next(rest), abstract.type, strong=not abstract.weak)
        return self._arranged(before, {**scalars, **shadows})

    def _run_wrapped(self, values: tuple[Any, ...], objects: dict[int, Any]) -> Any:
        result = self.run(values)
        if not self.has_aux or self.traced.aux is None:
            return result
        if self.with_value:
            (value, aux), gradients = result
            return (value, containers.assemble(self.traced.aux, aux, objects)), gradients
        gradients, aux = result
        return gradients, containers.assemble(self.traced.aux, aux, objects)

    def _arranged(self, before: tuple[Any, ...], by_position: Mapping[int, Any]) -> Any:
        """The result of the call, given the value, the auxiliary value, and the gradient for each IR argument."""

        gradients = self.wanted.build(by_position)
        if not before:
            return gradients
        if not self.with_value:
            return gradients, *before
        return (before if self.has_aux else before[0]), gradients


@dataclass
class Arranged:
    """The arrays that replace overlapping arguments, and the shadows of arguments."""

    copies: dict[int, NDArray]
    shadows: dict[int, NDArray]


def arrange(
    spec: Specialisation, leaves: list[Any], shadows: list[int], names: Mapping[int, str], *, copy: bool
) -> Arranged:
    """Shadows for the arguments ``shadows``; arguments that share memory get shadows with the same overlaps.

    With ``copy``, for gradients: shadows of arrays that overlap no written array are C-contiguous; written arrays, and
    arrays that share memory with them, are copied with the same overlaps. Without, for pullbacks: a shadow has the
    layout of its array.
    """
    arranged = Arranged({}, {})
    for members in spec.sharing(leaves):
        arrays = {k: leaves[k] for k in members}
        shadowed = {k: v for k, v in arrays.items() if k in shadows}
        if shadowed:
            arranged.shadows.update(aliasing.laid_out_alike(shadowed, copy=False, names=names))
        if copy:
            arranged.copies.update(aliasing.laid_out_alike(arrays, copy=True, names=names))
    for k in shadows:
        if k not in arranged.shadows:
            abstract = spec.traced.leaves[k].abstract
            assert isinstance(abstract, Array)
            layout = "C" if copy and abstract.alias is None else abstract.layout
            arranged.shadows[k] = aliasing.zeros(leaves[k].shape, leaves[k].dtype, layout)
    return arranged
