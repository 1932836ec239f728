package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/eval"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// factsOnly is the strategy that knows facts alone: it is asked in scopes of its
// own, in which every memory is one.
const factsOnly = "facts"

// recallFile is what a file of stores holds, as a command asks for it.
type recallFile struct {
	stores   []eval.RecallStore
	memories int
	queries  int
}

// readRecallFile reads a file and says what in it cannot count.
func (a *app) readRecallFile(name string, pooled bool, categories []string) (recallFile, error) {
	f, err := a.openExamples(name)
	if err != nil {
		return recallFile{}, err
	}
	defer func() { _ = f.Close() }()
	stores, err := eval.ReadRecall(f)
	if err != nil {
		return recallFile{}, err
	}
	stores = eval.OfCategories(stores, categories)
	if n := eval.Unknown(stores); n > 0 {
		a.say("%s that no memory of the store has: nothing can find them", number(n, "id is named as an answer", "ids are named as answers"))
	}
	if pooled {
		stores = []eval.RecallStore{eval.Pool(stores)}
	}
	out := recallFile{stores: stores}
	for _, s := range stores {
		out.memories += len(s.Memories)
		out.queries += len(s.Queries)
	}
	if out.queries == 0 {
		return out, oxbow.Errorf(oxbow.CodeInvalid, "the file has no query to ask; leave --category out, or see docs/evaluation.md for the form")
	}
	return out, nil
}

// bedMaker is all that a bed needs beside its database.
type bedMaker struct {
	*app
	conf        settings
	file        recallFile
	strategies  []string
	judgeWrites bool
}

// evalBed is a scratch database in which the stores of a file stand, ready to
// be asked.
type evalBed struct {
	*scratch
	*bedMaker
	judge    llm.Judge
	embedder llm.Embedder
	plain    []eval.Loaded
	facts    []eval.Loaded
}

// withBed makes a bed at a place, loads it, gives it to fn, and takes it away.
func (m *bedMaker) withBed(ctx context.Context, place string, fn func(*evalBed) error) (err error) {
	judge, err := newJudge(m.conf)
	if err != nil {
		return err
	}
	embedder, err := newEmbedder(m.conf, nil)
	if err != nil {
		return err
	}
	db, err := openScratch(ctx, place)
	if err != nil {
		return err
	}
	defer func() {
		dropped := db.drop()
		if dropped == nil && errors.Is(err, context.Canceled) {
			m.say("oxbow: stopped before it was done; nothing of it is kept")
			err = errSaid
		}
		err = errors.Join(err, dropped)
	}()
	b := &evalBed{scratch: db, bedMaker: m, judge: judge, embedder: embedder}
	if err := b.load(ctx); err != nil {
		return err
	}
	return fn(b)
}

func (b *evalBed) load(ctx context.Context) (err error) {
	begin := time.Now()
	if slices.ContainsFunc(b.strategies, func(s string) bool { return s != factsOnly }) {
		if b.plain, err = b.loadAll(ctx, false); err != nil {
			return err
		}
	}
	if slices.Contains(b.strategies, factsOnly) {
		if b.facts, err = b.loadAll(ctx, true); err != nil {
			return err
		}
	}
	if b.judgeWrites {
		if err := b.judgeAll(ctx); err != nil {
			return err
		}
	}
	b.say("loaded %s of %s into %s in %s", number(b.file.memories, "memory", "memories"), number(len(b.file.stores), "store", "stores"),
		b.kind(), time.Since(begin).Round(time.Millisecond))
	return nil
}

func (b *evalBed) kind() string {
	if b.Embedded() {
		return "SQLite"
	}
	return "Postgres"
}

// loadAll puts every store into a scope of its own.
func (b *evalBed) loadAll(ctx context.Context, facts bool) ([]eval.Loaded, error) {
	var out []eval.Loaded
	bar := b.progress()
	defer bar.done()
	before, cut, left := 0, 0, 0
	for i, s := range b.file.stores {
		scope := oxbow.Scope{Tenant: "eval", Name: fmt.Sprintf("store:%d", i+1)}
		if facts {
			scope.Name += ":facts"
		}
		l, err := eval.Load(ctx, b.Store, scope, s, eval.Loading{Facts: facts, Embedder: b.embedder, Details: offline.ReadDetails, Progress: func(n int) {
			bar.show(func() string { return fmt.Sprintf("loading: %d of %d memories", before+n, b.file.memories) })
		}})
		if err != nil {
			return nil, err
		}
		before, cut, left = before+len(s.Memories), cut+l.Cut, left+l.Left
		out = append(out, l)
	}
	bar.done()
	if cut > 0 {
		b.say("cut %s to 64 KiB", number(cut, "memory", "memories"))
	}
	if left > 0 {
		b.say("left out %s without a word", number(left, "memory", "memories"))
	}
	return out, nil
}

// judgeAll lets a worker do the contradiction job of every loaded memory, as it
// would have been done when they were written.
func (b *evalBed) judgeAll(ctx context.Context) error {
	now, all := time.Time{}, slices.Concat(b.plain, b.facts)
	for _, l := range all {
		if l.Now.After(now) {
			now = l.Now
		}
		if err := b.enqueue(ctx, l); err != nil {
			return err
		}
	}
	deps := jobs.Deps{Store: b.Store, Judge: b.judge, ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Clock: func() time.Time { return now }}
	w, err := worker.New(deps, worker.Config{Write: b.conf.count("worker.write"), PollEvery: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	if err := w.Start(ctx); err != nil {
		return err
	}
	bar := b.progress()
	err = w.Drain(ctx, "", func(left int) { bar.show(func() string { return judging(left) }) })
	bar.done()
	if err = errors.Join(err, w.Stop(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	retired := 0
	for _, l := range all {
		counts, err := b.CountMemories(ctx, l.Scope)
		if err != nil {
			return err
		}
		retired += counts[oxbow.Superseded] + counts[oxbow.Compressed]
	}
	b.say("the judge %s retired %s", b.judge.Name(), number(retired, "memory", "memories"))
	return nil
}

func (b *evalBed) enqueue(ctx context.Context, l eval.Loaded) error {
	ms, err := b.Memories(ctx, l.Scope.Tenant, l.IDs)
	if err != nil {
		return err
	}
	run := oxbow.Run{ID: oxbow.NewID("run", "eval", "judge", l.Scope.String()), Scope: l.Scope, Name: "write", Trigger: "operator",
		Status: oxbow.RunDone, About: l.Now, StartedAt: l.Now, FinishedAt: l.Now}
	for part := range slices.Chunk(ms, 500) {
		var next []river.InsertManyParams
		for _, m := range part {
			about := jobs.About{Tenant: l.Scope.Tenant, Scope: l.Scope.Name, Run: run.ID, Now: m.SaidAt, Trigger: "write"}
			next = append(next, river.InsertManyParams{Args: jobs.NewContradiction(about, m)})
		}
		err := b.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
			if err := tx.PutRun(ctx, run); err != nil {
				return err
			}
			return tx.Enqueue(ctx, next)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ask asks every query by one strategy.
func (b *evalBed) ask(ctx context.Context, r eval.Asker, how eval.Asking) ([]eval.Recalled, error) {
	bar := b.progress()
	defer bar.done()
	how.Progress = func(n int) {
		bar.show(func() string { return fmt.Sprintf("%s: %d of %d queries", how.Strategy, n, b.file.queries) })
	}
	in := b.plain
	if how.Strategy == factsOnly {
		in = b.facts
	}
	return eval.AskAll(ctx, r, b.file.stores, in, how)
}

// recaller gives recall as oxbow recall has it.
func (b *evalBed) recaller() *recall.Recaller {
	return newEngine(b.conf, b.Store, b.judge, b.embedder).Recaller()
}

// strategiesOf reads the values of --strategy.
func strategiesOf(names []string) ([]string, error) {
	if slices.Contains(names, "all") {
		return recall.Strategies(), nil
	}
	for _, n := range names {
		if !slices.Contains(recall.Strategies(), n) {
			return nil, usage("there is no strategy %q: use all, or some of %s", n, strings.Join(recall.Strategies(), ", "))
		}
	}
	return names, nil
}
