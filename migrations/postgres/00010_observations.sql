-- +goose Up
-- What conversations are condensed into. A turn names the run in which it was
-- observed, '' while it was not, so that what arrives late is observed with the
-- next stretch; its tokens say when a stretch is long enough.
ALTER TABLE turns ADD COLUMN observed text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE turns ADD COLUMN tokens bigint NOT NULL DEFAULT 0;
UPDATE turns SET tokens = octet_length(c.body) / 4 FROM contents c WHERE c.id = turns.content_id;
CREATE INDEX turns_unobserved ON turns (scope, conversation, at, id) WHERE observed = '' AND conversation <> '';

-- The turns that an observation rests on, the first of them too.
CREATE TABLE memory_turns (
    scope  bigint NOT NULL,
    memory text COLLATE "C" NOT NULL,
    turn   text COLLATE "C" NOT NULL,
    PRIMARY KEY (scope, memory, turn)
);
CREATE INDEX memory_turns_turn ON memory_turns (turn);

-- What an agent was shown in a conversation does not come back as an observation.
CREATE INDEX shown_conversation ON shown (scope, conversation);
