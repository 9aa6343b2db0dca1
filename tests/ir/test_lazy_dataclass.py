"""Classes of the lazy decorator beside the same ones of ``dataclasses``."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import re
import subprocess
import sys
import threading
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from adc.ir import lazy_dataclass

T = TypeVar("T")
WAYS = {"lazy": lazy_dataclass.dataclass, "standard": dataclasses.dataclass}


def classes(dataclass: Any) -> dict[str, Any]:
    """Classes of all kinds that adc has."""

    @dataclass
    class Plain:
        a: int
        b: list[int] = field(default_factory=list)
        kind: ClassVar[str] = "plain"

    @dataclass(frozen=True)
    class Frozen:
        """Words of its own."""

        a: int = 1
        hidden: int = field(default=2, compare=False, repr=False)

        @cached_property
        def double(self) -> int:
            return 2 * self.a

    @dataclass(frozen=True)
    class Derived(Frozen):
        c: tuple[int, ...] = ()

        def __post_init__(self) -> None:
            object.__setattr__(self, "c", (*self.c, self.a))

    @dataclass(eq=False)
    class Identity(Generic[T]):
        value: T

    @dataclass(frozen=True, eq=False)
    class Both(Derived):
        pass

    @dataclass(frozen=True)
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own)

        def __repr__(self) -> str:
            return "own"

    class Heir(Frozen):
        def __init__(self) -> None:
            super().__init__(7, 8)

    return {c.__name__: c for c in (Plain, Frozen, Derived, Identity, Both, Own, Heir)}


def outcome(do: Any) -> object:
    try:
        return do()
    except Exception as error:
        return type(error).__name__, str(error)


PROBES = {
    "init": lambda c: vars(c["Plain"](1)) | vars(c["Plain"](a=1, b=[2])),
    "init of too much": lambda c: c["Plain"](1, [], 2),
    "repr": lambda c: [repr(c["Plain"](1)), repr(c["Frozen"]()), repr(c["Derived"]()), repr(c["Own"](1))],
    "eq": lambda c: [c["Plain"](1) == c["Plain"](1), c["Plain"](1) == c["Plain"](2), c["Frozen"]() == c["Derived"]()],
    "eq by identity": lambda c: [c["Identity"](1) == c["Identity"](1), c["Both"]() == c["Both"]()],
    "own eq": lambda c: c["Own"](1) == c["Own"](2),
    "hash": lambda c: hash(c["Frozen"](3, 4)) == hash(c["Frozen"](3, 5)) != hash(c["Derived"]()),
    "hash of own eq": lambda c: hash(c["Own"](1)) == hash(c["Own"](1)),
    "no hash": lambda c: hash(c["Plain"](1)),
    "frozen": lambda c: setattr(c["Frozen"](), "a", 2),
    "frozen, no field": lambda c: setattr(c["Frozen"](), "other", 2),
    "frozen, deleted": lambda c: delattr(c["Derived"](), "a"),
    "not a field of an heir": lambda c: setattr(c["Heir"](), "other", 2),
    "a field of an heir": lambda c: setattr(c["Heir"](), "a", 2),
    "heir": lambda c: vars(c["Heir"]()),
    "cached": lambda c: [c["Frozen"](4).double, c["Derived"](5).double],
    "default": lambda c: [vars(c["Plain"](1)), c["Frozen"].a, c["Frozen"]().hidden, hasattr(c["Plain"], "b")],
    "fields": lambda c: [[f.name for f in dataclasses.fields(cls)] for cls in c.values()],
    "is one": lambda c: [dataclasses.is_dataclass(cls) for cls in c.values()],
    "replace": lambda c: vars(dataclasses.replace(c["Derived"](1), a=5)),
    "asdict": lambda c: dataclasses.asdict(c["Plain"](1, [3])),
    "signature": lambda c: [str(inspect.signature(cls)) for cls in c.values()],
    "match": lambda c: [cls.__match_args__ for cls in c.values()],
    "words": lambda c: c["Frozen"].__doc__,
    "params": lambda c: [repr(cls.__dataclass_params__) for cls in c.values()],
    "copy": lambda c: vars(copy.deepcopy(c["Plain"](1, [2]))),
}  # fmt: skip


@pytest.mark.parametrize("probe", PROBES)
def test_as_the_standard_decorator(probe: str) -> None:
    """Each probe is the first to use its classes."""
    found, expected = (outcome(lambda way=way: PROBES[probe](classes(way))) for way in WAYS.values())
    assert found == expected


def test_a_class_is_finished_once_by_many_threads() -> None:
    for _ in range(50):
        made, start, cls = [], threading.Barrier(4), classes(lazy_dataclass.dataclass)["Derived"]

        def make(made: list[Any] = made, start: threading.Barrier = start, cls: Any = cls) -> None:
            start.wait()
            made.append(cls(3))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(m.a, m.c) for m in made] == [(3, (3,))] * 4


@lazy_dataclass.dataclass(frozen=True)
class Pickled:
    a: int
    b: str = "b"


def test_instances_from_another_process_are_complete() -> None:
    """Unpickling makes instances without ``__init__``."""
    data = pickle.dumps(Pickled(3))
    script = (
        "import dataclasses, pickle, sys; x = pickle.loads(sys.stdin.buffer.read());"
        "print(hash(x) == hash(pickle.loads(pickle.dumps(x))), x, x == dataclasses.replace(x, a=3))"
    )
    run = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True, check=True)
    assert run.stdout.decode().strip() == "True Pickled(a=3, b='b') True"


def test_classes_are_not_finished_before_they_are_used() -> None:
    cls = classes(lazy_dataclass.dataclass)["Frozen"]
    assert not inspect.isfunction(vars(cls)["__init__"])
    cls()
    assert inspect.isfunction(vars(cls)["__init__"]) and vars(cls)["__init__"].__qualname__.endswith("Frozen.__init__")


# Traced Python, whose classes are read like those of users; classes with slots; what users derive classes from.
STANDARD = (
    *("frontend/prelude", "frontend/kernels", "adc/api"),
    *("passes/analysis/linear.py", "backend/lowering/lower_types.py"),
)


def test_modules_of_adc_use_it() -> None:
    root = Path(__file__).resolve().parents[2]
    wrong = [
        str(path.relative_to(root))
        for layer in ("adc", "frontend", "ir", "passes", "backend")
        for path in (root / layer).rglob("*.py")
        if not str(path.relative_to(root)).startswith(STANDARD) and path.name != "lazy_dataclass.py"
        if re.search(r"^from dataclasses import .*\bdataclass\b", path.read_text(), re.M)
    ]
    assert not wrong, "from adc.ir.lazy_dataclass import dataclass"
