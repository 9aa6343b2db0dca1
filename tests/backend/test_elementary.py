"""adc's own exp, log, tanh, sin and cos, for targets without libmvec: accurate, SIMD, the same bits everywhere."""

from __future__ import annotations

import functools
import re
from dataclasses import replace

import numpy as np
import pytest
from mpmath import mp

from adc.backend import target
from adc.backend.lowering import lower
from adc.backend.optimize import optimize
from adc.backend.triples import for_triple
from adc.ir.text.parser import parse_module
from tests.backend.lowering_harness import Native

OWN = replace(target.host(), vector_math=False)
needs_fma = pytest.mark.skipif(not OWN.fused, reason="no fused multiply-add here")
NAMES = ("exp", "log", "tanh", "sin", "cos")
ULPS = {"exp": 1.1, "log": 1.0, "tanh": 3.0, "sin": 1.5, "cos": 1.5}


def program(kind: str) -> str:
    memref = f"memref<?x{kind}>"
    functions = [
        f"""
func.func @{name}(%x: {memref}, %y: {memref}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, 0 : {memref}
  scf.for %i = %c0 to %n step %c1 {{
    %v = memref.load %x[%i] : {memref}
    %a = math.{name} %v : {kind}
    memref.store %a, %y[%i] : {memref}
    scf.yield
  }}
  func.return
}}"""
        for name in NAMES
    ]
    return "\n".join(functions)


@functools.cache
def native(kind: str = "f64") -> Native:
    return Native(parse_module(program(kind)), target=OWN)


def computed(name: str, x: np.ndarray) -> np.ndarray:
    y = np.empty_like(x)
    native("f32" if x.dtype == np.float32 else "f64")(name, x, y)
    return y


def sample(name: str, count: int) -> np.ndarray:
    rng = np.random.default_rng(7)
    size = 10.0 ** rng.uniform(-320, 2, count)
    near = {
        "exp": rng.uniform(-750.0, 712.0, count),
        "log": np.concatenate([1 - 10.0 ** rng.uniform(-16, -1, count), 10.0 ** rng.uniform(-323, 308, count)]),
        "tanh": rng.uniform(-25.0, 25.0, count),
    }.get(name, rng.uniform(-1e5, 1e5, count))
    return np.concatenate([rng.uniform(0.0, 4.0, count), size, near, -size[: 0 if name == "log" else None]])


@needs_fma
@pytest.mark.parametrize("name", NAMES)
def test_as_accurate_as_stated(name: str) -> None:
    x = sample(name, 400)
    with mp.workdps(400 if name in ("sin", "cos") else 40), np.errstate(all="ignore"):
        for v, found, numpy in zip(x, computed(name, x), getattr(np, name)(x), strict=True):
            if not np.isfinite(numpy):  # beyond the largest number
                assert found == numpy, v
                continue
            truth = getattr(mp, name)(mp.mpf(float(v)))
            assert abs(mp.mpf(float(found)) - truth) <= ULPS[name] * np.spacing(abs(float(truth))), (v, found)


@needs_fma
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_special_values(name: str, kind: type) -> None:
    least = np.finfo(kind).smallest_subnormal
    edges = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0, np.finfo(kind).max, np.finfo(kind).tiny, least, -least]
    exponents = [709.782712893384, 709.7827128933841, -745.1332191019411, -745.1332191019412, -708.4]
    x = np.array(edges + (exponents if name == "exp" else []), kind)
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(x)
    found = computed(name, x)
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(kind).eps, atol=0)
    numbers = ~np.isnan(expected)
    assert np.array_equal(np.signbit(found[numbers]), np.signbit(expected[numbers]))


@needs_fma
def test_single_precision_is_rounded_once() -> None:
    x = np.random.default_rng(3).uniform(0.01, 80.0, 2000).astype(np.float32)
    for name in NAMES:
        assert np.array_equal(computed(name, x), getattr(np, name)(x.astype(np.float64)).astype(np.float32)), name


@needs_fma
def test_the_same_bits_wherever_in_the_array() -> None:
    x = np.random.default_rng(4).permutation(np.concatenate([sample("tanh", 12), [np.nan, np.inf, -1e300]]))
    for name in NAMES:
        whole = computed(name, x)
        for size in (1, 3, 7):
            for start in range(0, len(x) - size, size + 5):
                part = computed(name, x[start : start + size].copy())
                assert np.array_equal(part, whole[start : start + size], equal_nan=True), name


@pytest.mark.parametrize("triple", ["aarch64-linux-gnu", "arm64-apple-macosx"])
def test_loops_are_simd_on_arm(triple: str) -> None:
    """No call in them but the library's, for sines of large numbers."""
    other = for_triple(triple)
    for kind, vector in (("f64", "<2 x double>"), ("f32", "<4 x float>")):
        text = optimize(str(lower.lower_module(parse_module(program(kind)), other)), other).llvm_ir()
        for name in NAMES:
            (body,) = re.findall(rf'^define [^\n]*@"?adc\.{name}"?\(.*?^}}', text, re.MULTILINE | re.DOTALL)
            assert re.search(rf"store {vector} ", body), (kind, name)
            vectors = re.findall(r"call <[^>]*> @([^(]+)", body) + re.findall(r"call \{ <[^@]* @([^(]+)", body)
            assert all(called.startswith("llvm.") or called.endswith(".library") for called in vectors), (name, vectors)
