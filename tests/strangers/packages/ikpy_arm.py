"""The hand of a robot whose links are formulas that SymPy wrote as functions."""

import numpy as np
from ikpy.chain import Chain
from ikpy.link import OriginLink, URDFLink

PACKAGE, FOLLOWED = "ikpy", ("ikpy",)
POINT = (0.2, 0.3, 0.5)
LINKS = (("shoulder", [-10, 0, 5], [0, 1.57, 0]), ("elbow", [25, 0, 0], [0, 0, 0]), ("wrist", [22, 0, 3], [0.4, 0, 0]))


def program(x):
    joints = [
        URDFLink(name=name, origin_translation=place, origin_orientation=turn, rotation=[0, 1, 0])
        for name, place, turn in LINKS
    ]
    arm = Chain(name="arm", links=[OriginLink(), *joints], active_links_mask=[False, True, True, True])
    hand = arm.forward_kinematics([0.0, x[0], x[1], x[2]])
    return np.sum(hand[:3, 3] ** 2) / 100.0 + hand[0, 0] * hand[2, 1]
