"""Analyses of mutually recursive functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from adc.frontend.abstract import abstract_of
from adc.frontend.entrance import trace
from adc.ir.alias import Aliasing, returned_memory
from adc.ir.callgraph import components, reachable, recursive
from adc.ir.core import Module
from adc.ir.fixpoint import Builder, Fixpoint
from adc.passes.analysis.effects import Summaries
from adc.passes.differentiation.activity.activity import Interface, analyse
from adc.passes.differentiation.differentiate import split


def test_fixpoint_of_a_circle() -> None:
    edges = {"a": ["b"], "b": ["c", "d"], "c": ["a"], "d": ["d", "e"], "e": []}
    asked: list[str] = []

    def compute(name: str) -> frozenset[str]:
        asked.append(name)
        return frozenset({name}).union(*(reached(callee) for callee in edges[name]))

    reached = Fixpoint(compute, lambda name: frozenset())
    for start in "abcde":
        asked.clear()
        assert reached(start) == {"a": set("abcde"), "d": set("de"), "e": set("e")}.get(start, set("abcde"))
    asked.clear()
    assert reached("a") == set("abcde") and not asked


def test_builder_forgets_what_did_not_hold() -> None:
    built: dict[str, int] = {}

    def build(name: str, assumed: int) -> int:
        found = max(assumed, {"f": lambda: min(make("g") + 1, 3), "g": lambda: make("f")}[name]())
        built[name] = found
        return found

    make = Builder(lambda name: 0, build, lambda name: built.__delitem__(name))
    assert make("f") == 3 and built == {"f": 3, "g": 3}
    assert make.is_settled("f") and make.is_settled("g")


# Programs -------------------------------------------------------------------------------------------------------------


def ping(a: Any, b: Any, c: Any, n: int) -> Any:
    if n == 0:
        return a
    b[0] = a[0] * 2.0
    return pong(a, b, c, n - 1)


def pong(a: Any, b: Any, c: Any, n: int) -> Any:
    return ping(b, b, c, n) if c[0] > 0.0 else ping(a, b, c, n)


def entry(a: Any, b: Any, c: Any, n: int) -> float:
    return ping(a, b, c, n)[0]


def traced() -> Module:
    return trace(entry, [abstract_of(v) for v in (*np.ones((3, 4)), 3)]).module


def test_call_graph() -> None:
    module = traced()
    circles = [set(c) for c in components(module) if len(c) > 1]
    assert circles and set().union(*circles) == recursive(module) == set(module.funcs) - {"entry"}
    assert reachable(module, ["entry"]) == set(module.funcs)
    assert components(module)[-1] == ["entry"]


def test_effects_and_memory() -> None:
    module = traced()
    summary = Summaries(module).of("ping")
    assert summary is not None and summary.traps
    assert (summary.reads, summary.writes) == ({0, 1, 2}, {1})
    (passed, fresh), *_ = returned_memory(module)("ping")
    assert (passed, fresh) == ({0, 1}, frozenset())
    body = module.funcs["entry"].body
    (result,) = [op.results[0] for op in body.ops if op.attrs.get("callee") == "ping"]
    assert Aliasing(module.funcs["entry"], module).roots(result) == set(body.args[:2])


def test_activity_follows_the_circle_and_no_further() -> None:
    module = traced()
    func = module.funcs["entry"]
    activity = analyse(module, func, Interface(frozenset({0}), frozenset({0})))
    assert [activity.has_shadow(a) for a in func.args[:3]] == [True, True, False]


def test_split_plans_are_stable() -> None:
    """The functions that are made call each other as the plans say, and nothing is left of earlier attempts."""
    module = traced()
    before = set(module.funcs)
    split(module, "entry", (0,))
    made = set(module.funcs) - before
    called = reachable(module, [name for name in made if name.startswith("entry")])
    assert made <= called and {name.rsplit(".", 1)[1].split("_")[0] for name in made} == {"aug", "rev"}


def counted(n):  # type: ignore[no-untyped-def]
    if n <= 0:
        return np.full(3, 0.5)
    u = counted(n - 1)
    u[0] += 1.0
    return u


def chosen(x, k):  # type: ignore[no-untyped-def]
    a, b = counted(k), counted(k + 1)
    u, s = a if k > 0 else b, 0.0
    for _ in range(3):
        s += u[0] * x
        u[0] = np.sin(s)
    return s


def carried(x, k):  # type: ignore[no-untyped-def]
    u, s = np.ones(3), 0.0
    for t in range(k + 2):
        w = counted(t)
        if s > 0.3:
            u = w
        for _ in range(3):
            s += u[0] * x
            u[0] = np.sin(s)
    return s


@pytest.mark.parametrize("function", [chosen, carried])
def test_shadows_of_what_calls_return_are_cleared_under_whatever_name_they_were_used(function: Any) -> None:
    """The reverse sweep finds the array under the name that a branch or a loop gives it."""
    f = jit_grad(function)
    back = f.pullback(0.3, 1)[1]
    found = [back(1.0)[0] for _ in range(3)]
    assert found[0] == found[1] == found[2] == pytest.approx(f.jvp((0.3, 1), (1.0, None))[1], rel=1e-13)
