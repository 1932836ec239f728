package jobs_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

func TestReindex(t *testing.T) {
	tell(t,
		story{"has what was stored without hints found by what it is about, and changes nothing else", reindexes},
	)
}

func reindexes(b *lab.Bench) {
	var ids []string
	for i := range 300 {
		ids = append(ids, b.Remember(lab.Statement{Text: fmt.Sprintf("I moved to Bergen with %d boxes", i)}).ID)
	}
	b.Drain()
	ms := must(b.DB.Memories(b.Ctx, b.Scope.Tenant, ids))(b)
	equal(b, "hinted before", hinted(b, "live"), len(ids))
	// As they are in a database that was made before there were hints.
	bare := slices.Clone(ms)
	for i := range bare {
		bare[i].Content.Details = nil
	}
	b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.PutHints(ctx, b.Scope, bare)
		return err
	}))
	b.DB.Exec(b, "UPDATE memories SET hint_rules = 0 WHERE scope = (SELECT seq FROM scopes WHERE tenant = '"+b.Scope.Tenant+"')")
	equal(b, "hinted then", hinted(b, "live"), 0)
	equal(b, "without hints", must(b.DB.CountWithoutHints(b.Ctx, b.Scope))(b), len(ids))
	runs, err := b.Engine.RunJob(b.Ctx, engine.Order{Name: "reindex", Tenant: b.Scope.Tenant, Scopes: []string{b.Scope.Name}})
	b.Must(err)
	b.Drain()
	run := must(b.DB.Run(b.Ctx, b.Scope.Tenant, runs[0]))(b)
	equal(b, "the run", fmt.Sprintf("%s %v", run.Status, run.Counts), "done map[due:300 indexed:300]")
	equal(b, "hinted after", hinted(b, "live"), len(ids))
	equal(b, "without hints", must(b.DB.CountWithoutHints(b.Ctx, b.Scope))(b), 0)
	for i, m := range must(b.DB.Memories(b.Ctx, b.Scope.Tenant, ids))(b) {
		if m.Version != ms[i].Version || m.Digest != ms[i].Digest {
			b.Errorf("%s was changed", m.ID)
		}
	}
	b.Clean()
}

// hinted counts the memories that a word finds as a hint.
func hinted(b *lab.Bench, word string) int {
	b.Helper()
	m := must(b.DB.Match(b.Ctx, store.MatchQuery{Scope: b.Scope, Terms: []store.Weighted{{Hash: text.HintHash(text.Stem(word)), Weight: 1}},
		Statuses: []oxbow.Status{oxbow.Active}, K1: 1, B: 0.3, Limit: 1000}))(b)
	return len(m.Hits)
}
