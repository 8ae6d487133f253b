-- What a model wrote of tool uses. What is made without one is made when it is asked for, and not stored.
CREATE TABLE observations (
  id INTEGER PRIMARY KEY,
  session INTEGER NOT NULL,
  -- The event of the call.
  seq INTEGER NOT NULL,
  model TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- JSON, compressed.
  body BLOB NOT NULL,
  UNIQUE (session, seq)
) STRICT;

-- What a model wrote of sessions.
CREATE TABLE summaries (
  session INTEGER PRIMARY KEY,
  -- Events up to this seq are in it.
  events INTEGER NOT NULL,
  model TEXT NOT NULL,
  at INTEGER NOT NULL,
  -- JSON, compressed; none when nothing that could be used was written of these events.
  body BLOB
) STRICT;

-- Every request to a model, and what it took. Tiers and states are those of the code that names them.
CREATE TABLE compressions (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  -- Days since 1970, UTC.
  day INTEGER NOT NULL,
  tier INTEGER NOT NULL,
  model TEXT NOT NULL,
  -- The session and the event that it was about. Not called `session`: what was spent stays spent when a session is forgotten.
  about INTEGER,
  seq INTEGER,
  state INTEGER NOT NULL,
  -- The most that it can take, until it is known what it took.
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  micro_usd INTEGER NOT NULL,
  latency_ms INTEGER,
  -- How good the answer is.
  faithfulness REAL,
  compression REAL,
  coverage REAL,
  -- Why there is no answer that can be used.
  error TEXT
) STRICT;
CREATE INDEX compressions_by_day ON compressions (day);
CREATE INDEX compressions_by_item ON compressions (about, seq);

-- Tool uses whose result is not after this seq have been offered to a model.
ALTER TABLE sessions ADD COLUMN compressed INTEGER NOT NULL DEFAULT 0;
