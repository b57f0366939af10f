"""The attitude of a sensor from its gyroscope and accelerometer, by Madgwick's filter; the gain is an unknown."""

import numpy as np
from ahrs import Quaternion
from ahrs.common.orientation import q_prod
from ahrs.filters import Madgwick

PACKAGE, FOLLOWED = "AHRS", ("ahrs",)
POINT = (0.05, 0.2, -0.1, 0.3)
ACCELERATIONS = np.array([[0.1, 0.2, 9.7], [0.2, 0.1, 9.8], [0.3, 0.0, 9.7], [0.3, -0.1, 9.6]])


def program(x):
    sensor = Madgwick(gain_imu=x[0], frequency=50.0)
    q = np.array([1.0, 0.0, 0.0, 0.0])
    for k in range(len(ACCELERATIONS)):
        q = sensor.updateIMU(q, gyr=np.array([x[1], x[2], x[3] * k]), acc=ACCELERATIONS[k])
    body = Quaternion(q)
    turned = q_prod(q, np.array([0.0, x[1], 1.0, x[2]]))
    return np.sum(body.to_DCM() @ np.array([0.1, 0.5, 1.0])) + turned[1] + turned[3]
