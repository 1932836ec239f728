-- +goose Up
-- By which states of mind a conversation was asked, so that one that is asked
-- again while the conversation went on is noticed. Digests and no words; the
-- salt goes with the row.
CREATE TABLE cues (
    scope        bigint NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    salt         text NOT NULL,
    digest       text NOT NULL,
    turn         text NOT NULL, -- the newest of the conversation then, '' for none
    at           timestamptz NOT NULL,
    PRIMARY KEY (scope, conversation, digest)
);
CREATE INDEX cues_at ON cues (scope, at);

-- The turns of one conversation, newest first.
CREATE INDEX IF NOT EXISTS turns_conversation ON turns (scope, conversation, at DESC, id DESC);
