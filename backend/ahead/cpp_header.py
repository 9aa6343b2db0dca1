"""The C++ header of ahead-of-time output: views of arrays in, results by value, failures as exceptions.

It is C++20 and wraps the C header. An array parameter is an ``adc::view``. It can be made from a ``std::span``, from
anything that converts to one, from a ``std::mdspan`` where the library has it, or from a pointer with extents.
"""

from __future__ import annotations

from collections import Counter

from adc.backend.ahead.aot import Built
from adc.backend.ahead.c_names import identifier
from adc.backend.ahead.cabi import CFunction, CParam, CResult, c_type, dynamic_strides
from adc.ir.types import MemRefType, RecordType

COMMON = """\
#ifndef ADC_CPP_COMMON
#define ADC_CPP_COMMON

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <version>
#ifdef __cpp_lib_mdspan
#include <mdspan>
#endif

namespace adc {

/* What a function throws that returned another status than ADC_OK. */
struct error : std::runtime_error {
    int status;
    error(int status, const std::string &message) : std::runtime_error(message), status(status) {}
};

/* An array that somebody else owns: strides are in elements. */
template <class T, std::size_t Rank>
struct view {
    T *data = nullptr;
    std::array<std::int64_t, Rank> shape{}, strides{};

    view() = default;
    template <class... Extents>
        requires(sizeof...(Extents) == Rank && (std::is_convertible_v<Extents, std::int64_t> && ...))
    view(T *data, Extents... extents) : data(data), shape{static_cast<std::int64_t>(extents)...} { in_c_order(); }
    view(T *data, const std::array<std::int64_t, Rank> &shape) : data(data), shape(shape) { in_c_order(); }
    view(T *data, const std::array<std::int64_t, Rank> &shape, const std::array<std::int64_t, Rank> &strides)
        : data(data), shape(shape), strides(strides) {}
    template <class Range>
        requires(Rank == 1 && std::is_constructible_v<std::span<T>, Range &> &&
                 !std::is_same_v<std::remove_cvref_t<Range>, view>)
    view(Range &&range) {
        std::span<T> all(range);
        data = all.data();
        shape[0] = static_cast<std::int64_t>(all.size());
        in_c_order();
    }
    template <class U>
        requires(std::is_same_v<const U, T>)
    view(const view<U, Rank> &other) : data(other.data), shape(other.shape), strides(other.strides) {}
#ifdef __cpp_lib_mdspan
    template <class U, class Extents, class Layout>
        requires(Extents::rank() == Rank && std::is_convertible_v<U (*)[], T (*)[]>)
    view(const std::mdspan<U, Extents, Layout> &given) : data(given.data_handle()) {
        for (std::size_t d = 0; d < Rank; d++) {
            shape[d] = static_cast<std::int64_t>(given.extent(d));
            strides[d] = static_cast<std::int64_t>(given.stride(d));
        }
    }
#endif
    /* Whether elements lie side by side from dimension `first` on. */
    bool contiguous(std::size_t first = 0) const {
        std::int64_t expected = 1;
        for (std::size_t d = Rank; d-- > first;) {
            if (shape[d] != 1 && strides[d] != expected) return false;
            expected *= shape[d];
        }
        return true;
    }

private:
    void in_c_order() {
        std::int64_t stride = 1;
        for (std::size_t d = Rank; d-- > 0;) {
            strides[d] = stride;
            stride *= shape[d];
        }
    }
};

/* A new array, in C order. */
template <class T, std::size_t Rank>
struct array {
    std::unique_ptr<T[], decltype(&std::free)> memory{nullptr, &std::free};
    std::array<std::int64_t, Rank> shape{};
    T *data() const { return memory.get(); }
    std::size_t size() const {
        std::size_t count = 1;
        for (std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
        return count;
    }
    std::span<T> span() const { return {data(), size()}; }
    operator view<T, Rank>() const { return {data(), shape}; }
    operator view<const T, Rank>() const { return {data(), shape}; }
};

/* What a forward sweep keeps for reverse sweeps. */
using record = std::unique_ptr<void, void (*)(void *)>;

inline void require(bool holds, const char *what) {
    if (!holds) throw std::invalid_argument(what);
}

} // namespace adc

#endif /* ADC_CPP_COMMON */
"""


def cpp_header(built: Built, source: str, c_header: str) -> str:
    """The text of the header; it includes ``c_header``."""
    guard = f"ADC_{identifier(built.prefix).upper()}_HPP"
    shown = [f for f in built.functions if not f.inside]
    keys = Counter((f.overload or f.name, tuple(_parameter_type(p) for p in _taken(f))) for f in shown)
    parts = [
        f"/* C++20 functions around {c_header}, compiled by adc from {source}. They throw adc::error. */",
        f"#ifndef {guard}\n#define {guard}\n",
        f'#include "{c_header}"\n',
        COMMON,
        f"namespace {_namespace(built)} {{\n",
    ]
    for f in shown:
        alone = keys[f.overload or f.name, tuple(_parameter_type(p) for p in _taken(f))] == 1
        parts.append(_function(f, (f.overload or f.name) if alone else f.name, built.prefix))
    parts += [f"}} // namespace {_namespace(built)}\n", f"#endif /* {guard} */\n"]
    return "\n".join(parts)


def _namespace(built: Built) -> str:
    return f"{built.prefix}_cpp"


def _taken(f: CFunction) -> list[CParam]:
    return [p for p in f.params if not isinstance(p.type, RecordType)]


def _given(f: CFunction) -> list[CResult]:
    return [r for r in f.results if not isinstance(r.type, RecordType)]


def _parameter_type(p: CParam) -> str:
    t = p.type
    if not isinstance(t, MemRefType):
        return c_type(t)
    return f"adc::view<{'const ' if p.role == 'in' else ''}{c_type(t.element)}, {t.rank}>"


def _result_type(r: CResult) -> str:
    t = r.type
    return f"adc::array<{c_type(t.element)}, {t.rank}>" if isinstance(t, MemRefType) else c_type(t)


def _function(f: CFunction, name: str, prefix: str) -> str:
    results = _given(f)
    parameters = [f"{_parameter_type(p)} {p.name}" for p in _taken(f)]
    if f.kind == "reverse":
        parameters.append("const adc::record &handle")
    fields = [(_result_type(r), r.name) for r in results] + [("adc::record", "handle")] * (f.kind == "forward")
    lines = []
    if len(fields) > 1:
        of = f"{f.name}_result"
        lines += [f"struct {of} {{", *(f"    {t} {n}{_initial(t, f)};" for t, n in fields), "};\n"]
    else:
        of = fields[0][0] if fields else "void"
    lines.append(f"/* {f.summary} */")
    lines.append(f"inline {of} {name}({', '.join(parameters)}) {{")
    lines += [f"    {line}" for line in _checks(f)]
    lines += [f"    {line}" for line in _call(f, prefix, of, fields)]
    return "\n".join([*lines, "}\n"])


def _initial(type: str, f: CFunction) -> str:
    return f"{{nullptr, &::{_free(f)}}}" if type == "adc::record" else "{}"


def _free(f: CFunction) -> str:
    return f.name.removesuffix("_aug") + "_free"


def _checks(f: CFunction) -> list[str]:
    lines = []
    for p in _taken(f):
        t = p.type
        if not isinstance(t, MemRefType) or not t.rank:
            continue
        if p.like is not None:
            of = f.params[p.like].name
            lines.append(f'adc::require({p.name}.shape == {of}.shape, "{p.name} must have the shape of {of}");')
        if t.strides is None:
            lines.append(f'adc::require({p.name}.contiguous(), "{p.name} must be C-contiguous");')
        elif len(dynamic_strides(t)) < t.rank:
            lines.append(
                f'adc::require({p.name}.contiguous({t.rank - 1}), "rows of {p.name} must be contiguous");'
            )
    return lines


def _call(f: CFunction, prefix: str, of: str, fields: list[tuple[str, str]]) -> list[str]:
    passed, before, after = [], [], []
    for p in _taken(f):
        t = p.type
        if not isinstance(t, MemRefType):
            passed.append(p.name)
            continue
        passed.append(f"{p.name}.data")
        if p.like is None:
            passed += [f"{p.name}.shape[{d}]" for d in range(t.rank)]
        passed += [f"{p.name}.strides[{d}]" for d in dynamic_strides(t)]
    if f.kind == "forward":
        before.append("void *adc_handle = nullptr;")
        passed.append("&adc_handle")
        after.append("adc_found.handle.reset(adc_handle);" if len(fields) > 1 else "adc_found.reset(adc_handle);")
    elif f.kind == "reverse":
        passed.append("handle.get()")
    single = len(fields) == 1
    for r in _given(f):
        place = "adc_found" if single else f"adc_found.{r.name}"
        if isinstance(r.type, MemRefType):
            before.append(f"{c_type(r.type.element)} *adc_{r.name} = nullptr;")
            passed += [f"&adc_{r.name}", *([f"{place}.shape.data()"] if r.type.rank else [])]
            after.append(f"{place}.memory.reset(adc_{r.name});")
        else:
            passed.append(f"&{place}")
    lines = [f"{of} adc_found{_initial(of, f)};"] if fields else []
    lines += [*before, f"const int adc_status = ::{f.name}({', '.join(passed)});", *after]
    lines.append(f"if (adc_status != ADC_OK) throw adc::error(adc_status, ::{prefix}_message());")
    return [*lines, "return adc_found;"] if fields else lines
