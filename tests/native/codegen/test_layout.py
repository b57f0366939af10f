"""A struct is described once."""

import ctypes
import gc
import re

import numpy as np
import pytest

import adjoint as ad
from adjoint.native.call import array_entry, scalar_entry
from adjoint.native.codegen import cpython
from adjoint.native.codegen.layout import StructLayout


def test_fields_lie_where_c_puts_them():
    layout = StructLayout("pair", {"small": "i32", "large": "i64", "last": "i32"}, base=16)
    assert layout.offsets == {"small": 16, "large": 24, "last": 32}
    assert layout.size == 24
    assert layout.places == {"pair.small": 16, "pair.large": 24, "pair.last": 32, "pair.size": 24}


def test_words_are_read_back_by_name():
    layout = StructLayout("row", {"first": "i64", "second": "ptr", "third": "i64"})
    row = np.array(layout.words(third=-3, first=1, second=2), np.int64)
    seen = layout.at(row.ctypes.data)
    assert (seen.first, seen.second, seen.third) == (1, 2, -3)
    assert row[layout.number("third")] == -3
    seen.first = 5
    assert row[0] == 5
    assert layout.read("%x").count("load ptr") == 1


@pytest.mark.parametrize("given", [{"first": 1}, {"first": 1, "second": 2, "third": 3}, {"second": 1, "third": 2}])
def test_words_are_all_there_and_no_others(given):
    with pytest.raises(TypeError, match="row has the fields first, second; got"):
        StructLayout("row", {"first": "i64", "second": "i64"}).words(**given)


def test_no_offset_is_written_by_hand():
    """Entries reach fields of structs by name only."""
    for text in (array_entry.ENTER, scalar_entry._ENTER):
        numbers = re.findall(r"getelementptr \S+, ptr %%(?!args,)\S+ i64 (\d+)", text)
        assert not numbers
        assert not re.findall(r"getelementptr \[\d+", text)


def test_functions_outlive_the_cache_of_their_code():
    run = ad.compile(lambda x: -x, wait=True)
    for _ in range(3):
        run(np.ones(3))
    described = ctypes.addressof(array_entry._enter("enter").method)
    array_entry._enter.cache_clear()
    gc.collect()
    assert described in [ctypes.addressof(entry.method) for entry in cpython._ENTRIES]
    np.testing.assert_array_equal(run(np.ones(3)), -np.ones(3))
