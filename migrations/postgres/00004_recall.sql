-- +goose Up
-- What was said just before and after a memory, which recall takes as evidence.
-- What was written directly has no conversation and costs nothing here.
CREATE INDEX memories_conversation ON memories (scope, conversation, said_at, id) WHERE conversation <> '';
