"""The crash test: 2,000 malformed calls in one process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.safety.under_valgrind import invalid_accesses

ROOT = Path(__file__).parents[2]


def test_malformed_calls() -> None:
    program = str(Path(__file__).with_name("malformed.py"))
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", program, "2000", "0"],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "ADC_NUM_THREADS": "2"},
    )  # fmt: skip
    assert run.returncode == 0 and run.stdout.endswith("done\n"), run.stdout[-3000:] + run.stderr[-3000:]


LOG = """==7== Memcheck, a memory error detector
==7== Invalid read of size 8
==7==    at 0x4023C6C: strncmp (strcmp-sse2.S:160)
==7==    by 0x4004BEE: is_dst (dl-load.c:216)
==7==  Address 0x6158da1 is 1 bytes inside a block of size 8 alloc'd
==7== 
==7== Invalid write of size 8
==7==    at 0x61F10A4: ???
==7==    by 0x4004BEE: cfunction_vectorcall_FASTCALL (in /usr/bin/python3)
==7==  Address 0x6158da9 is 1 bytes after a block of size 8 alloc'd
==7== 
"""  # noqa: W291


def test_invalid_accesses_of_compiled_code_are_found_in_a_log() -> None:
    (found,) = invalid_accesses(LOG)
    assert found.startswith("Invalid write of size 8")
