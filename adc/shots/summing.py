"""``adc.sum_shots``: value and gradient summed over shots, on any executor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Any

from adc.border.boundary import public
from adc.border.options import ArgNames, ArgNums
from adc.functions.decorator import JitFunction, value_and_grad
from adc.functions.gradient_function import GradientFunction
from adc.ir import kinds
from adc.shots.bar import Tell, shown
from adc.shots.executors import Source
from adc.shots.in_order import Queue, in_shot
from adc.shots.parcels import Part
from adc.shots.totals import added, started


@public
def sum_shots(
    fn: Callable[..., Any],
    shots: Iterable[Any],
    model: Any = (),
    *,
    argnums: ArgNums = None,
    argnames: ArgNames = (),
    executor: Any = None,
    in_flight: int | None = None,
    progress: bool | Tell = False,
) -> tuple[Any, Any]:
    """``(value, gradient)`` of the sum of ``fn(*model, *shot)`` over all shots.

    ``model`` is a tuple of the first arguments, which are the same for all shots; ``shots`` is an iterable of tuples of
    the other arguments. Anything but a tuple is a single argument. ``argnums`` and ``argnames`` choose the arguments of
    the model with respect to which the gradient is taken, as in ``adc.grad``; the default is the choice of
    ``jit_grad``, or else the first argument. The gradient has the structure, shapes and dtypes of the argument. With
    ``argnums=()`` it is an empty tuple.

    ``executor`` runs the shots: anything with ``submit`` as in ``concurrent.futures`` (pools of threads and of
    processes, loky's, those of ``mpi4py.futures``), a client of Dask, a pool of ``multiprocessing`` or Ray, anything
    else with ``map``, joblib's ``Parallel``; or a function without parameters that makes one of these. None means this
    thread. Shots are added in order, so the sum has the same bits on any executor, whichever shot is finished first.

    The parts of the model that a worker does not have yet are sent to it once. At most ``in_flight`` shots, by default
    two for each worker, are sent and not yet summed, so no more gradients than that are held.

    An exception in a shot is raised here, with a note that names the shot. If a worker process dies during a shot, the
    shot is run again: by Dask itself, or in a new pool if ``executor`` is a function that makes one. A pool of
    ``concurrent.futures`` that lost a worker cannot run anything any more; this raises an error of kind
    ``lost-worker``.

    ``progress``: True shows a bar, or lines where there is no terminal; a function is called with the number of shots
    summed so far and the number of all shots (None if ``shots`` has no length).
    """
    if in_flight is not None and (not isinstance(in_flight, int) or in_flight < 1):
        raise kinds.INVALID_OPTION(f"in_flight must be a positive integer, not {in_flight!r}")
    given = model if type(model) is tuple else (model,)
    function = _derivative(fn, argnums, argnames)
    _check(function, len(given))
    count = len(shots) if isinstance(shots, Sized) else None
    with shown(progress, count) as tell:
        queue = Queue(tuple(map(Part, (function, *given))), Source(executor), in_flight, count)
        try:
            return _total(queue.answers(iter(shots)), tell, count)
        finally:
            queue.close()


def _derivative(fn: Any, argnums: ArgNums, argnames: ArgNames) -> Any:
    """The function that computes value and gradient."""
    if argnums is None and not argnames and isinstance(getattr(fn, "func", fn), JitFunction):
        return fn.value_and_grad
    return value_and_grad(fn, argnums, argnames)


def _check(function: Any, given: int) -> None:
    """Refuse a gradient with respect to arguments that differ between shots: the sum of such gradients has no
    meaning."""
    derivative = getattr(function, "func", function)
    if not isinstance(derivative, GradientFunction):
        return
    bound = len(getattr(function, "args", ()))
    names, chosen = derivative._subject.parameters.names, derivative._chosen
    asked = [*chosen.numbers, *(names.index(name) for name in chosen.names if name in names)]
    beyond = next((k for k in asked if k >= given + bound), None)
    if beyond is not None:
        name = names[beyond] if beyond < len(names) else f"number {beyond - bound}"
        raise kinds.WRONG_ARGNUMS(
            f"sum_shots: the gradient is by argument {name}, which is not of the model but differs from shot to shot",
            help=f"put it in the model, which has {given} argument{'s' * (given != 1)} here, or choose by argnums",
        )


def _total(answers: Iterator[tuple[int, Any]], tell: Tell, count: int | None) -> tuple[Any, Any]:
    value: Any = None
    gradient: Any = None
    done = 0
    for index, (one, by) in answers:
        try:
            if done == 0:
                value, gradient = one, started(by)
            else:
                value, gradient = value + one, added(gradient, by)
        except Exception as error:
            raise in_shot(error, index, count) from None
        done += 1
        tell(done, count)
    if done == 0:
        raise kinds.WRONG_ARGUMENTS("sum_shots: there are no shots", help="pass one shot at least")
    return value, gradient
