-- Snapshots of source files: what a file defined and called at the end of each turn that changed it. Rows are numbered by time: by
-- part, and by place within the part. Turn -1 is what was seen live, until the log tells the turn.
ALTER TABLE snapshots RENAME TO last_snapshots;

CREATE TABLE snapshots (
  file INTEGER NOT NULL,
  part INTEGER NOT NULL,
  place INTEGER NOT NULL,
  session INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  at INTEGER NOT NULL,
  -- Whether the file was deleted or moved away then.
  gone INTEGER NOT NULL,
  -- When it was seen after that with errors that were not there before.
  broken_at INTEGER,
  PRIMARY KEY (file, part, place)
) STRICT, WITHOUT ROWID;

-- Symbols and calls of the snapshots of one part.
CREATE TABLE snapshot_states (
  -- (file << 20) + part
  id INTEGER PRIMARY KEY,
  -- JSON, compressed; see `code/format.rs`.
  states BLOB NOT NULL
) STRICT;

INSERT INTO snapshots (file, part, place, session, turn, at, gone, broken_at)
  SELECT file, 0, 0, session, COALESCE((SELECT MAX(turn) FROM symbol_changes WHERE symbol_changes.session = last_snapshots.session
    AND symbol_changes.file = last_snapshots.file AND symbol_changes.name = '' AND symbol_changes.at = last_snapshots.at), -1),
    at, 0, broken_at FROM last_snapshots;
INSERT INTO snapshot_states (id, states) SELECT file << 20, symbols FROM last_snapshots;

DROP TABLE last_snapshots;
-- Other rows are summed in scope 5 now.
DELETE FROM checksums WHERE scope = 5;
