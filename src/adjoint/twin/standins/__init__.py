"""What the twin of a function calls in place of functions of NumPy, ``math`` and Python.

A stand-in gives what its original gives, and keeps the histories of boxes where the original would lose them. For plain
arguments it calls the original.

- The look-up: `tables`; what a stand-in checks about its arguments: `values`.
- NumPy: `calls`, `joining`, `structured`, `methods`, `complex_results`.
- Functions that take functions: `mapping`, `elementwise`.
- Python: `builtin`, `iterating`, `mathematics`, `summaries`, `drawing` (random numbers).
- Texts and bytes: `text`, `sample_texts`, `exits`.
- SciPy: `scientific`, `sparse`, `compiled`.
"""

from adjoint.twin.standins.calls import overlooked as overlooked
from adjoint.twin.standins.mapping import Maker as Maker
from adjoint.twin.standins.mapping import Resolve as Resolve
from adjoint.twin.standins.methods import OTHER_METHODS as OTHER_METHODS
from adjoint.twin.standins.methods import array_method as array_method
from adjoint.twin.standins.methods import box_attribute as box_attribute
from adjoint.twin.standins.methods import box_method as box_method
from adjoint.twin.standins.methods import filled as filled
from adjoint.twin.standins.methods import number_attribute as number_attribute
from adjoint.twin.standins.sample_texts import TextsOfSamples as TextsOfSamples
from adjoint.twin.standins.sample_texts import in_each as in_each
from adjoint.twin.standins.tables import find as find
from adjoint.twin.standins.tables import maker as maker
from adjoint.twin.standins.tables import method_of_scipys as method_of_scipys
from adjoint.twin.standins.tables import named_as as named_as
from adjoint.twin.standins.tables import needed as needed
from adjoint.twin.standins.tables import of_methods as of_methods
from adjoint.twin.standins.text import formatted as formatted
from adjoint.twin.standins.text import joined_text as joined_text
from adjoint.twin.standins.text import shown_in as shown_in
from adjoint.twin.standins.values import live as live
from adjoint.twin.standins.values import plainly as plainly
