"""Native code on disk: a private folder, whole files, damage, links, limits, several processes."""

import errno
import os
import resource
import signal
import subprocess
import sys
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from adjoint.native.codegen import disk_cache

KEY, OTHER = disk_cache.key_of("one"), disk_cache.key_of("another")
CONTENT = bytes(range(256)) * 8


@pytest.fixture
def kept(tmp_path):
    store = disk_cache.Store(str(tmp_path / "native"))
    store.save({KEY: CONTENT})
    return store


def path(store, key=KEY):
    return os.path.join(store.folder, f"{key}.native")


def loaded(store, key=KEY):
    """What the store has, and what it said."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        return store.load([key]).get(key), [str(w.message) for w in said]


def missed(store):
    """That the store has nothing, and the one thing that it says."""
    content, said = loaded(store)
    assert content is None
    (message,) = said
    return message


# -- What is kept, and where ------------------------------------------------------------------------------


def test_contents_come_back_by_their_key(kept):
    kept.save({OTHER: b"", KEY: CONTENT})
    assert disk_cache.Store(kept.folder).load([OTHER, KEY, disk_cache.key_of("third")]) == {OTHER: b"", KEY: CONTENT}


def test_keys_know_where_a_part_ends():
    assert (
        len(
            {
                disk_cache.key_of("ab", "c"),
                disk_cache.key_of("a", "bc"),
                disk_cache.key_of("abc"),
                disk_cache.key_of("abc", ""),
            }
        )
        == 4
    )


def test_folder_and_files_are_the_users_alone(tmp_path):
    before = os.umask(0)
    try:
        store = disk_cache.Store(str(tmp_path / "deep" / "native"))
        store.save({KEY: CONTENT})
    finally:
        os.umask(before)
    assert os.stat(store.folder).st_mode & 0o777 == 0o700
    assert os.stat(path(store)).st_mode & 0o777 == 0o600


def test_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("ADJOINT_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # which does not count
    assert disk_cache.store().folder == str(tmp_path / ".cache" / "adjoint" / "native")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert disk_cache.store().folder == str(tmp_path / "xdg" / "adjoint" / "native")
    monkeypatch.setenv("ADJOINT_CACHE", "~/mine")
    assert disk_cache.store().folder == str(tmp_path / "mine")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("value", ["", "0", "off", "OFF"])
def test_it_can_be_turned_off(monkeypatch, tmp_path, value):
    monkeypatch.setenv("ADJOINT_CACHE", value)
    monkeypatch.chdir(tmp_path)
    disk_cache.store().save({KEY: CONTENT})
    assert disk_cache.store().load([KEY]) == {}
    assert not list(tmp_path.iterdir())


# -- Files that are not to be trusted ---------------------------------------------------------------------


def rewritten(change):
    def damage(store):
        with open(path(store), "r+b") as file:
            data = bytearray(file.read())
            file.seek(0)
            file.truncate()
            file.write(bytes(change(data)))

    return damage


def flipped(at):
    def change(data):
        data[at] ^= 1
        return data

    return rewritten(change)


def other_format(store):
    def newer(data):
        header = disk_cache._HEADER.unpack(data[:56])
        return disk_cache._HEADER.pack(b"adjoint\n", disk_cache.FORMAT + 1, *header[2:]) + data[56:]

    rewritten(newer)(store)


def replaced_by(make):
    def damage(store):
        good = path(store) + ".good"
        os.rename(path(store), good)
        make(good, path(store))

    return damage


def of_another_key(store):
    store.save({OTHER: b"other contents"})
    os.replace(path(store, OTHER), path(store))


DAMAGES = {
    "truncated": rewritten(lambda data: data[:-1]),
    "longer": rewritten(lambda data: data + b"x"),
    "half a header": rewritten(lambda data: data[:20]),
    "empty": rewritten(lambda data: b""),
    "zeros": rewritten(lambda data: bytes(len(data))),
    "no magic": flipped(0),
    "length": flipped(16),
    "digest": flipped(30),
    "first byte": flipped(56),
    "last byte": flipped(-1),
    "other format": other_format,
    "of another key": of_another_key,
    "link": replaced_by(os.symlink),
    "dangling link": replaced_by(lambda good, name: os.symlink(good + ".none", name)),
    "pipe": replaced_by(lambda good, name: os.mkfifo(name)),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_a_miss_with_one_warning_and_replaced(kept, damage):
    damage(kept)
    said = missed(kept)
    assert path(kept).rsplit("/", 1)[1] in said
    assert kept.folder in said
    assert loaded(kept) == (None, [])
    kept.save({KEY: CONTENT})
    assert loaded(kept) == (CONTENT, [])
    assert not os.path.islink(path(kept))


def test_a_folder_in_a_files_place_is_a_miss(kept):
    os.unlink(path(kept))
    os.makedirs(path(kept) + "/inside")
    missed(kept)
    kept.save({KEY: CONTENT, OTHER: CONTENT})  # which cannot replace it
    assert loaded(kept)[0] is None
    assert os.path.isdir(path(kept) + "/inside")
    assert sorted(os.listdir(kept.folder)) == [f"{KEY}.native"]


def owner(monkeypatch, which):
    """What `which` picks belongs to somebody else."""
    really = os.fstat

    def fstat(file):
        about = really(file)
        return os.stat_result((*about[:4], os.geteuid() + 1, *about[5:])) if which(about) else about

    monkeypatch.setattr(os, "fstat", fstat)


def test_a_file_of_somebody_elses_is_a_miss(kept, monkeypatch):
    with monkeypatch.context() as patch:
        owner(patch, lambda about: about.st_nlink == 1 and about.st_size > 2000)
        missed(kept)
    assert loaded(kept) == (CONTENT, [])


# -- Folders that are not to be trusted -------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o755, 0o770, 0o701, 0o722, 0o777])
def test_a_folder_open_to_others_is_not_used(kept, mode):
    os.chmod(kept.folder, mode)
    said = missed(kept)
    assert f"mode {mode:o}" in said
    assert "chmod 700" in said
    kept.save({OTHER: CONTENT})
    assert os.listdir(kept.folder) == [f"{KEY}.native"]
    os.chmod(kept.folder, 0o700)
    assert loaded(kept) == (CONTENT, [])


def test_a_link_is_not_followed_to_the_folder(kept, tmp_path):
    os.symlink(kept.folder, tmp_path / "link")
    store = disk_cache.Store(str(tmp_path / "link"))
    said = missed(store)
    assert "symbolic link" in said
    store.save({OTHER: CONTENT})
    assert os.listdir(kept.folder) == [f"{KEY}.native"]


def test_a_folder_of_somebody_elses_is_not_used(kept, monkeypatch):
    owner(monkeypatch, lambda about: about.st_nlink >= 2)
    said = missed(kept)
    assert f"user {os.geteuid() + 1}" in said
    assert "ADJOINT_CACHE" in said
    kept.save({OTHER: CONTENT})
    assert os.listdir(kept.folder) == [f"{KEY}.native"]


def test_warnings_that_are_errors_stop_nothing(kept):
    os.chmod(kept.folder, 0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kept.load([KEY]) == {}


# -- Disks that are full, and processes that end ----------------------------------------------------------


@pytest.mark.parametrize("where", ["/dev/null/adjoint", "/proc/adjoint"])
def test_a_folder_that_cannot_be_made_is_none(where):
    store = disk_cache.Store(where)
    store.save({KEY: CONTENT})
    assert loaded(store) == (None, [])


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EMFILE, errno.EDQUOT])
def test_a_disk_that_takes_nothing_does_no_harm(kept, monkeypatch, number):
    really = os.open

    def refusing(name, flags, *args, **kwargs):
        if flags & os.O_CREAT:
            raise OSError(number, os.strerror(number))
        return really(name, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refusing)
    kept.save({OTHER: CONTENT})
    assert loaded(kept) == (CONTENT, [])
    assert os.listdir(kept.folder) == [f"{KEY}.native"]


def test_a_write_that_fails_midway_leaves_nothing(kept):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))  # of which CONTENT's file would be more
    try:
        kept.save({OTHER: CONTENT})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert loaded(kept) == (CONTENT, [])
    assert os.listdir(kept.folder) == [f"{KEY}.native"]


KILLED = """
import os, signal, sys
from adjoint.native.codegen import disk_cache as cache
os.replace = lambda *args, **kwargs: os.kill(os.getpid(), signal.SIGKILL)
cache.store().save({cache.key_of("one"): bytes(5000)})
"""


def test_a_process_killed_while_it_writes_leaves_nothing_that_hurts(tmp_path):
    store = disk_cache.Store(str(tmp_path / "native"))
    environment = {**os.environ, "ADJOINT_CACHE": store.folder}
    assert subprocess.run([sys.executable, "-c", KILLED], env=environment, check=False).returncode == -signal.SIGKILL
    (left,) = os.listdir(store.folder)
    assert left.endswith(".part")
    assert loaded(store) == (None, [])
    store.save({KEY: CONTENT})
    assert loaded(store) == (CONTENT, [])
    assert left in os.listdir(store.folder)  # it might be another's who is still writing
    os.utime(os.path.join(store.folder, left), (time.time() - 7200,) * 2)
    disk_cache.Store(store.folder).save({OTHER: b""})
    assert sorted(os.listdir(store.folder)) == sorted([f"{KEY}.native", f"{OTHER}.native"])


def test_beyond_the_limit_the_oldest_go(tmp_path, monkeypatch):
    store = disk_cache.Store(str(tmp_path / "native"))
    keys = [disk_cache.key_of(str(k)) for k in range(20)]
    for k, key in enumerate(keys):
        store.save({key: bytes(8000)})
        os.utime(path(store, key), (1e9 + k, 1e9 + k))
    (tmp_path / "native" / "notes.txt").write_text("somebody's")
    os.utime(tmp_path / "native" / "notes.txt", (1.0, 1.0))
    size = os.stat(path(store, keys[0])).st_blocks * 512
    monkeypatch.setattr(disk_cache, "LIMIT", 16 * size)
    disk_cache.Store(store.folder).save({keys[-1]: bytes(8000)})
    left = [key for key in keys if os.path.exists(path(store, key))]
    assert left == keys[8:]  # three quarters of the limit
    assert (tmp_path / "native" / "notes.txt").read_text() == "somebody's"


def test_what_is_used_is_not_old(kept):
    os.utime(path(kept), (1e9, 1e9))
    kept.load([KEY])
    assert time.time() - os.stat(path(kept)).st_mtime < 1000


def test_threads_share_a_store(tmp_path):
    store = disk_cache.Store(str(tmp_path / "native"))

    def work(k):
        for i in range(30):
            key = disk_cache.key_of(str((i + k) % 5))
            store.save({key: key.encode() * 300})
            assert store.load([key]) == {key: key.encode() * 300}

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
