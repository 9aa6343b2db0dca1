"""A module with functions that tests send to other processes."""

import functools

import numpy as np

import adc
from adc import jit_grad

HELD = np.array([1.0, 2.0])


@jit_grad(argnums=(0, 1), threads=2)
def product(x, y):
    return x * y


def cube(x):
    return x * x * x


def steps(u, n):
    for _ in range(n):
        u = np.sin(u)
    return np.sum(u)


compiled_cube = jit_grad(cube)  # not what the module has under the function's name
grad_cube = adc.grad(cube)


@adc.checkpoint
def step(x):
    return np.sin(x) * HELD[1]


class Model:
    def __init__(self, w):
        self.w = w

    @jit_grad
    def square(self, x):
        return self.w * x * x

    @classmethod
    @jit_grad
    def outside(cls, x):
        return 3 * x

    @jit_grad
    @staticmethod
    def inside(x):
        return 4 * x

    def plain(self, x):
        return self.w * x * x


def rooted(x):
    return np.sqrt(x)


@adc.rrule(rooted)
def _rooted_rule(x):
    y = rooted(x)
    return y, lambda g: 100.0 * g


SENT = {
    "function": (lambda: product, (2.0, 3.0)),
    "gradient": (lambda: product.grad, (2.0, 3.0)),
    "value and gradient": (lambda: product.value_and_grad, (2.0, 3.0)),
    "under another name": (lambda: compiled_cube, (2.0,)),
    "gradient under another name": (lambda: compiled_cube.grad, (2.0,)),
    "gradient of a plain function": (lambda: adc.grad(cube), (2.0,)),
    "gradient under its name": (lambda: grad_cube, (2.0,)),
    "gradient of a gradient": (lambda: adc.grad(adc.grad(cube)), (2.0,)),
    "has_aux": (lambda: adc.grad(_pair, has_aux=True), (2.0,)),
    "jacobian": (lambda: adc.jacobian(product, (0, 1)), (2.0, 3.0)),
    "hessian": (lambda: adc.hessian(product, (0, 1)), (2.0, 3.0)),
    "map": (lambda: adc.vmap(cube), (np.arange(3.0),)),
    "map with options": (lambda: jit_grad(adc.vmap(cube), threads=1), (np.arange(3.0),)),
    "map of a gradient": (lambda: adc.vmap(adc.grad(cube)), (np.arange(3.0),)),
    "jacobian of a map": (lambda: adc.jacobian(adc.vmap(cube)), (np.arange(3.0),)),
    "checkpointed": (lambda: step, (2.0,)),
    "gradient of what is checkpointed": (lambda: adc.grad(step), (2.0,)),
    "method": (lambda: Model(2.0).square, (3.0,)),
    "gradient of a method": (lambda: Model(2.0).square.grad, (3.0,)),
    "gradient of a plain method": (lambda: adc.grad(Model(2.0).plain), (3.0,)),
    "class method": (lambda: Model.outside, (3.0,)),
    "static method": (lambda: Model.inside, (3.0,)),
    "partial": (lambda: functools.partial(product, 2.0), (3.0,)),
    "gradient of a partial": (lambda: adc.grad(functools.partial(product, 2.0)), (3.0,)),
    "schedule": (lambda: jit_grad(steps, checkpoint=adc.revolve(snapshots=3)).grad, (np.arange(3.0), 9)),
    "C function": (lambda: adc.extern(None, "hypot", "f64(f64, f64)"), (3.0, 4.0)),
    "rule": (lambda: adc.grad(rooted), (2.0,)),
    "sparse": (lambda: _sparse(), (np.arange(3.0),)),
}


def _pair(x):
    return x * x, x


def _squares(u):
    return u * u


def _sparse():
    return adc.sparse_jacobian(_squares, pattern=(np.arange(3), np.arange(3)))


def answer(sent):
    """In another process: what is sent, called twice; and whether it comes as one object each time."""
    import pickle

    text, args = sent
    first, second = pickle.loads(text), pickle.loads(text)
    found = first(*args)
    compiled, other = (getattr(f, "func", getattr(f, "__func__", f)) for f in (first, second))
    known = len(compiled._known()) if hasattr(compiled, "_known") else 1
    second(*args)
    again = len(compiled._known()) if hasattr(compiled, "_known") else 1
    return repr(getattr(found, "todense", lambda: found)()), compiled is other, known == again


def raises(text):
    import pickle

    adc.grad(pickle.loads(text))("no number")
