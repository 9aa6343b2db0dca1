"""What to write instead of NumPy's functions that have no meaning in compiled code, which works on arrays of numbers.

Grouped by reason, as in docs/numpy.md: a hint for the whole group, and hints for some of its names. The tests run the
hints that are code.
"""

from __future__ import annotations

_FLOATS = "leave it out: floats follow IEEE and give no warnings"
_LAYOUT = "how an array lies in memory cannot be asked"
_ARRAYS = "use arrays: np.asarray(a), np.block(rows), and @ for products"

GROUPS: dict[str, tuple[str, str, dict[str, str]]] = {
    "files and buffers": (
        """load loadtxt save savetxt savez savez_compressed fromfile fromregex genfromtxt fromstring frombuffer
        from_dlpack memmap""",
        "read outside the compiled function, and pass the values in",
        dict.fromkeys(
            ("save", "savetxt", "savez", "savez_compressed"), "store outside the compiled function what it returns"
        ),
    ),
    "texts": (
        """array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific
        typename mintypecode set_printoptions get_printoptions printoptions""",
        "print(a) and f'{x:.3f}' are supported; make other texts outside the compiled function",
        {},
    ),
    "dates": (
        "busday_count busday_offset is_busday busdaycalendar datetime_as_string datetime_data isnat",
        "work with dates outside the compiled function, and pass numbers: dates.astype(np.int64)",
        {},
    ),
    "state of NumPy": (
        """geterr seterr geterrcall seterrcall setbufsize getbufsize errstate get_include show_config show_runtime info
        test""",
        _FLOATS,
        dict.fromkeys(("get_include", "show_config", "show_runtime", "info", "test"), "ask before the call"),
    ),
    "objects and iterators": (
        """frompyfunc nditer nested_iters asmatrix bmat matrix recarray record poly1d broadcast flatiter
        asarray_chkfinite require einsum_path may_share_memory shares_memory isfortran""",
        _LAYOUT,
        {
            "frompyfunc": "use np.vectorize(f)",
            "nditer": "use for i in np.ndindex(a.shape), or for x in a.flat",
            "nested_iters": "use loops over np.ndindex(a.shape)",
            "asmatrix": _ARRAYS,
            "bmat": _ARRAYS,
            "matrix": _ARRAYS,
            "recarray": "use np.zeros(n, dtype), and a['x'] for a.x",
            "record": "use np.zeros(n, dtype), and a[0]['x'] for a[0].x",
            "poly1d": "use np.polyval(p, x), np.polymul(p, q), np.polyder(p)",
            "broadcast": "use np.broadcast_arrays(a, b)",
            "flatiter": "use a.ravel()",
            "asarray_chkfinite": "use np.asarray(a), and np.isfinite(a).all()",
            "require": "use np.ascontiguousarray(a)",
            "einsum_path": "leave it out: np.einsum('ij,jk', a, b) chooses by itself",
        },
    ),
    "classes of dtypes": (
        """generic number integer signedinteger unsignedinteger inexact floating complexfloating flexible character void
        object_ str_ bytes_ datetime64 timedelta64 longdouble clongdouble float128 complex256 ufunc dtype""",
        "use the dtypes of numbers: np.float64, np.complex128, np.int64, np.bool_",
        {},
    ),
}
"""By reason: the names, the hint for all of them, and hints for some of them."""

INSTEAD = {f"numpy.{name}": some.get(name, text) for names, text, some in GROUPS.values() for name in names.split()}
INSTEAD["numpy.rec.recarray"] = INSTEAD["numpy.recarray"]  # its full name
