"""A solar cell: diode current, open-circuit voltage, fill factor with its resistances, quantum efficiency."""

import numpy as np
import photovoltaic as pv

PACKAGE, FOLLOWED = "photovoltaic", ("photovoltaic",)
POINT = (0.035, 1.0, 1.2, 0.9)


def program(x):
    voc = pv.cell.Voc(x[0], x[1] * 1e-12)
    current = pv.cell.I_cell(np.linspace(0.0, 0.5, 6), x[0], x[1] * 1e-12)
    fill = pv.cell.FF_RsRsh(voc, x[0], 0.1 * x[2], 1000.0)
    inner = pv.cell.iqe_base(np.array([1e2, 1e3]), 1e-4, 0.02 * x[3], 0.02, 30.0, 100.0)
    return voc + np.sum(current) + fill + np.sum(inner)
