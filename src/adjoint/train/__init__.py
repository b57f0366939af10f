"""Training: a loop that can be killed, its records and checkpoints, and a classifier that saves itself."""

from adjoint.core.public import public as _public
from adjoint.train.checkpoint import Checkpoint as Checkpoint
from adjoint.train.fit import fit as fit
from adjoint.train.history import Callback as Callback
from adjoint.train.history import Epoch as Epoch
from adjoint.train.history import History as History
from adjoint.train.history import Step as Step
from adjoint.train.metrics import accuracy as accuracy
from adjoint.train.metrics import confusion as confusion
from adjoint.train.metrics import logits_of as logits_of
from adjoint.train.metrics import mean_absolute_error as mean_absolute_error
from adjoint.train.pictures import draw_curves as draw_curves
from adjoint.train.predictors import Classifier as Classifier
from adjoint.train.predictors import Regressor as Regressor
from adjoint.train.progress import Progress as Progress
from adjoint.train.steps import evaluate as evaluate
from adjoint.train.tensorboard import TensorBoard as TensorBoard


def __dir__() -> list[str]:
    return _public(globals())
