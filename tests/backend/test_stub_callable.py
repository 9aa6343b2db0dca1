"""``NativeCallable``: dispatch to the target, ordinary Python behaviour, references."""

from __future__ import annotations

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from adc.backend.calls.abi import Argument, Out, ScalarParam, Signature
from adc.backend.calls.callable_type import NativeCallable
from adc.ir.types import f64
from tests.backend.kernels import stub_for

SQUARE = """
define i32 @adc.square(ptr %ctx, double %x, ptr %out) {
  %y = fmul double %x, %x
  store double %y, ptr %out
  ret i32 0
}
"""
SIGNATURE = Signature("square", (None,), (ScalarParam(Argument((0,))),), (f64,), Out(0))


@pytest.fixture(scope="module")
def square() -> Callable[..., Any]:
    return stub_for(SQUARE, SIGNATURE)


class Function(NativeCallable):
    def __init__(self, name: str = "f") -> None:
        self.name = name

    def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
        return "dispatch", args, kwargs

    @property
    def shout(self) -> str:
        return self.name.upper()


def test_without_target_calls_go_to_dispatch() -> None:
    f = Function()
    assert f(1, 2) == ("dispatch", (1, 2), {})
    assert f._target is None


def test_positional_calls_run_the_target(square: Callable[..., Any]) -> None:
    f = Function()
    f._set_target(square)
    assert f._target is square
    assert f(3.0) == 9.0
    assert f(*(3.0,)) == 9.0
    assert f(*[2.5]) == 6.25
    assert list(map(f, [1.0, 2.0])) == [1.0, 4.0]
    assert f(3) == ("miss", (3,))
    assert f() == ("miss", ())


def test_keywords_go_to_dispatch(square: Callable[..., Any]) -> None:
    f = Function()
    f._set_target(square)
    assert f(x=3.0) == ("dispatch", (), {"x": 3.0})
    assert f(3.0, scale=2) == ("dispatch", (3.0,), {"scale": 2})


def test_is_an_ordinary_object(square: Callable[..., Any]) -> None:
    f = Function("heat")
    f._set_target(square)
    f.note = "kept"  # type: ignore[attr-defined]
    assert f.note == "kept" and f.shout == "HEAT" and callable(f)  # type: ignore[attr-defined]
    assert isinstance(f, NativeCallable)

    class Wider(Function):
        def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
            return "wider"

    g = Wider()
    assert g(1) == "wider"
    g._set_target(square)
    assert g(1.5) == 2.25


def test_target_can_be_removed_and_is_checked(square: Callable[..., Any]) -> None:
    f = Function()
    f._set_target(square)
    f._set_target(None)
    assert f(2.0) == ("dispatch", (2.0,), {})
    for wrong in (3, len, lambda x: x, int):
        with pytest.raises(TypeError, match="METH_FASTCALL"):
            f._set_target(wrong)


def test_a_class_without_dispatch_raises() -> None:
    class Bare(NativeCallable):
        pass

    with pytest.raises(AttributeError, match="_dispatch"):
        Bare()(1)


def test_the_target_may_be_exchanged_by_its_own_call() -> None:
    f = Function()

    def miss(*args: Any) -> str:
        f._set_target(None)
        gc.collect()
        return "exchanged"

    f._set_target(stub_for(SQUARE, SIGNATURE, miss=miss))
    assert f("text") == "exchanged"
    assert f("text") == ("dispatch", ("text",), {})


def test_references_balance(square: Callable[..., Any]) -> None:
    f = Function()
    before = sys.getrefcount(square)
    for _ in range(1000):
        f._set_target(square)
        f(2.0)
    assert sys.getrefcount(square) == before + 1
    del f
    assert sys.getrefcount(square) == before


def test_cycles_through_the_target_are_collected() -> None:
    f = Function()
    f._set_target(stub_for(SQUARE, SIGNATURE, miss=f._dispatch))
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def test_instances_and_classes_do_not_leak() -> None:
    def make() -> weakref.ref[type]:
        class Local(Function):
            pass

        for _ in range(10):
            Local()
        return weakref.ref(Local)

    gone = make()
    gc.collect()
    assert gone() is None


def test_an_exception_in_dispatch_comes_through() -> None:
    class Angry(NativeCallable):
        def _dispatch(self, *args: Any, **kwargs: Any) -> Any:
            raise LookupError(args)

    with pytest.raises(LookupError):
        Angry()(1)
    with pytest.raises(LookupError):
        Angry()(x=1)
