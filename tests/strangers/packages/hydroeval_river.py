"""A river model's skill: Nash-Sutcliffe and Kling-Gupta efficiencies of a linear reservoir."""

import hydroeval
import numpy as np

PACKAGE, FOLLOWED = "hydroeval", ("hydroeval",)
POINT = (0.3, 1.2)
RAIN = np.array([5.0, 0.0, 2.0, 8.0, 1.0, 0.0, 3.0, 0.0])
SEEN = np.array([1.6, 1.1, 1.5, 3.4, 2.6, 1.9, 2.2, 1.5])


def program(x):
    store, flow = 1.0, np.zeros(len(RAIN))
    for day, rain in enumerate(RAIN):
        store += x[1] * rain
        flow[day] = x[0] * store
        store -= flow[day]
    kge, r, alpha, beta = hydroeval.evaluator(hydroeval.kge, flow, SEEN)
    nse = hydroeval.evaluator(hydroeval.nse, flow, SEEN)
    return kge[0] + r[0] * alpha[0] + beta[0] + nse[0] + hydroeval.evaluator(hydroeval.rmse, flow, SEEN)[0]
