"""`scipy.sparse.csgraph` inside transforms: lengths of paths, trees and Laplacians by the weights of a graph."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

import adjoint as ad
from adjoint.core.errors import NotSupportedError
from adjoint.scipy.sparse import csgraph as ours
from tests.scipy.differences import agrees

# A ring of five nodes with two chords; a sixth node is alone.
ROWS, COLUMNS = np.array([0, 1, 2, 3, 4, 0, 1]), np.array([1, 2, 3, 4, 0, 2, 4])
WEIGHTS = np.array([1.3, 0.7, 2.1, 0.9, 1.7, 2.9, 1.1])


def dense(w):
    graph = np.zeros((6, 6))
    graph[ROWS, COLUMNS] = w
    return graph


def symmetric(w):
    return dense(w) + dense(w).T


def stored(w):
    return sparse.csr_array((w, (ROWS, COLUMNS)), shape=(6, 6))


def both_stored(w):
    return sparse.coo_matrix((np.r_[w, 2 * w], (np.r_[ROWS, COLUMNS], np.r_[COLUMNS, ROWS])), shape=(6, 6)).tocsr()


GRAPHS = (dense, symmetric, stored, both_stored)
PATHS = {
    "shortest_path": lambda g: csgraph.shortest_path(g),
    "dijkstra": lambda g: csgraph.dijkstra(g, False, [0, 3]),
    "dijkstra of one": lambda g: csgraph.dijkstra(g, indices=2, directed=False),
    "dijkstra within": lambda g: csgraph.dijkstra(g, limit=2.5),
    "floyd_warshall": lambda g: csgraph.floyd_warshall(g, directed=False),
    "bellman_ford": lambda g: csgraph.bellman_ford(g, return_predecessors=True)[0],
    "johnson": lambda g: csgraph.johnson(g, indices=[1, 4]),
    "method": lambda g: csgraph.shortest_path(g, "D", False, indices=[0]),
}


def finite(lengths):
    return np.where(np.isfinite(lengths), lengths, 0.0)


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.__name__)
@pytest.mark.parametrize("name", PATHS)
def test_paths(name, graph):
    agrees(lambda w: finite(PATHS[name](graph(w**2))), WEIGHTS, samples=False)


def test_what_has_no_path():
    found = []
    ad.grad(lambda w: found.append(csgraph.shortest_path(dense(w)).detach()) or np.sum(w))(WEIGHTS)
    np.testing.assert_allclose(found[0], csgraph.shortest_path(dense(WEIGHTS)), rtol=1e-14)
    assert np.isinf(found[0]).any()
    hops = ad.grad(lambda w: np.sum(w) * finite(csgraph.shortest_path(dense(w), unweighted=True)).sum())(WEIGHTS)
    np.testing.assert_array_equal(hops, finite(csgraph.shortest_path(dense(WEIGHTS), unweighted=True)).sum())


def test_predecessors_are_scipys():
    found = []
    ad.grad(lambda w: found.append(csgraph.dijkstra(symmetric(w), return_predecessors=True)[1]) or np.sum(w))(WEIGHTS)
    np.testing.assert_array_equal(found[0], csgraph.dijkstra(symmetric(WEIGHTS), return_predecessors=True)[1])


TREES = {
    "minimum_spanning_tree": lambda g: csgraph.minimum_spanning_tree(g),
    "breadth_first_tree": lambda g: csgraph.breadth_first_tree(g, 0, directed=False),
    "depth_first_tree": lambda g: csgraph.depth_first_tree(g, 2, False),
}


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.__name__)
@pytest.mark.parametrize("name", TREES)
def test_trees(name, graph):
    agrees(lambda w: TREES[name](graph(w**2)).toarray() @ np.arange(1.0, 7.0), WEIGHTS, samples=False)


SETTINGS = ({}, {"normed": True}, {"use_out_degree": True}, {"symmetrized": True, "normed": True})


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda g: g.__name__)
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_laplacians(graph, settings):
    def f(w):
        found, degrees = csgraph.laplacian(graph(w**2), return_diag=True, **settings)
        found = found.toarray() if sparse.issparse(found) else found
        return np.concatenate([found.ravel(), degrees])

    agrees(f, WEIGHTS, samples=graph is dense)


CONSTANTS = {
    "connected_components": lambda g: csgraph.connected_components(g, directed=False)[0],
    "breadth_first_order": lambda g: csgraph.breadth_first_order(g, 0)[0].sum(),
    "depth_first_order": lambda g: csgraph.depth_first_order(g, 0)[1].sum(),
    "structural_rank": lambda g: csgraph.structural_rank(g),
    "reverse_cuthill_mckee": lambda g: csgraph.reverse_cuthill_mckee(g)[0],
    "maximum_bipartite_matching": lambda g: csgraph.maximum_bipartite_matching(g)[0],
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_numbers_of_nodes(name):
    f = CONSTANTS[name]
    np.testing.assert_array_equal(ad.grad(lambda w: np.sum(w) * f(stored(w)))(WEIGHTS), float(f(stored(WEIGHTS))))


def test_an_assignment_of_least_cost():
    costs = np.array([[4.0, 1.0, 3.0], [2.0, 0.5, 5.0], [3.0, 2.0, 2.5]])

    def f(c):
        rows, columns = csgraph.min_weight_full_bipartite_matching(sparse.csr_array(c))
        return np.sum(c[rows, columns] ** 2)

    found = ad.grad(f)(costs)
    assert np.count_nonzero(found) == 3
    np.testing.assert_allclose(found[found != 0], 2 * costs[found != 0])


def test_refusals():
    with pytest.raises(NotSupportedError, match="yen"):
        ad.grad(lambda w: csgraph.yen(dense(w), 0, 4, 2)[0])(WEIGHTS)
    with pytest.raises(NotSupportedError, match="form='array'"):
        ad.grad(lambda w: csgraph.laplacian(dense(w), form="function")(np.ones(6))[0])(WEIGHTS)
    with pytest.raises(NotSupportedError, match="min_only"):
        ad.grad(lambda w: csgraph.dijkstra(dense(w), indices=[0, 1], min_only=True)[0])(WEIGHTS)
    with pytest.raises(ad.BatchedValueError):
        ad.vmap(lambda w: csgraph.dijkstra(dense(w)))(np.stack([WEIGHTS, 2 * WEIGHTS]))


def test_plain_graphs_give_what_scipys_give():
    whole = np.array([[0, 2], [2, 0]])
    assert ours.laplacian(whole).dtype == csgraph.laplacian(whole).dtype
    np.testing.assert_allclose(ours.laplacian(whole, True), csgraph.laplacian(whole, True))
    np.testing.assert_array_equal(ours.dijkstra(whole), csgraph.dijkstra(whole))
