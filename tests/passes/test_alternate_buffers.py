"""Arrays that time loops make, copy or overwrite in each step become alternating buffers (alternate-buffers,
swap-copied, renew-overwritten, update-in-place, unswitch-loops, first-writes). Values bit by bit, gradients against
forward mode, and the memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adc import jit_grad
from tests.forward_mode import check_gradients
from tests.fuzz.check import loaded


def copied(u0, v0, steps):
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        u[1:-1] = un[1:-1] - 0.1 * vn[1:-1] * (un[2:] - un[:-2])
        v[1:-1] = vn[1:-1] + 0.2 * un[1:-1] * vn[:-2]
    return u * v


def made(u0, v0, steps):
    u, v = u0, v0
    for _ in range(steps):
        un, vn = np.empty_like(u), v.copy()
        un[0], un[-1] = u[0] * v[-1], u[-1]
        un[1:-1] = u[1:-1] - 0.1 * v[1:-1] * (u[2:] - u[:-2])
        vn[1:-1] += 0.2 * un[1:-1] * v[:-2]
        u, v = un, vn
    return u * v


def bound_again(u0, v0, steps):
    u = u0
    for _ in range(steps):
        u = u + 0.1 * v0 * (1.0 - u * u)
    return u


def two_back(u0, v0, steps):
    old, now = u0, v0
    for _ in range(steps):
        new = now.copy()
        new[1:-1] = 2.0 * now[1:-1] - old[1:-1] + 0.1 * now[1:-1] * (now[2:] - now[:-2])
        old, now = now, new
    return now + old


def two_of_one(u0, v0, steps):
    old, now = u0 * v0, u0 * 0.5
    for _ in range(steps):
        new = now * 0.9 + 0.1 * old * now[::-1]
        old, now = now, new
    return now * old


def same_start(u0, v0, steps):
    """Both names begin as one array, which is returned too."""
    old = now = start = u0 * v0
    for _ in range(steps):
        new = now * 0.9 + 0.1 * old * v0
        old, now = now, new
    return start + now * old


def start_read_inside(u0, v0, steps):
    u = start = u0 * 1.5
    for _ in range(steps):
        u = u * 0.5 + start * v0
    return u


def start_read_after(u0, v0, steps):
    start = u0 * 1.5
    u = start
    for _ in range(steps):
        u = u * 0.5 + v0
    return u + start


def step_kept(u0, v0, steps):
    """What was current in one step is read in the last."""
    u = kept = u0 * 1.0
    for t in range(steps):
        new = u * v0
        if t == 1:
            kept = u
        u = new
    return u + kept


def views_carried(u0, v0, steps):
    u = u0 * 1.0
    w = u[::-1]
    for _ in range(steps):
        new = u * v0 + w
        w = u[::-1]
        u = new
    return u + w


def window_overwritten(u0, v0, steps):
    """The copy is written to as well, and read after the array was."""
    u = u0.copy()
    for _ in range(steps):
        un = u.copy()
        un[0] = un[0] * 0.5
        u[1:] = un[:-1] * v0[1:]
        un[-1] = u[0] * u[-1]
        u[0] = u[0] + un[-1] + un[1]
    return u


def copied_late(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        u[0] = u[0] * v0[0]
        un = u.copy()
        u[1:] = un[1:] * un[:-1]
        u[-1] = u[-1] + un[-1]
    return u


def copied_twice(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        un = u.copy()
        u[1:] = un[:-1] * v0[1:]
        um = u.copy()
        u[:-1] = um[1:] + un[:-1]
    return u


def in_a_branch(u0, v0, steps):
    u = u0.copy()
    for t in range(steps):
        un = u.copy()
        if t % 2 == 0:
            u[1:] = un[:-1] * v0[1:]
        else:
            u[:-1] = un[1:] + v0[1:]
    return u


def nested(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        w = u * 0.5
        for _ in range(3):
            new = w * v0 + 0.1 * u
            w = new
        un = u.copy()
        u[1:] = un[:-1] + w[1:]
    return u


def swapped_besides(u0, v0, steps):
    a, b, u = u0.copy(), v0.copy(), u0.copy()
    for _ in range(steps):
        u = u * a + b
        a, b = b, a
    return u + a


def ends_early(u0, v0, steps):
    u = u0
    for t in range(steps):
        new = u * 0.5 + v0
        if t == 2:
            break
        u = new
    return u


def argument_overwritten(u0, v0, steps):
    """The first step changes the caller's array, which the name still stands for."""
    u = u0
    for _ in range(steps):
        u[0] = v0[1] * 0.5
        u = u * v0
    return u * 1.0


def argument_changed_besides(u0, v0, steps):
    """What the loop begins with may be what it writes to, if both arguments are one array."""
    u = u0
    for _ in range(steps):
        new = u * 0.5 + v0
        v0[0] = u[1] * 0.3
        u = new
    return u * v0


def result_overwritten(u0, v0, steps):
    """Without steps the result is the caller's array."""
    u = u0
    for _ in range(steps):
        u = u * v0
    u[0] = 0.5 * u[1]
    return u * 1.0


def argument_changed_after(u0, v0, steps):
    u = u0
    for _ in range(steps):
        u = u * v0
    u0[1] = 0.7
    return u * u


def overwritten_in_place(u0, v0, steps):
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * v[1:-1] * (u[2:] - u[:-2])
        v[1:-1] = 0.5 * v[2:] * u[:-2] + v[:-2]
        u[0] = u[1] * v[0]
    return u * v


def turned_in_place(u0, v0, steps):
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        u[:] = 0.5 * u[::-1] + 0.1 * v
        v[1:] = v[:-1] * u[1:]
        v[:-1] = v[1:] + u[:-1]
    return u + v


def overwritten_and_returned(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        u[1:-1] = u[1:-1] * v0[1:-1] + 0.1 * (u[2:] + u[:-2])
    return u


def parts_overwritten(u0, v0, steps):
    """Of one statement most of the array remains; the other is read in between."""
    u, v = u0.copy(), v0.copy()
    for _ in range(steps):
        u[:2] = 0.5 * u[1:3] + u[:2]
        w = u[1:] * 0.5
        u[1:] = u[:-1] * 0.5 + v[1:] * w
        v[::2] = v[::2] * u[::2]
    return u * v


def rim_changed(u0, v0, steps):
    """Both ends are copied in each step, but one changes then; of v, none does, and the start is read after."""
    u, v = u0.copy(), v0.copy()
    start = v
    for _ in range(steps):
        un, vn = u.copy(), v.copy()
        un[1:-1] = u[1:-1] * v[2:] + 0.1 * u[:-2]
        vn[1:-1] = v[1:-1] * 0.5 + u[2:] * v[:-2]
        un[-1] = un[0] * v[-1]
        u, v = un, vn
    return u * v + start


def rim_of_the_old_changed(u0, v0, steps):
    u = u0.copy()
    for _ in range(steps):
        u[0] = u[1] * v0[0]
        un = u.copy()
        un[1:-1] = u[1:-1] * v0[2:] + 0.1 * u[:-2]
        u = un
    return u


def rim_of_various_width(u0, v0, steps):
    u = u0.copy()
    for t in range(steps):
        un = u.copy()
        k = t % 2 + 1
        un[k:-k] = u[k:-k] * v0[2 * k :] + 0.1 * u[: -2 * k]
        u = un
    return u


def overwritten_in_a_branch(u0, v0, steps):
    u = u0.copy()
    for t in range(steps):
        if t % 2 == 0:
            u[1:-1] = u[2:] * v0[1:-1] + u[:-2]
        u[1:-1] += 0.1 * u[:-2] * u[2:]
    return u


PROGRAMS = [
    *(overwritten_in_place, turned_in_place, overwritten_and_returned, parts_overwritten, overwritten_in_a_branch),
    *(rim_changed, rim_of_the_old_changed, rim_of_various_width),
    *(copied, made, bound_again, two_back, two_of_one, same_start, start_read_inside, start_read_after, step_kept),
    views_carried,
    *(argument_overwritten, argument_changed_besides, result_overwritten, argument_changed_after),
    *(window_overwritten, copied_late, copied_twice, in_a_branch, nested, swapped_besides, ends_early),
]


def check_call(function: Callable[..., Any], compiled: Any, given: Any, *, same: bool) -> None:
    """The result and the arguments afterwards are those of Python, also for one array as both arguments."""
    outcomes = []
    for call in (function, compiled):
        u, v = given[0].copy(), given[1].copy()
        outcomes.append([call(u, u if same else v, given[2]), u, v])
    for expected, found in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(found, expected)


def check(function: Callable[..., Any], sizes: list[tuple[int, int]], steps: list[int]) -> None:
    def squares(u0, v0, steps):
        r = function(u0, v0, steps)
        return np.sum(r * r)

    compiled, summed = jit_grad(function), jit_grad(argnums=(0, 1))(squares)
    for n, m in sizes:
        rng = np.random.default_rng(10 * n + m)
        for count in steps:
            given = rng.uniform(0.3, 0.9, n), rng.uniform(0.3, 0.9, m), count
            try:
                function(*(a.copy() for a in given[:2]), count)
            except (ValueError, IndexError) as error:
                with pytest.raises(type(error)):
                    compiled(*given)
                continue
            for _ in range(2):
                check_call(function, compiled, given, same=False)
            if n == m:
                check_call(function, compiled, given, same=True)
            gradients = summed.grad(*given)
            check_gradients(summed, given, dict(enumerate(gradients)), rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_values_and_gradients(function: Callable[..., Any]) -> None:
    check(function, [(5, 5), (2, 2), (3, 3)], [0, 1, 2, 5])


@pytest.mark.parametrize("function", [copied, made, two_back, overwritten_in_place, bound_again])
def test_lengths_that_stretch_or_do_not_fit(function: Callable[..., Any]) -> None:
    check(function, [(3, 5), (5, 3), (4, 5), (1, 1), (1, 4), (4, 1)], [0, 3])


def test_loops_carry_two_buffers() -> None:
    """Nothing is allocated in a step; of what is copied, at most the rim."""
    for function in (copied, made, two_of_one, overwritten_in_place, overwritten_and_returned):
        compiled = jit_grad(function)
        compiled(np.ones(6), np.ones(6), 2)
        text = compiled.dump_ir("simplified")
        fast = text[text.index("scf.for") :]
        fast = fast[: fast.index("scf.yield")]
        assert "memref.alloc" not in fast, function.__name__
        assert not [line for line in fast.split("\n") if "memref.copy" in line and "strided" not in line], fast


@pytest.mark.parametrize("seed", range(12))
def test_random_steps(seed: int) -> None:
    """Statements on three names: new, copied, overwritten, exchanged, read."""
    draw = random.Random(seed)
    lines = [
        "u = u * 0.5 + 0.2 * v",
        "w = u.copy()",
        "w = v * u",
        "w = np.empty_like(u); w[:] = 0.4 * u + v",
        "u[1:-1] = 0.3 * w[2:] + w[:-2] * u[1:-1]",
        "v[1:] = 0.5 * w[1:] - 0.1 * u[:-1]",
        "w[1:-1] += 0.1 * u[:-2]",
        "u, w = w, u",
        "v, w = w, v",
        "v = w.copy()",
        "u[0] = v[-1] * w[1]",
        "v = 0.5 * u[::-1] + 0.1 * w",
        "u[1:-1] += 0.1 * (u[2:] - u[:-2])",
        "w[1:] = w[:-1] * v[1:]",
    ]
    body = "\n        ".join(draw.choice(lines) for _ in range(draw.randint(2, 6)))
    text = f"""import numpy as np


def f(u0, v0, steps):
    u, v, w = u0.copy(), v0.copy(), u0 * v0
    for _ in range(steps):
        {body}
    return u + 2.0 * v + 3.0 * w
"""
    with loaded(text) as names:
        check(names["f"], [(5, 5), (3, 3)], [0, 1, 4])


def test_a_rim_that_no_step_changes_is_copied_once() -> None:
    compiled = jit_grad(overwritten_and_returned)
    compiled(np.ones(6), np.ones(6), 2)
    fast = compiled.dump_ir("simplified").partition("scf.for")[2].partition("scf.yield")[0]
    assert "memref.copy" not in fast and "memref.store" in fast
