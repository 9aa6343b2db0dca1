"""The IR as text, in MLIR's syntax; ``adc.ir.text.parser`` reads it back.

Where MLIR has no such operation, or writes it with attributes, the text has the parts of adc's operation; the formats
are in ``adc.ir.text.assembly``. Values carry the names of Python variables where they have one.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence

from adc.ir import ops
from adc.ir.core import UNKNOWN, Attr, Block, Func, Loc, Module, Op, Value
from adc.ir.opdef import OpDef
from adc.ir.text.assembly import pieces, written
from adc.ir.types import PATTERNS, FloatType, IndexType, IntType, Type

Annotate = Callable[[Op], str | None]

_PLAIN = re.compile(r"[A-Za-z_$][\w.$]*", re.ASCII)
_UNFIT = re.compile(r"[^\w.$-]", re.ASCII)


def print_module(module: Module, *, locs: bool = False, note: Annotate | None = None) -> str:
    """The text of ``module``, ending in a newline.

    ``locs`` adds each operation's source range. What ``note`` returns for an operation is put beside it as a comment,
    or above it if it has several lines.
    """
    return "\n".join(print_func(func, locs=locs, note=note) for func in module.funcs.values())


def print_func(func: Func, *, locs: bool = False, note: Annotate | None = None) -> str:
    """The text of one function, ending in a newline."""
    writer = _Writer(locs, note)
    writer.func(func)
    return "\n".join(writer.lines) + "\n"


def print_op(op: Op, *, locs: bool = False) -> str:
    """The text of one operation, for a message; operands are named by their hints."""
    writer = _Writer(locs, None)
    writer.op(op, 0)
    return "\n".join(writer.lines)


# Attributes -----------------------------------------------------------------------------------------------------------


def attr_text(value: Attr) -> str:
    """An attribute: number, true, false, none, string, type, or a list of attributes in brackets."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float_text(value, 64) if math.isfinite(value) else f"{float_text(value, 64)} : f64"
    if isinstance(value, str):
        return string_text(value)
    if isinstance(value, Type):
        return str(value)
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(attr_text, value))}]"
    raise TypeError(f"not an attribute: {value!r}")


def float_text(value: float, width: int) -> str:
    """The shortest decimal that reads back to the same float; infinities and NaN by their bits."""
    if not math.isfinite(value):
        pattern = struct.pack(f">{PATTERNS[width]}", value)
        return f"0x{pattern.hex().upper()}"
    text = repr(float(value))
    if "." not in text:
        mantissa, _, exponent = text.partition("e")
        text = f"{mantissa}.0e{exponent}"
    return text


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def string_text(value: str) -> str:
    """A string in quotes; non-printing characters are written as bytes of UTF-8, two hexadecimal digits each."""

    def escape(char: str) -> str:
        if char in _ESCAPES:
            return _ESCAPES[char]
        if char.isprintable():
            return char
        return "".join(f"\\{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))

    return f'"{"".join(map(escape, value))}"'


def symbol_text(name: str) -> str:
    return f"@{name}" if _PLAIN.fullmatch(name) else f"@{string_text(name)}"


def dictionary_text(attrs: Mapping[str, Attr]) -> str:
    entries = (
        f"{key if _PLAIN.fullmatch(key) else string_text(key)} = {attr_text(value)}"
        for key, value in sorted(attrs.items())
    )
    return f"{{{', '.join(entries)}}}"


def loc_text(loc: Loc) -> str:
    """``loc("file":line:column to line:column)``, columns from 1."""
    if loc == UNKNOWN:
        return "loc(unknown)"
    end = "" if loc.end_line == loc.end_column == 0 else f" to {loc.end_line}:{loc.end_column + 1}"
    return f"loc({string_text(loc.file)}:{loc.line}:{loc.column + 1}{end})"


# Names ----------------------------------------------------------------------------------------------------------------


class Names:
    """Names for the values of one function, given in order of appearance and unique."""

    def __init__(self) -> None:
        self._names: dict[Value, str] = {}
        self._taken: set[str] = set()
        self._tries: dict[str, int] = {}
        self._numbers = 0

    def define(self, value: Value) -> str:
        name = self._unique(self._base(value))
        self._names[value] = name
        return name

    def use(self, value: Value) -> str:
        """The name of ``value``; one that is not visible (in a fragment, or in broken IR) is shown by its hint."""
        name = self._names.get(value)
        return f"%{name}" if name is not None else f"%<{value.hint or 'unnamed'}>"

    def _base(self, value: Value) -> str:
        if value.hint:
            base = _UNFIT.sub("_", value.hint)
            return f"_{base}" if base[0].isdigit() or base[0] == "-" else base
        op = value.op
        if op is None:
            return "arg"
        if op.opdef is ops.constant and "value" in op.attrs:
            return _constant_name(op.attrs["value"], value.type)
        return ""

    def _unique(self, base: str) -> str:
        if not base:
            self._numbers += 1
            return str(self._numbers - 1)
        name = base if base != "arg" else "arg0"
        count = self._tries.get(base, 0)
        while name in self._taken:
            name = f"arg{count}" if base == "arg" else f"{base}_{count}"
            count += 1
        self._tries[base] = count
        self._taken.add(name)
        return name


def _constant_name(value: Attr, t: Type) -> str:
    if isinstance(t, FloatType):
        return "cst"
    if isinstance(t, IndexType):
        return f"c{int(value)}"
    if isinstance(t, IntType) and t.width == 1:
        return "true" if value else "false"
    return f"c{int(value)}_{t}"


# Operations -----------------------------------------------------------------------------------------------------------


class _Writer:
    def __init__(self, locs: bool, note: Annotate | None) -> None:
        self.locs = locs
        self.note = note
        self.names = Names()
        self.lines: list[str] = []

    def func(self, func: Func) -> None:
        params = []
        for arg, attrs in zip(func.args, func.arg_attrs, strict=True):
            suffix = f" {dictionary_text(attrs)}" if attrs else ""
            params.append(f"%{self.names.define(arg)}: {arg.type}{suffix}")
        results = f" -> {_types(func.result_types)}" if func.result_types else ""
        own = f" attributes {dictionary_text(func.attrs)}" if func.attrs else ""
        self.lines.append(f"func.func {symbol_text(func.name)}({', '.join(params)}){results}{own} {{")
        self.block(func.body, 1)
        self.lines.append("}" + self.loc(func.loc))

    def block(self, block: Block, depth: int) -> None:
        for op in block.ops:
            self.op(op, depth)

    def op(self, op: Op, depth: int) -> None:
        indent = "  " * depth
        comment = self.note(op) if self.note is not None else None
        if comment and "\n" in comment:
            self.lines += [f"{indent}// {line}".rstrip() for line in comment.splitlines()]
            comment = None
        remark = f"  // {comment}" if comment else ""
        names = ", ".join(f"%{self.names.define(r)}" for r in op.results)
        head = f"{indent}{names} = {op.opdef.name}" if names else f"{indent}{op.opdef.name}"
        rule = _REGION_OPS.get(op.opdef)
        if rule is None:
            body = self.plain(op).rstrip()
            space = "" if not body or body[0] in "( " else " "
            self.lines.append(f"{head}{space}{body}{self.loc(op.loc)}{remark}")
            return
        rule(self, op, head, indent, remark, depth)
        attrs = self.extra(op, frozenset())
        self.lines[-1] += f"{attrs}{self.loc(op.loc)}"

    def loc(self, loc: Loc) -> str:
        return f" {loc_text(loc)}" if self.locs else ""

    def uses(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self.names.use, values))

    def extra(self, op: Op, elsewhere: frozenset[str]) -> str:
        """The dictionary of attributes, without those written elsewhere and those at their default."""
        defaults = op.opdef.attrs
        attrs = {
            key: value
            for key, value in op.attrs.items()
            if key not in elsewhere and not _same(value, defaults.get(key, ...))
        }
        return f" {dictionary_text(attrs)}" if attrs else ""

    def plain(self, op: Op) -> str:
        out = []
        rest = iter(op.operands)
        for literal, hole in pieces(op.opdef):
            out.append(literal)
            if hole:
                out.append(self.hole(op, hole, rest))
        return "".join(out)

    def hole(self, op: Op, hole: str, rest: Iterable[Value]) -> str:
        """The text for one placeholder of a format; ``rest`` gives the operands not written yet."""
        types = [v.type for v in op.operands]
        if hole.isdigit():
            return self.names.use(next(iter(rest)))
        if hole == "*":
            return self.uses(rest)
        if hole == "rank":
            return self.uses(value for _, value in zip(range(types[0].rank), rest))  # type: ignore[attr-defined]
        if hole == "attrs":
            return self.extra(op, written(op.opdef))
        if hole.startswith("="):
            return attr_text(op.attrs.get(hole[1:]))
        if hole == "fastmath":
            mode = op.attrs.get("fastmath", "none")
            return "" if mode == "none" else f" fastmath<{mode}>"
        if hole == "predicate":
            return str(op.attrs["predicate"])
        if hole == "callee":
            return symbol_text(op.attrs["callee"])
        if hole == "value":
            return _constant(op)
        if hole == "types":
            return ", ".join(map(str, op.attrs["types"]))
        if hole == "fn":
            return f"({', '.join(map(str, types))}) -> {_types(op.attrs['types'])}"
        if hole == "result":
            return str(op.result.type)
        if hole.startswith("t"):
            return str(types[int(hole[1:])])
        if hole == ": same" and len(set(types)) == 1:
            types = types[:1]
        if hole == ": 1*":
            types = types[1:]
        return f" : {', '.join(map(str, types))}" if types else ""

    # Operations with regions: each writes its text up to the closing brace --------------------------------------------

    def _for(self, op: Op, head: str, indent: str, remark: str, depth: int) -> None:
        (body,) = op.regions
        lower, upper, step, *inits = op.operands
        counter, *carried = body.args
        text = f"{head} %{self.names.define(counter)} = {self.names.use(lower)} to {self.names.use(upper)}"
        text += f" step {self.names.use(step)}"
        if inits:
            pairs = ", ".join(
                f"%{self.names.define(arg)} = {self.names.use(init)}" for arg, init in zip(carried, inits, strict=True)
            )
            text += f" iter_args({pairs}) -> ({', '.join(str(r.type) for r in op.results)})"
        self.lines.append(f"{text} {{{remark}")
        self.block(body, depth + 1)
        self.lines.append(f"{indent}}}")

    def _parallel(self, op: Op, head: str, indent: str, remark: str, depth: int) -> None:
        (body,) = op.regions
        lower, upper, step, *inits = op.operands
        text = f"{head} (%{self.names.define(body.args[0])}) = ({self.names.use(lower)})"
        text += f" to ({self.names.use(upper)}) step ({self.names.use(step)})"
        if inits:
            text += f" init ({self.uses(inits)}) -> {_types([r.type for r in op.results])}"
        self.lines.append(f"{text} {{{remark}")
        self.block(body, depth + 1)
        self.lines.append(f"{indent}}}")

    def _while(self, op: Op, head: str, indent: str, remark: str, depth: int) -> None:
        before, after = op.regions
        pairs = ", ".join(
            f"%{self.names.define(arg)} = {self.names.use(init)}"
            for arg, init in zip(before.args, op.operands, strict=True)
        )
        inputs, results = ([str(v.type) for v in values] for values in (op.operands, op.results))
        self.lines.append(f"{head} ({pairs}) : ({', '.join(inputs)}) -> ({', '.join(results)}) {{{remark}")
        self.block(before, depth + 1)
        self.lines.append(f"{indent}}} do {{")
        if after.args:
            args = ", ".join(f"%{self.names.define(arg)}: {arg.type}" for arg in after.args)
            self.lines.append(f"{indent}^bb0({args}):")
        self.block(after, depth + 1)
        self.lines.append(f"{indent}}}")

    def _if(self, op: Op, head: str, indent: str, remark: str, depth: int) -> None:
        then, otherwise = op.regions
        results = f" -> ({', '.join(str(r.type) for r in op.results)})" if op.results else ""
        self.lines.append(f"{head} {self.uses(op.operands)}{results} {{{remark}")
        self.block(then, depth + 1)
        plain = len(otherwise.ops) == 1 and not otherwise.terminator.attrs
        if self.locs or op.results or not plain:
            self.lines.append(f"{indent}}} else {{")
            self.block(otherwise, depth + 1)
        self.lines.append(f"{indent}}}")


_REGION_OPS: dict[OpDef, Callable[[_Writer, Op, str, str, str, int], None]] = {
    ops.for_: _Writer._for,
    ops.parallel: _Writer._parallel,
    ops.while_: _Writer._while,
    ops.if_: _Writer._if,
}


def _constant(op: Op) -> str:
    value, t = op.attrs["value"], op.attrs["type"]
    if isinstance(t, FloatType):
        return float_text(float(value), t.width)
    if isinstance(t, IntType) and t.width == 1:
        return "true" if value else "false"
    return attr_text(value)


def _same(value: Attr, default: Attr) -> bool:
    return type(value) is type(default) and bool(value == default)


def _types(types: Sequence[Type]) -> str:
    text = ", ".join(map(str, types))
    return text if len(types) == 1 else f"({text})"
