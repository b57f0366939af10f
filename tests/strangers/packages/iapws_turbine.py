"""A steam turbine: enthalpies and entropies of water and steam, the work between two states."""

from iapws.iapws97 import _PSat_T, _Region1, _Region2, _TSat_P

PACKAGE, FOLLOWED = "iapws", ("iapws",)
POINT = (6.0, 780.0, 0.2)


def program(x):
    inlet = _Region2(x[1], x[0])
    outlet = _Region2(450.0, x[2])
    boiling = _TSat_P(x[0])
    feed = _Region1(330.0, x[0])
    heat = inlet["h"] - feed["h"]
    work = inlet["h"] - outlet["h"]
    return work / heat + (inlet["s"] - outlet["s"]) + 0.001 * boiling + _PSat_T(350.0 + x[2]) * 10
