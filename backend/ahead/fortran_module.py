"""The Fortran module of ahead-of-time output: an ``iso_c_binding`` interface for each function.

Arrays are passed by their first element. An array in C order with extents (n, m) is a Fortran array with dimensions
(m, n). Results that are arrays, and handles, are of ``type(c_ptr)``.
"""

from __future__ import annotations

from adc.backend.ahead.aot import Built
from adc.backend.ahead.cabi import CFunction, CParam, CResult, dynamic_strides, portable_type
from adc.ir.types import MemRefType, RecordType, Type

_TYPES = {
    "double": "real(c_double)",
    "float": "real(c_float)",
    "bool": "logical(c_bool)",
    "int8_t": "integer(c_int8_t)",
    "int16_t": "integer(c_int16_t)",
    "int32_t": "integer(c_int32_t)",
    "int64_t": "integer(c_int64_t)",
}
_INTENT = {"in": "intent(in)", "inout": "intent(inout)", "gradient": "intent(out)", "cotangent": "intent(inout)"}
_WIDTH = 100


def fortran_module(built: Built, source: str, name: str) -> str:
    """The text of the module ``name``."""
    lines = [
        f"! Interfaces of what adc compiled from {source}. Functions return 0, or the status of an error, whose text",
        "! is adc_text(message()). An array of C order with extents (n, m) has the dimensions (m, n) here. Results may",
        "! be left out. Arrays among them are new memory: use c_f_pointer, and give it back by adc_free.",
        f"module {name}",
        "    use, intrinsic :: iso_c_binding",
        "    implicit none",
        "",
        "    interface",
    ]
    for f in built.functions:
        lines += [*_interface(f), ""]
        if f.kind == "forward":
            lines += [*_free(f), ""]
    lines += [*_shared(built.prefix), "    end interface", "", *_helpers(), f"end module {name}", ""]
    return "\n".join(lines)


def _interface(f: CFunction) -> list[str]:
    names = _Names(f)
    arguments, declared = [], []

    def add(name: str, how: str, dimension: str = "") -> None:
        own = names(name)
        arguments.append(own)
        declared.append(f"{how} :: {own}{dimension}")

    if f.inside:
        memory, size = f.workspace
        add(memory, "type(c_ptr), value")
        add(size, "integer(c_int64_t), value")
    for p in f.params:
        for name, how, dimension in _parameter(p):
            add(name, how, dimension)
    if f.kind != "call":
        add("handle", "type(c_ptr), intent(out)" if f.kind == "forward" else "type(c_ptr), value")
    for r in f.results:
        for name, how, dimension in _result(r):
            add(name, how, dimension)
    head = f"        function {f.name}({', '.join(arguments)}) bind(c, name='{f.name}') result(adc_status)"
    body = [f"            {line}" for line in declared]
    return [
        f"        ! {f.summary}" if len(f.summary) < _WIDTH else _wrapped_comment(f.summary),
        _continued(head),
        "            import",
        *body,
        "            integer(c_int) :: adc_status",
        f"        end function {f.name}",
    ]


def _parameter(p: CParam) -> list[tuple[str, str, str]]:
    t = p.type
    if isinstance(t, RecordType):
        return []
    if not isinstance(t, MemRefType):
        return [(p.name, f"{_fortran(t)}, value", "")]
    found = [(p.name, f"{_fortran(t.element)}, {_INTENT[p.role]}", "(*)" if t.rank else "")]
    if p.like is None:
        found += [(f"{p.name}_shape{d}", "integer(c_int64_t), value", "") for d in range(t.rank)]
    return found + [(f"{p.name}_stride{d}", "integer(c_int64_t), value", "") for d in dynamic_strides(t)]


def _result(r: CResult) -> list[tuple[str, str, str]]:
    t = r.type
    if isinstance(t, RecordType):
        return []
    if not isinstance(t, MemRefType):
        return [(r.name, f"{_fortran(t)}, intent(out), optional", "")]
    found = [(r.name, "type(c_ptr), intent(out), optional", "")]
    if t.rank:
        found.append((f"{r.name}_shape", "integer(c_int64_t), intent(out), optional", f"({t.rank})"))
    return found


def _fortran(t: Type) -> str:
    name = portable_type(t, "Fortran")
    return _TYPES.get(name) or _TYPES[name.removeprefix("u")]  # Fortran has no unsigned integers: the same bits


class _Names:
    """Names of arguments. In Fortran names are case-insensitive and begin with a letter."""

    def __init__(self, f: CFunction) -> None:
        self._taken = {f.name.lower(), "adc_status"}

    def __call__(self, name: str) -> str:
        base = found = name if name[0].isalpha() else f"a{name}"
        count = 1
        while found.lower() in self._taken:
            count += 1
            found = f"{base}_{count}"
        self._taken.add(found.lower())
        return found


def _free(f: CFunction) -> list[str]:
    name = f.name.removesuffix("_aug") + "_free"
    return [
        f"        ! Frees what {f.name} returned.",
        f"        subroutine {name}(handle) bind(c, name='{name}')",
        "            import",
        "            type(c_ptr), value :: handle",
        f"        end subroutine {name}",
    ]


def _shared(prefix: str) -> list[str]:
    return [
        "        ! The message of the last failure in this thread, as C text: see adc_text.",
        f"        function {prefix}_message() bind(c, name='{prefix}_message') result(adc_message)",
        "            import",
        "            type(c_ptr) :: adc_message",
        f"        end function {prefix}_message",
        "",
        "        ! The number of threads of parallel loops from now on; 0 asks the environment again.",
        f"        subroutine {prefix}_set_threads(count) bind(c, name='{prefix}_set_threads')",
        "            import",
        "            integer(c_int), value :: count",
        f"        end subroutine {prefix}_set_threads",
        "",
        "        ! Gives memory that is kept between calls back to the system.",
        f"        subroutine {prefix}_release_memory() bind(c, name='{prefix}_release_memory')",
        f"        end subroutine {prefix}_release_memory",
        "",
        "        ! Frees an array result.",
        "        subroutine adc_free(memory) bind(c, name='free')",
        "            import",
        "            type(c_ptr), value :: memory",
        "        end subroutine adc_free",
        "",
        "        function adc_length(text) bind(c, name='strlen') result(length)",
        "            import",
        "            type(c_ptr), value :: text",
        "            integer(c_size_t) :: length",
        "        end function adc_length",
    ]


def _helpers() -> list[str]:
    return """\
contains

    ! The text that a C pointer points to.
    function adc_text(pointer) result(text)
        type(c_ptr), intent(in) :: pointer
        character(len=:), allocatable :: text
        character(kind=c_char), pointer :: letters(:)
        integer :: k
        call c_f_pointer(pointer, letters, [adc_length(pointer)])
        allocate (character(len=size(letters)) :: text)
        do k = 1, size(letters)
            text(k:k) = letters(k)
        end do
    end function adc_text""".splitlines()


def _continued(line: str) -> str:
    """A statement, continued over lines that are short enough for Fortran."""
    lines, margin = [""], " " * 16
    for word in line.replace(", ", ",\x00").split("\x00"):
        if len(lines[-1]) + len(word) > _WIDTH and lines[-1].strip():
            lines[-1] += " &"
            lines.append(margin)
        lines[-1] += word if not lines[-1].strip() else f" {word}"
    return "\n".join(lines)


def _wrapped_comment(text: str) -> str:
    lines = [""]
    for word in text.split():
        if len(lines[-1]) + len(word) > _WIDTH:
            lines.append("")
        lines[-1] += f" {word}"
    return "\n".join(f"        !{line}" for line in lines)
