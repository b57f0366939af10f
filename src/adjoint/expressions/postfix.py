"""Tokens to postfix, by Dijkstra's shunting yard: two stacks, no recursion, each token looked at once.

The result is a program for the stack machine of `adjoint.expressions.build`: numbers and names push, functions
take their arguments from the stack. ``sum(i, 1, 3, x^i)`` is ``1 3 loop(i) x i ^ end``.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoint.core.registry import op_named
from adjoint.core.types import Array
from adjoint.expressions.functions import ANY, COMPARISONS, RESERVED, SUMS, VALUES, NamedFunction, find, known, near
from adjoint.expressions.tokens import Token, complaint, shown, tokens

MAX_DEPTH = 5_000
_OPEN, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER = range(6)
_OPERATORS = {"+": ("add", _SUM), "-": ("subtract", _SUM), "*": ("multiply", _PRODUCT), "/": ("divide", _PRODUCT),
              "^": ("power", _POWER)}  # fmt: skip
_OPERATORS |= {sign: (name, _COMPARE) for name, sign in COMPARISONS.items()}
_ARITHMETIC = {sign: (NamedFunction(sign, op_named(name), 2), rank) for sign, (name, rank) in _OPERATORS.items()}
_MINUS = NamedFunction("neg", op_named("negative"), 1)
_VALUE = "a number, a name, a function or '('"
_FORM = "{0}(i, first, last, term), as in {0}(i, 1, 3, x^i)"


class Item(NamedTuple):
    """One step: ``number``, ``name``, ``call``, ``let``, ``result``, ``loop`` or ``end``."""

    kind: str
    value: Array
    at: int
    arity: int = 0


class _OpenParenthesis:
    """A parenthesis that is open: whose it is, and how many arguments have begun."""

    __slots__ = ("at", "count", "function", "index", "total")

    def __init__(self, at: int, function: NamedFunction | None = None, total: str = "", index: str = "") -> None:
        self.at, self.function, self.total, self.index, self.count = at, function, total, index, 1


def postfix(text: str) -> list[Item]:
    """The steps of `text`, in the order in which they are carried out.

    Raises:
        ExprError: with the place, and what was expected there.
    """
    return _Yard(text).run()


def words(items: list[Item]) -> list[str]:
    """The steps as they are usually written: ``["x", "y", "+"]``; a semicolon ends one of several results."""
    spelled: list[str] = []
    results = sum(item.kind == "result" for item in items)
    for kind, value, _, _ in items:
        if kind == "call":
            spelled.append(value.name)
        elif kind == "loop":
            spelled.append(f"loop({value})")
        elif kind == "let":
            spelled += [value, "="]
        elif kind != "result":
            spelled.append(value)
        elif results > 1:
            spelled.append(";")
    return spelled


class _Yard:
    def __init__(self, text: str) -> None:
        self.text, self.tokens = text, tokens(text)
        self.out: list[Item] = []
        self.waiting: list[tuple[int, Item]] = []  # operators, by rank; an open parenthesis has the lowest
        self.frames: list[_OpenParenthesis] = []
        self.functions: dict[str, NamedFunction | None] = {}
        self.let: Token | None = None

    def run(self) -> list[Item]:
        i, wants_value, begun = 0, True, False
        while True:
            token = self.tokens[i]
            kind = token.kind
            if kind == "\n" and (self.frames or (wants_value and (begun or self.let is None))):
                i += 1  # a line may end anywhere inside parentheses, and after an operator
            elif kind in ("\n", ";", "end") and not (wants_value and (begun or self.let)) and not self.frames:
                if begun:
                    self.finish(token)
                begun, wants_value = False, True
                if kind == "end":
                    break
                i += 1
            elif wants_value:
                if not begun and self.let is None and kind == "name" and self.tokens[i + 1].kind == "=":
                    self.let_of(token)
                    i += 2
                    continue
                begun = True
                i, wants_value = self.value(i, token)
            else:
                i, wants_value = self.operator(i, token)
        if not any(item.kind == "result" for item in self.out):
            what = "only names are given a value" if self.out else "there is no expression"
            raise complaint(self.text, len(self.text), what, expected="an expression, as in s = x + y; s^2")
        return self.out

    def let_of(self, token: Token) -> None:
        if token.text in RESERVED:
            raise complaint(self.text, token.at, f"{token.text} has a meaning already", expected="another name")
        self.let = token

    def finish(self, token: Token) -> None:
        while self.waiting:
            self.out.append(self.waiting.pop()[1])
        if self.let is not None:
            self.out.append(Item("let", self.let.text, self.let.at))
            self.let = None
        else:
            self.out.append(Item("result", None, token.at))

    def value(self, i: int, token: Token) -> tuple[int, bool]:
        """A value begins at token `i`. Gives the next token, and whether a value is still wanted."""
        kind, word, at = token
        if kind == "number":
            self.out.append(Item("number", word, at))
            return i + 1, False
        if kind == "name":
            if self.tokens[i + 1].kind == "(":
                return self.call(i, token)
            if word in RESERVED and word not in VALUES:
                form = _FORM.format(word) if word in SUMS else f"{word}(…)"
                raise complaint(self.text, at, f"{word} is a function", expected=form)
            self.out.append(Item("name", word, at))
            return i + 1, False
        if kind == "(":
            self.opened(_OpenParenthesis(at))
            return i + 1, True
        if kind == "-":
            self.waiting.append((_SIGN, Item("call", _MINUS, at, 1)))
            return i + 1, True
        if kind == "+":
            return i + 1, True
        what = {"end": "the text ends", "\n": "the line ends"}.get(kind, f"{shown(word)} cannot come here")
        raise complaint(self.text, at, what, expected=_VALUE)

    def call(self, i: int, token: Token) -> tuple[int, bool]:
        word, at = token.text, token.at
        if word in SUMS:
            index, comma = self.tokens[i + 2 : i + 4] if i + 4 <= len(self.tokens) else (token, token)
            if index.kind != "name" or comma.kind != "," or index.text in RESERVED:
                raise complaint(
                    self.text, self.tokens[i + 2].at, f"{word} goes over an index", expected=_FORM.format(word)
                )
            self.opened(_OpenParenthesis(at, total=word, index=index.text))
            return i + 4, True
        if word not in self.functions:
            self.functions[word] = find(word)
        function = self.functions[word]
        if function is None:
            hint = near(word, known) or f"for a product write {word[:20]}*(…)"
            raise complaint(self.text, at, f"there is no function {shown(word[:40])}", hint=hint)
        if self.tokens[i + 2].kind == ")":
            raise complaint(self.text, self.tokens[i + 2].at, f"{word} needs {_arguments(function)}", expected=_VALUE)
        self.opened(_OpenParenthesis(at, function))
        return i + 2, True

    def opened(self, frame: _OpenParenthesis) -> None:
        if len(self.frames) >= MAX_DEPTH:
            raise complaint(self.text, frame.at, f"more than {MAX_DEPTH} parentheses inside one another")
        self.frames.append(frame)
        self.waiting.append((_OPEN, Item("(", None, frame.at)))

    def operator(self, i: int, token: Token) -> tuple[int, bool]:
        """A value has just ended. Gives the next token, and whether a value is wanted."""
        kind, _, at = token
        found = _ARITHMETIC.get(kind)
        if found is not None:
            function, rank = found
            waiting = self.waiting
            while waiting and (waiting[-1][0] > rank or (waiting[-1][0] == rank and rank not in (_POWER, _COMPARE))):
                self.out.append(waiting.pop()[1])
            if rank == _COMPARE and waiting and waiting[-1][0] == _COMPARE:
                raise complaint(self.text, at, "comparisons cannot be chained", expected="and(a < b, b < c)")
            waiting.append((rank, Item("call", function, at, 2)))
            return i + 1, True
        if kind == ")" and self.frames:
            self.closed(token)
            return i + 1, False
        if kind == "," and self.frames and (self.frames[-1].function or self.frames[-1].total):
            self.comma(token)
            return i + 1, True
        raise self.no_operator(i, token)

    def no_operator(self, i: int, token: Token) -> Exception:
        kind, word, at = token
        inside = f", or ')' for the '(' at column {self.column(self.frames[-1].at)}" if self.frames else ""
        if kind == "=":
            return complaint(
                self.text, at, "'=' gives a name its value at the start of a line", expected="'==' to compare"
            )
        if kind == ")":
            return complaint(self.text, at, "this ')' closes nothing", expected="an operator, or the end")
        if kind == ",":
            return complaint(self.text, at, "',' separates a function's arguments", expected=f"an operator{inside}")
        if kind in ("end", "\n", ";"):
            what = f"the '(' at column {self.column(self.frames[-1].at)} is still open"
            return complaint(self.text, at, what, expected="')'")
        before = self.tokens[i - 1]
        hint = ""
        if before.kind == "name" and kind in ("name", "number") and find(before.text):
            hint = f"{before.text} is a function: {before.text}({shown(word[:20])[1:-1]})"
        elif kind in ("name", "number", "("):
            hint = "a product is written with *"
        return complaint(
            self.text, at, f"{shown(word[:40])} cannot come here", expected=f"an operator{inside}", hint=hint
        )

    def column(self, at: int) -> int:
        return at - self.text.rfind("\n", 0, at)

    def emptied(self) -> _OpenParenthesis:
        """Carry out what waits inside the innermost parenthesis."""
        waiting = self.waiting
        while waiting[-1][0] != _OPEN:
            self.out.append(waiting.pop()[1])
        return self.frames[-1]

    def comma(self, token: Token) -> None:
        frame = self.emptied()
        frame.count += 1
        if frame.total and frame.count == 3:
            self.out.append(Item("loop", frame.index, frame.at))
        elif frame.total and frame.count > 3:
            raise complaint(
                self.text, token.at, f"{frame.total} has four arguments", expected=_FORM.format(frame.total)
            )
        elif frame.function and frame.function.arity not in (ANY,) and frame.count > frame.function.arity:
            raise complaint(
                self.text, token.at, f"{frame.function.name} takes {_arguments(frame.function)}", expected="')'"
            )

    def closed(self, token: Token) -> None:
        frame = self.emptied()
        self.frames.pop()
        self.waiting.pop()
        if frame.total:
            if frame.count < 3:
                raise complaint(
                    self.text, token.at, f"{frame.total} has four arguments", expected=_FORM.format(frame.total)
                )
            self.out.append(Item("end", frame.total, frame.at))
        elif frame.function is not None:
            wanted = frame.function.arity
            if frame.count < (2 if wanted == ANY else wanted):
                what = f"{frame.function.name} takes {_arguments(frame.function)}; this is {frame.count}"
                raise complaint(self.text, token.at, what, expected="','")
            self.out.append(Item("call", frame.function, frame.at, frame.count))


def _arguments(function: NamedFunction) -> str:
    if function.arity == ANY:
        return "two arguments or more"
    inputs = getattr(function.op, "inputs", ("x",))
    return f"{function.arity} argument{'s' * (function.arity > 1)} ({', '.join(inputs)})"
