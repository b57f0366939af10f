"""`scipy.sparse.csgraph` of graphs whose weights are tensors: SciPy finds the paths and trees, weights are taken along.

Which edges a path has is a constant, so the derivative of a distance by a weight is how often the path uses the edge.
"""

from __future__ import annotations

import functools

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph as theirs

from adjoint.core.box import Box
from adjoint.core.errors import NotSupportedError
from adjoint.core.types import Array, Function, Value
from adjoint.scipy.arrays import array, plain
from adjoint.scipy.followed import assembled
from adjoint.scipy.refused import refused
from adjoint.scipy.sparse.arithmetic import is_sparse
from adjoint.scipy.sparse.matrix import SparseMatrix, of_triples, ours

# What the functions that measure paths take after the graph, in order.
_AFTER_GRAPH = {
    "shortest_path": ("method", "directed", "return_predecessors", "unweighted", "overwrite", "indices"),
    "dijkstra": ("directed", "indices", "return_predecessors", "unweighted", "limit", "min_only"),
    "floyd_warshall": ("directed", "return_predecessors", "unweighted", "overwrite"),
    "bellman_ford": ("directed", "indices", "return_predecessors", "unweighted"),
    "johnson": ("directed", "indices", "return_predecessors", "unweighted"),
}


def _graph(x: Value) -> Value:
    """A graph as a sparse matrix of ours, or as an array or a tensor."""
    return ours(x) if is_sparse(x) else x if isinstance(x, np.ndarray) else array(assembled(x))


def _numbers(x: Value) -> Value:
    """A graph of SciPy's, without tensors."""
    if isinstance(x, SparseMatrix):
        x = ours(x)
        return sparse.coo_array((np.array(plain(x.values)), (x.row, x.col)), x.shape).tocsr()
    return np.array(plain(x)) if isinstance(x, Box) else x


def _weights(graph: Value, rows: Array, columns: Array, directed: bool) -> Value:
    """The weights of edges; where these have no direction, the smaller of the two that may be stored."""
    stored = _numbers(graph)
    stored = stored.toarray() if sparse.issparse(stored) else np.asarray(stored)
    size = np.where(np.isfinite(stored) & (stored != 0), stored, np.inf)
    turned = (size[rows, columns] > size[columns, rows]) & (not directed)
    rows, columns = np.where(turned, columns, rows), np.where(turned, rows, columns)
    if not isinstance(graph, SparseMatrix):
        return graph[rows, columns]
    numbers = graph.numbered().toarray()
    return graph.values[numbers[rows, columns] - 1]


def _lengths(graph: Value, found: Array, before: Array, sources: Array, directed: bool) -> Value:
    """The lengths of the paths that `before`, the node before each node, goes back; infinite where `found` is."""
    before, n = np.atleast_2d(before), before.shape[-1]
    pair = np.arange(before.size)
    here, edges = pair % n, []
    while pair.size:
        last = before[pair // n, here]
        on = (last >= 0) & (here != np.ravel(sources)[pair // n])
        pair, here, last = pair[on], here[on], last[on]
        edges.append((pair, last, here))
        here = last
    pairs, rows, columns = (np.concatenate(parts) for parts in zip(*edges, strict=True))
    total = np.bincount(pairs, _weights(graph, rows, columns, directed), minlength=before.size)
    return np.where(np.isfinite(found), np.reshape(total, np.shape(found)), found)


def _measuring(name: str) -> Function:
    original = getattr(theirs, name)

    @functools.wraps(original, updated=())
    def measure(csgraph: Value, *args: Value, **kwargs: Value) -> Value:
        given = dict(zip(_AFTER_GRAPH[name], args, strict=False)) | kwargs
        if given.pop("min_only", False):
            raise NotSupportedError(f"scipy.sparse.csgraph.{name}(min_only=True) of tensors: np.min(..., axis=0) is")
        asked = given.pop("return_predecessors", False)
        given.pop("overwrite", None)
        graph = _graph(csgraph)
        found, before = original(_numbers(graph), **{**given, "return_predecessors": True})
        if not given.get("unweighted"):
            indices, directed = given.get("indices"), bool(given.get("directed", True))
            sources = np.arange(len(found)) if indices is None else np.asarray(indices)
            found = _lengths(graph, found, before, sources, directed)
        return (found, before) if asked else found

    measure.__doc__ = f"""`scipy.sparse.csgraph.{name}`: lengths of shortest paths, with derivatives by the weights.

    Raises:
        NotSupportedError: for ``min_only``.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.sparse import csgraph
        >>> w = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
        >>> ad.grad(lambda w: csgraph.{name}(w)[0, 2])(w)
        array([[0., 1., 0.],
               [0., 0., 1.],
               [0., 0., 0.]])
    """
    return measure


shortest_path, dijkstra, floyd_warshall, bellman_ford, johnson = map(_measuring, _AFTER_GRAPH)


def _tree(name: str) -> Function:
    original = getattr(theirs, name)

    @functools.wraps(original, updated=())
    def tree(csgraph: Value, *args: Value, **kwargs: Value) -> Value:
        kwargs.pop("overwrite", None)
        graph = _graph(csgraph)
        found = original(_numbers(graph), *args, **kwargs).tocoo()
        directed = name[0] != "m" and bool(kwargs.get("directed", args[1] if len(args) > 1 else True))
        values = _weights(graph, found.row, found.col, directed)
        return of_triples(values, found.row, found.col, found.shape, "csr", not isinstance(found, sparse.sparray))

    tree.__doc__ = f"""`scipy.sparse.csgraph.{name}`: a sparse matrix of the tree's edges, with the graph's weights.

    Example:
        >>> import numpy as np
        >>> from adjoint.scipy.sparse import csgraph
        >>> w = np.array([[0.0, 1.0, 5.0], [1.0, 0.0, 2.0], [5.0, 2.0, 0.0]])
        >>> float(csgraph.{name}(w{"" if name[0] == "m" else ", 0"}).sum())
        {3.0 if name[0] in "md" else 6.0}
    """
    return tree


minimum_spanning_tree = _tree("minimum_spanning_tree")
breadth_first_tree = _tree("breadth_first_tree")
depth_first_tree = _tree("depth_first_tree")


def laplacian(
    csgraph: Value, normed: bool = False, return_diag: bool = False, use_out_degree: bool = False, *,
    copy: bool = True, form: str = "array", dtype: Value = None, symmetrized: bool = False,
) -> Value:  # fmt: skip
    """`scipy.sparse.csgraph.laplacian`: degrees on the diagonal, minus the weights beside it.

    Raises:
        NotSupportedError: for another `form` than ``"array"``.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.sparse import csgraph
        >>> ad.grad(lambda w: csgraph.laplacian(w)[0, 0])(np.array([[0.0, 2.0], [2.0, 0.0]]))
        array([[0., 0.],
               [1., 0.]])
    """
    if form != "array":
        raise NotSupportedError(f"scipy.sparse.csgraph.laplacian(form={form!r}) of tensors: form='array' is")
    graph = _graph(csgraph)
    whole = graph.toarray() if isinstance(graph, SparseMatrix) else graph
    if dtype is not None or (normed and whole.dtype.kind not in "fc"):
        whole = whole.astype(dtype or float)
    if symmetrized:
        whole = whole + np.conj(whole.T)
    on, n = np.eye(whole.shape[0], dtype=bool), whole.shape[0]
    whole = np.where(on, whole.dtype.type(0), whole)
    degrees = np.sum(whole, axis=1 if use_out_degree else 0)
    diagonal = degrees
    if normed:
        alone = degrees == 0
        degrees = np.where(alone, 1.0, np.sqrt(np.where(alone, 1.0, degrees)))
        whole, diagonal = whole / degrees / degrees[:, None], np.where(alone, 0.0, np.ones(n))
    found = np.where(on, diagonal, -whole)
    if isinstance(graph, SparseMatrix):
        stored = _numbers(graph).toarray() != 0
        rows, columns = np.nonzero(stored | stored.T | on)
        found = of_triples(found[rows, columns], rows, columns, (n, n), "csr", graph.is_matrix)
    return (found, degrees) if return_diag else found


def _constant(name: str) -> Function:
    original = getattr(theirs, name)

    @functools.wraps(original, updated=())
    def constant(*args: Value, **kwargs: Value) -> Value:
        return original(*map(_numbers, args), **{key: _numbers(x) for key, x in kwargs.items()})

    constant.__doc__ = f"""`scipy.sparse.csgraph.{name}`, which has no derivative: numbers and places of nodes.

    Example:
        >>> from scipy.sparse import csr_array
        >>> from adjoint.scipy.sparse import csgraph
        >>> found = csgraph.{name}(csr_array([[2, 1], [1, 0]]){", 0" if name.endswith("order") else ""})
    """
    return constant


connected_components = _constant("connected_components")
breadth_first_order = _constant("breadth_first_order")
depth_first_order = _constant("depth_first_order")
structural_rank = _constant("structural_rank")
reverse_cuthill_mckee = _constant("reverse_cuthill_mckee")
maximum_bipartite_matching = _constant("maximum_bipartite_matching")
min_weight_full_bipartite_matching = _constant("min_weight_full_bipartite_matching")

_WEIGHTS = "call it with the numbers, w.detach().numpy(), and take the weights of what it finds from w"
yen = refused("sparse.csgraph.yen", f"scipy.sparse.csgraph.yen of weights that are tensors is not there; {_WEIGHTS}")
maximum_flow = refused(
    "sparse.csgraph.maximum_flow", "scipy.sparse.csgraph.maximum_flow takes whole numbers, which have no derivative"
)
