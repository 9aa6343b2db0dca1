"""Options and fixtures of the whole test run.

Code compiled by tests is not optimised by LLVM, because that would take most of the time. Exceptions are tests of
machine code, which use the fixture `optimised`, and runs with ADC_LEVEL=3 (`make test-all`). Each run has its own cache
of machine code, shared by its processes, so that nothing is compiled twice and no code of an earlier run is used.
Generated examples are the same in each run, so that results are reproducible; ADC_THOROUGH=1 (`make test-all`) uses
others.
"""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import settings

import adc.passes.pipelines  # noqa: F401  # made before a test exchanges parts of a pass
from adc.persistent import records
from tests.stages import share

os.environ.setdefault("ADC_VERIFY", "pipelines")  # the tests of passes and `make test-all` verify after each pass
os.environ.setdefault("ADC_LEVEL", "0")
os.environ.setdefault("ADC_FULL_TRACEBACK", "1")  # a defect of adc is shown with where it is

# How long an example takes depends on what else the machine does, so there is no limit.
settings.register_profile("repeatable", derandomize=True, database=None, deadline=None)
settings.register_profile("thorough", deadline=None)
settings.load_profile("thorough" if os.environ.get("ADC_THOROUGH") else "repeatable")

# What a test compiles again it traces again, but for the tests of records, and runs that ask for it.
records.enabled = bool(os.environ.get("ADC_TEST_RECORDS"))

_OWN_FOLDER = pytest.StashKey[str]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what is generated instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    if "ADC_CACHE_DIR" not in os.environ:  # workers have it from the process that starts them
        config.stash[_OWN_FOLDER] = os.environ["ADC_CACHE_DIR"] = tempfile.mkdtemp(prefix="adc-tests-")


# New objects, after which Python's collector looks for garbage among them. By default it does so after 700, and the
# intermediate representation of one function has more than that, all in use.
_MANY = 600_000


def _set_aside() -> None:
    """What is there and in use is not looked through by each collection of garbage from now on."""
    gc.collect()
    gc.freeze()


def pytest_collection_finish() -> None:
    """Thousands of cases are there for the whole run."""
    _set_aside()
    gc.set_threshold(_MANY, 10, 10)


def pytest_runtest_teardown() -> None:
    """And so is what was compiled."""
    if gc.get_count()[0] > _MANY // 2:
        _set_aside()


def pytest_unconfigure(config: pytest.Config) -> None:
    folder = config.stash.get(_OWN_FOLDER, None)
    if folder is not None:
        del os.environ["ADC_CACHE_DIR"]
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def optimised(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is decorated or differentiated in the test is compiled as for users: for what is about machine code."""
    monkeypatch.setenv("ADC_LEVEL", "3")


@pytest.fixture
def stages(request: pytest.FixtureRequest) -> Iterator[None]:
    """Pipelines that another test of the file has run are not run again; see ``tests/stages.py``."""
    with pytest.MonkeyPatch.context() as patch:
        if "monkeypatch" not in request.fixturenames:
            share(patch)
        yield
