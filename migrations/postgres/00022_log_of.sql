-- +goose Up
-- The log of one scope and that of one run, each in its order: who asked for them
-- read past all that others wrote.
CREATE INDEX memory_events_scope ON memory_events (scope, seq);
CREATE INDEX memory_events_of_run ON memory_events (run, seq);
DROP INDEX memory_events_run;
