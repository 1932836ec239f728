package sqlite

import (
	"context"
	"database/sql"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const vectorsOf = `
	SELECT m.id, v.dimensions, v.vector
	FROM json_each(?1) j CROSS JOIN memories m ON m.id = j.value CROSS JOIN vectors v ON v.memory = m.seq AND v.embedder = ?2
	WHERE m.scope = ?3 AND v.dimensions > 0`

// VectorsOf implements store.VectorReader.
func (r reader) VectorsOf(ctx context.Context, s oxbow.Scope, embedder string, ids []string) (map[string][]float32, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	out := make(map[string][]float32, len(ids))
	_, err = collect(ctx, r.q, "read vectors", func(rows *sql.Rows) (struct{}, error) {
		var id string
		v, err := scanVector(rows, &id)
		out[id] = v
		return struct{}{}, err
	}, vectorsOf, jsonList(ids), embedder, seq)
	return out, err
}

// scanVector reads the dimensions and the bytes of a vector behind other columns.
func scanVector(rows *sql.Rows, before ...any) ([]float32, error) {
	var dimensions int
	var b sql.RawBytes
	if err := rows.Scan(append(before, &dimensions, &b)...); err != nil {
		return nil, err
	}
	return store.UnpackVector(b, dimensions)
}

const vectorMark = `SELECT vectors FROM scopes WHERE tenant = ? AND name = ?`

// VectorMark implements store.VectorReader.
func (r reader) VectorMark(ctx context.Context, s oxbow.Scope) (int64, error) {
	var mark int64
	err := r.q.row(ctx, vectorMark, s.Tenant, s.Name).Scan(&mark)
	if err != nil && err != sql.ErrNoRows {
		return 0, translate(err, "look for new vectors")
	}
	return mark, nil
}

const vectorsSince = `
	SELECT mark, memory, dimensions, vector FROM vectors
	WHERE scope = ? AND embedder = ? AND (mark, memory) > (?, ?) ORDER BY mark, memory LIMIT ?`

// VectorsSince implements store.VectorReader.
func (r reader) VectorsSince(ctx context.Context, s oxbow.Scope, embedder string, after store.VectorPlace, limit int) ([]store.PlacedVector, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read vectors", func(rows *sql.Rows) (p store.PlacedVector, err error) {
		p.Values, err = scanVector(rows, &p.Mark, &p.Number)
		return p, err
	}, vectorsSince, seq, embedder, after.Mark, after.Number, limit)
}

// embeddable is what has, or should have, a vector of the embedder ?1.
const (
	hasVector  = `EXISTS (SELECT 1 FROM vectors v WHERE v.memory = m.seq AND v.embedder = ?1 AND v.dimensions > 0)`
	embeddable = `m.status NOT IN ('erased', 'quarantined') AND NOT ` + isNote
)

const countVectors = `
	SELECT coalesce(sum(` + hasVector + `), 0), count(*) FROM memories m JOIN scopes s ON s.seq = m.scope
	WHERE s.tenant = ?2 AND (?3 = '' OR s.name = ?3) AND ` + embeddable

// CountVectors implements store.VectorReader.
func (r reader) CountVectors(ctx context.Context, s oxbow.Scope, embedder string) (with, without int, err error) {
	var all int
	err = r.q.row(ctx, countVectors, embedder, s.Tenant, s.Name).Scan(&with, &all)
	return with, all - with, translate(err, "count vectors")
}

const withoutVector = selectMemory + `
	WHERE m.scope = ?2 AND m.id > ?3 AND ` + embeddable + ` AND NOT ` + hasVector + ` ORDER BY m.id LIMIT ?4`

// WithoutVector implements store.VectorReader.
func (r reader) WithoutVector(ctx context.Context, s oxbow.Scope, embedder, after string, limit int) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "look for memories without a vector", scanMemory, withoutVector, embedder, seq, after, limit)
}

// standing is what may be shown of memories m: of one of the statuses ?1, and,
// where it is active, not past its end at ?2.
const standing = `m.status IN (SELECT value FROM json_each(?1))
	AND (m.status <> 'active' OR (m.expires_at IS NULL OR m.expires_at > ?2) AND (m.fades_at IS NULL OR m.fades_at > ?2))`

const standingOf = `
	SELECT m.seq, m.id FROM json_each(?3) j CROSS JOIN memories m ON m.seq = j.value
	WHERE m.scope = ?4 AND ` + standing + ` ORDER BY j.key`

// Standing implements store.VectorReader.
func (r reader) Standing(ctx context.Context, q store.StandingQuery) ([]store.Standing, error) {
	seq, err := r.scopeSeq(ctx, q.Scope)
	if err != nil || len(q.Numbers) == 0 {
		return nil, err
	}
	return collect(ctx, r.q, "look memories up", func(rows *sql.Rows) (v store.Standing, err error) {
		err = rows.Scan(&v.Number, &v.ID)
		return v, err
	}, standingOf, jsonList(q.Statuses), q.Now.UnixMilli(), jsonList(q.Numbers), seq)
}

// NearestVectors implements store.VectorReader: SQLite has no index of vectors.
func (r reader) NearestVectors(context.Context, store.NearestQuery) ([]store.Hit, bool, error) {
	return nil, false, nil
}

const (
	markScope = `UPDATE scopes SET vectors = vectors + 1 WHERE seq = ?`
	putVector = `
		INSERT INTO vectors (memory, embedder, scope, mark, dimensions, vector)
		SELECT m.seq, ?1, ?2, s.vectors, ?3, ?4 FROM memories m CROSS JOIN scopes s ON s.seq = m.scope
		WHERE m.id = ?5 AND m.scope = ?2 AND m.content_version = ?6 AND m.status <> 'erased'
		ON CONFLICT (memory, embedder) DO UPDATE SET mark = excluded.mark, dimensions = excluded.dimensions, vector = excluded.vector`
)

// PutVectors implements store.VectorWriter.
func (t *tx) PutVectors(ctx context.Context, s oxbow.Scope, embedder string, vs []store.Vector) (int, error) {
	dimensions, err := store.CheckVectors(vs)
	if err != nil || len(vs) == 0 {
		return 0, err
	}
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	if _, err := t.q.exec(ctx, markScope, seq); err != nil {
		return 0, translate(err, "mark the scope")
	}
	n := 0
	for _, v := range vs {
		res, err := t.q.exec(ctx, putVector, embedder, seq, dimensions, store.PackVector(v.Values), v.Memory, v.ContentVersion)
		if err != nil {
			return 0, translate(err, "store a vector")
		}
		if k, err := res.RowsAffected(); err == nil && k == 1 {
			n++
		}
	}
	return n, nil
}

const dropVectors = `
	UPDATE vectors SET mark = (SELECT vectors FROM scopes WHERE seq = ?1), dimensions = 0, vector = x''
	WHERE memory IN (SELECT seq FROM memories WHERE id IN (SELECT value FROM json_each(?2)) AND scope = ?1) AND dimensions > 0`

// dropVectors takes the vectors of memories away, of every embedder.
func (t *tx) dropVectors(ctx context.Context, scope int64, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	if _, err := t.q.exec(ctx, markScope, scope); err != nil {
		return translate(err, "mark the scope")
	}
	_, err := t.q.exec(ctx, dropVectors, scope, jsonList(ids))
	return translate(err, "drop vectors")
}

const dropOtherVectors = `DELETE FROM vectors WHERE scope = ?1 AND embedder <> ?2`

// DropOtherVectors implements store.VectorWriter.
func (t *tx) DropOtherVectors(ctx context.Context, s oxbow.Scope, embedder string) (int, error) {
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return 0, err
	}
	if _, err := t.q.exec(ctx, markScope, seq); err != nil {
		return 0, translate(err, "mark the scope")
	}
	res, err := t.q.exec(ctx, dropOtherVectors, seq, embedder)
	if err != nil {
		return 0, translate(err, "drop vectors")
	}
	n, err := res.RowsAffected()
	return int(n), translate(err, "drop vectors")
}
