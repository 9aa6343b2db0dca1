"""Converts types and constants of MLIR to those of adc's IR."""

from __future__ import annotations

import re
import struct

from adc.backend.mlir.generic import Operation
from adc.ir.types import PATTERNS, FloatType, IntType, MemRefType, Type, f16, f32, f64, i1, index

_MEMREF = re.compile(r"memref<((?:(?:\?|\d+)x)*)(.*)>", re.DOTALL)
_STRIDED = re.compile(r"(.*),\s*strided<\[([^\]]*)\](?:,\s*offset:\s*(\?|-?\d+))?>", re.DOTALL)


class Types:
    """Converts MLIR's types to adc's."""

    def __init__(self, op: Operation) -> None:
        self.op = op

    def of(self, text: str) -> Type:
        text = text.strip()
        if text in ("f16", "f32", "f64", "index"):
            return {"f16": f16, "f32": f32, "f64": f64, "index": index}[text]
        if re.fullmatch("i(1|8|16|32|64)", text):
            return IntType(int(text[1:]))
        found = _MEMREF.fullmatch(text)
        if found is None:
            raise self.op.rejected(f"the type {text} is not supported")
        dims, rest = found.groups()
        shape = tuple(None if d == "?" else int(d) for d in dims.split("x") if d)
        layout = _STRIDED.fullmatch(rest)
        if layout is not None:
            rest, given, _ = layout.groups()
            strides = tuple(None if s.strip() == "?" else int(s) for s in given.split(",") if s.strip())
            return MemRefType(shape, self.of(rest), strides)
        if "," in rest and not rest.startswith("memref"):
            raise self.op.rejected(f"the layout of {text} is not supported", "memory may be contiguous or strided")
        return MemRefType(shape, self.of(rest))

    def results(self, function_type: str) -> list[Type]:
        _, _, results = function_type.partition("->")
        depth, start, found = 0, 0, []
        text = results.strip()
        text = text[1:-1] if text.startswith("(") else text
        for k, char in enumerate([*text, ","]):
            depth += (char in "<[(") - (char in ">])")
            if char == "," and depth == 0:
                if text[start:k].strip():
                    found.append(self.of(text[start:k]))
                start = k + 1
        return found


def number(text: str, t: Type) -> float | int | bool:
    text = text.partition(" :")[0].strip()
    if text in ("true", "false"):
        return text == "true"
    if isinstance(t, FloatType):
        if text.startswith("0x"):
            return float(struct.unpack(f">{PATTERNS[t.width]}", bytes.fromhex(text[2:]))[0])
        return float(text)
    return bool(int(text)) if t == i1 else int(text)
