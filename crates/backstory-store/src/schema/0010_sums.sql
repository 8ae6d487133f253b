-- Checksum of a captured event, written with it by the hook: XXH3 over key, kind, session, at, name, seq and body. NULL in rows from before
-- this column and in those whose body is gone, which are covered by the table `checksums` alone.
ALTER TABLE queue ADD COLUMN sum INTEGER;

-- Checksum of the name and value of a setting. NULL in rows from before this column, until the next sweep.
ALTER TABLE settings ADD COLUMN sum INTEGER;
