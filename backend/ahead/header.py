"""The C header of ahead-of-time output: every argument with its meaning, extents, strides and direction."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from adc.backend.ahead.aot import Built
from adc.backend.ahead.aot_status import Status
from adc.backend.ahead.c_names import identifier
from adc.backend.ahead.cabi import CFunction, CParam, CResult, c_type, dynamic_strides
from adc.ir.types import MemRefType, RecordType, i1

_DIRECTIONS = {
    "in": "in",
    "inout": "in and out: changed in place",
    "gradient": "out: overwritten with the derivative with respect to {0}",
    "cotangent": "in and out",
}


def header(built: Built, source: str, output: str | None = None) -> str:
    """The header file. ``source`` says what was compiled; ``output`` is the name of the object file to link."""
    guard = f"ADC_{identifier(built.prefix).upper()}_H"
    output = output or f"{built.prefix}.o"
    parts = [
        _comment(_overview(built, source, output), 0),
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <stdbool.h>",
        "#include <stdint.h>",
        "",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        _statuses(),
    ]
    for function in built.functions:
        parts += [_comment(_describe(function), 0), _declaration(function), ""]
        if function.kind == "forward":
            parts += [_free(function), ""]
    parts += [_shared(built.prefix), "", "#ifdef __cplusplus", "}", "#endif", "", f"#endif /* {guard} */", ""]
    return "\n".join(parts)


_OVERVIEW = """\
Compiled by adc from {source}.

Link:     cc main.c {output} {libraries}
Returns:  ADC_OK or another status; the message of the last failure in this thread is {prefix}_message(). \
After a failure output arguments may be partly written, and no result is.
Arrays:   a pointer to the first element, the extents, and, where the comment says so, strides, which are in \
elements and may be negative. All other arrays are C-contiguous. An array with an extent of zero may be null.
Overlap:  an array that the function writes to must not overlap another one, in its derivatives either. This is \
checked. Arrays that are only read may overlap.
Results:  through the last pointers. Any of them may be null. An array result is new memory, C-contiguous, which the \
caller frees with free().
Threads:  all functions may be called from several threads at once. Parallel loops use ADC_NUM_THREADS threads \
(environment), else OMP_NUM_THREADS, else one per processor; {prefix}_set_threads() overrides that. Results \
do not depend on the number.
Memory:   temporaries are kept between calls; {prefix}_release_memory() gives them back."""


def _overview(built: Built, source: str, output: str) -> list[str]:
    libraries = " ".join(built.libraries)
    text = _OVERVIEW.format(source=source, output=output, libraries=libraries, prefix=built.prefix)
    return text.split("\n")


def _statuses() -> str:
    lines = ["#ifndef ADC_STATUS", "#define ADC_STATUS", "enum adc_status {"]
    for status in Status:
        comma = "," if status is not list(Status)[-1] else ""
        lines.append(f"    ADC_{status.name} = {status.value}{comma} /* {status.text} */")
    return "\n".join([*lines, "};", "#endif", ""])


def _comment(lines: Iterable[str], indent: int) -> str:
    """A C comment of at most 100 columns; continuation lines are aligned under the text after a label."""
    margin = " " * indent
    wrapped: list[str] = []
    for line in lines:
        label = len(line) - len(line.lstrip())
        head = line.lstrip().split("  ", 1)
        hang = label + (len(head[0]) + 2 + len(head[1]) - len(head[1].lstrip()) if len(head) == 2 else 0)
        safe = line.replace("*/", "* /")
        wrapped += textwrap.wrap(safe, 96 - indent, subsequent_indent=" " * hang, drop_whitespace=True) or [""]
    body = "\n".join(f"{margin} * {line}".rstrip() for line in wrapped)
    return f"{margin}/*\n{body}\n{margin} */"


def _describe(f: CFunction) -> list[str]:
    lines = [f.summary, ""]
    rows = [row for k, p in enumerate(f.params) for row in _param_rows(f, k, p)]
    if f.inside:
        memory, size = f.workspace
        rows = [(memory, "in: memory for temporaries, or null"), (size, f"in: bytes of {memory}"), *rows]
    if f.kind == "forward":
        rows.append(("handle", "out: what the reverse sweep needs; give it to the _rev function, then to _free"))
    if f.kind == "reverse":
        rows.append(("handle", "in: from the _aug function; may be used again, by one thread at a time"))
    rows += [row for r in f.results for row in _result_rows(r)]
    width = max((len(name) for name, _ in rows), default=0)
    lines += [f"  {name.ljust(width)}  {text}" for name, text in rows]
    return lines


def _param_rows(f: CFunction, position: int, p: CParam) -> list[tuple[str, str]]:
    t = p.type
    if isinstance(t, RecordType):
        return []
    if not isinstance(t, MemRefType):
        return [(p.name, f"in: {_scalar_words(p)}")]
    of = f.params[p.like].name if p.like is not None else p.name.removesuffix("_bar").removesuffix("_grad")
    direction = _DIRECTIONS[p.role].format(of)
    if p.meaning:
        direction += f": {p.meaning}"
    if p.role == "cotangent":
        direction = _cotangent_words(f, of)
    extents = (f"{f.params[p.like].name}_shape{d}" for d in range(t.rank)) if p.like is not None else _own(p, t)
    shape = f"array [{', '.join(extents)}]"
    layout = "C-contiguous" if t.strides is None else "strided"
    rows = [(p.name, f"{direction}; {shape} of {c_type(t.element)}, {layout}")]
    if p.like is None and t.rank:
        rows.append((f"{p.name}_shape{'0..' if t.rank > 1 else ''}{t.rank - 1}", f"in: extents of {p.name}"))
    given = dynamic_strides(t)
    if given:
        note = "" if len(given) == t.rank else "; that of the last dimension is 1"
        rows.append((f"{p.name}_stride{'/'.join(map(str, given))}", f"in: strides of {p.name} in elements{note}"))
    return rows


def _own(p: CParam, t: MemRefType) -> list[str]:
    return [f"{p.name}_shape{d}" for d in range(t.rank)]


def _scalar_words(p: CParam) -> str:
    if p.meaning:
        return p.meaning
    return "a truth value" if p.type == i1 else "a number" if p.type.is_float else "an integer"


def _cotangent_words(f: CFunction, of: str) -> str:
    if f.kind == "forward":
        return f"memory for the cotangent of {of}: the same as in the call of the _rev function"
    return f"in: the cotangent of {of} as the call left it, zeros if none; out: of {of} as it was before the call"


def _result_rows(r: CResult) -> list[tuple[str, str]]:
    if isinstance(r.type, RecordType):
        return []
    if not isinstance(r.type, MemRefType):
        return [(r.name, f"out: {r.meaning}")]
    rows = [(r.name, f"out: {r.meaning}, a new array of {c_type(r.type.element)}")]
    if r.type.rank:
        rows.append((f"{r.name}_shape", f"out: its {r.type.rank} extents"))
    return rows


def _declaration(f: CFunction) -> str:
    arguments: list[str] = []
    if f.inside:
        memory, size = f.workspace
        arguments += [f"void *{memory}", f"int64_t {size}"]
    for p in f.params:
        arguments += _param_declarations(p)
    if f.kind != "call":
        arguments.append("void **handle" if f.kind == "forward" else "void *handle")
    for r in f.results:
        if isinstance(r.type, RecordType):
            continue
        if isinstance(r.type, MemRefType):
            arguments.append(f"{c_type(r.type.element)} **{r.name}")
            if r.type.rank:
                arguments.append(f"int64_t *{r.name}_shape")
        else:
            arguments.append(f"{c_type(r.type)} *{r.name}")
    lines, margin = [f"int {f.name}("], " " * (len(f.name) + 5)
    for k, argument in enumerate(arguments or ["void"]):
        piece = argument + (", " if k + 1 < len(arguments) else ");")
        if len(lines[-1]) + len(piece.rstrip()) > 100:
            lines[-1] = lines[-1].rstrip()
            lines.append(margin)
        lines[-1] += piece
    return "\n".join(lines)


def _param_declarations(p: CParam) -> list[str]:
    t = p.type
    if isinstance(t, RecordType):
        return []
    if not isinstance(t, MemRefType):
        return [f"{c_type(t)} {p.name}"]
    const = "const " if p.role == "in" else ""
    found = [f"{const}{c_type(t.element)} *{p.name}"]
    if p.like is None:
        found += [f"int64_t {name}" for name in _own(p, t)]
    return found + [f"int64_t {p.name}_stride{d}" for d in dynamic_strides(t)]


def _free(f: CFunction) -> str:
    name = f.name.removesuffix("_aug") + "_free"
    return f"/* Frees what {f.name} returned; null is allowed. */\nvoid {name}(void *handle);"


def _shared(prefix: str) -> str:
    return f"""/* The message of the last failure in this thread, with the place in the Python source. */
const char *{prefix}_message(void);

/* What a status means. */
const char *{prefix}_strerror(int status);

/* The number of threads of parallel loops from now on; 0 asks the environment again. */
void {prefix}_set_threads(int count);

/* Gives memory that is kept between calls back to the system. */
void {prefix}_release_memory(void);"""
