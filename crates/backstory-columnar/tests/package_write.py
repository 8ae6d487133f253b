"""Writes files with the package: converted, by the live hook, left open after a flush, and killed.

usage: package_write.py FOLDER
"""
import json
import os
import sys
from pathlib import Path

import numpy as np
from agentic_conversations_hdf5.backends.hdf5 import HDF5Session
from agentic_conversations_hdf5.convert import convert_jsonl
from agentic_conversations_hdf5.hooks.live_session import _sync_jsonl_to_hdf5

folder = Path(sys.argv[1])
log = folder / "log.jsonl"
records = []
for number in range(500):
    role = "user" if number % 2 == 0 else "assistant"
    content = [{"type": "text", "text": f"text {number} " + "long " * number}]
    if role == "assistant":
        content.append({"type": "tool_use", "id": f"call-{number}", "name": "Bash", "input": {"command": f"ls {number}"}})
    elif number:
        content.append({"type": "tool_result", "tool_use_id": f"call-{number - 1}", "content": f"result {number}"})
    records.append({"type": role, "uuid": f"u{number}", "parentUuid": f"u{number - 1}" if number else None, "timestamp": f"2026-01-01T00:00:{number % 60:02}.5Z",
                    "cwd": "/work", "gitBranch": "main", "version": "2.0", "sessionId": "original",
                    "message": {"role": role, "content": content, "model": "claude-x", "usage": {"input_tokens": number, "output_tokens": 1}}})
log.write_text("".join(json.dumps(record) + "\n" for record in records))
convert_jsonl(log, folder / "converted.h5", session_id="s")
half = folder / "half.jsonl"
half.write_text("".join(json.dumps(record) + "\n" for record in records[:200]))
_sync_jsonl_to_hdf5(half, folder / "live.h5", "s")
_sync_jsonl_to_hdf5(log, folder / "live.h5", "s")
for name, end in [("open.h5", "flush"), ("reopened.h5", "flush"), ("killed.h5", "none")]:
    if os.fork() == 0:
        if name == "reopened.h5":
            convert_jsonl(half, folder / name, session_id="s")
            start = 200
        else:
            start = 0
        session = HDF5Session(folder / name, session_id="s", flush_every=0)
        for number in range(start, 300):
            session.append_message(uuid=f"u{number}", type="user", role="user", timestamp=float(number + 1), content_text=f"text {number}",
                                   usage={"input_tokens": 1}, embedding=np.ones(3, dtype=np.float32))
            session.append_tool_call(tool_use_id=f"call-{number}", name="Bash", args_json="{}", timestamp=1.0)
        if end == "flush":
            session._f.flush()
        os._exit(0)
    os.wait()
print("written")
