"""Losses as modules: `nn.functional`'s functions with their settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from adjoint.core.types import Array, Function, Value
from adjoint.nn.layers.settings import WithSettings
from adjoint.nn.losses import basic as losses
from adjoint.nn.losses import ctc
from adjoint.nn.losses import margins as margin_losses
from adjoint.nn.losses import probabilities as probability_losses
from adjoint.tape.tensor import Tensor


class _Loss(WithSettings):
    """A loss of arrays; weights are buffers, so that `state_dict` has them."""

    function: ClassVar[Function]
    weight: Value = None
    pos_weight: Value = None
    _weights: tuple[str, ...] = ()

    def __init__(self, **settings: Value) -> None:
        for name in ("weight", "pos_weight"):
            weight = settings.pop(name, None)
            if weight is not None:
                self.register_buffer(name, weight)
                self._weights = (*self._weights, name)
        super().__init__(**settings)

    def forward(self, *arrays: Array) -> Tensor:
        weights = {name: getattr(self, name) for name in self._weights}
        return type(self).function(*arrays, **self._settings, **weights)


class _Reduced(_Loss):
    """A loss whose only setting is `reduction`."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)


class _OfPairs(_Loss):
    """A loss of pairs, whose distances may differ by `margin`."""

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class MSELoss(_Reduced):
    """`nn.functional.mse_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MSELoss()(np.array([0.5, 2.0]), np.array([1.0, 0.0]))
        np.float64(2.125)
    """

    function = staticmethod(losses.mse_loss)


class L1Loss(_Reduced):
    """`nn.functional.l1_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.L1Loss()(np.array([0.5, 2.0]), np.array([1.0, 0.0]))
        np.float64(1.25)
    """

    function = staticmethod(losses.l1_loss)


class HuberLoss(_Loss):
    """`nn.functional.huber_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.HuberLoss()(np.array([0.5, 2.0]), np.array([1.0, 0.0]))
        np.float64(0.8125)
    """

    function = staticmethod(losses.huber_loss)

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction, delta=delta)


class SmoothL1Loss(_Loss):
    """`nn.functional.smooth_l1_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.SmoothL1Loss()(np.array([0.5, 2.0]), np.array([1.0, 0.0]))
        np.float64(0.8125)
    """

    function = staticmethod(probability_losses.smooth_l1_loss)

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(reduction=reduction, beta=beta)


class CrossEntropyLoss(_Loss):
    """`nn.functional.cross_entropy` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CrossEntropyLoss()(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([0, 1])).round(4)
        np.float64(0.2201)
    """

    function = staticmethod(losses.cross_entropy)

    def __init__(
        self, weight: Array = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)


class NLLLoss(_Loss):
    """`nn.functional.nll_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.NLLLoss()(np.log(np.array([[0.5, 0.5], [0.2, 0.8]])), np.array([0, 1])).round(4)
        np.float64(0.4581)
    """

    function = staticmethod(probability_losses.nll_loss)

    def __init__(self, weight: Array = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(weight=weight, ignore_index=ignore_index, reduction=reduction)


class BCELoss(_Loss):
    """`nn.functional.binary_cross_entropy` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.BCELoss()(np.array([0.9, 0.2]), np.array([1.0, 0.0])).round(4)
        np.float64(0.1643)
    """

    function = staticmethod(probability_losses.binary_cross_entropy)

    def __init__(self, weight: Array = None, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)


class BCEWithLogitsLoss(_Loss):
    """`nn.functional.binary_cross_entropy_with_logits` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.BCEWithLogitsLoss()(np.array([2.0, -1.0]), np.array([1.0, 0.0])).round(4)
        np.float64(0.2201)
    """

    function = staticmethod(losses.binary_cross_entropy_with_logits)

    def __init__(self, weight: Array = None, reduction: str = "mean", pos_weight: Array = None) -> None:
        super().__init__(weight=weight, reduction=reduction, pos_weight=pos_weight)


class KLDivLoss(_Loss):
    """`nn.functional.kl_div` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.KLDivLoss(reduction="sum")(np.log(np.array([0.5, 0.5])), np.array([0.2, 0.8])).round(4)
        np.float64(0.1927)
    """

    function = staticmethod(probability_losses.kl_div)

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction=reduction, log_target=log_target)


class PoissonNLLLoss(_Loss):
    """`nn.functional.poisson_nll_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.PoissonNLLLoss()(np.array([0.5, 2.0]), np.array([1.0, 0.0]))
        np.float64(4.268888684815389)
    """

    function = staticmethod(probability_losses.poisson_nll_loss)

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(log_input=log_input, full=full, eps=eps, reduction=reduction)


class GaussianNLLLoss(_Loss):
    """`nn.functional.gaussian_nll_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.GaussianNLLLoss()(np.array([1.0]), np.array([2.0]), np.array([0.5])).round(4)
        np.float64(0.6534)
    """

    function = staticmethod(probability_losses.gaussian_nll_loss)

    def __init__(self, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(full=full, eps=eps, reduction=reduction)


class HingeEmbeddingLoss(_Loss):
    """`nn.functional.hinge_embedding_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.HingeEmbeddingLoss()(np.array([0.5, 0.2]), np.array([1.0, -1.0]))
        np.float64(0.65)
    """

    function = staticmethod(margin_losses.hinge_embedding_loss)

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(margin=margin, reduction=reduction)


class MarginRankingLoss(_OfPairs):
    """`nn.functional.margin_ranking_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MarginRankingLoss(margin=1.0)(np.array([1.0]), np.array([0.5]), np.array([1.0]))
        np.float64(0.5)
    """

    function = staticmethod(margin_losses.margin_ranking_loss)


class SoftMarginLoss(_Reduced):
    """`nn.functional.soft_margin_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.SoftMarginLoss()(np.array([2.0]), np.array([1.0])).round(4)
        np.float64(0.1269)
    """

    function = staticmethod(margin_losses.soft_margin_loss)


class CosineEmbeddingLoss(_OfPairs):
    """`nn.functional.cosine_embedding_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CosineEmbeddingLoss()(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]), np.array([1.0]))
        np.float64(1.0)
    """

    function = staticmethod(margin_losses.cosine_embedding_loss)


class TripletMarginLoss(_Loss):
    """`nn.functional.triplet_margin_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.TripletMarginLoss()(np.zeros((1, 2)), np.ones((1, 2)), np.full((1, 2), 3.0)).round(4)
        np.float64(0.0)
    """

    function = staticmethod(margin_losses.triplet_margin_loss)

    def __init__(
        self, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6, swap: bool = False, reduction: str = "mean"
    ) -> None:
        super().__init__(margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)


class TripletMarginWithDistanceLoss(_Loss):
    """`nn.functional.triplet_margin_with_distance_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.TripletMarginWithDistanceLoss()(np.zeros((1, 2)), np.ones((1, 2)), np.full((1, 2), 1.2)).round(4)
        np.float64(0.7172)
    """

    function = staticmethod(margin_losses.triplet_margin_with_distance_loss)

    def __init__(
        self,
        *,
        distance_function: Callable[[Value, Value], Value] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)


class MultiMarginLoss(_Loss):
    """`nn.functional.multi_margin_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MultiMarginLoss()(np.array([[0.1, 0.2, 0.4, 0.8]]), np.array([3])).round(4)
        np.float64(0.325)
    """

    function = staticmethod(margin_losses.multi_margin_loss)

    def __init__(self, p: int = 1, margin: float = 1.0, weight: Array = None, reduction: str = "mean") -> None:
        super().__init__(p=p, margin=margin, weight=weight, reduction=reduction)


class MultiLabelMarginLoss(_Reduced):
    """`nn.functional.multilabel_margin_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MultiLabelMarginLoss()(np.array([[0.1, 0.2, 0.4, 0.8]]), np.array([[3, 0, -1, 1]])).round(4)
        np.float64(0.85)
    """

    function = staticmethod(margin_losses.multilabel_margin_loss)


class MultiLabelSoftMarginLoss(_Loss):
    """`nn.functional.multilabel_soft_margin_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.MultiLabelSoftMarginLoss()(np.array([[0.5, -1.0]]), np.array([[1.0, 0.0]])).round(4)
        np.float64(0.3937)
    """

    function = staticmethod(margin_losses.multilabel_soft_margin_loss)

    def __init__(self, weight: Array = None, reduction: str = "mean") -> None:
        super().__init__(weight=weight, reduction=reduction)


class CTCLoss(_Loss):
    """`nn.functional.ctc_loss` as a module.

    Example:
        >>> import numpy as np
        >>> from adjoint import nn
        >>> nn.CTCLoss()(np.log(np.full((3, 1, 2), 0.5)), np.array([[1]]), np.array([3]), np.array([1])).round(4)
        np.float64(0.2877)
    """

    function = staticmethod(ctc.ctc_loss)

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity)
