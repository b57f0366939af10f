"""``match`` in the twin for recordings: one test after another, whose parts the door takes from the subject."""

from __future__ import annotations

import ast

from adjoint.twin.recording.expressions import Expressions, door, load
from adjoint.twin.syntax.trees import placed


class MatchRewriter(Expressions, ast.NodeTransformer):
    """Rewrites ``match``.

    Of ``case [a, *_] if a > 0:`` comes ``if not done and <test>:``, then names are bound, and then the guard is asked.
    """

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        subject, done = self.temporary(), self.temporary()
        made: list[ast.stmt] = [_bind(subject, self.visit(node.subject)), _bind(done, ast.Constant(value=False))]
        for case in node.cases:
            names: dict[str, str] = {}
            test = _all([ast.UnaryOp(ast.Not(), load(done)), *self._tests(case.pattern, subject, names)])
            body: list[ast.stmt] = [_bind(done, ast.Constant(value=True)), *self.block(case.body)]
            if case.guard is not None:
                body = [ast.If(self.test(case.guard), body, [])]
            bound = [s for name, value in names.items() for s in self.store(ast.Name(name, ast.Store()), load(value))]
            made.append(placed(ast.If(test, [*bound, *body], []), case.pattern))
        return made

    def _tests(self, pattern: ast.pattern, subject: str, names: dict[str, str]) -> list[ast.expr]:
        """Expressions that are all true where `pattern` fits; what it binds is then in the variables in `names`."""
        match pattern:
            case ast.MatchValue(value):
                return [door("truth", door("compare", ast.Constant("eq"), load(subject), self.visit(value)))]
            case ast.MatchSingleton(value):
                return [door("compare", ast.Constant("is"), load(subject), ast.Constant(value))]
            case ast.MatchAs(inner, name):
                tests = [] if inner is None else self._tests(inner, subject, names)
                return tests if name is None else [*tests, self._captured(name, load(subject), names)]
            case ast.MatchOr(patterns):
                return [ast.BoolOp(ast.Or(), [_all(self._tests(p, subject, names)) for p in patterns])]
            case ast.MatchSequence(patterns):
                return self._sequence(patterns, subject, names)
            case ast.MatchMapping(keys, patterns, rest):
                given = ast.Tuple([self.visit(k) for k in keys], ast.Load())
                inside = [*patterns, *([] if rest is None else [ast.MatchAs(None, rest)])]
                return self._parts(door("matched_mapping", load(subject), given, _flag(rest)), inside, names)
            case ast.MatchClass(cls, patterns, words, others):
                given = ast.Tuple([ast.Constant(word) for word in words], ast.Load())
                found = door("matched_class", load(subject), self.visit(cls), ast.Constant(len(patterns)), given)
                return self._parts(found, [*patterns, *others], names)
        raise self.refuse(f"a pattern {type(pattern).__name__}")

    def _sequence(self, patterns: list[ast.pattern], subject: str, names: dict[str, str]) -> list[ast.expr]:
        starred = [i for i, p in enumerate(patterns) if isinstance(p, ast.MatchStar)]
        before = starred[0] if starred else len(patterns)
        after = ast.Constant(len(patterns) - before - 1 if starred else None)
        inside = [ast.MatchAs(None, p.name) if isinstance(p, ast.MatchStar) else p for p in patterns]
        return self._parts(door("matched_sequence", load(subject), ast.Constant(before), after), inside, names)

    def _parts(self, found: ast.expr, patterns: list[ast.pattern], names: dict[str, str]) -> list[ast.expr]:
        """The tests of the parts that `found` gives, or None where the whole does not fit."""
        parts = self.temporary()
        tests: list[ast.expr] = [ast.Compare(_walrus(parts, found), [ast.IsNot()], [ast.Constant(None)])]
        for i, pattern in enumerate(patterns):
            part = self.temporary()
            tests.append(_kept(part, ast.Subscript(load(parts), ast.Constant(i), ast.Load())))
            tests += self._tests(pattern, part, names)
        return tests

    def _captured(self, name: str, value: ast.expr, names: dict[str, str]) -> ast.expr:
        if name not in names:
            names[name] = self.temporary()
        return _kept(names[name], value)


def _all(tests: list[ast.expr]) -> ast.expr:
    return ast.BoolOp(ast.And(), tests) if len(tests) > 1 else tests[0] if tests else ast.Constant(value=True)


def _flag(x: object) -> ast.expr:
    return ast.Constant(x is not None)


def _bind(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _walrus(name: str, value: ast.expr) -> ast.expr:
    return ast.NamedExpr(ast.Name(name, ast.Store()), value)


def _kept(name: str, value: ast.expr) -> ast.expr:
    """A test that is true, and keeps `value` in a variable."""
    return ast.Compare(_walrus(name, value), [ast.Is()], [load(name)])
