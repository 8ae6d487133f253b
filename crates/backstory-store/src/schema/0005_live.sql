-- What hooks captured, and what is to be done. Kinds and states are those of the code that names them.
CREATE TABLE queue (
  id INTEGER PRIMARY KEY,
  -- The content id: captured twice, it is one item.
  key INTEGER NOT NULL UNIQUE,
  kind INTEGER NOT NULL,
  session INTEGER,
  at INTEGER NOT NULL,
  state INTEGER NOT NULL DEFAULT 0,
  attempts INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  -- Not to be tried again before this time.
  not_before INTEGER NOT NULL DEFAULT 0,
  -- What the agent's log calls it, hashed: by that, both are known as one.
  name INTEGER,
  -- The event of the log that it turned out to be.
  seq INTEGER,
  -- What was captured: JSON, compressed. Gone once the log has told it.
  body BLOB
) STRICT;
CREATE INDEX queue_to_do ON queue (not_before) WHERE state IN (0, 1);
CREATE INDEX queue_untold ON queue (session, kind) WHERE body IS NOT NULL;
CREATE INDEX queue_told ON queue (session, seq) WHERE seq IS NOT NULL;

-- When a hook last told of the session, and that it ended.
ALTER TABLE sessions ADD COLUMN captured_at INTEGER;
ALTER TABLE sessions ADD COLUMN closed_at INTEGER;
-- The log that hooks named.
ALTER TABLE sessions ADD COLUMN transcript TEXT;

-- What the machinery did and how long it took, for thirty days.
CREATE TABLE event_log (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  name TEXT NOT NULL,
  agent TEXT,
  duration_us INTEGER,
  tokens INTEGER,
  -- Everything else: JSON.
  detail TEXT
) STRICT;
CREATE INDEX event_log_by_name ON event_log (name, agent, at);
