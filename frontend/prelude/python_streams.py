"""Functions of Python's ``itertools``, as lists of their items."""

from __future__ import annotations

from typing import Any

import numpy as np


def accumulated(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    items = list(iterable)
    found = []
    if initial is not None:
        total = initial
        found.append(total)
        for x in items:
            total = total + x if func is None else func(total, x)
            found.append(total)
    elif len(items) > 0:
        total = items[0]
        found.append(total)
        for k in range(1, len(items)):
            total = total + items[k] if func is None else func(total, items[k])
            found.append(total)
    return found


def attributes_of(names: Any, x: Any) -> Any:
    """The result of ``operator.attrgetter(*names)`` on ``x``."""
    found: Any = ()
    for name in names:
        found = (*found, attribute_of(name, x))
    return found


def attribute_of(name: Any, x: Any) -> Any:
    for part in name:
        x = getattr(x, part)
    return x


def method_of(name: Any, args: Any, named: Any, x: Any) -> Any:
    """The result of ``operator.methodcaller(name, *args, **named)`` on ``x``."""
    return getattr(x, name)(*args, **named)


def taken_while(predicate: Any, iterable: Any, /) -> Any:
    found = []
    for x in iterable:
        if not predicate(x):
            break
        found.append(x)
    return found


def dropped_while(predicate: Any, iterable: Any, /) -> Any:
    found, dropping = [], True
    for x in iterable:
        if dropping and predicate(x):
            continue
        dropping = False
        found.append(x)
    return found


def left_out(predicate: Any, iterable: Any, /) -> Any:
    if predicate is None:
        return [x for x in iterable if not x]
    return [x for x in iterable if not predicate(x)]


def zipped_to_longest(*iterables: Any, fillvalue: Any = None) -> Any:
    several = tuple(_listed(a) for a in iterables)
    if len(several) == 0:
        return []
    n = 0
    for items in several:
        n = max(n, len(items))
    return [tuple(items[k] if k < len(items) else fillvalue for items in several) for k in range(n)]


def _listed(a: Any) -> Any:
    return a if isinstance(a, np.ndarray) else list(a)


def compressed(data: Any, selectors: Any) -> Any:
    return [x for x, wanted in zip(data, selectors) if wanted]


def item_of(key: Any, x: Any, /) -> Any:
    return x[key]


def items_of(keys: Any, x: Any, /) -> Any:
    return tuple(x[key] for key in keys)


def accumulating(iterable: Any, func: Any = None, *, initial: Any = None) -> Any:
    """``itertools.accumulate`` in a ``for`` statement, whose body may change what is gone through."""
    first = initial is None
    if not first:
        total = initial
        yield total
    for x in iterable:
        if first:
            total = x
            first = False
        elif func is None:
            total = total + x
        else:
            total = func(total, x)
        yield total


def filtering(keep: Any, iterable: Any, /) -> Any:
    for x in iterable:
        if x if keep is None else keep(x):
            yield x


def leaving_out(keep: Any, iterable: Any, /) -> Any:
    for x in iterable:
        if not (x if keep is None else keep(x)):
            yield x


def taking_while(predicate: Any, iterable: Any, /) -> Any:
    for x in iterable:
        if not predicate(x):
            break
        yield x


def dropping_while(predicate: Any, iterable: Any, /) -> Any:
    dropping = True
    for x in iterable:
        if dropping:
            dropping = predicate(x)
        if not dropping:
            yield x


def compressing(data: Any, selectors: Any) -> Any:
    for x, wanted in zip(data, selectors):
        if wanted:
            yield x
