"""Keys whose class hashes and compares them by code of its own: what that code does is done as often as in Python."""

import pytest

import adjoint as ad

DONE: list[str] = []


class Key:
    def __init__(self, value):
        self.value = value

    def __hash__(self):
        DONE.append("hash")
        return hash(self.value)

    def __eq__(self, other):
        DONE.append("eq")
        return isinstance(other, Key) and self.value == other.value


class Quiet(Key):
    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        return isinstance(other, Quiet) and self.value == other.value


def looked_up(x, v, kind):
    return {kind(v): x}.get(kind(1.0), 5.0)


def in_a_set(x, v, kind):
    return x * len({kind(v), kind(1.0)})


def hashed(x, v, kind):
    return x * (hash(kind(v)) % 7)


def in_a_tuple(x, v, kind):
    return x * len({(kind(v), 1), (kind(1.0), 1)})


def in_a_list(x, v, kind):
    return x * [kind(1.0), kind(2.0)].index(kind(v))


PROGRAMS = [looked_up, in_a_set, hashed, in_a_tuple, in_a_list]


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_hashes_do_is_done_as_often_as_in_python(program):
    compiled = ad.compile(lambda x, v: program(x, v, Key), wait=True)
    for x, v in ((3.0, 1.0), (3.0, 1.0), (2.0, 1.0), (3.0, 2.0), (3.0, 1.0)):
        DONE.clear()
        expected, done = program(x, v, Key), [*DONE]
        DONE.clear()
        assert compiled(x, v) == expected
        assert done == DONE


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_capture_calls_none(program):
    DONE.clear()
    with pytest.raises(ad.NotSupportedError):
        ad.capture(lambda x, v: program(x, v, Key), 3.0, 1.0)
    assert not DONE


@pytest.mark.parametrize("program", PROGRAMS)
def test_hashes_that_only_compute_are_recorded(program):
    compiled = ad.compile(lambda x, v: program(x, v, Quiet), wait=True)
    for x, v in ((3.0, 1.0), (3.0, 1.0), (2.0, 1.0), (3.0, 2.0)):
        assert compiled(x, v) == program(x, v, Quiet)
    assert "operation" in str(compiled.explain())
