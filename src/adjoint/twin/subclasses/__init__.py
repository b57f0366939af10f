"""Arrays of users' classes that derive from NumPy's, with a tensor inside.

In: a class such as ``class Quaternion(np.ndarray)``. Out: its twin class, whose objects hold any array in the place of
memory, and behave as NumPy's subclass protocol says.

- `base`: how such an object is told from others.
- `array`: what NumPy's own class gives: methods, the protocols; `operators`: its operators.
- `results`: of which class a result is, as NumPy itself answers.
- `classes`: from a user's class to its twin class, and how objects of it are made.
"""
