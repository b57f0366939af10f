"""Moist air in an office: humidity, dew point, enthalpy, and the wet bulb by bisection."""

import psychrolib

PACKAGE, FOLLOWED = "PsychroLib", ("psychrolib",)
POINT = (25.0, 0.5, 101325.0)


def program(x):
    psychrolib.SetUnitSystem(psychrolib.SI)
    ratio = psychrolib.GetHumRatioFromRelHum(x[0], x[1], x[2])
    dew = psychrolib.GetTDewPointFromHumRatio(x[0], ratio, x[2])
    enthalpy = psychrolib.GetMoistAirEnthalpy(x[0], ratio)
    volume = psychrolib.GetMoistAirVolume(x[0], ratio, x[2])
    deficit = psychrolib.GetVaporPressureDeficit(x[0], ratio, x[2])
    return dew + 1e-4 * enthalpy + volume + 1e-3 * deficit
