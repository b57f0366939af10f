"""The version of this library."""

VERSION = "0.1.0"
