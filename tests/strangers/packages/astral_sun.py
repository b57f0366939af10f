"""The sun's place over a garden: declination, equation of time, elevation by the hour angle."""

from astral import sun

PACKAGE, FOLLOWED = "astral", ("astral",)
POINT = (0.26, 51.5)


def program(x):
    century = x[0]
    declination = sun.sun_declination(century)
    minutes = sun.eq_of_time(century)
    angle = sun.hour_angle(x[1], declination, 90.8, sun.SunDirection.RISING)
    return declination / 10 + minutes + angle + sun.sun_rad_vector(century) + sun.adjust_to_horizon(100 * x[0])
