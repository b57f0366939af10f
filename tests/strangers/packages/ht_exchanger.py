"""A heat exchanger: Nusselt numbers in and around a tube, walls in series, effectiveness by NTU."""

import ht

PACKAGE, FOLLOWED = "ht", ("ht", "fluids")
POINT = (1.2, 0.021, 4.2, 0.9)


def program(x):
    re = 998.0 * x[0] * x[1] / 1.0e-3
    inside = ht.turbulent_Dittus_Boelter(Re=re, Pr=x[2]) * 0.6 / x[1]
    outside = ht.Nu_cylinder_Churchill_Bernstein(Re=3000.0 * x[3], Pr=0.7) * 0.026 / 0.025
    wall = ht.R_cylinder(Di=x[1], Do=0.025, k=15.0, L=1.0)
    u = 1.0 / (1.0 / inside + wall * 0.07 + 1.0 / outside)
    ntu = ht.NTU_from_UA(UA=u * 80.0, Cmin=1200.0)
    eff = ht.effectiveness_from_NTU(NTU=ntu, Cr=0.4 * x[3], subtype="counterflow")
    return eff * 10.0 + 0.01 * u + ht.LMTD(90.0, 40.0 + x[3], 20.0, 35.0) / 10.0
