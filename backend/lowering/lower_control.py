"""Lowering of structured control flow, calls and run-time checks."""

from __future__ import annotations

from adc.backend.lowering import counting, late_calls, stack_depth
from adc.backend.lowering.lower_emitter import FunctionEmitter, Operand
from adc.backend.lowering.lower_loops import range_loop
from adc.backend.lowering.lower_memory import read, write
from adc.backend.lowering.lower_types import abi_types, abi_values, carried_types, carried_values, quoted, register_type
from adc.backend.lowering.lower_work import strip_of
from adc.backend.lowering.module_emitter import FIRST_LOOP, FIRST_SITE
from adc.backend.sites import Site
from adc.backend.support.libraries import DECLARATIONS
from adc.ir import ops
from adc.ir.core import Op, Value
from adc.ir.externals import REACHED, SYMBOL
from adc.ir.steps import GROUPED
from adc.ir.types import MemRefType, Type, index, scalar_bytes


def for_(e: FunctionEmitter, op: Op) -> None:
    lower, upper, step = e.scalars(op.operands[:3])
    (block,) = op.regions
    types = [r.type for r in op.results]
    outer = op in e.facts.outer
    strip = strip_of(e, op) if e.module.effects.polls else 0
    counted = "1" if op.attrs.get(GROUPED) else step
    counter = counting.begin(e, op, (lower, upper, counted)) if outer or strip else None

    def body(subscript: str, carried: list[Operand]) -> list[Operand]:
        if outer:
            e.poll(None if counter is None else lambda: counter.note_at(subscript, lower, counted))
        e.env[block.args[0]] = subscript
        e.env.update(zip(block.args[1:], carried, strict=True))
        e.scopes.declare_loop(e, block)
        terminator = e.lower_ops(block)
        return [e[v] for v in terminator.operands]

    def poll(iterations: str) -> None:
        e.poll(None if counter is None else lambda: counter.note(iterations))

    inits = [e[v] for v in op.operands[3:]]
    results = range_loop(e, lower, upper, step, types, inits, body, op=op, strip=strip, poll=poll)
    if counter is not None:
        counter.note(counter.trips)
    e.env.update(zip(op.results, results, strict=True))
    e.scopes.declare_loop(e, op)


def while_(e: FunctionEmitter, op: Op) -> None:
    before, after = op.regions
    entry, head, go, done = e.label, e.new_label(), e.new_label(), e.new_label()
    inits = [e[v] for v in op.operands]
    counter = counting.begin(e, op)
    e.branch(head)
    e.begin(head)
    phis = e.open_phis([a.type for a in before.args])
    number, slot = e.name(), len(e.lines)
    if counter is not None:
        e.lines.append("")
    e.env.update(zip(before.args, phis.rebuild(), strict=True))
    condition, *passed = e.lower_ops(before).operands
    values = [e[v] for v in passed]
    e.branch_if(e.scalar(condition), go, done)
    e.begin(go)
    e.poll(None if counter is None else lambda: counter.note(number))
    e.env.update(zip(after.args, values, strict=True))
    e.scopes.declare_loop(e, after)
    following = [e[v] for v in e.lower_ops(after).operands]
    latch = e.label
    if counter is not None:
        more = e.let(f"add i64 {number}, 1")
        e.lines[slot] = f"  {number} = phi i64 [0, %{entry}], [{more}, %{latch}]{e.dbg}"
    e.branch(head)
    phis.close([(entry, inits), (latch, following)])
    e.begin(done)
    if counter is not None:
        counter.note(number)
    e.env.update(zip(op.results, values, strict=True))


def if_(e: FunctionEmitter, op: Op) -> None:
    condition = e.scalar(op.operands[0])
    then, other, done = e.new_label(), e.new_label(), e.new_label()
    cold = op.attrs.get(ops.COLD)  # the region that is cold
    e.branch_if(condition, then, other, e.likely(cold == "else") if cold else "")
    arrivals: list[tuple[str, list[Operand]]] = []
    for label, block, name in zip((then, other), op.regions, ("then", "else"), strict=True):
        e.begin(label)
        e.cold_depth += name == cold
        values = [e[v] for v in e.lower_ops(block).operands]
        e.cold_depth -= name == cold
        arrivals.append((e.label, values))
        e.branch(done)
    e.begin(done)
    if op.results:
        e.env.update(zip(op.results, e.join([r.type for r in op.results], arrivals), strict=True))


# Calls ----------------------------------------------------------------------------------------------------------------
# A function that may fail returns a status and its results through pointers; one that cannot returns them as values.


def symbol(name: str, suffix: str = "") -> str:
    """The LLVM name of a function of the IR."""
    return f"@{quoted(f'adc.{name}{suffix}')}"


def value_type(types: tuple[Type, ...]) -> str:
    """The LLVM return type of a function that cannot fail: void, a value or a struct."""
    parts = [part for t in types for part in carried_types(t)]
    if not parts:
        return "void"
    return parts[0] if len(parts) == 1 else f"{{ {', '.join(parts)} }}"


def call_by_value(e: FunctionEmitter, name: str, arguments: str, types: tuple[Type, ...]) -> list[Operand]:
    """Call a function that cannot fail."""
    kind = value_type(types)
    if kind == "void":
        e.do(f"call void {name}({arguments})")
        return [e.undefined(t) for t in types]
    result = e.let(f"call {kind} {name}({arguments})")
    counts = [len(carried_types(t)) for t in types]
    total = sum(counts)
    parts = [result] if total == 1 else [e.let(f"extractvalue {kind} {result}, {k}") for k in range(total)]
    operands, position = [], 0
    for t, count in zip(types, counts, strict=True):
        operands.append(e.rebuild(t, parts[position : position + count]))
        position += count
    return operands


def call(e: FunctionEmitter, op: Op) -> None:
    name, types = op.attrs["callee"], tuple(r.type for r in op.results)
    given = ["ptr %ctx"]
    if name in e.module.limited:
        given.append(f"ptr {stack_depth.limit(e)}")
    for v in op.operands:
        given += [f"{t} {x}" for t, x in zip(abi_types(v.type), abi_values(e[v], v.type), strict=True)]
    fallible = name in e.module.effects.fallible
    if not fallible and name not in e.module.units:
        results = call_by_value(e, symbol(name, "$value"), ", ".join(given), types)
    else:
        places = [e.stack(f"[{scalar_bytes(t)} x i8]") for t in types]
        given += [f"ptr {place}" for place in places]
        target = _target(e, op)
        if name in e.module.units:
            given[1:1] = _firsts(e, name)
        elif name in e.module.taking:
            given[1:1] = _own_firsts(e, name)
        status = e.let(f"call i32 {target}({', '.join(given)})")
        if fallible:
            e.fail_if(e.let(f"icmp ne i32 {status}, 0"))
        results = [read(e, op, place, t, "") for place, t in zip(places, types, strict=True)]
    e.env.update(zip(op.results, results, strict=True))


def _target(e: FunctionEmitter, op: Op) -> str:
    """What is called: the symbol of a function, which may be in another module, or the address of its code."""
    name = op.attrs["callee"]
    if name in e.module.units:
        unit = e.module.enter_unit(name)
        if late_calls.is_late(op):
            e.module.late[unit] = None
            return late_calls.code_of(e, unit)
        e.module.needs[unit] = None
        return f"@{quoted(unit)}"
    callee = e.module.module.funcs[name]
    if SYMBOL not in callee.attrs:
        return symbol(name)
    kernel = callee.attrs[SYMBOL]
    if callee.attrs.get(REACHED) or late_calls.is_late(op):
        e.module.reached[kernel] = None
        return late_calls.code_of(e, kernel)
    e.module.elsewhere[kernel] = None
    return f"@{quoted(kernel)}"


def _firsts(e: FunctionEmitter, name: str) -> list[str]:
    """The arguments which tell a unit where its sites and loops begin in the lists of this module."""
    unit, (site, loop) = e.module.units[name], e.module.firsts[name]
    given = []
    if unit.sites:
        number = e.let(f"add i32 {e.given(FIRST_SITE, 'i32')}, {site}") if e.module.is_unit else str(site)
        given.append(f"i32 {number}")
    if unit.counted:
        given.append(f"ptr {counting.name_of(e, loop)}")
    return given


def _own_firsts(e: FunctionEmitter, name: str) -> list[str]:
    """The arguments which tell a function of this unit where the unit's sites and loops begin in the caller's lists."""
    sites, loops = e.module.taking[name]
    own = [f"i32 {e.given(FIRST_SITE, 'i32')}"] if sites else []
    return [*own, f"ptr {e.given(FIRST_LOOP, 'ptr')}"] if loops else own


def foreign(e: FunctionEmitter, op: Op) -> None:
    """Call a C function. An array is passed as a pointer, all extents, and, unless it is C-contiguous, all strides.
    Arguments that are passed by address, arrays or numbers, are a pointer alone."""
    kind = register_type(op.results[0].type) if op.results else "void"
    if op.attrs["by_address"]:
        types, values = ["ptr"] * len(op.operands), [_address(e, v) for v in op.operands]
    else:
        types = [t for v in op.operands for t in abi_types(v.type)]
        values = [x for v in op.operands for x in abi_values(e[v], v.type)]
    name = e.module.external(op, f"{kind} ", f"({', '.join(types)})")
    call = f"call {kind} @{name}({', '.join(map(' '.join, zip(types, values, strict=True)))}) nobuiltin"
    if op.attrs["alone"]:
        e.do(f"call void @{e.module.declare('adc_library_begin', DECLARATIONS['adc_library_begin'])}()")
    if op.results:
        e.env[op.results[0]] = e.let(call)
    else:
        e.do(call)
    if op.attrs["alone"]:
        e.do(f"call void @{e.module.declare('adc_library_end', DECLARATIONS['adc_library_end'])}()")


def _address(e: FunctionEmitter, v: Value) -> str:
    """The address of the first element of an array, or of a copy of a number in this function's frame."""
    if isinstance(v.type, MemRefType):
        return e.memref(v).ptr
    place, kind = e.stack(f"[{scalar_bytes(v.type)} x i8]"), register_type(v.type)
    e.do(f"store {kind} {e[v]}, ptr {place}")
    return place


def return_values(e: FunctionEmitter, op: Op) -> None:
    """End a function that cannot fail."""
    types = tuple(v.type for v in op.operands)
    kind = value_type(types)
    parts = [part for v in op.operands for part in carried_values(e[v], v.type)]
    if not parts:
        e.do("ret void")
    elif len(parts) == 1:
        e.do(f"ret {kind} {parts[0]}")
    else:
        result = "poison"
        kinds = [part for t in types for part in carried_types(t)]
        for k, (part, part_kind) in enumerate(zip(parts, kinds, strict=True)):
            result = e.let(f"insertvalue {kind} {result}, {part_kind} {part}, {k}")
        e.do(f"ret {kind} {result}")


def return_status(e: FunctionEmitter, op: Op) -> None:
    """End a function that may fail: store the results through the pointers of the caller, and return status zero."""
    for k, v in enumerate(op.operands):
        write(e, f"%out{k}", v.type, e[v], "")
    e.do("ret i32 0")


# Checks ---------------------------------------------------------------------------------------------------------------


def bound(e: FunctionEmitter, op: Op) -> None:
    subscript, extent = e.scalars(op.operands)
    if op.attrs["check"]:
        e.env[op.result] = _checked(e, op, subscript, extent)
    elif subscript.lstrip("-").isdigit():
        e.env[op.result] = subscript if not subscript.startswith("-") else e.let(f"add i64 {subscript}, {extent}")
    else:
        negative = e.let(f"icmp slt i64 {subscript}, 0")
        wrapped = e.let(f"add i64 {subscript}, {extent}")
        e.env[op.result] = e.let(f"select i1 {negative}, i64 {wrapped}, i64 {subscript}")


def _checked(e: FunctionEmitter, op: Op, subscript: str, extent: str) -> str:
    """A checked subscript. A valid subscript that is not negative takes one comparison; one that counts from the end
    takes two.

    A subscript that is too large is still too large after the extent is added: the unsigned sum does not wrap around.
    """
    site = Site("IndexError", "index {} is out of bounds for axis with size {}", op.loc, (index, index))
    if subscript.lstrip("-").isdigit():
        result = subscript if not subscript.startswith("-") else e.let(f"add i64 {subscript}, {extent}")
        e.trap_unless(e.let(f"icmp ult i64 {result}, {extent}"), site, [subscript, extent])
        return result
    here, good, other = e.label, e.new_label(), e.new_label()
    e.branch_if(e.let(f"icmp ult i64 {subscript}, {extent}"), good, other, e.likely(True))
    outer, e.lines = e.lines, []
    e.begin(other)
    wrapped = e.let(f"add i64 {subscript}, {extent}")
    e.trap_unless(e.let(f"icmp ult i64 {wrapped}, {extent}"), site, [subscript, extent])
    from_end = e.label
    e.branch(good)
    outer, e.lines = e.lines, outer
    e.cold += outer
    e.begin(good)
    return e.let(f"phi i64 [{subscript}, %{here}], [{wrapped}, %{from_end}]")


def assert_(e: FunctionEmitter, op: Op) -> None:
    condition, *values = op.operands
    site = Site(op.attrs["error"], op.attrs["message"], op.loc, tuple(v.type for v in values))
    e.trap_unless(e.scalar(condition), site, [_bits(e, e.scalar(v), v.type) for v in values])


def _bits(e: FunctionEmitter, value: str, t: Type) -> str:
    """A number as 64 bits: an integer sign-extended (a Boolean is 0 or 1); a float's own bits, zeros above."""
    kind = register_type(t)
    if kind == "double":
        return e.let(f"bitcast double {value} to i64")
    if kind in ("float", "half"):
        whole = "i32" if kind == "float" else "i16"
        return e.let(f"zext {whole} {e.let(f'bitcast {kind} {value} to {whole}')} to i64")
    if kind == "i64":
        return value
    return e.let(f"{'zext' if kind == 'i1' else 'sext'} {kind} {value} to i64")


def undef(e: FunctionEmitter, op: Op) -> None:
    e.env[op.result] = e.undefined(op.result.type)
