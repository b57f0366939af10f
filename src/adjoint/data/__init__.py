"""Data sets: reading, splitting, normalising, and serving them in batches."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from adjoint.core.messages.elsewhere import looked_up
from adjoint.core.public import public as _public
from adjoint.core.types import Value
from adjoint.data.columns import Column as Column
from adjoint.data.columns import Columns as Columns
from adjoint.data.dataset import Dataset as Dataset
from adjoint.data.dataset import NDArray as NDArray
from adjoint.data.dataset import Parts as Parts
from adjoint.data.dataset import dataset as dataset
from adjoint.data.dataset import measured as measured
from adjoint.data.dataset import split as split
from adjoint.data.digits import digits as digits
from adjoint.data.files import load as load
from adjoint.data.files import read as read
from adjoint.data.idx import read_idx as read_idx
from adjoint.data.images import load_pictures as load_pictures
from adjoint.data.images import read_picture as read_picture
from adjoint.data.joined import ChainDataset as ChainDataset
from adjoint.data.joined import ConcatDataset as ConcatDataset
from adjoint.data.joined import IterableDataset as IterableDataset
from adjoint.data.joined import StackDataset as StackDataset
from adjoint.data.joined import Subset as Subset
from adjoint.data.joined import TensorDataset as TensorDataset
from adjoint.data.joined import random_split as random_split
from adjoint.data.loader import DataLoader as DataLoader
from adjoint.data.normalise import Normalisation as Normalisation
from adjoint.data.samplers import BatchSampler as BatchSampler
from adjoint.data.samplers import RandomSampler as RandomSampler
from adjoint.data.samplers import Sampler as Sampler
from adjoint.data.samplers import SequentialSampler as SequentialSampler
from adjoint.data.samplers import SubsetRandomSampler as SubsetRandomSampler
from adjoint.data.samplers import WeightedRandomSampler as WeightedRandomSampler
from adjoint.data.shifts import shifted as shifted
from adjoint.data.sources import default_collate as default_collate

if not TYPE_CHECKING:  # else every misspelt name would be one of Value's kind

    def __getattr__(name: str) -> Value:
        if name in ("dataloader", "sampler"):
            return sys.modules[__name__]  # PyTorch has some of these names there
        raise looked_up("data", name)


def __dir__() -> list[str]:
    return _public(globals())
