-- Source files that agents changed, or that were seen to run.
CREATE TABLE code_files (
  id INTEGER PRIMARY KEY,
  project INTEGER NOT NULL,
  -- Below the root of the project, in whatever worktree or clone.
  name TEXT NOT NULL,
  -- The file that it was before it was moved.
  moved_from INTEGER,
  UNIQUE (project, name)
) STRICT;

-- The last good look at each file.
CREATE TABLE snapshots (
  file INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  at INTEGER NOT NULL,
  text_hash INTEGER NOT NULL,
  -- When it was seen since with errors that were not there before.
  broken_at INTEGER,
  -- JSON, compressed.
  symbols BLOB NOT NULL
) STRICT;

-- What turns did to symbols; the empty name is the file itself. Turn -1 is what was seen live, until the log tells the turn.
CREATE TABLE symbol_changes (
  session INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  file INTEGER NOT NULL,
  name TEXT NOT NULL,
  kind INTEGER,
  change INTEGER NOT NULL,
  -- The name before it was renamed.
  earlier TEXT,
  at INTEGER,
  PRIMARY KEY (session, turn, file, name)
) STRICT, WITHOUT ROWID;

-- Calls that were seen in stack traces.
CREATE TABLE run_edges (
  file INTEGER NOT NULL,
  caller TEXT NOT NULL,
  callee TEXT NOT NULL,
  seen INTEGER NOT NULL,
  -- Where it was seen last.
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  at INTEGER,
  PRIMARY KEY (file, caller, callee)
) STRICT, WITHOUT ROWID;

-- Events up to this seq have been looked at for what they did to source files.
ALTER TABLE sessions ADD COLUMN coded INTEGER NOT NULL DEFAULT 0;
