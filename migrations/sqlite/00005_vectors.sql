-- +goose Up
-- How often a vector of the scope was put or dropped.
ALTER TABLE scopes ADD COLUMN vectors INTEGER NOT NULL DEFAULT 0;

-- What an embedder made of a memory. One that was dropped keeps its row, with
-- no dimensions, so that who holds vectors in memory hears of it.
CREATE TABLE vectors (
    memory     INTEGER NOT NULL, -- memories.seq
    embedder   TEXT NOT NULL,    -- name/dimensions/version
    scope      INTEGER NOT NULL,
    mark       INTEGER NOT NULL, -- scopes.vectors when it was put or dropped
    dimensions INTEGER NOT NULL,
    vector     BLOB NOT NULL,    -- float32, little endian; package store has the form
    PRIMARY KEY (memory, embedder)
) STRICT;
CREATE INDEX vectors_mark ON vectors (scope, embedder, mark, memory);

-- The graph: things that memories name, and how they relate. Whatever stands in
-- it rests on memories and goes with the last of them.
CREATE TABLE graph_nodes (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    scope       INTEGER NOT NULL REFERENCES scopes (seq),
    name        TEXT NOT NULL, -- as the oldest memory has it
    norm        TEXT NOT NULL, -- the name as it is compared
    type        TEXT NOT NULL,
    description TEXT NOT NULL,
    mentions    INTEGER NOT NULL, -- memories that name it
    UNIQUE (scope, norm)
) STRICT;
CREATE INDEX graph_nodes_unsaid ON graph_nodes (scope) WHERE mentions = 0;

CREATE TABLE graph_mentions (
    node        INTEGER NOT NULL,
    memory      INTEGER NOT NULL, -- memories.seq
    name        TEXT NOT NULL,
    norm        TEXT NOT NULL,
    type        TEXT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (node, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_mentions_memory ON graph_mentions (memory);

-- Every name of a node, its own among them. One name belongs to one node.
CREATE TABLE graph_aliases (
    seq      INTEGER PRIMARY KEY,
    scope    INTEGER NOT NULL,
    node     INTEGER NOT NULL,
    name     TEXT NOT NULL,
    norm     TEXT NOT NULL,
    words    INTEGER NOT NULL, -- how many terms it has
    mentions INTEGER NOT NULL,
    UNIQUE (scope, norm)
) STRICT;
CREATE INDEX graph_aliases_unsaid ON graph_aliases (scope) WHERE mentions = 0;

CREATE TABLE graph_alias_mentions (
    alias  INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    PRIMARY KEY (alias, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_alias_mentions_memory ON graph_alias_mentions (memory);

-- The terms of names, hashed as those of memories are.
CREATE TABLE graph_words (
    scope INTEGER NOT NULL,
    term  INTEGER NOT NULL,
    alias INTEGER NOT NULL,
    PRIMARY KEY (scope, term, alias)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_words_alias ON graph_words (alias);

CREATE TABLE graph_edges (
    seq       INTEGER PRIMARY KEY,
    scope     INTEGER NOT NULL,
    from_node INTEGER NOT NULL,
    to_node   INTEGER NOT NULL,
    type      TEXT NOT NULL,
    mentions  INTEGER NOT NULL, -- memories that say it, its weight
    UNIQUE (from_node, to_node, type)
) STRICT;
CREATE INDEX graph_edges_unsaid ON graph_edges (scope) WHERE mentions = 0;
CREATE INDEX graph_edges_from ON graph_edges (from_node, mentions DESC, seq DESC);
CREATE INDEX graph_edges_to ON graph_edges (to_node, mentions DESC, seq DESC);

CREATE TABLE graph_edge_mentions (
    edge   INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    PRIMARY KEY (edge, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_edge_mentions_memory ON graph_edge_mentions (memory);
