"""The core: what an operation is, the one door every call goes through, and the errors."""
