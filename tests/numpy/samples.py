"""A call of each function that docs/numpy.md lists, for tests that go through all of them.

``SAMPLES["numpy.roll"]`` are expressions of the inputs below. If a function returns integers, they are combined with a
float or used as subscripts, so that the program has a derivative.
"""

# ruff: noqa: E501

from __future__ import annotations

from typing import Any

import numpy as np

_RNG = np.random.default_rng(11)
_HALF = _RNG.uniform(-1, 1, (3, 3))

# a, b: matrices of numbers between 0 and 1, and above 1; c: of both signs; v, w: vectors; m: a matrix with an inverse;
# s: positive definite. k, i: integers; t: bools. They stay as they are: derivatives are by the others.
INPUTS: dict[str, Any] = {
    "a": _RNG.uniform(0.15, 0.85, (3, 4)),
    "b": _RNG.uniform(1.1, 2.0, (3, 4)),
    "c": _RNG.uniform(-1.0, 1.0, (3, 4)),
    "v": _RNG.permutation(6) * 0.3 - 0.8 + _RNG.uniform(0, 0.1, 6),
    "w": _RNG.uniform(0.5, 1.5, 6),
    "m": _HALF + 2 * np.eye(3),
    "s": _HALF @ _HALF.T + np.diag([1.0, 2.0, 3.5]),
    "k": np.array([2, 0, 3, 1, 3, 5]),
    "i": np.array([1, 0, 2]),
    "t": np.array([True, False, True, True, False, True]),
}

_OF_A = """
    abs absolute acos arccos arcsin arctan arctanh asin atan atanh cbrt ceil conj conjugate cos cosh deg2rad degrees exp
    exp2 expm1 fabs fix floor i0 imag isfinite isinf isnan isneginf isposinf log log10 log1p log2 logical_not nan_to_num
    negative positive rad2deg radians real reciprocal rint sign signbit sin sinc sinh spacing sqrt square tan tanh trunc
    arcsinh asinh iscomplex isreal angle round around
"""
_OF_B = "acosh arccosh"
_OF_AB = """
    add arctan2 atan2 copysign divide equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot
    isclose less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod multiply nextafter
    not_equal pow power remainder subtract true_divide allclose array_equal array_equiv
"""
_OF_K = """
    bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm left_shift right_shift
"""
_DTYPES = """
    bool bool_ byte cdouble complex128 complex64 csingle double float16 float32 float64 half int16 int32 int64 int8 int_
    intc intp long longlong short single ulonglong ubyte uint uint16 uint32 uint64 uint8 uintc uintp ulong ushort
"""
_REDUCE = """
    all any argmax argmin amax amin count_nonzero max mean median min nanargmax nanargmin nanmax nanmean nanmedian nanmin
    nanprod nanstd nansum nanvar prod ptp std sum var cumprod cumsum nancumprod nancumsum argsort sort diff
"""

SAMPLES: dict[str, str | list[str]] = {
    **{f"numpy.{n}": f"np.{n}(a) * c" for n in _OF_A.split()},
    **{f"numpy.{n}": f"np.{n}(b) * c" for n in _OF_B.split()},
    **{f"numpy.{n}": f"np.{n}(b, a) * c" for n in _OF_AB.split()},
    **{f"numpy.{n}": f"np.{n}(k, k + 1) * v" for n in _OF_K.split()},
    **{f"numpy.{n}": f"np.{n}(k) * v" for n in "bitwise_count bitwise_invert bitwise_not invert".split()},
    **{f"numpy.{n}": f"v * np.{n}(2)" for n in _DTYPES.split()},
    **{f"numpy.{n}": [f"np.{n}(c, axis=1) * 1.5", f"np.{n}(a * a) * w[0]"] for n in _REDUCE.split()},
}
SMALL = list(SAMPLES)  # elementwise functions and reductions, which are tried several at a time
_LINES = """
append                np.append(a, c, axis=1) | np.append(v, w * v)
apply_along_axis      np.apply_along_axis(lambda r: r * r.sum(), 1, a)
apply_over_axes       np.apply_over_axes(np.sum, a * a, (0, 1))
arange                np.arange(0.0, 4.0, 1.0) * a
argpartition          np.take_along_axis(c, np.argpartition(c, 2), axis=-1)[:, 2]
argwhere              v[np.argwhere(t)[:, 0]]
array                 np.array([[v[0], w[0] * v[1]], [v[2], 1.0]])
array_split           np.array_split(v * v, 4)
asanyarray            np.asanyarray(v) * v
asarray               np.asarray([v[0] * v[1], w[0]])
ascontiguousarray     np.ascontiguousarray(a.T) * np.ascontiguousarray(c.T)
asfortranarray        np.asfortranarray(a.T) * np.asfortranarray(c.T)
astype                np.astype(v, float) * v
atleast_1d            np.atleast_1d(v[0]) * v
atleast_2d            np.atleast_2d(v) * v
atleast_3d            np.atleast_3d(a) * a[..., None]
average               np.average(a, axis=1, weights=b) | np.average(v, weights=w)
bartlett              np.bartlett(6) * v
bincount              np.bincount(k, weights=v * v, minlength=7)
blackman              np.blackman(6) * v
block                 np.block([[a, c], [c * a, a]])
broadcast_arrays      np.broadcast_arrays(v[:4] * v[:4], a)
broadcast_shapes      np.zeros(np.broadcast_shapes((3, 1), (4,))) + a
broadcast_to          np.broadcast_to(v[:4] * v[:4], (3, 4))
can_cast              v * np.can_cast(np.float32, np.float64)
choose                np.choose(i, [a[0, :3], a[1, :3] * c[1, :3], v[:3]])
clip                  np.clip(v, -0.3, w) * v
column_stack          np.column_stack([v, w * v])
common_type           np.ones(6, np.common_type(v, a)) * v
compress              np.compress(t, v * v)
concat                np.concat([v, w * v])
concatenate           np.concatenate([a, c * a], axis=1)
convolve              np.convolve(v, w[:3]) | np.convolve(v, w[:3], mode='same')
copy                  np.copy(v) * v
copyto                SET r = np.copy(v); np.copyto(r, w * v, where=t); return r * r
corrcoef              np.corrcoef(a, c)
correlate             np.correlate(v, w[:3]) | np.correlate(v, w[:3], mode='full')
cov                   np.cov(a, c) | np.cov(v, w)
cross                 np.cross(a[:, :3], c[:, :3])
cumulative_prod       np.cumulative_prod(a, axis=1)
cumulative_sum        np.cumulative_sum(a * a, axis=0)
delete                np.delete(v * v, 2) | np.delete(a * c, [0, 2], axis=1)
diag                  np.diag(v) * 2.0 | np.diag(m) * v[:3]
diag_indices          m[np.diag_indices(3)] * v[:3]
diag_indices_from     m[np.diag_indices_from(m)] * v[:3]
diagflat              np.diagflat(v * v, 1)
diagonal              np.diagonal(a, 1) * v[:3]
digitize              np.digitize(v, [-0.5, 0.1, 0.5]) * v
divmod                np.divmod(b, a)
dot                   np.dot(a, c.T) | np.dot(v, w)
dsplit                np.dsplit(np.reshape(a * a, (1, 3, 4)), 2)
dstack                np.dstack([a, c * a])
ediff1d               np.ediff1d(v * v, to_begin=1.0)
einsum                np.einsum('ij,kj->ik', a, c) | np.einsum('ii->i', m) * v[:3]
empty                 v * np.empty(6).size
empty_like            v * np.empty_like(v).size
expand_dims           np.expand_dims(v, 1) * v
extract               np.extract(t, v * v)
eye                   np.eye(3, 4) * a
fill_diagonal         SET r = np.copy(m); np.fill_diagonal(r, v[0]); return r * m
finfo                 v * np.finfo(float).eps
flatnonzero           v[np.flatnonzero(t)] * 2.0
flip                  np.flip(a) * a
fliplr                np.fliplr(a) * a
flipud                np.flipud(a) * a
frexp                 np.frexp(b)
fromfunction          np.fromfunction(lambda p, q: p + q, (3, 4)) * a
fromiter              np.fromiter((x * x for x in v), float)
full                  np.full((2, 3), v[0]) * v[:3]
full_like             np.full_like(a, v[0]) * a
geomspace             np.geomspace(w[0], w[1] + 2.0, 5)
gradient              np.gradient(v * v, 0.5) | np.gradient(a, axis=0)
hamming               np.hamming(6) * v
hanning               np.hanning(6) * v
histogram             np.histogram(k, bins=3, weights=v * v)[0]
histogram2d           np.histogram2d(k, k, bins=3, range=[[0, 6], [0, 6]], weights=v * v)[0]
histogram_bin_edges   np.histogram_bin_edges(v, bins=4)
hsplit                np.hsplit(a * a, 2)
hstack                np.hstack([a, c * a])
identity              np.identity(3) * m
iinfo                 v * np.iinfo(np.int8).max
indices               np.indices((3, 4))[0] * a
inner                 np.inner(a, c)
insert                np.insert(v * v, 2, w[0])
interp                np.interp(v, np.array([-2.0, 0.05, 2.0]), w[:3])
intersect1d           np.intersect1d(v, v[:4]) * 2.0
iscomplexobj          v * np.iscomplexobj(v)
isdtype               v * np.isdtype(v.dtype, 'real floating')
isin                  np.isin(k, i) * v
isrealobj             v * np.isrealobj(v)
isscalar              v * np.isscalar(v)
issubdtype            v * np.issubdtype(v.dtype, np.floating)
iterable              v * np.iterable(v)
ix_                   m[np.ix_(i, i[:2])] * 2.0
kaiser                np.kaiser(6, w[0]) * v
kron                  np.kron(m, c)
ldexp                 np.ldexp(v, k) * v
lexsort               v[np.lexsort((v, k))] * w
linspace              np.linspace(v[0], w[0], 5) * w[1]
logspace              np.logspace(v[0], w[0], 4)
mask_indices          m[np.mask_indices(3, np.triu)] * 2.0
matmul                np.matmul(a, c.T)
matrix_transpose      np.matrix_transpose(a) * np.matrix_transpose(c)
matvec                np.matvec(m, a.T)
meshgrid              np.meshgrid(v[:3] * v[:3], w)
min_scalar_type       v * np.min_scalar_type(300).itemsize
modf                  np.modf(b)
moveaxis              np.moveaxis(a, 0, 1) * c.T
nanpercentile         np.nanpercentile(a, 30.0, axis=1)
nanquantile           np.nanquantile(v, w[:2] / 2)
ndenumerate           np.array([p * x for p, x in np.ndenumerate(v) for p in (2.0,)]) | sum(x * x * j for (_, j), x in np.ndenumerate(a))
ndim                  v * np.ndim(a)
ndindex               sum(a[p] * c[p] for p in np.ndindex(3, 4))
nonzero               v[np.nonzero(t)] * 2.0
ones                  np.ones((3, 4)) * a
ones_like             np.ones_like(a) * a
outer                 np.outer(v, w)
packbits              v * np.packbits(t)[0]
pad                   np.pad(a, 1, mode='reflect') | np.pad(v * v, (1, 2), mode='linear_ramp')
partition             np.partition(v, 3)[3] * v
percentile            np.percentile(a, [20.0, 60.0], axis=0)
permute_dims          np.permute_dims(a, (1, 0)) * c.T
piecewise             np.piecewise(v, [v > 0, v <= 0], [lambda x: x * x, lambda x: -x])
place                 SET r = np.copy(v); np.place(r, t, w); return r * v
poly                  np.poly(v[:3])
polyadd               np.polyadd(v, w[:2] * v[0])
polyder               np.polyder(v * v)
polydiv               np.polydiv(w, v[:3] + 3.0)
polyfit               np.polyfit(np.arange(6.0), v, 2)
polyint               np.polyint(v * v)
polymul               np.polymul(v, w[:3])
polysub               np.polysub(v, w[:2] * v[0])
polyval               np.polyval(v, a)
promote_types         v * np.promote_types(np.int8, np.float32).itemsize
put                   SET r = np.copy(v); np.put(r, i, w[:3]); return r * v
put_along_axis        SET r = np.copy(a); np.put_along_axis(r, np.argsort(a, axis=1), c, axis=1); return r * a
putmask               SET r = np.copy(v); np.putmask(r, t, w); return r * v
quantile              np.quantile(v, 0.4) * v
ravel                 np.ravel(a) * np.ravel(c)
ravel_multi_index     np.ravel(a)[np.ravel_multi_index((i, i), (3, 4))] * 2.0
repeat                np.repeat(v * v, 2)
reshape               np.reshape(a, (4, 3)) * np.reshape(c, (4, 3))
resize                np.resize(v * v, (3, 4))
result_type           v * np.result_type(v, k).itemsize
roll                  np.roll(a, 1, axis=1) * a
rollaxis              np.rollaxis(a, 1) * c.T
rot90                 np.rot90(a) * c.T
row_stack             np.vstack([a, c * a])
searchsorted          np.searchsorted(np.sort(v), w) * v
select                np.select([v > 0.3, v > -0.3], [v * v, w], default=1.0)
setdiff1d             np.setdiff1d(v, v[:3]) * 2.0
setxor1d              np.setxor1d(v, v[:3]) * 2.0
shape                 v * np.shape(a)[0]
size                  v * np.size(a)
sort_complex          np.real(np.sort_complex(v)) * v
split                 np.split(v * v, 3)
squeeze               np.squeeze(a[None]) * c
stack                 np.stack([a, c * a], axis=1)
swapaxes              np.swapaxes(a, 0, 1) * c.T
take                  np.take(v, k) * v
take_along_axis       np.take_along_axis(a, np.argsort(a, axis=0), axis=0) * c
tensordot             np.tensordot(a, c, axes=[[0, 1], [0, 1]]) | np.tensordot(a, c.T, axes=1)
tile                  np.tile(v * v, 2)
trace                 np.trace(m) * v
transpose             np.transpose(a) * c.T
trapezoid             np.trapezoid(v * w, dx=0.3) | np.trapezoid(w, v)
tri                   np.tri(3, 4) * a
tril                  np.tril(a) * c
tril_indices          m[np.tril_indices(3)] * 2.0
tril_indices_from     m[np.tril_indices_from(m)] * 2.0
trim_zeros            np.trim_zeros(v) * 2.0
triu                  np.triu(a) * c
triu_indices          m[np.triu_indices(3)] * 2.0
triu_indices_from     m[np.triu_indices_from(m)] * 2.0
union1d               np.union1d(v, v[:3]) * 2.0
unique                np.unique(v) * w
unique_all            np.unique_all(v).values * w
unique_counts         np.unique_counts(v).values * w
unique_inverse        np.unique_inverse(v).values * w
unique_values         np.sort(np.unique_values(k)) * v[:5]
unpackbits            v * np.unpackbits(np.array([3], np.uint8))[7]
unravel_index         a[np.unravel_index(k, (3, 4))] * v
unstack               sum(r * r for r in np.unstack(a))
unwrap                np.unwrap(v * 7.0) * v
vander                np.vander(v, 4)
vdot                  np.vdot(a, c)
vecdot                np.vecdot(a, c)
vecmat                np.vecmat(a.T, m)
vectorize             np.vectorize(lambda x, y: x * y if x > 0 else y)(v, w)
vsplit                np.vsplit(a * a, 3)
vstack                np.vstack([a, c * a])
where                 np.where(c > 0, a * a, b * c)
zeros                 np.zeros((3, 4)) + a * c
zeros_like            np.zeros_like(a) + a * c
linalg.cholesky       np.linalg.cholesky(s)
linalg.cond           np.linalg.cond(m)
linalg.cross          np.linalg.cross(a[:, :3], c[:, :3])
linalg.det            np.linalg.det(m)
linalg.diagonal       np.linalg.diagonal(m) * v[:3]
linalg.eigh           np.linalg.eigh(s).eigenvalues | np.abs(np.linalg.eigh(s).eigenvectors)
linalg.eigvalsh       np.linalg.eigvalsh(s)
linalg.inv            np.linalg.inv(m)
linalg.lstsq          np.linalg.lstsq(a.T, c.T, rcond=None)[0]
linalg.matmul         np.linalg.matmul(a, c.T)
linalg.matrix_norm    np.linalg.matrix_norm(m) | np.linalg.matrix_norm(m, ord='nuc')
linalg.matrix_power   np.linalg.matrix_power(m, 3) | np.linalg.matrix_power(m, -2)
linalg.matrix_rank    v * np.linalg.matrix_rank(m)
linalg.matrix_transpose np.linalg.matrix_transpose(m) * m
linalg.multi_dot      np.linalg.multi_dot([m, a, c.T])
linalg.norm           np.linalg.norm(v) | np.linalg.norm(m, 2) | np.linalg.norm(a, axis=1) | np.linalg.norm(v, 3)
linalg.outer          np.linalg.outer(v, w)
linalg.pinv           np.linalg.pinv(a)
linalg.qr             np.linalg.qr(m).R | np.linalg.qr(m).Q
linalg.slogdet        np.linalg.slogdet(m).logabsdet
linalg.solve          np.linalg.solve(m, a) | np.linalg.solve(m, v[:3])
linalg.svd            np.linalg.svd(m, compute_uv=False) | np.abs(np.linalg.svd(m).U)
linalg.svdvals        np.linalg.svdvals(m)
linalg.tensordot      np.linalg.tensordot(a, c.T, axes=1)
linalg.tensorinv      np.linalg.tensorinv(m[None], ind=2) | np.linalg.tensorinv(m.copy().reshape(3, 3, 1), ind=1)
linalg.tensorsolve    np.linalg.tensorsolve(m.copy().reshape(3, 3, 1), v[:3])
linalg.trace          np.linalg.trace(m) * v
linalg.vecdot         np.linalg.vecdot(a, c)
linalg.vector_norm    np.linalg.vector_norm(a, axis=1) | np.linalg.vector_norm(v, ord=3)
fft.fft               np.abs(np.fft.fft(v)) | np.fft.fft(v, 4).imag
fft.fft2              np.fft.fft2(a).real * a
fft.fftfreq           np.fft.fftfreq(6, 0.5) * v
fft.fftn              np.fft.fftn(a).imag * a
fft.fftshift          np.fft.fftshift(v) * v
fft.hfft              np.fft.hfft(v + 1j * w) * 2.0
fft.ifft              np.abs(np.fft.ifft(v + 1j * w))
fft.ifft2             np.fft.ifft2(a + 1j * c).real * a
fft.ifftn             np.fft.ifftn(a + 1j * c).imag * a
fft.ifftshift         np.fft.ifftshift(v) * v
fft.ihfft             np.fft.ihfft(v).real * v[:4]
fft.irfft             np.fft.irfft(v + 1j * w) ** 2
fft.irfft2            np.fft.irfft2(a + 1j * c) ** 2
fft.irfftn            np.fft.irfftn(a + 1j * c) ** 2
fft.rfft              np.abs(np.fft.rfft(v))
fft.rfft2             np.fft.rfft2(a).real ** 2
fft.rfftfreq          np.fft.rfftfreq(10, 0.5) * v
fft.rfftn             np.fft.rfftn(a).imag ** 2
"""
for _line in _LINES.strip().splitlines():
    _name, _, _calls = _line.partition(" ")
    SAMPLES[f"numpy.{_name}"] = [call.strip() for call in _calls.split(" | ")]
