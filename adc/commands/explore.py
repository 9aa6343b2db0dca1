"""``adc explore``: a function at all stages on one page, each line with the line of Python that it comes from."""

from __future__ import annotations

import html
import inspect
import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adc.border.selecting import everything
from adc.commands.explore_page import PAGE
from adc.driver.compiler import Staged, part_of
from adc.driver.seeding import clears, seeded
from adc.errors import DifferentiationError
from adc.ir import kinds
from adc.reports.dump import as_called, dump_function

if TYPE_CHECKING:
    from adc.functions.decorator import JitFunction
    from adc.reports.report import Report

Line = tuple[str, int]  # the text, and the source line that it comes from, or 0
_LOC = re.compile(r' loc\((?:unknown|"((?:[^"\\]|\\.)*)":(\d+)[^()]*)\)')
_NODE = re.compile(r"^!(\d+) = (?:distinct )?!(DI\w+)\((.*)\)$", re.MULTILINE)
_DEBUG = re.compile(r",? !dbg !(\d+)")
_TAIL = re.compile(r"(,? ![\w.]+ ![\w{}]+)+$")
_BESIDE = ("!", "; ModuleID", "; Function Attrs", "source_filename", "attributes #", "declare ", "target ")
_UNSHOWN = re.compile(r"^\s*(\.cfi|\.loc\b|\.file|\.p2align|#APP|#NO_APP|\.L?tmp\d+:|\.Ltmp|\.Lfunc)")


def page(function: JitFunction[..., Any], signature: str | None = None) -> str:
    """The page, which is self-contained."""
    subject = function._subject
    abstracts = as_called(subject, signature)
    source, first = inspect.getsourcelines(subject.fn)
    file = inspect.getsourcefile(subject.fn) or ""
    primal = dump_function(subject, abstracts, "simplified", function._derivative, locs=True)
    adjoint = dump_function(subject, abstracts, "adjoint", function._derivative, locs=True)
    report = function.report(signature, simd=True)
    llvm, assembly = _machine_code(Staged(subject, abstracts), function, file)
    panes: list[tuple[str, str, list[Line]]] = [
        ("python", "Python", [(line.rstrip("\n"), first + k) for k, line in enumerate(source)]),
        ("primal", "Primal IR", _ir(primal, file)),
        ("adjoint", "Adjoint IR", _ir(adjoint, file)),
        ("llvm", "LLVM", llvm),
        ("asm", "Assembly", assembly),
    ]
    data = {
        "panes": [{"id": name, "title": title, "lines": lines} for name, title, lines in panes],
        "badges": _badges(report, range(first, first + len(source))),
        "tape": _tape(report),
    }
    title = f"{subject.name} of {file.rsplit('/', 1)[-1]}"
    embedded = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        PAGE.replace("{{title}}", html.escape(title))
        .replace("{{summary}}", html.escape(report.summary()))
        .replace("{{data}}", embedded)
    )


def _ir(text: str, file: str) -> list[Line]:
    lines = []
    for line in text.splitlines():
        found = _LOC.search(line)
        own = found is not None and found[1] is not None and found[1] == file
        lines.append((_LOC.sub("", line), int(found[2]) if own and found is not None else 0))
    return lines


def _machine_code(staged: Staged, function: JitFunction[..., Any], file: str) -> tuple[list[Line], list[Line]]:
    """LLVM IR after optimisation, and assembly, of the function and its gradient, or its pullback."""
    derivative = function._derivative
    try:
        traced, _wanted = staged.traced_for(derivative.chain, has_aux=derivative.has_aux)
        module, adjoint = staged.gradient(traced, _wanted, with_value=True, clears=True)
        roots = [adjoint.name]
    except DifferentiationError as error:
        if error.kind != kinds.NOT_SCALAR.name:
            raise
        staged = Staged(staged.subject, staged.abstracts)
        traced = staged.traced(reverse=True)
        names = staged.subject.parameters.names
        module, _, plan = staged.split(traced, everything(names, staged.abstracts, traced))
        forward, reverse, _ = seeded(module, traced.entry, plan)
        clears(module, traced, plan, reverse)
        roots = [forward, reverse]
    shown = [traced.entry, *roots]
    final = part_of(staged.prepared(module, shown), shown)
    code = staged.subject.target.shown(final, shown, staged.subject.options, debug=True)
    return _llvm(code.llvm_ir(), file), _assembly(code.assembly(), file)


def _llvm(text: str, file: str) -> list[Line]:
    """LLVM IR without metadata, with the source lines found in the metadata."""
    nodes = {number: (kind, _fields(rest)) for number, kind, rest in _NODE.findall(text)}

    def line_of(number: str) -> int:
        kind, fields = nodes.get(number, ("", {}))
        scope = nodes.get(fields.get("scope", "").lstrip("!"), ("", {}))[1]
        named = nodes.get(scope.get("file", "").lstrip("!"), ("", {}))[1]
        own = kind == "DILocation" and _is_file(named, file)
        return int(fields.get("line", 0)) if own else 0

    lines: list[Line] = []
    for line in text.splitlines():
        if line.startswith(_BESIDE):
            continue
        found = _DEBUG.search(line)
        lines.append((_TAIL.sub("", _DEBUG.sub("", line)), line_of(found[1]) if found else 0))
    return _squeezed(lines)


def _fields(text: str) -> dict[str, str]:
    return dict(re.findall(r'(\w+): ("(?:[^"\\]|\\.)*"|[^,]+)', text))


def _is_file(fields: dict[str, str], file: str) -> bool:
    name, folder = fields.get("filename", "").strip('"'), fields.get("directory", "").strip('"')
    return file in (name, f"{folder}/{name}")


def _assembly(text: str, file: str) -> list[Line]:
    """Machine instructions, without directives."""
    files: dict[str, str] = {}
    for number, folder, name in re.findall(r'^\s*\.file\s+(\d+) "([^"]*)"(?: "([^"]*)")?', text, re.MULTILINE):
        files[number] = f"{folder}/{name}" if name and not name.startswith("/") else name or folder
    lines: list[Line] = []
    line_now = 0
    for line in text.splitlines():
        if re.match(r"\s*\.section\s+\.debug", line):
            break
        if found := re.match(r"\s*\.loc\s+(\d+) (\d+)", line):
            line_now = int(found[2]) if files.get(found[1]) == file else 0
            continue
        if _UNSHOWN.match(line):
            continue
        if line and not line.startswith(("\t", " ", ".", "#")):
            line_now = 0  # a new function begins
        lines.append((line.expandtabs(4).split(" #")[0].rstrip(), line_now if line.startswith("\t") else 0))
    return _squeezed(lines)


def _squeezed(lines: Sequence[Line]) -> list[Line]:
    """Without repeated empty lines."""
    return [line for k, line in enumerate(lines) if line[0] or (k and lines[k - 1][0])]


def _tape(report: Report) -> dict[str, Any]:
    """What the forward sweep keeps: bytes, and their factors. The page asks for trip counts."""
    values = [
        {"line": v.line, "name": v.name, "bytes": v.bytes, "factors": v.factors}
        | ({"refers": True} if v.refers else {})
        for v in report.stored()
    ]
    return {"values": values, "schedule": bool(report.steps)}


def _badges(report: Report, own: range) -> dict[int, list[str]]:
    """Labels for source lines: what was done with each, in a word."""
    found: dict[int, list[str]] = {}

    def add(line: int, badge: str) -> None:
        if line in own and badge not in found.setdefault(line, []):
            found[line].append(badge)

    for value in report.stored():
        add(value.line, "stored")
    for plan in report.loops():
        if plan.kind in ("threads", "parallel"):
            add(plan.loc.line, plan.kind)
    for line in report.simd or ():
        add(line, "SIMD")
    return {line: badges for line, badges in found.items() if badges}
