package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const vectorsOf = `
	SELECT m.id, v.dimensions, v.vector FROM memories m JOIN vectors v ON v.memory = m.seq AND v.embedder = $2
	WHERE m.id = ANY($1) AND m.scope = $3 AND v.dimensions > 0`

// VectorsOf implements store.VectorReader.
func (r reader) VectorsOf(ctx context.Context, s oxbow.Scope, embedder string, ids []string) (map[string][]float32, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	out := make(map[string][]float32, len(ids))
	_, err = collect(ctx, r.in(s), "read vectors", func(rows pgx.Rows) (struct{}, error) {
		var id string
		v, err := scanVector(rows, &id)
		out[id] = v
		return struct{}{}, err
	}, vectorsOf, ids, embedder, seq)
	return out, err
}

// scanVector reads the dimensions and the bytes of a vector behind other columns.
func scanVector(rows pgx.Rows, before ...any) ([]float32, error) {
	var dimensions int
	var b pgtype.DriverBytes
	if err := rows.Scan(append(before, &dimensions, &b)...); err != nil {
		return nil, err
	}
	return store.UnpackVector(b, dimensions)
}

const vectorMark = `SELECT vectors FROM scopes WHERE tenant = $1 AND name = $2`

// VectorMark implements store.VectorReader.
func (r reader) VectorMark(ctx context.Context, s oxbow.Scope) (int64, error) {
	var mark int64
	err := r.of(s.Tenant).QueryRow(ctx, vectorMark, s.Tenant, s.Name).Scan(&mark)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return 0, translate(err, "look for new vectors")
	}
	return mark, nil
}

const vectorsSince = `
	SELECT mark, memory, dimensions, vector FROM vectors
	WHERE scope = $1 AND embedder = $2 AND (mark, memory) > ($3, $4) ORDER BY mark, memory LIMIT $5`

// VectorsSince implements store.VectorReader.
func (r reader) VectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after store.VectorPlace, limit int) ([]store.PlacedVector, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "read vectors", func(rows pgx.Rows) (p store.PlacedVector, err error) {
		p.Values, err = scanVector(rows, &p.Mark, &p.Number)
		return p, err
	}, vectorsSince, seq, embedder, after.Mark, after.Number, limit)
}

// embeddable is what has, or should have, a vector of the embedder $1.
const (
	hasVector  = `EXISTS (SELECT FROM vectors v WHERE v.memory = m.seq AND v.embedder = $1 AND v.dimensions > 0)`
	embeddable = `m.status NOT IN ('erased', 'quarantined') AND NOT ` + isNote
)

const countVectors = `
	SELECT count(*) FILTER (WHERE ` + hasVector + `), count(*) FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE s.tenant = $2 AND ($3 = '' OR s.name = $3) AND ` + embeddable

// CountVectors implements store.VectorReader.
func (r reader) CountVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error) {
	var all int
	err = r.in(s).QueryRow(ctx, countVectors, embedder, s.Tenant, s.Name).Scan(&with, &all)
	return with, all - with, translate(err, "count vectors")
}

const withoutVector = selectMemory + `
	WHERE m.scope = $2 AND m.id > $3 AND ` + embeddable + ` AND NOT ` + hasVector + ` ORDER BY m.id LIMIT $4`

// WithoutVector implements store.VectorReader.
func (r reader) WithoutVector(ctx context.Context, s oxbow.Scope, embedder, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.in(s), "look for memories without a vector", scanMemory, withoutVector, embedder, seq, after, limit)
}

// standing is what may be shown of memories m: of one of the statuses $1, and,
// where it is active, not past its end at $2.
const standing = `m.status = ANY($1)
	AND (m.status <> 'active' OR (m.expires_at IS NULL OR m.expires_at > $2) AND (m.fades_at IS NULL OR m.fades_at > $2))`

const standingOf = `
	SELECT m.seq, m.id FROM unnest($3::bigint[]) WITH ORDINALITY j (seq, place) JOIN memories m ON m.seq = j.seq
	WHERE m.scope = $4 AND ` + standing + ` ORDER BY j.place`

// Standing implements store.VectorReader.
func (r reader) Standing(ctx context.Context, q store.StandingQuery) ([]store.Standing, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || len(q.Numbers) == 0 {
		return nil, err
	}
	return collect(ctx, r.in(q.Scope), "look memories up", func(rows pgx.Rows) (v store.Standing, err error) {
		err = rows.Scan(&v.Number, &v.ID)
		return v, err
	}, standingOf, texts(q.Statuses), ts(q.Now), q.Numbers, seq)
}

const (
	markScope  = `UPDATE scopes SET vectors = vectors + 1 WHERE seq = $1`
	putVectors = `
		INSERT INTO vectors (memory, embedder, scope, mark, dimensions, vector)
		SELECT m.seq, $1, $2, s.vectors, $3, u.vector
		FROM unnest($4::text[], $5::int[], $6::bytea[]) u (id, content_version, vector)
			JOIN memories m ON m.id = u.id JOIN scopes s ON s.seq = m.scope
		WHERE m.scope = $2 AND m.content_version = u.content_version AND m.status <> 'erased'
		ORDER BY m.seq
		ON CONFLICT (memory, embedder) DO UPDATE SET mark = excluded.mark, dimensions = excluded.dimensions, vector = excluded.vector`
)

// PutVectors implements store.VectorWriter. Marking the scope locks it, so that
// what is edited meanwhile is seen, and marks become visible in their order.
func (t *tx) PutVectors(ctx context.Context, s oxbow.Scope, embedder string, vs []store.Vector) (int, error) {
	dimensions, err := store.CheckVectors(vs)
	if err != nil || len(vs) == 0 {
		return 0, err
	}
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	ids, versions, packed := make([]string, len(vs)), make([]int, len(vs)), make([][]byte, len(vs))
	for i, v := range vs {
		ids[i], versions[i], packed[i] = v.Memory, v.ContentVersion, store.PackVector(v.Values)
	}
	n := 0
	b := &batch{}
	b.exec("mark the scope", markScope, seq)
	b.count("store vectors", &n, putVectors, embedder, seq, dimensions, ids, versions, packed)
	err = t.send(ctx, b, "store vectors")
	return n, err
}

const dropVectorsOf = `
	UPDATE vectors v SET mark = s.vectors, dimensions = 0, vector = ''
	FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE v.memory = m.seq AND m.id = ANY($2) AND m.scope = $1 AND v.dimensions > 0`

// dropVectors takes the vectors of memories away, of every embedder.
func dropVectors(b *batch, scope int64, ids []string) {
	if len(ids) == 0 {
		return
	}
	b.exec("mark the scope", markScope, scope)
	b.exec("drop vectors", dropVectorsOf, scope, ids)
}

const dropOtherVectors = `DELETE FROM vectors WHERE scope = $1 AND embedder <> $2`

// DropOtherVectors implements store.VectorWriter.
func (t *tx) DropOtherVectors(ctx context.Context, s oxbow.Scope, embedder string) (int, error) {
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	n := 0
	b := &batch{}
	b.exec("mark the scope", markScope, seq)
	b.count("drop vectors", &n, dropOtherVectors, seq, embedder)
	err = t.send(ctx, b, "drop vectors")
	return n, err
}
