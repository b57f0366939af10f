"""A ship's route on the ellipsoid: distances between waypoints, a point on the line, the area that it encloses."""

from geographiclib.geodesic import Geodesic

PACKAGE, FOLLOWED = "geographiclib", ("geographiclib",)
POINT = (41.3, -72.2, 38.7, -9.1)


def program(x):
    earth = Geodesic.WGS84
    leg = earth.Inverse(x[0], x[1], x[2], x[3])
    middle = earth.InverseLine(x[0], x[1], x[2], x[3]).Position(0.4 * leg["s12"])
    second = earth.Direct(middle["lat2"], middle["lon2"], leg["azi1"] + 20.0, 3e5)
    polygon = earth.Polygon()
    for lat, lon in [(x[0], x[1]), (x[2], x[3]), (second["lat2"], second["lon2"])]:
        polygon.AddPoint(lat, lon)
    _, perimeter, area = polygon.Compute()
    return 1e-6 * leg["s12"] + second["lat2"] + 1e-6 * perimeter + 1e-13 * area
