"""`adjoint`: the program, its version, and how it says what went wrong."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from typer.core import TyperGroup

import adjoint
from adjoint import distributed
from adjoint.cli.grad import grad
from adjoint.cli.predict import predict
from adjoint.cli.train import train
from adjoint.core.errors import AdjointError
from adjoint.core.types import Value


class _Commands(TyperGroup):
    """Tells what a user can put right in one sentence; a traceback is for faults of ours."""

    def invoke(self, ctx: Value) -> Value:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader of our output has gone, as `head` does: typer ends quietly
        except OSError as error:
            text = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        except MemoryError:
            text = "not enough memory for data or a network of this size"
        except AdjointError as error:
            text = str(error)
        distributed.give_up(f"adjoint: {text}")
        typer.echo(f"adjoint: {text}", err=True)
        raise typer.Exit(2)


app = typer.Typer(
    cls=_Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="""Differentiate NumPy programs, and train networks with the gradients.

[bold]Examples[/bold]

  adjoint train digits                   learn to read handwritten digits

  adjoint train flowers.csv --epochs 20  learn from a table of your own

  adjoint train --resume runs/flowers-1  go on with a run that was stopped

  adjoint predict runs/digits-1/model.safetensors digits --pictures

  adjoint grad "3*x^2 + x*y + 5*y^2" x=2 y=3   a value, and how it changes with x and y""",
)
app.command()(train)
app.command()(predict)
# A text may begin with a minus.
app.command(context_settings={"ignore_unknown_options": True})(grad)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"adjoint {adjoint.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the program with the arguments of the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # an ASCII terminal shows ? and does not fail
    try:
        app(prog_name="adjoint")
    except KeyboardInterrupt:  # before or after a training, which itself ends with what to do next
        print("adjoint: interrupted", file=sys.stderr)
        sys.exit(130)
