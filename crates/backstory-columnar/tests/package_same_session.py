"""Appends a session's log once more to a file that has it, with the package: by the live hook and by convert.

usage: package_same_session.py hook|convert FILE.h5 LOG.jsonl SESSION
"""
import sys
from pathlib import Path

from agentic_conversations_hdf5.convert import convert_jsonl
from agentic_conversations_hdf5.hooks.live_session import _sync_jsonl_to_hdf5

way, path, log, session = sys.argv[1:]
if way == "hook":
    _sync_jsonl_to_hdf5(Path(log), Path(path), session)
else:
    convert_jsonl(log, path, session_id=session)
