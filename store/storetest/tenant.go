package storetest

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// furnish stores one of everything in the sub-test's scope.
func furnish(f *fixture) {
	f.create(f.memory("a", fact("user", "city"), says("a lighthouse by the sea")), f.memory("b"))
	f.apply(f.change(oxbow.Linked, "a", func(c *oxbow.Change) {
		c.Links = []oxbow.Link{{From: f.id("b"), To: f.id("a"), Type: oxbow.Confirms}}
	}))
	f.putVectors(small, f.vector("b", 1, 0, 0, 0))
	f.putGraph(f.part("b", "Ada -keeps-> Lighthouse"))
	f.turnOf("talked", "talk", 1, oxbow.TurnExtracted)
	f.tx(func(ctx context.Context, tx store.Tx) error {
		if err := tx.PutEvidence(ctx, f.scope, []store.Evidence{{Memory: f.id("b"), Turn: f.id("talked")}}); err != nil {
			return err
		}
		if err := tx.PutShown(ctx, f.scope, "talk", f.ids("b"), start); err != nil {
			return err
		}
		turn := oxbow.Turn{ID: f.id("turn"), Scope: f.scope, User: "hello", At: start, CreatedAt: start}
		if _, err := tx.AddTurns(ctx, []oxbow.Turn{turn}); err != nil {
			return err
		}
		v := oxbow.Verdict{Older: f.id("a"), Newer: f.id("b"), Relation: oxbow.ConfirmsIt, Judge: "code", At: start}
		if err := tx.PutVerdicts(ctx, f.scope, []oxbow.Verdict{v}); err != nil {
			return err
		}
		if err := tx.PutSchedule(ctx, store.Schedule{Scope: f.scope, Name: "decay", Spec: "0 3 * * *", NextAt: start}); err != nil {
			return err
		}
		if err := tx.PutDiscarded(ctx, store.Discarded{ID: f.id("job"), Tenant: f.scope.Tenant, Kind: "k", Args: []byte("{}"), At: start}); err != nil {
			return err
		}
		return tx.PutRun(ctx, oxbow.Run{ID: f.id("run"), Scope: f.scope, Name: "decay", Status: oxbow.RunDone, About: start, StartedAt: start})
	})
}

// ask asks every question of a tenant about what furnish stored, and gives for
// each how many answers came.
func ask(f *fixture, tenant, scope string) map[string]int {
	r, ids := store.Reader(f.s), f.ids("a", "b")
	sc := oxbow.Scope{Tenant: tenant, Name: scope}
	settings := oxbow.ScopeSettings{Scope: sc, Policy: oxbow.DefaultPolicy()}
	one := func(err error) int {
		if err == nil {
			return 1
		}
		f.wantCode(err, oxbow.CodeNotFound)
		return 0
	}
	content := f.get("a").ContentID
	_, memory := r.Memory(f.ctx, tenant, ids[0])
	_, turn := r.Turn(f.ctx, tenant, f.id("turn"))
	_, run := r.Run(f.ctx, tenant, f.id("run"))
	_, _, body := r.ContentBody(f.ctx, tenant, content)
	_, found := r.Resolve(f.ctx, tenant, "memory", ids[0][:12])
	_, set := r.Scope(f.ctx, sc)
	sum := 0
	for _, n := range must(r.CountMemories(f.ctx, sc))(f) {
		sum += n
	}
	turns := 0
	for _, n := range must(r.CountTurns(f.ctx, sc))(f) {
		turns += n
	}
	with, without, err := r.CountVectors(f.ctx, sc, small)
	f.wantCode(err, "")
	nodes, edges, err := r.CountGraph(f.ctx, sc)
	f.wantCode(err, "")
	var from []string
	for _, n := range must(r.MatchNodes(f.ctx, f.named(f.scope, "Ada", 1)))(f) {
		from = append(from, n.ID)
	}
	edgesOf, _, err := r.EdgesOf(f.ctx, store.EdgeQuery{Scope: sc, Nodes: from, Statuses: oxbow.Statuses, Now: start, Limit: 9})
	f.wantCode(err, "")
	nodesWith, nodesWithout, err := r.CountNodeVectors(f.ctx, sc, small)
	f.wantCode(err, "")
	waiting, _, err := r.CountUnobserved(f.ctx, sc, "talk")
	f.wantCode(err, "")
	noted := 0
	if must(r.HasNotes(f.ctx, sc))(f) {
		noted = 1
	}
	walk := store.WalkQuery{Scope: sc, From: from, Hops: 2, Statuses: oxbow.Statuses, Limit: 9}
	return map[string]int{
		"CountUnobserved": waiting, "HasNotes": noted,
		"Unobserved":    len(must(r.Unobserved(f.ctx, sc, "talk", 9))(f)),
		"Conversations": len(must(r.Conversations(f.ctx, sc, store.ConversationFilter{Limit: 9}))(f)),
		"EvidenceOf":    len(must(r.EvidenceOf(f.ctx, tenant, ids))(f)),
		"ShownIn":       len(must(r.ShownIn(f.ctx, sc, "talk"))(f)),
		"CountGraph":    nodes, "CountGraph edges": edges,
		"MatchNodes":        len(must(r.MatchNodes(f.ctx, f.named(sc, "Ada", 9)))(f)),
		"ListNodes":         len(must(r.ListNodes(f.ctx, f.named(sc, "", 9)))(f)),
		"EdgesOf":           len(edgesOf),
		"WithoutGraph":      len(must(r.WithoutGraph(f.ctx, sc, "another", "", 9))(f)),
		"WithoutNodeVector": len(must(r.WithoutNodeVector(f.ctx, sc, small, nil, "", 9))(f)),
		"CountNodeVectors":  nodesWith + nodesWithout,
		"Walk":              len(must(r.Walk(f.ctx, walk))(f).Hits),
		"CountVectors":      with, "CountVectors without": without,
		"VectorsOf":     len(must(r.VectorsOf(f.ctx, sc, small, ids))(f)),
		"VectorMark":    int(must(r.VectorMark(f.ctx, sc))(f)),
		"VectorsSince":  len(must(r.VectorsSince(f.ctx, sc, small, store.VectorPlace{}, 9))(f)),
		"WithoutVector": len(must(r.WithoutVector(f.ctx, sc, small, "", 9))(f)),
		"Standing":      len(must(r.Standing(f.ctx, store.StandingQuery{Scope: sc, Numbers: numbers(f), Statuses: oxbow.Statuses}))(f)),
		"Memory":        one(memory), "Turn": one(turn), "Run": one(run), "ContentBody": one(body), "Resolve": one(found), "Scope": one(set),
		"CountMemories": sum, "CountTurns": turns,
		"Memories":          len(must(r.Memories(f.ctx, tenant, ids))(f)),
		"ListMemories":      len(must(r.ListMemories(f.ctx, store.MemoryFilter{Tenant: tenant, Scope: scope, Limit: 9}))(f)),
		"FactHistory":       len(must(r.FactHistory(f.ctx, sc, "user", "city"))(f)),
		"StrongestMemories": len(must(r.StrongestMemories(f.ctx, settings, start, 9))(f)),
		"Search": len(must(r.Search(f.ctx, store.SearchQuery{Scope: sc, Text: "lighthouse",
			Statuses: oxbow.Statuses, K1: 1.2, B: 0.1, Limit: 9}))(f)),
		"Events":            len(must(r.Events(f.ctx, store.EventFilter{Tenant: tenant, Scope: scope, Limit: 9}))(f)),
		"EventsOf":          len(must(r.EventsOf(f.ctx, tenant, ids))(f)),
		"Links":             len(must(r.Links(f.ctx, tenant, ids))(f)),
		"Verdicts":          len(must(r.Verdicts(f.ctx, tenant, ids))(f)),
		"ListRuns":          len(must(r.ListRuns(f.ctx, store.RunFilter{Tenant: tenant, Scope: scope, Limit: 9}))(f)),
		"ListTurns":         len(must(r.ListTurns(f.ctx, store.TurnFilter{Tenant: tenant, Scope: scope, Limit: 9}))(f)),
		"NextTurns":         len(must(r.NextTurns(f.ctx, sc, 9))(f)),
		"ListScopes":        len(must(r.ListScopes(f.ctx, tenant))(f)),
		"ListSchedules":     len(must(r.ListSchedules(f.ctx, sc))(f)),
		"Slots":             len(must(r.Slots(f.ctx, sc))(f)),
		"SlotMemories":      len(must(r.SlotMemories(f.ctx, sc, "user"))(f)),
		"Faded":             len(must(r.Faded(f.ctx, sc, start.Add(9999*day), "", 9))(f)),
		"ClusterCandidates": len(must(r.ClusterCandidates(f.ctx, sc, start, 9))(f)),
		"AllMemories":       len(must(r.AllMemories(f.ctx, sc, "", 9))(f)),
		"ListDiscarded":     len(must(r.ListDiscarded(f.ctx, tenant, 9))(f)),
	}
}

// numbers gives the numbers of the memories that have a vector.
func numbers(f *fixture) []int64 {
	all, _ := f.since(small, store.VectorPlace{}, 9)
	return slices.Collect(maps.Keys(all))
}

func testTenants(t *testing.T, s store.Store) {
	t.Run("answers the owner of the memories", func(t *testing.T) {
		f := setup(t, s)
		furnish(f)
		for question, n := range ask(f, f.scope.Tenant, f.scope.Name) {
			if n == 0 {
				t.Errorf("%s gives the owner nothing, so the next test could not fail", question)
			}
		}
	})

	t.Run("answers another tenant with nothing, whatever it asks", func(t *testing.T) {
		f := setup(t, s)
		furnish(f)
		for question, n := range ask(f, f.scope.Tenant+"x", f.scope.Name) {
			if n != 0 {
				t.Errorf("%s shows a stranger %d things", question, n)
			}
		}
	})

	t.Run("answers for another scope of the tenant with nothing of this one", func(t *testing.T) {
		f := setup(t, s)
		furnish(f)
		byTenant := map[string]bool{"Memory": true, "Turn": true, "Run": true, "ContentBody": true, "Resolve": true, "Memories": true,
			"EventsOf": true, "Links": true, "Verdicts": true, "EvidenceOf": true, "ListScopes": true, "ListDiscarded": true}
		for question, n := range ask(f, f.scope.Tenant, f.other().Name) {
			if n != 0 && !byTenant[question] {
				t.Errorf("%s shows %d things of another scope", question, n)
			}
		}
	})

	t.Run("changes nothing of another tenant", func(t *testing.T) {
		f := setup(t, s)
		furnish(f)
		before := f.get("a")
		stranger := oxbow.Scope{Tenant: f.scope.Tenant + "x", Name: f.scope.Name}
		f.lock(stranger)
		f.tx(func(ctx context.Context, tx store.Tx) error {
			if n, err := tx.Use(ctx, stranger.Tenant, f.ids("a"), start.Add(day)); n != 0 || err != nil {
				t.Errorf("a stranger's use counted %d times, error %v", n, err)
			}
			policy := oxbow.DefaultPolicy()
			policy.HalfLifeDays = map[oxbow.Kind]float64{oxbow.Fact: 1}
			if err := tx.Rederive(ctx, stranger, policy, f.ids("a")); err != nil {
				return err
			}
			if n, err := tx.PutVectors(ctx, stranger, small, []store.Vector{f.vector("b", 0, 1, 0, 0)}); n != 0 || err != nil {
				t.Errorf("a stranger stored %d vectors, error %v", n, err)
			}
			if ok, err := tx.PutGraph(ctx, stranger, f.part("b", "Eve")); ok || err != nil {
				t.Errorf("a stranger drew in the graph: %v, error %v", ok, err)
			}
			if err := tx.Erase(ctx, stranger, f.ids("a", "b")); err != nil {
				return err
			}
			if err := tx.EraseTurn(ctx, stranger, f.id("turn")); err != nil && oxbow.CodeOf(err) != oxbow.CodeNotFound {
				return err
			}
			if err := tx.DropVerdicts(ctx, stranger, f.id("a")); err != nil {
				return err
			}
			if _, err := tx.ReopenTurns(ctx, stranger, start, false); err != nil {
				return err
			}
			return tx.DropDiscarded(ctx, stranger.Tenant, f.id("job"))
		})
		f.wantSame(f.get("a"), before)
		for question, n := range ask(f, f.scope.Tenant, f.scope.Name) {
			if n == 0 {
				t.Errorf("%s: a stranger took it away", question)
			}
		}
		if turn := must(f.s.Turn(f.ctx, f.scope.Tenant, f.id("turn")))(f); turn.User != "hello" {
			t.Errorf("a stranger erased the turn: %s", show(turn))
		}
	})
}
