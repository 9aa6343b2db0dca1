"""Each pass preserves the observable behaviour of a function: the interpreter before and after, on random IR."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from adc.ir import ops
from adc.ir.interpret.interpreter import InterpreterError
from adc.ir.verifier import verify
from adc.passes.base import Pass, Verify, run_pipeline
from adc.passes.branches.hoist_common import HoistCommon
from adc.passes.branches.if_convert import IfConvert
from adc.passes.canonicalize.canonicalize import Canonicalize
from adc.passes.memory.dead_stores import DeadStores
from adc.passes.memory.fold_views import FoldViews
from adc.passes.outlining.outline_nests import OutlineNests
from adc.passes.pipelines import SIMPLIFY
from adc.passes.simplify.cse import CSE
from adc.passes.simplify.dce import DCE
from adc.passes.simplify.licm import LICM


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


random_ir = _load("random_ir")
PIPELINES: dict[str, tuple[Pass, ...]] = {
    "canonicalize": (Canonicalize(),),
    "cse": (CSE(),),
    "dce": (DCE(),),
    "fold-views": (FoldViews(),),
    "licm": (LICM(),),
    "dead-stores": (DeadStores(),),
    "if-convert": (IfConvert(),),
    "hoist-common": (CSE(), HoistCommon()),
    "outline-nests": (OutlineNests(most=3),),
    "all": (*SIMPLIFY, IfConvert(), DeadStores(), DCE()),
}


@pytest.mark.parametrize("name", PIPELINES)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 2**32 - 1), fresh=st.booleans())
def test_same_before_and_after(name: str, seed: int, fresh: bool) -> None:
    rng = random.Random(seed)
    module = random_ir.generate(rng, fresh=fresh)
    verify(module)
    inputs = [random_ir.arguments(rng) for _ in range(2)]
    signs = not any(op.opdef is ops.accumulate for func in module.funcs.values() for op in func.walk())
    try:
        before = [random_ir.Outcome(module, args).seen(signs=signs) for args in inputs]
    except InterpreterError:
        assume(False)
    module = run_pipeline(module, PIPELINES[name], verify=Verify.PASSES)
    after = [random_ir.Outcome(module, args, limit=10**6).seen(signs=signs) for args in inputs]
    assert after == before
