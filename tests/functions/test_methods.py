"""Methods, partials and callable objects: decorated, differentiated from outside, and in compiled code."""

import functools
import inspect
import pydoc
import sys

import numpy as np
import pytest

import adc
from adc import jit_grad


class Model:
    K = 4.0

    def __init__(self, w=2.0):
        self.w = w
        self.calls = 0.0
        self.p = np.array([1.0, 2.0])

    @jit_grad
    def square(self, x):
        """w x^2"""
        return self.w * x * x

    @jit_grad(argnums=(0, 1))
    def both(self, x, y=2.0):
        return self.w * x * y

    @jit_grad(argnames="y")
    def named(self, x, y=2.0):
        return self.w * x * y

    @jit_grad(argnums=-1)
    def last(self, x, y):
        return self.w * x * y * y

    @classmethod
    @jit_grad
    def class_outside(cls, x):
        return cls.K * x * x

    @jit_grad
    @classmethod
    def class_inside(cls, x):
        return cls.K * x * x

    @staticmethod
    @jit_grad
    def static_outside(x):
        return 5 * x * x

    @jit_grad
    @staticmethod
    def static_inside(x):
        return 6 * x * x

    def plain(self, x, y=1.0):
        return self.w * x * y

    by_x = adc.grad(plain, argnums=1)
    curvature = adc.hessian(plain, argnums=(1, 2))

    def __call__(self, x):
        return self.w * x**3

    @jit_grad
    def changes(self, x):
        self.calls = self.calls + 1.0
        self.p[0] = x
        return self.w * x + np.sum(self.p)

    def uses(self, x):
        outside = self.class_outside(x) + self.static_outside(x)
        return self.square(x) + outside + self.class_inside(x) + self.static_inside(x) + self.by_x(x, 3.0)

    def differentiates(self, x):
        return adc.grad(self.plain)(x) + adc.grad(self.square)(x) + self.square.grad(x) + adc.grad(self)(x)

    @jit_grad
    def __mul__(self, x):
        return self.w * x

    @property
    @jit_grad
    def doubled(self):
        return 2 * self.w


class Derived(Model):
    K = 10.0

    @jit_grad
    def square(self, x):
        return super().square(x) + x


def many(a, b, c=1.0, *, d=2.0):
    return a * b * b * c * d


# Decorated methods ----------------------------------------------------------------------------------------------------


def test_calls_and_derivatives_of_a_method():
    m = Model()
    assert m.square(3.0) == 18.0 and m.square.grad(3.0) == 12.0 and m.square.value_and_grad(3.0) == (18.0, 12.0)
    value, back = m.square.pullback(3.0)
    assert (value, back(1.0)) == (18.0, (12.0,))
    assert m.square.jvp((3.0,), (1.0,)) == (18.0, 12.0)
    assert m.square(x=3.0) == 18.0 and m.square.grad(x=3.0) == 12.0
    assert "func @square" in m.square.dump_ir() and str(m.square.report())


def test_argnums_count_without_self():
    m = Model()
    assert m.both.grad(1.0) == (4.0, 2.0) and m.both.grad(1.0, 3.0) == (6.0, 2.0)
    assert m.both.grad(1.0, y=3.0) == (6.0, 2.0)
    assert m.named.grad(3.0) == {"y": 6.0}
    assert m.last.grad(3.0, 4.0) == 48.0


def test_through_the_class_self_is_the_first_argument():
    m = Model()
    assert Model.square(m, 3.0) == 18.0
    assert Model.square.grad(m, 3.0).w == 9.0
    assert adc.grad(Model.square, argnums=1)(m, 3.0) == 12.0


@pytest.mark.parametrize("owner", [Model, Model(), Derived, Derived()])
def test_class_methods_and_static_methods(owner):
    k = owner.K
    assert owner.class_inside(2.0) == 4 * k and owner.class_inside.grad(2.0) == 4 * k
    assert owner.static_inside(2.0) == 24.0 and owner.static_inside.grad(2.0) == 24.0
    assert owner.static_outside(2.0) == 20.0 and owner.static_outside.grad(2.0) == 20.0
    assert owner.class_outside(2.0) == 4 * k
    assert adc.grad(owner.class_outside)(2.0) == 4 * k


def test_a_gradient_is_never_by_the_class():
    """Python 3.13 gives attributes of class methods without the class."""

    class Local:
        @classmethod
        @jit_grad
        def power(cls, x=1.0):
            return x * x

    if sys.version_info < (3, 13):
        assert Local.power.grad(3.0) == 6.0 and Local.power.value_and_grad(3.0) == (9.0, 6.0)
    else:
        with pytest.raises(adc.AdcError, match="has no class to be called with"):
            Local.power.grad(3.0)
        with pytest.raises(adc.AdcError, match="has no class to be called with"):
            Local.power.value_and_grad(3.0)
    assert adc.grad(Local.power)(3.0) == adc.grad(Local().power)(3.0) == 6.0 and Local.power(3.0) == 9.0


def test_effects_on_the_object():
    m = Model()
    assert m.changes(3.0) == 11.0 and m.calls == 1.0 and m.p[0] == 3.0
    assert m.changes.grad(4.0) == 3.0
    assert m.calls == 1.0 and m.p[0] == 3.0


def test_subclasses_and_other_objects():
    assert Derived().square(3.0) == 21.0 and Derived().square.grad(3.0) == 13.0
    a, b = Model(2.0), Model(5.0)
    assert [a.square.grad(1.0), b.square.grad(1.0), a.square.grad(1.0)] == [4.0, 10.0, 4.0]
    a.w = 7.0
    assert a.square.grad(1.0) == 14.0


def test_operators_and_properties():
    m = Model()
    assert m * 3.0 == 6.0 and m.doubled == 4.0
    assert adc.grad(lambda x: (m * x) * m.doubled)(1.0) == 8.0


def test_a_derivative_in_the_body_of_a_class():
    m = Model()
    assert m.by_x(1.0, 5.0) == 10.0
    assert np.array_equal(m.curvature(1.0, 5.0), ((0.0, 2.0), (2.0, 0.0)))


def test_one_compilation_for_all_objects():
    for w in range(3):
        Model(float(w)).last(1.0, 2.0)
    assert len(Model.last._known()) == 1


# Forms ----------------------------------------------------------------------------------------------------------------

BOUND = {
    "method": lambda: Model().plain,
    "compiled method": lambda: jit_grad(Model().plain),
    "partial": lambda: functools.partial(Model.plain, Model()),
    "partial of a method": lambda: functools.partial(Model().plain),
    "partial by name": lambda: functools.partial(lambda x, y=1.0, w=1.0: w * x * y, w=2.0),
    "partial of a partial": lambda: functools.partial(functools.partial(lambda v, w, x, y=1.0: v * w * x * y, 1), 2),
    "object": lambda: Callable(),
    "object with a compiled call": lambda: CompiledCallable(),
    "checkpointed": lambda: adc.checkpoint(Model().plain),
    "cached": lambda: functools.lru_cache(lambda x, y=1.0: 2 * x * y),
    "static call": lambda: StaticCallable(),
    "function of an object": lambda: StaticCallable().inner,
    "partial method": lambda: PartialMethod().scaled,
}


class Callable:
    w = 2.0

    def __call__(self, x, y=1.0):
        return self.w * x * y


class StaticCallable:
    def __init__(self):
        self.inner = lambda x, y=1.0: 2 * x * y

    __call__ = staticmethod(lambda x, y=1.0: 2 * x * y)


class PartialMethod:
    def by(self, x, y=1.0, w=1.0):
        return w * x * y

    scaled = functools.partialmethod(by, w=2.0)


class CompiledCallable:
    w = 2.0

    @jit_grad
    def __call__(self, x, y=1.0):
        return self.w * x * y


@pytest.mark.parametrize("name", BOUND)
def test_forms_of_what_is_bound(name):
    f = BOUND[name]()
    assert jit_grad(f)(3.0) == 6.0
    assert adc.grad(f)(3.0) == 2.0 and adc.grad(f)(3.0, 4.0) == 8.0 and adc.grad(f)(x=3.0, y=4.0) == 8.0
    assert adc.grad(f, 1)(3.0, 4.0) == 6.0 and adc.grad(f, (0, 1))(3.0, 4.0) == (8.0, 6.0)
    assert adc.grad(f, argnames="y")(3.0) == {"y": 6.0} and adc.grad(f, 0, "y")(3.0) == (2.0, {"y": 6.0})
    assert adc.value_and_grad(f)(3.0) == (6.0, 2.0)
    assert adc.grad(adc.grad(f))(3.0) == 0.0
    value, back = adc.pullback(f, 3.0, 4.0)
    assert value == 24.0 and back(1.0)[:2] == (8.0, 6.0)
    assert adc.jvp(f, (3.0, 4.0), (1.0, None)) == (24.0, 8.0)
    assert adc.hvp(f, (3.0, 4.0), (None, 1.0)) == 2.0
    assert adc.jacobian(f, (0, 1))(3.0, 4.0) == (8.0, 6.0)
    assert adc.hessian(f, (0, 1))(3.0, 4.0) == ((0.0, 2.0), (2.0, 0.0))
    assert np.array_equal(adc.vmap(f)(np.arange(3.0)), [0.0, 2.0, 4.0])
    assert np.array_equal(adc.vmap(adc.grad(f))(np.arange(3.0)), [2.0, 2.0, 2.0])
    assert jit_grad(f, argnums=1).grad(3.0, 4.0) == 6.0


@pytest.mark.parametrize("name", BOUND)
def test_what_is_bound_in_compiled_code(name):
    f = BOUND[name]()
    g = adc.grad(f)
    assert adc.grad(lambda x: f(x) * x)(3.0) == 12.0
    assert jit_grad(lambda x: adc.grad(f)(x) * x)(3.0) == 6.0
    assert jit_grad(lambda x: g(x) * x)(3.0) == 6.0


def test_negative_numbers_stay_among_what_is_left():
    assert adc.grad(Model().plain, -1)(3.0, 4.0) == 6.0
    for number in (-3, 2):
        with pytest.raises(adc.AdcError, match=f"plain has no argument number {number} that is left to be given"):
            adc.grad(Model().plain, number)(3.0, 4.0)


def test_numbers_of_a_partial_are_those_of_its_signature():
    f = functools.partial(many, b=3.0)
    assert list(inspect.signature(f).parameters) == ["a", "b", "c", "d"]
    assert adc.grad(f)(2.0) == 18.0
    assert adc.grad(f, 1)(2.0) == 24.0 and adc.grad(f, 3)(2.0) == 18.0
    assert adc.grad(f)(2.0, b=1.0) == 2.0
    assert adc.grad(functools.partial(many, 1.0, d=5.0), argnames="d")(3.0) == {"d": 9.0}


def test_tangents_where_an_argument_is_given_by_name():
    assert adc.jvp(functools.partial(lambda a, b: a * b, b=3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    with pytest.raises(adc.AdcError, match="d by name only"):
        adc.jvp(functools.partial(many, b=3.0, d=1.0), (2.0,), (1.0,))


def test_the_object_s_gradient():
    g = adc.grad(Model().plain, argnames="self")(3.0)["self"]
    assert isinstance(g, Model) and g.w == 3.0 and g.calls == 0.0


def test_functions_decorated_by_others():
    def twice(f):
        @functools.wraps(f)
        def run(*args, **kwargs):
            return 2 * f(*args, **kwargs)

        return run

    m = Model()
    adc.grad(Model.plain, 1)(m, 1.0), adc.vmap(m.plain)(np.ones(2))  # what a function remembers is not the wrapper's
    assert adc.grad(twice(Model.plain), 1)(m, 3.0, 4.0) == 16.0
    assert adc.grad(twice(m.plain), 1)(3.0, 4.0) == 12.0
    assert jit_grad(twice(m.plain)).grad(3.0, y=4.0) == 16.0
    value, back = adc.pullback(functools.partial(twice(Model.plain), m), 3.0, 4.0)
    assert value == 48.0 and back(1.0)[0] == (16.0, 12.0)


def test_a_wrapper_has_no_gradient_of_what_it_wraps():
    square, static = jit_grad(lambda x: x * x), Model.static_inside

    @functools.wraps(square)
    def ten(x):
        return 10 * x

    class Other:
        w = 3.0

        @functools.wraps(static)
        def method(self, x):
            return self.w * x

    assert not hasattr(ten, "grad") and adc.grad(ten)(3.0) == 10.0 and jit_grad(ten).grad(3.0) == 10.0
    other = Other()
    assert jit_grad(lambda x: other.method(x))(2.0) == 6.0


def test_checks_take_methods():
    m = Model()
    adc.check_grads(m.plain, (2.0,), 2)
    adc.test_rule(m.square, 2.0)
    assert adc.find_culprit(m.square, 2.0) is None
    adc.check_grads(lambda x, y=2.0: x * y, (2.0,))


def test_maps_of_methods():
    m, xs = Model(), np.arange(3.0)
    f = adc.vmap(m.plain, (0, None))
    assert np.array_equal(f(xs, 2.0), 4 * xs)
    assert adc.vmap(Model(3.0).plain, (0, None)).func is f.func  # compiled once for all objects
    assert np.array_equal(adc.vmap(functools.partial(Model.plain, m, y=5.0))(xs), 10 * xs)
    assert not [name for name in vars(m) if name.startswith("__adc")]
    with pytest.raises(adc.AdcError, match="missing a required argument: 'y'"):
        f(xs)


def test_sparse_forms():
    class Chain:
        k = 3.0

        def step(self, u):
            return self.k * u * u

    u = np.arange(4.0)
    assert np.array_equal(adc.sparse_jacobian(Chain().step)(u).toarray(), np.diag(6 * u))
    assert adc.sparse_jacobian(Chain().step).colouring(u) is not None


def test_methods_in_compiled_code():
    m = Model()
    assert m.uses(2.0) == jit_grad(m.uses)(2.0)
    assert adc.grad(m.uses)(2.0) == 8.0 + 16.0 + 20.0 + 16.0 + 24.0
    assert jit_grad(m.differentiates)(2.0) == 2.0 + 8.0 + 8.0 + 24.0
    assert adc.grad(m.differentiates)(2.0) == 4.0 + 4.0 + 24.0


# What Python tells of them --------------------------------------------------------------------------------------------


def test_what_help_and_inspect_say():
    m = Model()
    assert str(inspect.signature(m.square)) == str(inspect.signature(m.square.grad)) == "(x)"
    assert str(inspect.signature(adc.grad(m.plain))) == "(x, y=1.0)"
    assert m.square.__name__ == "square" and m.square.grad.__name__ == "grad_square"
    assert m.square.__qualname__ == "Model.square" and m.square.__doc__ == "w x^2"
    assert m.square.__self__ is m and m.square.__func__ is Model.square
    assert m.square == m.square and hash(m.square) == hash(m.square) and m.square != Model().square
    assert m.square.grad == m.square.grad and m.square.grad != m.square
    assert "The gradient of square by x, as a function of the same arguments." in pydoc.render_doc(m.square.grad)
    assert "square(self, x)" in pydoc.plain(pydoc.render_doc(Model))
    assert "of Model.square" not in repr(m.square) and "Model.square" in repr(m.square)


def test_names_of_derivatives():
    f = jit_grad(many)
    texts = {
        f.grad: "The gradient of many by a",
        f.value_and_grad: "The value and gradient of many by a",
        adc.grad(many, (1, 2)): "The gradient of many by b, c",
        adc.jacobian(many, -1): "The Jacobian of many by d",
        adc.hessian(many): "The Jacobian of the gradient of many by a",
        adc.grad(adc.grad(many), 1): "The gradient of the gradient of many by b by a",
    }
    for made, text in texts.items():
        assert made.__doc__ == f"{text}, as a function of the same arguments."
        assert str(inspect.signature(made)) == "(a, b, c=1.0, *, d=2.0)" and made.__module__ == __name__


def test_the_package_lists_what_it_has():
    assert {"jit_grad", "hessian", "errors", "__version__", "vmap"} <= set(dir(adc))
    assert all(getattr(adc, name) is not None for name in dir(adc))
    assert adc.__version__[0].isdigit()


# Cached properties ----------------------------------------------------------------------------------------------------


class Cached:
    def __init__(self):
        self.w = 1.0

    @functools.cached_property
    def twice(self):
        return 2 * self.w


def read(c, x):
    return c.twice * x + c.twice


def test_a_cached_property_keeps_what_it_was():
    c = Cached()
    assert c.twice == 2.0
    c.w = 5.0
    assert read(c, 1.0) == jit_grad(read)(c, 1.0) == jit_grad(lambda x: read(c, x))(1.0) == 4.0
    c.twice = 7.0
    assert jit_grad(read)(c, 1.0) == 14.0


def test_a_cached_property_is_kept_by_the_first_read():
    c, f = Cached(), jit_grad(read)
    assert f(c, 1.0) == 4.0 and vars(c) == {"w": 1.0, "twice": 2.0}
    c.w = 5.0
    assert f(c, 1.0) == 4.0
    fresh = Cached()
    assert f.grad(fresh, 1.0).w == 4.0 and vars(fresh) == {"w": 1.0}
    assert adc.grad(f, 1)(fresh, 3.0) == 2.0 and vars(fresh) == {"w": 1.0}


def test_a_cached_property_of_an_object_from_outside():
    c = Cached()
    f = jit_grad(lambda x: read(c, x))
    with pytest.raises(adc.AdcError, match="has not been computed yet") as caught:
        f(1.0)
    assert "read .twice once before the call" in str(caught.value)
    assert c.twice == 2.0 and f(1.0) == 4.0


# Models ---------------------------------------------------------------------------------------------------------------


class Layer:
    def __init__(self, n):
        self.weights, self.bias = np.eye(n), np.zeros(n)

    def __call__(self, x):
        return np.tanh(self.weights @ x + self.bias)


class Net:
    def __init__(self, n=3):
        self.layers = [Layer(n), Layer(n)]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return np.sum(x)


def test_the_gradient_of_a_model_by_its_parameters():
    net, x = Net(), np.arange(3.0)
    found = adc.grad(net, argnames="self")(x)["self"]
    assert isinstance(found, Net) and [layer.weights.shape for layer in found.layers] == [(3, 3)] * 2
    slope = 1 - np.tanh(np.tanh(x)) ** 2
    np.testing.assert_allclose(found.layers[1].bias, slope, rtol=1e-12)
    np.testing.assert_allclose(found.layers[1].weights, np.outer(slope, np.tanh(x)), rtol=1e-12)
    np.testing.assert_allclose(found.layers[0].bias, adc.grad(net)(x), rtol=1e-12)  # as the weights are the identity


class Steps:
    def __init__(self, w=2.0):
        self.w = w
        self.u = np.ones(3)

    def run(self, u, n):
        for _ in range(n):
            u = u + self.w * np.sin(u)
        return np.sum(u)

    def in_place(self, u):
        u[0] = self.w * u[1]
        return np.sum(u)

    def own(self, x):
        self.u[0] = x
        return np.sum(self.u * self.u)

    def __eq__(self, other):
        raise RuntimeError("objects are not compared")

    __hash__ = None


def test_schedules_of_methods():
    u, plain = np.arange(3.0), adc.grad(Steps().run)
    expected = plain(u, 10)
    assert np.array_equal(jit_grad(Steps().run, checkpoint=adc.revolve(3)).grad(u, 10), expected)
    assert np.array_equal(plain(u, 10, checkpoint=adc.revolve(2)), expected)
    assert plain.forecast(u, 10) is not None


def test_final_states_of_a_method_s_arguments():
    u = np.arange(3.0)
    value, back = adc.pullback(Steps().in_place, u.copy())
    assert value == 5.0 and back(1.0)[0].tolist() == [0.0, 3.0, 1.0]
    assert back(0.0, final={"u": np.array([1.0, 0.0, 0.0])})[0].tolist() == [0.0, 2.0, 0.0]
    _, tangent, left = adc.jvp(Steps().in_place, (u,), (np.ones(3),), final="u")
    assert tangent == 4.0 and left["u"][1].tolist() == [2.0, 1.0, 1.0]


def test_arrays_of_the_object_that_a_method_changes():
    s = Steps()
    assert adc.grad(s.own)(3.0) == 6.0 and s.u[0] == 1.0
    assert jit_grad(s.own)(3.0) == 11.0 and s.u[0] == 3.0
    assert (jit_grad(s.own) == jit_grad(s.own)) in (True, False)  # without comparing objects
