"""Writes the rows of a session file with the package and compares type, shape and storage of every dataset, and all values.

usage: package_equal.py FILE.h5 FOLDER
"""
import os
import sys

import h5py
import numpy as np
from agentic_conversations_hdf5.backends.hdf5 import HDF5Session

# What our files have besides: rows of other readers are not affected by them.
ADDED_DATASETS = {"messages/seq"}
ADDED_ATTRIBUTES = {"agent", "missing", "embedding_model"}


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def part(data, offset, length):
    return data[int(offset):int(offset) + int(length)].decode()


def write_with_package(group, session_id, path):
    session = HDF5Session(path, session_id=session_id, source="test", flush_every=0)
    messages, calls = group["messages"], group["tool_calls"]
    content = messages["content_bytes"][:].tobytes()
    for row in range(len(messages["uuid"])):
        index = messages["content_index"][row]
        usage = messages["usage"][row]
        has_embedding = bool(messages["has_embedding"][row])
        session.append_message(
            **{name: text(messages[column][row]) for name, column in
               (("uuid", "uuid"), ("parent_uuid", "parent_uuid"), ("type", "type"), ("role", "role"), ("model", "model"))},
            timestamp=float(messages["timestamp"][row]),
            content_text=part(content, index["text_off"], index["text_len"]),
            content_json=part(content, index["json_off"], index["json_len"]),
            usage={name: int(usage[name]) for name in usage.dtype.names},
            embedding=messages["embeddings"][row] if has_embedding else None)
    content = calls["call_bytes"][:].tobytes()
    for row in range(len(calls["tool_use_id"])):
        index = calls["call_index"][row]
        session.append_tool_call(
            **{name: text(calls[name][row]) for name in ("tool_use_id", "message_uuid", "name", "result_uuid")},
            timestamp=float(calls["timestamp"][row]), is_error=bool(calls["is_error"][row]),
            args_json=part(content, index["args_off"], index["args_len"]),
            result_text=part(content, index["result_off"], index["result_len"]))
    for name in group["artifacts"]:
        session.store_artifact(name, group["artifacts"][name][:])
    session.set_session_attrs(**{name: value for name, value in group.attrs.items() if name not in ADDED_ATTRIBUTES})
    session.close()


def storage(dataset):
    return (str(dataset.dtype), h5py.check_string_dtype(dataset.dtype), dataset.shape, dataset.maxshape, dataset.chunks,
            dataset.compression, dataset.compression_opts, dataset.shuffle, dataset.fillvalue.tobytes() if hasattr(dataset.fillvalue, "tobytes") else dataset.fillvalue)


def attributes(item, added=frozenset()):
    return {name: (type(value), value) for name, value in item.attrs.items() if name not in added}


def main():
    ours = h5py.File(sys.argv[1], "r")
    compared = 0
    for session_id, group in ours["sessions"].items():
        path = os.path.join(sys.argv[2], "package.h5")
        if os.path.exists(path):
            os.remove(path)
        write_with_package(group, session_id, path)
        theirs = h5py.File(path, "r")["sessions"][session_id]
        assert attributes(group, ADDED_ATTRIBUTES) == attributes(theirs), (attributes(group), attributes(theirs))

        def compare(name, item):
            nonlocal compared
            mine = group[name]
            if isinstance(item, h5py.Dataset):
                assert storage(mine) == storage(item), (name, storage(mine), storage(item))
                same = mine[()].tolist() == item[()].tolist() if mine.dtype.kind == "O" else mine[()].tobytes() == item[()].tobytes()
                assert same, name
            else:
                assert attributes(mine) == attributes(item), name
            compared += 1
        theirs.visititems(compare)
        present, known = set(), set()
        group.visit(present.add)
        theirs.visit(known.add)
        added = {name for name in present - known if not name.startswith("log")}
        assert added == ADDED_DATASETS, added
    assert ours.attrs["schema_version"] == 1 and isinstance(ours.attrs["schema_version"], np.int64) and ours.attrs["source"] == "test"
    print(compared)


main()
