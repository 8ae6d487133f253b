-- What a response used beside its tokens, and to which event it belongs. Zero stands for nothing and for not known yet: rows from before
-- this migration are completed by sweeps, from the stored bytes.

-- What prices depend on beside tokens, as logs name it; an empty text is none. Context tiers: 0 up to 200,000 tokens of input, 1 up to
-- 272,000, 2 beyond.
CREATE TABLE billing (
  id INTEGER PRIMARY KEY,
  service_tier TEXT NOT NULL,
  speed TEXT NOT NULL,
  inference_geo TEXT NOT NULL,
  context_tier INTEGER NOT NULL,
  UNIQUE (service_tier, speed, inference_geo, context_tier)
) STRICT;

-- First event of the message.
ALTER TABLE responses ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
-- Part of cache_write that is kept for an hour.
ALTER TABLE responses ADD COLUMN cache_write_1h INTEGER NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN web_searches INTEGER NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN web_fetches INTEGER NOT NULL DEFAULT 0;
-- A name, as models are.
ALTER TABLE responses ADD COLUMN branch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN billing INTEGER NOT NULL DEFAULT 0;
CREATE INDEX responses_by_event ON responses (session, seq) WHERE seq > 0;

-- The roll-up, by branch and billing too.
CREATE TABLE usage_by_branch (
  session INTEGER NOT NULL,
  slot INTEGER NOT NULL,
  model INTEGER NOT NULL,
  branch INTEGER NOT NULL,
  billing INTEGER NOT NULL,
  input INTEGER NOT NULL,
  output INTEGER NOT NULL,
  cache_read INTEGER NOT NULL,
  cache_write INTEGER NOT NULL,
  reasoning INTEGER NOT NULL,
  cache_write_1h INTEGER NOT NULL,
  web_searches INTEGER NOT NULL,
  web_fetches INTEGER NOT NULL,
  PRIMARY KEY (session, slot, model, branch, billing)
) STRICT, WITHOUT ROWID;
INSERT INTO usage_by_branch (session, slot, model, branch, billing, input, output, cache_read, cache_write, reasoning, cache_write_1h,
    web_searches, web_fetches)
  SELECT session, slot, model, 0, 0, input, output, cache_read, cache_write, reasoning, 0, 0, 0 FROM usage;
DROP TABLE usage;
ALTER TABLE usage_by_branch RENAME TO usage;

ALTER TABLE sessions ADD COLUMN agent_version TEXT;
ALTER TABLE sessions ADD COLUMN permission_mode TEXT;
ALTER TABLE sessions ADD COLUMN context_window INTEGER;
-- Tokens of the context that hooks gave to the session.
ALTER TABLE sessions ADD COLUMN tokens_injected INTEGER NOT NULL DEFAULT 0;

-- The agent's own record of a session: where it lies, and its short values as JSON, by which sessions are filtered.
CREATE TABLE session_meta (
  session INTEGER PRIMARY KEY,
  stream INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  fields TEXT NOT NULL
) STRICT;

-- Records that say how the agent worked: where they lie, and the event before them.
CREATE TABLE telemetry (
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  stream INTEGER NOT NULL,
  offset INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (session, seq, stream, offset)
) STRICT, WITHOUT ROWID;

-- The number of the line that a block begins in, by which the lines of events are counted.
CREATE TABLE block_lines (
  stream INTEGER NOT NULL,
  start INTEGER NOT NULL,
  line INTEGER NOT NULL,
  PRIMARY KEY (stream, start)
) STRICT, WITHOUT ROWID;

-- The version of the readers that read a stream. Streams of an older one are read again by sweeps, from the stored bytes.
ALTER TABLE streams ADD COLUMN read_version INTEGER NOT NULL DEFAULT 0;

-- How far such a stream has been read again, and what its reader must remember.
CREATE TABLE backfill (
  stream INTEGER PRIMARY KEY,
  offset INTEGER NOT NULL,
  lines INTEGER NOT NULL,
  state TEXT NOT NULL
) STRICT;

-- Columns were added to the rows under these checksums: sessions, streams, responses.
DELETE FROM checksums WHERE scope IN (1, 11, 23);
