"""Stand-ins for SciPy's functions: those of `adjoint.scipy`, if an argument has a history.

`scientific` has the functions, `sparse` its matrices and operators, `compiled` what is called from C.
"""
