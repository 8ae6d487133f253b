-- Checksums of stored rows. A scope is a kind of row (see `checksums/scope.rs`), a unit is one row, one session or a few neighbouring
-- rows of it. A unit without a checksum has not been summed since it was written: sweeps do that.
CREATE TABLE checksums (
  scope INTEGER NOT NULL,
  unit INTEGER NOT NULL,
  -- Rows up to this number are covered, where rows are only ever added at the end.
  upto INTEGER,
  sum INTEGER NOT NULL,
  PRIMARY KEY (scope, unit)
) STRICT, WITHOUT ROWID;

-- Damage that was found. The next sweep reads these streams and sessions again from the agent's log, if that is still there.
CREATE TABLE damaged (
  stream INTEGER NOT NULL DEFAULT 0,
  session INTEGER NOT NULL DEFAULT 0,
  -- Whether a sweep has tried already.
  tried INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (stream, session)
) STRICT, WITHOUT ROWID;
