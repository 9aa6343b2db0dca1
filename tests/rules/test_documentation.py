"""docs/rules.md shows what really happens. `--update-golden` writes the IR."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from adc import jit_grad
from tests.fuzz.check import loaded
from tests.test_api_docs import ROOT, fill

PAGE = ROOT / "docs" / "rules.md"


def test_the_fixed_point() -> None:
    text = PAGE.read_text()
    found = re.search(r"```python\n(def heron.*?)(adc\.grad\(.*?)\s+# ([\d.]+)\.\.\.\n```", text, re.DOTALL)
    assert found is not None
    source = f"import adc\n{found.group(1)}\n\ndef main(a):\n    return adc.fixed_point(heron, 1.0, a)\n"
    with loaded(source) as names:
        assert f"{jit_grad(names['main']).grad(2.0):.15f}".startswith(found.group(3)[:14])


def test_the_example(pytestconfig: pytest.Config) -> None:
    block = re.search(r"```python\n(import adc\n.*?)```", PAGE.read_text(), re.DOTALL)
    assert block is not None
    source = "import math\n" + block.group(1) + "\n\ndef main(x):\n    return 2.0 * softplus(x)\n"
    with loaded(source) as names:
        f: Any = jit_grad(names["main"])
        for x in (-800.0, -1.5, 0.25, 30.0, 800.0):
            assert f.grad(x) == pytest.approx(2.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0, rel=1e-15)
        update = bool(pytestconfig.getoption("--update-golden"))
        for mark, stage in (("traced", "simplified"), ("adjoint", "adjoint")):
            funcs = re.split(r"(?m)^(?=func\.func)", f.dump_ir(stage, "f64"))
            shown = [text for text in funcs if re.match(r"func\.func @(main|softplus\.)", text)]
            printed = "".join(shown).rstrip()
            fill(PAGE, f"rules: {mark}", f"```mlir\n{printed}\n```\n", update)
