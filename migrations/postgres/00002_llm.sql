-- +goose Up
-- One row per request that reached a model's endpoint. No words of anybody.
CREATE TABLE llm_calls (
    seq        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id         text COLLATE "C" NOT NULL UNIQUE,
    tenant     text COLLATE "C" NOT NULL,
    scope      text COLLATE "C" NOT NULL, -- a name, empty when it was about none
    run        text COLLATE "C" NOT NULL,
    job        text COLLATE "C" NOT NULL,
    purpose    text COLLATE "C" NOT NULL,
    model      text COLLATE "C" NOT NULL,
    outcome    text COLLATE "C" NOT NULL,
    tokens_in  bigint NOT NULL,
    tokens_out bigint NOT NULL,
    cached     bigint NOT NULL,
    estimated  boolean NOT NULL,
    cost       double precision, -- US dollars
    latency    bigint NOT NULL,  -- milliseconds
    at         timestamptz NOT NULL
);
CREATE INDEX llm_calls_at ON llm_calls (tenant, at);

CREATE TABLE llm_budgets (
    tenant text COLLATE "C" NOT NULL,
    day    text COLLATE "C" NOT NULL,
    drawn  bigint NOT NULL, -- reserved or spent
    short  bigint NOT NULL, -- what did not fit when a request was last turned away
    PRIMARY KEY (tenant, day)
);

-- Answers may hold words, so they go when their owners are erased.
CREATE TABLE llm_answers (
    tenant     text COLLATE "C" NOT NULL,
    key        text COLLATE "C" NOT NULL,
    answer     text NOT NULL, -- JSON
    at         timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, key)
);
CREATE INDEX llm_answers_expires ON llm_answers (expires_at);

CREATE TABLE llm_answer_owners (
    owner  text COLLATE "C" NOT NULL, -- a memory or a turn
    tenant text COLLATE "C" NOT NULL,
    key    text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, tenant, key),
    FOREIGN KEY (tenant, key) REFERENCES llm_answers (tenant, key) ON DELETE CASCADE
);
CREATE INDEX llm_answer_owners_key ON llm_answer_owners (tenant, key);
