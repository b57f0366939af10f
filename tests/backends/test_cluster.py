"""Fits of data that live on a local cluster of two processes; one of them may die."""

import os

import numpy as np
import pytest

import adjoint as ad
from adjoint.scipy.optimize import minimize
from tests.backends.test_dask import X, Y, chunked, logistic, mixture

distributed = pytest.importorskip("distributed")
pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore"),  # of the cluster's own: sockets, ports, large graphs
]
OPTIONS = {"method": "L-BFGS-B", "tol": 1e-13, "options": {"maxiter": 200, "ftol": 1e-15, "gtol": 1e-10}}
START = {"means": np.array([[-1.0, 0.0, 0.0], [1.0, 0.5, 0.0]]), "weights": np.zeros(2)}


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def test_logistic_regression_and_mixture_equal_those_in_memory(client):
    x, y = (a.persist() for a in (chunked(X), chunked(Y)))
    here = minimize(lambda w: logistic(w, X, Y), np.zeros(3), **OPTIONS).x
    np.testing.assert_allclose(minimize(lambda w: logistic(w, x, y), np.zeros(3), **OPTIONS).x, here, atol=1e-8)
    here, there = (minimize(lambda p, a=a: mixture(p, a), START, **OPTIONS).x for a in (X, x))
    for name in START:
        np.testing.assert_allclose(there[name], here[name], rtol=1e-7, atol=1e-8)


def test_a_worker_that_is_killed_in_the_middle_is_survived(client):
    x, y = chunked(X).persist(), chunked(Y).persist()
    met = []

    def loss(w):
        met.append(w)
        if len(met) == 3:  # the nanny starts another one, and Dask computes again what was lost
            pid = next(iter(client.run(os.getpid).values()))
            os.kill(pid, 9)
        return logistic(w, x, y)

    here = minimize(lambda w: logistic(w, X, Y), np.zeros(3), **OPTIONS).x
    np.testing.assert_allclose(minimize(loss, np.zeros(3), **OPTIONS).x, here, atol=1e-8)
    assert isinstance(ad.grad(loss)(here), type(x))
