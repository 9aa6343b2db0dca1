"""Reports, forecasts and ``adc explain`` use the words of the program: no types, names or operations of the IR."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adc import checkpoint, jit_grad, prange
from adc.cli import main
from adc.ir.core import Loc
from adc.ir.types import IntType, MemRefType, RecordType, f32, f64, i1, index
from adc.reports.report_details import in_words, of_program, type_in_words

IR = re.compile(
    r"memref|[%@]|\bindex\b|\b(?:scf|arith|math|func|adc|linalg)\.\w+|\bi64\b|\bheld\b|<[?]|\.(?:aug|rev|grad)\b"
)


@dataclass(frozen=True)
class Point:
    x: float
    y: float


def heat(u0: Any, r: Any, n: Any) -> Any:
    u = u0.copy()
    for _ in range(n):
        u[1:-1] += r * (u[:-2] - 2.0 * u[1:-1] + u[2:])
    return np.sum(u**2)


def burgers(u: Any, n: Any) -> Any:
    v = u.copy()
    for _ in range(n):
        w = v.copy()
        for i in range(1, len(u) - 1):
            v[i] = w[i] * (w[i + 1] - w[i - 1]) + np.sin(w[i])
    return np.sum(v)


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def looked_up(table: Any, at: Any, x: Any) -> Any:
    total = 0.0
    for k in range(len(at)):
        total += table[at[k]] * np.sin(x[k])
    return total


def listed(x: Any, n: Any) -> Any:
    seen = []
    for _ in range(n):
        x = np.sin(x) * 1.1
        seen.append(x)
    return sum(s * s for s in seen)


def walked(p: Any, n: Any) -> Any:
    for _ in range(n):
        p = Point(p.x * p.y, p.y + np.sin(p.x))
    return p.x


def solved(K: Any, y: Any) -> Any:
    return y @ np.linalg.solve(K, y) + np.linalg.slogdet(K)[1]


def spectrum(z: Any) -> Any:
    return np.sum(np.abs(np.fft.fft(z)) ** 2)


def again(x: Any, n: Any) -> Any:
    return x if n < 1 else again(x * x, n - 1) + np.sin(x)


def masked(x: Any) -> Any:
    y = x.copy()
    y[y > 0.5] = 0.0
    return np.sum(y * np.where(x > 0.2, np.sqrt(x), 0.0)) + np.median(x)


def shared_out(x: Any, n: Any) -> Any:
    out = np.zeros(n)
    for i in prange(n):
        for j in range(len(x)):
            out[i] += np.exp(-x[j] * i)
    return np.sum(out)


def named(d: Any, n: Any) -> Any:
    total = 0.0
    for _ in range(n):
        total += d["a"] * np.cos(total) + d["b"]
    return total


def layer(x: Any) -> Any:
    return np.tanh(x) * x


def layers(x: Any, n: Any) -> Any:
    for _ in range(n):
        x = checkpoint(layer)(x)
    return np.sum(x)


def scaled(a: Any, b: Any) -> Any:
    return a * np.sin(b)


def moved(u: Any, n: Any) -> Any:
    for _ in range(n):
        u[1:] = u[:-1] * u[1:]
    return np.sum(u)


CALLS = {
    heat: (np.ones(8), 0.2, 3),
    burgers: (np.ones(8), 3),
    newton: (3.0,),
    looked_up: (np.ones(5), np.array([0, 3, 2]), np.ones(3)),
    listed: (0.3, 4),
    walked: (Point(0.1, 0.2), 3),
    solved: (np.eye(3), np.ones(3)),
    spectrum: (np.ones(6) * (1 + 2j),),
    again: (0.3, 4),
    masked: (np.linspace(0.0, 1.0, 9),),
    shared_out: (np.ones(4), 3),
    named: ({"a": 1.0, "b": 2.0}, 3),
    layers: (np.ones(4), 3),
    scaled: (np.ones(3), np.ones(3)),
    moved: (np.ones(5), 2),
}


@pytest.mark.parametrize("program", CALLS, ids=lambda f: f.__name__)
def test_a_report_is_in_the_words_of_the_program(program: Any) -> None:
    function = jit_grad(program, argnums=tuple(k for k, a in enumerate(CALLS[program]) if not _passive(a)))
    function(*(a.copy() if isinstance(a, np.ndarray) else a for a in CALLS[program]))
    report = function.report()
    told = re.sub(r"^\w+\(.*\)$", "", str(report), flags=re.MULTILINE)  # the signature, as it is written
    assert not IR.findall(told), told
    assert not IR.findall(report.summary())
    data = report.as_dict()
    assert not IR.findall(json.dumps([data["stored"], data["advice"], data["with_respect_to"], data["overlap"]]))
    assert not any(IR.search(loop["reason"]) for loops in data["loops"].values() for loop in loops)
    if report.what == "gradient" and program is not spectrum:  # of that it is not known before what it takes
        assert not IR.findall(str(function.grad.forecast(*CALLS[program])))


def _passive(argument: Any) -> bool:
    return isinstance(argument, int) or (isinstance(argument, np.ndarray) and argument.dtype.kind == "i")


def test_arguments_are_as_the_program_writes_them() -> None:
    told = str(jit_grad(heat, argnums=(0, 1)).report("f64[::1], f64, i64"))
    assert "\n  u0: array of float64 with 1 axis: active\n  r: float: active, in forward mode\n  n: int: pass" in told
    told = str(jit_grad(looked_up).report("f32[::1], i32[::1], f64[:]"))
    assert "  at: array of int32 with 1 axis: passive" in told and "to table: private" in told
    for program, names in ((walked, ("p.x", "p.y")), (named, ("d['a']", "d['b']"))):
        function = jit_grad(program)
        function(*CALLS[program])
        assert function.report().with_respect_to == names
        assert f"\n  {names[0]}: float: active\n" in str(function.report())
    function = jit_grad(spectrum)
    function(*CALLS[spectrum])
    assert "  z: array of complex128 with 1 axis: active" in str(function.report())


def test_loops_are_as_the_program_writes_them() -> None:
    first = heat.__code__.co_firstlineno
    told = str(jit_grad(heat).report("f64[::1], f64, i64"))
    assert f"loops of heat\n  line {first + 2} (for _): in order, since it carries u" in told
    assert f"  line {first + 3} (reverse sweep): " in told.partition("loops of the gradient of heat")[2]
    told = str(jit_grad(newton).report("f64"))
    assert f"  line {newton.__code__.co_firstlineno + 2} (while): in order\n" in told
    told = str(jit_grad(solved).report("f64[:, ::1], f64[::1]"))
    assert "loops of the gradient of solved" in told and "triangles" not in told and "elimination" not in told


def test_types_in_words() -> None:
    for t, words in (
        (MemRefType((None,), f64), "array of float64 with 1 axis"),
        (MemRefType((None, 3), f32), "array of float32 with 2 axes"),
        (MemRefType((), i1), "array of bool with 0 axes"),
        (MemRefType((None,), IntType(16, unsigned=True)), "array of uint16 with 1 axis"),
        (MemRefType((None, 2), f32), "array of complex64 with 1 axis"),
        (MemRefType((None,), MemRefType((None,), f64)), "list of arrays"),
        (f64, "float"),
        (f32, "float32"),
        (index, "int"),
        (i1, "bool"),
        (RecordType(), "record of a call"),
    ):
        assert type_in_words(t) == words
    assert in_words("@note.aug may raise an error") == "the forward sweep of note may raise an error"
    assert in_words("memref.alloc in the step") == "new memory in the step"
    assert in_words("adc.grow in the loop (line 3)") == "an operation (grow) in the loop (line 3)"
    assert not of_program("f", Loc(np.__file__, 1)) and of_program("heat", Loc(__file__, heat.__code__.co_firstlineno))


def test_explain_is_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = "import numpy as np\ndef f(x: 'f64[:]', n: int) -> float:\n    for _ in range(n):\n        x *= x\n"
    (tmp_path / "program.py").write_text(program + "    return np.sum(x)\n")
    assert main(["explain", f"{tmp_path / 'program.py'}:f", "--no-simd"]) == 0
    told = capsys.readouterr().out
    assert "  x: array of float64 with 1 axis: active" in told and "memref" not in told and "@" not in told
