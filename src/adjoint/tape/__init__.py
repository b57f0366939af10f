"""Reverse mode: tensors, the tape that they write, and the backward pass that reads it."""
