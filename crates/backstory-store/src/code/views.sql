-- Symbols and calls of every snapshot, a row each. Temporary: made by whoever asks, for no other process has the functions that unpack them.
CREATE TEMP VIEW IF NOT EXISTS function_map AS
  SELECT projects.root || '/' || code_files.name AS file_path, snapshots.at AS snapshot_at, sessions.session AS session, NULLIF(turn, -1) AS turn,
    symbol.value ->> 1 AS qualified_name, symbol.value ->> 2 AS kind, symbol.value ->> 3 AS parent_class, symbol.value ->> 4 AS signature,
    symbol.value -> 5 AS decorators, symbol.value ->> 6 AS docstring, symbol.value ->> 7 AS line_start, symbol.value ->> 8 AS line_end,
    symbol.value ->> 9 AS body_hash, symbol.value ->> 10 AS prev_hash, symbol.value ->> 11 AS change_type, code_files.id AS file
  FROM main.code_files CROSS JOIN main.projects ON projects.id = code_files.project
    CROSS JOIN main.snapshot_states ON snapshot_states.id >= code_files.id << 20 AND snapshot_states.id < (code_files.id + 1) << 20
    CROSS JOIN json_each(snapshot_symbols(states)) AS symbol
    CROSS JOIN main.snapshots ON file = code_files.id AND part = snapshot_states.id & 1048575 AND place = symbol.value ->> 0
    CROSS JOIN main.sessions ON sessions.id = snapshots.session;

CREATE TEMP VIEW IF NOT EXISTS call_graph AS
  SELECT sessions.session AS session, snapshots.at AS snapshot_at, projects.root || '/' || code_files.name AS caller_file, call.value ->> 1 AS caller_name,
    call.value ->> 2 AS callee_name, call.value ->> 3 AS callee_resolved, call.value ->> 4 AS resolution, call.value ->> 5 AS reason,
    call.value ->> 6 AS line_number, code_files.id AS file
  FROM main.code_files CROSS JOIN main.projects ON projects.id = code_files.project
    CROSS JOIN main.snapshot_states ON snapshot_states.id >= code_files.id << 20 AND snapshot_states.id < (code_files.id + 1) << 20
    CROSS JOIN json_each(snapshot_calls(states)) AS call
    CROSS JOIN main.snapshots ON file = code_files.id AND part = snapshot_states.id & 1048575 AND place = call.value ->> 0
    CROSS JOIN main.sessions ON sessions.id = snapshots.session
  UNION ALL SELECT sessions.session, run_edges.at, projects.root || '/' || code_files.name, IIF(caller = '', '<module>', caller), callee, callee, 'runtime', NULL,
    NULL, code_files.id
  FROM (SELECT file, caller, callee, session, at, MAX(COALESCE(at, 0)) FROM main.run_edges GROUP BY file, caller, callee) AS run_edges
    JOIN main.code_files ON code_files.id = run_edges.file JOIN main.projects ON projects.id = code_files.project
    JOIN main.sessions ON sessions.id = run_edges.session;
