"""Pictures in folders, one folder a class: ``animals/cat/1.png``, ``animals/dog/2.jpg``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from adjoint.core.errors import DataError
from adjoint.core.types import Value
from adjoint.data.dataset import Dataset, NDArray, dataset

if TYPE_CHECKING:
    from types import ModuleType


ENDINGS = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".ppm", ".pgm"})


def are_pictures(folder: Path) -> bool:
    """Whether a folder has folders with pictures in them."""
    return any(_pictures(below) for below in _folders(folder)) or any(
        _pictures(below) for part in _folders(folder) for below in _folders(part)
    )


def load_pictures(
    folder: str | Path, *, size: tuple[int, int] | None = None, color: bool = False
) -> tuple[Dataset, Dataset | None]:
    """The pictures in the folders of `folder`, and the test set if there is one.

    Args:
        folder: has a folder for each class; or the folders ``train`` and ``test`` (or ``val``), which have these.
        size: (height, width) to which all are scaled; None if they have one size.
        color: whether a pixel is red, green and blue; otherwise it is one gray.

    Raises:
        DataError: without Pillow; for files that are no pictures; for pictures of different sizes without `size`;
            for pictures beside the folders of classes, or in folders within them.

    Example:
        >>> import adjoint as ad, numpy as np
        >>> from pathlib import Path
        >>> from PIL import Image
        >>> for name, value in (("dark", 10), ("light", 200)):
        ...     Path("pictures", name).mkdir(parents=True)
        ...     Image.fromarray(np.full((2, 3), value, np.uint8)).save(f"pictures/{name}/0.png")
        >>> pictures, _ = ad.data.load_pictures("pictures")
        >>> pictures.classes, pictures.picture, len(pictures)
        (('dark', 'light'), (2, 3), 2)
    """
    folder = Path(folder)
    parts = {below.name.lower(): below for below in _folders(folder)}
    if "train" in parts and not _pictures(parts["train"]):
        learned = _load(parts["train"], size, color, folder.name, None)
        found = next((parts[name] for name in ("test", "val", "validation") if name in parts), None)
        height, width = learned.picture or (0, 0)
        if found is None:
            return learned, None
        return learned, _load(found, (height, width), color, f"{folder.name} (test set)", learned.classes)
    return _load(folder, size, color, folder.resolve().name, None), None


def read_picture(path: str | Path, size: tuple[int, int] | None = None, color: bool = False) -> NDArray:
    """One picture: shape (height, width), or (height, width, 3), bytes.

    Grays of 16 bits are scaled to bytes.

    Raises:
        DataError: without Pillow; for files that are no pictures; for pixels of more than 16 bits.

    Example:
        >>> import adjoint as ad, numpy as np
        >>> from PIL import Image
        >>> Image.fromarray(np.full((2, 3), 200, np.uint8)).save("gray.png")
        >>> ad.data.read_picture("gray.png")
        array([[200, 200, 200],
               [200, 200, 200]], dtype=uint8)
    """
    image_module = _pillow()
    try:
        with image_module.open(path) as image:
            turned = _in_bytes(image, path).convert("RGB" if color else "L")
            if size is not None and (turned.height, turned.width) != size:
                turned = turned.resize((size[1], size[0]), image_module.Resampling.BILINEAR)
            return np.asarray(turned)
    except FileNotFoundError:
        raise
    except (OSError, ValueError, SyntaxError) as error:  # what Pillow raises for files that are damaged
        raise DataError(f"{path}: not a picture that can be read ({error})") from None


def _in_bytes(image: Value, path: str | Path) -> Value:
    """`image`, with pixels of 16 bits as bytes: Pillow's own conversion makes all above 255 white."""
    if image.mode[0] not in "IF":
        return image
    pixels = np.asarray(image)
    if image.mode == "F" or (pixels.size and not 0 <= pixels.min() <= pixels.max() <= 0xFFFF):
        raise DataError(
            f"{path}: pixels from {pixels.min()} to {pixels.max()} in Pillow's mode {image.mode!r}; expected whole "
            f"numbers of 8 or 16 bits. Scale them, and save them as such: Image.fromarray(pixels.astype(np.uint8))"
        )
    return _pillow().fromarray((pixels >> 8).astype(np.uint8))


def _load(
    folder: Path, size: tuple[int, int] | None, color: bool, name: str, classes: tuple[str, ...] | None
) -> Dataset:
    found = {below: _pictures(below) for below in _folders(folder)}
    empty = [below for below, paths in found.items() if not paths]
    if classes is None and empty and len(empty) < len(found):
        raise DataError(
            f"{empty[0]}: no pictures in this folder, so the class {empty[0].name!r} would be missing. Put pictures "
            f"({', '.join(sorted(ENDINGS))}) into it, or remove it"
        )
    lost = _pictures(folder) + [path for below in found for part in _folders(below) for path in _pictures(part)]
    if any(found.values()) and lost:
        more = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        like = next(below for below, paths in found.items() if paths) / lost[0].name
        raise DataError(
            f"{lost[0]}{more} would not be read: pictures lie right in the folder of their class, as {like} would. "
            f"Move it there, or away"
        )
    files = [(path, below.name) for below, paths in found.items() for path in paths]
    pictures: list[NDArray] = []
    for path, _ in files:
        picture = read_picture(path, size, color)
        if pictures and picture.shape != pictures[0].shape:
            raise DataError(
                f"{path}: {picture.shape[0]} x {picture.shape[1]} pixels; {files[0][0]} has {pictures[0].shape[0]} x "
                f"{pictures[0].shape[1]}. Give one size to scale them to, as in --size 32"
            )
        pictures.append(picture)
    if not pictures:
        raise DataError(f"{folder}: no pictures in the folders of this folder; there should be one folder a class")
    return dataset(np.stack(pictures), [label for _, label in files], classes=classes, name=name)


def _folders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))


def _pictures(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.suffix.lower() in ENDINGS and path.is_file())


def _pillow() -> ModuleType:
    try:
        from PIL import Image
    except ImportError:
        raise DataError("pictures need Pillow, which is not installed; run: pip install 'adjoint[images]'") from None
    return Image
