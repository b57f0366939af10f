"""Arrays laid out in memory of one's own: also of Python's objects, which that memory has to own."""

import gc
import sys

import numpy as np
import pytest

from adjoint.core.memory import at_line, copy_as_it_lies, room, zeros_as_it_lies

OBJECTS = [object() for _ in range(24)]
PLACES = {
    "gaps": lambda a: a[:, ::2],
    "backwards": lambda a: a[::-1, ::3],
    "Fortran's order": lambda a: a.T,
    "repeated": lambda a: np.broadcast_to(a, (3, 4, 6)),
}


def spoil(size):
    """Leave memory of this size with bytes that are no pointers, for whoever asks for it next."""
    np.full(size, 0x77, np.uint8)


@pytest.mark.parametrize("place", PLACES)
def test_copies_of_objects_lie_as_they_do_and_own_what_they_hold(place):
    before = [sys.getrefcount(x) for x in OBJECTS]
    array = np.array(OBJECTS, object).reshape(4, 6)
    view = PLACES[place](array)
    for _ in range(50):
        spoil(view.nbytes)
        copy, zeros = copy_as_it_lies(view), zeros_as_it_lies(view)
        assert copy.strides == view.strides
        assert (copy == view).all()
        assert (zeros == 0).all()
    del array, view, copy, zeros
    gc.collect()
    assert before == [sys.getrefcount(x) for x in OBJECTS]


def test_fields_that_hold_objects_are_copied():
    array = np.zeros((3, 4), np.dtype([("a", "O"), ("b", "i1")]))
    array["a"], array["b"] = OBJECTS[0], np.arange(4)
    for view in (array, array[:, ::2], array["a"], array[::-1]):
        spoil(view.nbytes)
        assert (copy_as_it_lies(view) == view).all()


@pytest.mark.parametrize("dtype", [float, object])
def test_new_memory_can_be_filled(dtype):
    for _ in range(50):
        spoil(24 * 8 + 64)
        array = at_line((4, 6), dtype)
        array[...] = 1
        assert array.flags.c_contiguous
        assert (array == 1).all()
    assert room(20, object).nbytes == 24
    assert array.dtype == object or array.ctypes.data % 64 == 0
