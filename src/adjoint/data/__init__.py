"""Data sets: reading, splitting, normalising, and serving them in batches."""

from adjoint.data.columns import Column as Column
from adjoint.data.columns import Columns as Columns
from adjoint.data.dataset import Array as Array
from adjoint.data.dataset import Dataset as Dataset
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
from adjoint.data.loader import DataLoader as DataLoader
from adjoint.data.normalise import Normalisation as Normalisation
from adjoint.data.shifts import shifted as shifted
from adjoint.data.sources import default_collate as default_collate
