-- What the full-text index does not have yet: these sessions' events from this seq on.
CREATE TABLE unindexed (
  session INTEGER PRIMARY KEY,
  first_seq INTEGER NOT NULL,
  -- Counts up with every change, so that whoever indexes a session can tell whether it changed meanwhile.
  changes INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO unindexed (session, first_seq) SELECT id, 1 FROM sessions WHERE events > 0;

-- The files of an event; by path they were found already.
CREATE INDEX touches_by_event ON touches (session, seq);

-- Which events have vectors, by model: those of this session up to this seq.
CREATE TABLE embedded (
  model TEXT NOT NULL,
  session INTEGER NOT NULL,
  events INTEGER NOT NULL,
  -- Whether vectors of later events are there that are not true any more.
  stale INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (model, session)
) STRICT, WITHOUT ROWID;
