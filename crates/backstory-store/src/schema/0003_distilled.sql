-- The account of each session, made of its events up to one.
CREATE TABLE digests (
  session INTEGER PRIMARY KEY,
  -- Events up to this seq are in it.
  events INTEGER NOT NULL,
  outcome TEXT NOT NULL
) STRICT;

-- What was noted of the events: JSON, compressed. A table of its own, for listing sessions must not read through it.
CREATE TABLE notes (
  session INTEGER PRIMARY KEY,
  notes BLOB NOT NULL
) STRICT;

-- Sessions that are never evicted.
ALTER TABLE sessions ADD COLUMN pinned INTEGER NOT NULL DEFAULT 0;
-- Up to this seq the events and their bytes are gone; the digest tells what they were.
ALTER TABLE sessions ADD COLUMN evicted INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN evicted_at INTEGER;

-- What must never come back: hashes of the sessions and source files that were forgotten.
CREATE TABLE forgotten (
  hash BLOB NOT NULL PRIMARY KEY
) STRICT, WITHOUT ROWID;
