"""Writes small session files with h5py and with the package, to be damaged by the example `damaged_files`.

usage: damage_seeds.py FOLDER
"""
import json
import os
import sys
from pathlib import Path

import h5py
import numpy as np
from agentic_conversations_hdf5 import schema
from agentic_conversations_hdf5.backends.hdf5 import HDF5Session
from agentic_conversations_hdf5.convert import convert_many
from agentic_conversations_hdf5.hooks.live_session import _sync_jsonl_to_hdf5

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
for old in folder.glob("*.h5"):
    old.unlink()


def records(name, count):
    lines = []
    for number in range(count):
        role = "user" if number % 2 == 0 else "assistant"
        content = [{"type": "text", "text": f"text {number} " + "long " * number}]
        if role == "assistant":
            content.append({"type": "tool_use", "id": f"call-{number}", "name": "Bash", "input": {"command": f"ls {number}"}})
        elif number:
            content.append({"type": "tool_result", "tool_use_id": f"call-{number - 1}", "content": f"result {number}"})
        lines.append(json.dumps({
            "type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "cwd": "/work", "gitBranch": "main",
            "timestamp": f"2026-01-01T00:00:{number % 60:02}.5Z", "version": "2.0", "sessionId": name,
            "message": {"role": role, "content": content, "model": "claude-x", "usage": {"input_tokens": number, "output_tokens": 1}}}))
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n")
    return path


def filters(dtype):
    kinds = {"compression": "gzip", "compression_opts": 4, "chunks": (64,), "maxshape": (None,)}
    return kinds if dtype == schema.VLEN_STR else kinds | {"shuffle": True}


def write_by_h5py(path, version, sessions, extras):
    """The schema of session files, by h5py alone."""
    rows = 4 if extras else 70
    with h5py.File(path, "w", libver=version) as file:
        file.attrs["schema_version"] = 1
        file.attrs["source"] = "h5py"
        for name in sessions:
            group = file.create_group(f"sessions/{name}")
            group.attrs["model"] = "claude-x"
            group.attrs["created_at"] = 5.5
            group.attrs["summary"] = "what was done"
            for number in range(extras):
                group.attrs[f"extra-{number}"] = f"value {number}"
            messages = group.create_group("messages")
            messages.attrs["n_used"] = rows
            for column in ["uuid", "parent_uuid", "type", "role", "model"]:
                texts = [f"{column}-{number}" for number in range(rows)]
                messages.create_dataset(column, data=texts, dtype=schema.VLEN_STR, **filters(schema.VLEN_STR))
            messages.create_dataset("timestamp", data=np.arange(1.0, rows + 1), **filters("f8"))
            usage = np.zeros(rows, dtype=schema.USAGE_DTYPE)
            usage["input_tokens"] = np.arange(rows)
            messages.create_dataset("usage", data=usage, **filters("usage"))
            texts = [f"text {number}".encode() for number in range(rows)]
            index = np.zeros(rows, dtype=schema.CONTENT_INDEX_DTYPE)
            index["text_len"] = [len(text) for text in texts]
            index["text_off"] = np.cumsum([0] + [len(text) for text in texts[:-1]])
            messages.create_dataset("content_index", data=index, **filters("index"))
            content = np.frombuffer(b"".join(texts), dtype=np.uint8)
            messages.create_dataset("content_bytes", data=content, compression="gzip", chunks=(65536,), maxshape=(None,), shuffle=True)
            messages.create_dataset("has_embedding", data=np.ones(rows, dtype=np.uint8), **filters("u1"))
            messages.create_dataset("embeddings", data=np.ones((rows, 3), dtype=np.float32), chunks=(64, 3), maxshape=(None, 3))
            calls = group.create_group("tool_calls")
            calls.attrs["n_used"] = 3
            for column in ["tool_use_id", "message_uuid", "name", "result_uuid"]:
                calls.create_dataset(column, data=[f"{column}-{number}" for number in range(3)], dtype=schema.VLEN_STR)
            calls.create_dataset("timestamp", data=np.arange(1.0, 4))
            calls.create_dataset("is_error", data=np.zeros(3, dtype=np.uint8))
            index = np.zeros(3, dtype=schema.CALL_INDEX_DTYPE)
            index["args_len"] = 2
            calls.create_dataset("call_index", data=index)
            calls.create_dataset("call_bytes", data=np.frombuffer(b"{}", dtype=np.uint8))
            results = calls.create_group("result_data")
            results.create_dataset("call-1", data=np.arange(6.0).reshape(2, 3))
            artifact = group.create_dataset("artifacts/image.png", data=np.arange(200, dtype=np.uint8))
            artifact.attrs["media_type"] = "image/png"
            for number in range(extras):
                group.create_dataset(f"artifacts/extra-{number}", data=np.arange(number))


for version in ["earliest", "v110", "latest"]:
    write_by_h5py(folder / f"h5py-{version}.h5", version, ["s"], 0)
    # Many members and attributes are in other structures than few.
    write_by_h5py(folder / f"h5py-{version}-many.h5", version, ["s", "t"], 12)
logs = [records(name, count) for name, count in [("s", 70), ("t", 5)]]
convert_many(logs, folder / "package-converted.h5")
half = folder / "half.jsonl"
half.write_text("".join(logs[0].read_text().splitlines(keepends=True)[:30]))
_sync_jsonl_to_hdf5(half, folder / "package-live.h5", "s")
_sync_jsonl_to_hdf5(logs[0], folder / "package-live.h5", "s")
for name in ["package-open.h5", "package-reopened.h5"]:
    if os.fork() == 0:
        if name == "package-reopened.h5":
            _sync_jsonl_to_hdf5(half, folder / name, "s")
        session = HDF5Session(folder / name, session_id="s", flush_every=0)
        for number in range(100, 170):
            session.append_message(uuid=f"u{number}", type="user", role="user", timestamp=float(number), content_text=f"text {number}",
                                   usage={"input_tokens": 1}, embedding=np.ones(3, dtype=np.float32))
            session.append_tool_call(tool_use_id=f"call-{number}", name="Bash", args_json="{}", timestamp=1.0)
        session._f.flush()
        os._exit(0)
    os.wait()
for log in folder.glob("*.jsonl"):
    log.unlink()
