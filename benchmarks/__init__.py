"""What adjoint costs beside NumPy by hand, PyTorch, JAX, MyGrad and HIPS autograd: ``python -m benchmarks``."""
