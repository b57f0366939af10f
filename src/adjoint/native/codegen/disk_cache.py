"""Native code kept on disk, for the next process: contents by key, in a folder that belongs to the user alone.

A user who can write there decides what runs here. So the folder is opened without following links, and must be the
user's and closed to others; each file in it is checked again, and its contents against a digest. If anything is wrong,
the code is made anew, with at most a warning. ``$ADJOINT_CACHE`` names another folder, or is ``off``.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import stat
import struct
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache

FORMAT = 1
LIMIT = 256 << 20  # bytes; beyond, the oldest files go
_HEADER = struct.Struct("<8sQQ32s")  # magic, format, how many bytes follow, their digest
_MAGIC = b"adjoint\n"
_OURS = re.compile(r"[0-9a-f]{40}\.(native|part)")  # other files stay
_FOLDER = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_FILE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # a pipe is not waited for
_DAY = 86400.0


def key_of(*parts: str) -> str:
    """A key for what is made of `parts`, in this order."""
    digest = hashlib.blake2b(digest_size=20)
    for part in parts:
        digest.update(b"%d\n%s" % (len(part), part.encode()))
    return digest.hexdigest()


def store() -> Store:
    """Where the environment wants native code to be kept."""
    folder = os.environ.get("ADJOINT_CACHE")
    if folder is None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
        folder = os.path.join(base, "adjoint", "native") if os.path.isabs(base) else ""
    return _store("" if folder.lower() in ("", "0", "off") else os.path.abspath(os.path.expanduser(folder)))


@cache
def _store(folder: str) -> Store:
    return Store(folder if hasattr(os, "geteuid") else "")


class Store:
    """Contents by key, in a folder that threads and processes may share. Nothing raises; an empty name is no folder."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._told: set[str] = set()
        self._left = 0  # bytes to be written before the folder's are counted again

    def load(self, keys: Iterable[str]) -> dict[str, bytes]:
        """The contents under those of `keys` that exist."""
        found: dict[str, bytes] = {}
        with suppress(OSError), self._opened() as folder:
            for key in keys:
                content = self._read(folder, key)
                if content is not None:
                    found[key] = content
        return found

    def save(self, contents: Mapping[str, bytes]) -> None:
        """Keep `contents` by key, if the folder takes them."""
        with suppress(OSError), self._opened(create=True) as folder:
            for key, content in contents.items():
                self._write(folder, key, content)
            if self._left <= 0:
                self._left = _make_room(folder)

    @contextmanager
    def _opened(self, create: bool = False) -> Iterator[int]:
        """The folder; an `OSError` where it is none to be trusted."""
        if not self.folder:
            raise FileNotFoundError("no folder")
        try:
            try:
                folder = os.open(self.folder, os.O_RDONLY | _FOLDER)
            except FileNotFoundError:
                if not create:
                    raise
                os.makedirs(self.folder, 0o700, exist_ok=True)
                folder = os.open(self.folder, os.O_RDONLY | _FOLDER)
        except OSError:
            if os.path.islink(self.folder):
                self._tell("is a symbolic link", "set ADJOINT_CACHE to what it leads to, or to off")
            raise
        try:
            self._trust(os.fstat(folder))
            yield folder
        finally:
            os.close(folder)

    def _trust(self, about: os.stat_result) -> None:
        if about.st_uid != os.geteuid():
            self._tell(f"belongs to user {about.st_uid}", "set ADJOINT_CACHE to a folder of yours, or to off")
        elif about.st_mode & 0o077:
            mode = f"{stat.S_IMODE(about.st_mode):o}"
            self._tell(f"is open to others (mode {mode})", "call chmod 700 on it, or set ADJOINT_CACHE to off")
        else:
            return
        raise PermissionError("the folder is not the user's alone")

    def _tell(self, what: str, remedy: str) -> None:
        """One warning of a kind. Where warnings are errors there is none: native code runs without a folder too."""
        if remedy not in self._told:
            self._told.add(remedy)
            with suppress(RuntimeWarning):
                warnings.warn(f"native code on disk: {self.folder} {what}; {remedy}", RuntimeWarning, stacklevel=2)

    def _read(self, folder: int, key: str) -> bytes | None:
        name, data = f"{key}.native", b""
        try:
            file = os.open(name, os.O_RDONLY | _FILE, dir_fd=folder)
        except FileNotFoundError:
            return None
        except OSError:  # a link, or not to be read
            file = -1
        if file >= 0:
            try:
                about = os.fstat(file)
                if stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and about.st_size <= LIMIT:
                    data = os.read(file, about.st_size)
                    if time.time() - about.st_mtime > _DAY:  # what is in use is not old
                        os.utime(file)
            finally:
                os.close(file)
        content = _unpacked(key, data)
        if content is None:
            self._tell(f"holds {name}, which is damaged or not from here", "it is made anew and replaced")
        return content

    def _write(self, folder: int, key: str, content: bytes) -> None:
        """Under another name first, so that half a file is never seen."""
        part = f"{secrets.token_hex(20)}.part"
        file = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=folder)
        try:
            with open(file, "wb") as stream:
                self._left -= stream.write(_packed(key, content))
            os.replace(part, f"{key}.native", src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(part, dir_fd=folder)
            raise


def _packed(key: str, content: bytes) -> bytes:
    return _HEADER.pack(_MAGIC, FORMAT, len(content), _digest(key, content)) + content


def _unpacked(key: str, data: bytes) -> bytes | None:
    """What was packed under `key`; None if it was not that, or not all of it is there."""
    content = data[_HEADER.size :]
    return content if data == _packed(key, content) else None


def _digest(key: str, content: bytes) -> bytes:
    return hashlib.blake2b(key.encode() + content, digest_size=32).digest()


def _make_room(folder: int) -> int:
    """Remove the oldest files where there are too many, and what dead processes began; how much may be written now."""
    now, files = time.time(), []
    with os.scandir(folder) as entries:
        for entry in entries:
            if _OURS.fullmatch(entry.name):
                with suppress(FileNotFoundError):  # another process was faster
                    about = entry.stat(follow_symlinks=False)
                    begun = entry.name.endswith(".part") and now - about.st_mtime > _DAY / 24
                    files.append((0.0 if begun else about.st_mtime, about.st_blocks * 512, entry.name))
    total = sum(size for _, size, _ in files)
    aim = LIMIT * 3 // 4 if total > LIMIT else total
    for modified, size, name in sorted(files):
        if modified and total <= aim:
            break
        total -= size
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
    return max((LIMIT - total) // 4, LIMIT // 64)  # other processes write too
