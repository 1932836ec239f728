-- +goose Up
-- Everything stands in the schema that is first in search_path. What is compared
-- or ordered by has COLLATE "C", the order of bytes, as in SQLite.
CREATE TABLE scopes (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    tenant     text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    zone       text NOT NULL,
    policy     text NOT NULL, -- JSON
    version    integer NOT NULL,
    memories   bigint NOT NULL, -- texts that were ever indexed, for BM25
    terms      bigint NOT NULL, -- their lengths in terms, summed
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    UNIQUE (tenant, name)
);

-- The only place where the words of memories and turns stand.
CREATE TABLE contents (
    id    text COLLATE "C" PRIMARY KEY,
    scope bigint NOT NULL REFERENCES scopes (seq),
    owner text COLLATE "C" NOT NULL, -- a memory or a turn
    salt  text NOT NULL,
    body  text NOT NULL  -- JSON
);
CREATE INDEX contents_owner ON contents (owner);

CREATE TABLE memories (
    seq             bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id              text COLLATE "C" NOT NULL UNIQUE,
    scope           bigint NOT NULL REFERENCES scopes (seq),
    status          text COLLATE "C" NOT NULL,
    replaced_by     text COLLATE "C" NOT NULL,
    kind            text COLLATE "C" NOT NULL,
    slot            text COLLATE "C" NOT NULL,
    key             text COLLATE "C" NOT NULL,
    content_id      text COLLATE "C" NOT NULL,
    digest          text NOT NULL,
    content_version integer NOT NULL,
    importance      double precision NOT NULL,
    rating          double precision NOT NULL,
    rated           boolean NOT NULL,
    confirmations   integer NOT NULL,
    source          text COLLATE "C" NOT NULL,
    pinned          boolean NOT NULL,
    said_at         timestamptz NOT NULL,
    confirmed_at    timestamptz,
    touched_at      timestamptz,
    expires_at      timestamptz,
    review_at       timestamptz,
    turn            text COLLATE "C" NOT NULL,
    conversation    text COLLATE "C" NOT NULL,
    quote           text NOT NULL, -- JSON, offsets only
    derived         boolean NOT NULL,
    created_at      timestamptz NOT NULL,
    version         integer NOT NULL,
    -- counters, outside the log
    access_count    integer NOT NULL,
    last_used_at    timestamptz,
    -- derived from the rest and the scope's policy
    ref_time        timestamptz NOT NULL,
    half_life       double precision NOT NULL,
    fades_at        timestamptz,
    rank_key        double precision NOT NULL
);
CREATE UNIQUE INDEX memories_address ON memories (scope, slot, key) WHERE status = 'active' AND key <> '';
CREATE INDEX memories_history ON memories (scope, slot, key) WHERE key <> '';
CREATE INDEX memories_rank ON memories (scope, half_life, rank_key DESC, id) WHERE status = 'active';
CREATE INDEX memories_fades ON memories (scope, fades_at) WHERE status = 'active' AND fades_at IS NOT NULL;
CREATE INDEX memories_expires ON memories (scope, expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE INDEX memories_said ON memories (scope, said_at DESC, id DESC);
CREATE INDEX memories_turn ON memories (turn) WHERE turn <> '';

-- Terms are 64-bit hashes, so that no word outlives the content it stood in.
CREATE TABLE memory_terms (
    scope  bigint NOT NULL,
    term   bigint NOT NULL,
    memory bigint NOT NULL, -- memories.seq
    tf     integer NOT NULL,
    length integer NOT NULL, -- of the whole text, in terms
    PRIMARY KEY (scope, term, memory) INCLUDE (tf, length) -- a search reads the index alone
);

CREATE TABLE turns (
    seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           text COLLATE "C" NOT NULL UNIQUE,
    scope        bigint NOT NULL REFERENCES scopes (seq),
    conversation text COLLATE "C" NOT NULL,
    content_id   text COLLATE "C" NOT NULL,
    at           timestamptz NOT NULL,
    state        text COLLATE "C" NOT NULL,
    reason       text NOT NULL,
    memories     bigint NOT NULL,
    judge        text NOT NULL,
    run          text COLLATE "C" NOT NULL,
    redacted     integer NOT NULL,
    created_at   timestamptz NOT NULL
);
CREATE INDEX turns_waiting ON turns (scope, at, id) WHERE state = 'waiting';
CREATE INDEX turns_said ON turns (scope, at DESC, id DESC);

CREATE TABLE links (
    from_id text COLLATE "C" NOT NULL,
    to_id   text COLLATE "C" NOT NULL,
    type    text COLLATE "C" NOT NULL,
    scope   bigint NOT NULL,
    PRIMARY KEY (from_id, to_id, type)
);
CREATE INDEX links_to ON links (to_id);

CREATE TABLE verdicts (
    older    text COLLATE "C" NOT NULL,
    newer    text COLLATE "C" NOT NULL,
    scope    bigint NOT NULL,
    relation text NOT NULL,
    judge    text NOT NULL,
    run      text COLLATE "C" NOT NULL,
    at       timestamptz NOT NULL,
    PRIMARY KEY (older, newer)
);
CREATE INDEX verdicts_newer ON verdicts (newer);

-- The audit log. Nothing updates or deletes its rows.
CREATE TABLE memory_events (
    seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    scope       bigint NOT NULL,
    memory      text COLLATE "C" NOT NULL,
    version     integer NOT NULL,
    type        text COLLATE "C" NOT NULL,
    before      text NOT NULL, -- JSON
    after       text NOT NULL, -- JSON
    links       text NOT NULL, -- JSON or empty
    unlinks     text NOT NULL, -- JSON or empty
    reason      text NOT NULL,
    actor       text NOT NULL,
    judge       text NOT NULL,
    run         text COLLATE "C" NOT NULL,
    at          timestamptz NOT NULL,
    recorded_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX memory_events_version ON memory_events (memory, version);
CREATE INDEX memory_events_run ON memory_events (run);

CREATE TABLE runs (
    id          text COLLATE "C" PRIMARY KEY,
    scope       bigint NOT NULL,
    name        text COLLATE "C" NOT NULL,
    trigger     text COLLATE "C" NOT NULL,
    status      text COLLATE "C" NOT NULL,
    about       timestamptz NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    counts      text NOT NULL, -- JSON
    changed     bigint NOT NULL,
    cursor      text NOT NULL,
    note        text NOT NULL
);
CREATE INDEX runs_about ON runs (scope, name, about);

CREATE TABLE schedules (
    scope    bigint NOT NULL,
    name     text COLLATE "C" NOT NULL,
    spec     text NOT NULL,
    next_at  timestamptz NOT NULL,
    last_at  timestamptz,
    catch_up text COLLATE "C" NOT NULL,
    paused   boolean NOT NULL,
    PRIMARY KEY (scope, name)
);
CREATE INDEX schedules_due ON schedules (next_at) WHERE NOT paused;

-- One row per effect that a job has had; the key decides, not River's row.
CREATE TABLE ledger (
    key text COLLATE "C" PRIMARY KEY,
    run text COLLATE "C" NOT NULL,
    at  timestamptz NOT NULL
);

CREATE TABLE discarded (
    id     text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    scope  text COLLATE "C" NOT NULL,
    kind   text COLLATE "C" NOT NULL,
    args   text NOT NULL, -- JSON, ids and instants only
    error  text NOT NULL,
    at     timestamptz NOT NULL
);

CREATE TABLE workers (
    name    text COLLATE "C" PRIMARY KEY,
    seen_at timestamptz NOT NULL
);
