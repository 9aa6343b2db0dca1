"""``print`` in compiled code: the same text as in Python, in order, once; to the current sys.stdout."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import threading
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad, prange
from adc.border.options import Selection
from adc.border.signature import abstracts_of
from adc.commands.ahead import compile_ahead
from adc.errors import AdcError, CompileError

Point = namedtuple("Point", "x y")


def numbers(x, u, n):
    print(x, n, x > 1.0, x * 1e22, -0.0 * x, x / 3.0, 1e-300 * x, n**3, -n)
    print(float("inf") * x, np.sqrt(-u[0]), u[0], np.float32(x), n // 2, x // 0.3)


def texts(x, u, n):
    print("a", 'b"c', "{x}", f"{x:.3f} and {n:>5d}|{u[1]:e}|{x!r:>8}", "%5.2f" % x,  # noqa: UP031
          str(x) + "!", "\u00e9\n", sep="")
    print(None, True, int, Point, (1, "a"), sep=", ")


def containers(x, u, n):
    print((x, n), [x, "a", u[0]], {"a": x, 3: (n,)}, Point(x, 2.0), (x,), [], ())


def arrays(x, u, n):
    a = u * x
    print(a, a[::-2], a > 1.0, np.arange(n), np.zeros((2, 3)), u[:0], sep="\n")
    print(a[None, :] * a[:, None])
    print("mixed", a, n, "end")


def ends(x, u, n):
    print("no newline", end="")
    print()
    print(x, end=";", flush=True)
    print(sep="x", end="!\n", file=None)


def to_stderr(x, u, n):
    print("out", x)
    print("err", x, file=sys.stderr)
    print("out again", file=sys.stdout)


def in_loops(x, u, n):
    for i in range(n):
        for j in range(i):
            print(i, j, u[i] * u[j])
        if i % 2 == 0:
            print("even", i)
        else:
            continue
        print("after")
    while x > 1.0:
        x *= 0.5
        print("half", x)


def changing(x, u, n):
    a = u.copy()
    print(a)
    a[1] = x
    print(a)
    a *= 2.0
    b = a[1:]
    print(b)
    b[0] = 0.0
    print(a)


def helper(v, name):
    print("helper", name, v)
    return v * v


def in_callees(x, u, n):
    y = helper(x, "first") + helper(u[0], "second")
    print("sum", y, helper(y, name="third"))


def down(n, x):
    print("down", n)
    return x if n == 0 else down(n - 1, x * 0.5)


def in_recursion(x, u, n):
    print(down(n, x))


def in_parallel(x, u, n):
    for i in prange(n):
        print("item", i, u[i])
        u[i] = x * i


def chosen(x, u, n):
    name = "small"
    if x > 1.0:
        name = "large"
    print(name, f"<{name}>")


def unused(x, u, n):
    y = x * x
    print("only", y)
    nothing = print("nothing")
    print(nothing is None)


def short_circuits(x, u, n):
    x > 1.0 and print("large")
    x > 1.0 or print("small")
    (u[0] > 0.0 and x > 2.0 and print("both")) or print("not both")
    print("a") if u[1] > 0 else print("b")


class Shown:
    def __init__(self, v):
        self.v = v

    def __str__(self):
        return f"Shown of {self.v:.2f}"


def described(v, name):
    return f"{name}={v:.2e}"


def texts_of_callees(x, u, n):
    label = described(x, "x")
    if x > 1.0:
        label = described(x * x, "x")
    print(label, described(u[0], "u"))


def objects(x, u, n):
    print(Shown(x), "and", Shown(2.0))


PROGRAMS = [
    numbers, texts, containers, arrays, ends, to_stderr, in_loops, changing, in_callees, in_recursion, in_parallel,
    chosen, unused, texts_of_callees, objects, short_circuits,
]  # fmt: skip
U = np.array([0.5, 1.25, -2.0, 3.0, 1 / 3, 7.0])


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("x", [0.7, 3.5])
def test_the_same_text(fn: Any, x: float, capsys: pytest.CaptureFixture[str]) -> None:
    with np.errstate(all="ignore"):
        fn(x, U.copy(), 5)
        expected = capsys.readouterr()
        jit_grad(fn)(x, U.copy(), 5)
    assert capsys.readouterr() == expected and (expected.out or expected.err)


def measured(x, u, n):
    s = 0.0
    for i in range(n):
        s += x * u[i] * np.sin(s)
        if i % 2:
            print("step", i, s)
    print("done", u[:2])
    return s * s


def test_derivatives_print_once(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = jit_grad(measured)
    measured(1.5, U, 5)
    expected = capsys.readouterr().out
    for run in (
        lambda: compiled.grad(1.5, U, 5),
        lambda: compiled.value_and_grad(1.5, U, 5),
        lambda: adc.jvp(measured, (1.5, U, 5), (1.0, None, None)),
        lambda: adc.grad(measured, 1)(1.5, U, 5),
        lambda: adc.hvp(measured, (1.5, U, 5), (1.0, None, None)),
    ):
        run()
        assert capsys.readouterr().out == expected
    _, back = compiled.pullback(1.5, U, 5)
    assert capsys.readouterr().out == expected
    back(1.0)
    assert capsys.readouterr().out == ""


def test_derivatives_are_what_they_are_without() -> None:
    def quiet(x, u, n):
        s = 0.0
        for i in range(n):
            s += x * u[i] * np.sin(s + 1.0)
        return s * s

    def loud(x, u, n):
        s = 0.0
        for i in range(n):
            s += x * u[i] * np.sin(s + 1.0)
            print(s)
        return s * s

    for one, other in zip(adc.grad(loud, (0, 1))(1.5, U, 5), adc.grad(quiet, (0, 1))(1.5, U, 5), strict=True):
        assert np.allclose(one, other, rtol=1e-13)


def test_between_what_python_writes(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("in f", x)
        return x

    compiled = jit_grad(f)
    print("before")
    compiled(1.0)
    sys.stdout.write("between\n")
    compiled(2.0)
    print("after")
    assert capsys.readouterr().out == "before\nin f 1.0\nbetween\nin f 2.0\nafter\n"


def test_redirected(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = jit_grad(lambda x: print("value", x, file=sys.stdout))
    compiled(1.0)
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        compiled(2.0)
    compiled(3.0)
    assert text.getvalue() == "value 2.0\n" and capsys.readouterr().out == "value 1.0\nvalue 3.0\n"


def test_before_an_exception(capsys: pytest.CaptureFixture[str]) -> None:
    def f(u, k):
        print("reading", k)
        v = u[k]
        print("read", v)
        if v > 1.0:
            raise ValueError(f"large: {v}")
        print("small")
        return v

    compiled = jit_grad(f)
    for k in (0, 1, 9):
        for call in (f, compiled, compiled.pullback):
            with contextlib.suppress(ValueError, IndexError):
                call(U, k)
        out = capsys.readouterr().out
        assert out == out[: len(out) // 3] * 3, k


def test_mapped(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x):
        print("item", x)
        return x * x

    assert np.array_equal(adc.vmap(f)(U), U * U)
    mapped = capsys.readouterr().out
    for x in U:
        f(x)
    assert mapped.replace("np.", "") == capsys.readouterr().out


def test_interpreted(capsys: pytest.CaptureFixture[str]) -> None:
    arrays(1.5, U, 3)
    expected = capsys.readouterr().out
    jit_grad(_engine="interpreter")(arrays)(1.5, U, 3)
    assert capsys.readouterr().out == expected


def test_from_another_thread(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = jit_grad(lambda x: print("here", x))
    threads = [threading.Thread(target=compiled, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = capsys.readouterr().out.splitlines()
    assert sorted(lines) == [f"here {float(k)}" for k in range(4)]


def test_in_a_second_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADC_CACHE", "1")
    monkeypatch.setenv("ADC_CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "printing.py"
    file.write_text("""
import numpy as np
from adc import jit_grad
@jit_grad
def f(x, u):
    print("x is", x, u)
    return x * u[0]
print(f.grad(2.0, np.array([1.5, 2.5])))
""")
    for _ in range(2):
        found = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
        assert found.stdout == "x is 2.0 [1.5 2.5]\n1.5\n", found.stderr


def test_not_in_object_files(tmp_path: Path) -> None:
    def f(x):
        print(x)
        return x

    with pytest.raises(AdcError, match=r"an object file cannot call print\(\)") as caught:
        compile_ahead(jit_grad(f)._subject, abstracts_of(("x",), (1.0,)), Selection(), tmp_path / "f.o")
    assert caught.value.help


def other_file(x):
    print(x, file=io.StringIO())


def wrong_option(x):
    print(x, colour="red")


def compared_text(x):
    return 1.0 if f"{x}" == "1.0" else 2.0


def chosen_end(x):
    print(x, end=x)


@pytest.mark.parametrize("fn", [other_file, wrong_option, chosen_end, compared_text], ids=lambda f: f.__name__)
def test_refused(fn: Any) -> None:
    with pytest.raises(CompileError) as caught:
        jit_grad(fn)(1.0)
    assert caught.value.help


def test_a_schedule_cannot_act_on_a_loop_that_prints() -> None:
    def f(u, n):
        u = u.copy()
        for _ in range(n):
            for i in range(len(u)):
                u[i] = np.sin(u[i])
            print(u[0])
        return np.sum(u)

    with pytest.raises(AdcError, match="it prints"):
        jit_grad(f, checkpoint=adc.revolve(3)).grad(U, 10)


class Broken(io.StringIO):
    """A stream on which the second line is an error."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error

    def write(self, text: str) -> int:
        if self.getvalue().count("\n"):
            raise self.error
        return super().write(text)


def steps(x, u, n):
    for k in range(n):
        u[k] = x
        print(k)
    return x * x


def outcome(function: Any, error: BaseException | None, *args: Any) -> tuple[Any, str, list[float]]:
    u = np.zeros(3)
    stream = io.StringIO() if error is None else Broken(error)
    if error is None:
        stream.close()
    with contextlib.redirect_stdout(stream), pytest.raises(BaseException) as raised:
        function(2.0, u, 3)
    return raised.value, "" if error is None else stream.getvalue(), u.tolist()


@pytest.mark.parametrize("error", [None, BrokenPipeError(32, "Broken pipe"), KeyboardInterrupt(), SystemExit(3)])
def test_errors_of_streams_are_raised(error: BaseException | None) -> None:
    compiled = jit_grad(steps)
    want = outcome(steps, error)
    for engine in (compiled, compiled.grad):
        raised, shown, held = outcome(engine, error)
        assert (type(raised), raised.args, shown) == (type(want[0]), want[0].args, want[1])
        assert engine is compiled.grad or held == want[2]
        assert raised is error or isinstance(raised, ValueError)
        if engine is compiled:
            assert "print(k)" in "".join(raised.__notes__)
    with contextlib.redirect_stdout(io.StringIO()) as stream:  # as if nothing had been
        compiled(2.0, np.zeros(3), 3)
    assert stream.getvalue() == "0\n1\n2\n"
