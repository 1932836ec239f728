-- +goose Up
-- By which states of mind a conversation was asked, so that one that is asked
-- again while the conversation went on is noticed. Digests and no words; the
-- salt goes with the row.
CREATE TABLE cues (
    scope        INTEGER NOT NULL,
    conversation TEXT NOT NULL,
    salt         TEXT NOT NULL,
    digest       TEXT NOT NULL,
    turn         TEXT NOT NULL, -- the newest of the conversation then, '' for none
    at           INTEGER NOT NULL,
    PRIMARY KEY (scope, conversation, digest)
) STRICT, WITHOUT ROWID;
CREATE INDEX cues_at ON cues (scope, at);

-- The turns of one conversation, newest first.
CREATE INDEX IF NOT EXISTS turns_conversation ON turns (scope, conversation, at DESC, id DESC);
