-- +goose Up
-- The few memories that wait for a decision: what is in quarantine, and what
-- conflicts. The page Review looked for them among all.
CREATE INDEX memories_quarantined ON memories (scope, said_at DESC, id DESC) WHERE status = 'quarantined';
CREATE INDEX links_conflicts ON links (scope, from_id) WHERE type = 'conflicts_with';
