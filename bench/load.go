package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// Loading a million memories through Apply would take most of an hour of a
// measurement, so this file, and only this file, writes the rows itself. What
// the rows hold is worked out by the program: store.NewPlan makes memories,
// contents, derived columns and events, and text.Analyse the terms. Only the
// names of columns stand here twice.

// sketch is what sets memories apart: how old they are and how often used. A
// scope in its steady state holds memories of any age up to their life.
type sketch struct {
	kind   oxbow.Kind
	access int
	idle   time.Duration // since the last use, else since it was said
	known  time.Duration // since it was said
}

// kinds are drawn in these shares, in percent.
var kinds = []struct {
	kind  oxbow.Kind
	share int
}{
	{oxbow.Semantic, 40}, {oxbow.Episodic, 20}, {oxbow.Observation, 10},
	{oxbow.Preference, 10}, {oxbow.Procedural, 10}, {oxbow.Fact, 10},
}

// sketches draws n memories, the oldest first, as they would have arrived.
func sketches(n int, rng *rand.Rand) []sketch {
	policy := oxbow.DefaultPolicy()
	out := make([]sketch, n)
	for i := range out {
		s := sketch{kind: drawKind(rng), access: int(rng.ExpFloat64())}
		life := policy.FadesAt(oxbow.Memory{Kind: s.kind, AccessCount: s.access, SaidAt: present}).Sub(present)
		s.idle = time.Duration(rng.Float64() * float64(life))
		s.known = s.idle
		if s.access > 0 {
			s.known += time.Duration(rng.Float64() * float64(60*24*time.Hour))
		}
		out[i] = s
	}
	slices.SortFunc(out, func(a, b sketch) int { return int(b.known/time.Second - a.known/time.Second) })
	return out
}

func drawKind(rng *rand.Rand) oxbow.Kind {
	p := rng.IntN(100)
	for _, k := range kinds {
		if p -= k.share; p < 0 {
			return k.kind
		}
	}
	return oxbow.Semantic
}

// writer makes sentences of made-up words whose frequencies follow Zipf's law.
type writer struct {
	rng   *rand.Rand
	zipf  *rand.Zipf
	vocab []string
	talks bool // passages of conversations instead of sentences by a mould
}

const vocabulary = 6000

func newWriter(seed uint64) *writer {
	rng := rand.New(rand.NewPCG(seed, 1))
	return &writer{rng: rng, zipf: rand.NewZipf(rng, 1.05, 2, vocabulary-1), vocab: words(vocabulary)}
}

// words makes up words, the same ones for every writer.
func words(n int) []string {
	rng := rand.New(rand.NewPCG(7, 7))
	out := make([]string, 0, n)
	for len(out) < n {
		word := ""
		for range 2 + rng.IntN(3) {
			word += string("bdfgklmnprstvz"[rng.IntN(14)]) + string("aeiou"[rng.IntN(5)])
		}
		out = append(out, word)
	}
	return out
}

// moulds are sentences of the sort that memories are; % takes a word.
var moulds = []string{
	"We use % for the % %", "The % of % runs on % %", "I prefer % over % when writing %", "The % deadline moved to % for % and %",
	"Decided to keep % out of % because % breaks %", "The bug in % was caused by % and %", "% asks for % before every %",
	"Remember that % % needs % with %",
}

func (w *writer) sentence() string {
	var b strings.Builder
	for _, r := range moulds[w.rng.IntN(len(moulds))] {
		if r == '%' {
			b.WriteString(w.vocab[w.zipf.Uint64()])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// text gives what the next memory says.
func (w *writer) text() string {
	if w.talks {
		return w.passage()
	}
	return w.sentence()
}

// memoryID names the i-th loaded memory.
func memoryID(i int) string { return oxbow.NewID("bench", strconv.Itoa(i)) }

// creation gives the change that makes the i-th memory.
func (w *writer) creation(i int, s sketch) oxbow.Change {
	said := present.Add(-s.known).Truncate(time.Millisecond)
	m := oxbow.Memory{
		ID: memoryID(i), Scope: home, Status: oxbow.Active, Kind: s.kind,
		Content:    oxbow.Content{Text: w.text()},
		Importance: float64(1 + w.rng.IntN(10)), Rating: []float64{1, 0.7, 0.5}[w.rng.IntN(3)], Rated: true,
		Source: oxbow.FromUser, Pinned: w.rng.IntN(1000) == 0, SaidAt: said, CreatedAt: said, AccessCount: s.access,
	}
	m.Content.Summary = m.Content.Text
	if w.talks {
		m.Conversation = "c" + strconv.Itoa(i/passagesEach)
	}
	if s.kind == oxbow.Fact {
		m.Slot, m.Key = "project", "key_"+strconv.Itoa(i)
	}
	if s.access > 0 {
		m.LastUsedAt = present.Add(-s.idle).Truncate(time.Millisecond)
	}
	if w.rng.IntN(50) == 0 {
		m.ExpiresAt = present.Add(time.Duration(w.rng.IntN(90*24)) * time.Hour)
	}
	return oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "it was said", Actor: "user"}
}

// chunk is how many memories are written at a time.
const chunk = 5000

// posting is a row of memory_terms.
type posting struct {
	term       int64
	memory     int32
	tf, length int16
}

// load fills an empty database with n memories in one scope, one event each.
func (d *db) load(ctx context.Context, n int) error { return d.fill(ctx, n, newWriter(uint64(n))) }

func (d *db) fill(ctx context.Context, n int, w *writer) error {
	err := d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.LockScope(ctx, home, present)
		return err
	})
	if err != nil {
		return err
	}
	var scope int64
	if err := d.sql.QueryRowContext(ctx, "SELECT seq FROM scopes").Scan(&scope); err != nil {
		return err
	}
	all := sketches(n, rand.New(rand.NewPCG(uint64(n), 2)))
	return d.bulk(ctx, func(b bulk) error {
		var postings []posting
		total := 0
		for from := 0; from < n; from += chunk {
			p, err := w.plan(all, from, min(n, from+chunk))
			if err != nil {
				return err
			}
			if err := d.writePlan(ctx, b, scope, from, p); err != nil {
				return err
			}
			for i, m := range p.Indexed {
				in := store.IndexOf(m)
				for _, p := range in.Pairs() {
					postings = append(postings, posting{p[0], int32(from + i + 1), int16(p[1]), int16(in.Length)})
				}
				total += in.Length
			}
		}
		if err := writePostings(ctx, b, scope, postings); err != nil {
			return err
		}
		return b.exec(ctx, fmt.Sprintf("UPDATE scopes SET memories = %d, terms = %d", n, total))
	})
}

func (w *writer) plan(all []sketch, from, to int) (*store.Plan, error) {
	changes := make([]oxbow.Change, 0, to-from)
	for i := from; i < to; i++ {
		changes = append(changes, w.creation(i, all[i]))
	}
	batch := store.Batch{Scope: home, Run: "bench", Now: present, RecordedAt: present}
	return store.NewPlan(batch, oxbow.DefaultPolicy(), nil, changes)
}

var (
	memoryColumns = strings.Fields(`seq id scope status replaced_by kind slot key content_id digest content_version importance
		rating rated confirmations source pinned said_at confirmed_at touched_at expires_at review_at turn conversation quote
		derived created_at version access_count last_used_at ref_time half_life fades_at rank_key`)
	contentColumns = strings.Fields(`id scope owner salt body`)
	eventColumns   = strings.Fields(`scope memory memory_seq version type before after links unlinks reason actor judge run at recorded_at`)
	termColumns    = strings.Fields(`scope term memory tf length`)
)

func (d *db) writePlan(ctx context.Context, b bulk, scope int64, from int, p *store.Plan) error {
	var contents, memories, events [][]any
	for _, c := range p.Contents {
		contents = append(contents, []any{c.ContentID, scope, c.Owner, c.Salt, store.JSON(c.Content)})
	}
	for i, m := range p.Created {
		memories = append(memories, []any{int64(from + i + 1), m.ID, scope, string(m.Status), "", string(m.Kind), m.Slot, m.Key,
			m.ContentID, m.Digest, m.ContentVersion, m.Importance, m.Rating, m.Rated, m.Confirmations, string(m.Source), m.Pinned,
			d.at(m.SaidAt), nil, nil, d.at(m.ExpiresAt), nil, "", m.Conversation, store.JSON(m.Quote), false, d.at(m.CreatedAt), m.Version,
			m.AccessCount, d.at(m.LastUsedAt), d.at(m.RefTime()), m.HalfLife, d.at(m.FadesAt), m.RankKey})
	}
	for i, e := range p.Events { // one for each memory that is made, in their order
		events = append(events, []any{scope, e.Memory, int64(from + i + 1), e.Version, string(e.Type), store.JSON(e.Before), store.JSON(e.After), "", "",
			e.Reason, e.Actor, e.Judge, e.Run, d.at(e.At), d.at(e.RecordedAt)})
	}
	return errors.Join(b.insert(ctx, "contents", contentColumns, contents), b.insert(ctx, "memories", memoryColumns, memories),
		b.insert(ctx, "memory_events", eventColumns, events))
}

// writePostings writes the terms in the order of their key, which is many times
// faster than in the order of the memories.
func writePostings(ctx context.Context, b bulk, scope int64, all []posting) error {
	slices.SortFunc(all, func(x, y posting) int {
		switch {
		case x.term < y.term || x.term == y.term && x.memory < y.memory:
			return -1
		}
		return 1
	})
	for part := range slices.Chunk(all, 50_000) {
		rows := make([][]any, len(part))
		for i, p := range part {
			rows[i] = []any{scope, p.term, int64(p.memory), int32(p.tf), int32(p.length)}
		}
		if err := b.insert(ctx, "memory_terms", termColumns, rows); err != nil {
			return err
		}
	}
	return nil
}

// bulk writes many rows fast.
type bulk interface {
	insert(ctx context.Context, table string, columns []string, rows [][]any) error
	exec(ctx context.Context, statement string) error
}

// bulk opens the fast path, runs fn, and leaves the database as a program that
// has run for a while would find it: checkpointed, and on Postgres analysed.
func (d *db) bulk(ctx context.Context, fn func(bulk) error) error {
	if d.dialect == "sqlite" {
		return d.bulkSQLite(ctx, fn)
	}
	conn, err := d.sql.Conn(ctx)
	if err != nil {
		return err
	}
	err = conn.Raw(func(c any) error { return fn(copier{c.(*stdlib.Conn).Conn()}) })
	if err = errors.Join(err, conn.Close()); err != nil {
		return err
	}
	return d.exec(ctx, "SELECT setval(pg_get_serial_sequence('memories', 'seq'), (SELECT max(seq) FROM memories))", "VACUUM ANALYZE", "CHECKPOINT")
}

func (d *db) bulkSQLite(ctx context.Context, fn func(bulk) error) error {
	own, err := sql.Open("sqlite", sqliteDSN(d.where)+"&_pragma=synchronous(OFF)&_pragma=cache_size(-400000)&_pragma=foreign_keys(0)")
	if err != nil {
		return err
	}
	own.SetMaxOpenConns(1)
	b := &inserter{db: own, prepared: map[string]*sql.Stmt{}}
	err = fn(b)
	for _, s := range b.prepared {
		err = errors.Join(err, s.Close())
	}
	if err = errors.Join(err, own.Close()); err != nil {
		return err
	}
	return checkpoint(ctx, d)
}

// copier writes with Postgres's COPY.
type copier struct{ conn *pgx.Conn }

func (c copier) insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	_, err := c.conn.CopyFrom(ctx, pgx.Identifier{schema, table}, columns, pgx.CopyFromRows(rows))
	return err
}

func (c copier) exec(ctx context.Context, statement string) error {
	_, err := c.conn.Exec(ctx, statement)
	return err
}

// inserter writes with statements of several rows, a transaction for each call.
type inserter struct {
	db       *sql.DB
	prepared map[string]*sql.Stmt
}

// valuesAtOnce bounds the parameters of one statement.
const valuesAtOnce = 400

func (in *inserter) insert(ctx context.Context, table string, columns []string, rows [][]any) error {
	several := max(1, valuesAtOnce/len(columns))
	var stmts [2]*sql.Stmt
	for i, n := range []int{several, 1} {
		var err error
		if stmts[i], err = in.prepare(ctx, table, columns, n); err != nil {
			return err
		}
	}
	tx, err := in.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(rows, several) {
		stmt, groups := stmts[0], [][][]any{part}
		if len(part) < several {
			stmt, groups = stmts[1], slices.Collect(slices.Chunk(part, 1))
		}
		for _, g := range groups {
			if _, err := tx.StmtContext(ctx, stmt).ExecContext(ctx, slices.Concat(g...)...); err != nil {
				return errors.Join(fmt.Errorf("insert into %s: %w", table, err), tx.Rollback())
			}
		}
	}
	return tx.Commit()
}

func (in *inserter) prepare(ctx context.Context, table string, columns []string, n int) (*sql.Stmt, error) {
	row := "(?" + strings.Repeat(", ?", len(columns)-1) + ")"
	q := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES " + row + strings.Repeat(", "+row, n-1)
	if s := in.prepared[q]; s != nil {
		return s, nil
	}
	s, err := in.db.PrepareContext(ctx, q)
	if err != nil {
		return nil, fmt.Errorf("prepare %s: %w", table, err)
	}
	in.prepared[q] = s
	return s, nil
}

func (in *inserter) exec(ctx context.Context, statement string) error {
	_, err := in.db.ExecContext(ctx, statement)
	return err
}
