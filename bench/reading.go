package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/oxbow-memory/oxbow/store"
)

// limit is how many memories are listed or used at a time.
const limit = 60

// indexedRead reads the same columns of the same tables as the listing does, in
// the order of one half-life class of its index: the least that any listing of
// sixty rows costs.
const indexedRead = `
	SELECT m.id, s.tenant, s.name, m.status, m.replaced_by, m.kind, m.slot, m.key, m.content_id, m.digest, m.content_version,
		m.importance, m.rating, m.rated, m.confirmations, m.source, m.pinned, m.said_at, m.confirmed_at, m.touched_at,
		m.expires_at, m.review_at, m.turn, m.conversation, m.quote, m.derived, m.created_at, m.version,
		m.access_count, m.last_used_at, m.half_life, m.fades_at, m.rank_key, coalesce(c.body, '{}')
	FROM memories m JOIN scopes s ON s.seq = m.scope LEFT JOIN contents c ON c.id = m.content_id
	WHERE m.scope = ? AND m.status = 'active' AND m.half_life = ? ORDER BY m.rank_key DESC, m.id LIMIT ?`

// listing compares the live listing of a scope of 100,000 with an indexed read
// of as many rows.
func listing(ctx context.Context, l *lab) ([]result, error) {
	n := min(100_000, l.cfg.rows)
	d, err := l.with(ctx, n)
	if err != nil {
		return nil, err
	}
	s, err := d.st.Scope(ctx, home)
	if err != nil {
		return nil, err
	}
	read, err := d.sql.PrepareContext(ctx, d.query(indexedRead))
	if err != nil {
		return nil, err
	}
	defer func() { _ = read.Close() }()
	var ours, bare []time.Duration
	for range 150 {
		a, err := timed(func() error {
			ms, err := d.st.StrongestMemories(ctx, s, present, limit)
			return wantRows(len(ms), err)
		})
		if err != nil {
			return nil, err
		}
		b, err := timed(func() error { return drain(read.QueryContext(ctx, 1, 30.0, limit)) })
		if err != nil {
			return nil, err
		}
		ours, bare = append(ours, a), append(bare, b)
	}
	ratio := float64(median(ours)) / float64(median(bare))
	return []result{{
		what: fmt.Sprintf("list the %d strongest of %s, against an indexed read of %d rows", limit, count(n), limit), goal: "≤ 10 ×",
		measured: fmt.Sprintf("%.1f ×", ratio), ours: millis(median(ours)), other: millis(median(bare)), pass: ratio <= 10,
	}}, nil
}

func wantRows(n int, err error) error {
	if err == nil && n != limit {
		return fmt.Errorf("%d rows and not %d", n, limit)
	}
	return err
}

// drain reads every column of every row.
func drain(rows *sql.Rows, err error) error {
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	n := 0
	for rows.Next() {
		n++
		if err := rows.Scan(into...); err != nil {
			return err
		}
	}
	return wantRows(n, rows.Err())
}

// use compares a coalesced use of sixty memories with the same call on a copy
// of the database that lacks the two indexes which strength needs.
func use(ctx context.Context, l *lab) ([]result, error) {
	d, err := l.with(ctx, l.cfg.rows)
	if err != nil {
		return nil, err
	}
	c, err := l.bareTwin(ctx, d)
	if err != nil {
		return nil, err
	}
	rng := rand.New(rand.NewPCG(3, 3))
	var ours, bare []time.Duration
	for round := range 60 {
		ids := make([]string, limit)
		for i := range ids {
			ids[i] = memoryID(rng.IntN(l.cfg.rows))
		}
		now := present.Add(time.Duration(round) * time.Minute)
		a, err := timed(func() error { return useAll(ctx, d, ids, now) })
		if err != nil {
			return nil, err
		}
		b, err := timed(func() error { return useAll(ctx, c, ids, now) })
		if err != nil {
			return nil, err
		}
		if round >= 10 { // the first ones fill the caches
			ours, bare = append(ours, a), append(bare, b)
		}
	}
	ratio := float64(median(ours)) / float64(median(bare))
	return []result{{
		what: fmt.Sprintf("use %d of %s memories, against the same without the indexes of strength", limit, count(l.cfg.rows)), goal: "≤ 3 ×",
		measured: fmt.Sprintf("%.1f ×", ratio), ours: millis(median(ours)), other: millis(median(bare)), pass: ratio <= 3,
	}}, nil
}

// bareTwin gives a copy of a database without the indexes memories_rank and
// memories_fades, once.
func (l *lab) bareTwin(ctx context.Context, d *db) (*db, error) {
	const twins = -1
	if c := l.loaded[twins]; c != nil {
		return c, nil
	}
	c, err := l.twin(ctx, d, "bare")
	if err != nil {
		return nil, err
	}
	l.loaded[twins] = c
	return c, c.exec(ctx, "DROP INDEX memories_rank", "DROP INDEX memories_fades")
}

func useAll(ctx context.Context, d *db, ids []string, now time.Time) error {
	return d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Use(ctx, home.Tenant, ids, now)
		return err
	})
}
