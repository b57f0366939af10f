"""The UCI handwritten digits, as scikit-learn ships them."""

from __future__ import annotations

from adjoint.core.errors import DataError
from adjoint.data.dataset import Dataset, dataset


def digits() -> Dataset:
    """1797 handwritten digits, 8 x 8 pixels of 0 to 16, float64.

    Source: E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine Learning
    Repository, 1998, doi:10.24432/C50P49; this is its test part, which scikit-learn carries in its wheel.

    Raises:
        DataError: if scikit-learn is not installed.

    Example:
        >>> import adjoint as ad
        >>> d = ad.data.digits()
        >>> d.x.shape, d.picture, d.classes[:3]
        ((1797, 64), (8, 8), ('0', '1', '2'))
    """
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise DataError(
            "the digits come with scikit-learn, which is not installed; run: pip install 'adjoint[examples]'"
        ) from None
    bunch = load_digits()
    return dataset(bunch.images, bunch.target, name="digits")
