"""Phases over phases: what nested branches share is looked at once."""

from __future__ import annotations

from adc.frontend.data.roots import Phase, Phases, Root, grounded, overlap, protection


def nest(depth: int, ground: frozenset[Root]) -> frozenset[Root]:
    """Two phases in each of ``depth`` nested branches, each over both of the branch before."""
    over = ground
    for order in range(1, depth + 1):
        together = Phases()
        over = frozenset(Phase(name, order, "", together, over) for name in "uv")
    return over


def test_deeply_nested_phases():
    read_only, own, other = Root("a", 0, "'a' is read-only"), Root("b"), Root("c")
    many = nest(60, frozenset({read_only, own}))
    assert grounded(many) == {read_only, own}
    assert protection(many) == "'a' is read-only" and not protection(nest(60, frozenset({own})))
    assert overlap(many, frozenset({own})) and overlap(frozenset({read_only}), many)
    assert not overlap(many, frozenset({other})) and not overlap(many, nest(60, frozenset({other})))
    assert overlap(many, nest(50, frozenset({own})))
