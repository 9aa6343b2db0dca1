"""Sums over shots: the same bits as a loop, on any executor, and whatever happens to it."""

from __future__ import annotations

import concurrent.futures
import functools
import gc
import io
import multiprocessing
import pickle
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures.process import BrokenProcessPool
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.backend import granted, runtime
from adc.shots import executors, parcels
from adc.shots.in_order import _LOST
from tests.functions import surveyed
from tests.functions.surveyed import Ground, shot, survey

ROOT = Path(__file__).resolve().parents[2]
MODEL, SHOTS = survey(7)


@functools.cache
def looped() -> tuple[float, Ground]:
    """The sum by a loop."""
    function = adc.value_and_grad(shot)
    found = [function(*MODEL, *args) for args in SHOTS]
    value, speed, loss = found[0][0], found[0][1].speed.copy(), found[0][1].loss
    for more, by in found[1:]:
        value, speed, loss = value + more, speed + by.speed, loss + by.loss
    return value, Ground(speed, loss)


def bits(found: tuple[Any, Any]) -> tuple[bytes, ...]:
    value, ground = found
    return np.float64(value).tobytes(), ground.speed.tobytes(), np.float64(ground.loss).tobytes()


def is_right(found: tuple[Any, Any]) -> bool:
    return bits(found) == bits(looped())


def test_sum_is_right() -> None:
    value, by = adc.sum_shots(shot, SHOTS, MODEL)
    assert is_right((value, by)) and by.names is None
    assert value == pytest.approx(sum(shot(*MODEL, *args) for args in SHOTS), rel=1e-13)
    h = 1e-6
    for k in range(len(by.speed)):
        ends = []
        for sign in (1, -1):
            speed = MODEL[0].speed.copy()
            speed[k] += sign * h
            ends.append(sum(shot(Ground(speed, MODEL[0].loss), MODEL[1], *args) for args in SHOTS))
        assert by.speed[k] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-6, abs=1e-8)


# What runs shots ------------------------------------------------------------------------------------------------------


class Fake:
    """Runs tasks when their results are asked for, as processes would: sent, in random order, by workers that know
    what they were sent."""

    def __init__(self, workers: int = 3, seed: int = 0) -> None:
        self._max_workers = workers
        self.kept: list[dict[Any, Any]] = [{} for _ in range(workers)]
        self.random = random.Random(seed)
        self.open: list[concurrent.futures.Future[Any]] = []
        self.most = 0
        self.bytes: list[int] = []

    def submit(self, function: Callable[[Any], Any], task: Any) -> Any:
        future: Any = concurrent.futures.Future()
        text = pickle.dumps((function, task))
        self.bytes.append(len(text))
        future.text = text
        waiting = future.result
        future.result = lambda: self.run_some(future) or waiting()
        self.open.append(future)
        self.most = max(self.most, len(self.open))
        return future

    def run_some(self, wanted: Any) -> None:
        """Others than the one that is wanted, too."""
        while not wanted.done():
            k = self.random.randrange(len(self.open))
            future: Any = self.open[k]
            before, parcels._kept = parcels._kept, self.random.choice(self.kept)
            try:
                function, task = pickle.loads(future.text)
                future.set_result(pickle.loads(pickle.dumps(function(task))))
            finally:
                parcels._kept = before
            del self.open[k]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("in_flight", [None, 1, 3, 50])
def test_whoever_is_first(seed: int, in_flight: int | None) -> None:
    fake = Fake(seed=seed)
    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=fake, in_flight=in_flight))
    assert fake.most <= (in_flight or 6)
    fake.open.clear()


def test_what_shots_share_is_sent_once_for_each_worker() -> None:
    fake = Fake(2)
    large = np.arange(100_000.0)
    shots = [(float(k),) for k in range(30)]
    weighted = lambda x, a, k: np.sum(a) * x * k
    value, by = adc.sum_shots(weighted, shots, (2.0, large), executor=fake)
    assert by == np.sum(large) * sum(range(30)) and value == 2.0 * by
    with_model = sum(size > large.nbytes for size in fake.bytes)
    assert 2 <= with_model <= 4  # a worker may get it with two shots before it has run one
    before = len(fake.bytes)
    for x in (3.0, 4.0, 5.0):
        assert adc.sum_shots(weighted, shots, (x, large), executor=fake)[1] == by
    assert not any(size > large.nbytes for size in fake.bytes[before:])
    fake.kept[1].clear()  # another process
    assert adc.sum_shots(weighted, shots, (2.0, large), executor=fake)[1] == by
    assert sum(size > large.nbytes for size in fake.bytes[before:]) <= 4  # that were in flight


def test_shots_are_taken_when_they_are_needed() -> None:
    taken: list[int] = []

    def shots() -> Iterator[float]:
        for k in range(20):
            taken.append(k)
            yield float(k)

    ahead: list[int] = []
    adc.sum_shots(
        lambda x, k: x * k, shots(), 2.0, executor=Fake(), in_flight=4, progress=lambda *_: ahead.append(len(taken))
    )
    assert max(n - k for k, n in enumerate(ahead)) <= 4


class OnlyMap:
    def map(self, function: Callable[[Any], Any], tasks: list[Any]) -> Iterator[Any]:
        return map(function, tasks)


class LikeJoblib:
    """``joblib.Parallel`` is called with functions, arguments and keywords."""

    n_jobs = 2

    def __call__(self, calls: Any) -> list[Any]:
        return [function(*args, **named) for function, args, named in calls]


def test_what_has_map() -> None:
    for executor in (OnlyMap(), LikeJoblib(), OnlyMap):
        for in_flight in (None, 2):
            assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=executor, in_flight=in_flight))


def test_threads() -> None:
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=pool))
        # In one process nothing is pickled, so anything may be captured.
        lock = threading.Lock()
        held = jit_grad(lambda x, k: x * k if lock is not None else 0.0)
        assert adc.sum_shots(held, [1.0, 2.0], 3.0, executor=pool) == (9.0, 3.0)


@pytest.fixture(scope="module")
def spawned() -> Iterator[Any]:
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield pool


def test_processes(spawned: Any) -> None:
    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=spawned))
    slope = 3.0
    local = lambda x, k: slope * x * k
    assert adc.sum_shots(local, [1.0, 2.0], 2.0, executor=spawned) == (18.0, 9.0)
    with pytest.raises(ValueError, match="not this one") as caught:
        adc.sum_shots(surveyed.fails, range(5), 2.0, executor=spawned)
    *_, where, here = caught.value.__notes__
    assert here == "in shot 2 of 5 (counted from 0)" and where.startswith("in process ")
    assert adc.sum_shots(local, [1.0, 2.0], 2.0, executor=spawned) == (18.0, 9.0)


def test_pool_of_multiprocessing() -> None:
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=pool))


class Killing:
    """A pool of which a worker is killed if there is a file to say so."""

    def __init__(self, file: Path | None) -> None:
        self.pool = concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("fork"))
        self.file = file
        self.submitted = 0

    def submit(self, function: Any, task: Any) -> Any:
        self.submitted += 1
        if self.submitted == 4 and self.file is not None:
            self.file.touch()
        return self.pool.submit(surveyed.killed_once, str(self.file), task)


def test_a_worker_is_killed(tmp_path: Path) -> None:
    made: list[Killing] = []

    def make() -> Killing:
        made.append(Killing(None if made else tmp_path / "kill"))
        return made[-1]

    try:
        assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=make))
        assert len(made) == 2
    finally:
        for killing in made:
            killing.pool.shutdown()


# What goes wrong ------------------------------------------------------------------------------------------------------


class Breaking:
    """A pool that loses a worker after some tasks, with what was not run."""

    def __init__(self, after: int, error: Callable[[], Exception]) -> None:
        self.left = after
        self.error = error

    def submit(self, function: Any, task: Any) -> Any:
        future: Any = concurrent.futures.Future()
        if self.left == 0:
            future.set_exception(self.error())
        else:
            self.left -= 1
            future.set_result(function(task))
        return future


class Refusing(Breaking):
    """The same, where ``submit`` raises it."""

    def submit(self, function: Any, task: Any) -> Any:
        if self.left == 0:
            raise self.error()
        return super().submit(function, task)


def broken() -> Exception:
    return BrokenProcessPool("a process ended")


@pytest.mark.parametrize("kind", [Breaking, Refusing])
@pytest.mark.parametrize("after", [1, 2, 3, 5])
def test_lost_shots_run_again_in_a_new_pool(kind: type[Breaking], after: int) -> None:
    made: list[Breaking] = []

    def make() -> Breaking:
        made.append(kind(after, broken))
        return made[-1]

    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=make))
    assert len(made) > 1


@pytest.mark.parametrize("kind", [Breaking, Refusing])
def test_a_pool_that_lost_a_worker_is_an_error(kind: type[Breaking]) -> None:
    with pytest.raises(adc.errors.WorkerError, match=r"shot 4 of 7.*lost a worker") as caught:
        adc.sum_shots(shot, SHOTS, MODEL, executor=kind(4, broken))
    assert caught.value.kind == "lost-worker" and "executor=functools.partial(" in caught.value.help
    assert isinstance(caught.value, RuntimeError)


def test_a_shot_that_ends_all_its_workers_is_an_error() -> None:
    made: list[Breaking] = []

    def make() -> Breaking:
        made.append(Breaking(0, broken))
        return made[-1]

    with pytest.raises(adc.errors.WorkerError, match=r"shot 0 of 7.* was lost 3 times"):
        adc.sum_shots(shot, SHOTS, MODEL, executor=make)
    assert len(made) == 1 + _LOST


class Ending(Breaking):
    """A pool that one shot ends each time, and all that come after it."""

    def submit(self, function: Any, task: Any) -> Any:
        self.left = 0 if task.args == (3.0,) else self.left
        return super().submit(function, task)


def test_the_shot_that_ends_its_workers_is_named() -> None:
    for in_flight in (1, 2, 5, 50):
        with pytest.raises(adc.errors.WorkerError, match=r"shot 3 of 7.* was lost 3 times"):
            adc.sum_shots(
                lambda x, k: x * k, np.arange(7.0), 2.0, executor=lambda: Ending(99, broken), in_flight=in_flight
            )


def test_many_pools_may_be_lost_as_long_as_shots_end() -> None:
    made: list[Breaking] = []

    def make() -> Breaking:
        made.append(Breaking(1, broken))
        return made[-1]

    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=make, in_flight=7))
    assert len(made) == 7


def test_a_cancelled_shot_runs_again() -> None:
    """As clients of Dask raise it where all workers that had the model are lost."""
    cancelled = [concurrent.futures.CancelledError()]
    pool = Breaking(0, lambda: cancelled.pop())
    submit = pool.submit

    def once(function: Any, task: Any) -> Any:
        pool.left = 1 if not cancelled else 0
        return submit(function, task)

    pool.submit = once  # type: ignore[method-assign]
    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=pool))


def test_a_pool_that_a_function_makes_is_kept_as_long_as_the_function() -> None:
    made: list[Any] = []

    class Pool(OnlyMap):
        def __init__(self) -> None:
            made.append(id(self))

    make = functools.partial(Pool)
    for _ in range(3):
        assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=make))
    assert len(made) == 1
    pool = weakref.ref(executors._made[make][1])
    del make
    gc.collect()
    assert pool() is None


def test_a_pool_that_was_shut_down_is_made_again() -> None:
    def make() -> concurrent.futures.ThreadPoolExecutor:
        return concurrent.futures.ThreadPoolExecutor(2)

    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=make))
    executors._made[make][1].shutdown()
    assert is_right(adc.sum_shots(shot, SHOTS, MODEL, executor=make))
    executors._made[make][1].shutdown()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        pass
    with pytest.raises(RuntimeError, match="shutdown"):
        adc.sum_shots(shot, SHOTS, MODEL, executor=pool)


def test_exceptions_name_the_shot() -> None:
    for executor in (None, Fake(), OnlyMap()):
        with pytest.raises(ValueError, match="not this one") as caught:
            adc.sum_shots(surveyed.fails, [0, 1, 2, 3, 2], 2.0, executor=executor)
        assert caught.value.__notes__[-1] == "in shot 2 of 5 (counted from 0)"
        with pytest.raises(ValueError) as caught:
            adc.sum_shots(surveyed.fails, iter([2]), 2.0, executor=executor)
        assert caught.value.__notes__[-1] == "in shot 0"
        with pytest.raises(adc.errors.AdcError, match="not defined for float and str") as refused:
            adc.sum_shots(surveyed.fails, [1, "text"], 2.0, executor=executor)
        assert str(refused.value).count("for this call") == 1
        assert any(note.message == "in shot 1 of 2 (counted from 0)" for note in refused.value.notes)


def test_exceptions_that_cannot_be_sent() -> None:
    answer = pickle.loads(pickle.dumps(parcels.Failed(surveyed.Deaf("one", "two"))))
    assert type(answer.error) is RuntimeError and str(answer.error) == "Deaf: one"


def test_shots_that_cannot_be_sent(spawned: Any) -> None:
    with pytest.raises(TypeError, match="pickle") as caught:
        adc.sum_shots(surveyed.fails, [1, threading.Lock()], 2.0, executor=spawned)
    assert caught.value.__notes__[-1].startswith("in shot ")


def test_refusals() -> None:
    with pytest.raises(adc.AdcError, match="there are no shots"):
        adc.sum_shots(shot, [], MODEL)
    for executor in (3, "dask", lambda: None):
        with pytest.raises(adc.AdcError, match="executor must have submit, apply_async or map"):
            adc.sum_shots(shot, SHOTS, MODEL, executor=executor)
    for in_flight in (0, -1, 2.0):
        with pytest.raises(adc.AdcError, match="in_flight must be a positive integer"):
            adc.sum_shots(shot, SHOTS, MODEL, in_flight=in_flight)  # type: ignore[arg-type]
    for chosen in ({"argnums": (0, 3)}, {"argnames": "heard"}):
        with pytest.raises(adc.AdcError, match="by argument heard, which is not of the model") as caught:
            adc.sum_shots(shot, SHOTS, MODEL, **chosen)  # type: ignore[arg-type]
        assert "has 2 arguments here" in caught.value.help
    with pytest.raises(adc.AdcError, match="by argument x, which is not of the model"):
        adc.sum_shots(surveyed.one, [1.0])


def test_arguments_that_overlap() -> None:
    """In this process they are one; what is sent is a copy of each."""

    def reads(x, y, k):
        return np.sum(x * y) * k

    def writes(x, y, k):
        x[0] = y[1] * k
        return np.sum(x * y)

    def writes_inside(x, y, k):
        return writes(x, y[0], k)

    a = np.arange(1.0, 4.0)
    for executor in (None, Fake()):
        value, by = adc.sum_shots(reads, [1.0, 2.0], (a, a[::-1]), argnums=(0, 1), executor=executor)
        assert value == 30.0 and by[0].tolist() == [9.0, 6.0, 3.0] and by[1].tolist() == [3.0, 6.0, 9.0]
        adc.sum_shots(writes, [1.0, 2.0], (a[:1], a[1:]), executor=executor)
    for function, model in (writes, (a, a)), (writes, (a, a[::-1])), (writes_inside, (a, [a])):
        adc.sum_shots(function, [1.0, 2.0], model)
        with pytest.raises(adc.AdcError, match="shares memory with another one") as caught:
            adc.sum_shots(function, [1.0, 2.0], model, executor=Fake())
        assert caught.value.kind == "overlapping-arguments"
    ground, other = Ground(a, 1.0), Ground(a.copy(), 2.0)

    def product(one, two, k):
        return np.sum(one.speed * two.speed) * one.loss * k

    twice = adc.sum_shots(product, [1.0], (ground, ground))[1]
    apart = adc.sum_shots(product, [1.0], (ground, other))[1]
    assert np.array_equal(twice.speed, 2.0 * apart.speed)  # so they cannot be sent as two
    assert bits(adc.sum_shots(product, [1.0], (ground, other), executor=Fake())) == bits((14.0, apart))
    for model, one in ((ground, ground), 1.0), (ground, (ground, 1.0)):
        with pytest.raises(adc.AdcError, match="have an object in common"):
            adc.sum_shots(product, [one], model, executor=Fake())


# What is summed -------------------------------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: Any
    b: float


def test_gradients_of_all_containers_are_summed() -> None:
    def function(p, q, r, s, n, k):
        return np.sum(p["a"] * k) * q[0] + r.b * k + np.sum(r.a) * s * n

    model = {"a": np.arange(3.0, dtype=np.float32), "n": 3}, [2.0, "x"], Pair(np.ones((2, 2)), 4.0), np.float32(1.5), 2
    shots = [0.25, 1.0, -2.0]
    terms = [adc.value_and_grad(function, (0, 1, 2, 3))(*model, k) for k in shots]
    for executor in (None, Fake()):
        value, (p, q, r, s) = adc.sum_shots(function, shots, model, argnums=(0, 1, 2, 3), executor=executor)
        assert value == terms[0][0] + terms[1][0] + terms[2][0]
        assert p["a"].dtype == np.float32 and p["n"] is None
        assert np.array_equal(p["a"], sum(t[1][0]["a"] for t in terms))
        assert q == [terms[0][1][1][0] + terms[1][1][1][0] + terms[2][1][1][0], None]
        assert type(r) is Pair and r.b == sum(shots) and np.array_equal(r.a, 3 * terms[0][1][2].a)
        assert type(s) is type(terms[0][1][3]) and s == sum(t[1][3] for t in terms)


def test_gradients_of_structured_arrays_are_summed() -> None:
    inner = np.dtype([("w", np.float32)])
    a = np.zeros(2, [("x", float), ("n", int), ("v", float, (2,)), ("deep", inner)])
    a["x"], a["v"] = [1.0, 2.0], [[3.0, 4.0], [5.0, 6.0]]

    def function(a, k):
        return np.sum(a["x"] ** 2) * k + np.sum(a["v"] * a["v"]) + k * a["v"][0, 1]

    for executor in (None, Fake()):
        value, by = adc.sum_shots(function, [1.0, 3.0], a, executor=executor)
        assert value == 4.0 * 5.0 + 2 * 86.0 + 4.0 * 4.0 and by.dtype == a.dtype
        assert by["x"].tolist() == [8.0, 16.0] and by["v"].tolist() == [[12.0, 20.0], [20.0, 24.0]]
        assert not by["n"].any() and not by["deep"]["w"].any()


def test_what_gradients_are_by() -> None:
    @jit_grad(argnums=(1,))
    def product(x, y, k):
        return x * y * k

    assert adc.sum_shots(product, [1.0, 2.0], (3.0, 5.0)) == (45.0, (9.0,))
    assert adc.sum_shots(product, [1.0, 2.0], (3.0, 5.0), argnums=0) == (45.0, 15.0)
    assert adc.sum_shots(product, [1.0, 2.0], (3.0, 5.0), argnames=("x", "y")) == (45.0, {"x": 15.0, "y": 9.0})
    assert adc.sum_shots(product, [1.0, 2.0], (3.0, 5.0), argnums=()) == (45.0, ())
    assert adc.sum_shots(product.__wrapped__, [(5.0, 1.0), (5.0, 2.0)], 3.0) == (45.0, 15.0)
    assert adc.sum_shots(functools.partial(product, 3.0), [1.0, 2.0], 5.0, argnums=0) == (45.0, 9.0)


class Scaled:
    def __init__(self, rate: float) -> None:
        self.rate = rate

    @jit_grad
    def compiled(self, x, k):
        return self.rate * x * k

    def plain(self, x, k):
        return self.rate * x * k


@pytest.mark.parametrize("name", ["compiled", "plain"])
def test_methods(name: str) -> None:
    method = getattr(Scaled(2.0), name)
    for executor in (None, Fake()):
        value, by = adc.sum_shots(method, [1.0, 2.0], 5.0, argnums=0, executor=executor)
        assert (value, by) == (30.0, 6.0)


def test_arrays_of_the_caller_stay_as_they_are() -> None:
    model, shots = survey(3)
    before = pickle.dumps((model, shots))
    found = adc.sum_shots(shot, shots, model, executor=OnlyMap())
    assert pickle.dumps((model, shots)) == before
    kept = bits(found)
    adc.sum_shots(shot, shots, model, executor=OnlyMap())
    assert bits(found) == kept


# Progress, threads ----------------------------------------------------------------------------------------------------


def test_progress() -> None:
    told: list[tuple[int, int | None]] = []
    adc.sum_shots(shot, SHOTS[:3], MODEL, progress=lambda done, count: told.append((done, count)))
    adc.sum_shots(shot, iter(SHOTS[:1]), MODEL, progress=lambda done, count: told.append((done, count)))
    assert told == [(1, 3), (2, 3), (3, 3), (1, None)]
    shown = io.StringIO()
    with redirect_stderr(shown):
        adc.sum_shots(shot, SHOTS[:3], MODEL, progress=True)
    assert shown.getvalue() == "shots: 3 of 3\n"


def test_workers_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(granted, "processors", lambda: 8)
    monkeypatch.setattr(granted, "asked", lambda: None)
    monkeypatch.setattr(parcels, "_shared", None)
    before = runtime.threads()
    try:
        parcels._share(3)
        assert runtime.threads() == 2
        runtime.set_threads(5)  # by the user
        parcels._share(3)
        assert runtime.threads() == 5
        monkeypatch.setattr(granted, "asked", lambda: 4)
        parcels._share(2)
        assert runtime.threads() == 5
    finally:
        runtime.set_threads(before)


# With packages that may not be there ----------------------------------------------------------------------------------

SCRIPT = """
import sys
from dataclasses import dataclass
import numpy as np
import adc
sys.path.insert(0, {root!r})
from tests.functions import surveyed

@dataclass
class Ground(surveyed.Ground):
    pass

def misfit(ground, steps, source, heard):
    return surveyed.shot(ground, steps, source, heard)

def bits(found):
    return np.float64(found[0]).tobytes(), found[1].speed.tobytes(), type(found[1]) is Ground

if __name__ == "__main__":
    (ground, steps), shots = surveyed.survey(7)
    model = Ground(ground.speed, ground.loss), steps
    expected = bits(adc.sum_shots(misfit, shots, model))
{body}
    print("done")
"""


def run_script(body: str, folder: Path, *before: str) -> None:
    indented = "\n".join(f"    {line}" for line in body.strip().splitlines())
    (folder / "script.py").write_text(SCRIPT.format(root=str(ROOT), body=indented))
    command = [*before, str(folder / "script.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert done.stdout.endswith("done\n"), done.stderr


def test_joblib(tmp_path: Path) -> None:
    pytest.importorskip("joblib")
    body = """
    import os, signal
    import joblib
    from joblib.externals.loky import get_reusable_executor
    def kill(done, count):
        if done == 4:
            children = open("/proc/self/task/%d/children" % os.getpid()).read().split()
            workers = [pid for pid in children if "popen_loky" in open("/proc/" + pid + "/cmdline").read()]
            os.kill(int(workers[0]), signal.SIGKILL)
    for executor in joblib.Parallel(2), get_reusable_executor:
        for told in False, kill:
            assert bits(adc.sum_shots(misfit, shots, model, executor=executor, progress=told)) == expected
    """
    run_script(_dedented(body), tmp_path, sys.executable)


def test_dask(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    body = """
    import os, signal
    from distributed import Client
    def kill(done, count):
        if done == 2:
            for process in client.run(os.getpid).values():
                os.kill(process, signal.SIGKILL)
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        assert bits(adc.sum_shots(misfit, shots, model, executor=client)) == expected
        far = [(source, client.scatter(heard)) for source, heard in shots]
        assert bits(adc.sum_shots(misfit, far, model, executor=client)) == expected
        far = [(source, client.submit(np.array, heard)) for source, heard in shots]
        assert bits(adc.sum_shots(misfit, far, model, executor=client)) == expected
        assert bits(adc.sum_shots(misfit, shots, model, executor=client, progress=kill)) == expected
    """
    run_script(_dedented(body), tmp_path, sys.executable)


def test_mpi(tmp_path: Path) -> None:
    pytest.importorskip("mpi4py")
    mpiexec = Path(sys.executable).with_name("mpiexec")
    if not mpiexec.exists():
        pytest.skip("mpiexec is not installed beside Python")
    body = """
    from mpi4py.futures import MPIPoolExecutor
    with MPIPoolExecutor() as pool:
        assert bits(adc.sum_shots(misfit, shots, model, executor=pool)) == expected
    """
    run_script(_dedented(body), tmp_path, str(mpiexec), "-n", "3", sys.executable, "-m", "mpi4py.futures")


def _dedented(body: str) -> str:
    import textwrap

    return textwrap.dedent(body)
