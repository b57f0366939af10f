"""Training: a loop that watches its loss, a classifier that saves itself, and what a run leaves behind."""

from adjoint.train.classifier import Classifier as Classifier
from adjoint.train.fit import Epoch as Epoch
from adjoint.train.fit import History as History
from adjoint.train.fit import Step as Step
from adjoint.train.fit import fit as fit
from adjoint.train.metrics import accuracy as accuracy
from adjoint.train.metrics import confusion as confusion
from adjoint.train.metrics import logits_of as logits_of
