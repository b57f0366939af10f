"""`scipy.spatial.transform` for tensors: rotations, as unit quaternions.

Formulas are SciPy's, so that values are; where two branches meet (small angles), series keep derivatives right. Euler
angles are read off the matrix (axes in seq, J. Diebel, Representing attitude, 2006).
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation as _Plain

from adjoint.batch.batched import Batched
from adjoint.core.box import raw
from adjoint.core.errors import NotSupportedError, ShapeError
from adjoint.core.types import Array, Index, Value
from adjoint.ops.indexing.reading import read
from adjoint.scipy.arrays import constants
from adjoint.scipy.attached import constant
from adjoint.scipy.followed import assembled
from adjoint.scipy.linalg import polar
from adjoint.twin.standins.values import carrier

SMALL = 1e-3  # below this angle, series take the place of quotients


@carrier
class Rotation:
    """`scipy.spatial.transform.Rotation`: one rotation, or a stack of them, in three dimensions.

    Made by `from_quat`, `from_rotvec`, `from_matrix`, `from_euler`, `identity` or `concatenate`, and read by `as_quat`,
    `as_rotvec`, `as_matrix`, `as_euler`. ``a * b`` is first b, then a.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial.transform import Rotation
        >>> turned = lambda angle: Rotation.from_euler("z", angle).apply([1.0, 0.0, 0.0])
        >>> ad.jacobian(turned)(0.0)
        array([0., 1., 0.])
    """

    def __init__(self, quat: Array, normalize: bool = True, copy: bool = True, scalar_first: bool = False) -> None:
        quat = assembled(quat)
        if quat.ndim not in (1, 2) or quat.shape[-1] != 4:
            raise ShapeError(f"a rotation takes quaternions (4,) or (n, 4); got shape {quat.shape}")
        quat = np.roll(quat, -1, axis=-1) if scalar_first else quat
        if normalize:
            size = np.sqrt(np.sum(quat * quat, axis=-1, keepdims=True))
            if np.any(constant(size) == 0.0):
                raise ValueError("Found zero norm quaternions in `quat`.")
            quat = quat / size
        self._quat = quat

    @classmethod
    def from_quat(cls, quat: object, *, scalar_first: bool = False) -> Rotation:
        """Of quaternions (x, y, z, w), or (w, x, y, z)."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_rotvec(cls, rotvec: Array, degrees: bool = False) -> Rotation:
        """Of vectors along the axis, as long as the angle is large."""
        vector = assembled(rotvec)
        if vector.ndim not in (1, 2) or vector.shape[-1] != 3:
            raise ShapeError(f"from_rotvec takes (3,) or (n, 3); got shape {vector.shape}")
        vector = np.deg2rad(vector) if degrees else vector
        square = np.sum(vector * vector, axis=-1, keepdims=True)
        small = np.less(square, SMALL**2)
        angle = np.sqrt(np.where(small, 1.0, square))
        series = 0.5 - square / 48.0 + square * square / 3840.0
        scale = np.where(small, series, np.sin(0.5 * angle) / angle)
        cosine = np.where(small, 1.0 - square / 8.0 + square * square / 384.0, np.cos(0.5 * angle))
        return cls(np.concatenate([scale * vector, cosine], axis=-1))

    @classmethod
    def from_mrp(cls, mrp: Array) -> Rotation:
        """Of modified Rodrigues parameters: vectors along the axis, tan(angle / 4) long."""
        vector = assembled(mrp)
        if vector.ndim not in (1, 2) or vector.shape[-1] != 3:
            raise ShapeError(f"from_mrp takes (3,) or (n, 3); got shape {vector.shape}")
        square = np.sum(vector * vector, axis=-1, keepdims=True)
        return cls(np.concatenate([2.0 * vector, 1.0 - square], axis=-1) / (1.0 + square))

    @classmethod
    def from_matrix(cls, matrix: Array, *, assume_valid: bool = False) -> Rotation:
        """Of matrices (3, 3) or (n, 3, 3); of what is not orthogonal, the polar factor."""
        m = assembled(matrix)
        if m.ndim not in (2, 3) or m.shape[-2:] != (3, 3):
            raise ShapeError(f"from_matrix takes (3, 3) or (n, 3, 3); got shape {m.shape}")
        if not assume_valid:
            m = _orthogonal(m)
        diagonal = [m[..., i, i] for i in range(3)]
        trace = diagonal[0] + diagonal[1] + diagonal[2]
        largest = np.argmax(np.stack([constant(x) for x in (*diagonal, trace)]), axis=0)
        rows = [_column(m, i, diagonal, trace) for i in range(4)]
        quat = np.stack([sum(np.where(largest == k, rows[k][i], 0.0) for k in range(4)) for i in range(4)], axis=-1)
        return cls(quat)

    @classmethod
    def from_euler(cls, seq: str, angles: Array, degrees: bool = False) -> Rotation:
        """Of angles about up to three axes: lower case about fixed ones, upper case about those that turn along."""
        angles = assembled(angles)
        known = _Plain.from_euler(seq, _any_sample(angles), degrees)  # its errors, and its shapes
        angles = np.deg2rad(angles) if degrees else angles
        angles = np.reshape(angles, (len(seq),) if np.ndim(known.as_quat()) == 1 else (-1, len(seq)))
        total: Rotation | None = None
        for i, axis in enumerate(seq.lower()):
            half = 0.5 * angles[..., i]
            parts = [np.sin(half) if a == axis else np.zeros_like(half) for a in "xyz"]
            one = cls(np.stack([*parts, np.cos(half)], axis=-1), normalize=False)
            total = one if total is None else one * total if seq.islower() else total * one
        assert total is not None
        return total

    @classmethod
    def identity(cls, num: int | None = None) -> Rotation:
        """No rotation, or `num` of them."""
        return cls(_Plain.identity(num).as_quat())

    @classmethod
    def concatenate(cls, rotations: Value) -> Rotation:
        """Several as one stack."""
        several = [rotations] if isinstance(rotations, Rotation | _Plain) else rotations
        return cls(np.concatenate([np.reshape(_quaternions(r), (-1, 4)) for r in several]))

    @property
    def single(self) -> bool:
        """Whether this is one rotation, and no stack."""
        return bool(self._quat.ndim == 1)

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self._quat.shape[0])

    def __getitem__(self, index: Index) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation(self._quat[index], normalize=False)

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> Array:
        """Unit quaternions (x, y, z, w); `canonical`: of the two the one with w > 0."""
        quat = self._quat
        if canonical:
            x, y, z, w = (constant(quat)[..., i] for i in range(4))
            first = np.where(w != 0, w, np.where(x != 0, x, np.where(y != 0, y, z)))
            quat = np.where((first < 0)[..., None], -quat, quat)
        return np.roll(quat, 1, axis=-1) if scalar_first else quat

    def as_matrix(self) -> Array:
        """Matrices (3, 3) or (n, 3, 3)."""
        x, y, z, w = (self._quat[..., i] for i in range(4))
        rows = [
            [x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), -x * x + y * y - z * z + w * w, 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), -x * x - y * y + z * z + w * w],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> Array:
        """Vectors along the axis, as long as the angle is large: at most π."""
        quat = np.where((constant(self._quat)[..., 3] < 0)[..., None], -self._quat, self._quat)
        axis, w = quat[..., :3], quat[..., 3:]
        square = np.sum(axis * axis, axis=-1, keepdims=True)
        small = np.less(square, SMALL**2)
        sine = np.sqrt(np.where(small, 1.0, square))
        series = (
            2.0 / w * (1.0 - square / (3.0 * w * w) + square * square / (5.0 * w**4))
            if np.any(constant(small))
            else 2.0
        )
        scale = np.where(small, series, 2.0 * np.arctan2(sine, w) / sine)
        vector = scale * axis
        return np.rad2deg(vector) if degrees else vector

    def as_mrp(self) -> Array:
        """Modified Rodrigues parameters: vectors along the axis, tan(angle / 4) long, with angles of at most π."""
        quat = np.where((constant(self._quat)[..., 3] < 0)[..., None], -self._quat, self._quat)
        return quat[..., :3] / (1.0 + quat[..., 3:])

    def as_euler(self, seq: str, degrees: bool = False) -> Array:
        """Angles about three axes, as `from_euler` takes them.

        Raises:
            NotSupportedError: where the middle angle makes the first and the last axis one (gimbal lock).
        """
        if len(seq) != 3 or seq[0].lower() == seq[1].lower() or seq[1].lower() == seq[2].lower():
            raise ValueError(f"Expected `seq` to be a string of 3 characters without repetitions in a row, got {seq}")
        # Of fixed axes the same in the other order, of axes that turn along.
        order = seq.lower()[::-1] if seq.islower() else seq.lower()
        i, j, k = ("xyz".index(axis) for axis in order)
        m = self.as_matrix()
        if i == k:
            last = 3 - i - j
            sign = 1.0 if (j - i) % 3 == 1 else -1.0
            first = np.arctan2(m[..., j, i], -sign * m[..., last, i])
            middle = np.arctan2(np.sqrt(m[..., i, j] ** 2 + m[..., i, last] ** 2), m[..., i, i])
            third = np.arctan2(m[..., i, j], sign * m[..., i, last])
            lock = np.abs(np.sin(constant(middle)))
        else:
            sign = 1.0 if (j - i) % 3 == 1 else -1.0
            first = np.arctan2(-sign * m[..., j, k], m[..., k, k])
            middle = np.arctan2(sign * m[..., i, k], np.sqrt(m[..., j, k] ** 2 + m[..., k, k] ** 2))
            third = np.arctan2(-sign * m[..., i, j], m[..., i, i])
            lock = np.abs(np.cos(constant(middle)))
        if np.any(lock < 1e-7):
            raise NotSupportedError("as_euler: gimbal lock, where angles have no derivative; use as_rotvec or as_quat")
        angles = np.stack([third, middle, first] if seq.islower() else [first, middle, third], axis=-1)
        return np.rad2deg(angles) if degrees else angles

    def apply(self, vectors: Value, inverse: bool = False) -> Array:
        """The vectors (3,) or (n, 3), turned: each by its own rotation, or one by all, or all by one."""
        vectors, m = assembled(vectors), self.as_matrix()
        if vectors.ndim not in (1, 2) or vectors.shape[-1] != 3:
            raise ShapeError(f"apply takes vectors (3,) or (n, 3); got shape {vectors.shape}")
        m = np.swapaxes(m, -1, -2) if inverse else m
        return np.sum(m * vectors[..., None, :], axis=-1)

    def __mul__(self, other: Array) -> Rotation:
        if not isinstance(other, Rotation | _Plain):
            return NotImplemented
        return Rotation(_product(self._quat, _quaternions(other)))

    def __rmul__(self, other: Array) -> Rotation:
        return Rotation(_product(_quaternions(other), self._quat)) if isinstance(other, _Plain) else NotImplemented

    def __pow__(self, n: float) -> Rotation:
        if n == -1:
            return self.inv()
        return Rotation(self._quat, normalize=False) if n == 1 else Rotation.from_rotvec(n * self.as_rotvec())

    def inv(self) -> Rotation:
        """The rotations back."""
        return Rotation(self._quat * np.array([-1.0, -1.0, -1.0, 1.0]), normalize=False)

    def mean(self, weights: Array | None = None) -> Rotation:
        """The rotation whose matrix is nearest to the mean of the matrices; of weights (n,), the weighted mean."""
        quat = np.reshape(self._quat, (-1, 4))
        parts = quat if weights is None else quat * assembled(weights)[..., None]
        return Rotation(np.linalg.eigh(np.matmul(parts.T, quat))[1][:, -1])

    def magnitude(self) -> Array:
        """The angles, from 0 to π."""
        axis = self._quat[..., :3]
        square = np.sum(axis * axis, axis=-1)
        some = np.greater(square, 0.0)
        sine = np.where(some, np.sqrt(np.where(some, square, 1.0)), 0.0)
        return 2.0 * np.arctan2(sine, np.abs(self._quat[..., 3]))

    def __getattr__(self, name: str) -> Array:
        if name.startswith("_") or not hasattr(_Plain, name):
            raise AttributeError(name)
        raise NotSupportedError(
            f"Rotation.{name} of tensors is not there; as_quat() gives the numbers to write it with"
        )

    def __repr__(self) -> str:
        return f"Rotation.from_quat({constant(self._quat)!r})"


class Slerp:
    """`scipy.spatial.transform.Slerp`: rotations between rotations, at a steady rate; by rotations, times and queries.

    Args:
        times: (n,), rising.
        rotations: n of them, at least 2.

    Example:
        >>> import numpy as np, adjoint as ad
        >>> from adjoint.scipy.spatial.transform import Rotation, Slerp
        >>> ends = Rotation.from_euler("z", [[0.0], [1.0]])
        >>> float(ad.grad(lambda t: Slerp([0.0, 2.0], ends)(t).magnitude())(0.5))
        0.5
    """

    def __init__(self, times: Array, rotations: Value) -> None:
        quat = assembled(_quaternions(rotations))
        self.times = assembled(times) * 1.0
        if quat.ndim != 2 or len(quat) < 2 or np.shape(self.times) != (len(quat),):
            raise ShapeError(
                f"Slerp takes as many times as rotations, 2 or more; got shapes {np.shape(self.times)}, {quat.shape}"
            )
        if np.any(constant(np.diff(self.times)) <= 0):
            raise ValueError("Times must be in strictly increasing order.")
        whole = Rotation.from_quat(quat)
        self.rotations = whole[:-1]
        self.rotvecs = (self.rotations.inv() * whole[1:]).as_rotvec()

    def __call__(self, times: Array) -> Rotation:
        """The rotations at `times`, a number or (m,)."""
        given = assembled(times)
        at = np.reshape(given, (-1,))
        if np.any(raw(np.less(at, self.times[0]))) or np.any(raw(np.greater(at, self.times[-1]))):
            raise ValueError("Interpolation times must be within the range of the rotations' times.")
        last = np.shape(self.times)[0] - 2
        i = np.clip(np.searchsorted(constants(self.times), constants(at), side="left") - 1, 0, last)
        share = (at - read(self.times, i)) / (read(self.times, i + 1) - read(self.times, i))
        turned = Rotation.from_rotvec(read(self.rotvecs, i) * share[:, None])
        result = Rotation.from_quat(read(self.rotations._quat, i)) * turned
        return result if given.ndim else result[0]


def _any_sample(x: Array) -> Array:
    """The numbers of `x`; inside `vmap`, those of one sample."""
    x = constant(x)
    while isinstance(x, Batched):
        x = x.held[0]
    return x


def _quaternions(rotation: Rotation) -> Array:
    return rotation._quat if isinstance(rotation, Rotation) else rotation.as_quat()


def _product(p: Array, q: Array) -> Array:
    """First `q`, then `p`."""
    axis, other, w, v = p[..., :3], q[..., :3], p[..., 3:], q[..., 3:]
    cross = np.stack([
        axis[..., i] * other[..., j] - axis[..., j] * other[..., i] for i, j in ((1, 2), (2, 0), (0, 1))
    ], axis=-1)  # fmt: skip
    return np.concatenate([w * other + v * axis + cross, w * v - np.sum(axis * other, axis=-1, keepdims=True)], axis=-1)


def _orthogonal(m: Array) -> Array:
    """The nearest rotation matrix."""
    if np.any(constant(np.linalg.det(m)) <= 0.0):
        raise ValueError("Non-positive determinant (left-handed or null coordinate frame) in rotation matrix.")
    off = np.matmul(np.swapaxes(m, -1, -2), m) - np.eye(3)
    if np.any(np.abs(constant(off)) > 1e-12):
        return polar(m)[0] if m.ndim == 2 else np.stack([polar(m[i])[0] for i in range(m.shape[0])])
    # (1 + off)^(-1/2), of which derivatives to the third order are right, where it is 1.
    square = np.matmul(off, off)
    return np.matmul(m, np.eye(3) - 0.5 * off + 0.375 * square - 0.3125 * np.matmul(square, off))


def _column(m: Array, k: int, diagonal: list[Array], trace: Value) -> list[Array]:
    """A quaternion of the matrices, of any length, which is precise where entry `k` is the largest."""
    if k == 3:
        return [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1], 1.0 + trace]
    i, j = (k + 1) % 3, (k + 2) % 3
    parts: list[Value] = [None] * 4
    parts[k] = 1.0 - trace + 2.0 * diagonal[k]
    parts[i], parts[j] = m[..., i, k] + m[..., k, i], m[..., j, k] + m[..., k, j]
    parts[3] = m[..., j, i] - m[..., i, j]
    return parts
