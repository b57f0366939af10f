"""Learning rates that change from epoch to epoch, by PyTorch's names.

Each takes an optimiser, and changes the ``lr`` of its groups when `step` is called, once an epoch. The first rates are
set when it is made. `state_dict` and `load_state_dict` keep where it is.
"""

from adjoint.optim.lr_scheduler.combined import ChainedScheduler as ChainedScheduler
from adjoint.optim.lr_scheduler.combined import ReduceLROnPlateau as ReduceLROnPlateau
from adjoint.optim.lr_scheduler.combined import SequentialLR as SequentialLR
from adjoint.optim.lr_scheduler.curves import ConstantLR as ConstantLR
from adjoint.optim.lr_scheduler.curves import CosineAnnealingLR as CosineAnnealingLR
from adjoint.optim.lr_scheduler.curves import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
from adjoint.optim.lr_scheduler.curves import ExponentialLR as ExponentialLR
from adjoint.optim.lr_scheduler.curves import LambdaLR as LambdaLR
from adjoint.optim.lr_scheduler.curves import LinearLR as LinearLR
from adjoint.optim.lr_scheduler.curves import MultiplicativeLR as MultiplicativeLR
from adjoint.optim.lr_scheduler.curves import MultiStepLR as MultiStepLR
from adjoint.optim.lr_scheduler.curves import OneCycleLR as OneCycleLR
from adjoint.optim.lr_scheduler.curves import PolynomialLR as PolynomialLR
from adjoint.optim.lr_scheduler.curves import StepLR as StepLR
from adjoint.optim.lr_scheduler.cycles import CyclicLR as CyclicLR
from adjoint.optim.lr_scheduler.scheduler import LRScheduler as LRScheduler
