"""Sorting, as LLVM IR: functions of the run-time support for each type of number.

``void adc_sort_f64(ptr keys, i64 n, ptr scratch, i64 m)`` sorts a vector in place. ``void adc_order_f64(ptr keys, i64
n, ptr places, i64 n, ptr scratch, i64 m, ptr scratch for places, i64 m)`` permutes the subscripts 0, 1, ... in the same
way, and writes them to ``places``. Both are stable, and NaN comes last. Scratch must be ``adc.ir.externals.SPARE``
elements longer than the vector, because whole vectors are stored.

The algorithm is Quicksort with stable, branch-free partitions: each vector of elements is compressed into those below
the pivot, which go to the front, and the others, which go to scratch and then behind them. Without instructions for
this, elements are moved one by one, and each is written to both places. The pivot is the median of samples, one from
each of several parts of the range. If a partition leaves almost all elements on one side, that side is divided next at
the middle of its range of values, as bits: so no element takes part in more than some 128 partitions. Short ranges are
sorted by counting, for each element, how many belong before it.

Without places, equal keys are indistinguishable, except for zeros and NaN. So they may be partitioned in place, and
short ranges sorted by networks; NaN, and zeros if some are negative, are treated separately before that.

References: Hoare, "Quicksort" (1962); Bramas, "A novel hybrid quicksort algorithm vectorized using AVX-512 on Intel
Skylake" (2017), for partitions by compression.
"""

from __future__ import annotations

from collections.abc import Iterable

from adc.backend.support import sort_ranges as ranges
from adc.backend.support.sort_keys import Key
from adc.backend.support.sort_parts import part_ir
from adc.backend.support.sort_shorts import longest, short_ir
from adc.backend.support.sort_splits import split_ir
from adc.backend.target import Target

KEYS = ("f32", "f64", "i32", "i64", "ui64")
ORDERED = ("f64", "i64", "ui64")
NAMES = (*(f"adc_sort_{kind}" for kind in KEYS), *(f"adc_order_{kind}" for kind in ORDERED))


def sorts_ir(target: Target, names: Iterable[str]) -> str:
    """A module with the functions ``names``, for one machine."""
    vectors = target.is_x86 and target.has("avx512f")
    texts = [_DECLARED]
    if vectors:
        texts += [_VECTORS.replace("NAME", name).replace("TYPE", t).replace("MASK", m) for name, t, m in _TYPES]
    for name in names:
        _, work, kind = name.split("_")
        bits = int(kind.lstrip("fui"))
        texts.append(_one(Key(kind, 512 // bits if vectors else 0), work == "order"))
    return "\n".join(texts)


def _one(key: Key, pairs: bool) -> str:
    in_place = key.lanes > 0 and not pairs
    relations = ("lt", "le")
    parts = [part_ir(key, relation) for relation in relations if in_place]
    splits = [split_ir(key, pairs, relation) for relation in relations]
    text = "".join([*parts, *splits, short_ir(key, pairs), ranges.LIMITS, ranges.SORT])
    text = text.replace("MIDDLE", ranges.FLOAT_MIDDLE if key.is_float else ranges.INT_MIDDLE)
    text = text.replace("NUMBERS", ranges.NUMBERS if key.is_float else ranges.ALL_NUMBERS)
    text = text.replace("ZEROS", ranges.NO_ZEROS if pairs else ranges.ZEROS)
    for name, (alone, with_places) in _PLACES.items():
        text = text.replace(name, with_places if pairs else alone)
    lanes = key.lanes or 128 // key.bits
    words = {
        "SPLIT": "adc_part" if in_place else "adc_split",
        "NEGATIVE": str(-(2 ** (key.bits - 1))),
        "GREATEST": key.greatest,
        "LESS": key.compare("lt"),
        "MORE": key.compare("gt").replace("ogt", "ugt"),
        "EQUAL": "fcmp oeq" if key.is_float else "icmp eq",
        "SHORT": str(longest(key, pairs)),
        "NAME": f"{key.kind}_{'order' if pairs else 'sort'}",
        "KIND": key.kind,
        "SCALAR": key.scalar,
        "VECTOR": f"<{lanes} x {key.scalar}>",
        "WORD": f"i{key.bits}",
        "SIGN": str(key.bits - 1),
        "MOST": str(2 ** (key.bits - 1) - 1),
        "LANES": str(lanes),
        "BYTES": str(key.bits // 8),
    }
    for name, value in words.items():
        text = text.replace(name, value)
    return text


# The replacements that depend on places: for keys alone, and for keys with places.
_PLACES = {
    "PASS_PLACES": ("", ", ptr %at.here"),
    "PASS_BOTH": ("", ", ptr %at.here, ptr %t"),
    "PASS_OTHERS": ("", ", ptr %others.at, ptr %t"),
    "OTHER_PLACES": ("", "%others.at = getelementptr i64, ptr %at.here, i64 %below"),
    "PASS_WHOLE": ("", ", ptr %at, ptr %t"),
    "SAMPLE_PLACES": ("", ", ptr %sample.at"),
    "EXPORTED_PLACES": ("", ", ptr noalias %at, i64 %places"),
    "EXPORTED_SCRATCH": ("", ", ptr noalias %t, i64 %spare.places"),
    "PLACES_HERE": ("", "%at.here = getelementptr i64, ptr %at, i64 %low"),
    "SAMPLES_AT": ("", "%sample.at = alloca [SHORT x i64], align 64"),
    "FIRST_PLACES": (ranges.NONE_FIRST, ranges.FIRST_PLACES),
    "FUNCTION": ("adc_sort_KIND", "adc_order_KIND"),
}

_DECLARED = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i8 @llvm.ctpop.i8(i8)
declare i16 @llvm.ctpop.i16(i16)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare <8 x i64> @llvm.smin.v8i64(<8 x i64>, <8 x i64>)
declare <8 x i64> @llvm.smax.v8i64(<8 x i64>, <8 x i64>)
declare <8 x i64> @llvm.umin.v8i64(<8 x i64>, <8 x i64>)
declare <8 x i64> @llvm.umax.v8i64(<8 x i64>, <8 x i64>)
declare <16 x i32> @llvm.smin.v16i32(<16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.smax.v16i32(<16 x i32>, <16 x i32>)
"""
_TYPES = (
    ("v8f64", "<8 x double>", "<8 x i1>"),
    ("v8i64", "<8 x i64>", "<8 x i1>"),
    ("v16f32", "<16 x float>", "<16 x i1>"),
    ("v16i32", "<16 x i32>", "<16 x i1>"),
)
_VECTORS = """declare TYPE @llvm.experimental.vector.compress.NAME(TYPE, MASK, TYPE)
declare TYPE @llvm.masked.load.NAME.p0(ptr, MASK, TYPE)
declare void @llvm.masked.store.NAME.p0(TYPE, ptr, MASK)"""
