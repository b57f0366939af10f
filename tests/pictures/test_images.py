"""The pictures in the documentation are those that are drawn today."""

import pytest

from scripts.images import DRAWN, FOLDER, image


@pytest.mark.parametrize("name", DRAWN)
def test_the_documentation_shows_what_is_drawn(name):
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == image(name), "run: python scripts/images.py"


def test_no_picture_is_left_over():
    assert {path.stem for path in FOLDER.glob("*.svg")} == set(DRAWN)
