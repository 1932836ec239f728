-- +goose Up
-- Nothing here: row-level security is Postgres's. A SQLite file is one process's or
-- one machine's own, and its statements are held to their tenant by their predicates.
SELECT 1;
