"""Where the source of a function is found: lambdas on one line, private names, programs that are not files."""

import importlib.util
import os
import subprocess
import sys
import textwrap
import time
from unittest import mock

import numpy as np
import pytest

import adc
from adc import jit_grad
from adc.frontend.syntax import texts


def run(*arguments, text=None, stdin=None):
    """What a Python process prints, or the last line of its error."""
    # Where an earlier process has compiled the same code, its text is not asked for.
    environment = {**os.environ, "PYTHONPATH": os.getcwd(), "ADC_CACHE": "0"}
    done = subprocess.run(
        [sys.executable, *arguments], input=text, stdin=stdin, capture_output=True, text=True, env=environment
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr


def imported(path, text):
    path.write_text(textwrap.dedent(text))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    # Bytecode of a text as long, written in the same second, would pass for that of this one.
    with mock.patch.object(sys, "dont_write_bytecode", True):
        spec.loader.exec_module(module)
    return module


# Lambdas --------------------------------------------------------------------------------------------------------------


def test_lambda_within_a_lambda():
    assert (lambda: adc.grad(lambda x: x**2)(3.0))() == 6.0
    outer = lambda x: (lambda x: x * x)(x) + x
    assert adc.grad(outer)(3.0) == 7.0
    assert adc.grad(lambda x: (lambda: (lambda x: x * x * x)(x))())(2.0) == 12.0


def test_lambdas_in_a_list():
    fs = [lambda x: x, lambda x: 2 * x, lambda x: 2 * x, lambda x: x * x, lambda x: (lambda x: 5 * x)(x)]
    assert [adc.grad(f)(3.0) for f in fs] == [1.0, 2.0, 2.0, 6.0, 5.0]


def test_lambdas_in_a_dict_with_characters_of_two_bytes():
    fs = {"ä": lambda x: 2 * x, "öö": lambda x: 3 * x, "ü": lambda x: x if x > 0 else 4 * x}
    assert [adc.grad(f)(-3.0) for f in fs.values()] == [2.0, 3.0, 4.0]


def test_lambdas_over_lines():
    fs = (lambda x:
          x * 2, lambda x: x
          * 3,
          lambda x: (
              x * 4))  # fmt: skip
    assert [adc.grad(f)(1.0) for f in fs] == [2.0, 3.0, 4.0]


def test_lambdas_of_constants():
    fs = [lambda x: 1.0, lambda x: 2.0, lambda x: -3.0, lambda x: 1 + 3.0]
    assert [jit_grad(f)(0.5) for f in fs] == [1.0, 2.0, -3.0, 4.0]


def test_lambdas_as_defaults_and_arguments():
    def both(f, g=lambda x: 10 * x, h=lambda x: 100 * x):
        return adc.grad(lambda x: f(x) + g(x) + h(x))

    assert both(lambda x: x)(1.0) == 111.0
    assert both(lambda x: x, lambda x: 2 * x)(1.0) == 103.0


# Private names --------------------------------------------------------------------------------------------------------


class _Account:
    __rate = 3.0

    def __init__(self):
        self.__a = 2.0
        self.__dunder__ = 7.0

    def value(self, x):
        return self.__a * x

    def __twice(self, x):
        return 2 * x

    def calls(self, x):
        return self.__twice(x) + self.__rate * x

    def nested(self, x):
        __k = 5.0

        def __inner(__y):
            return __y * __k * self.__a

        return __inner(x)

    def lambdas(self, x):
        return (lambda __x: __x * self.__a)(x)

    def sets(self, x):
        self.__a = self.__a + 1.0
        return self.__a * x

    def dunder(self, x):
        return self.__dunder__ * x

    class __Part:
        __c = 11.0

        def part(self, x):
            return self.__c * x

    def parts(self, x):
        return self.__Part().part(x)


class Derived(_Account):
    def __init__(self):
        super().__init__()
        self.__a = 13.0

    def own(self, x):
        return self.__a * x + self.value(x)


@pytest.mark.parametrize("name", ["value", "calls", "nested", "lambdas", "sets", "dunder", "parts"])
def test_private_names(name):
    method = getattr(_Account, name)
    expected = method(_Account(), 1.5)
    assert jit_grad(method)(_Account(), 1.5) == expected
    assert adc.grad(method, 1)(_Account(), 1.5) == pytest.approx(expected / 1.5)


def test_private_names_of_a_subclass():
    assert jit_grad(lambda d, x: d.own(x))(Derived(), 1.0) == 15.0


# Programs that are no files -------------------------------------------------------------------------------------------

PROGRAM = """import adc
def f(x):
    return x * x * x
print(adc.grad(f)(2.0), adc.grad(lambda x: x * x)(3.0))
"""


def test_argument_of_the_interpreter():
    assert run("-c", PROGRAM) == "12.0 6.0"
    assert run("-Wignore", "-Bc", PROGRAM, "more", "-c") == "12.0 6.0"


def test_a_file_as_standard_input(tmp_path):
    path = tmp_path / "program.txt"
    path.write_text(PROGRAM)
    with path.open() as file:
        assert run(stdin=file) == "12.0 6.0"
    with path.open() as file:
        assert run("-", stdin=file) == "12.0 6.0"


def test_a_pipe_as_standard_input():
    error = run(text=PROGRAM)
    assert "Python keeps no text of what it read from standard input" in error
    assert "save the program as a file and run that" in error


def test_text_of_another_program_is_not_taken():
    inner = "f = lambda x: x * x * x * x"
    error = run("-c", f"import adc\nexec({inner!r})\nprint(adc.grad(f)(2.0))")
    assert "made from text that Python does not keep" in error
    error = run("-c", f"import adc\nexec(compile({inner!r}, '<string>', 'exec'))\nprint(adc.grad(f)(2.0))")
    assert "made from text that Python does not keep" in error


# Files that change ----------------------------------------------------------------------------------------------------


def test_a_file_that_was_changed_after_import(tmp_path):
    path = tmp_path / "changing.py"
    module = imported(path, "def f(x):\n    return 2 * x\n\ndef g(x):\n    return 3 * x\n")
    path.write_text("def f(x):\n    return 2 * x\n\ndef g(x):\n    return 5 * x\n")
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert adc.grad(module.f)(1.0) == 2.0  # is as it was
    with pytest.raises(adc.AdcError, match="was changed after import") as caught:
        adc.grad(module.g)(1.0)
    assert "import the module again" in str(caught.value)
    assert adc.grad(imported(path, path.read_text()).g)(1.0) == 5.0


def test_a_file_that_was_compiled_before_it_changed(tmp_path):
    path = tmp_path / "lasting.py"
    module = imported(path, "def f(x):\n    return 2 * x\n")
    f = jit_grad(module.f)
    assert f(1.0) == 2.0
    path.write_text("def f(x):\n    return 5 * x\n")
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert f(1.0) == 2.0
    assert f.grad(1.0) == 2.0  # of what was read for the value
    with pytest.raises(adc.AdcError, match="was changed after import"):
        f(np.ones(3))


def test_assertions_that_pytest_has_rewritten():
    """In a file that was saved just before pytest began, which may have been after it was imported."""

    def f(x):
        assert x > 0
        return x * x

    assert "@py_assert1" in f.__code__.co_varnames  # pytest has
    with mock.patch.object(texts, "_STARTED", 0.0):
        assert adc.grad(f)(3.0) == 6.0


def test_a_function_that_was_moved_in_its_file(tmp_path):
    path = tmp_path / "moving.py"
    module = imported(path, "def f(x):\n    return 2 * x\n\ng = [lambda x: 3 * x, lambda x: 4 * x]\n")
    path.write_text("# new lines\n# above\n" + path.read_text().replace("lambda x: 3", "lambda  x:  3"))
    os.utime(path, (time.time() + 5, time.time() + 5))
    assert [adc.grad(f)(1.0) for f in (module.f, *module.g)] == [2.0, 3.0, 4.0]


def test_code_that_was_compiled_without_what_is_before_it(tmp_path):
    """As IPython's autoreload does: the lines of the code are not those of the file."""
    path = tmp_path / "reloaded.py"
    module = imported(path, "def f(x):\n    return 2 * x\n\ndef g(x):\n    return f(x)\n")
    g = jit_grad(module.g)
    assert g(1.0) == 2.0
    changed = "def f(x):\n    y = 5 * x\n    return y + x\n"
    path.write_text("# more\n" * 7 + changed + "\ndef g(x):\n    return f(x)\n")
    os.utime(path, (time.time() + 5, time.time() + 5))
    made = {}
    exec(compile(changed, str(path), "exec"), made)
    module.f.__code__ = made["f"].__code__
    assert g(1.0) == 6.0 and g.grad(1.0) == 6.0


def test_equal_constants_of_other_types_are_other_code(tmp_path):
    path = tmp_path / "constants.py"
    module = imported(path, "def f(x):\n    return x * 0.0\n")
    path.write_text("def f(x):\n    return x * -0.0\n")
    os.utime(path, (time.time() + 5, time.time() + 5))
    with pytest.raises(adc.AdcError, match="was changed after import"):
        jit_grad(module.f)(1.0)
