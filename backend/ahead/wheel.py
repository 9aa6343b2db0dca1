"""A wheel with a shared library, its C header, and a Python package that calls it. It needs only NumPy."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sysconfig
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adc.backend.ahead.aot import Built
from adc.backend.ahead.cabi import CFunction, CParam, CResult, dynamic_strides, portable_type
from adc.backend.ahead.header import header
from adc.ir.types import MemRefType

VERSION = "0.0.0"


def write_wheel(built: Built, public: Sequence[str], name: str, source: str, folder: Path) -> Path:
    """Write the wheel of a package ``name`` with the functions ``public`` and their gradients into a folder; returns
    its path. Raises ``AdcError`` if linking fails."""
    with tempfile.TemporaryDirectory() as scratch:
        library = Path(scratch) / f"lib{name}.so"
        built.shared(library)
        code = library.read_bytes()
    functions = {f.name: _spec(f) for f in built.functions if f.kind == "call" and not f.inside}
    spec = {"library": f"lib{name}.so", "message": f"{built.prefix}_message", "functions": functions}
    files: dict[str, str | bytes] = {
        f"{name}/__init__.py": _package(public, source),
        f"{name}/_runtime.py": Path(__file__).with_name("wheel_runtime.py").read_bytes(),
        f"{name}/functions.json": json.dumps(spec, indent=1),
        f"{name}/lib{name}.so": code,
        f"{name}/{name}.h": header(built, source, f"lib{name}.so"),
    }
    tag = f"py3-none-{re.sub('[-.]', '_', sysconfig.get_platform())}"
    info = f"{name}-{VERSION}.dist-info"
    files[f"{info}/METADATA"] = (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\nSummary: compiled from {source}\n"
        "Requires-Dist: numpy\n"
    )
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: adc\nRoot-Is-Purelib: false\nTag: {tag}\n"
    path = folder / f"{name}-{VERSION}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        record = ""
        for place, text in files.items():
            data = text if isinstance(text, bytes) else text.encode()
            archive.writestr(place, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{place},sha256={digest},{len(data)}\n"
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return path


def _package(public: Sequence[str], source: str) -> str:
    made = "".join(f'{name} = Function("{name}")\n' for name in public)
    return f'"""Compiled from {source}."""\n\nfrom ._runtime import Function\n\n{made}__all__ = {list(public)!r}\n'


def _spec(f: CFunction) -> dict[str, Any]:
    """What the package has to know about a function of the library."""
    return {
        "name": f.name,
        "doc": f.summary,
        "params": [_parameter(p) for p in f.params],
        "results": [_result(r) for r in f.results],
    }


def _parameter(p: CParam) -> dict[str, Any]:
    t = p.type
    if not isinstance(t, MemRefType):
        return {"name": p.name, "type": portable_type(t, "ctypes"), "rank": None, "role": p.role}
    return {
        "name": p.name, "type": portable_type(t.element, "ctypes"), "rank": t.rank, "role": p.role, "like": p.like,
        "strides": dynamic_strides(t),
    }  # fmt: skip


def _result(r: CResult) -> dict[str, Any]:
    t = r.type
    return {
        "name": r.name,
        "type": portable_type(t.element if isinstance(t, MemRefType) else t, "ctypes"),
        "rank": t.rank if isinstance(t, MemRefType) else None,
    }
