-- +goose Up
-- Which memories a conversation's agent was shown, and when first: what it says
-- of them there afterwards confirms nothing.
CREATE TABLE shown (
    memory       TEXT NOT NULL,
    conversation TEXT NOT NULL,
    scope        INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    PRIMARY KEY (memory, conversation)
) STRICT, WITHOUT ROWID;
