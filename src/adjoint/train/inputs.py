"""What `fit` takes for data, as loaders."""

from __future__ import annotations

from adjoint.core.errors import ArgumentError
from adjoint.core.types import Array
from adjoint.data.loader import DataLoader, Transform
from adjoint.data.sources import Stream, source_of


def loader_of(data: Array, batch_size: int | None, seed: int, transform: Transform | None) -> DataLoader:
    """`data` as a loader; what is not read in its order is shuffled."""
    if not isinstance(data, DataLoader):
        ordered = isinstance(source_of(data, None), Stream)
        return DataLoader(data, 32 if batch_size is None else batch_size, not ordered, seed=seed, transform=transform)
    if batch_size is not None or transform is not None:
        raise ArgumentError("fit: a DataLoader has its own batch_size and transform; set them there")
    return _whole(data)


def validation_of(data: Array, batch_size: int) -> DataLoader:
    """`data` as a loader of larger batches, in their order."""
    return _whole(data) if isinstance(data, DataLoader) else DataLoader(data, max(batch_size, 256))


def _whole(loader: DataLoader) -> DataLoader:
    """A loader of whole batches, of which `fit` takes each rank's rows itself."""
    if loader.shard is not None:
        raise ArgumentError("fit takes each rank's rows of every batch itself: give a DataLoader without shard")
    return loader
