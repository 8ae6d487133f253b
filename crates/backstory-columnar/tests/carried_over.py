"""Checks that what `package_append.py` added is in a file that was rebuilt since.

usage: carried_over.py FILE.h5
"""
import sys

import h5py
import numpy as np

file = h5py.File(sys.argv[1], "r")
for session_id in ["a", "new"]:
    group = file["sessions"][session_id]
    messages = group["messages"]
    uuids = [value.decode() for value in messages["uuid"][:]]
    start = uuids.index("added-0")
    assert uuids[start:start + 300] == [f"added-{number}" for number in range(300)]
    assert messages["has_embedding"][start:start + 300].all()
    assert (messages["embeddings"][start:start + 300, 0] == np.arange(300)).all()
    calls = group["tool_calls"]
    assert "added-69" in [value.decode() for value in calls["tool_use_id"][:]]
    assert calls["result_data/added-0"][:].tolist() == [0, 1, 2] and calls["result_data/added-0"].dtype == np.int64
    assert group["artifacts/table"][:].tolist() == [[0, 1, 2], [3, 4, 5]] and group["artifacts/table"].dtype == np.float64
    assert [value.decode() for value in group["extra/notes"][:]] == ["one", "zwei ü"]
    assert messages["score"][:].tolist() == list(range(10)) and messages["score"].dtype == np.dtype(">i4") and messages["score"].maxshape == (None,)
    assert messages.attrs["note"] == "kept" and messages.attrs["n_used"] == len(uuids)
    assert group.attrs["flag"] == np.bool_(True) and group.attrs["flag"].dtype == bool
    assert group.attrs["level"] == -3 and group.attrs["level"].dtype == np.int16 and group.attrs["weights"].tolist() == [0.5, 1.5]
    assert (file[f"shared/grid-{session_id}"][:] == np.arange(35).reshape(5, 7)).all()
assert file["shared"].attrs["owner"] == "someone"
print("carried over")
