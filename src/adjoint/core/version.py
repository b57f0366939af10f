"""The version of this library, where its files are, and when this process began to load them."""

import os
import time

VERSION = "0.1.0"
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LOADED = time.time()
