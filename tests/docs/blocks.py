"""The code blocks of a page, and how they are run.

All blocks of a page run in order, in one namespace and one empty folder, as a reader would run them:

- ``python``: executed. A comment after a top-level expression or ``print`` is compared with its value. A block whose
  first line is ``# name.py`` is also written to that file.
- ``c``, ``cpp``, ``fortran``: written to the file that the first line names; without such a line it is only shown.
- ``sh``: executed by bash, with the ``adc`` of this checkout.
- ``text``: shown. After the mark ``<!-- output -->`` it is compared with the output of the block before it, or, if that
  raised an error, with the error; ``...`` stands for anything.

Marks are comments, invisible to readers of the page, on a separate line above a block:

- ``<!-- not run: reason -->``: the block is only shown.
- ``<!-- raises: Name -->``: the block ends with this exception.
- ``<!-- needs: name -->``: the block runs only where the packages or commands (several, by spaces) are installed, and
  a debugger may run programs.
- ``<!-- setup`` and lines of Python up to ``-->``: executed, for blocks that omit the definition of their data.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import functools
import importlib.util
import io
import linecache
import os
import re
import shutil
import subprocess
import sys
import tokenize
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
ELSEWHERE = {"errors.md"}  # run by tests/errors/test_catalogue.py
LANGUAGES = {*"python c cpp fortran julia matlab sh text mlir {eval-rst} {toctree} {include}".split()}
FENCE = re.compile(r"^( *)```(?P<language>[\w{}-]*)[^\n]*\n(?P<text>.*?)^\1```$", re.MULTILINE | re.DOTALL)
SETUP = re.compile(r"^<!-- setup\n(.*?)^-->$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- ([\w -]+?)(?:: (.*?))? -->")
NAMED = re.compile(r"^(?:#|//|/\*|!) ?([\w.-]+\.\w+)(?: \*/)?\n")
REMARK = re.compile(r"(?<![\"']): [\w `].*")
VALUE = re.compile(r"[-\d(\[{'\"<]|array\(|True\b|False\b|None\b|inf\b|nan\b")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)


def blocks(page: Path) -> list[Block]:
    """Blocks and hidden set-ups of a page in order, with the marks above them."""
    text = page.read_text()
    found = [
        Block("python", m[1], text.count("\n", 0, m.start(1)) + 1, {"setup": ""}) for m in SETUP.finditer(text)
    ]
    for match in FENCE.finditer(text):
        marks: dict[str, str] = {}
        for line in reversed(text[: match.start()].splitlines()):
            mark = MARK.fullmatch(line.strip())
            if mark is None:
                break
            marks[mark[1]] = mark[2] or ""
        indent = len(match[1])
        lines = [line[indent:] for line in match["text"].splitlines(keepends=True)]
        lines = [line or "\n" for line in lines]
        found.append(Block(match["language"], "".join(lines), text.count("\n", 0, match.start("text")) + 1, marks))
    return sorted(found, key=lambda block: block.line)


_NOT_RUN = "..."  # what a block printed that was only shown


class Reader:
    """Runs the blocks of one page."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder = page, folder
        self.module = types.ModuleType(f"page_{page.stem.replace('-', '_')}")
        self.output = ""

    def run(self, block: Block) -> None:
        if "not run" in block.marks or not _installed(block.marks.get("needs", "sys")):
            self.output = _NOT_RUN
            return
        if "output" in block.marks and self.output != _NOT_RUN:
            self._compare(block.text, self.output, block.line)
        named = NAMED.match(block.text)
        if named and block.language in ("python", "c", "cpp", "fortran"):
            (self.folder / named[1]).write_text(block.text)
        if block.language == "python":
            self.output = self._python(block)
        elif block.language == "sh":
            self.output = self._shell(block)

    def _compare(self, wanted: str, found: str, line: int) -> None:
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        matches = doctest.OutputChecker().check_output(wanted.strip(), found.strip(), flags)
        assert matches, f"{self.page.name}:{line}: shown is\n{wanted}\nfound was\n{found}"

    def _python(self, block: Block) -> str:
        name = f"{self.page.name}, line {block.line}"
        linecache.cache[name] = (len(block.text), None, block.text.splitlines(keepends=True), name)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if "raises" in block.marks:
                return self._raised(block, name)
            comments = _comments(block.text)
            for statement in ast.parse(block.text, name).body:
                self._statement(statement, comments.get(statement.end_lineno or 0), name, block.line)
        return printed.getvalue()

    def _raised(self, block: Block, name: str) -> str:
        try:
            exec(compile(block.text, name, "exec", dont_inherit=True), self.module.__dict__)
        except Exception as error:
            assert block.marks["raises"] in [c.__name__ for c in type(error).__mro__], error
            return f"{error}\n" + "\n".join(getattr(error, "__notes__", ()))
        raise AssertionError(f"{self.page.name}:{block.line}: nothing was raised")

    def _statement(self, statement: ast.stmt, comment: str | None, name: str, line: int) -> None:
        names = self.module.__dict__
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), name, "exec", dont_inherit=True), names)
            return
        one = io.StringIO()
        with contextlib.redirect_stdout(one):
            value = eval(compile(ast.Expression(statement.value), name, "eval", dont_inherit=True), names)
        print(one.getvalue(), end="")
        if comment is not None and VALUE.match(comment):
            found = one.getvalue() if value is None else _shown(value)
            wanted = REMARK.sub("", comment)  # "18.0: by x" says 18.0
            self._compare(wanted, found, line + statement.lineno - 1)

    def _shell(self, block: Block) -> str:
        bin_ = self.folder / "bin"
        if not bin_.exists():
            bin_.mkdir()
            (bin_ / "adc").write_text(f'#!/bin/sh\nexec {sys.executable} -m adc "$@"\n')
            (bin_ / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
            for script in bin_.iterdir():
                script.chmod(0o755)
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{bin_}:{os.environ['PATH']}", "COLUMNS": "200"}
        command = ["bash", "-e", "-o", "pipefail", "-c", block.text]
        done = subprocess.run(command, capture_output=True, text=True, cwd=self.folder, env=environment, timeout=120)
        failed = "fails" in block.marks
        assert (done.returncode != 0) == failed, f"{self.page.name}:{block.line}: {done.stdout}{done.stderr}"
        return done.stdout + (done.stderr if failed else "")


def _installed(names: str) -> bool:
    return all(debugs() if n == "gdb" else importlib.util.find_spec(n) or shutil.which(n) for n in names.split())


@functools.cache
def debugs() -> bool:
    """Whether gdb is installed and may run programs, which containers may forbid."""
    if shutil.which("gdb") is None:
        return False
    done = subprocess.run(["gdb", "-batch", "-ex", "run", "/bin/true"], capture_output=True, text=True, check=False)
    return "exited normally" in done.stdout


def _comments(text: str) -> dict[int, str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {token.start[0]: token.string.lstrip("# ").strip() for token in tokens if token.type == tokenize.COMMENT}


def _shown(value: Any) -> str:
    """As a reader sees it at the prompt, NumPy's numbers as plain ones."""
    return re.sub(r"np\.(?:float|int|bool)\w*\(([^()]*)\)", r"\1", repr(value))


@contextlib.contextmanager
def reader(page: Path, folder: Path) -> Iterator[Reader]:
    made = Reader(page, folder)
    before = os.getcwd()
    os.chdir(folder)
    sys.modules[made.module.__name__] = made.module
    try:
        yield made
    finally:
        os.chdir(before)
        del sys.modules[made.module.__name__]
