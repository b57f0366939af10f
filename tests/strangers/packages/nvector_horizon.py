"""Positions as normal vectors: what a ship sees of another, where it will be, and how far off the track."""

import numpy as np
import nvector as nv

PACKAGE, FOLLOWED = "nvector", ("nvector", "karney")
POINT = (0.9, 0.1, 0.95, 0.3)


def program(x):
    ship = nv.lat_lon2n_E(x[0], x[1])
    other = nv.lat_lon2n_E(x[2], x[3])
    vector = nv.n_EA_E_and_n_EB_E2p_AB_E(ship, other, 3.0, 10.0)
    north = np.dot(nv.n_E2R_EN(ship).T, vector)
    later = nv.n_EA_E_distance_and_azimuth2n_EB_E(ship, distance_rad=0.1, azimuth=x[3])
    lat, lon = nv.n_E2lat_lon(later)
    off = nv.cross_track_distance((ship, other), later, method="greatcircle", radius=6371e3)
    return 1e-6 * np.sum(north**2) ** 0.5 + lat[0] * lon[0] + 1e-6 * off[0]
