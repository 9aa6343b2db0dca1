"""Random programs made exact: the remaining arithmetic has Python's bits, so values are compared bit by bit.

Library functions with rounding errors are replaced in the text of a program by a rational function, sums whose order
adc chooses by loops. ``python -m tests.fuzz.exact --programs 2000`` checks many.
"""

from __future__ import annotations

import ast
import os
import random
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import adc
from adc import jit_grad
from adc.errors import CompileError
from tests import many
from tests.bits import same_bits
from tests.fuzz.check import Subject, Verdict, loaded
from tests.fuzz.expressions import Arr
from tests.fuzz.generator import generate
from tests.fuzz.long import generate_long
from tests.fuzz.params import arguments, flat, read

_KEPT = {
    "math": {"sqrt", "fabs", "floor", "ceil", "trunc", "copysign", "isnan", "isinf", "isfinite"},
    "np": {
        *("sqrt", "abs", "minimum", "maximum", "where", "zeros", "ones", "empty", "full", "zeros_like", "ones_like"),
        *("empty_like", "full_like", "array", "asarray", "arange", "copy", "float64", "float32", "ndarray"),
        *("stack", "concatenate", "max", "min", "any", "all", "isnan", "isfinite"),
    },
}
_SUMS = {"sum", "mean", "dot", "prod"}
_HELP = '''
def soft(x):
    return x / (1.25 + abs(x))

def squared(x):
    return x * x

def total(a):
    s = 0.0
    if a.ndim == 1:
        for i in range(len(a)):
            s += a[i]
    else:
        for i in range(len(a)):
            s += total(a[i])
    return s
'''


class _Exact(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        called = node.func
        if not isinstance(called, ast.Attribute) or not isinstance(called.value, ast.Name):
            return node
        module = called.value.id
        if module not in _KEPT or called.attr in _KEPT[module] or node.keywords:
            return node
        if module == "np" and called.attr in _SUMS:
            return self._call("total", self._product(node.args))
        return self._call("soft", self._product(node.args))

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A function that is passed on."""
        self.generic_visit(node)
        owner = node.value.id if isinstance(node.value, ast.Name) else ""
        if owner == "math" and node.attr in ("sin", "cos", "tanh", "atan", "exp", "erf", "log"):
            return ast.Name("soft", ast.Load())
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.op, ast.Pow):
            return self._call("squared", node.left)
        if isinstance(node.op, ast.MatMult):
            return self._call("total", self._product([node.left, node.right]))
        return node

    @staticmethod
    def _call(name: str, argument: ast.expr) -> ast.Call:
        return ast.Call(ast.Name(name, ast.Load()), [argument], [])

    @staticmethod
    def _product(factors: list[ast.expr]) -> ast.expr:
        first, *rest = factors
        for factor in rest:
            first = ast.BinOp(first, ast.Mult(), factor)
        return first


def made_exact(text: str) -> str:
    tree = _Exact().visit(ast.parse(text))
    position = next(k for k, node in enumerate(tree.body) if not isinstance(node, ast.Import | ast.ImportFrom))
    tree.body[position:position] = ast.parse(_HELP).body
    return ast.unparse(ast.fix_missing_locations(tree))


def _is_exact(text: str) -> bool:
    """Whether nothing is left that was not replaced."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, ast.Pow | ast.MatMult):
            return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("pow", "round"):
            return False
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            if node.func.attr not in _KEPT.get(owner, {node.func.attr}) or node.func.attr in _SUMS:
                return False
    return True


def check(seed: int, *, engine: Any = "native", level: int | None = None) -> Verdict:
    """The value and the arguments afterwards, of a call and where derivatives compute it again."""
    rng = random.Random(seed)
    program = (generate_long if seed % 2 else generate)(rng, 14, None)
    program = replace(program, text=made_exact(program.text))
    if not _is_exact(program.text):
        return Verdict(skipped="not exact")
    if any(isinstance(p, Arr) and p.single for p in flat(program.params)):
        # What meets a float32 is rounded to it if it is Python's float, and here that may depend on the path.
        return Verdict(skipped="float32")
    leaves = arguments(program.params, rng, overlap="prange" not in program.text.split("def main", 1)[1])
    if level is None:
        level = 3 if seed % 4 == 1 else 0
    try:
        return _check(Subject(program, leaves, jit_grad(_engine=engine, _level=level)))
    except CompileError as error:
        return Verdict(skipped=f"refused: {error.kind}")
    except Exception as error:
        error.add_note(f"seed {seed}\narguments {leaves!r}\n{program.text}")
        raise


def _check(subject: Subject) -> Verdict:
    expected = subject.oracle.run_plain(subject.leaves)
    if expected.error is not None:
        return Verdict(skipped="raises")
    with loaded(subject.text) as names:
        function = subject.jit(names["main"])
        given = subject._given(names)
        values = {"the call": function(*given)}
        after = read(subject.params, given, given)
        wrt = subject._wrt()
        if wrt:
            values["value_and_grad"] = adc.value_and_grad(function, argnums=wrt)(*subject._given(names))[0]
            values["the pullback"] = function.pullback(*subject._given(names))[0]
    for what, value in values.items():
        assert same_bits(float(value), float(expected.result)), f"{what}: {value!r}, not {expected.result!r}"
    for mine, theirs in zip(after, expected.after, strict=True):
        assert same_bits(mine, theirs), f"after the call: {mine!r}, not {theirs!r}"
    return Verdict(checked=len(values))


def main() -> int:
    parser = many.parser(__doc__, 2_000)
    parser.add_argument("--level", type=int, choices=range(4), help="of LLVM (default: 0, and 3 for one seed in four)")
    options = parser.parse_args()
    os.environ.setdefault("ADC_NUM_THREADS", "2")
    return many.run(partial(check, level=options.level), options, report=100)


if __name__ == "__main__":
    sys.exit(main())
