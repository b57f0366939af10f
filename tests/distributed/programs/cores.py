"""Each rank says on which cores it and a thread that began before compute, and how many threads BLAS has."""

import os
import threading
from importlib import import_module

import numpy as np

from adjoint import distributed as dist

begun, asked = threading.Event(), threading.Event()
seen: list[set[int]] = []


def wait() -> None:
    begun.set()
    asked.wait()
    seen.append(os.sched_getaffinity(0))


thread = threading.Thread(target=wait, daemon=True)
thread.start()
begun.wait()
all_cores = os.sched_getaffinity(0)
np.ones((200, 200)) @ np.ones((200, 200))
dist.barrier()
asked.set()
thread.join()
mine = os.sched_getaffinity(0)
assert seen == [mine]
masks = dist.all_gather(np.array([core in mine for core in sorted(all_cores)], float))
if os.environ.get("ADJOINT_BIND") == "0" or dist.size() > len(all_cores):
    assert np.all(masks == 1)
else:
    assert np.all(np.sum(masks, 0) == 1)  # each core has one rank
    assert np.ptp(np.sum(masks, 1)) <= 1
    blas = [pool for pool in import_module("threadpoolctl").threadpool_info() if pool["user_api"] == "blas"]
    assert blas
    assert all(pool["num_threads"] <= len(mine) for pool in blas)
print("done", flush=True)
