-- +goose Up
-- The list of runs, newest first, in one scope and over them all. It sorted every
-- run that there is.
CREATE INDEX runs_newest ON runs (scope, about DESC, started_at DESC, id DESC);
