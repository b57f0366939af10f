"""Programs as graphs of unique nodes.

- Programs: `node`, `graph`, `signature`, `state`, `verify`.
- From a function to its program: `symbol`, `on_symbols`, `record`, `drawing`, `python_numbers`.
- Rewrites: `rewrite` (the driver), `rules`, `formula_rules`.
- Running: `schedule`. As plain data: `canonical`.
- As text: `text`, `source`, `numpy_source`.
"""

from adjoint.graph.graph import Graph as Graph
from adjoint.graph.node import Node as Node
from adjoint.graph.rewrite import Report as Report
from adjoint.graph.rewrite import Rewrite as Rewrite
from adjoint.graph.rewrite import Rewrite as Rule  # noqa: F401  # its earlier name
