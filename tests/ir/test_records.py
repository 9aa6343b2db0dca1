"""Dataclasses whose methods are compiled late behave as those of the standard library, before the first call and after
it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import pytest

from adc.ir import records

MAKERS = [dataclasses.dataclass, records.dataclass]


def classes(dataclass: Any) -> dict[str, type]:
    @dataclass(frozen=True)
    class Plain:
        kind: ClassVar[str] = "plain"
        a: int
        b: tuple[int, ...] = (1, 2)

        @cached_property
        def total(self) -> int:
            return self.a + sum(self.b)

    @dataclass(frozen=True)
    class Derived(Plain):
        c: list[int] = dataclasses.field(default_factory=list, compare=False)
        d: str = dataclasses.field(default="d", repr=False)

    @dataclass
    class Changing:
        a: int
        b: list[int] = dataclasses.field(default_factory=list)
        c: int = dataclasses.field(init=False)
        d: dict[str, int] = dataclasses.field(init=False, default_factory=dict)
        e: int = dataclasses.field(default=7, init=False)

        def __post_init__(self) -> None:
            self.c = self.a + 1

    @dataclass(frozen=True, eq=False)
    class Same:
        a: int = dataclasses.field(kw_only=True)
        b: int = 3

    @dataclass
    class Own:
        a: int

        def __eq__(self, other: object) -> bool:
            return True

        def __repr__(self) -> str:
            return "own"

    @dataclass(frozen=True)
    class Hashed:
        a: list[int]

        def __hash__(self) -> int:
            return 5

    @dataclass(frozen=True)
    class Empty:
        """Nothing."""

    class Below(Plain):
        pass

    made = (Plain, Derived, Changing, Same, Own, Hashed, Empty, Below)
    return {cls.__name__: cls for cls in made}


def _outcome(run: Callable[[], Any]) -> Any:
    try:
        return run()
    except (TypeError, AttributeError) as error:  # FrozenInstanceError is an AttributeError
        return type(error), str(error).split(".")[-1]


USES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("Plain", (1,), {}),
    ("Plain", (1,), {"b": (3,)}),
    ("Plain", (), {}),
    ("Plain", (1, (2,), 3), {}),
    ("Plain", (1,), {"x": 3}),
    ("Derived", (1, (4,), [5]), {}),
    ("Derived", (1,), {"d": "e"}),
    ("Changing", (4,), {}),
    ("Changing", (4, [1]), {}),
    ("Changing", (4, [1], 3), {}),
    ("Same", (), {"a": 1}),
    ("Same", (4,), {"a": 1}),
    ("Same", (4, 1), {}),
    ("Own", (1,), {}),
    ("Hashed", ([1],), {}),
    ("Empty", (), {}),
    ("Below", (1,), {}),
]


def _told(made: dict[str, type], name: str, given: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
    """What can be seen of an object: of one made first, and of the second."""
    cls = made[name]
    found: list[Any] = [
        (f.name, f.init, f.compare, f.default is dataclasses.MISSING)
        for f in dataclasses.fields(cls)  # type: ignore[arg-type]
    ]
    found += [cls.__doc__ if name == "Empty" else None, getattr(cls, "__match_args__", None)]
    for _ in range(2):
        one = _outcome(lambda: cls(*given, **named))
        if not isinstance(one, cls):
            found.append(one)
            continue
        two = cls(*given, **named)
        found.append(repr(one).split(">.")[-1])
        found += [one == two, one != two, one == 3, vars(one) == vars(two), vars(one)]
        if name != "Same":
            found.append(_outcome(lambda one=one: hash(one)))
        found.append(_outcome(lambda one=one: setattr(one, "a", 9)))
        found.append(_outcome(lambda one=one: setattr(one, "other", 9)))
        found.append(_outcome(lambda one=one: delattr(one, "a")))
        found.append(vars(copy.copy(two)) == vars(two))
        found.append(_outcome(lambda two=two: vars(dataclasses.replace(two))))
        found.append(getattr(two, "total", None))
    found.append({k: v for k, v in vars(cls).items() if k in ("a", "b", "c", "d", "e", "kind")})
    return found


@pytest.mark.parametrize(("name", "given", "named"), USES, ids=[f"{k}-{use[0]}" for k, use in enumerate(USES)])
def test_as_in_the_standard_library(name: str, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    truth, found = (_told(classes(dataclass), name, given, named) for dataclass in MAKERS)
    assert found == truth


def test_methods_are_compiled_when_they_are_called() -> None:
    cls = classes(records.dataclass)["Plain"]
    before = {name: vars(cls)[name] for name in ("__init__", "__eq__", "__hash__")}
    one = cls(1)
    assert vars(cls)["__init__"] is not before["__init__"]
    assert vars(cls)["__eq__"] is before["__eq__"]
    assert one == cls(1) and hash(one) == hash(cls(1))
    assert all(vars(cls)[name] is not before[name] for name in before)


@records.dataclass(frozen=True)
class Pickled:
    a: int
    b: tuple[int, ...] = ()


def test_an_object_that_was_not_made_by_init_has_its_methods() -> None:
    one = Pickled(1, (2,))
    assert pickle.loads(pickle.dumps(one)) == one
    bare = object.__new__(classes(records.dataclass)["Plain"])
    bare.__dict__.update(a=1, b=(2,))
    assert hash(bare) == hash((1, (2,)))


def test_threads_that_make_the_first_objects_at_once() -> None:
    for _ in range(20):
        cls = classes(records.dataclass)["Derived"]
        start, made = threading.Barrier(4), []

        def run(cls: type = cls, start: threading.Barrier = start, made: list[Any] = made) -> None:
            start.wait()
            made.append(cls(1, (2,)))

        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len({*made}) == 1 and len(made) == 4
