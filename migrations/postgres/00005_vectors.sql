-- +goose Up
-- How often a vector of the scope was put or dropped.
ALTER TABLE scopes ADD COLUMN vectors bigint NOT NULL DEFAULT 0;

-- What an embedder made of a memory. One that was dropped keeps its row, with
-- no dimensions, so that who holds vectors in memory hears of it.
CREATE TABLE vectors (
    memory     bigint NOT NULL, -- memories.seq
    embedder   text COLLATE "C" NOT NULL,    -- name/dimensions/version
    scope      bigint NOT NULL,
    mark       bigint NOT NULL, -- scopes.vectors when it was put or dropped
    dimensions integer NOT NULL,
    vector     bytea NOT NULL,    -- float32, little endian; package store has the form
    PRIMARY KEY (memory, embedder)
);
ALTER TABLE vectors ALTER COLUMN vector SET STORAGE EXTERNAL; -- numbers do not compress
CREATE INDEX vectors_mark ON vectors (scope, embedder, mark, memory);

-- The graph: things that memories name, and how they relate. Whatever stands in
-- it rests on memories and goes with the last of them.
CREATE TABLE graph_nodes (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id          text COLLATE "C" NOT NULL UNIQUE,
    scope       bigint NOT NULL REFERENCES scopes (seq),
    name        text NOT NULL, -- as the oldest memory has it
    norm        text COLLATE "C" NOT NULL, -- the name as it is compared
    type        text COLLATE "C" NOT NULL,
    description text NOT NULL,
    mentions    bigint NOT NULL, -- memories that name it
    UNIQUE (scope, norm)
);
CREATE INDEX graph_nodes_unsaid ON graph_nodes (scope) WHERE mentions = 0;

CREATE TABLE graph_mentions (
    node        bigint NOT NULL,
    memory      bigint NOT NULL, -- memories.seq
    name        text NOT NULL,
    norm        text COLLATE "C" NOT NULL,
    type        text COLLATE "C" NOT NULL,
    description text NOT NULL,
    PRIMARY KEY (node, memory)
);
CREATE INDEX graph_mentions_memory ON graph_mentions (memory);

-- Every name of a node, its own among them. One name belongs to one node.
CREATE TABLE graph_aliases (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope    bigint NOT NULL,
    node     bigint NOT NULL,
    name     text NOT NULL,
    norm     text COLLATE "C" NOT NULL,
    words    integer NOT NULL, -- how many terms it has
    mentions bigint NOT NULL,
    UNIQUE (scope, norm)
);
CREATE INDEX graph_aliases_unsaid ON graph_aliases (scope) WHERE mentions = 0;

CREATE TABLE graph_alias_mentions (
    alias  bigint NOT NULL,
    memory bigint NOT NULL,
    PRIMARY KEY (alias, memory)
);
CREATE INDEX graph_alias_mentions_memory ON graph_alias_mentions (memory);

-- The terms of names, hashed as those of memories are.
CREATE TABLE graph_words (
    scope bigint NOT NULL,
    term  bigint NOT NULL,
    alias bigint NOT NULL,
    PRIMARY KEY (scope, term, alias)
);
CREATE INDEX graph_words_alias ON graph_words (alias);

CREATE TABLE graph_edges (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope     bigint NOT NULL,
    from_node bigint NOT NULL,
    to_node   bigint NOT NULL,
    type      text COLLATE "C" NOT NULL,
    mentions  bigint NOT NULL, -- memories that say it, its weight
    UNIQUE (from_node, to_node, type)
);
CREATE INDEX graph_edges_unsaid ON graph_edges (scope) WHERE mentions = 0;
CREATE INDEX graph_edges_from ON graph_edges (from_node, mentions DESC, seq DESC);
CREATE INDEX graph_edges_to ON graph_edges (to_node, mentions DESC, seq DESC);

CREATE TABLE graph_edge_mentions (
    edge   bigint NOT NULL,
    memory bigint NOT NULL,
    PRIMARY KEY (edge, memory)
);
CREATE INDEX graph_edge_mentions_memory ON graph_edge_mentions (memory);
