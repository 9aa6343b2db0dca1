"""Older and rarer spellings: ``super`` with arguments, imports by relative names, attributes by their methods, lists
beside floats of NumPy's, versions that are compared."""

import sys

import numpy as np
import pytest

import adc
from adc.errors import CompileError
from tests.one_number import check_at


class Base:
    def __init__(self, a, **others):
        self.a, self.factor = a, others.get("factor", 2.0)

    def value(self):
        return self.a * self.factor


class Middle(Base):
    def __init__(self, a, b):
        super(Middle, self).__init__(a, factor=3.0)  # noqa: UP008
        self.b = b

    def value(self):
        return super(Middle, self).value() * self.b  # noqa: UP008


class Last(Middle):
    def value(self):
        # The second leaves one class out.
        return super(Last, self).value() + super(Middle, self).value()  # noqa: UP008


def inherited(x):
    return Last(x, x + 1).value()


def by_version(x):
    if (2, 7) <= sys.version_info < (3, 3):
        return x
    return x * x if sys.version_info >= (3,) else x


def attributes(x):
    made = Base(x)
    for name in ("a", "factor"):
        if made.__getattribute__(name) is None:
            return x
    return made.__getattribute__("a") ** 2 * made.__getattribute__("factor")


def beside_floats(x):
    items, pair = [x, 2 * x, 3.0], (x, x * x)
    most = np.max(items)
    sums = np.sum((items - most) ** 2) + np.sum((most + items) ** 3) + np.sum(items + most)
    return sums + np.sum(pair / np.float64(x * 2) - pair[1])


@pytest.mark.parametrize("f", [inherited, by_version, attributes, beside_floats])
def test_spelling(f):
    check_at(f, 0.7)


def test_ints_of_numpy_repeat_lists():
    def f(x, n):
        items = [x, 2 * x] * n[0]
        return items[3] + len(items)

    n = np.array([2, 3])
    try:
        value = adc.value_and_grad(f)(0.7, n)[0]
    except CompileError:
        return
    assert value == f(0.7, n)


def test_products_of_lists_with_floats_are_refused():
    def f(x):
        return np.sum(np.max([x, 1.0]) * [x, 2.0])

    with pytest.raises(TypeError):
        f(0.7)
    with pytest.raises(CompileError):
        adc.grad(f)(0.7)


def test_a_class_that_is_no_base_is_refused():
    def f(x):
        return super(Last, Base(x)).value()

    with pytest.raises(TypeError):
        f(1.0)
    with pytest.raises(CompileError, match="super"):
        adc.grad(f)(1.0)


def test_relative_imports(tmp_path, monkeypatch):
    inner = tmp_path / "surveyed_package" / "inner"
    inner.mkdir(parents=True)
    (tmp_path / "surveyed_package" / "__init__.py").write_text("")
    (tmp_path / "surveyed_package" / "tables.py").write_text("def squared(x):\n    return x * x\n")
    (inner / "__init__.py").write_text("FACTOR = 3.0\n")
    (inner / "model.py").write_text(
        "def loss(x):\n    from . import FACTOR\n    from .. import tables\n    from ..tables import squared as s\n"
        "    return FACTOR * s(x) + tables.squared(x)\n\n\n"
        "def beyond(x):\n    from ....tables import squared\n    return squared(x)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from surveyed_package.inner import model  # type: ignore[import-not-found]

    assert adc.value_and_grad(model.loss)(0.7) == (model.loss(0.7), pytest.approx(8 * 0.7))
    with pytest.raises(CompileError, match="beyond top-level"):
        adc.grad(model.beyond)(0.7)


@pytest.mark.parametrize("known", [False, True])
def test_arrays_of_none(known):
    def some(x, n):
        return x + len(np.array([None] * n))

    def three(x):
        return x + len(np.array([[None] * 3]))

    with pytest.raises(CompileError, match="array of None"):
        adc.grad(three)(1.0) if known else adc.grad(some)(1.0, 3)
