"""Code that has no source at hand, as that of a compiled library has none: it runs as it is."""

import math

import numpy as np


def foreign(text, **names):
    """The function that `text` makes."""
    return eval(text, {"np": np, "math": math, "__name__": "foreign", **names})
