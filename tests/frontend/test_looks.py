"""Everything that tracing looks at is checked again: each kind of look, changed between two calls."""

import builtins
import enum
import functools
import importlib
import math
import types
from abc import ABC
from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import adc
from adc import jit_grad

CASES: dict[str, Any] = {}


def case(make):
    """``make()`` gives a function of a float and what changes something that the function depends on."""
    CASES[make.__name__] = make
    return make


def module(**names):
    made = types.ModuleType("made")
    vars(made).update(names)
    return made


# Functions ------------------------------------------------------------------------------------------------------------


@case
def defaults():
    def inner(x, k=2.0):
        return k * x

    def change():
        inner.__defaults__ = (7.0,)

    return lambda x: inner(x), change


@case
def defaults_of_the_function_itself():
    def f(x, k=2.0):
        return k * x

    def change():
        f.__defaults__ = (7.0,)

    return f, change


@case
def keyword_defaults():
    def inner(x, *, k=2.0):
        return k * x

    def change():
        inner.__kwdefaults__ = {"k": 7.0}

    return lambda x: inner(x), change


@case
def keyword_defaults_in_place():
    def inner(x, *, k=2.0):
        return k * x

    return lambda x: inner(x), lambda: inner.__kwdefaults__.update(k=7.0)


@case
def keyword_defaults_of_the_function_itself():
    def f(x, *, k=2.0):
        return k * x

    return f, lambda: f.__kwdefaults__.update(k=7.0)


@case
def keyword_defaults_that_are_gone():
    def inner(x, *, k="a"):
        return x if k == "a" else 2 * x

    def change():
        inner.__kwdefaults__["k"] = "b"

    return lambda x: inner(x), change


@case
def code():
    def inner(x):
        return 2 * x

    def other(x):
        return 5 * x

    def change():
        inner.__code__ = other.__code__

    return lambda x: inner(x), change


@case
def code_of_the_function_itself():
    def f(x):
        return 2 * x

    def g(y):
        return 5 * y + y

    def change():
        f.__code__ = g.__code__

    return f, change


@case
def code_of_a_function_with_other_parameters():
    def f(x):
        return 2 * x

    def g(x, k=3.0):
        return k * x

    def change():
        f.__code__, f.__defaults__ = g.__code__, g.__defaults__

    return f, change


@case
def code_below_a_cache():
    @functools.lru_cache
    def inner(n):
        return n + 1

    def change():
        inner.__wrapped__.__code__ = (lambda n: n + 5).__code__
        inner.cache_clear()

    return lambda x: x * inner(2), change


@case
def code_of_a_compiled_callee():
    @jit_grad
    def inner(x):
        return 2 * x

    def change():
        inner.__wrapped__.__code__ = (lambda x: 5 * x).__code__

    return lambda x: inner(x), change


@case
def wrapped():
    def inner(x):
        return 2 * x

    def other(x):
        return 5 * x

    # What is compiled is what the attribute says, in Python what the wrapper does: here both.
    cached = functools.lru_cache(inner)
    space = types.SimpleNamespace(f=cached)

    def change():
        space.f = functools.lru_cache(other)

    return lambda x: space.f(x), change


@case
def code_behind_a_derivative():
    def inner(x):
        return x * x

    def change():
        inner.__code__ = (lambda x: x * x * x).__code__

    return lambda x: adc.grad(inner)(x), change


@case
def code_of_a_mapped_function():
    def inner(x):
        return x * x

    def change():
        inner.__code__ = (lambda x: 3 * x).__code__

    return lambda x: np.sum(adc.vmap(inner)(np.array([x, 2 * x]))), change


@case
def code_of_a_checkpointed_function():
    def inner(x):
        return x * x

    def change():
        inner.__code__ = (lambda x: 3 * x).__code__

    return lambda x: adc.checkpoint(inner)(x), change


@case
def attribute_of_a_function():
    def inner(x):
        return x * 2

    inner.mode = "double"

    def change():
        inner.mode = "half"

    return lambda x: inner(x) if inner.mode == "double" else x / 2, change


@case
def attributes_of_a_function_exchanged():
    def inner(x):
        return x * 2

    inner.mode = "double"

    def change():
        inner.__dict__ = {"mode": "half"}

    return lambda x: inner(x) if inner.mode == "double" else x / 2, change


@case
def attributes_of_an_object_exchanged():
    class A:
        def __init__(self):
            self.mode = "double"

    a = A()

    def change():
        a.__dict__ = {"mode": "half"}

    return lambda x: 2 * x if a.mode == "double" else x / 2, change


@case
def partial_s_keywords():
    made = functools.partial(lambda x, k="a": x if k == "a" else -x, k="a")

    def change():
        made.keywords["k"] = "b"

    return lambda x: made(x), change


# Names ----------------------------------------------------------------------------------------------------------------

helper: Any = math.sin
alias: Any = math
n_terms = 3


@case
def global_rebound():
    def change():
        globals()["helper"] = math.cos if helper is math.sin else math.sin

    return lambda x: helper(x), change


@case
def module_rebound():
    def change():
        globals()["alias"] = types.SimpleNamespace(sin=math.cos) if alias is math else math

    return lambda x: alias.sin(x), change


@case
def integer_rebound():
    def change():
        globals()["n_terms"] += 1

    return lambda x: sum((x, 2 * x, 3 * x, 4 * x, 5 * x)[:n_terms]), change


@case
def builtin_hidden_later():
    space = {"jit_grad": jit_grad}
    path = importlib.import_module(__name__).__file__
    made = types.FunctionType((lambda x: abs(x) * 2).__code__, space)
    assert path

    def change():
        space["abs"] = lambda x: -3 * x

    return made, change


@case
def builtin_replaced():
    def bigger(x):
        return 10 * x

    before = abs

    def change():
        builtins.abs = bigger

    def undo():
        builtins.abs = before

    return lambda x: abs(x), change, undo


@case
def cell():
    k = math.sin

    def change():
        nonlocal k
        k = math.cos

    return lambda x: k(x), change


@case
def cell_of_a_text():
    k = "a"

    def change():
        nonlocal k
        k = "b"

    return lambda x: x if k == "a" else 2 * x, change


# Attributes -----------------------------------------------------------------------------------------------------------


@case
def attribute_of_a_module():
    made = module(k=math.sin)

    def change():
        made.k = math.cos

    return lambda x: made.k(x), change


@case
def library_function_replaced():
    before = math.tan

    def change():
        math.tan = math.atan

    def undo():
        math.tan = before

    return lambda x: math.tan(x), change, undo


@case
def hasattr_of_a_module():
    made = module()

    def change():
        made.k = 1.0

    return lambda x: x if hasattr(made, "k") else 2 * x, change


@case
def hasattr_of_an_object():
    class A:
        z = 1.0

    made = A()

    def change():
        del A.z

    return lambda x: x if hasattr(made, "z") else 2 * x, change


@case
def field_of_a_namespace():
    space = types.SimpleNamespace(w=2.0)

    def change():
        del space.w

    return lambda x: space.w * x if hasattr(space, "w") else 5 * x, change


@case
def attribute_deleted():
    made = module(k="a")

    def change():
        del made.k

    return lambda x: x if hasattr(made, "k") else 2 * x, change


@case
def getattr_with_a_default():
    made = module()

    def change():
        made.scale = 4.0

    return lambda x: x * getattr(made, "scale", 2.0), change


@case
def getattr_of_an_object():
    class A:
        def __init__(self):
            self.w = 1.0

    a = A()

    def change():
        a.scale = 4.0

    return lambda x: a.w * x * getattr(a, "scale", 2.0), change


@case
def getattr_of_a_class_attribute():
    class B:
        w = 1.0

    class A(B):
        pass

    a = A()

    def change():
        A.scale = 4.0

    return lambda x: a.w * x * getattr(a, "scale", 2.0), change


# Classes --------------------------------------------------------------------------------------------------------------


class Base:
    def __init__(self):
        self.w = 2.0

    def k(self):
        return self.w


def subclass():
    return type("Sub", (Base,), {})


@case
def override_added():
    made = subclass()
    d = made()
    return lambda x: d.k() * x, lambda: setattr(made, "k", lambda self: 5.0)


@case
def override_removed():
    made = subclass()
    made.k = lambda self: 5.0
    d = made()
    return lambda x: d.k() * x, lambda: delattr(made, "k")


@case
def override_of_a_number():
    class B:
        c = 2.0

    class D(B):
        pass

    d = D()
    return lambda x: d.c * x, lambda: setattr(D, "c", 5.0)


@case
def number_of_a_class():
    class D:
        c = 2.0

    d = D()
    return lambda x: d.c * x, lambda: setattr(D, "c", 5.0)


@case
def number_of_the_class_itself():
    class B:
        c = 2.0

    class D(B):
        pass

    return lambda x: D.c * x, lambda: setattr(D, "c", 5.0)


@case
def hidden_by_an_attribute_of_the_object():
    made = subclass()
    made.c = 2.0
    d = made()
    return lambda x: d.c * x, lambda: setattr(d, "c", 5.0)


@case
def property_replaced():
    class D:
        @property
        def c(self):
            return 2.0

    d = D()
    return lambda x: d.c * x, lambda: setattr(D, "c", property(lambda self: 5.0))


@case
def static_method_replaced():
    class D:
        @staticmethod
        def c():
            return 2.0

    d = D()
    return lambda x: d.c() * x, lambda: setattr(D, "c", staticmethod(lambda: 5.0))


@case
def class_method_replaced():
    class D:
        @classmethod
        def c(cls):
            return 2.0

    return lambda x: D.c() * x, lambda: setattr(D, "c", classmethod(lambda cls: 5.0))


@case
def operator_added():
    @dataclass
    class V:
        a: float

        def __mul__(self, x):
            return self.a * x

    v = V(2.0)
    return lambda x: v * x, lambda: setattr(V, "__mul__", lambda self, x: 5 * x)


@case
def truth_added():
    class V:
        def __init__(self):
            self.a = 2.0

    v = V()
    return lambda x: v.a * x if v else -x, lambda: setattr(V, "__bool__", lambda self: False)


@case
def made_inside():
    class V:
        def __init__(self, a):
            self.a = a

    def init(self, a):
        self.a = 3 * a

    return lambda x: V(x).a, lambda: setattr(V, "__init__", init)


@case
def bases_changed():
    class A:
        def k(self):
            return 2.0

    class B:
        def k(self):
            return 5.0

    class D(A):
        pass

    d = D()

    def change():
        D.__bases__ = (B,)

    return lambda x: d.k() * x, change


@case
def class_of_an_object_changed():
    d = subclass()()
    other = type("Other", (Base,), {"k": lambda self: 5.0})

    def change():
        d.__class__ = other

    return lambda x: d.k() * x, change


@case
def super_changed():
    class A:
        def k(self):
            return 2.0

    class B(A):
        def k(self):
            return 10 * super().k()

    b = B()
    return lambda x: b.k() * x, lambda: setattr(A, "k", lambda self: 3.0)


@case
def registered_later():
    class Shape(ABC):  # noqa: B024
        pass

    class Circle:
        def __init__(self):
            self.r = 2.0

    c = Circle()
    return lambda x: x * c.r if isinstance(c, Shape) else -x, lambda: Shape.register(Circle)


@case
def method_of_an_enum():
    class Mode(enum.Enum):
        A = 1

        def sign(self):
            return 1.0

    return lambda x: Mode.A.sign() * x, lambda: setattr(Mode, "sign", lambda self: -1.0)


@case
def default_of_a_dataclass():
    @dataclass
    class D:
        a: float
        b: float = 2.0

    def change():
        D.__init__.__defaults__ = (7.0,)

    return lambda x: D(x).b * x, change


@case
def default_of_a_namedtuple():
    made = namedtuple("P", "x y")
    made.__new__.__defaults__ = (2.0,)

    def change():
        made.__new__.__defaults__ = (7.0,)

    return lambda x: made(x).y * x, change


@case
def property_of_a_metaclass():
    class Meta(type):
        @property
        def k(cls):
            return 3.0

    class M(metaclass=Meta):
        pass

    return lambda x: M.k * x, lambda: setattr(Meta, "k", property(lambda cls: 4.0))


# Containers -----------------------------------------------------------------------------------------------------------


@case
def list_that_grew():
    data = [1.0, 2.0]
    return lambda x: x * len(data) * data[-1], lambda: data.append(5.0)


@case
def list_that_shrank():
    data = [1.0, 2.0]

    def run(x):
        s = 0.0
        for d in data:
            s += d * x
        return s

    return run, data.pop


@case
def text_in_a_dict():
    data = {"mode": "a"}
    return lambda x: x if data["mode"] == "a" else -x, lambda: data.update(mode="b")


@case
def key_added():
    data = {"a": 1.0}
    return lambda x: x * len(data) + (1.0 if "b" in data else 2.0), lambda: data.update(b=2.0)


@case
def function_in_a_list():
    data = [math.sin]

    def change():
        data[0] = math.cos

    return lambda x: data[0](x), change


@case
def nested_text():
    data = {"a": [{"mode": "up"}]}

    def change():
        data["a"][0]["mode"] = "down"

    return lambda x: x if data["a"][0]["mode"] == "up" else -x, change


@case
def number_that_becomes_an_array():
    space = types.SimpleNamespace(w=2.0)

    def change():
        space.w = np.array([1.0, 2.0])

    return lambda x: np.sum(space.w * np.ones(2) * x), change


@case
def two_names_of_one_list():
    one = [2.0]
    space = types.SimpleNamespace(a=one, b=one)

    def change():
        space.b = [7.0]

    return lambda x: space.a[0] * x + space.b[0], change


@case
def same_name_in_two_modules():
    a, b = module(k=math.sin), module(k=math.sin)

    def change():
        b.k = math.cos

    return lambda x: a.k(x) * 2 + b.k(x), change


FORMS = {
    "call": lambda f: f,
    "grad": lambda f: f.grad,
    "value_and_grad": lambda f: f.value_and_grad,
    "adc.grad": lambda f: adc.grad(f),
    "pullback": lambda f: lambda x: (lambda y, back: (y, back(1.0)))(*f.pullback(x)),
    "jvp": lambda f: lambda x: adc.jvp(f, (x,), (1.0,)),
    "jacobian": lambda f: adc.jacobian(f),
    "hessian": lambda f: adc.hessian(f),
    "interpreter": lambda f: jit_grad(f.__wrapped__, _engine="interpreter"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_was_looked_at_is_looked_at_again(name):
    function, change, *undo = CASES[name]()
    f = jit_grad(function)
    runs = {form: make(f) for form, make in FORMS.items() if form in _asked(name)}
    before = {form: run(0.7) for form, run in runs.items()}
    expected = function(0.7)
    again = {form: run(0.7) for form, run in runs.items()}
    assert str(again) == str(before)
    change()
    try:
        then = function(0.7)
        copied = types.FunctionType(*_copied(function))
        copied.__kwdefaults__ = function.__kwdefaults__
        fresh = jit_grad(copied)
        assert then != expected
        for form, run in runs.items():
            got, wanted = run(0.7), FORMS[form](fresh)(0.7)
            assert str(got) == str(wanted), form
        assert f(0.7) == pytest.approx(then, rel=1e-14)
    finally:
        for back in undo:
            back()


def _asked(name):
    """All forms for some kinds, the ordinary ones for the others."""
    every = name in ("defaults", "code", "override_added", "builtin_hidden_later", "text_in_a_dict")
    return FORMS if every else ("call", "grad")


def _copied(fn):
    return fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__


def test_equal_numbers_and_texts_are_no_change():
    global n_terms
    mode = "periodic"
    f = jit_grad(lambda x: sum((x, x, x, x, x, x, x)[:n_terms]) if mode == "periodic" else -x)
    n_terms = 1000
    f(1.0)
    n_terms, mode = int("1000"), "".join(["peri", "odic"])
    f(1.0)
    mode = "open"
    f(1.0)
    mode = "".join(["per", "iodic"])
    f(1.0)
    n_terms = 3
    assert len(f._known()) == 2


def test_what_comes_back_is_not_compiled_again():
    k = math.sin
    f = jit_grad(lambda x: k(x))
    for n in range(6):
        k = math.sin if n % 2 else math.cos
        assert f(0.5) == k(0.5) and f.grad(0.5) == pytest.approx(-math.sin(0.5) if n % 2 == 0 else math.cos(0.5))
    assert len(f._known()) == len(f.grad._known()) == 2


def test_a_module_whose_other_variables_change_all_the_time():
    space = {"k": 2.0, "scale": math.sin, "other": 0}
    f = jit_grad(types.FunctionType((lambda x: scale(x) * 2).__code__, space))  # noqa: F821
    assert f(0.5) == 2 * math.sin(0.5)
    for n in range(5):
        space["other"] = n
        assert f(0.5) == 2 * math.sin(0.5)
    space["scale"], space["other"] = math.cos, 7
    assert f(0.5) == f(0.5) == 2 * math.cos(0.5)
    space["other"], space["scale"] = 8, math.sin
    assert f(0.5) == f(0.5) == 2 * math.sin(0.5)
    del space["scale"]
    for _ in range(2):
        with pytest.raises(adc.AdcError, match="'scale' is not defined"):
            f(0.5)
    space["scale"] = math.sin
    assert f(0.5) == 2 * math.sin(0.5) and len(f._known()) == 2


def test_a_change_is_noticed_at_each_call_until_it_is_undone():
    """Where an entry of a table fails the version of its dictionary is not taken as seen."""
    a, b = module(k="a", j="a"), module(k="a", j="a")
    f = jit_grad(lambda x: x if (a.k, a.j, b.k, b.j) == ("a", "a", "a", "a") else -x)
    for _ in range(2):
        for where in (a, b):
            for name in ("k", "j"):
                assert f(1.0) == f(1.0) == 1.0
                setattr(where, name, "b")
                assert f(1.0) == f(1.0) == f(1.0) == -1.0
                setattr(where, name, "a")


SPECIAL = {
    "__getattr__": lambda self, name: 5.0,
    "__getattribute__": lambda self, name: 5.0,
    "__setattr__": lambda self, name, value: None,
}


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("inherited", [False, True])
def test_methods_that_decide_what_attributes_are_can_be_added_later(special, inherited):
    class Base:
        pass

    class A(Base):
        def __init__(self):
            self.w = 2.0

        def run(self, x):
            self.last = x
            return getattr(self, "b", 1.0) * self.w * x

    captured, given = A(), A()
    functions = [
        (jit_grad(lambda x: getattr(captured, "b", 1.0) * captured.w * x), (3.0,)),
        (jit_grad(lambda x: A().run(x)), (3.0,)),
        (jit_grad(lambda o, x: o.run(x)), (given, 3.0)),
        (jit_grad(lambda t, x: t[0].run(x) if hasattr(t[0], "w") else x), ([given], 3.0)),
    ]
    for _ in range(2):
        for f, args in functions:
            assert f(*args) == f(*args) == 6.0
            where = Base if inherited else A
            setattr(where, special, SPECIAL[special])
            for _ in range(2):
                with pytest.raises(adc.AdcError, match=f"A, a class with {special}, is not supported"):
                    f(*args)
            delattr(where, special)
            assert f(*args) == 6.0
