"""`Any` says nothing of a value: how often a room still says it is written here, and may only fall."""

import io
import tokenize
from pathlib import Path

import pytest

import adjoint as ad

SOURCE = Path(ad.__file__).parent
#: How often the files of each room say `Any`, imports included. Other rooms, and files of no room, never do.
SAID = {"core": 13, "native": 2}


def room_of(path):
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else "."


FILES = {}
for file in sorted(SOURCE.rglob("*.py")):
    FILES.setdefault(room_of(file), []).append(file)


def lines(path):
    """The lines of a file that say `Any`, one for each time."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return [token.start[0] for token in tokens if token.type == tokenize.NAME and token.string == "Any"]


@pytest.mark.parametrize("room", sorted(FILES))
def test_no_room_says_any_more_often_than_before(room):
    """Where this fails, say what the value is: `core/types.py` has names for what is no class."""
    found = [f"{path.relative_to(SOURCE)}:{line}" for path in FILES[room] for line in lines(path)]
    assert len(found) <= SAID.get(room, 0), found


def test_the_table_names_rooms_that_are():
    assert SAID.keys() <= FILES.keys()


def test_comments_and_texts_do_not_count(tmp_path):
    path = tmp_path / "some.py"
    path.write_text('"""Any."""\nx: Any = "Any"  # Any\ny: dict[Any, Any]\n')
    assert lines(path) == [2, 3, 3]
