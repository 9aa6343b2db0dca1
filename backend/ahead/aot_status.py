"""Status codes of C functions, and what the functions of an object file share: messages, threads, memory."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from adc.backend.llvm_text import Fragment, c_string
from adc.backend.lowering.lower_types import register_type
from adc.backend.support import contexts
from adc.ir import raising
from adc.ir.diagnostics import own_class
from adc.ir.types import Type

if TYPE_CHECKING:
    from adc.backend.sites import Site

MESSAGE_BYTES = 512

SNPRINTF = {"snprintf": "declare i32 @snprintf(ptr, i64, ptr, ...)"}
SAY = {"adc_aot_say": "declare void @adc_aot_say(ptr)"}
FAIL = {"adc_aot_fail": "declare i32 @adc_aot_fail(ptr)"}
_TEXT = {"adc_aot_text": f"@adc_aot_text = external thread_local global [{MESSAGE_BYTES} x i8]"}
_POOL = {
    "adc_context_give": contexts.DECLARATIONS["adc_context_give"],
    "adc_pool_release": contexts.DECLARATIONS["adc_pool_release"],
    "adc_default_threads": "@adc_default_threads = external global i32",
}


class Status(enum.IntEnum):
    """What a C function returns."""

    OK = 0
    INDEX_ERROR = 1
    VALUE_ERROR = 2
    ZERO_DIVISION = 3
    NO_MEMORY = 4
    BAD_ARGUMENT = 5
    OVERLAP = 6
    ERROR = 7
    ASSERTION = 8
    ARITHMETIC = 9
    LOOKUP = 10
    RUNTIME = 11
    TYPE_ERROR = 12
    UNBOUND = 13
    RECURSION = 14

    @property
    def text(self) -> str:
        return _TEXTS[self]


_TEXTS = {
    Status.OK: "no error",
    Status.INDEX_ERROR: "an index is out of range",
    Status.VALUE_ERROR: "a value is not allowed",
    Status.ZERO_DIVISION: "division by zero",
    Status.NO_MEMORY: "not enough memory",
    Status.BAD_ARGUMENT: "an array has a negative extent, or elements but no address",
    Status.OVERLAP: "arrays overlap that must not",
    Status.ERROR: "another error; the message says which",
    Status.ASSERTION: "an assertion does not hold",
    Status.ARITHMETIC: "an arithmetic error, an overflow for instance",
    Status.LOOKUP: "a key or another thing looked for is not there",
    Status.RUNTIME: "a run-time error that the program raises",
    Status.TYPE_ERROR: "a value has the wrong type",
    Status.UNBOUND: "a variable is read that has no value",
    Status.RECURSION: "functions call each other too deeply for the stack",
}
# By class name. An exception gets the status of the first of its base classes that is listed here.
_ERRORS = {
    "IndexError": Status.INDEX_ERROR,
    "ValueError": Status.VALUE_ERROR,
    "ZeroDivisionError": Status.ZERO_DIVISION,
    "MemoryError": Status.NO_MEMORY,
    "AssertionError": Status.ASSERTION,
    "ArithmeticError": Status.ARITHMETIC,
    "LookupError": Status.LOOKUP,
    "RuntimeError": Status.RUNTIME,
    "TypeError": Status.TYPE_ERROR,
    "UnboundLocalError": Status.UNBOUND,
    "RecursionError": Status.RECURSION,
}


def _status(error: str) -> Status:
    cls = raising.class_of(error) or own_class(error)
    names = [error] if cls is None else [base.__name__ for base in cls.__mro__]
    return next((_ERRORS[name] for name in names if name in _ERRORS), Status.ERROR)


_SHARED = f"""
@adc_aot_text = thread_local global [{MESSAGE_BYTES} x i8] zeroinitializer
@adc_aot_plain = private unnamed_addr constant [3 x i8] c"%s\\00"

define void @adc_aot_say(ptr %text) cold {{
  %n = call i32 (ptr, i64, ptr, ...) @snprintf(ptr @adc_aot_text, i64 {MESSAGE_BYTES}, ptr @adc_aot_plain, ptr %text)
  ret void
}}
define internal void @adc_aot_forget(ptr %handle) {{
  %null = icmp eq ptr %handle, null
  br i1 %null, label %done, label %give
give:
  call void @adc_context_give(ptr %handle)
  br label %done
done:
  ret void
}}
define ptr @"PREFIX_message"() {{
  ret ptr @adc_aot_text
}}
define void @"PREFIX_set_threads"(i32 %count) {{
  store atomic i32 %count, ptr @adc_default_threads monotonic, align 4
  ret void
}}
define void @"PREFIX_release_memory"() {{
  call void @adc_pool_release()
  ret void
}}
"""


def shared_ir(prefix: str, frees: Sequence[str]) -> Fragment:
    """The functions ``PREFIX_message``, ``_strerror``, ``_set_threads``, ``_release_memory``, and those that free
    records."""
    text = _SHARED.replace("PREFIX", prefix)
    for name in frees:
        text += f'define void @"{name}"(ptr %handle) {{\n  call void @adc_aot_forget(ptr %handle)\n  ret void\n}}\n'
    names = [f"@adc_aot_status{status.value}" for status in Status]
    for name, status in zip(names, Status, strict=True):
        text += c_string(name, status.text)
    table = ", ".join(f"ptr {name}" for name in names)
    count = len(names)
    text += f"""
@adc_aot_statuses = private unnamed_addr constant [{count} x ptr] [{table}]
define ptr @"{prefix}_strerror"(i32 %status) {{
  %known = icmp ult i32 %status, {count}
  %which = select i1 %known, i32 %status, i32 {Status.ERROR.value}
  %place = getelementptr ptr, ptr @adc_aot_statuses, i32 %which
  %text = load ptr, ptr %place
  ret ptr %text
}}
"""
    return Fragment(text, {**SNPRINTF, **_POOL})


def failure_ir(sites: Sequence[Site]) -> Fragment:
    """``adc_aot_fail(ctx)``: formats the message of the error record, gives the context back, returns the status."""
    texts, rows = [], []
    patterns: dict[tuple[str, ...], int] = {(): 0}  # the kinds of the operands
    for number, site in enumerate(sites):
        texts.append(c_string(f"@adc_aot_site{number}", _format(site)))
        kinds = patterns.setdefault(tuple(map(_kind, site.operand_types)), len(patterns))
        status = _status(site.error).value
        rows.append(f"{{ i32, i32, ptr }} {{ i32 {status}, i32 {kinds}, ptr @adc_aot_site{number} }}")
    texts.append(c_string("@adc_aot_no_memory", "not enough memory for temporaries"))
    rows = rows or ["{ i32, i32, ptr } zeroinitializer"]
    table = f"@adc_aot_sites = private unnamed_addr constant [{len(rows)} x {{ i32, i32, ptr }}] [{', '.join(rows)}]"
    cases, blocks = [], []
    for pattern, kinds in patterns.items():
        cases.append(f"i32 {kinds}, label %case{kinds}")
        lines, arguments = [f"case{kinds}:"], ""
        for k, kind in enumerate(pattern):
            offset = contexts.CONTEXT_A + 8 * k if k < 2 else contexts.CONTEXT_MORE + 8 * (k - 2)
            value = f"%v{kinds}.{k}"
            lines.append(f"  {value}.p = getelementptr i8, ptr %ctx, i64 {offset}")
            lines.append(f"  {value} = load {kind}, ptr {value}.p")
            if kind in ("half", "float"):  # variadic functions take doubles
                lines.append(f"  {value}.d = fpext {kind} {value} to double")
                kind, value = "double", f"{value}.d"
            arguments += f", {kind} {value}"
        say = f"@snprintf(ptr @adc_aot_text, i64 {MESSAGE_BYTES}, ptr %text{arguments})"
        lines += [f"  %n{kinds} = call i32 (ptr, i64, ptr, ...) {say}", "  br label %said"]
        blocks.append("\n".join(lines))
    text = f"""
{"".join(texts)}{table}
define internal i32 @adc_aot_fail(ptr %ctx) cold noinline {{
  %error.p = getelementptr i8, ptr %ctx, i64 {contexts.CONTEXT_ERROR}
  %error = load i32, ptr %error.p
  %site.p = getelementptr i8, ptr %ctx, i64 {contexts.CONTEXT_SITE}
  %site = load i32, ptr %site.p
  %recorded = icmp ne i32 %error, 0
  br i1 %recorded, label %look, label %none
none:
  call void @adc_context_give(ptr %ctx)
  call void @adc_aot_say(ptr @adc_aot_no_memory)
  ret i32 {Status.NO_MEMORY.value}
look:
  %row = getelementptr {{ i32, i32, ptr }}, ptr @adc_aot_sites, i32 %site
  %status = load i32, ptr %row
  %kinds.p = getelementptr i8, ptr %row, i64 4
  %kinds = load i32, ptr %kinds.p
  %text.p = getelementptr i8, ptr %row, i64 8
  %text = load ptr, ptr %text.p
  switch i32 %kinds, label %case0 [ {" ".join(cases)} ]
{chr(10).join(blocks)}
said:
  call void @adc_context_give(ptr %ctx)
  ret i32 %status
}}
"""
    return Fragment(text, {**SNPRINTF, **SAY, **_TEXT, **_POOL})


def _kind(t: Type) -> str:
    return register_type(t) if t.is_float else "i64"


def _format(site: Site) -> str:
    """The message as a format string for printf: place, error, and text with conversions for the operands."""
    shown = iter(["%.17g" if t.is_float else "%lld" for t in site.operand_types])
    if isinstance(site.message, str):
        pieces = site.message.split("{}")
        message = "".join(p.replace("%", "%%") + next(shown, "") for p in pieces)
    else:
        arguments = [_printf(template, shown) for template in site.message]
        message = arguments[0] if len(arguments) == 1 else ", ".join(arguments)
    place = f"{site.loc.file}:{site.loc.line}:{site.loc.column + 1}: ".replace("%", "%%") if site.loc.line else ""
    error = site.error.partition("#")[0].removeprefix("__main__.")
    return f"{place}{error}: {message}" if message else f"{place}{error}"


def _printf(template: str, shown: Iterator[str]) -> str:
    """A template as a format for printf. Of Python's formats the commonest are translated; others become the plain
    form."""
    text = ""
    for literal, field, spec, conversion in raising.pieces(template):
        text += literal.replace("%", "%%")
        if field == "None":
            text += "None"
        elif field is not None:
            plain = next(shown)
            if conversion == "o":
                numbered = ", ".join(f"{k}: {one}" for k, one in enumerate(raising.texts_of(spec)))
                text += f"{plain} ({numbered.replace('%', '%%')})"
                continue
            known = _SPEC.fullmatch(spec) if conversion in (None, "%") else None
            if known is None or (known[2] == "d") != (plain == "%lld"):
                text += plain
                for _ in range(raising.places((spec,)) if "{" in spec else 0):
                    next(shown)
            else:
                text += f"%{known[1]}{'lld' if known[2] == 'd' else known[2]}"
    return text


_SPEC = re.compile(r"([+ 0]*\d*(?:\.\d+)?)([defgEG])")
