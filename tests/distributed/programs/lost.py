"""Ranks that do not do the same. Which case: the first argument."""

import os
import signal
import sys
import time

import numpy as np

import adjoint as ad
from adjoint import distributed as dist

case, rank = sys.argv[2], dist.rank()
dist.set_timeout(0.5)
if case == "raises":
    if rank == 1:
        raise ValueError("a bad row")
    dist.set_timeout(100)
    dist.barrier()
elif case == "is late":
    if rank == 1:
        time.sleep(3)
    dist.barrier()
elif case == "calls another":
    dist.all_reduce(np.zeros(3)) if rank else dist.all_gather(np.zeros(3))
elif case == "has another shape":
    dist.all_reduce(np.zeros(3 + rank))
elif case == "is killed":
    if rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    dist.set_timeout(100)
    dist.barrier()
elif case == "leaves at once":
    dist.set_timeout(100)
    if os.fork() == 0:
        os._exit(0)  # a child says nothing
    if rank == 1:
        os._exit(3)
    dist.barrier()
elif case == "ends":
    dist.set_timeout(100)
    if rank == 1:
        sys.exit(0)
    dist.barrier()
elif case == "leaves the backward pass out":
    t = ad.tensor(np.ones(3), requires_grad=True)
    loss = np.sum(dist.all_reduce(t**2))
    if rank == 0:
        loss.backward()
    else:
        time.sleep(3)
