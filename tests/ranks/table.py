"""Physics programs through ``adc.distribute``, on one to six ranks: ``python -m tests.ranks.table`` prints a table.

A row says on how many layouts of ranks value and gradient have the bits of one rank, and whether these are the bits of
the plain function; and what is refused, and why.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

import adc
from adc import errors, jit_grad, mpi
from tests.ranks.domains import domains
from tests.ranks.fields import fields
from tests.ranks.physics import Program, programs
from tests.ranks.stencils import bits

RANKS: dict[int, tuple[tuple[int, ...], ...]] = {
    2: ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (4, 1), (2, 2), (6, 1), (2, 3), (3, 2))
}
RANKS[3] = (*((*ranks, 1) for ranks in RANKS[2]), (1, 2, 2), (2, 1, 3))
RANKS[1] = ((1,), (2,), (3,), (4,), (6,))
"""By the axes of a grid: along which axes there are how many ranks."""

SCHEDULES: dict[str, Any] = {"store all": None, "revolve": adc.revolve(2)}


def check(program: Program, schedule: Any, layouts: Any = None) -> tuple[int, str]:
    """On how many layouts of ranks value and gradient have the bits of one rank; and what else is to be said.

    Raises AssertionError if there is a wrong number."""
    f = jit_grad(argnums=program.wrt, checkpoint=schedule)(program.f)
    args = program.given()
    plain = program.f(*args)
    truth = jit_grad(argnums=program.wrt)(program.f).value_and_grad(*args)
    layouts = RANKS[len(program.shape)] if layouts is None else layouts
    right, said = 0, ""
    one: Any = None
    for ranks in layouts:
        try:
            found = on_ranks(ranks, f, program.shape, args)
        except (errors.CompileTypeError, errors.InternalError, ValueError) as error:
            said = said or f"{ranks}: {getattr(error, 'message', error)}"
            continue
        one = found[0] if one is None else one
        assert abs(found[0][0] - plain) <= 1e-12 * abs(plain), (ranks, found[0][0], plain)
        for a, b in zip(found[0][1], truth[1], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12 * float(np.max(np.abs(b))), err_msg=str(ranks))
        assert all(bits(each) == bits(one) for each in found), f"other bits on {ranks}"
        right += 1
    if not said and bits(one) != bits(truth):
        parts = zip(("value", *map(str, program.wrt)), (one[0], *one[1]), (truth[0], *truth[1]), strict=True)
        said = "other last bits than the function's: " + ", ".join(k for k, a, b in parts if bits(a) != bits(b))
    return right, said


def on_ranks(ranks: tuple[int, ...], f: Any, shape: tuple[int, ...], args: tuple[Any, ...]) -> list[Any]:
    """The value and the gradient, in one piece, as each rank has them."""

    def run() -> Any:
        grid = adc.Grid(shape, ranks)
        value, gradient = adc.distribute(f, grid).value_and_grad(*args)
        return value, tuple(grid.gather(x) if isinstance(x, adc.Field) else x for x in gradient)

    return mpi.simulate(int(np.prod(ranks)), run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="of programs, or how they begin")
    names = parser.parse_args().names
    for program in (*programs(), *fields(), *domains()):
        name = program.f.__name__
        if names and not any(name.startswith(given) for given in names):
            continue
        for title, schedule in SCHEDULES.items():
            try:
                right, said = check(program, schedule)
                found = f"{right} of {len(RANKS[len(program.shape)])}"
            except Exception as error:
                found, said = "WRONG" if isinstance(error, AssertionError) else "RAISES", f"{error}"[:300]
            print(f"{name:18} {title:10} {found:9} {said}", flush=True)


if __name__ == "__main__":
    main()
