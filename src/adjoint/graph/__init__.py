"""Programs as graphs of unique nodes."""

from adjoint.graph.graph import Graph as Graph
from adjoint.graph.node import Node as Node
from adjoint.graph.rewrite import Report as Report
from adjoint.graph.rewrite import Rewrite as Rewrite
from adjoint.graph.rewrite import Rewrite as Rule  # noqa: F401  # its earlier name
