-- The lines of its file that a chunk stands on; 0 until the file is read again.
ALTER TABLE papertape.chunks ADD COLUMN first_line integer NOT NULL DEFAULT 0, ADD COLUMN last_line integer NOT NULL DEFAULT 0;
