"""Programs that adc refuses. The comment on a line describes the refusal that must point to it: its kind, then the
underlined text.

The names of parameters determine the argument types: x y z float, n m int, u v vectors, a matrix, i32 a vector of
int32, t a tuple of two floats.
"""

# ruff: noqa: E501, E702, TID252, W191, F821, F841, F401, PERF, TRY, UP, FURB, PLW
# fmt: off

import functools
import itertools
import math
import random
from dataclasses import dataclass

import numpy as np
import scipy.special

import adc
from adc import prange

G = np.ones(3)
COUNT = 3
HUGE = 2**70
EXTENDED = np.ones(3, np.longdouble)
TABLE = {"a": 1.0}


# Statements -----------------------------------------------------------------------------------------------------------

def trying_groups(x):
    try:  # error: unsupported-statement | try
        return 1 / x
    except* ZeroDivisionError:
        x = 0.0
    return x


def leaving_finally(x):
    try:
        y = 2.0 // x
    except ZeroDivisionError:
        y = x
    finally:
        if x > 1.0:  # error: unsupported-statement | if x > 1.0
            return x  # noqa: B012
    return y


def with_file(x):
    with open("f") as file:  # error: unsupported-statement | open("f")
        return x


def with_two(x):
    with np.errstate(all="ignore"), open("f"):  # error: unsupported-statement | open("f")
        return x


def deleting(x):
    y = [x]
    del y[:]  # error: unsupported-statement | del y[:]
    return x


def importing_what_is_not_there(x):
    import no_such_module  # error: invalid-value | import no_such_module
    return x


def importing_a_neighbour(x):
    from . import math  # error: unknown-attribute | from . import math
    return x


def inner_class(x):
    class A:
        k = abs(x)  # error: unsupported-statement | abs(x)
    return A.k


def global_statement(x):
    global COUNT  # error: captured-write | global COUNT
    COUNT = 4
    return x


async def asynchronous(x):  # error: unsupported-function | async def asynchronous(x):
    return x


def inner_async(x):
    async def f(y):  # error: unsupported-statement | async def f(y):
        return y
    return x


def deep_in_blocks(x, n):
    for i in range(n):
        while x < 3.0:
            if i == 2:
                del x.real  # error: unsupported-statement | del x.real
            x = x + 1.0
    return x


def decorated_inside(x):
    @property  # error: unknown-function | property
    def f(y):
        return y
    return f(x)


# Expressions ----------------------------------------------------------------------------------------------------------

def yielding(x):
    yield x  # error: unsupported-expression | yield x


def yielding_from(x):
    y = yield from (x, x)  # error: unsupported-expression | yield from (x, x)


def walrus(x):
    for _ in range(3):
        while (y := x) > 1.0:  # error: unsupported-expression | y := x
            x = 0.5 * y
        else:
            break
    return x


def order_of_a_set(x):
    for k in {1, 2}:  # error: not-iterable | {1, 2}
        x = x * k
    return x


def returned_set(x):  # error: cannot-return | def returned_set(x):
    return {x, 2 * x}


def of_bytes(x):
    return x * b"j"  # error: unsupported-expression | b"j"


def some_bytes(x):
    y = b"abc"  # error: unsupported-expression | b"abc"
    return x


def awaiting(x):
    return (lambda: [x, x])() + (lambda: (yield))()  # error: unsupported-expression | yield


def over_lines(x):
    return (
        x + (b"1, 2,"  # error: unsupported-expression |
             b"3")
    )


def wide_characters(x):
    größe = "漢字"; return x + b"j"  # error: unsupported-expression | b"j"


def tabs(x):
	y = x;	return y * b"j"  # error: unsupported-expression | b"j"


# Names and attributes -------------------------------------------------------------------------------------------------

def unknown_name(x):
    return x + undefined  # error: unknown-name | undefined


def misspelt_name(x):
    velocity = 2.0 * x
    return velocty + x  # error: unknown-name | velocty


def before_assignment(x):
    y = later + x  # error: unbound-variable | later
    later = 1.0
    return y


def unknown_function_of_module(x):
    return math.sine(x)  # error: unknown-attribute | math.sine


def unknown_function_of_numpy(u):
    return np.sum(np.sinn(u))  # error: unknown-attribute | np.sinn


def unknown_method(u):
    return u.sumx()  # error: unknown-attribute | u.sumx


def method_without_rule(u):
    return u.tobytes()  # error: unknown-attribute | u.tobytes


def attribute_of_float(x):
    return x.magnitude  # error: unknown-attribute | x.magnitude


def attribute_of_int(n):
    return n.to_bytes(2)  # error: unknown-attribute | n.to_bytes


# Functions ------------------------------------------------------------------------------------------------------------

def printing(x):
    y = 2.0 * x
    input(y)  # error: unknown-function | input(y)
    return y


def reading():
    return float(input("number: "))  # error: unknown-function | input("number: ")


def evaluating(x):
    return eval("x + 1")  # error: unknown-function | eval("x + 1")


def random_numbers(n):
    return np.sum(np.random.rand(n))  # error: unknown-function | np.random.rand(n)


def random_number(x):
    return x + random.random()  # error: unknown-function | random.random()


def eigenvalues(a):
    return np.linalg.eig(a)  # error: unknown-function | np.linalg.eig(a)


def roots(u):
    return np.roots(u)[0]  # error: unknown-function | np.roots(u)


def special_function(x):
    return scipy.special.airy(x)  # error: unknown-function | scipy.special.airy(x)


def reduced(u):
    return np.arctan2.reduce(u)  # error: unknown-function | np.arctan2.reduce(u)


def vectorised(u):
    return np.vectorize(math.sin, excluded=[0])(u)  # error: unsupported-option | np.vectorize(math.sin, excluded=[0])


def filtered(u):
    for x, y in zip(filter(lambda x: x > 0, u), u):  # error: not-iterable | zip(filter(lambda x: x > 0, u), u)
        u[0] = x * y
    return u


def nested_list(u):
    return u[None].tolist()[0]  # error: unsupported-option | u[None].tolist()


def flat_subscripts(u):
    return u.flat[0, 1]  # error: invalid-subscript | u.flat[0, 1]


def flat_store_into_gaps(u):
    rows = u.reshape(-1, 2)[:, :1]
    rows.flat[0] = 1.0  # error: unsupported-target | rows.flat[0]
    return u


def keys_of_the_run(u):
    return dict(zip(u, "ab"))  # error: not-constant | dict(zip(u, "ab"))


def effects_for_items(u):
    found = []
    return list(map(lambda x: found.append(x), u))  # error: unsupported-call | list(map(lambda x: found.append(x), u))


def triples(u):
    return sum(a * b * c for a, b, c in itertools.combinations(u, 3))  # error: not-constant | itertools.combinations(u, 3)


def several_results(u):
    return np.vectorize(lambda x: (x, x))(u)  # error: unsupported-option | np.vectorize(lambda x: (x, x))(u)


def gradient_inside(x):
    return adc.pullback(cube, x)[0]  # error: outside-only | adc.pullback(cube, x)


def method_inside(x):
    return ENERGY.jvp((x,), (x,))[1]  # error: outside-only | ENERGY.jvp((x,), (x,))


def pullback_inside(x):
    return ENERGY.pullback(x)[0]  # error: outside-only | ENERGY.pullback(x)


def pulled_back_inside(x):
    return PULLBACK(x)[0]  # error: outside-only | PULLBACK(x)


def cube(y):
    return y**3


ENERGY = adc.jit_grad(cube)
PULLBACK = adc.pullback(cube, 2.0)[1]


def calling_a_number(x):
    return x(2.0)  # error: not-callable | x(2.0)


def calling_an_array(u):
    return u(0)  # error: not-callable | u(0)


def wrong_keyword(x):
    return scaled(x, facter=2.0)  # error: wrong-call | scaled(x, facter=2.0)


def missing_argument(x):
    return scaled()  # error: wrong-call | scaled()


def too_many_arguments(x):
    return scaled(x, x, x)  # error: wrong-call | scaled(x, x, x)


def twice_the_same(x):
    return scaled(x, p=x)  # error: wrong-call | scaled(x, p=x)


def scaled(p, factor=1.0):
    return p * factor


def library_arguments(x):
    return math.sin(x, x)  # error: wrong-call | math.sin(x, x)


def library_keyword(u):
    return np.unique(u, axis=0)  # error: unsupported-option | np.unique(u, axis=0)


def library_signature(u):
    return np.add(u, u, signature="dd->d")  # error: unsupported-option | np.add(u, u, signature="dd->d")


# Types ----------------------------------------------------------------------------------------------------------------

def text_and_number(x):
    return x + "a"  # error: unsupported-operand | x + "a"


def none_and_number(x):
    return x - None  # error: unsupported-operand | x - None


def inverted_float(x):
    return ~x  # error: unsupported-operand | ~x


def shifted_float(x):
    return x << 2  # error: unsupported-operand | x << 2


def compared_with_text(x):
    return x < "a"  # error: unsupported-operand | x < "a"


def added_to_text(u):
    u += "a"  # error: unsupported-operand | u += "a"
    return u


def length_of_number(x):
    return len(x)  # error: wrong-type | len(x)


def range_of_float(x):
    s = 0.0
    for i in range(x):  # error: wrong-type | range(x)
        s += i
    return s


def text_into_array(u):
    u[0] = "a"  # error: wrong-type | u[0]
    return u


def extended_precision(n):
    return np.zeros(n, dtype=np.longdouble)  # error: unsupported-dtype | np.zeros(n, dtype=np.longdouble)


def captured_extended_precision(x):
    return x + EXTENDED[0]  # error: unsupported-value | EXTENDED


def captured_huge(x):
    return x * HUGE  # error: unsupported-value | HUGE


def float_into_integers(i32):
    i32 += 0.5  # error: cast-not-safe | i32 += 0.5
    return i32


def loop_over_number(x):
    for i in x:  # error: not-iterable | x
        pass
    return x


def unpacking_number(x):
    p, q = x  # error: not-iterable | p, q
    return p


def truth_of_array(u):
    if u:  # error: ambiguous-truth | u
        return 1.0
    return 2.0


def truth_of_comparison(u, v):
    return 1.0 if u > 0 and v > 0 else 2.0  # error: ambiguous-truth | u > 0


def changing_to_array(u, x, n):
    y = x
    while x > 0.0:
        x -= n
        y = u * n  # error: type-change-in-loop | y
    return y


def changing_to_text(x, n):
    y = x
    while x > 0.0:
        x -= n
        y = "a"  # error: type-change-in-loop | y
    return y


def different_on_branches(x, u):
    if x > 0:
        y = u
    else:
        y = x
    return y  # error: type-differs | y


def different_results(x, u):
    return u if x > 0 else x  # error: type-differs | u if x > 0 else x


# Values, shapes and subscripts ----------------------------------------------------------------------------------------

def negative_extent(x):
    return np.zeros(-3)  # error: invalid-value | np.zeros(-3)


def step_of_zero(u):
    return u[::0]  # error: invalid-value | ::0


def range_step_of_zero(n):
    s = 0
    for i in range(0, n, 0):  # error: invalid-value | for i in range(0, n, 0)
        s += i
    return s


def axis_too_large(u):
    return np.max(u, axis=1)  # error: invalid-axis | np.max(u, axis=1)


def run_time_axis(a, n):
    s = 0.0
    for k in range(n + int(0.0 * a[0, 0])):
        s += np.max(np.sum(a, axis=k))  # error: not-constant | np.sum(a, axis=k)
    return s


def higher_rank_store(u, a):
    u[:] = np.ones((2, 4)) * a[0, 0]  # error: rank-mismatch | u[:]
    return u


def unpacking_wrong(t):
    p, q, r = t  # error: wrong-unpacking | p, q, r
    return p


def float_subscript(u, x):
    return u[x]  # error: invalid-subscript | x


def divided_subscript(u, n):
    return u[n / 2]  # error: invalid-subscript | n / 2


def text_subscript(u):
    return u["a"]  # error: invalid-subscript | "a"


def too_many_subscripts(u):
    return u[0, 1]  # error: invalid-subscript | u[0, 1]


def two_ellipses(a):
    return a[..., ...]  # error: invalid-subscript | ...


def bool_subscript(u):
    u[u[0] > 0] = 0.0  # error: unsupported-indexing | u[0] > 0
    return u


def float_array_subscript(u):
    return u[u * 2.0]  # error: invalid-subscript | u * 2.0


def shape_that_is_set(u):
    u.shape = (2, 2)  # error: unsupported-target | u.shape
    return u


def subscript_of_number(x):
    return x[0]  # error: not-subscriptable | x[0]


def tuple_too_short(t):
    return t[5]  # error: constant-out-of-range | 5


def store_to_tuple(t):
    t[0] = 1.0  # error: unsupported-target | t[0]
    return t


def store_to_number(x):
    x[0] = 1.0  # error: unsupported-target | x[0]
    return x


def store_to_global(x):
    G[0] = x  # error: captured-write | G[0]
    return x


def store_to_view_of_global(x):
    view = G[1:]
    view += x  # error: captured-write | view += x
    return x


def attribute_of_array(u):
    u.shape = (2, 2)  # error: unsupported-target | u.shape
    return u


# Parallel loops -------------------------------------------------------------------------------------------------------

def carried(u):
    last = 0.0
    for i in prange(len(u)):
        u[i] = last
        last = u[i] * 2  # error: carried-variable | last = u[i] * 2
    return u


def two_reductions(u):
    s = 1.0
    for i in prange(len(u)):
        s += u[i]
        s *= 2.0  # error: carried-variable | s *= 2.0
    return s


def read_after(u):
    for i in prange(len(u)):
        y = u[i]
    return y  # error: private-variable | y


def racing(u):
    for i in prange(len(u)):
        u[0] = u[i]  # error: race | u[0]
    return u


# Results --------------------------------------------------------------------------------------------------------------

def returning_range(n):
    return range(n)  # error: cannot-return


# In callees -----------------------------------------------------------------------------------------------------------

def through_two_calls(u):
    return 2.0 * middle(u)


def middle(u):
    return innermost(u) + 1.0


def innermost(q):
    return q[0] + q["a"]  # error: invalid-subscript | "a"


def through_a_lambda(u):
    f = lambda q: q @ 3.0  # error: wrong-type | q @ 3.0
    return f(u)


def through_a_closure(x, n):
    def inner(k):
        return scaled(x, power=k)  # error: wrong-call | scaled(x, power=k)
    s = 0.0
    for i in range(n):
        s += inner(i)
    return s


# Maps -----------------------------------------------------------------------------------------------------------------

def maps_a_number(u, x):
    return np.sum(adc.vmap(lambda a, b: a * b)(u, x))  # error: wrong-type | adc.vmap(lambda a, b: a * b)(u, x)


def maps_a_number_in_a_tuple(u, x):
    return np.sum(adc.vmap(lambda t: t[0] * t[1])((u, x)))  # error: wrong-type | adc.vmap(lambda t: t[0] * t[1])((u, x))


def maps_nothing(u):
    return np.sum(adc.vmap(np.sin, None)(u))  # error: wrong-call | adc.vmap(np.sin, None)(u)


def maps_too_few(u, v):
    return np.sum(adc.vmap(lambda a, b: a * b, (0,))(u, v))  # error: wrong-call | adc.vmap(lambda a, b: a * b, (0,))(u, v)


def maps_by_keyword(u):
    return np.sum(adc.vmap(lambda a: a + 1.0)(a=u))  # error: wrong-call | adc.vmap(lambda a: a + 1.0)(a=u)


def maps_without_a_function():
    return adc.vmap()  # error: wrong-call | adc.vmap()


def maps_a_float(x):
    return adc.vmap(x)  # error: wrong-type | adc.vmap(x)


def maps_an_axis_too_many(a):
    return np.sum(adc.vmap(np.sum, 2)(a))  # error: invalid-axis | adc.vmap(np.sum, 2)(a)


def maps_by_a_float(u):
    return np.sum(adc.vmap(np.sin, 0.5)(u))  # error: unsupported-option | adc.vmap(np.sin, 0.5)


def maps_to_another_axis(a):
    return np.sum(adc.vmap(np.cos, out_axes=1)(a))  # error: unsupported-option | adc.vmap(np.cos, out_axes=1)


def maps_with_a_store_into_what_is_shared(u, v):
    def store(x):
        v[0] = x
        return x
    return np.sum(adc.vmap(store)(u))  # error: race | adc.vmap(store)(u)


def maps_with_a_list(u):
    seen = []
    def note(x):
        seen.append(x)
        return x
    return np.sum(adc.vmap(note)(u))  # error: carried-variable | adc.vmap(note)(u)


def maps_to_functions(u):
    return adc.vmap(lambda x: lambda y: x * y)(u)  # error: cannot-return | adc.vmap(lambda x: lambda y: x * y)(u)
