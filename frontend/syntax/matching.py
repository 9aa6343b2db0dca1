"""``match`` as ``if``: rewritten on the syntax tree, so that liveness and control flow need not handle it.

The subject is a variable of its own. A pattern becomes a test of it and assignments of what it captures, which happen
if the test holds, before the guard is evaluated. Patterns are constants, dotted names, None, True and False,
alternatives of these, captures, ``_``, tuples of patterns, dicts, and objects of classes. A ``match`` with any other
pattern is left unchanged, and refused when a function with it is traced.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from adc.frontend.syntax.nodes import at, calling


class Unsupported(Exception):
    """A pattern that has no translation."""

    def __init__(self, pattern: ast.pattern) -> None:
        super().__init__(type(pattern).__name__)
        self.pattern = pattern


def has_length(value: object, length: int, more: bool) -> bool:
    """Whether ``value`` is a sequence of this length, or of ``more``, as ``match`` sees it. The tracer has a rule for
    it, and for those below."""
    raise NotImplementedError


def has_keys(value: object, *keys: object) -> bool:
    """Whether ``value`` is a dict with these keys."""
    raise NotImplementedError


def without_keys(value: object, *keys: object) -> object:
    """The dict ``value`` but for these keys."""
    raise NotImplementedError


def without_match(tree: ast.Module) -> ast.Module:
    """The tree with each ``match`` as ``if``."""
    result = _Translation().visit(tree)
    assert isinstance(result, ast.Module)
    return result


def unsupported_pattern(statement: ast.Match) -> ast.pattern | None:
    """The first pattern of a ``match`` that has no translation."""
    subject = ast.copy_location(ast.Name("_", ast.Load()), statement)
    try:
        for case in statement.cases:
            _pattern(case.pattern, subject)
    except Unsupported as reason:
        return reason.pattern
    return None


class _Translation(ast.NodeTransformer):
    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        name = f"__match_{node.lineno}_{node.col_offset}"
        try:
            cases = _cases(node.cases, name)
        except Unsupported:
            return node
        first = at(ast.Assign([at(ast.Name(name, ast.Store()), node.subject)], node.subject), node.subject)
        return [first, *cases]


Binding = tuple[str, ast.expr]


def _cases(cases: Sequence[ast.match_case], name: str) -> list[ast.stmt]:
    rest: list[ast.stmt] = []
    for number, case in reversed(list(enumerate(cases))):
        place = case.pattern
        test, bindings = _pattern(place, at(ast.Name(name, ast.Load()), place))
        bound: list[ast.stmt] = [
            at(ast.Assign([at(ast.Name(to, ast.Store()), place)], value), place) for to, value in bindings
        ]
        if case.guard is None:
            rest = [*bound, *case.body] if test is None else [_if(test, [*bound, *case.body], rest, place)]
        elif test is None:
            rest = [*bound, _if(case.guard, case.body, rest, place)]
        elif not bound:
            rest = [_if(_all([test, case.guard], place), case.body, rest, place)]
        else:
            flag = f"{name}_{number}"
            fits = [at(ast.Name(flag, ast.Load()), place) for _ in range(2)]
            rest = [
                at(ast.Assign([at(ast.Name(flag, ast.Store()), place)], test), place),
                _if(fits[0], bound, [], place),
                _if(_all([fits[1], case.guard], place), case.body, rest, place),
            ]
    return rest


def _if(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt], place: ast.AST) -> ast.stmt:
    return at(ast.If(test, body, orelse), place)


def _all(tests: list[ast.expr], place: ast.AST) -> ast.expr:
    return tests[0] if len(tests) == 1 else at(ast.BoolOp(ast.And(), tests), place)


def _pattern(p: ast.pattern, subject: ast.expr) -> tuple[ast.expr | None, list[Binding]]:
    """The test of a pattern, None if it always matches, and its bindings."""
    if isinstance(p, ast.MatchValue):
        return at(ast.Compare(subject, [ast.Eq()], [p.value]), p), []
    if isinstance(p, ast.MatchSingleton):
        return at(ast.Compare(subject, [ast.Is()], [at(ast.Constant(p.value), p)]), p), []
    if isinstance(p, ast.MatchAs):
        test, bindings = (None, []) if p.pattern is None else _pattern(p.pattern, subject)
        return test, bindings if p.name is None else [*bindings, (p.name, subject)]
    if isinstance(p, ast.MatchOr):
        parts = [_pattern(alternative, subject) for alternative in p.patterns]
        if any(bindings for _, bindings in parts):
            raise Unsupported(p)
        tests = [test for test, _ in parts if test is not None]
        return (at(ast.BoolOp(ast.Or(), tests), p) if len(tests) == len(parts) else None), []
    if isinstance(p, ast.MatchSequence):
        return _sequence(p, subject)
    if isinstance(p, ast.MatchMapping):
        return _mapping(p, subject)
    if isinstance(p, ast.MatchClass):
        return _object(p, subject)
    raise Unsupported(p)


def part_of(value: object, cls: type, position: int) -> object:
    """The value that a positional pattern of a class matches. The tracer has a rule for it."""
    raise NotImplementedError


def _object(p: ast.MatchClass, subject: ast.expr) -> tuple[ast.expr, list[Binding]]:
    tests: list[ast.expr] = [at(calling(isinstance, [subject, p.cls]), p)]
    places: list[ast.expr] = []
    for k, part in enumerate(p.patterns):
        places.append(at(calling(part_of, [subject, p.cls, ast.Constant(k)]), part))
    for name, part in zip(p.kwd_attrs, p.kwd_patterns, strict=True):
        tests.append(at(calling(hasattr, [subject, ast.Constant(name)]), part))
        places.append(at(ast.Attribute(subject, name, ast.Load()), part))
    found: list[Binding] = []
    for part, place in zip([*p.patterns, *p.kwd_patterns], places, strict=True):
        test, bindings = _pattern(part, place)
        tests += [] if test is None else [test]
        found += bindings
    return _all(tests, p), found


def _sequence(p: ast.MatchSequence, subject: ast.expr) -> tuple[ast.expr, list[Binding]]:
    star = next((k for k, part in enumerate(p.patterns) if isinstance(part, ast.MatchStar)), None)
    several, count = star is not None, len(p.patterns)
    length = [subject, at(ast.Constant(count - several), p), at(ast.Constant(several), p)]
    tests: list[ast.expr] = [at(calling(has_length, length), p)]
    found: list[Binding] = []
    for k, part in enumerate(p.patterns):
        number = k if star is None or k < star else k - count
        if isinstance(part, ast.MatchStar):
            if part.name is not None:
                upper = ast.Constant(number + 1) if number < -1 else None
                rest: ast.expr = ast.Subscript(subject, ast.Slice(ast.Constant(k), upper), ast.Load())
                found.append((part.name, at(calling(list, [rest]), part)))
            continue
        test, bindings = _pattern(part, at(ast.Subscript(subject, at(ast.Constant(number), part), ast.Load()), part))
        tests += [] if test is None else [test]
        found += bindings
    return _all(tests, p), found


def _mapping(p: ast.MatchMapping, subject: ast.expr) -> tuple[ast.expr, list[Binding]]:
    tests: list[ast.expr] = [at(calling(has_keys, [subject, *p.keys]), p)]
    found: list[Binding] = []
    for key, part in zip(p.keys, p.patterns, strict=True):
        test, bindings = _pattern(part, at(ast.Subscript(subject, key, ast.Load()), part))
        tests += [] if test is None else [test]
        found += bindings
    if p.rest is not None:
        found.append((p.rest, at(calling(without_keys, [subject, *p.keys]), p)))
    return _all(tests, p), found
