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

-- Whoever changes a row drops the checksum over it, in the same transaction and without having to know of it.
CREATE TRIGGER sessions_update AFTER UPDATE ON sessions BEGIN DELETE FROM checksums WHERE scope IN (1, IIF(NEW.events < OLD.events, 2, 1)) AND unit = OLD.id; END;
CREATE TRIGGER sessions_delete AFTER DELETE ON sessions BEGIN DELETE FROM checksums WHERE scope IN (1, 2, 24) AND unit = OLD.id; END;
CREATE TRIGGER usage_insert AFTER INSERT ON usage BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = NEW.session; END;
CREATE TRIGGER usage_update AFTER UPDATE ON usage BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER usage_delete AFTER DELETE ON usage BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER session_streams_insert AFTER INSERT ON session_streams BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = NEW.session; END;
CREATE TRIGGER session_streams_delete AFTER DELETE ON session_streams BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER session_models_insert AFTER INSERT ON session_models BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = NEW.session; END;
CREATE TRIGGER session_models_delete AFTER DELETE ON session_models BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER open_calls_insert AFTER INSERT ON open_calls BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = NEW.session; END;
CREATE TRIGGER open_calls_delete AFTER DELETE ON open_calls BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER digests_insert AFTER INSERT ON digests BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = NEW.session; END;
CREATE TRIGGER digests_update AFTER UPDATE ON digests BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER digests_delete AFTER DELETE ON digests BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER symbol_changes_insert AFTER INSERT ON symbol_changes BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = NEW.session; END;
CREATE TRIGGER symbol_changes_delete AFTER DELETE ON symbol_changes BEGIN DELETE FROM checksums WHERE scope = 1 AND unit = OLD.session; END;
CREATE TRIGGER events_update AFTER UPDATE ON events BEGIN DELETE FROM checksums WHERE scope = 2 AND unit = OLD.session; END;
CREATE TRIGGER events_delete AFTER DELETE ON events BEGIN DELETE FROM checksums WHERE scope = 2 AND unit = OLD.session; END;
CREATE TRIGGER touches_delete AFTER DELETE ON touches BEGIN DELETE FROM checksums WHERE scope = 2 AND unit = OLD.session; END;
CREATE TRIGGER blocks_update AFTER UPDATE ON blocks BEGIN DELETE FROM checksums WHERE scope = 3 AND unit = OLD.id; END;
CREATE TRIGGER blocks_delete AFTER DELETE ON blocks BEGIN DELETE FROM checksums WHERE scope = 3 AND unit = OLD.id; END;
CREATE TRIGGER notes_update AFTER UPDATE ON notes BEGIN DELETE FROM checksums WHERE scope = 4 AND unit = OLD.session; END;
CREATE TRIGGER notes_delete AFTER DELETE ON notes BEGIN DELETE FROM checksums WHERE scope = 4 AND unit = OLD.session; END;
CREATE TRIGGER snapshots_update AFTER UPDATE ON snapshots BEGIN DELETE FROM checksums WHERE scope = 5 AND unit IN (OLD.file, NEW.file); END;
CREATE TRIGGER snapshots_delete AFTER DELETE ON snapshots BEGIN DELETE FROM checksums WHERE scope = 5 AND unit = OLD.file; END;
CREATE TRIGGER observations_update AFTER UPDATE ON observations BEGIN DELETE FROM checksums WHERE scope = 6 AND unit = OLD.id; END;
CREATE TRIGGER observations_delete AFTER DELETE ON observations BEGIN DELETE FROM checksums WHERE scope = 6 AND unit = OLD.id; END;
CREATE TRIGGER summaries_update AFTER UPDATE ON summaries BEGIN DELETE FROM checksums WHERE scope = 7 AND unit = OLD.session; END;
CREATE TRIGGER summaries_delete AFTER DELETE ON summaries BEGIN DELETE FROM checksums WHERE scope = 7 AND unit = OLD.session; END;
CREATE TRIGGER kept_observations_insert AFTER INSERT ON kept_observations BEGIN DELETE FROM checksums WHERE scope = 8 AND unit = NEW.session; END;
CREATE TRIGGER kept_observations_update AFTER UPDATE ON kept_observations BEGIN DELETE FROM checksums WHERE scope = 8 AND unit = OLD.session; END;
CREATE TRIGGER kept_observations_delete AFTER DELETE ON kept_observations BEGIN DELETE FROM checksums WHERE scope = 8 AND unit = OLD.session; END;
CREATE TRIGGER queue_update AFTER UPDATE ON queue BEGIN DELETE FROM checksums WHERE scope = 9 AND unit = OLD.id; END;
CREATE TRIGGER queue_delete AFTER DELETE ON queue BEGIN DELETE FROM checksums WHERE scope = 9 AND unit = OLD.id; END;
CREATE TRIGGER source_files_update AFTER UPDATE ON source_files BEGIN DELETE FROM checksums WHERE scope = 10 AND unit = OLD.id; END;
CREATE TRIGGER source_files_delete AFTER DELETE ON source_files BEGIN DELETE FROM checksums WHERE scope = 10 AND unit = OLD.id; END;
CREATE TRIGGER streams_update AFTER UPDATE ON streams BEGIN DELETE FROM checksums WHERE scope = 11 AND unit = OLD.id; END;
CREATE TRIGGER streams_delete AFTER DELETE ON streams BEGIN DELETE FROM checksums WHERE scope = 11 AND unit = OLD.id; END;
CREATE TRIGGER skipped_records_insert AFTER INSERT ON skipped_records BEGIN DELETE FROM checksums WHERE scope = 11 AND unit = NEW.stream; END;
CREATE TRIGGER skipped_records_delete AFTER DELETE ON skipped_records BEGIN DELETE FROM checksums WHERE scope = 11 AND unit = OLD.stream; END;
CREATE TRIGGER names_update AFTER UPDATE ON names WHEN NEW.name IS NOT OLD.name BEGIN DELETE FROM checksums WHERE scope = 12 AND unit = OLD.id >> 6; END;
CREATE TRIGGER names_delete AFTER DELETE ON names BEGIN DELETE FROM checksums WHERE scope = 12 AND unit = OLD.id >> 6; END;
CREATE TRIGGER paths_update AFTER UPDATE ON paths BEGIN DELETE FROM checksums WHERE scope = 13 AND unit = OLD.id >> 6; END;
CREATE TRIGGER paths_delete AFTER DELETE ON paths BEGIN DELETE FROM checksums WHERE scope = 13 AND unit = OLD.id >> 6; END;
CREATE TRIGGER projects_update AFTER UPDATE ON projects WHEN NEW.root IS NOT OLD.root OR NEW.remote IS NOT OLD.remote BEGIN DELETE FROM checksums WHERE scope = 14 AND unit = OLD.id >> 4; END;
CREATE TRIGGER projects_delete AFTER DELETE ON projects BEGIN DELETE FROM checksums WHERE scope = 14 AND unit = OLD.id >> 4; END;
CREATE TRIGGER code_files_update AFTER UPDATE ON code_files BEGIN DELETE FROM checksums WHERE scope = 15 AND unit = OLD.id >> 6; END;
CREATE TRIGGER code_files_delete AFTER DELETE ON code_files BEGIN DELETE FROM checksums WHERE scope = 15 AND unit = OLD.id >> 6; END;
CREATE TRIGGER run_edges_insert AFTER INSERT ON run_edges BEGIN DELETE FROM checksums WHERE scope = 16 AND unit = NEW.file >> 3; END;
CREATE TRIGGER run_edges_update AFTER UPDATE ON run_edges BEGIN DELETE FROM checksums WHERE scope = 16 AND unit = OLD.file >> 3; END;
CREATE TRIGGER run_edges_delete AFTER DELETE ON run_edges BEGIN DELETE FROM checksums WHERE scope = 16 AND unit = OLD.file >> 3; END;
CREATE TRIGGER event_log_update AFTER UPDATE ON event_log BEGIN DELETE FROM checksums WHERE scope = 17 AND unit = OLD.id >> 8; END;
CREATE TRIGGER event_log_delete AFTER DELETE ON event_log BEGIN DELETE FROM checksums WHERE scope = 17 AND unit = OLD.id >> 8; END;
CREATE TRIGGER compressions_update AFTER UPDATE ON compressions BEGIN DELETE FROM checksums WHERE scope = 18 AND unit = OLD.id >> 6; END;
CREATE TRIGGER compressions_delete AFTER DELETE ON compressions BEGIN DELETE FROM checksums WHERE scope = 18 AND unit = OLD.id >> 6; END;
CREATE TRIGGER settings_insert AFTER INSERT ON settings BEGIN DELETE FROM checksums WHERE scope = 19 AND unit = 0; END;
CREATE TRIGGER settings_update AFTER UPDATE ON settings BEGIN DELETE FROM checksums WHERE scope = 19 AND unit = 0; END;
CREATE TRIGGER settings_delete AFTER DELETE ON settings BEGIN DELETE FROM checksums WHERE scope = 19 AND unit = 0; END;
CREATE TRIGGER forgotten_insert AFTER INSERT ON forgotten BEGIN DELETE FROM checksums WHERE scope = 20 AND unit = 0; END;
CREATE TRIGGER forgotten_delete AFTER DELETE ON forgotten BEGIN DELETE FROM checksums WHERE scope = 20 AND unit = 0; END;
CREATE TRIGGER loose_titles_insert AFTER INSERT ON loose_titles BEGIN DELETE FROM checksums WHERE scope = 21 AND unit = 0; END;
CREATE TRIGGER loose_titles_update AFTER UPDATE ON loose_titles BEGIN DELETE FROM checksums WHERE scope = 21 AND unit = 0; END;
CREATE TRIGGER loose_titles_delete AFTER DELETE ON loose_titles BEGIN DELETE FROM checksums WHERE scope = 21 AND unit = 0; END;
CREATE TRIGGER event_keys_update AFTER UPDATE ON event_keys BEGIN DELETE FROM checksums WHERE scope = 22 AND unit = 0; END;
CREATE TRIGGER event_keys_delete AFTER DELETE ON event_keys BEGIN DELETE FROM checksums WHERE scope = 22 AND unit = 0; END;
CREATE TRIGGER responses_update AFTER UPDATE ON responses BEGIN DELETE FROM checksums WHERE scope = 23 AND unit = 0; END;
CREATE TRIGGER responses_delete AFTER DELETE ON responses BEGIN DELETE FROM checksums WHERE scope = 23 AND unit = 0; END;
CREATE TRIGGER embedded_insert AFTER INSERT ON embedded BEGIN DELETE FROM checksums WHERE scope = 24 AND unit = NEW.session; END;
CREATE TRIGGER embedded_update AFTER UPDATE ON embedded BEGIN DELETE FROM checksums WHERE scope = 24 AND unit = OLD.session; END;
CREATE TRIGGER embedded_delete AFTER DELETE ON embedded BEGIN DELETE FROM checksums WHERE scope = 24 AND unit = OLD.session; END;
CREATE TRIGGER unindexed_insert AFTER INSERT ON unindexed BEGIN DELETE FROM checksums WHERE scope = 24 AND unit = NEW.session; END;
CREATE TRIGGER unindexed_update AFTER UPDATE ON unindexed BEGIN DELETE FROM checksums WHERE scope = 24 AND unit = OLD.session; END;
CREATE TRIGGER unindexed_delete AFTER DELETE ON unindexed BEGIN DELETE FROM checksums WHERE scope = 24 AND unit = OLD.session; END;
