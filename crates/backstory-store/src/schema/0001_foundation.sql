-- The first schema. Times are unix milliseconds; ids of agents, kinds and actions are those of the code that names them.

CREATE TABLE settings (
  name TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Names that recur on many rows: models, tools.
CREATE TABLE names (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;

-- A repository or folder that sessions worked in. One across worktrees, subfolders and clones of the same remote.
CREATE TABLE projects (
  id INTEGER PRIMARY KEY,
  root TEXT NOT NULL UNIQUE,
  remote TEXT
) STRICT;
CREATE UNIQUE INDEX projects_by_remote ON projects (remote) WHERE remote IS NOT NULL;

CREATE TABLE sessions (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  -- The agent's own id.
  session TEXT NOT NULL,
  parent TEXT,
  parent_kind TEXT,
  -- The last event of the parent that this session's history goes on from.
  parent_seq INTEGER,
  title TEXT,
  title_rank INTEGER NOT NULL DEFAULT 0,
  project INTEGER REFERENCES projects (id),
  cwd TEXT,
  branch TEXT,
  started_at INTEGER,
  ended_at INTEGER,
  turns INTEGER NOT NULL DEFAULT 0,
  events INTEGER NOT NULL DEFAULT 0,
  machine INTEGER NOT NULL DEFAULT 0,
  UNIQUE (agent, session)
) STRICT;
CREATE INDEX sessions_by_time ON sessions (ended_at);
CREATE INDEX sessions_by_id ON sessions (session);

CREATE TABLE session_models (
  session INTEGER NOT NULL,
  model INTEGER NOT NULL,
  PRIMARY KEY (session, model)
) STRICT, WITHOUT ROWID;

-- A log file of an agent and how far it has been read.
CREATE TABLE source_files (
  id INTEGER PRIMARY KEY,
  agent TEXT NOT NULL,
  path TEXT NOT NULL UNIQUE,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  size INTEGER NOT NULL,
  modified_ns INTEGER NOT NULL,
  -- The beginning of the file, and what lay just before the cursor: with both unchanged it is the same file, grown.
  head_length INTEGER NOT NULL,
  head_hash BLOB NOT NULL,
  tail_length INTEGER NOT NULL,
  tail_hash BLOB NOT NULL,
  -- The cursor: bytes and newlines read, and what the reader must remember.
  offset INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  state TEXT NOT NULL,
  stream INTEGER NOT NULL
) STRICT;

-- The stored (redacted) bytes of one generation of a source file. A file that was replaced starts a new one.
CREATE TABLE streams (
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES source_files (id),
  generation INTEGER NOT NULL,
  length INTEGER NOT NULL DEFAULT 0,
  redactions INTEGER NOT NULL DEFAULT 0,
  -- Whether events of this stream may still be copies of the parent's.
  replaying INTEGER NOT NULL DEFAULT 1,
  UNIQUE (source, generation)
) STRICT;

-- Which streams tell of which sessions.
CREATE TABLE session_streams (
  session INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  PRIMARY KEY (session, stream)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_streams_by_stream ON session_streams (stream);

-- Stored bytes [start, start + length) of a stream, compressed, with attachments cut out of them.
CREATE TABLE blocks (
  id INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL REFERENCES streams (id),
  start INTEGER NOT NULL,
  length INTEGER NOT NULL,
  -- Where attachments were cut out: JSON [[position in the uncompressed data, attachment], …].
  cuts TEXT,
  data BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX blocks_by_place ON blocks (stream, start);

-- Images and documents, once each, decoded.
CREATE TABLE attachments (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  data BLOB NOT NULL
) STRICT;

CREATE TABLE events (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  turn INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  at INTEGER,
  stream INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  part INTEGER NOT NULL,
  model INTEGER,
  tool INTEGER,
  -- For a tool result, the seq of its call.
  call INTEGER,
  -- The seq of the event that this one answers, where that is not the one before.
  parent INTEGER,
  error INTEGER,
  exit_code INTEGER,
  duration_ms INTEGER,
  command TEXT,
  PRIMARY KEY (session, seq)
) STRICT, WITHOUT ROWID;

-- Content ids of all events: what is known is not stored again.
CREATE TABLE event_keys (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL
) STRICT;

-- Tool calls whose result has not come yet.
CREATE TABLE open_calls (
  session INTEGER NOT NULL,
  call TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (session, call)
) STRICT, WITHOUT ROWID;

CREATE TABLE paths (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE
) STRICT;

-- Which events touched which files. Actions: 0 read, 1 write, 2 delete.
CREATE TABLE touches (
  path INTEGER NOT NULL,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  action INTEGER NOT NULL,
  PRIMARY KEY (path, session, seq)
) STRICT, WITHOUT ROWID;

-- API responses by content id: the largest count of each is in the roll-up, once.
CREATE TABLE responses (
  key INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  model INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning INTEGER NOT NULL
) STRICT;

-- Tokens per session, quarter of an hour (so that days can be cut in any time zone) and model.
CREATE TABLE usage (
  session INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  model INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  PRIMARY KEY (session, slot, model)
) STRICT, WITHOUT ROWID;

-- Titles whose session was not known yet, by an event of it.
CREATE TABLE loose_titles (
  key INTEGER PRIMARY KEY,
  title TEXT NOT NULL
) STRICT;

CREATE TABLE skipped_records (
  stream INTEGER NOT NULL,
  line INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (stream, offset)
) STRICT, WITHOUT ROWID;
