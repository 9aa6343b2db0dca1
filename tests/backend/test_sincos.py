"""Sine and cosine of a number are computed together: accurate, SIMD, with the same bits in vectors and outside."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from mpmath import mp

from adc import jit_grad
from adc.backend import target
from adc.backend.ahead import aot, cabi
from adc.backend.lowering import lower
from adc.backend.optimize import optimize
from adc.ir.text.parser import parse_module
from tests.backend.lowering_harness import Native

HOST = target.host()
fused = pytest.mark.skipif(not HOST.fused, reason="no fused multiply-add here")
M = "memref<?xf64>"
_BOTH = f"""
func.func @main(%x: {M}, %s: {M}, %c: {M}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : {M}
  HEAD {{
    %v = memref.load %x[%i] : {M}
    %a = math.sin %v : f64
    %b = math.cos %v : f64
    memref.store %a, %s[%i] : {M}
    memref.store %b, %c[%i] : {M}
    END
  }}
  func.return
}}
"""
_IN_ORDER = _BOTH.replace("HEAD", "scf.for %i = %c0 to %n step %c1").replace("END", "scf.yield")
_PARALLEL = _BOTH.replace("HEAD", "scf.parallel (%i) = (%c0) to (%n) step (%c1)").replace("END", "scf.reduce()")


@pytest.fixture(scope="module", params=[_IN_ORDER, _PARALLEL], ids=["in order", "parallel"])
def both(request: pytest.FixtureRequest) -> Native:
    return Native(parse_module(request.param))


def computed(native: Native, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    sines, cosines = np.empty_like(x), np.empty_like(x)
    native("main", x, sines, cosines)
    return sines, cosines


def sample(rng: np.random.Generator, count: int) -> np.ndarray:
    """Ordinary numbers, tiny ones, multiples of pi/2 and their neighbours, large ones."""
    multiples = np.round(rng.uniform(-1e7, 1e7, count)) * (np.pi / 2)
    return np.concatenate(
        [
            rng.uniform(-8.0, 8.0, count),
            np.copysign(10.0 ** rng.uniform(-320, 7, count), rng.uniform(-1, 1, count)),
            multiples,
            np.nextafter(multiples, 0.0),
            rng.uniform(-(2.0**26), 2.0**26, count),
            np.copysign(10.0 ** rng.uniform(7, 300, count), rng.uniform(-1, 1, count)),
        ]
    )


def test_within_two_units_in_the_last_place(both: Native) -> None:
    x = sample(np.random.default_rng(1), 150)
    with mp.workdps(400):
        exact = [(mp.sin(mp.mpf(float(v))), mp.cos(mp.mpf(float(v)))) for v in x]
        for found, k in zip(computed(both, x), range(2), strict=True):
            for v, value, truth in zip(x, found, exact, strict=True):
                unit = np.spacing(abs(float(truth[k])))
                assert abs(mp.mpf(float(value)) - truth[k]) <= 2 * mp.mpf(float(unit)), (v, value)


def test_special_values(both: Native) -> None:
    x = np.array([0.0, -0.0, 5e-324, -5e-324, np.inf, -np.inf, np.nan])
    sines, cosines = computed(both, x)
    assert np.array_equal(sines[:4], x[:4]) and np.array_equal(np.signbit(sines[:4]), np.signbit(x[:4]))
    assert np.array_equal(cosines[:4], np.ones(4))
    assert np.isnan(sines[4:]).all() and np.isnan(cosines[4:]).all()


def test_the_same_bits_wherever_in_the_array(both: Native) -> None:
    """Vectors, the rest of a loop, and vectors in which another lane needs the library."""
    rng = np.random.default_rng(2)
    x = rng.permutation(np.concatenate([sample(rng, 40), [np.nan, np.inf, 1e300]]))
    whole = np.stack(computed(both, x))
    for size in (1, 3, 7, 100):
        for start in range(0, 90, size + 7):
            part = np.stack(computed(both, x[start : start + size].copy()))
            assert np.array_equal(part, whole[:, start : start + size], equal_nan=True)


@fused
def test_the_loop_is_simd_and_calls_nothing_but_for_large_numbers(both: Native) -> None:
    assembly = both.optimized.assembly()
    main = assembly[assembly.index("adc.main") :]
    assert re.search(r"vfn?madd|fmla", main)
    called = set(re.findall(r"\b(?:callq?|bl)\s+\"?([\w$.]+)", main.split(".cfi_endproc")[0]))
    for_large = {f"adc$own.sincos.{n}.library" for n in (2, 4, 8, 16)}
    assert {name.split("@")[0] for name in called} <= for_large | {"adc$own.sincos"}
    assert any(name.endswith(".library") for name in called)


def code(text: str, cpu: str) -> str:
    return str(lower.lower_module(parse_module(text), target.for_cpu(cpu)))


@pytest.mark.skipif(not HOST.is_x86, reason="names of x86 processors")
def test_two_registers_at_once() -> None:
    """Where loops go along arrays, and nothing is called as well that is for single registers."""
    with_another = _PARALLEL.replace("math.cos %v", "math.exp %v").replace("%b = ", "%d = math.cos %v : f64\n    %b = ")
    for cpu, lanes in (("x86-64-v3", 8), ("x86-64-v4", 16)):
        width = f'"llvm.loop.vectorize.width", i32 {lanes}'
        assert width in code(_PARALLEL, cpu)
        optimized = optimize(code(_PARALLEL, cpu), target.for_cpu(cpu)).llvm_ir()
        assert f"<{lanes} x double>" in optimized.split("@adc.main")[1]
        for other in (_IN_ORDER, with_another):
            assert width not in code(other, cpu)


def test_without_fused_multiply_adds_they_are_apart() -> None:
    if not HOST.is_x86:
        pytest.skip("all processors of this kind have them")
    old = target.for_cpu("x86-64")
    text = code(_IN_ORDER, "x86-64")
    assert "sincos" not in text
    assert "sin" in optimize(text, old).assembly()


@fused
def test_where_nothing_becomes_simd_there_is_one_for_numbers_alone(both: Native) -> None:
    module, variants = parse_module(_PARALLEL), "vector-function-abi-variant"
    assert variants in str(lower.lower_module(module))
    plain = Native(module, level=0)
    assert "adc$own.sincos.library" in str(plain.lowered) and variants not in str(plain.lowered)
    x = sample(np.random.default_rng(5), 50)
    for found, expected in zip(computed(plain, x), computed(both, x), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.usefixtures("optimised")
def test_gradients_share_them() -> None:
    def f(x):  # type: ignore[no-untyped-def]
        total = 0.0
        for i in range(len(x)):
            total += math.sin(x[i]) ** 2 * math.cos(2.0 * x[i])
        return total

    x = np.linspace(-3.0, 3.0, 37)
    expected = 2 * np.sin(x) * np.cos(x) * np.cos(2 * x) - 2 * np.sin(x) ** 2 * np.sin(2 * x)
    function = jit_grad(f)
    np.testing.assert_allclose(function.grad(x), expected, rtol=0, atol=4e-15)
    if HOST.fused:
        assert "adc$own.sincos" in function.dump_ir("llvm")


@fused
def test_all_parts_of_an_object_file_are_simd(capfd: pytest.CaptureFixture[str]) -> None:
    """The second part's copy of the functions would have another name, under which no variant is found."""
    modules = {name: parse_module(_PARALLEL.replace("@main", f"@{name}")) for name in ("one", "two")}
    parts = [aot.Part(module, (cabi.primal(module, name, name),)) for name, module in modules.items()]
    text = aot.build(parts, "one", HOST, threads=False).llvm_ir()
    assert "remark" not in capfd.readouterr().err
    assert len(re.findall(r'^define .*@"?adc\$sincos"?\(', text, re.M)) <= 1
    for name in modules:
        body = re.search(rf'^define [^\n]*@"?(adc\.)?{name}"?\(.*?^}}', text, re.M | re.S)
        assert body is not None and f"fmul <{HOST.twofold_lanes} x double>" in body[0]
