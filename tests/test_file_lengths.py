"""No file of the product is longer than 400 lines."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = 400


def test_no_file_is_long() -> None:
    lengths: dict[str, int] = {}
    for package in ("adc", "frontend", "ir", "passes", "backend"):
        for file in (ROOT / package).rglob("*.py"):
            if not any(path.is_symlink() for path in (file, *file.parents)):
                lengths[file.relative_to(ROOT).as_posix()] = file.read_text(encoding="utf-8").count("\n")
    assert len(lengths) > 300
    assert not {name for name, length in lengths.items() if length > MOST}
