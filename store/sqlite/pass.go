package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// bareMemory leaves the content out, for passes that do not look at it.
const bareMemory = `SELECT` + memoryColumns + `, '{}' FROM memories m JOIN scopes s ON s.seq = m.scope`

// candidate is all of a memory that a pass needs to retire it.
const candidate = `SELECT m.id, m.status, m.content_version, m.fades_at, m.expires_at FROM memories m`

func scanCandidate(rows *sql.Rows) (oxbow.Memory, error) {
	var m oxbow.Memory
	var fades, expires sql.NullInt64
	err := rows.Scan(&m.ID, &m.Status, &m.ContentVersion, &fades, &expires)
	m.FadesAt, m.ExpiresAt = fromMS(fades), fromMS(expires)
	return m, err
}

// Both walk their index, so that a batch costs no more than it takes, whatever
// waits behind it, and rows of one age, which stand together, come together.
const (
	fadedAt = `
	WHERE m.scope = ?1 AND m.status = 'active' AND m.fades_at IS NOT NULL AND m.fades_at <= ?2
		AND m.fades_at >= ?3 AND (m.fades_at > ?3 OR m.id > ?4) ORDER BY m.fades_at, m.id LIMIT ?5`
	expiredAt = `
	WHERE m.scope = ?1 AND m.status = 'active' AND m.expires_at IS NOT NULL AND m.expires_at <= ?2
		AND m.expires_at >= ?3 AND (m.expires_at > ?3 OR m.id > ?4) ORDER BY m.expires_at, m.id LIMIT ?5`
)

func memoryFadesAt(m oxbow.Memory) time.Time   { return m.FadesAt }
func memoryExpiresAt(m oxbow.Memory) time.Time { return m.ExpiresAt }

// Faded implements store.PassReader.
func (r reader) Faded(ctx context.Context, s oxbow.Scope, now time.Time, after string, limit int) ([]oxbow.Memory, error) {
	at, id := store.ParsePlace(after)
	return r.candidates(ctx, s, candidate+fadedAt, now.UnixMilli(), at.UnixMilli(), id, limit)
}

// PastExpiry implements store.PassReader.
func (r reader) PastExpiry(ctx context.Context, s oxbow.Scope, now time.Time, after string, limit int) ([]oxbow.Memory, error) {
	at, id := store.ParsePlace(after)
	return r.candidates(ctx, s, candidate+expiredAt, now.UnixMilli(), at.UnixMilli(), id, limit)
}

func (r reader) candidates(ctx context.Context, s oxbow.Scope, query string, args ...any) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read candidates", scanCandidate, query, append([]any{seq}, args...)...)
}

func (r reader) pass(ctx context.Context, s oxbow.Scope, query string, args ...any) ([]oxbow.Memory, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return collect(ctx, r.q, "read candidates", scanMemory, query, append([]any{seq}, args...)...)
}

const slots = `SELECT slot, count(*) FROM memories WHERE scope = ? AND status = 'active' GROUP BY slot`

// Slots implements store.PassReader.
func (r reader) Slots(ctx context.Context, s oxbow.Scope) (map[string]int, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	return countBy[string](ctx, r.q, slots, seq)
}

const slotMemories = bareMemory + ` WHERE m.scope = ? AND m.status = 'active' AND m.slot = ? ORDER BY m.id`

// SlotMemories implements store.PassReader.
func (r reader) SlotMemories(ctx context.Context, s oxbow.Scope, slot string) ([]oxbow.Memory, error) {
	return r.pass(ctx, s, slotMemories, slot)
}

const clusterCandidates = selectMemory + `
	WHERE m.scope = ? AND m.status = 'active' AND m.key = '' AND NOT m.pinned AND NOT ` + isNote + `
		AND (m.expires_at IS NULL OR m.expires_at > ?) AND (m.fades_at IS NULL OR m.fades_at > ?)
	ORDER BY m.said_at DESC, m.id DESC LIMIT ?`

// ClusterCandidates implements store.PassReader.
func (r reader) ClusterCandidates(ctx context.Context, s oxbow.Scope, now time.Time, limit int) ([]oxbow.Memory, error) {
	return r.pass(ctx, s, clusterCandidates, now.UnixMilli(), now.UnixMilli(), limit)
}

const passChanges = `
	SELECT coalesce(sum(changed), 0) FROM runs
	WHERE scope = ? AND name IN ('decay', 'prune', 'synthesize') AND about > ? AND about <= ?`

// PassChanges implements store.PassReader.
func (r reader) PassChanges(ctx context.Context, s oxbow.Scope, since, until time.Time) (int, error) {
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return 0, err
	}
	var n int
	err = r.q.row(ctx, passChanges, seq, since.UnixMilli(), until.UnixMilli()).Scan(&n)
	return n, translate(err, "count what passes changed")
}

// By what was said, because that is an index of the scope; by id, each page would
// sort all of it.
const (
	allMemories   = selectMemory + ` WHERE m.scope = ?1 ORDER BY m.said_at DESC, m.id DESC LIMIT ?2`
	memoriesAfter = selectMemory + `
		WHERE m.scope = ?1 AND (m.said_at, m.id) < (SELECT said_at, id FROM memories WHERE id = ?3)
		ORDER BY m.said_at DESC, m.id DESC LIMIT ?2`
)

// AllMemories implements store.PassReader.
func (r reader) AllMemories(ctx context.Context, s oxbow.Scope, after string, limit int) ([]oxbow.Memory, error) {
	if after == "" {
		return r.pass(ctx, s, allMemories, limit)
	}
	return r.pass(ctx, s, memoriesAfter, limit, after)
}
