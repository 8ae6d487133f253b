-- Hash of all bytes of a source file up to the cursor; NULL until it is known. A file whose times changed but that did not grow
-- is compared by it.
ALTER TABLE source_files ADD COLUMN content_hash BLOB;

-- When the file's inode changed last, in nanoseconds; 0 until it is known.
ALTER TABLE source_files ADD COLUMN changed_ns INTEGER NOT NULL DEFAULT 0;
