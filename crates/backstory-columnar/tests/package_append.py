"""Appends to a session file with the package, and checks that all else is still there.

usage: package_append.py FILE.h5
"""
import contextlib
import io
import json
import sys

import h5py
import numpy as np
from agentic_conversations_hdf5 import cli
from agentic_conversations_hdf5.backends.hdf5 import HDF5Session

path = sys.argv[1]


def inspect():
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert cli.main(["inspect", path]) == 0
    return json.loads(out.getvalue())["sessions"]


before = inspect()
with h5py.File(path, "r") as file:
    texts = {name: [value.decode() for value in group["messages/uuid"][:]] for name, group in file["sessions"].items()}
for session_id in ["a", "new"]:
    session = HDF5Session(path, session_id=session_id, mode="a")
    count = session.turn_count()
    for number in range(300):
        session.append_message(uuid=f"added-{number}", type="user", role="user", timestamp=5.0 + number, content_text=f"added {number}",
                               usage={"input_tokens": 1}, embedding=np.full(4, number, dtype=np.float32))
    for number in range(70):
        session.append_tool_call(tool_use_id=f"added-{number}", name="Read", args_json="{}", result_text=f"result {number}",
                                 result_data=np.arange(3) if number == 0 else None)
    session.store_artifact("table", np.arange(6.0).reshape(2, 3))
    session.set_session_attrs(summary="changed", flag=np.bool_(True), level=np.int16(-3), weights=np.array([0.5, 1.5]))
    session.close()
    with h5py.File(path, "a") as file:
        file["sessions"][session_id].create_dataset("extra/notes", data=["one", "zwei ü"], dtype=h5py.string_dtype())
        file["sessions"][session_id]["messages"].create_dataset("score", data=np.arange(10, dtype=">i4"), chunks=(4,), maxshape=(None,), compression="gzip")
        file["sessions"][session_id]["messages"].attrs["note"] = "kept"
        grid = file.require_group("shared").require_dataset(f"grid-{session_id}", (5, 7), "f4", chunks=(2, 3), compression="lzf")
        grid[...] = np.arange(35).reshape(5, 7)
        file["shared"].attrs["owner"] = "someone"
    session = HDF5Session(path, session_id=session_id, mode="r")
    assert session.turn_count() == count + 300
    assert session.get_recent_context(1)[0]["content"] == "added 299"
    session.close()
after = inspect()
for name, known in before.items():
    if name != "a":
        assert after[name] == known, name
with h5py.File(path, "r") as file:
    for name, uuids in texts.items():
        assert [value.decode() for value in file["sessions"][name]["messages/uuid"][:len(uuids)]] == uuids, name
print(json.dumps({name: [entry["messages"], entry["tool_calls"]] for name, entry in sorted(after.items()) if name in ("a", "new")}))
