"""Code that has no source at hand, as that of a compiled library has none, and code whose source is at hand."""

import linecache
import math

import numpy as np


def foreign(text, **names):
    """The function that `text` makes."""
    return eval(text, {"np": np, "math": math, "__name__": "foreign", **names})


def written(text, place, **names):
    """The function that the expression `text` makes, as if it stood in a file."""
    linecache.cache[place] = (len(text), None, [f"{text}\n"], place)
    return eval(compile(text, place, "eval"), {"__name__": "written", **names})
