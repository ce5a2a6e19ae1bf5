-- The first format. Everything in it can be made again from the folder of Markdown.
CREATE SCHEMA IF NOT EXISTS papertape;

-- One row: what the newest generation holds.
CREATE TABLE papertape.meta (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    version integer NOT NULL,
    generation bigint NOT NULL DEFAULT 0,
    files bigint NOT NULL DEFAULT 0,
    chunks bigint NOT NULL DEFAULT 0,
    length bigint NOT NULL DEFAULT 0, -- of all chunks, in words
    wanting bigint NOT NULL DEFAULT 0, -- chunks without a vector
    languages text[] NOT NULL DEFAULT '{}',
    model text, -- NULL: there are no vectors
    dimension integer,
    digest text,
    weight real,
    calibrated_on bigint,
    vectors integer NOT NULL DEFAULT 0, -- vectors are in the table vectors_N
    graph boolean NOT NULL DEFAULT false -- whether that has an HNSW index
);

CREATE TABLE papertape.files (
    id bigint PRIMARY KEY, -- of the path, which may be too long for an index
    path text COLLATE "C" NOT NULL,
    stamp bigint[] NOT NULL, -- size, modified, changed, inode
    digest bytea NOT NULL,
    title text NOT NULL,
    date text COLLATE "C",
    tags text[] NOT NULL,
    folded_tags text[] NOT NULL,
    language text NOT NULL,
    chunks integer NOT NULL,
    size bigint NOT NULL
);

CREATE TABLE papertape.chunks (
    id bigint PRIMARY KEY,
    file bigint NOT NULL,
    index integer NOT NULL,
    headings text[] NOT NULL,
    text text NOT NULL,
    key bigint NOT NULL,
    length integer NOT NULL,
    words integer[] NOT NULL, -- its postings, to find them when it goes
    UNIQUE (file, index)
);
CREATE INDEX chunks_key ON papertape.chunks (key);

CREATE TABLE papertape.words (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    word text COLLATE "C" NOT NULL UNIQUE,
    chunks integer NOT NULL -- how many it stands in
) WITH (fillfactor = 70); -- the counts are updated in place

-- Searched in its index alone: so that carries all of a row.
CREATE TABLE papertape.postings (
    chunk bigint NOT NULL,
    word integer NOT NULL,
    times integer NOT NULL,
    length integer NOT NULL, -- of the chunk, rounded as rank::bm25 wants it
    PRIMARY KEY (word, chunk) INCLUDE (times, length)
);

-- Chunks that have no vector yet.
CREATE TABLE papertape.wanting (
    chunk bigint PRIMARY KEY,
    key bigint NOT NULL
);
CREATE INDEX wanting_key ON papertape.wanting (key);

INSERT INTO papertape.meta (version) VALUES (1);
