-- +goose Up
-- Rights to a tenant. The secret is nowhere; its hash says whether one fits.
CREATE TABLE api_keys (
    id           TEXT PRIMARY KEY,
    tenant       TEXT NOT NULL,
    name         TEXT NOT NULL,
    permissions  TEXT NOT NULL, -- JSON
    hash         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER,
    revoked_at   INTEGER,
    last_used_at INTEGER
) STRICT;
CREATE INDEX api_keys_tenant ON api_keys (tenant, created_at);

-- Requests that had their effect, so that one sent twice has it once. No words:
-- digest is salted with the key that the caller chose, outcome is ids and counts.
CREATE TABLE requests (
    tenant  TEXT NOT NULL,
    key     TEXT NOT NULL,
    digest  TEXT NOT NULL,
    outcome TEXT NOT NULL, -- JSON
    at      INTEGER NOT NULL,
    PRIMARY KEY (tenant, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_at ON requests (at);
