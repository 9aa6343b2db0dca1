"""Links object code into shared libraries, with the C compiler."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from adc.ir import kinds


def link(object_code: bytes, path: Path, libraries: Sequence[str] = (), compiler: str | None = None) -> None:
    """Write a shared library with the C compiler (``$CC``, or ``cc``). Raises ``AdcError`` if that fails."""
    compiler = compiler or os.environ.get("CC") or "cc"
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "code.o"
        part.write_bytes(object_code)
        command = [*compiler.split(), "-shared", "-o", str(path), str(part), *libraries]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise kinds.TOOL_FAILED(f"cannot run the linker {compiler!r}: {error}") from None
    if run.returncode:
        raise kinds.TOOL_FAILED(f"linking failed: {' '.join(command)}\n{run.stderr.strip()}")
