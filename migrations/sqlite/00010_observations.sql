-- +goose Up
-- What conversations are condensed into. A turn names the run in which it was
-- observed, '' while it was not, so that what arrives late is observed with the
-- next stretch; its tokens say when a stretch is long enough.
ALTER TABLE turns ADD COLUMN observed TEXT NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;
UPDATE turns SET tokens = coalesce((SELECT length(c.body) / 4 FROM contents c WHERE c.id = turns.content_id), 0);
CREATE INDEX turns_unobserved ON turns (scope, conversation, at, id) WHERE observed = '' AND conversation <> '';

-- The turns that an observation rests on, the first of them too.
CREATE TABLE memory_turns (
    scope  INTEGER NOT NULL,
    memory TEXT NOT NULL,
    turn   TEXT NOT NULL,
    PRIMARY KEY (scope, memory, turn)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_turns_turn ON memory_turns (turn);

-- What an agent was shown in a conversation does not come back as an observation.
CREATE INDEX shown_conversation ON shown (scope, conversation);
