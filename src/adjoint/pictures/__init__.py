"""Looking at programs: pictures of circuits, and adjoint programs as text."""

from adjoint.pictures.adjoint_program import adjoint_source as adjoint_source
from adjoint.pictures.picture import Picture as Picture
from adjoint.pictures.picture import compiled_page as compiled_page
from adjoint.pictures.picture import page as page
from adjoint.pictures.picture import show as show
