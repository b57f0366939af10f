"""What the twin of a function calls in place of functions of NumPy, ``math`` and Python.

A stand-in gives what its original gives, and keeps the histories of boxes where the original would lose them. For plain
arguments it calls the original.

The look-up is in `tables`; `values` is what a stand-in checks about its arguments, `mapping` has functions that take
functions, and `drawing` random numbers. The others are in folders by what they replace.
"""

from adjoint.twin.standins.mapping import Maker as Maker
from adjoint.twin.standins.mapping import Resolve as Resolve
from adjoint.twin.standins.of_numpy.calls import overlooked as overlooked
from adjoint.twin.standins.of_numpy.methods import OTHER_METHODS as OTHER_METHODS
from adjoint.twin.standins.of_numpy.methods import array_method as array_method
from adjoint.twin.standins.of_numpy.methods import box_attribute as box_attribute
from adjoint.twin.standins.of_numpy.methods import box_method as box_method
from adjoint.twin.standins.of_numpy.methods import filled as filled
from adjoint.twin.standins.of_numpy.methods import number_attribute as number_attribute
from adjoint.twin.standins.of_python.sample_texts import TextsOfSamples as TextsOfSamples
from adjoint.twin.standins.of_python.sample_texts import in_each as in_each
from adjoint.twin.standins.of_python.text import formatted as formatted
from adjoint.twin.standins.of_python.text import joined_text as joined_text
from adjoint.twin.standins.of_python.text import shown_in as shown_in
from adjoint.twin.standins.tables import find as find
from adjoint.twin.standins.tables import maker as maker
from adjoint.twin.standins.tables import method_of_scipys as method_of_scipys
from adjoint.twin.standins.tables import named_as as named_as
from adjoint.twin.standins.tables import needed as needed
from adjoint.twin.standins.tables import of_methods as of_methods
from adjoint.twin.standins.values import live as live
from adjoint.twin.standins.values import plainly as plainly
