"""Programs as graphs of unique nodes.

- Programs: `node`, `graph`, `verify`.
- From a function to its program: `symbol`, `python_numbers`.
- Running: `schedule`. As plain data: `canonical`.
- In folders: `captures` (what a program is besides nodes), `rewriting`, `text`, `loops`.
"""

from adjoint.graph.graph import Graph as Graph
from adjoint.graph.node import Node as Node
from adjoint.graph.rewriting import rules as rules
from adjoint.graph.rewriting.driver import Report as Report
from adjoint.graph.rewriting.driver import Rewrite as Rewrite
from adjoint.graph.rewriting.driver import Rewrite as Rule  # noqa: F401  # its earlier name
