"""Recursive functions: the result of a call while its function is being traced.

The result type of a signature that is being traced is not yet known. At first nothing is assumed about it: a path that
calls the function is not followed further (``Undetermined``), and the paths that return without a call determine the
result. Then the function is traced again with what was found, until nothing changes: the type, which arguments the
result may be a view of, what is written, and what is captured.
"""

from __future__ import annotations

from dataclasses import replace

from adc.frontend import abstract
from adc.frontend.data.roots import Phase, Root, Roots, grounded
from adc.frontend.forms import LIST
from adc.frontend.frame import Capture
from adc.frontend.objects.heap import UNCHANGED
from adc.frontend.objects.held import NOTHING, Handed
from adc.frontend.objects.merge import join
from adc.ir.lazy_dataclass import dataclass
from adc.ir.types import Type

# An argument by its position among arrays, a captured array by its key, or None for memory made by the call.
Memory = int | tuple[object, ...] | None


@dataclass(frozen=True)
class Assumption:
    """What is assumed about a function's signature. ``result`` is None while nothing is known.

    ``memory``: for each array of the result, the memory that it may be. ``captures`` are compared by their keys.
    """

    result: abstract.Abstract | None = None
    memory: tuple[frozenset[Memory], ...] = ()
    written: frozenset[Memory] = frozenset()
    captures: tuple[Capture, ...] = ()
    never: bool = False  # it raises in every case

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Assumption) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        return self.result, self.memory, self.written, tuple(c.key for c in self.captures), self.never

    def widened(self, found: Assumption) -> Assumption:
        """The assumption that covers both. Raises ``Clash`` if their results have no common type."""
        if self.result is None or found.result is None:
            return found
        memory = found.memory
        if len(memory) == len(self.memory):
            memory = tuple(a | b for a, b in zip(self.memory, memory, strict=True))
        written, never = self.written | found.written, self.never and found.never
        return Assumption(common(self.result, found.result), memory, written, found.captures, never)


def common(assumed: abstract.Abstract, found: abstract.Abstract) -> abstract.Abstract:
    """The type of a function's outcome, given what was assumed about it. Raises ``Clash``.

    While calls are assumed to leave an object unchanged, more objects may seem to be unchanged than are; and where
    the paths without a call return an object of the caller's, others may return a new one. A list whose length they
    know may have any with the others.
    """
    if assumed == abstract.Static(UNCHANGED.value):
        return found
    if isinstance(assumed, abstract.Tuple) and isinstance(found, abstract.Tuple):
        if assumed.form.again and assumed.form.number in found.form.kin and assumed.form.cls is found.form.cls:
            return found
        if found.form.grows and assumed.form.plain() == LIST:
            return found
        kin = tuple(sorted({*assumed.form.kin, *found.form.kin}))
        if kin and replace(assumed.form, kin=kin) == replace(found.form, kin=kin):
            assumed, found = (replace(a, form=replace(a.form, kin=kin)) for a in (assumed, found))
    if isinstance(assumed, abstract.Tuple) and isinstance(found, abstract.Tuple) and assumed.form == found.form:
        items = zip(assumed.items, found.items, strict=True) if len(assumed.items) == len(found.items) else ()
        if items:
            return replace(found, items=tuple(common(a, f) for a, f in items))
    return join(assumed, found)


@dataclass(eq=False)
class Specialisation:
    """A callee for given argument types: all information for a call.

    ``roots`` are those of its array arguments, in order; captured arguments come after those that are passed.
    """

    name: str
    argument_types: tuple[Type, ...]
    result_types: tuple[Type, ...]
    result: abstract.Abstract
    captures: tuple[Capture, ...]
    roots: tuple[Root, ...]
    captured_roots: dict[Root, Capture]
    result_roots: tuple[Roots, ...]
    written: frozenset[Root]
    never: bool  # it never returns: it always raises
    handed: Handed = NOTHING

    def assumption(self) -> Assumption:
        """What has been found, in terms that do not depend on this attempt at tracing."""
        labels: dict[Root, Memory] = {root: c.key for root, c in self.captured_roots.items()}
        labels |= {root: k for k, root in reversed(list(enumerate(self.roots)))}

        def of(roots: Roots) -> frozenset[Memory]:
            made = any(isinstance(root, Phase) for root in roots)  # memory made by an iteration
            return frozenset(labels.get(root) for root in grounded(roots)) | ({None} if made else set())

        written = frozenset(label for label in of(self.written) if label is not None)
        return Assumption(self.result, tuple(of(r) for r in self.result_roots), written, self.captures, self.never)


def assumed(
    name: str, types: tuple[Type, ...], result_types: tuple[Type, ...], a: Assumption, roots: tuple[Root, ...]
) -> Specialisation:
    """The specialisation that calls use while ``a`` is assumed about it. ``roots`` as in ``Specialisation``."""
    assert a.result is not None
    captured = {Root(c.name): c for c in a.captures if isinstance(c.abstract, abstract.Array)}
    places: dict[Memory, Root] = dict(enumerate(roots))
    places |= {c.key: root for root, c in captured.items()}
    places[None] = Root("result")
    return Specialisation(
        name,
        types,
        result_types,
        a.result,
        a.captures,
        roots,
        captured,
        tuple(frozenset(places[label] for label in labels) for labels in a.memory),
        frozenset(places[label] for label in a.written),
        a.never,
    )
