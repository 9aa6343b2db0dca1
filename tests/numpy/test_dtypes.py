"""Integers of all widths, signed and unsigned: in arrays, as numbers, promoted, wrapped around, compared."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import adc
from adc.backend.ahead.cabi import c_type
from adc.frontend.abstract import DTYPES, Array, dtype_name
from adc.frontend.annotations import parse_type
from tests.numpy.checking import check, compare, function_of

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
PAIRS = [(a, b) for k, a in enumerate(INTEGERS) for b in INTEGERS[k:]]


def ends(dtype: str) -> Any:
    """The numbers where something may go wrong."""
    info = np.iinfo(dtype)
    middle = [info.max // 2, info.max // 2 + 1]
    return np.array([0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, *middle], dtype)


def run(body: str, **inputs: Any) -> None:
    """Held against NumPy, whose warnings of integers that wrap around and of zero divisors are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = function_of(body, *inputs)
        compare(adc.jit_grad(plain)(**inputs), plain(**inputs), True, 0.0)


ARITHMETIC = "return a + b, a - b, a * b, a // b, a % b, a & b, a | b, a ^ b, np.maximum(a, b), np.minimum(a, b)"
COMPARISONS = "return a < b, a <= b, a == b, a != b, a > b, a >= b, a / b, np.where(a > b, a, b)"


@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_pairs(left: str, right: str) -> None:
    a, b = ends(left)[:, None], ends(right)[None, :]
    whole = np.result_type(a, b).kind != "f"
    run(ARITHMETIC if whole else "return a + b, a - b, a * b, np.maximum(a, b)", a=a, b=b)
    run(COMPARISONS, a=a, b=b)
    run(COMPARISONS.replace("a / b, ", ""), a=b, b=a)


def test_bools() -> None:
    """Which are integers of 8 bits where there is no operation on bools."""
    a, b = np.array([True, True, False, False]), np.array([True, False, True, False])
    run("return a + b, a * b, a // b, a % b, a**b, a & b, a ^ b, a << b, a >> b", a=a, b=b)
    run("return np.square(a), np.power(a, b), a**2, a**3, np.power(a, 2)", a=a, b=b)
    run("return np.maximum(a, b), np.fmin(a, b), abs(a), np.floor(a), np.invert(a), np.divmod(a, b), a < b", a=a, b=b)
    run("return a + 1, a * 2.5, a // 2, a + c, a * c, c // (a + 1)", a=a, c=ends("uint8")[:4])
    for body in ("np.sign(a)", "np.negative(a)", "a - a", "np.positive(a)"):
        with pytest.raises(adc.AdcError):
            adc.jit_grad(function_of(body, "a"))(a)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_functions(dtype: str) -> None:
    a = ends(dtype)
    run("return -a, ~a, abs(a), np.sign(a), +a, a**2, a**3, np.square(a), np.bitwise_count(a), np.invert(a)", a=a)
    run("return a << 1, a >> 1, a >> 7, a << 9, a >> 70, np.left_shift(a, a % 5), np.right_shift(a, a % 11)", a=a)
    run("return np.gcd(a, a[::-1]), np.fmod(a, a[::-1]), np.divmod(a, a[::-1]), np.clip(a, 2, 100)", a=a)
    run("return np.logical_and(a, a[::-1]), np.logical_not(a), np.isnan(a), np.floor(a), np.round(a)", a=a)
    run("return a + 1, 2 * a, a - 3, a // 7, a % 7, a == 3, a < 100000, a > -1, a + 1.5, a * True", a=a)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_reductions(dtype: str) -> None:
    for a in (ends(dtype), ends(dtype)[:1], np.arange(12, dtype=dtype).reshape(3, 4)[:, ::2]):
        run("return np.sum(a), np.prod(a), np.max(a), np.min(a), np.mean(a), np.any(a), np.all(a), np.ptp(a)", a=a)
        run("return np.sum(a, axis=0), np.max(a, axis=0), np.argmax(a), np.argmin(a), np.count_nonzero(a)", a=a)
        run("return np.max(a, initial=3), np.min(a, initial=3)", a=a)
    run("return np.sum(a), np.prod(a)", a=ends(dtype)[:0])


@pytest.mark.parametrize("dtype", INTEGERS)
def test_other_programs(dtype: str) -> None:
    """Whose results have dtypes of their own."""
    a, k = ends(dtype), np.array([0, 2, 1, 2], dtype)
    run("return np.cumsum(a), np.cumprod(a), np.add.accumulate(a), np.multiply.reduceat(a, [0, 3]), np.diff(a)", a=a)
    run("return np.sort(a), np.argsort(a), np.maximum.accumulate(a), np.gradient(k), a[k], np.unique(a)", a=a, k=k)
    run("return np.max(a[a > 1]), np.min(a[a > 1]), np.sum(a[a > 1]), a ** (a & 31)", a=a)
    if dtype != "uint64":  # which NumPy does not count
        run("np.bincount(k)", k=k)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_conversions(dtype: str) -> None:
    a = ends(dtype)
    names = ", ".join(f"a.astype(np.{t})" for t in (*INTEGERS, "float32", "float64", "bool_"))
    run(f"return {names}", a=a)
    numbers = ", ".join(f"np.{t}(a[5])" for t in (*INTEGERS, "float32", "float64"))
    run(f"return {numbers}, float(a[5]), bool(a[5])", a=a)
    run(f"return f.astype(np.{dtype}), g.astype(np.{dtype})", f=np.array([0.0, 1.9, 99.5]), g=np.float32([0.9, 100.0]))
    run(f"b = np.zeros(4, np.{dtype})\nb[0] = 7\nb[1] = a[3]\nb[2:] = a[1:3]\nb += 1\nb[1] += 3\nreturn b", a=a)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_numbers(dtype: str) -> None:
    """As arguments, results and constants, in loops and branches."""
    for x in ends(dtype):
        run("return x, x // 3, x % 3, x > 5, x / 2", x=x)
    one = np.dtype(dtype).type(1)
    body = f"s = np.{dtype}(0)\nfor i in range(n):\n    s = s + x * np.{dtype}(100)\nreturn s, s // np.{dtype}(7)"
    run(body, x=one, n=50)
    run("return (x if n > 2 else x + x), x == 1", x=one, n=3)
    got = adc.jit_grad(lambda x: x)(one)
    assert type(got) is type(one)


def test_large_unsigned_constants() -> None:
    a = ends("uint64")
    run("return a * np.uint64(0x9E3779B97F4A7C15), a ^ np.uint64(2**63), a + 18446744073709551615, a > 2**63", a=a)
    run("return np.uint64(2**64 - 1), a == np.uint64(2**64 - 1), a.astype(np.float64) * 2.0**-64, a**a", a=a)
    run("b = np.zeros(2, np.uint64)\nb[0] = 2**64 - 1\nreturn b, a < -1, a == -1, a >= n", a=a, n=-3)


def test_a_generator_of_random_bits() -> None:
    """Marsaglia's xorshift, and a hash, which are nothing but wrapping around."""
    body = """
        out = np.zeros(8)
        for i in range(8):
            s = s ^ (s << np.uint64(13))
            s = s ^ (s >> np.uint64(7))
            s = s ^ (s << np.uint64(17))
            out[i] = (s >> np.uint64(11)) * 2.0**-53
        return out, s
    """
    run(body, s=np.uint64(88172645463325252))
    body = """
        h = np.uint32(2166136261)
        for k in range(len(data)):
            h = (h ^ data[k]) * np.uint32(16777619)
        return h
    """
    run(body, data=np.frombuffer(b"a differentiation compiler", np.uint8).copy())


def test_images() -> None:
    """Bytes to floats and back, with gradients by what they are weighed with."""
    image = np.random.default_rng(2).integers(0, 256, size=(6, 5, 3)).astype(np.uint8)
    check("np.sum(image / 255.0 * w)", image=image, w=np.array([0.3, 0.6, 0.1]), exact=False)
    check("(image[..., 0].astype(np.float64) - image[..., 1].astype(np.float64)) * g", image=image, g=1.5)
    check("np.clip(image * g + 3.0, 0, 255).astype(np.uint8)", image=image, g=1.2)
    check("np.sum(np.where(labels == 2, x, 0.0))", labels=image[:, :, 0] % 4, x=np.arange(30.0).reshape(6, 5))
    check("np.sum(x[labels] * x[labels])", labels=image[0, :, 1] % 4, x=np.arange(4.0))


def test_what_does_not_fit_raises() -> None:
    a = np.zeros(3, np.uint8)
    for body in ("return a + n", "a[0] = n\nreturn a", "return np.maximum(a, n)"):
        plain = function_of(body, "a", "n")
        compiled = adc.jit_grad(plain)
        for n in (300, -1):
            with pytest.raises(OverflowError, match=f"Python integer {n} out of bounds for uint8"):
                compiled(a.copy(), n)
            with pytest.raises(OverflowError, match=f"Python integer {n} out of bounds for uint8"):
                plain(a.copy(), n)
    with pytest.raises(OverflowError, match="too large to convert"):
        adc.jit_grad(lambda x: x.astype(np.uint8))(np.array([256.0]))
    with pytest.raises(ValueError, match="NaN"):
        adc.jit_grad(lambda x: x.astype(np.int16))(np.array([np.nan]))


def test_what_is_known_of_dtypes() -> None:
    body = "return np.iinfo(np.uint8).max, np.finfo(np.float32).eps, np.finfo(a.dtype).max, a.dtype == np.float64"
    run(body, a=np.ones(2))
    body = "return np.can_cast(np.uint8, np.int16), np.can_cast(a.dtype, np.int8), a.itemsize * 2, a.nbytes"
    run(body, a=ends("int16"))
    run("return np.zeros(3, dtype=np.result_type(a, b)), np.zeros(2, a.dtype)", a=ends("int16"), b=ends("uint8"))
    run("if np.issubdtype(a.dtype, np.integer):\n    return a * 2\nreturn a", a=ends("int8"))
    run("return np.zeros(2, dtype='uint8'), np.arange(3, dtype=np.int8), np.full(2, 7, np.uint16)", a=1)


def test_containers_loops_and_errors() -> None:
    run("return [v + np.uint8(1) for v in values], {'a': b * 2}", values=[np.uint8(3), np.uint8(255)], b=np.int16(300))
    run("s = np.uint8(0)\nwhile n > 0:\n    s = s + x\n    n = n - 1\nreturn s", x=np.uint8(100), n=3)
    run("for k in range(len(a)):\n    a[k] = a[k] // np.uint8(2)\nreturn a", a=ends("uint8"))
    raising = function_of("if x[0] > 5:\n    raise ValueError(f'{x[0]} is too large')\nreturn x", "x")
    with pytest.raises(ValueError, match="18446744073709551615 is too large"):
        adc.jit_grad(raising)(np.array([2**64 - 1], np.uint64))
    image = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.testing.assert_array_equal(adc.vmap(lambda row: row // np.uint8(2))(image), image // 2)
    with pytest.raises(adc.AdcError, match="has no gradient"):
        adc.grad(lambda a: np.sum(a / 2.0))(image)


def test_clip_at_the_ends_of_a_dtype() -> None:
    a = ends("uint8")
    run("return np.clip(a, 0, 255), np.clip(a, -5, 300), a.clip(3, 1000), np.clip(a, None, 9)", a=a)
    run("b = np.clip(a, 0, 255)\nb[0] = 77\nreturn a, b", a=a)
    with pytest.raises(OverflowError):
        adc.jit_grad(function_of("np.clip(a, 300, 400)", "a"))(a)


def test_astype_and_item() -> None:
    a = ends("uint8")
    run("return a.astype(np.float32, copy=False), a.astype(dtype=np.int16), a.astype(np.float64, casting='safe')", a=a)
    run("b = a.astype(a.dtype, copy=False)\nb[0] = 9\nc = a.astype(a.dtype)\nc[1] = 8\nreturn a, b, c", a=a)
    run("return a.item(5), a.item(6) + 300, a[5].item(), a[5].astype(np.int32) * 300, a[0].dtype == np.uint8", a=a)
    run("return int(a[5]) * 2, a[3].itemsize, 1.5 * x.item(0)", a=a, x=np.float32([0.1]))
    run("return divmod(a, 7), divmod(a[5], 7)", a=a)
    with pytest.raises(adc.AdcError, match="Cannot cast array data from"):
        adc.jit_grad(function_of("a.astype(np.int8, casting='safe')", "a"))(a)
    for body in ("int(a[0])", "a.item(0)"):
        with pytest.raises(OverflowError, match="does not fit"):
            adc.jit_grad(function_of(body, "a"))(np.array([2**64 - 1], np.uint64))


def test_how_types_are_written() -> None:
    """In annotations and signatures, and in C."""
    for dtype, element in DTYPES.items():
        if dtype.kind in "iu":
            name = dtype_name(element)
            assert parse_type(f"{name}[:, ::1]") == Array(element, 2)
            assert parse_type(name).type == element  # type: ignore[attr-defined]
            assert c_type(element) == f"{dtype.name}_t"


IMAGE = np.random.default_rng(5).integers(0, 256, size=(4, 5)).astype(np.uint8)
PROGRAMS = {
    "lut": """
        lut=np.arange(256,dtype=np.uint8)[::-1].copy()
        return lut[img]
    """,
    "mask": """
        m=img>100
        img[m]=0
        return img
    """,
    "label": """
        out=np.zeros(img.shape,np.int32)
        for i in range(img.shape[0]):
            for j in range(img.shape[1]):
                out[i,j]=img[i,j]//50
        return out
    """,
    "iadd": """
        img+=1
        img*=2
        return img
    """,
    "ior": """
        img|=np.uint8(3)
        img^=5
        img>>=1
        return img
    """,
    "idiv": """
        img//=3
        img%=7
        return img
    """,
    "gray": """
        return (0.299*img[:,0]+0.587*img[:,1]+0.114*img[:,2]).astype(np.uint8)
    """,
    "thresh": """
        return np.where(img>128,255,0).astype(np.uint8)
    """,
    "inv": """
        return 255-img
    """,
    "abs": """
        return np.abs(img.astype(np.int16)-100)
    """,
    "pack": """
        return (img[:,0].astype(np.uint32)<<16)|(img[:,1].astype(np.uint32)<<8)|img[:,2]
    """,
    "crc": """
        c=np.uint32(0xFFFFFFFF)
        for v in img[0]:
            c=c^v
            for k in range(8):
                c=(c>>np.uint32(1))^(np.uint32(0xEDB88320) if c&np.uint32(1) else np.uint32(0))
        return c^np.uint32(0xFFFFFFFF)
    """,
    "lcg": """
        s=np.uint64(12345)
        out=np.zeros(5)
        for i in range(5):
            s=s*np.uint64(6364136223846793005)+np.uint64(1442695040888963407)
            out[i]=float(s>>np.uint64(33))/2.0**31
        return out
    """,
    "lcg32": """
        s=np.uint32(1)
        for i in range(50):
            s=np.uint32(1664525)*s+np.uint32(1013904223)
        return s
    """,
    "mean": """
        return img.mean(axis=0), img.std(), img.sum(axis=1), img.min(axis=0)
    """,
    "argmax": """
        return img.argmax(axis=1), np.unravel_index(img.argmax(), img.shape)
    """,
    "idx": """
        k=np.uint8(2)
        return img[k], img[:k], img[k,k]
    """,
    "sum8": """
        return np.sum(img,dtype=np.float32), np.sum(img,dtype=np.int32), img.sum(dtype=np.uint8)
    """,
    "cmpmix": """
        i=img.astype(np.int8)
        return i<img, i==img, img>i
    """,
    "pow": """
        return np.power(img,2), img**np.uint8(2), 2**(img%8), np.float_power(img,0.5)
    """,
    "while": """
        n=img[0,0]
        c=0
        while n:
            n=n&(n-np.uint8(1))
            c+=1
        return c
    """,
    "choose": """
        r=img[0,0]
        if r>100:
            r=np.uint8(1)
        else:
            r=np.uint8(2)
        return r
    """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_on_bytes(name: str) -> None:
    ours, theirs = IMAGE.copy(), IMAGE.copy()
    plain = function_of(PROGRAMS[name], "img")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = plain(theirs)
    compare(adc.jit_grad(plain)(ours), expected, False, 1e-12)
    np.testing.assert_array_equal(ours, theirs)
