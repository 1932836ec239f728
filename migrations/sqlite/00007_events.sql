-- +goose Up
-- The log is found by the number of a memory's row. Ids are random, so an index
-- by id costs a page of its own for every event; rows of one age stand together,
-- and so do their events. An event whose memory is not there, which doctor
-- names, gets a number that no row has.
ALTER TABLE memory_events ADD COLUMN memory_seq INTEGER NOT NULL DEFAULT 0; -- memories.seq
UPDATE memory_events SET memory_seq = coalesce((SELECT m.seq FROM memories m WHERE m.id = memory_events.memory), -seq);
DROP INDEX memory_events_version;
CREATE UNIQUE INDEX memory_events_version ON memory_events (memory_seq, version);
