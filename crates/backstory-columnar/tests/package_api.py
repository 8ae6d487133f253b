"""Adds a message, a call and an artifact to a session with the package's own API.

usage: package_api.py FILE.h5 SESSION SECRET
"""
import sys

import numpy as np
from agentic_conversations_hdf5.backends.hdf5 import HDF5Session

path, session_id, secret = sys.argv[1:]
session = HDF5Session(path, session_id=session_id, mode="a")
session.add_turn("user", f"added turn {secret}")
session.add_tool_call("Bash", {"command": f"echo added call {secret}"}, result_text=f"added result {secret}")
session.add_turn("assistant", "added answer")
session.store_artifact("added", np.frombuffer(f"added artifact {secret}".encode(), dtype=np.uint8))
session.store_artifact("harmless", np.arange(6.0))
session.close()
