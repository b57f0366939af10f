"""What networks compute: activations, convolutions, pooling, recurrence, losses and normalisation in one step.

In: arrays with axes for samples, channels and places. Out: arrays. Layers in `adjoint.nn` call these.
"""
