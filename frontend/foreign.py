"""Arrays of other libraries. They are refused, and the message says what to pass instead.

They are recognised by module and class: none of these libraries is imported.
"""

from __future__ import annotations

# By the first part of the module and the class: what to pass instead of the array ``x``.
_INSTEAD = {
    ("pandas", "Series"): "x.to_numpy()",
    ("pandas", "DataFrame"): "x.to_numpy()",
    ("pandas", "Index"): "x.to_numpy()",
    ("polars", "Series"): "x.to_numpy()",
    ("polars", "DataFrame"): "x.to_numpy()",
    ("xarray", "DataArray"): "x.to_numpy()",
    ("xarray", "Variable"): "x.to_numpy()",
    ("xarray", "Dataset"): "x['name'].to_numpy() for each variable",
    ("torch", "Tensor"): "x.numpy(), or x.detach().cpu().numpy()",
    ("tensorflow", "Tensor"): "x.numpy()",
    ("tensorflow", "Variable"): "x.numpy()",
    ("jax", "Array"): "np.asarray(x)",
    ("jaxlib", "Array"): "np.asarray(x)",
    ("cupy", "ndarray"): "x.get(), or cupy.asnumpy(x)",
    ("dask", "Array"): "x.compute()",
}
_LIBRARIES = {"jaxlib": "JAX", "jax": "JAX", "torch": "PyTorch", "tensorflow": "TensorFlow", "cupy": "CuPy"}


def instead_of(cls: type) -> tuple[str, str] | None:
    """What an array of another library is, and what to pass instead; None for any other class."""
    name = f"{'an' if cls.__name__[0] in 'AEIOU' else 'a'} {cls.__name__}"
    for base in cls.__mro__:
        root = (base.__module__ or "").split(".")[0]
        known = _INSTEAD.get((root, base.__name__)) or ("np.asarray(x)" if root in ("jax", "jaxlib") else None)
        if known is not None and base is not object:
            return f"{name} of {_LIBRARIES.get(root, root)}", known
    if any("__array__" in vars(base) or "__cuda_array_interface__" in vars(base) for base in cls.__mro__):
        return f"{name}, which is no array of NumPy's,", "np.asarray(x)"
    return None
