"""Pickling and copying of users' objects: in this process, in a spawned one, from scripts, and by plain ``pickle``."""

import concurrent.futures
import copy
import dataclasses
import functools
import importlib.util
import multiprocessing
import os
import pickle
import subprocess
import sys
import textwrap

import cloudpickle
import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.border import pickling
from adc.border.options import Options, Selection
from adc.functions.decorator import JitFunction
from tests.functions import shipped


@pytest.fixture(scope="module")
def spawned():
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        yield pool


def shown(found):
    return repr(getattr(found, "todense", lambda: found)())


@pytest.mark.parametrize("name", shipped.SENT)
@pytest.mark.parametrize("package", [pickle, cloudpickle], ids=["pickle", "cloudpickle"])
def test_sent_to_another_process(name, package, spawned):
    make, args = shipped.SENT[name]
    made = make()
    expected = shown(made(*args))
    text = package.dumps(made)
    assert shown(pickle.loads(text)(*args)) == expected
    found, one_object, compiled_once = spawned.submit(shipped.answer, (text, args)).result()
    assert found == expected and one_object and compiled_once


def local():
    """Functions that no module has by name."""
    k, rate = np.array([2.0, 3.0]), 0.5

    def inner(x):
        return np.sum(k * x) * rate

    def calls(x):
        return helper(x) * inner(x)

    def differentiates(x):
        return adc.grad(lambda y: y * y * inner(y))(x)

    def helper(x, *, by=2.0):
        return by * x

    class Local:
        __private = 7.0

        @jit_grad
        def method(self, x):
            return self.__private * x * x

    ruled = lambda x: x * x
    adc.scalar_rule(ruled, lambda x: 100.0)
    return {
        "lambda": jit_grad(lambda x: x * x * x),
        "gradient of a lambda": adc.grad(lambda x: x * x * x),
        "one of several": [jit_grad(lambda x: x), jit_grad(lambda x: 2 * x), jit_grad(lambda x: 3 * x)][1],
        "closure": jit_grad(inner).grad,
        "callee": jit_grad(calls).grad,
        "gradient inside": jit_grad(differentiates),
        "method": Local().method.grad,
        "bound": adc.grad(functools.partial(lambda a, b: a * b * b, 3.0)),
        "map": adc.vmap(lambda x: x * x),
        "checkpointed": adc.checkpoint(lambda x: x * x),
        "rule": adc.grad(ruled),
        "hessian": adc.hessian(lambda x: x**3),
        "options": jit_grad(lambda x: x * x, argnums=0, threads=1, parallel=False).grad,
    }


LOCAL = local()


@pytest.mark.parametrize("name", LOCAL)
def test_sent_by_value(name, spawned):
    made = LOCAL[name]
    x = np.array([1.0, 2.0]) if name == "map" else 2.0
    package = cloudpickle if name == "method" else pickle  # for the object
    text = package.dumps(made)
    found, one_object, compiled_once = spawned.submit(shipped.answer, (text, (x,))).result()
    assert found == shown(made(x)) and one_object and compiled_once
    assert package.dumps(made) == text


def test_unpickled_here_it_is_the_same_object():
    for f in (shipped.product, shipped.product.grad, LOCAL["lambda"], LOCAL["map"], LOCAL["closure"], shipped.step):
        assert pickle.loads(pickle.dumps(f)) is f
        assert pickle.loads(cloudpickle.dumps(f)) is f
        assert copy.copy(f) is f and copy.deepcopy(f) is f
    model = shipped.Model(2.0)
    copied = copy.deepcopy(model.square)
    assert copied.func is model.square.func and copied.__self__ is not model and copied(3.0) == 18.0
    assert copy.copy(model.square) == model.square


def test_objects_that_hold_functions_are_copied():
    held = {"f": shipped.product, "g": [LOCAL["closure"]], "o": shipped.Model(2.0)}
    made = copy.deepcopy(held)
    assert made["f"] is held["f"] and made["g"][0] is held["g"][0] and made["o"] is not held["o"]


def test_what_is_captured_now_is_sent():
    k = 2.0
    f = jit_grad(lambda x: k * x)
    before = pickle.dumps(f)
    k = 5.0
    after = pickle.dumps(f)
    assert before != after


def test_only_so_many_are_remembered():
    for n in range(pickling._KEPT + 9):
        pickle.dumps(jit_grad(lambda x, n=n: x * n))
    assert len(pickling._known) == pickling._KEPT


def test_errors_come_back(spawned):
    with pytest.raises(adc.errors.CompileTypeError, match="not defined for str"):
        spawned.submit(shipped.raises, pickle.dumps(shipped.cube)).result()


def test_schedules_and_options():
    for schedule in (adc.revolve(snapshots=3), adc.every(4)):
        assert pickle.loads(pickle.dumps(schedule)) == schedule == copy.deepcopy(schedule)


def test_a_pullback_stays_here():
    _, back = adc.pullback(shipped.product, 2.0, 3.0)
    for dumps in (pickle.dumps, cloudpickle.dumps):
        with pytest.raises(adc.AdcError, match="pullback of a call of product cannot be pickled") as caught:
            dumps(back)
        assert isinstance(caught.value, TypeError) and "send product and its arguments" in str(caught.value)
    assert copy.copy(back) is back and copy.deepcopy([back]) == [back]


CHANGED = {
    "threads": 1,
    "parallel": False,
    "engine": "interpreter",
    "level": 1,
    "bounds": False,
    "contract": True,
    "accumulate": "private",
    "deterministic": False,
    "tile": (8,),
    "checkpoint": adc.revolve(3),
    "time_block": 2,
    "lapack": not Options().lapack,
    "debug": "nan",
}


@pytest.fixture
def module(monkeypatch, tmp_path):
    """A module that other processes may lack, with one function."""
    made = written(tmp_path / "first.py", "x * x * x")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    cloudpickle.register_pickle_by_value(made)
    yield made
    cloudpickle.unregister_pickle_by_value(made)


def written(path, formula):
    path.write_text(f"def cube(x):\n    return {formula}\n")
    spec = importlib.util.spec_from_file_location("sent_by_value", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_every_option_is_tried():
    own = {"shared"}  # of what adc.distribute makes, which is not sent
    assert CHANGED.keys() == {field.name for field in dataclasses.fields(Options)} - own


@pytest.mark.parametrize("what", [*CHANGED, "argnums", "argnames", "the code", "the kind"])
def test_what_was_compiled_otherwise_is_not_taken_for_it(what, module, monkeypatch, tmp_path):
    """The process that it comes to has another function at the place of the one that was sent."""
    plain, options = module.cube, Options(level=0)
    sent = module.cube = JitFunction(plain, Selection(), options)
    text = cloudpickle.dumps(sent)
    if what in CHANGED:
        there = JitFunction(plain, Selection(), dataclasses.replace(options, **{what: CHANGED[what]}))
    elif what == "the code":
        there = JitFunction(written(tmp_path / "second.py", "x * x * 2.0").cube, Selection(), options)
    elif what == "the kind":
        there = plain
    else:
        chosen = Selection((0,), False) if what == "argnums" else Selection((), False, ("x",))
        there = JitFunction(plain, chosen, options)
    module.cube = there
    monkeypatch.setattr(pickling, "_known", type(pickling._known)())  # as in another process
    found = pickle.loads(text)
    assert found is not there and found is not sent
    assert (found._subject.options, found._chosen) == (sent._subject.options, sent._chosen)
    assert found.grad(2.0) == 12.0
    module.cube = JitFunction(plain, Selection(), options)
    monkeypatch.setattr(pickling, "_known", type(pickling._known)())
    assert pickle.loads(text) is module.cube


def test_a_plain_function_is_not_taken_from_under_a_decorator(module, monkeypatch):
    """What is sent is made of a function that a module has; where it comes, the module has it compiled, otherwise."""
    plain = module.cube
    text = cloudpickle.dumps(jit_grad(plain))
    module.cube = jit_grad(contract=True)(plain)
    monkeypatch.setattr(pickling, "_known", type(pickling._known)())
    found = pickle.loads(text)
    assert isinstance(found, adc.JitFunction) and not found._subject.options.contract
    assert found.grad(2.0) == 12.0


def test_c_functions_at_one_place(module, monkeypatch):
    sent = module.function = adc.extern(None, "cos", "f64(f64)")
    sent.__module__, sent.__qualname__ = module.__name__, "function"
    text = pickle.dumps(sent)
    module.function = adc.extern(None, "sin", "f64(f64)")
    monkeypatch.setattr(pickling, "_known", type(pickling._known)())
    assert pickle.loads(text)(0.0) == 1.0


def test_without_cloudpickle(monkeypatch, spawned):
    monkeypatch.setattr(pickling, "_cloudpickle", lambda: None)
    for name in ("function", "gradient", "under another name", "gradient of a plain function", "map", "checkpointed"):
        make, args = shipped.SENT[name]
        text = pickle.dumps(make())
        found, one_object, _ = spawned.submit(shipped.answer, (text, args)).result()
        assert found == shown(make()(*args)) and one_object
    with pytest.raises(adc.AdcError, match="without the package cloudpickle") as caught:
        pickle.dumps(LOCAL["lambda"])
    assert "pip install" in str(caught.value) and "at the top of a module" in str(caught.value)


SCRIPT = '''
import pickle, sys
import numpy as np
import adc
from adc import jit_grad

DATA = np.array([1.0, 2.0])

@jit_grad
def loss(x):
    return np.sum(DATA * x) * scale(x)

def scale(x):
    return 3.0 * x

@jit_grad
def power(x, n):
    return x if n <= 0 else x * power(x, n - 1)

@jit_grad
def first(x):
    return x + gradient_of_second(x)

@jit_grad
def second(x):
    return x * x * x

gradient_of_second = adc.grad(second)

class Model:
    def __init__(self):
        self.w = 2.0

    @jit_grad
    def value(self, x):
        return self.w * x * x

class Derived(Model):
    @jit_grad
    def value(self, x):
        return super().value(x) + x

def user(x):
    """A plain function that uses compiled ones."""
    return loss.grad(x) + adc.grad(lambda y: y * y)(x)

SENT = [loss, loss.grad, power, first, first.grad, gradient_of_second, adc.grad(power), adc.vmap(scale)]
'''

TASKS = [
    ("loss", "2.0"), ("loss.grad", "2.0"), ("power", "2.0, 3"), ("first", "2.0"), ("first.grad", "2.0"),
    ("adc.grad(scale)", "2.0"), ("adc.vmap(scale)", "np.arange(3.0)"), ("Model().value.grad", "2.0"),
    ("Derived().value.grad", "2.0"), ("user", "2.0"), ("adc.hessian(second)", "2.0"),
]  # fmt: skip


def test_functions_of_a_script_in_a_process_without_it(tmp_path):
    """As workers of Dask and Ray get them: by cloudpickle, where the script's variables are not."""
    calls = "\n".join(f"results.append(({f}, ({a},), repr(({f})({a}))))" for f, a in TASKS)
    (tmp_path / "script.py").write_text(
        SCRIPT
        + "results = []\n"
        + calls
        + "\nimport cloudpickle\nopen(sys.argv[1], 'wb').write(cloudpickle.dumps(results))"
    )
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "script.py", "sent"]
    subprocess.run(command, check=True, cwd=tmp_path, env=environment)
    (tmp_path / "script.py").rename(tmp_path / "gone.py")  # another machine has no such file
    worker = """
        import pickle, sys
        wrong = 0
        for f, args, expected in pickle.load(open("sent", "rb")):
            try:
                found = repr(f(*args))
            except Exception as error:
                found = error
            if found != expected:
                print(f, found, expected)
        print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(worker)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("done", "")


def test_functions_of_a_script_in_processes_that_it_spawns(tmp_path):
    calls = "[" + ", ".join(f"({f}, ({a},))" for f, a in TASKS) + "]"
    (tmp_path / "script.py").write_text(
        SCRIPT
        + textwrap.dedent(f"""
            def call(task):
                f, args = task
                return repr(f(*args))

            if __name__ == "__main__":
                import multiprocessing
                tasks = {calls}
                with multiprocessing.get_context("spawn").Pool(1) as pool:
                    assert pool.map(call, tasks) == list(map(call, tasks))
                print("done")
        """)
    )
    environment = {**os.environ, "PYTHONPATH": os.getcwd()}
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (done.stdout.strip(), done.stderr) == ("done", "")
