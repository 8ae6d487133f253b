-- Observations of events whose text is gone, those of a session together: JSON, compressed. While the text is there, they are made of it.
CREATE TABLE kept_observations (
  session INTEGER PRIMARY KEY,
  observations BLOB NOT NULL
) STRICT;

-- The last sessions of a project, for those who begin another.
CREATE INDEX sessions_by_project ON sessions (project, ended_at);
