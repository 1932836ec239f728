-- +goose Up
-- The list of runs, newest first: in one scope and over them all, of every name and
-- of one. It sorted every run that there is.
DROP INDEX runs_about;
CREATE INDEX runs_about ON runs (scope, name, about DESC, started_at DESC, id DESC);
CREATE INDEX runs_newest ON runs (scope, about DESC, started_at DESC, id DESC);
