"""Where the objects and lists are made that a function keeps in pools."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from adc.frontend import abstract
from adc.frontend.prelude.python_rows import PooledList, row_class
from adc.ir.core import Loc
from adc.ir.lazy_dataclass import dataclass

Made = tuple[Loc, str]
"""Where a list is made, and as which attribute of what the expression there makes."""


@dataclass(eq=False)
class Pools:
    """Which objects of a function are kept in pools (``objects.pools``): those of a class made by expressions at
    ``sites``. ``rows``: the type of what the objects of a class hold. ``keyed``: where dicts are made whose keys the
    run computes. ``lists``: the class of the lists in pools, by where they are made, and as which attributes.
    ``by_value``: where lists are made of which a list of run-time length has copies."""

    sites: set[tuple[Loc, type]] = field(default_factory=set)
    keyed: set[Loc] = field(default_factory=set)
    rows: dict[type, abstract.Abstract] = field(default_factory=dict)
    lists: dict[Made, type[PooledList]] = field(default_factory=dict)
    by_value: set[Loc] = field(default_factory=set)

    def copies(self) -> bool:
        """Whether lists of run-time length have copies of lists that are not in pools."""
        return not {(site, list) for site in self.by_value} <= self.sites

    def want_lists(self, sites: set[Loc]) -> bool:
        """Keep lists that are made there in pools. Whether this is new."""
        new = {(site, list) for site in sites} - self.sites
        for site, _ in new:
            self.lists.setdefault((site, ""), row_class(str(site)))
        self.sites |= new
        if new:
            self.rows.clear()  # objects may have held these lists by value
        return bool(new)

    def class_of(self, made: Made) -> type[PooledList]:
        """The class of the lists that an expression makes, or those of one attribute of what it makes."""
        site, part = made
        return self.lists.setdefault(made, row_class(f"{site} {part}" if part else str(site)))

    def unify(self, a: type[PooledList], b: type[PooledList]) -> bool:
        """Keep lists of two classes in one pool. Whether lists of either are made here."""
        one, other = (a, b) if b in self.lists.values() else (b, a)
        if other not in self.lists.values():
            return False
        self.lists = {site: one if cls is other else cls for site, cls in self.lists.items()}
        self.rows.clear()
        return True

    def has_site(self, loc: Loc) -> bool:
        """Whether objects that the expression at ``loc`` makes, itself or by a call, are kept in pools."""
        return any(site == loc for site, _ in self.sites)

    def has_keyed(self, loc: Loc) -> bool:
        return loc in self.keyed


@dataclass(eq=False)
class ListPools:
    """The lists in pools that are changed by other functions than those that make them: the class of each, by where it
    is made, and the types of their items (``rows``). They are found by tracing the program again."""

    lists: dict[Made, type[PooledList]] = field(default_factory=dict)
    rows: dict[type, abstract.Abstract] = field(default_factory=dict)

    def pools(self) -> Pools:
        """Those of a function that may make some of these lists."""
        return Pools(sites={(site, list) for site, _ in self.lists}, lists=dict(self.lists))

    def take(self, several: list[Pools]) -> bool:
        """Add the lists that functions keep in pools. Whether there are such functions."""
        for made in several:
            self.lists.update(made.lists)
            self.rows.update((cls.cell, made.rows[cls.cell]) for cls in made.lists.values() if cls.cell in made.rows)
        return bool(several)


class OtherPools(Exception):
    """Pools of the function that is being traced, or of a caller of it, must be others: ``change`` makes them so, and
    says whether they are the ones. ``refusal``: what is raised if nobody's are."""

    def __init__(self, change: Callable[[Pools], bool], refusal: Exception) -> None:
        super().__init__()
        self.change = change
        self.refusal = refusal
