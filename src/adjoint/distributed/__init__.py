"""Several processes as one program, by MPI: collectives with derivatives, data parallel training, sharded states."""

from adjoint.core.public import public as _public
from adjoint.distributed.averages import average_gradients as average_gradients
from adjoint.distributed.averages import average_statistics as average_statistics
from adjoint.distributed.averages import weighted as weighted
from adjoint.distributed.collectives import all_gather as all_gather
from adjoint.distributed.collectives import all_reduce as all_reduce
from adjoint.distributed.collectives import broadcast as broadcast
from adjoint.distributed.collectives import reduce_scatter as reduce_scatter
from adjoint.distributed.collectives import shift as shift
from adjoint.distributed.messages import recv as recv
from adjoint.distributed.messages import send as send
from adjoint.distributed.parallel import DataParallel as DataParallel
from adjoint.distributed.parallel import shard as shard
from adjoint.distributed.replicas import agree as agree
from adjoint.distributed.replicas import spread as spread
from adjoint.distributed.sharded import ShardedOptimizer as ShardedOptimizer
from adjoint.distributed.sharded import gather_objects as gather_objects
from adjoint.distributed.world import DistributedError as DistributedError
from adjoint.distributed.world import barrier as barrier
from adjoint.distributed.world import give_up as give_up
from adjoint.distributed.world import only_first as only_first
from adjoint.distributed.world import rank as rank
from adjoint.distributed.world import set_timeout as set_timeout
from adjoint.distributed.world import size as size


def __dir__() -> list[str]:
    return _public(globals())
