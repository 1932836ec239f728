-- +goose Up
-- Which memories a conversation's agent was shown, and when first: what it says
-- of them there afterwards confirms nothing.
CREATE TABLE shown (
    memory       text COLLATE "C" NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    scope        bigint NOT NULL,
    at           timestamptz NOT NULL,
    PRIMARY KEY (memory, conversation)
);
