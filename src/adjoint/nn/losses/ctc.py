"""The loss of label sequences whose alignment is not known."""

from __future__ import annotations

import numpy as np

from adjoint.core.box import raw
from adjoint.core.errors import ShapeError
from adjoint.core.types import A, Array
from adjoint.nn.losses.basic import array, reduced

_NEVER = -1e30


def ctc_loss(
    log_probs: A,
    targets: Array,
    input_lengths: Array,
    target_lengths: Array,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> A:
    """Minus the log-probability of label sequences, over all their alignments (Graves et al., 2006).

    Args:
        log_probs: log-probabilities (steps, n, classes), or (steps, classes).
        targets: labels (n, longest), or those of all samples in one row.
        input_lengths, target_lengths: how many steps and labels of each sample count.
        blank: the class of "no label".
        reduction: "none", "sum", or "mean": each loss by its number of labels, then their mean.
        zero_infinity: 0 for labels that do not fit into the steps, instead of inf.

    Raises:
        ShapeError: if shapes do not fit.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> log_p = np.log(np.full((2, 1, 2), 0.5))  # "a-", "-a" and "aa" are "a"
        >>> nn.functional.ctc_loss(log_p, np.array([[1]]), [2], [1]).round(6)
        np.float64(0.287682)
    """
    log_p = array(log_probs)
    alone = log_p.ndim == 2
    log_p = log_p[:, None] if alone else log_p
    steps, n, _ = log_p.shape
    lengths, counts = (np.atleast_1d(np.asarray(raw(array(x)))).astype(int) for x in (input_lengths, target_lengths))
    labels = np.asarray(raw(array(targets))).astype(int)
    if lengths.shape != (n,) or counts.shape != (n,):
        raise ShapeError(f"ctc_loss: {n} input and target lengths are needed; got {lengths.shape} and {counts.shape}")
    if labels.ndim == 1 and not alone:
        if labels.size != counts.sum():
            raise ShapeError(f"ctc_loss: {counts.sum()} labels in a row are needed; got {labels.size}")
        rows = np.zeros((n, counts.max(initial=0)), int)
        for i, part in enumerate(np.split(labels, np.cumsum(counts)[:-1])):
            rows[i, : len(part)] = part
        labels = rows
    labels = labels[None] if labels.ndim == 1 else labels
    longest = int(counts.max(initial=0))
    path = np.full((n, 2 * longest + 1), blank)
    path[:, 1::2] = labels[:, :longest]
    skips = np.zeros(path.shape, bool)  # whether the step over the blank before is allowed
    skips[:, 3::2] = path[:, 3::2] != path[:, 1:-2:2]
    emitted = np.take_along_axis(log_p, np.broadcast_to(path, (steps, *path.shape)), axis=-1)
    first = np.arange(path.shape[1]) < 2
    alpha = np.where(first, emitted[0], _NEVER)
    for t in range(1, steps):
        one = np.concatenate([np.full((n, 1), _NEVER, log_p.dtype), alpha[:, :-1]], axis=1)
        two = np.concatenate([np.full((n, 2), _NEVER, log_p.dtype), alpha[:, :-2]], axis=1)[:, : path.shape[1]]
        total = np.logaddexp(np.logaddexp(alpha, one), np.where(skips, two, _NEVER)) + emitted[t]
        alpha = np.where((t < lengths)[:, None], total, alpha)
    end = np.take_along_axis(alpha, 2 * counts[:, None], axis=1)[:, 0]
    before = np.take_along_axis(alpha, np.maximum(2 * counts - 1, 0)[:, None], axis=1)[:, 0]
    loss = -np.logaddexp(end, np.where(counts > 0, before, _NEVER))
    impossible = np.greater(loss, -0.5 * _NEVER)
    loss = np.where(impossible, 0.0 if zero_infinity else np.inf, loss)
    if reduction == "mean":
        return np.mean(loss / np.maximum(counts, 1).astype(log_p.dtype))
    loss = reduced(loss, reduction)
    return loss[0] if alone and reduction == "none" else loss
