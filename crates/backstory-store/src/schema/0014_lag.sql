-- Consumers of events: what is derived from them, by which version of its rules, and what it must have seen before a session is evicted.
CREATE TABLE consumers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  version INTEGER NOT NULL,
  -- Whether its results stay when the text of a session goes.
  before_eviction INTEGER NOT NULL,
  -- Whether it derives something of the title too.
  follows_titles INTEGER NOT NULL
) STRICT;
INSERT INTO consumers (id, name, version, before_eviction, follows_titles)
  VALUES (1, 'fulltext', 1, 0, 1), (2, 'notes', 1, 1, 0), (3, 'code', 1, 1, 0), (4, 'traces', 1, 1, 0);
INSERT INTO consumers (name, version, before_eviction, follows_titles)
  SELECT DISTINCT 'vectors ' || model, 1, 0, 0 FROM embedded ORDER BY model;

-- What consumers lack: the events of a session from one on; from behind the last one when only the title is new. No row means that a
-- consumer is up to date.
CREATE TABLE lag (
  session INTEGER NOT NULL,
  consumer INTEGER NOT NULL,
  from_seq INTEGER NOT NULL,
  -- Counts up with every change, so that a consumer can tell whether the session changed meanwhile; 0 only where it can have no results.
  changes INTEGER NOT NULL DEFAULT 1,
  PRIMARY KEY (session, consumer)
) STRICT, WITHOUT ROWID;
INSERT INTO lag (session, consumer, from_seq, changes) SELECT session, 1, first_seq, changes + 1 FROM unindexed;
INSERT INTO lag (session, consumer, from_seq)
  SELECT id, 2, MAX(COALESCE(digests.events, 0), evicted) + 1 FROM sessions LEFT JOIN digests ON digests.session = sessions.id
  WHERE sessions.events > MAX(COALESCE(digests.events, 0), evicted);
INSERT INTO lag (session, consumer, from_seq)
  SELECT id, 3, MAX(coded, evicted) + 1 FROM sessions WHERE events > MAX(coded, evicted);
INSERT INTO lag (session, consumer, from_seq)
  SELECT sessions.id, consumers.id, COALESCE(embedded.events, 0) + 1 FROM consumers JOIN sessions
  LEFT JOIN embedded ON embedded.session = sessions.id AND 'vectors ' || embedded.model = consumers.name
  WHERE consumers.id > 4 AND sessions.events > COALESCE(embedded.events, 0);

-- Calls in stack traces, by event: one that changes is counted anew, and what was counted in events that are evicted stays. Counts from before
-- are of several sessions; all are counted anew whose text is stored.
ALTER TABLE run_edges RENAME TO counted_edges;
CREATE TABLE run_edges (
  file INTEGER NOT NULL,
  caller TEXT NOT NULL,
  callee TEXT NOT NULL,
  session INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  at INTEGER,
  PRIMARY KEY (file, caller, callee, session, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_edges_by_session ON run_edges (session, seq);
INSERT INTO run_edges (file, caller, callee, session, seq, seen, at) SELECT file, caller, callee, session, seq, seen, at FROM counted_edges;
DROP TABLE counted_edges;
INSERT INTO lag (session, consumer, from_seq) SELECT id, 4, evicted + 1 FROM sessions WHERE events > evicted;

-- A turn whose log grew is told anew.
CREATE INDEX snapshots_by_session ON snapshots (session, turn);

DROP TABLE unindexed;
DROP TABLE embedded;
ALTER TABLE digests DROP COLUMN events;
ALTER TABLE sessions DROP COLUMN coded;
-- Other columns are summed in these scopes now: sessions, calls in stack traces, what consumers lack.
DELETE FROM checksums WHERE scope IN (1, 16, 24);
