"""`adjoint grad`: an expression's value and gradient, and how every step of it comes to them."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from adjoint.cli.sources import require
from adjoint.core.errors import DataError, ExprError
from adjoint.core.types import Value
from adjoint.expressions import Expr, expr
from adjoint.expressions.nodes import is_constant
from adjoint.expressions.text import step
from adjoint.graph.node import Node


def grad(
    text: Annotated[str, typer.Argument(metavar="EXPRESSION", help='Such as "3*x^2 + x*y".', show_default=False)],
    values: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE…", help="Such as x=2 y=pi/3.", show_default=False)
    ] = None,
    *,
    hessian: Annotated[bool, typer.Option("--hessian", help="The second derivatives too.")] = False,
    states: Annotated[
        Path | None, typer.Option(help="A CSV file with a column for each variable: a state a row.", show_default=False)
    ] = None,
    show: Annotated[
        Path | None, typer.Option(help="Draw the circuit, values and cotangents in it, to this SVG, PNG or DOT file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print an expression's value and its gradient, and the value and the cotangent of every step.

    [bold]Examples[/bold]

    adjoint grad "3*x^2 + x*y + 5*y^2" x=2 y=3

    adjoint grad "sin(x)*exp(-y)" x=pi/4 y=1 --hessian --show circuit.svg

    adjoint grad "x*y + z" z=1 --states points.csv
    """
    e = expr(text)
    if len(e.roots) > 1:
        raise ExprError(f"grad takes one result; this text has {len(e.roots)}")
    given = _given(values or ())
    e = _with_euler(e, given)
    with np.errstate(all="ignore"):
        if states is not None:
            if show is not None:
                raise ExprError("--show draws one state; give it as NAME=VALUE, without --states")
            _many(e, given, states, hessian=hessian, as_json=as_json)
            return
        _one(e, given, hessian=hessian, as_json=as_json)
        if show is not None:
            from adjoint.pictures.picture import show as draw

            draw(e, show, at={name: given[name] for name in e.variables})


def _given(words: Sequence[str]) -> dict[str, float]:
    given: dict[str, float] = {}
    for name, value in map(_assignment, words):
        if name in given:
            raise ExprError(f"{name} has two values, {number(given[name])} and {number(value)}; give one")
        given[name] = value
    return given


def _assignment(word: str) -> tuple[str, float]:
    name, sign, value = word.partition("=")
    if not sign or not name.strip().isidentifier():
        raise ExprError(f"a value is given as NAME=VALUE, such as x=2; got {word!r}")
    try:
        number = expr(value)
    except ExprError as error:
        raise ExprError(f"the value of {name}: {error}") from None
    if number.variables or len(number.roots) > 1:
        raise ExprError(f"the value of {name} must be a number, such as 2 or pi/3; got {value!r}")
    return expr(name).variables[0] if expr(name).variables else name, float(number)


def _with_euler(e: Expr, given: dict[str, float]) -> Expr:
    """`e` with the variable called e, if a value is given for it."""
    e = e.with_e() if "e" in given and e.has_euler else e
    e.known(given)
    return e


def _one(e: Expr, given: dict[str, float], *, hessian: bool, as_json: bool) -> None:
    value, gradient = e.value_and_gradient(**given)
    second = e.hessian(**given).tolist() if hessian else None
    rows = _steps(e, given)
    if as_json:
        names = ("step", "is", "value", "cotangent")
        report: dict[str, object] = {"expression": str(e), "state": given, "value": value, "gradient": gradient}
        report |= {"hessian": {"variables": e.variables, "rows": second}} if hessian else {}
        report["steps"] = [dict(zip(names, row, strict=True)) for row in rows]
        typer.echo(json.dumps(_plain(report), indent=2, ensure_ascii=False))
        return
    typer.echo(f"{e}\n")
    lines = [("value", number(value)), *((f"d/d{name}", number(slope)) for name, slope in gradient.items())]
    typer.echo(_aligned(lines))
    if second:
        typer.echo("\nsecond derivatives")
        header = ("", *e.variables)
        body = [(name, *map(number, row)) for name, row in zip(e.variables, second, strict=True)]
        typer.echo(_aligned([header, *body]))
    typer.echo()
    typer.echo(_aligned([("step", "is", "value", "cotangent"), *((a, b, number(v), number(g)) for a, b, v, g in rows)]))


def _steps(e: Expr, given: dict[str, float]) -> list[tuple[str, str, Value, Value]]:
    """For each node: its name, what it is, its value, and the derivative of the result by it."""
    names: dict[Node, str] = {}
    slopes = e.cotangents()
    shown = [node for node in e.nodes if not is_constant(node)]
    if not shown:
        return []
    parts = [*(Expr([node], e.variables) for node in shown), *(slopes.get(node) for node in shown)]
    both = Expr([part.roots[0] for part in parts if part is not None], e.variables, single=False)(**given)
    found = iter(both)
    numbers = [None if part is None else next(found) for part in parts]
    rows = []
    k = 0
    for node, value, slope in zip(shown, numbers, numbers[len(shown) :], strict=False):
        written = "" if node.op is None else step(node, names, e.variables)
        if node.op is not None:
            k += 1
            while f"v{k}" in e.variables:
                k += 1
        names[node] = str(node.value) if node.op is None else f"v{k}"
        rows.append((names[node], written, value, 0.0 if slope is None else slope))
    return rows


def _many(e: Expr, given: dict[str, float], path: Path, *, hessian: bool, as_json: bool) -> None:
    columns = {**_columns(path, e), **given}
    value, gradient = e.value_and_gradient(**columns)
    table: dict[str, Value] = {**columns} | {"value": value} | {f"d/d{name}": slope for name, slope in gradient.items()}
    if hessian:
        second = e.hessian(**columns)
        pairs = [(i, j) for i in range(len(e.variables)) for j in range(i, len(e.variables))]
        table |= {f"d2/d{e.variables[i]}d{e.variables[j]}": second[..., i, j] for i, j in pairs}
    shape = np.broadcast_shapes(*(np.shape(column) for column in table.values()))
    rows = zip(*(np.broadcast_to(column, shape).tolist() for column in table.values()), strict=True)
    if as_json:
        typer.echo(json.dumps(_plain([dict(zip(table, row, strict=True)) for row in rows]), ensure_ascii=False))
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(table)
    writer.writerows([number(x) for x in row] for row in rows)


def _columns(path: Path, e: Expr) -> dict[str, np.ndarray]:
    """The columns of a CSV file that are variables of `e`."""
    require(str(path))
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file)
        rows = [(reader.line_num, row) for row in reader if row]
    header = [name.strip() for name in rows[0][1]] if rows else []
    wanted = [name for name in e.variables if name in header]
    if not wanted:
        raise DataError(f"{path}: the first line must name columns, some of {', '.join(e.variables)}; got "
                        f"{', '.join(header[:8]) or 'nothing'}")  # fmt: skip
    if twice := [name for name in wanted if header.count(name) > 1]:
        raise DataError(f"{path}: two columns are named {twice[0]}; one of them needs another name")
    columns: dict[str, list[float]] = {name: [] for name in wanted}
    places = [(name, header.index(name)) for name in wanted]
    for k, row in rows[1:]:
        for name, i in places:
            try:
                columns[name].append(float(row[i]))
            except (ValueError, IndexError):
                got = repr(row[i]) if i < len(row) else "nothing"
                raise DataError(f"{path}: row {k}, column {name}: a number was expected; got {got}") from None
    return {name: np.array(column) for name, column in columns.items()}


def number(x: Value) -> str:
    """A number as it is typed: whole ones without a point, all digits that it has."""
    if isinstance(x, bool):
        return str(x).lower()
    return str(int(x)) if math.isfinite(x) and x == int(x) and abs(x) < 1e16 else repr(float(x))


def _plain(x: Value) -> Value:
    """`x` as JSON has it, which has no nan and no infinities: those are texts."""
    if isinstance(x, dict):
        return {name: _plain(y) for name, y in x.items()}
    if isinstance(x, list | tuple):
        return [_plain(y) for y in x]
    return x if not isinstance(x, float) or math.isfinite(x) else repr(x)


def _aligned(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )
