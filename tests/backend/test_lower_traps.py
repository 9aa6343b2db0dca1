"""Errors at run time: the right site, its operands, and nothing after it."""

from __future__ import annotations

import ctypes
import os
import signal
import struct
import time

import numpy as np
import pytest

from adc.backend.jit import Engine
from adc.backend.optimize import optimize
from adc.backend.support import contexts
from adc.backend.support.team import team_ir
from adc.backend.target import host
from adc.ir.interpret.interpreter import run
from adc.ir.text.parser import parse_module
from tests.backend.lowering_harness import Native, Trapped

_CHECKED = """
func.func @get(%a: memref<?xf64>, %i: index) -> f64 {
  %n = memref.dim %a, 0 : memref<?xf64>
  %j = adc.bound %i, %n : index
  %x = memref.load %a[%j] : memref<?xf64>
  func.return %x : f64
}
func.func @main(%a: memref<?xf64>, %b: memref<?xf64>, %i: index) -> f64 {
  %x = func.call @get(%a, %i) : (memref<?xf64>, index) -> f64
  %y = func.call @get(%b, %i) : (memref<?xf64>, index) -> f64
  %z = arith.addf %x, %y : f64
  func.return %z : f64
}
"""


def test_subscripts_count_from_the_end_and_are_checked() -> None:
    native = Native(parse_module(_CHECKED))
    a, b = np.arange(4.0), np.arange(10.0, 13.0)
    for i in (0, 2, -1, -3):
        assert native("main", a, b, i) == run(native.module, "main", [a, b, i])
    with pytest.raises(Trapped) as trapped:
        native("main", a, b, 3)
    site = trapped.value.site
    assert (site.error, trapped.value.operands) == ("IndexError", (3, 3))
    assert site.message.format(*trapped.value.operands) == "index 3 is out of bounds for axis with size 3"
    with pytest.raises(Trapped) as trapped:
        native("main", a, b, -5)
    assert trapped.value.operands == (-5, 4)
    with pytest.raises(Trapped) as trapped:
        native("main", a, b, -(1 << 63))
    assert trapped.value.operands == (-(1 << 63), 4)


def test_assertions_name_their_place_and_operands() -> None:
    module = parse_module("""
func.func @main(%x: f64, %y: f32, %n: index, %b: i1) -> f64 {
  %zero = arith.constant 0.0 : f64
  %c0 = arith.constant 0 : index
  %true = arith.constant true : i1
  %p = arith.cmpf ogt, %x, %zero : f64
  adc.assert %p, %x, %y {error = "ValueError", message = "x is {}, y is {}"} : i1, f64, f32 loc("model.py":7:3)
  %q = arith.cmpi ne, %n, %c0 : index
  adc.assert %q, %b {error = "ZeroDivisionError", message = "division by zero, {}"} : i1, i1
  adc.assert %true {error = "RuntimeError", message = "never"} : i1
  func.return %x : f64
}
""")
    native = Native(module)
    assert native("main", 1.0, 2.0, 1, True) == [1.0]
    with pytest.raises(Trapped) as trapped:
        native("main", -2.5, 0.5, 0, True)
    a, b = trapped.value.operands
    assert (trapped.value.site.error, trapped.value.site.loc.line) == ("ValueError", 7)
    assert struct.unpack("<d", struct.pack("<q", a)) == (-2.5,)
    assert struct.unpack("<f", struct.pack("<q", b)[:4]) == (0.5,)
    with pytest.raises(Trapped) as trapped:
        native("main", 1.0, 0.5, 0, True)
    assert (trapped.value.site.error, trapped.value.operands[0]) == ("ZeroDivisionError", 1)


def test_nothing_is_stored_after_the_error() -> None:
    module = parse_module("""
func.func @main(%a: memref<?xf64>, %lim: index) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %one = arith.constant 1.0 : f64
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %i = %c0 to %n step %c1 {
    %ok = arith.cmpi slt, %i, %lim : index
    adc.assert %ok, %i {error = "ValueError", message = "at {}"} : i1, index
    memref.store %one, %a[%i] : memref<?xf64>
  }
  func.return %n : index
}
""")
    native = Native(module)
    a = np.zeros(100)
    with pytest.raises(Trapped) as trapped:
        native("main", a, 37)
    assert trapped.value.operands[0] == 37
    assert a[:37].all() and not a[37:].any()
    assert native("main", a, 100) == [100]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_inside_a_parallel_loop_is_reported_after_the_join(threads: int) -> None:
    module = parse_module("""
func.func @main(%a: memref<?xf64>, %k: memref<?xi64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %k, 0 : memref<?xi64>
  %m = memref.dim %a, 0 : memref<?xf64>
  %s = scf.parallel (%i) = (%c0) to (%n) step (%c1) init (%zero) -> (f64) {
    %j = memref.load %k[%i] : memref<?xi64>
    %p = arith.index_cast %j : i64 to index
    %q = adc.bound %p, %m : index
    %x = memref.load %a[%q] : memref<?xf64>
    %y = math.exp %x : f64
    scf.reduce(%y : f64) {kinds = ["add"]}
  } {threads = true}
  func.return %s : f64
}
""")
    native = Native(module)
    a, k = np.ones(7), np.arange(60000) % 7
    assert native("main", a, k, threads=threads)[0] == pytest.approx(60000 * np.e)
    k[45678] = 7
    with pytest.raises(Trapped) as trapped:
        native("main", a, k, threads=threads)
    assert trapped.value.operands == (7, 7)


def test_memory_that_cannot_be_had() -> None:
    module = parse_module("""
func.func @main(%n: index, %m: index) -> memref<?x?xf64> {
  %a = memref.alloc(%n, %m) : memref<?x?xf64>
  func.return %a : memref<?x?xf64>
}
""")
    native = Native(module)
    for n, m in ((1 << 50, 1), (1 << 40, 1 << 40), (-1, 3), (1 << 62, 2)):
        with pytest.raises(Trapped) as trapped:
            native("main", n, m)
        assert trapped.value.site.error == "MemoryError"


def test_threads_are_used_and_only_when_worth_it() -> None:
    from adc.backend.target import openmp

    runtime = openmp()
    if runtime is None:
        pytest.skip("no OpenMP runtime")
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint)
    real, teams = prototype(runtime["GOMP_parallel"]), []

    @prototype
    def spy(function: int, data: int, threads: int, flags: int) -> None:
        teams.append(threads)
        real(function, data, threads, flags)

    module = parse_module("""
func.func @main(%a: memref<?xf64>, %nt: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.for %t = %c0 to %nt step %c1 {
    scf.parallel (%i) = (%c0) to (%n) step (%c1) {
      %x = memref.load %a[%i] : memref<?xf64>
      %y = math.sin %x : f64
      memref.store %y, %a[%i] : memref<?xf64>
      scf.reduce()
    } {threads = true}
  }
  func.return
}
""")
    spied = ctypes.cast(spy, ctypes.c_void_p).value or 0
    text = contexts.support_ir("external", linux=host().is_linux) + team_ir(polls=False)
    team = Engine().load(optimize(text, host(), 1).object_code, ["adc_parallel"], {"GOMP_parallel": spied})
    native = Native(module, symbols={"adc_parallel": team.address("adc_parallel")})
    native("main", np.ones(100_000), 2, threads=3)
    assert teams == [3, 3]
    native("main", np.ones(100_000), 2, threads=1)
    native("main", np.ones(100), 2, threads=3)
    native("main", np.ones(0), 2, threads=3)
    assert teams == [3, 3]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_child_runs_serially_instead_of_waiting_for_threads() -> None:
    module = parse_module("""
func.func @main(%a: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %a, 0 : memref<?xf64>
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %x = memref.load %a[%i] : memref<?xf64>
    %y = math.sin %x : f64
    memref.store %y, %a[%i] : memref<?xf64>
    scf.reduce()
  } {threads = true}
  func.return
}
""")
    native = Native(module)
    native("main", np.ones(100_000), threads=2)
    child = os.fork()
    if child == 0:
        a = np.ones(100_000)
        native("main", a, threads=2)
        os._exit(17 if np.allclose(a, np.sin(1.0), rtol=1e-14) else 18)
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.01)
    else:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        pytest.fail("the child waits for ever")
    assert os.waitstatus_to_exitcode(status) == 17
