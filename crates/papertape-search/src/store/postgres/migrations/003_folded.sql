-- Paths and titles in lower case, as filters compare them: what lower() gives depends on the locale of the database.
-- They are filled in as files are indexed again, which the new rules of indexing make happen.
ALTER TABLE papertape.files ADD COLUMN folded_path text NOT NULL DEFAULT '';
ALTER TABLE papertape.files ADD COLUMN folded_title text NOT NULL DEFAULT '';
