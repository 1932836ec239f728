-- +goose Up
CREATE TABLE scopes (
    seq        INTEGER PRIMARY KEY,
    tenant     TEXT NOT NULL,
    name       TEXT NOT NULL,
    zone       TEXT NOT NULL,
    policy     TEXT NOT NULL, -- JSON
    version    INTEGER NOT NULL,
    memories   INTEGER NOT NULL, -- texts that were ever indexed, for BM25
    terms      INTEGER NOT NULL, -- their lengths in terms, summed
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

-- The only place where the words of memories and turns stand.
CREATE TABLE contents (
    id    TEXT PRIMARY KEY,
    scope INTEGER NOT NULL REFERENCES scopes (seq),
    owner TEXT NOT NULL, -- a memory or a turn
    salt  TEXT NOT NULL,
    body  TEXT NOT NULL  -- JSON
) STRICT;
CREATE INDEX contents_owner ON contents (owner);

CREATE TABLE memories (
    seq             INTEGER PRIMARY KEY,
    id              TEXT NOT NULL UNIQUE,
    scope           INTEGER NOT NULL REFERENCES scopes (seq),
    status          TEXT NOT NULL,
    replaced_by     TEXT NOT NULL,
    kind            TEXT NOT NULL,
    slot            TEXT NOT NULL,
    key             TEXT NOT NULL,
    content_id      TEXT NOT NULL,
    digest          TEXT NOT NULL,
    content_version INTEGER NOT NULL,
    importance      REAL NOT NULL,
    rating          REAL NOT NULL,
    rated           INTEGER NOT NULL,
    confirmations   INTEGER NOT NULL,
    source          TEXT NOT NULL,
    pinned          INTEGER NOT NULL,
    said_at         INTEGER NOT NULL,
    confirmed_at    INTEGER,
    touched_at      INTEGER,
    expires_at      INTEGER,
    review_at       INTEGER,
    turn            TEXT NOT NULL,
    conversation    TEXT NOT NULL,
    quote           TEXT NOT NULL, -- JSON, offsets only
    derived         INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    version         INTEGER NOT NULL,
    -- counters, outside the log
    access_count    INTEGER NOT NULL,
    last_used_at    INTEGER,
    -- derived from the rest and the scope's policy
    ref_time        INTEGER NOT NULL,
    half_life       REAL NOT NULL,
    fades_at        INTEGER,
    rank_key        REAL NOT NULL
) STRICT;
CREATE UNIQUE INDEX memories_address ON memories (scope, slot, key) WHERE status = 'active' AND key <> '';
CREATE INDEX memories_history ON memories (scope, slot, key) WHERE key <> '';
CREATE INDEX memories_rank ON memories (scope, half_life, rank_key DESC, id) WHERE status = 'active';
CREATE INDEX memories_fades ON memories (scope, fades_at) WHERE status = 'active' AND fades_at IS NOT NULL;
CREATE INDEX memories_expires ON memories (scope, expires_at) WHERE status = 'active' AND expires_at IS NOT NULL;
CREATE INDEX memories_said ON memories (scope, said_at DESC, id DESC);
CREATE INDEX memories_turn ON memories (turn) WHERE turn <> '';

-- Terms are 64-bit hashes, so that no word outlives the content it stood in.
CREATE TABLE memory_terms (
    scope  INTEGER NOT NULL,
    term   INTEGER NOT NULL,
    memory INTEGER NOT NULL, -- memories.seq
    tf     INTEGER NOT NULL,
    length INTEGER NOT NULL, -- of the whole text, in terms
    PRIMARY KEY (scope, term, memory)
) STRICT, WITHOUT ROWID;

CREATE TABLE turns (
    seq          INTEGER PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    scope        INTEGER NOT NULL REFERENCES scopes (seq),
    conversation TEXT NOT NULL,
    content_id   TEXT NOT NULL,
    at           INTEGER NOT NULL,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    memories     INTEGER NOT NULL,
    judge        TEXT NOT NULL,
    run          TEXT NOT NULL,
    redacted     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL
) STRICT;
CREATE INDEX turns_waiting ON turns (scope, at, id) WHERE state = 'waiting';
CREATE INDEX turns_said ON turns (scope, at DESC, id DESC);

CREATE TABLE links (
    from_id TEXT NOT NULL,
    to_id   TEXT NOT NULL,
    type    TEXT NOT NULL,
    scope   INTEGER NOT NULL,
    PRIMARY KEY (from_id, to_id, type)
) STRICT, WITHOUT ROWID;
CREATE INDEX links_to ON links (to_id);

CREATE TABLE verdicts (
    older    TEXT NOT NULL,
    newer    TEXT NOT NULL,
    scope    INTEGER NOT NULL,
    relation TEXT NOT NULL,
    judge    TEXT NOT NULL,
    run      TEXT NOT NULL,
    at       INTEGER NOT NULL,
    PRIMARY KEY (older, newer)
) STRICT, WITHOUT ROWID;
CREATE INDEX verdicts_newer ON verdicts (newer);

-- The audit log. Nothing updates or deletes its rows.
CREATE TABLE memory_events (
    seq         INTEGER PRIMARY KEY AUTOINCREMENT,
    scope       INTEGER NOT NULL,
    memory      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    type        TEXT NOT NULL,
    before      TEXT NOT NULL, -- JSON
    after       TEXT NOT NULL, -- JSON
    links       TEXT NOT NULL, -- JSON or empty
    unlinks     TEXT NOT NULL, -- JSON or empty
    reason      TEXT NOT NULL,
    actor       TEXT NOT NULL,
    judge       TEXT NOT NULL,
    run         TEXT NOT NULL,
    at          INTEGER NOT NULL,
    recorded_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_events_version ON memory_events (memory, version);
CREATE INDEX memory_events_run ON memory_events (run);

CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    scope       INTEGER NOT NULL,
    name        TEXT NOT NULL,
    trigger     TEXT NOT NULL,
    status      TEXT NOT NULL,
    about       INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,
    counts      TEXT NOT NULL, -- JSON
    changed     INTEGER NOT NULL,
    cursor      TEXT NOT NULL,
    note        TEXT NOT NULL
) STRICT;
CREATE INDEX runs_about ON runs (scope, name, about);

CREATE TABLE schedules (
    scope    INTEGER NOT NULL,
    name     TEXT NOT NULL,
    spec     TEXT NOT NULL,
    next_at  INTEGER NOT NULL,
    last_at  INTEGER,
    catch_up TEXT NOT NULL,
    paused   INTEGER NOT NULL,
    PRIMARY KEY (scope, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX schedules_due ON schedules (next_at) WHERE paused = 0;

-- One row per effect that a job has had; the key decides, not River's row.
CREATE TABLE ledger (
    key TEXT PRIMARY KEY,
    run TEXT NOT NULL,
    at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE discarded (
    id     TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    scope  TEXT NOT NULL,
    kind   TEXT NOT NULL,
    args   TEXT NOT NULL, -- JSON, ids and instants only
    error  TEXT NOT NULL,
    at     INTEGER NOT NULL
) STRICT;

CREATE TABLE workers (
    name    TEXT PRIMARY KEY,
    seen_at INTEGER NOT NULL
) STRICT;
