"""A tank kept at its level by a PID controller: gains as unknowns."""

from simple_pid import PID

PACKAGE, FOLLOWED = "simple-pid", ("simple_pid",)
POINT = (1.0, 0.1, 0.05)


def program(x):
    pid = PID(x[0], x[1], x[2], setpoint=1.0, sample_time=None, output_limits=(0.0, 10.0))
    level, cost = 0.2, 0.0
    for _ in range(15):
        inflow = pid(level, dt=0.1)
        level = level + 0.1 * (inflow - 0.3 * level)
        cost += (1.0 - level) ** 2
    return cost + pid.components[1]
