"""A satellite's place a day later, by SGP4 in Python, with its elements as unknowns."""

from sgp4.model import WGS72, Satrec

PACKAGE, FOLLOWED = "sgp4", ("sgp4",)
POINT = (0.0006703, 0.9, 0.0675)


def program(x):
    satellite = Satrec()
    drag, node, anomaly, motion = 2.8098e-05, 6.0863854713832, 0.3373093125574321, x[2]
    rates = 6.969196665e-13, 0.0
    satellite.sgp4init(WGS72, "i", 5, 18441.785, drag, *rates, x[0], 5.7904160274885, x[1], anomaly, motion, node)
    _, position, velocity = satellite.sgp4_tsince(720.0)
    return 1e-3 * (position[0] + position[2]) + velocity[1]
