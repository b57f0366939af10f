"""Layers: modules with parameters and a `forward`. One family a file, with the functions that only it uses.

In: arrays of shape (samples, channels, places). Out: arrays. `adjoint.nn` names all of them.

- For all networks: `basic`, `activations`, `piecewise`, `containers`, `lazy`, `losses`, `distances`, `settings`.
- Pictures and signals: `convolution`, `pooling`, `fractional`, `adaptive`, `resizing`, `channels`, `normalization`.
- Sequences: `embedding`, `recurrent`, `cells`, `attention`, `transformer`.
"""
