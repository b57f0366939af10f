"""Batching: arrays with one axis set aside."""

from adjoint.batch.number import BatchedNumber as BatchedNumber
