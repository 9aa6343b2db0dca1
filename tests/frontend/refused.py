"""Programs that adc refuses. The comment on a line describes the error that must point to it: its message, then the
underlined text.

The names of parameters determine the argument types: x y z float, n m k int, f32 float32, u v w vectors, a b matrices,
i32 a vector of int32, flag a bool, t a tuple of two floats.
"""

# ruff: noqa: F821, F841, PLE0704, PERF

import math

import numpy as np
import scipy.special

from adc.frontend import prange

G = np.ones(3)


def comprehension(n):
    y = (i for i in range(n))  # error: the number of items must be known | (i for i in range(n))
    return sum(y) + sum(y)


def run_time_key(x, n):
    return {0: x, 1: [x]}[n * 1]  # error: the key of a dict must be known when the function is compiled | n * 1


def missing_key(x):
    return {"a": x}["b"]  # error: the dict has no key 'b'


def breaking(n):
    for i in prange(n):
        if i > 3:
            break  # error: break out of a parallel loop is not possible | break


def returning(n):
    for i in prange(n):
        for k in range(i):
            if k > 3:
                return  # error: return out of a parallel loop is not possible | return


def raising_again(x):
    if x < 0:
        raise  # error: there is no exception to raise again | raise
    return x


def raising_from(x):
    if x < 0:
        raise ValueError("negative") from KeyError()  # error: with a cause is not supported | KeyError()
    return x


def raising_a_number(x):
    if x < 0:
        raise x  # error: exceptions must derive from BaseException, not float | x
    return x


def raising_to_leave(x):
    if x < 0:
        raise SystemExit(1)  # error: exceptions of class SystemExit cannot be raised | SystemExit(1)
    return x


def showing_an_array(u):
    raise ValueError(f"{u}")  # error: a 1-D float64 array cannot be shown in a text | f"{u}"


def with_file(x):
    with open("f") as file:  # error: with is not supported
        return x


def trying(x):
    try:
        return sum(1 / v for v in (x, x) for k in range(int(x)))  # error: this may raise ZeroDivisionError in a loop
    except ZeroDivisionError:
        return 0.0


def undefined(x):
    return x + nothing  # error: the name 'nothing' is not defined | nothing


def unassigned(x):
    y = z + x  # error: 'z' is read before it is assigned | z
    z = 1.0
    return y


def unknown_attribute(x):
    return math.sine(x)  # error: module 'math' has no attribute 'sine' | math.sine


def array_attribute(u):
    return u.tobytes()  # error: arrays have no attribute 'tobytes' here | u.tobytes


def no_rule(x):
    return scipy.special.airy(x)  # error: airy is not supported | scipy.special.airy(x)


def nearest(u):
    return np.roots(u)  # error: find the root by Newton's method in a loop | np.roots(u)


def truth_of_array(u):
    if u:  # error: the truth value of an array is ambiguous | u
        return 1.0
    return 2.0


def and_of_arrays(u, v):
    return u > 0 and v > 0  # error: the truth value of an array is ambiguous


def float_subscript(u, x):
    return u[x]  # error: a subscript must be an integer, not a float | x


def float_subscript_divided(u, n):
    return u[1 + n / 2]  # error: a subscript must be an integer, not a float | 1 + n / 2


def too_many_subscripts(u):
    return u[0, 1]  # error: too many indices: the array has 1 dimension, but 2 were given | u[0, 1]


def bool_subscript(u):
    u[u[0] > 0] = 0.0  # error: indexing with a bool is not supported | u[0] > 0


def subscripts_of_floats(u):
    return u[u * 2.0]  # error: arrays used as indices must be of integer (or boolean) type | u * 2.0


def tuple_subscript(u, n):
    return (1.0, u, "a")[n * 2]  # error: items of several types must be known when the function is compiled | n * 2


def tuple_out_of_range(t):
    return t[5]  # error: tuple index 5 is out of range for 2 items | 5


def unpack_wrong(t):
    p, q, r = t  # error: cannot unpack 2 values into 3 variables | p, q, r


def store_to_tuple(t):
    t[0] = 1.0  # error: cannot store into tuple(float, float) | t[0]


def store_to_global(x):
    G[0] = x  # error: cannot store into this array: 'G' is captured from outside the function | G[0]


def store_to_view_of_global(x):
    view = G[1:]
    view += x  # error: cannot store into this array: 'G' is captured from outside the function | view += x


def attribute_store(u, x):
    u.flags = x  # error: attributes of a 1-D float64 array cannot be assigned | u.flags


def changing_type(u, x, n):
    y = x
    for i in range(n):
        y = u * i  # error: 'y' changes its type in the loop: float before it, a 1-D float64 array here | y
    return y


def changing_precision(f32, x, n):
    y = x
    for i in range(n):
        y = y + f32  # error: 'y' changes its type in the loop: float before it, float32 here | y
    return y


def different_on_branches(x, u):
    if x > 0:
        y = u
    else:
        y = x
    return y  # error: 'y' is a 1-D float64 array on one path and float on another | y


def returns_none_sometimes(x):
    if x > 0:  # error: the result is dict on one path and None on another
        return {"x": x}


def int_array_plus_float(i32):
    i32 += 0.5  # error: cannot store the result of this operation, a 1-D float64 array, into a 1-D int32 array


def carried(u):
    last = 0.0
    for i in prange(len(u)):
        u[i] = last
        last = u[i] * 2  # error: 'last' is carried from one iteration of a parallel loop to the next | last = u[i] * 2


def array_maximum(u):
    r = np.zeros(1)
    for i in prange(len(u)):
        r = max(r, u[i : i + 1])  # error: use np.maximum on arrays
    return r.sum()


def array_rebound(u, v):
    for i in prange(3):
        u[i] = 1.0
        u, v = v, u  # error: 'u' is carried from one iteration of a parallel loop to the next | u, v = v, u


def two_ways(u):
    s = 1.0
    for i in prange(len(u)):
        s += u[i]
        s *= 2.0  # error: 's' is carried from one iteration | s *= 2.0
    return s


def private_read(u):
    for i in prange(len(u)):
        y = u[i]
    return y  # error: 'y' is assigned in a parallel loop, where each iteration has its own | y


def string_arithmetic(x):
    return x + "a"  # error: + is not defined for float and str | x + "a"


def loop_over_number(n):
    for i in n:  # error: cannot loop over int | n
        n += i
    return n


def keeping_zip(u, v):
    pairs = zip(u, v)  # error: what zip() gives cannot be kept | zip(u, v)
    return sum(a for a, b in pairs) + sum(b for a, b in pairs)


def enumerate_number(x):
    for k, v in enumerate(x):  # error: enumerate() cannot go through float | enumerate(x)
        x += v
    return x


def range_of_float(x):
    for i in range(x):  # error: range() takes integers, not float | range(x)
        pass


def wrong_keyword(x):
    return callee(x, facter=2.0)  # error: callee() has no parameter 'facter' | callee(x, facter=2.0)


def missing_argument(x):
    return callee()  # error: callee() is missing the argument 'p' | callee()


def too_many_arguments(x):
    return callee(x, x, x)  # error: callee() takes 2 positional arguments but 3 were given | callee(x, x, x)


def callee(p, factor=1.0):
    return p * factor


def error_in_callee(u):
    return inner(u)


def inner(q):
    return q[0].real + q["a"]  # error: a subscript must be an integer, not str | "a"


def recursive(n):
    return n * recursive(n - 1)


def starred(u):
    return callee(*u)  # error: how many items a 1-D float64 array has is not known when the function is compiled | *u


def of_bytes(x):
    return x * b"j"  # error: bytes are not supported | b"j"


def walrus(x):
    for _ in range(3):
        while (y := x) > 1.0:  # error: := is not supported here | y := x
            x = 0.5 * y
        else:
            break
    return x


def shape_that_is_set(u):
    u.shape = (2, 2)  # error: the shape of an array cannot be set here | u.shape
    return u


def two_unknown_extents(u):
    return u.reshape(-1, -1)  # error: can only specify one unknown dimension | u.reshape(-1, -1)


def higher_rank_store(u, a):
    u[:] = np.ones((2, 4))  # error: cannot store a 2-D float64 array where a 1-D float64 array is | u[:]


def unicode_column(x):
    höhe = "größe"
    return höhe + x  # error: + is not defined for str and float | höhe + x


def bad_dtype(n):
    return np.zeros(n, dtype=object)  # error: the dtype object is not supported | np.zeros(n, dtype=object)


def run_time_axis(a, n):
    return np.sum(a, axis=n)  # error: the axis must be known when the function is compiled


def slice_step_zero(u):
    return u[::0]  # error: slice step cannot be zero | ::0


def global_statement(x):
    global G  # error: the global variable 'G' cannot be assigned | global G
    G = x


def inner_class(x):
    class A:
        k = abs(x)  # error: this part of a class that a function defines is not supported | abs(x)

    return A.k


def deleting(x):
    y = [x, x]
    del y[:1]  # error: del is not supported | del y[:1]


def matching_a_class(x):
    match x:
        case (y, 1) | (1, y):  # error: this match has a pattern that is not supported | (y, 1) | (1, y)
            return y
    return 2 * x
