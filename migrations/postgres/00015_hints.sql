-- +goose Up
-- The hashes of the hints by which a memory is in memory_terms beside its words,
-- and the version of the rules that they were made by; 0 is none. What stands
-- there before this migration is made up for by a run of the job reindex.
ALTER TABLE memories ADD COLUMN IF NOT EXISTS hints bigint[] NOT NULL DEFAULT '{}';
ALTER TABLE memories ADD COLUMN IF NOT EXISTS hint_rules int NOT NULL DEFAULT 0;
