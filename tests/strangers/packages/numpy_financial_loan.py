"""A loan and an investment: payments, interest, present values, the internal rate of return."""

import numpy as np
import numpy_financial as npf

PACKAGE, FOLLOWED = "numpy-financial", ("numpy_financial",)
POINT = (0.06, 200000.0, 1200.0)


def program(x):
    payment = npf.pmt(x[0] / 12, 240, x[1])
    interest = npf.ipmt(x[0] / 12, 12, 240, x[1])
    saved = npf.fv(x[0] / 12, 120, -x[2], 0.0)
    value = npf.npv(x[0], [-50000.0, x[2] * 12, x[2] * 14, x[2] * 16])
    gain = npf.irr(np.array([-40000.0, x[2] * 12, x[2] * 13, x[2] * 14]))
    return payment / 1e3 + interest / 1e2 + saved / 1e5 + value / 1e4 + gain
