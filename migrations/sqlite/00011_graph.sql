-- +goose Up
-- The graph anew: what a memory says is kept by name, and a node is a set of
-- names that memories say are one. So two nodes can be joined by a later memory and
-- parted again when it goes. Nothing had filled the old tables; what was put there
-- by hand is read from the memories again by: oxbow job run graph
DROP TABLE graph_nodes;
DROP TABLE graph_mentions;
DROP TABLE graph_alias_mentions;
DROP TABLE graph_edges;
DELETE FROM graph_aliases;
DELETE FROM graph_words;
DELETE FROM graph_edge_mentions;

CREATE TABLE graph_nodes (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL,    -- follows from scope and norm
    scope       INTEGER NOT NULL REFERENCES scopes (seq),
    name        TEXT NOT NULL,    -- as it was said first
    norm        TEXT NOT NULL,    -- the name as it is compared
    type        TEXT NOT NULL,
    description TEXT NOT NULL,    -- the last that was said
    mentions    INTEGER NOT NULL  -- memories that name it
) STRICT;
CREATE INDEX graph_nodes_id ON graph_nodes (id);
CREATE INDEX graph_nodes_scope ON graph_nodes (scope, mentions DESC, id);
CREATE INDEX graph_nodes_unsaid ON graph_nodes (scope) WHERE mentions = 0;

CREATE INDEX graph_aliases_node ON graph_aliases (node);

-- What a memory names, by its own name for it. node follows from alias.
CREATE TABLE graph_mentions (
    alias       INTEGER NOT NULL, -- graph_aliases.seq
    memory      INTEGER NOT NULL, -- memories.seq
    node        INTEGER NOT NULL,
    at          INTEGER NOT NULL, -- memories.said_at
    name        TEXT NOT NULL,
    type        TEXT NOT NULL,
    description TEXT NOT NULL,
    PRIMARY KEY (alias, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_mentions_memory ON graph_mentions (memory);
CREATE INDEX graph_mentions_node ON graph_mentions (node, memory DESC);
CREATE INDEX graph_mentions_first ON graph_mentions (node, at, name);
CREATE INDEX graph_mentions_typed ON graph_mentions (node, at, type) WHERE type <> '';
CREATE INDEX graph_mentions_described ON graph_mentions (node, at DESC) WHERE description <> '';

-- That a memory says of a thing that it has another name too.
CREATE TABLE graph_same (
    alias  INTEGER NOT NULL,
    other  INTEGER NOT NULL,
    memory INTEGER NOT NULL,
    name   TEXT NOT NULL,
    PRIMARY KEY (alias, other, memory)
) STRICT, WITHOUT ROWID;
CREATE INDEX graph_same_other ON graph_same (other);
CREATE INDEX graph_same_memory ON graph_same (memory);

-- Edges run between names; the nodes follow from them. One between two names of
-- one node stays, for when they part.
CREATE TABLE graph_edges (
    seq        INTEGER PRIMARY KEY,
    scope      INTEGER NOT NULL,
    from_alias INTEGER NOT NULL,
    to_alias   INTEGER NOT NULL,
    from_node  INTEGER NOT NULL,
    to_node    INTEGER NOT NULL,
    type       TEXT NOT NULL,
    mentions   INTEGER NOT NULL, -- memories that say it, its weight
    UNIQUE (from_alias, to_alias, type)
) STRICT;
CREATE INDEX graph_edges_unsaid ON graph_edges (scope) WHERE mentions = 0;
CREATE INDEX graph_edges_from ON graph_edges (from_node, mentions DESC, seq DESC);
CREATE INDEX graph_edges_to ON graph_edges (to_node, mentions DESC, seq DESC);
CREATE INDEX graph_edges_to_alias ON graph_edges (to_alias);

-- Which memories were read for the graph, and by what.
CREATE TABLE graph_read (
    memory  INTEGER PRIMARY KEY,
    grapher TEXT NOT NULL
) STRICT;

-- What an embedder made of "name: description" of a node. One that was dropped
-- keeps its row, as in vectors.
ALTER TABLE scopes ADD COLUMN graph_vectors INTEGER NOT NULL DEFAULT 0;
CREATE TABLE graph_vectors (
    node       INTEGER NOT NULL,
    embedder   TEXT NOT NULL,
    scope      INTEGER NOT NULL,
    mark       INTEGER NOT NULL, -- scopes.graph_vectors when it was put or dropped
    dimensions INTEGER NOT NULL,
    vector     BLOB NOT NULL,
    PRIMARY KEY (node, embedder)
) STRICT;
CREATE INDEX graph_vectors_mark ON graph_vectors (scope, embedder, mark, node);
