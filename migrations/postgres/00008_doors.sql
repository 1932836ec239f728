-- +goose Up
-- Rights to a tenant. The secret is nowhere; its hash says whether one fits.
CREATE TABLE api_keys (
    id           text COLLATE "C" PRIMARY KEY,
    tenant       text COLLATE "C" NOT NULL,
    name         text COLLATE "C" NOT NULL,
    permissions  text NOT NULL, -- JSON
    hash         text NOT NULL,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX api_keys_tenant ON api_keys (tenant, created_at);

-- Requests that had their effect, so that one sent twice has it once. No words:
-- digest is salted with the key that the caller chose, outcome is ids and counts.
CREATE TABLE requests (
    tenant  text COLLATE "C" NOT NULL,
    key     text COLLATE "C" NOT NULL,
    digest  text NOT NULL,
    outcome text NOT NULL, -- JSON
    at      timestamptz NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX requests_at ON requests (at);
