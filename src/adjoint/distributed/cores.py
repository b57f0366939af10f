"""Which cores a rank computes on: its share of those of its machine.

Left alone, the system often puts two ranks that wait for each other on one core, and each rank starts a thread for
every core.
"""

from __future__ import annotations

import contextlib
import os
from importlib import import_module
from pathlib import Path

from adjoint.core.types import Value


def take_share(comm: Value) -> None:
    """Bind this process, all its threads and those of BLAS to its share of the cores.

    Nothing is bound by ``ADJOINT_BIND=0``, where ranks have different cores already (their launcher gave them),
    where there are more ranks than cores, and outside of Linux.
    """
    threads = Path("/proc/self/task")
    if os.environ.get("ADJOINT_BIND", "1") == "0" or not threads.is_dir():
        return
    here = comm.Split_type(import_module("mpi4py.MPI").COMM_TYPE_SHARED)  # the ranks of this machine
    ranks, rank, cores = here.size, here.rank, sorted(os.sched_getaffinity(0))
    is_bound = any(other != cores for other in here.allgather(cores))
    here.Free()
    if is_bound or not 1 < ranks <= len(cores):
        return
    share = cores[len(cores) * rank // ranks : len(cores) * (rank + 1) // ranks]
    for thread in threads.iterdir():
        with contextlib.suppress(OSError):  # it ended, or this system binds nothing
            os.sched_setaffinity(int(thread.name), share)
    with contextlib.suppress(ImportError):  # it comes with the extra `mpi`
        libraries = import_module("threadpoolctl")
        used = [pool["num_threads"] for pool in libraries.threadpool_info()]
        libraries.threadpool_limits(min([len(share), *used]))
