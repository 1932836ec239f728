package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oxbow-memory/oxbow/store"
)

// maxIndexed is the longest vector that pgvector's type vector holds; see
// "Vector Type" in its reference.
const maxIndexed = 16000

// vectorIndex says whether the database has pgvector and the table
// vector_index, which stands beside vectors and has the same numbers in
// pgvector's type. A trigger keeps it, so that it is right whichever process
// writes, also one that was started before the extension was there.
//
// Limit: there is no approximate index. An answer goes through all vectors of
// the scope and the embedder, exactly as recall does in memory.
type vectorIndex struct {
	query atomic.Pointer[string] // nearestOf, nil where there is none
}

// findIndex answers only when all parts are there; a trigger that is switched
// off leaves the table behind the vectors.
const findIndex = `
	SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
	WHERE e.extname = 'vector' AND EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace s ON s.oid = c.relnamespace
		WHERE t.tgname = 'vectors_index' AND t.tgenabled <> 'D' AND c.relname = 'vectors' AND s.nspname = $1)`

// look finds out whether the index is there.
func (x *vectorIndex) look(ctx context.Context, q querier, schema string) error {
	var extension string
	err := q.QueryRow(ctx, findIndex, schema).Scan(&extension)
	if errors.Is(err, pgx.ErrNoRows) {
		x.query.Store(nil)
		return nil
	}
	if err != nil {
		return translate(err, "look for pgvector")
	}
	x.query.Store(new(strings.ReplaceAll(nearestOf, "EXTENSION", pgx.Identifier{extension}.Sanitize())))
	return nil
}

// there tells whether it is.
func (x *vectorIndex) there() bool { return x.query.Load() != nil }

// VectorSearch says in words for an operator what finds the nearest vectors.
func (s *Store) VectorSearch() string {
	if s.index.there() {
		return "pgvector is used"
	}
	return "pgvector is not there; vectors are searched in memory"
}

// nearestOf has the extension's schema instead of EXTENSION, because that is
// not on the search_path. The operator gives the dot product with its sign
// turned, and fails where lengths differ. OFFSET keeps the server from working it
// out once for each place that names the score.
const nearestOf = `
	SELECT n.memory, n.score FROM (
		SELECT i.memory, -(CASE WHEN i.dimensions = $4 THEN i.v OPERATOR(EXTENSION.<#>) (SELECT $3::real[]::EXTENSION.vector) END) AS score
		FROM vector_index i WHERE i.scope = $1 AND i.embedder = $2 OFFSET 0) n
	WHERE n.score > 0 AND n.score <> 'NaN' ORDER BY n.score DESC, n.memory LIMIT $5`

// NearestVectors implements store.VectorReader: exactly, where there is
// pgvector. Of the best, any number may not be shown.
func (r reader) NearestVectors(ctx context.Context, q store.NearestQuery) ([]store.Hit, bool, error) {
	query := r.index.query.Load()
	if _, err := store.CheckVectors([]store.Vector{{Values: q.Vector}}); query == nil || err != nil || len(q.Vector) > maxIndexed {
		return nil, false, nil
	}
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || q.Limit < 1 {
		return nil, err == nil, err
	}
	for n := 4*q.Limit + 32; ; n *= 8 {
		scores := map[int64]float64{}
		best, err := collect(ctx, r.in(q.Scope), "look for near vectors", func(rows pgx.Rows) (number int64, err error) {
			var score float64
			err = rows.Scan(&number, &score)
			scores[number] = math.Round(score*1e6) / 1e6
			return number, err
		}, *query, seq, q.Embedder, q.Vector, len(q.Vector), n)
		if isNoIndex(err) { // somebody dropped the extension
			r.index.query.Store(nil)
			return nil, false, nil
		}
		if err != nil {
			return nil, true, err
		}
		found, err := r.Standing(ctx, store.StandingQuery{Scope: q.Scope, Numbers: best, Statuses: q.Statuses, Now: q.Now})
		if err != nil {
			return nil, true, err
		}
		if len(found) >= q.Limit || len(best) < n {
			return bestHits(found, scores, q.Limit), true, nil
		}
	}
}

// bestHits orders as recall does what it searched in memory.
func bestHits(found []store.Standing, scores map[int64]float64, limit int) []store.Hit {
	hits := make([]store.Hit, len(found))
	for i, f := range found {
		hits[i] = store.Hit{ID: f.ID, Score: scores[f.Number]}
	}
	slices.SortFunc(hits, func(a, b store.Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.ID, b.ID))
	})
	return hits[:min(len(hits), limit)]
}

// isNoIndex tells whether a table, a column, a type or an operator is missing.
func isNoIndex(err error) bool {
	c, ok := errors.AsType[*cause](err)
	return ok && slices.Contains([]string{undefinedTable, "42703", "42704", "42883", invalidSchema}, c.code)
}

// float32At gives the SQL that reads a float32, little endian, at a place of the
// bytes b: Postgres has no cast for that. Every step is exact in its float8.
func float32At(at string) string {
	return strings.ReplaceAll(`(CASE WHEN get_byte(b, AT + 3) > 127 THEN -1.0::float8 ELSE 1.0::float8 END
		* (get_byte(b, AT) + (get_byte(b, AT + 1) << 8) + ((get_byte(b, AT + 2) & 127) << 16)
			+ CASE WHEN (get_byte(b, AT + 3) & 127) = 0 AND get_byte(b, AT + 2) < 128 THEN 0 ELSE 8388608 END)
		* power(2.0::float8, greatest(1, ((get_byte(b, AT + 3) & 127) << 1) + (get_byte(b, AT + 2) >> 7)) - 150))::real`, "AT", at)
}

// vectorOf makes the function that reads what store.PackVector wrote. On the
// server of the tests it takes 0.1 to 0.4 ms a vector of 512 to 1,536 dimensions.
var vectorOf = `CREATE OR REPLACE FUNCTION SCHEMA.vector_of(b bytea, n integer) RETURNS EXTENSION.vector LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
		SELECT CASE WHEN octet_length(b) = 4 * n THEN ARRAY(SELECT ` + float32At("4 * i") + ` FROM generate_series(0, n - 1) i ORDER BY i)
			ELSE ARRAY(SELECT coalesce(p.x, 0) FROM generate_series(0, n - 1) i
				LEFT JOIN (SELECT get_byte(b, 6 * j) + (get_byte(b, 6 * j + 1) << 8) AS place, ` + float32At("(6 * j + 2)") + ` AS x
					FROM generate_series(0, octet_length(b) / 6 - 1) j) p ON p.place = i ORDER BY i)
			END::real[]::EXTENSION.vector $$`

// makeIndex makes the table, what fills it, and its first rows. The trigger's
// WHEN is always true: it names the extension's type, so that dropping the
// extension takes the trigger along, which would fail without it. A value stays
// in its row as long as a page can hold it.
var makeIndex = []string{
	`LOCK TABLE SCHEMA.vectors IN SHARE ROW EXCLUSIVE MODE`,
	`DROP TABLE IF EXISTS SCHEMA.vector_index`,
	`CREATE TABLE SCHEMA.vector_index (
		memory bigint NOT NULL, embedder text COLLATE "C" NOT NULL, scope bigint NOT NULL,
		dimensions integer NOT NULL, v EXTENSION.vector NOT NULL, PRIMARY KEY (memory, embedder)) WITH (toast_tuple_target = 8160)`,
	`ALTER TABLE SCHEMA.vector_index ALTER COLUMN v SET STORAGE EXTERNAL`,
	`CREATE INDEX vector_index_scope ON SCHEMA.vector_index (scope, embedder)`,
	vectorOf,
	`CREATE OR REPLACE FUNCTION SCHEMA.keep_vector_index() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF TG_OP <> 'INSERT' THEN
				DELETE FROM SCHEMA.vector_index WHERE memory = old.memory AND embedder = old.embedder;
			END IF;
			IF TG_OP <> 'DELETE' AND new.dimensions BETWEEN 1 AND ` + fmt.Sprint(maxIndexed) + ` THEN
				INSERT INTO SCHEMA.vector_index (memory, embedder, scope, dimensions, v)
				VALUES (new.memory, new.embedder, new.scope, new.dimensions, SCHEMA.vector_of(new.vector, new.dimensions));
			END IF;
			RETURN NULL;
		END $$`,
	`CREATE OR REPLACE TRIGGER vectors_index AFTER INSERT OR UPDATE OR DELETE ON SCHEMA.vectors
		FOR EACH ROW WHEN (NULL::EXTENSION.vector IS NULL) EXECUTE FUNCTION SCHEMA.keep_vector_index()`,
	`INSERT INTO SCHEMA.vector_index (memory, embedder, scope, dimensions, v)
		SELECT memory, embedder, scope, dimensions, SCHEMA.vector_of(vector, dimensions) FROM SCHEMA.vectors
		WHERE dimensions BETWEEN 1 AND ` + fmt.Sprint(maxIndexed),
}

// migrateIndex makes the index of vectors where the extension is and the index
// is not. Vectors cannot be written meanwhile.
func (s *Store) migrateIndex(ctx context.Context, pool *pgxpool.Pool) (made bool, err error) {
	if err := s.makeExtension(ctx, pool); err != nil {
		return false, err
	}
	if err := s.index.look(ctx, pool, s.schema); err != nil || s.index.there() {
		return false, err
	}
	var extension string
	err = pool.QueryRow(ctx, `SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'vector'`).Scan(&extension)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, translate(err, "look for pgvector")
	}
	names := strings.NewReplacer("SCHEMA", s.schema, "EXTENSION", pgx.Identifier{extension}.Sanitize())
	err = pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		for _, query := range makeIndex {
			if _, err := tx.Exec(ctx, names.Replace(query)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, translate(err, "index the vectors")
	}
	return true, s.index.look(ctx, pool, s.schema)
}

// makeExtension asks for pgvector where the server has it and the database does
// not. A refusal is no error: everything works without. A schema that was made
// for a while changes nothing outside of itself.
func (s *Store) makeExtension(ctx context.Context, pool *pgxpool.Pool) error {
	var offered bool
	err := pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector' AND installed_version IS NULL)`).Scan(&offered)
	if err != nil || !offered || s.schema != schema {
		return translate(err, "look for pgvector")
	}
	_, err = pool.Exec(ctx, `CREATE EXTENSION IF NOT EXISTS vector SCHEMA public`)
	if _, refused := errors.AsType[*pgconn.PgError](err); refused {
		return nil
	}
	return translate(err, "make the extension vector")
}

// indexCheck finds vectors that the index has otherwise than they are.
const indexCheck = `SELECT 'memory ' || coalesce(m.id, '?') || ': its vector by ' || coalesce(v.embedder, i.embedder) || ' and the index of pgvector differ'
	FROM (SELECT * FROM vectors WHERE dimensions BETWEEN 1 AND 16000) v FULL JOIN vector_index i ON i.memory = v.memory AND i.embedder = v.embedder
	LEFT JOIN memories m ON m.seq = coalesce(v.memory, i.memory)
	WHERE i.memory IS NULL OR v.memory IS NULL OR i.scope <> v.scope OR i.v::text <> vector_of(v.vector, v.dimensions)::text`
