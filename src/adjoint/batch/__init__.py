"""Batching: arrays with one axis set aside."""
