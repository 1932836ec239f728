-- +goose Up
-- The log of one scope in its order, for who asks for the newest events among
-- many scopes. That of one run is in order: an entry of an index ends with the number of its row.
CREATE INDEX memory_events_scope ON memory_events (scope);
