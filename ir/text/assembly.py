"""How operations without regions are written: one format string each, which printer and parser both interpret.

A format is literal text with placeholders:

    {0} {1}      an operand                      {t0} {t1}   its type
    {*}          the remaining operands          {: *}       " : " and the types of all operands, if there are any
    {rank}       as many operands as operand 0   {: 1*}      the same from operand 1 on
                 has dimensions                  {: same}    the same, one type if all are equal
    {attrs}      attributes not written elsewhere and not at their default, as a dictionary
    {=name}      an attribute on its own         {fastmath}  fastmath<...>, unless none
    {predicate}  as a keyword                    {callee}    as a symbol
    {value}      the number of a constant        {types}     attribute ``types``, separated by commas
    {fn}         (types of operands) -> types    {result}    type of the only result
"""

from __future__ import annotations

import functools
import re

from adc.ir import ops
from adc.ir.opdef import OpDef

DEFAULT = "{*}{fastmath}{attrs}{: same}"
_CAST = "{0}{attrs} : {t0} to {=type}"

FORMATS: dict[OpDef, str] = {
    ops.constant: "{value}{attrs} : {=type}",
    ops.cmpf: "{predicate}, {*}{attrs} : {t0}",
    ops.cmpi: "{predicate}, {*}{attrs} : {t0}",
    ops.select: "{*}{attrs} : {t1}",
    ops.strong_mulf: "{*}{fastmath}{attrs} : {t0}",
    ops.strong_divf: "{*}{attrs} : {t0}",
    ops.extf: _CAST,
    ops.truncf: _CAST,
    ops.sitofp: _CAST,
    ops.uitofp: _CAST,
    ops.fptosi: _CAST,
    ops.extsi: _CAST,
    ops.extui: _CAST,
    ops.trunci: _CAST,
    ops.index_cast: _CAST,
    ops.index_castui: _CAST,
    ops.bitcast: _CAST,
    ops.alloc: "({*}){attrs} : {=type}",
    ops.dim: "{0}, {=dim}{attrs} : {t0}",
    ops.load: "{0}[{*}]{attrs} : {t0}",
    ops.store: "{0}, {1}[{*}]{attrs} : {t1}",
    ops.accumulate: "{0}, {1}[{*}]{attrs} : {t1}",
    ops.subview: "{0}[{rank}][{rank}][{rank}]{attrs} : {t0} to {result}",
    ops.transpose: "{0}{attrs} : {t0} to {result}",
    ops.reshape: "{0}[{*}]{attrs} : {t0} to {result}",
    ops.reinterpret_cast: "{0}[{*}]{attrs} : {t0} to {result}",
    ops.cast: _CAST,
    ops.copy: "{0}, {1}{attrs} : {t0} to {t1}",
    ops.fill: "ins({0} : {t0}) outs({1} : {t1}){attrs}",
    ops.matmul: "ins({0}, {1} : {t0}, {t1}) outs({2} : {t2}){attrs}",
    ops.yield_: "{*}{attrs}{: *}",
    ops.condition: "({0}) {*}{attrs}{: 1*}",
    ops.reduce: "({*}{: *}){attrs}",
    ops.call: "{callee}({*}){attrs} : {fn}",
    ops.gradient: "{callee}({*}){attrs} : {fn}",
    ops.ruled: "{callee}({*}){attrs} : {fn}",
    ops.return_: "{*}{attrs}{: *}",
    ops.threads: "{attrs} : {result}",
    ops.undef: "{attrs} : {=type}",
    ops.grow: "{0}, {1}{attrs} : {t0}",
    ops.page_out: "{0}, {1}{attrs} : {t0}",
    ops.pack: "{*}{attrs}{: *}",
    ops.release: "{0}{attrs} : {t0}",
    ops.unpack: "{0}{attrs} : {types}",
}

_PIECE = re.compile(r"\{([^}]*)\}")
# Attributes that a placeholder of another name writes.
_WRITES = {"predicate": {"predicate"}, "callee": {"callee"}, "value": {"value"}, "types": {"types"}, "fn": {"types"}}


@functools.cache
def pieces(opdef: OpDef) -> tuple[tuple[str, str], ...]:
    """The format of ``opdef`` as pairs of literal text and the placeholder after it (empty at the end)."""
    parts = _PIECE.split(FORMATS.get(opdef, DEFAULT))
    return tuple(zip(parts[::2], [*parts[1::2], ""], strict=True))


@functools.cache
def written(opdef: OpDef) -> frozenset[str]:
    """The attributes that have a place of their own, outside the dictionary."""
    names: set[str] = set()
    for _, hole in pieces(opdef):
        names |= {hole[1:]} if hole.startswith("=") else _WRITES.get(hole, set())
        if hole == "fastmath" and "fastmath" in opdef.attrs:
            names.add("fastmath")
    return frozenset(names)
