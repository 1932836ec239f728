-- +goose Up
-- One row per request that reached a model's endpoint. No words of anybody.
CREATE TABLE llm_calls (
    seq        INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    tenant     TEXT NOT NULL,
    scope      TEXT NOT NULL, -- a name, empty when it was about none
    run        TEXT NOT NULL,
    job        TEXT NOT NULL,
    purpose    TEXT NOT NULL,
    model      TEXT NOT NULL,
    outcome    TEXT NOT NULL,
    tokens_in  INTEGER NOT NULL,
    tokens_out INTEGER NOT NULL,
    cached     INTEGER NOT NULL,
    estimated  INTEGER NOT NULL,
    cost       REAL,             -- US dollars
    latency    INTEGER NOT NULL, -- milliseconds
    at         INTEGER NOT NULL
) STRICT;
CREATE INDEX llm_calls_at ON llm_calls (tenant, at);

CREATE TABLE llm_budgets (
    tenant TEXT NOT NULL,
    day    TEXT NOT NULL,
    drawn  INTEGER NOT NULL, -- reserved or spent
    short  INTEGER NOT NULL, -- what did not fit when a request was last turned away
    PRIMARY KEY (tenant, day)
) STRICT, WITHOUT ROWID;

-- Answers may hold words, so they go when their owners are erased.
CREATE TABLE llm_answers (
    tenant     TEXT NOT NULL,
    key        TEXT NOT NULL,
    answer     TEXT NOT NULL, -- JSON
    at         INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX llm_answers_expires ON llm_answers (expires_at);

CREATE TABLE llm_answer_owners (
    owner  TEXT NOT NULL, -- a memory or a turn
    tenant TEXT NOT NULL,
    key    TEXT NOT NULL,
    PRIMARY KEY (owner, tenant, key),
    FOREIGN KEY (tenant, key) REFERENCES llm_answers (tenant, key) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX llm_answer_owners_key ON llm_answer_owners (tenant, key);
