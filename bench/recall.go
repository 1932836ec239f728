package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// The words of what is recalled. With Zipf's exponent 1.1, an offset of 12 and
// 30,000 words, the commonest word is 1.5 % of all, the eleventh .8 %, the
// hundredth .13 % and the thousandth .012 %. Once stop words are gone, people
// who chat use their words about like that (measured on two public sets of
// conversations: 1.7 to 2.8, .7 to .9, .17 to .21 and .012 to .017 %).
const (
	talkedWords  = 30_000
	talkExponent = 1.1
	talkOffset   = 12
	passagesEach = 20 // memories of one conversation
)

// newTalker gives a writer of passages of 8 to 20 words.
func newTalker(seed uint64) *writer {
	rng := rand.New(rand.NewPCG(seed, 3))
	w := &writer{rng: rng, zipf: rand.NewZipf(rng, talkExponent, talkOffset, talkedWords-1), talks: true}
	seen := map[string]bool{}
	for _, word := range words(2 * talkedWords) {
		if !seen[word] && len(w.vocab) < talkedWords {
			seen[word] = true
			w.vocab = append(w.vocab, word)
		}
	}
	return w
}

func (w *writer) passage() string {
	said := make([]string, 8+w.rng.IntN(13))
	for i := range said {
		said[i] = w.vocab[w.zipf.Uint64()]
	}
	return strings.Join(said, " ")
}

// question gives 6 to 12 words of something that is stored, in their order, so
// that there is an answer to find.
func (b *recallBed) question(rng *rand.Rand) string {
	said := strings.Fields(b.said[rng.IntN(len(b.said))])
	n := min(len(said), 6+rng.IntN(7))
	at := rng.Perm(len(said))[:n]
	slices.Sort(at)
	out := make([]string, n)
	for i, k := range at {
		out[i] = said[k]
	}
	return strings.Join(out, " ")
}

// The measurement of recall.
const (
	recallLarge  = 100_000
	recallRounds = 250
	recallWarm   = 20 // the first rounds fill the caches
	recallLimit  = 10
)

// recallBed is a database with memories to recall and, beside them, the plain
// full-text table that a user would make of the same words.
type recallBed struct {
	*db
	n        int
	said     []string // what is stored
	recaller *recall.Recaller
	bare     *sql.Stmt
}

// recalling compares hybrid with the bare ranked query over the same words, at
// two sizes, in turns, and then while workers write.
func recalling(ctx context.Context, l *lab) ([]result, error) {
	large := min(recallLarge, l.cfg.rows)
	sizes := []int{large / 10, large}
	var beds []*recallBed
	for _, n := range sizes {
		b, err := l.recallBed(ctx, n)
		if err != nil {
			return nil, err
		}
		defer func() { _ = b.bare.Close() }()
		beds = append(beds, b)
	}
	rng := rand.New(rand.NewPCG(5, 5))
	times := make([]timesOf, len(beds))
	for round := range recallRounds {
		for i, b := range beds {
			if err := b.both(ctx, b.question(rng), round >= recallWarm, &times[i]); err != nil {
				return nil, err
			}
		}
	}
	small, big := times[0], times[1]
	against := big.p50(big.ours) / big.p50(big.bare)
	tail := float64(quantile(big.ours, .95)) / big.p50(big.ours)
	growth := (big.p50(big.ours) / small.p50(small.ours)) / (big.p50(big.bare) / small.p50(small.bare))
	out := []result{
		{what: fmt.Sprintf("recall by hybrid among %s, p50, against the bare ranked full-text query of the same words", count(large)), goal: "≤ 3 ×",
			measured: fmt.Sprintf("%.1f ×", against), ours: millis(median(big.ours)), other: millis(median(big.bare)), pass: against <= 3},
		{what: "the same, p95 against its own p50", goal: "≤ 3 ×", measured: fmt.Sprintf("%.1f ×", tail),
			ours: millis(quantile(big.ours, .95)), other: millis(median(big.ours)), pass: tail <= 3},
		{what: fmt.Sprintf("the same, growth from %s, against the growth of the bare query", count(sizes[0])), goal: "≤ 1.2 ×", measured: fmt.Sprintf("%.2f ×", growth),
			ours:  fmt.Sprintf("%s from %s", millis(median(big.ours)), millis(median(small.ours))),
			other: fmt.Sprintf("%s from %s", millis(median(big.bare)), millis(median(small.bare))), pass: growth <= 1.2},
	}
	held, err := vectorMemory(ctx, beds, rng)
	if err != nil {
		return nil, err
	}
	beside, err := beds[1].whileWriting(ctx, rng)
	if err != nil {
		return nil, err
	}
	return append(out, held, beside), nil
}

// vectorBudget is what a recaller may hold of vectors where nothing else is said
// (DESIGN 7).
const vectorBudget = 64 << 20

// vectorMemory measures what a recaller keeps on the heap once it was asked by
// every strategy that looks at vectors, of the scope that keeps the most.
func vectorMemory(ctx context.Context, beds []*recallBed, rng *rand.Rand) (result, error) {
	var most uint64
	var each []string
	for _, b := range beds {
		before := heap()
		r := recall.New(recall.Config{Store: b.st, Embedder: offline.NewEmbedder()})
		for _, strategy := range []string{recall.Hybrid, "composite", "waterfall"} {
			if _, err := r.Ask(ctx, recall.Query{Scope: home, Text: b.question(rng), Strategy: strategy, Now: present}); err != nil {
				return result{}, err
			}
		}
		after := heap()
		runtime.KeepAlive(r)
		kept := after - min(before, after)
		most = max(most, kept)
		each = append(each, fmt.Sprintf("%.1f", float64(kept)/(1<<20)))
	}
	return result{what: fmt.Sprintf("vectors that a recaller keeps in memory, of the scope of %s or of %s, against its budget", count(beds[0].n), count(beds[1].n)),
		goal: "≤ 64 MiB", measured: fmt.Sprintf("%.1f MiB", float64(most)/(1<<20)), ours: strings.Join(each, " / ") + " MiB by size", other: "64 MiB",
		pass: most <= vectorBudget}, nil
}

// heap gives the bytes of what is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// timesOf are the times of one size.
type timesOf struct{ ours, bare []time.Duration }

func (timesOf) p50(ts []time.Duration) float64 { return float64(median(ts)) }

// quantile gives the nearest rank.
func quantile(ts []time.Duration, p float64) time.Duration {
	s := slices.Sorted(slices.Values(ts))
	return s[min(len(s)-1, int(p*float64(len(s))))]
}

// both asks Oxbow and the bare table, and keeps the times when that is wanted.
func (b *recallBed) both(ctx context.Context, q string, keep bool, into *timesOf) error {
	found := 0
	ours, err := timed(func() error {
		// Words of no one passage have no answer; without the floor the work is the same.
		a, err := b.recaller.Ask(ctx, recall.Query{Scope: home, Text: q, Limit: recallLimit, Now: present, Floor: new(float64)})
		found = len(a.Results)
		return err
	})
	if err != nil {
		return err
	}
	if found == 0 {
		return fmt.Errorf("recall found nothing among %d memories for words of theirs", b.n)
	}
	bare, err := timed(func() error { return b.ranked(ctx, q) })
	if keep {
		into.ours, into.bare = append(into.ours, ours), append(into.bare, bare)
	}
	return err
}

// ranked runs the bare query. Both tables hold the words as Oxbow analyses them.
func (b *recallBed) ranked(ctx context.Context, q string) error {
	between := " OR "
	if b.dialect == "postgres" {
		between = " | "
	}
	rows, err := b.bare.QueryContext(ctx, strings.Join(analysed(q), between))
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	n := 0
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return err
		}
		n++
	}
	if err := rows.Err(); err != nil || n > 0 {
		return err
	}
	return errors.New("the bare query found nothing for words that are there")
}

// analysed gives the terms of a text as words that no tokenizer changes.
func analysed(s string) []string {
	terms, _ := text.Analyse(s)
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = term(t)
	}
	return out
}

func term(t text.Term) string { return "h" + strconv.FormatUint(uint64(t.Hash), 36) }

// recallBed loads memories with their vectors, and the bare table.
func (l *lab) recallBed(ctx context.Context, n int) (*recallBed, error) {
	b, texts, err := l.talked(ctx, fmt.Sprintf("recall%d", n), n)
	if err != nil {
		return nil, err
	}
	b.bare, err = b.bareTable(ctx, texts)
	return b, err
}

// talked loads memories with their vectors, and gives their texts by their ids.
func (l *lab) talked(ctx context.Context, name string, n int) (*recallBed, map[string]string, error) {
	d, err := l.fresh(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	t0 := time.Now()
	if err := d.fill(ctx, n, newTalker(uint64(n))); err != nil {
		return nil, nil, err
	}
	texts, err := d.embedAll(ctx)
	if err != nil {
		return nil, nil, err
	}
	l.say("loaded %d memories and their vectors in %s", n, time.Since(t0).Round(100*time.Millisecond))
	return &recallBed{db: d, n: n, said: slices.Sorted(maps.Values(texts)), recaller: recall.New(recall.Config{Store: d.st, Embedder: offline.NewEmbedder()})}, texts, nil
}

// embedAll fills the vectors as the job embed does, and gives every memory's
// text by its id.
func (d *db) embedAll(ctx context.Context) (map[string]string, error) {
	texts, after, e := map[string]string{}, "", offline.NewEmbedder()
	for {
		ms, err := d.st.AllMemories(ctx, home, after, 1000)
		if err != nil {
			return nil, err
		}
		if len(ms) == 0 {
			return texts, nil
		}
		after = ms[len(ms)-1].ID
		page := make([]string, len(ms))
		for i, m := range ms {
			page[i] = store.SearchText(m)
			texts[m.ID] = page[i]
		}
		values, err := e.Embed(ctx, page)
		if err != nil {
			return nil, err
		}
		vs := make([]store.Vector, len(ms))
		for i, m := range ms {
			vs[i] = store.Vector{Memory: m.ID, ContentVersion: m.ContentVersion, Values: values[i]}
		}
		err = d.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			_, err := tx.PutVectors(ctx, home, e.ID(), vs)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
}

// The bare table and the query of each database, as a user would write them.
var bareTables = map[string]struct {
	make  []string
	query string
	done  []string
}{
	"sqlite": {
		make:  []string{"CREATE VIRTUAL TABLE bare USING fts5(id UNINDEXED, words)"},
		query: "SELECT id FROM bare WHERE bare MATCH ? ORDER BY bm25(bare) LIMIT 10",
		done:  []string{"INSERT INTO bare(bare) VALUES ('optimize')", "ANALYZE", "PRAGMA wal_checkpoint(TRUNCATE)"},
	},
	"postgres": {
		make:  []string{"CREATE TABLE bare (id text, words text, vector tsvector)"},
		query: "SELECT id FROM bare, to_tsquery('simple', $1) q WHERE vector @@ q ORDER BY ts_rank(vector, q) DESC LIMIT 10",
		done: []string{"UPDATE bare SET vector = to_tsvector('simple', words)", "CREATE INDEX bare_vector ON bare USING gin (vector)",
			"VACUUM FULL ANALYZE bare", "VACUUM ANALYZE", "CHECKPOINT"},
	},
}

func (d *db) bareTable(ctx context.Context, texts map[string]string) (*sql.Stmt, error) {
	t := bareTables[d.dialect]
	if err := d.exec(ctx, t.make...); err != nil {
		return nil, err
	}
	var rows [][]any
	for id, s := range texts {
		terms, _ := text.Analyse(s)
		var said []string
		for _, t := range terms {
			for range t.TF {
				said = append(said, term(t))
			}
		}
		rows = append(rows, []any{id, strings.Join(said, " ")})
	}
	err := d.bulk(ctx, func(b bulk) error { return b.insert(ctx, "bare", []string{"id", "words"}, rows) })
	if err != nil {
		return nil, err
	}
	if err := d.exec(ctx, t.done...); err != nil {
		return nil, err
	}
	return d.sql.PrepareContext(ctx, t.query)
}

// whileWriting asks on while two goroutines remember and a worker judges what
// they wrote. Both sides suffer from the same writing.
func (b *recallBed) whileWriting(ctx context.Context, rng *rand.Rand) (result, error) {
	wk, err := worker.New(b.deps(), worker.Config{})
	if err != nil {
		return result{}, err
	}
	if err := wk.Start(ctx); err != nil {
		return result{}, err
	}
	writing, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	var written [2]int
	var failed [2]error
	begin := time.Now()
	for i := range written {
		wg.Go(func() {
			own, e := newTalker(uint64(100+i)), b.engine()
			for writing.Err() == nil {
				_, err := e.Remember(writing, engine.Statement{Scope: home, Text: own.passage(), Kind: oxbow.Semantic})
				if err != nil {
					if writing.Err() == nil {
						failed[i] = err
					}
					return
				}
				written[i]++
			}
		})
	}
	var times timesOf
	for round := range recallRounds {
		if err = b.both(ctx, b.question(rng), round >= recallWarm, &times); err != nil {
			break
		}
	}
	took := time.Since(begin)
	stop()
	wg.Wait()
	if err := errors.Join(err, failed[0], failed[1], wk.Stop(ctx)); err != nil {
		return result{}, err
	}
	ratio := times.p50(times.ours) / times.p50(times.bare)
	rate := float64(written[0]+written[1]) / took.Seconds()
	return result{what: fmt.Sprintf("the same p50 while workers write (%.0f memories a second) and judge", rate), goal: "≤ 3 ×",
		measured: fmt.Sprintf("%.1f ×", ratio), ours: millis(median(times.ours)), other: millis(median(times.bare)), pass: ratio <= 3}, nil
}
