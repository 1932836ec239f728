package engine

import (
	"context"
	"encoding/json"
	"io"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/carry"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/store"
)

// ExportOrder says what Export writes.
type ExportOrder struct {
	Tenant  string
	Scopes  []string // empty means every scope of the tenant
	Vectors bool     // write the vectors too; without them an import has them made anew
	Program string   // the version of the program, for the header
	// Progress, when it is set, is called now and then with the lines of each kind
	// so far.
	Progress func(counts map[string]int)
}

// exportPage is how many memories, and how many turns, are read at a time.
const exportPage = 500

// Export writes everything that a tenant's memory is made of, as it stands at one
// instant, in the form of package carry, and gives the number of lines of each
// kind. It holds up nobody and keeps no more than a page in memory. Not written
// are what belongs to the installation: API keys, the ledger of what jobs did,
// what models were asked and cost, and requests. not_found for a scope that does
// not exist.
func (e *Engine) Export(ctx context.Context, w io.Writer, o ExportOrder) (map[string]int, error) {
	have, _, err := e.st.SchemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	var counts map[string]int
	err = e.st.Snapshot(ctx, func(ctx context.Context, r store.Reader) error {
		x := exporter{e: e, o: o, r: r}
		if err := x.begin(ctx, w, have); err != nil {
			return err
		}
		for _, s := range x.scopes {
			if err := x.scope(ctx, s); err != nil {
				return err
			}
		}
		if err := x.rest(ctx); err != nil {
			return err
		}
		counts = x.out.Counts()
		return x.out.Close()
	})
	return counts, err
}

type exporter struct {
	e      *Engine
	o      ExportOrder
	r      store.Reader
	out    *carry.Writer
	scopes []oxbow.ScopeSettings
	in     map[string]bool // the scopes, by name
}

func (x *exporter) put(l carry.Line) error {
	if err := x.out.Put(l); err != nil {
		return err
	}
	if x.o.Progress != nil {
		x.o.Progress(x.out.Counts())
	}
	return nil
}

func (x *exporter) begin(ctx context.Context, w io.Writer, schema int64) error {
	all, err := x.r.ListScopes(ctx, x.o.Tenant)
	if err != nil {
		return err
	}
	byName := map[string]oxbow.ScopeSettings{}
	for _, s := range all {
		byName[s.Name] = s
	}
	if x.scopes = all; len(x.o.Scopes) > 0 {
		x.scopes = nil
		for _, name := range store.Sorted(x.o.Scopes) {
			s, ok := byName[name]
			if !ok {
				return oxbow.Errorf(oxbow.CodeNotFound, "there is no scope %s; oxbow scope list shows those there are", name)
			}
			x.scopes = append(x.scopes, s)
		}
	}
	h := carry.Header{Format: carry.Format, Schema: schema, Program: x.o.Program, Tenant: x.o.Tenant, Scopes: []string{}, ExportedAt: x.e.now()}
	x.in = map[string]bool{}
	for _, s := range x.scopes {
		x.in[s.Name] = true
		h.Scopes = append(h.Scopes, s.Name)
		memories, err := x.r.CountMemories(ctx, s.Scope)
		if err != nil {
			return err
		}
		turns, err := x.r.CountTurns(ctx, s.Scope)
		if err != nil {
			return err
		}
		for _, n := range memories {
			h.Memories += n
		}
		for _, n := range turns {
			h.Turns += n
		}
	}
	x.out, err = carry.NewWriter(w, h)
	return err
}

// scope writes a scope in the order in which an import takes it in. The schedules
// come last, so that no pass runs over a scope that is half there.
func (x *exporter) scope(ctx context.Context, s oxbow.ScopeSettings) error {
	s.Memories = 0
	if err := x.put(carry.Line{Scope: &carry.Scope{ScopeSettings: s}}); err != nil {
		return err
	}
	if err := x.r.DumpRuns(ctx, s.Scope, func(r oxbow.Run) error { return x.put(carry.Line{Run: &r}) }); err != nil {
		return err
	}
	if err := x.turns(ctx, s.Scope); err != nil {
		return err
	}
	if err := x.r.DumpEvents(ctx, s.Scope, func(t store.Told) error {
		return x.put(carry.Line{Event: carry.EventOf(t)})
	}); err != nil {
		return err
	}
	if err := x.memories(ctx, s.Scope); err != nil {
		return err
	}
	schedules, err := x.r.ListSchedules(ctx, s.Scope)
	if err != nil {
		return err
	}
	for _, d := range schedules {
		if err := x.put(carry.Line{Schedule: &d}); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) turns(ctx context.Context, s oxbow.Scope) error {
	after := ""
	for {
		ts, err := x.r.ListTurns(ctx, store.TurnFilter{Tenant: s.Tenant, Scope: s.Name, AfterID: after, Limit: exportPage})
		if err != nil {
			return err
		}
		for _, t := range ts {
			if err := x.put(carry.Line{Turn: &t}); err != nil {
				return err
			}
		}
		if len(ts) < exportPage {
			return nil
		}
		after = ts[len(ts)-1].ID
	}
}

func (x *exporter) memories(ctx context.Context, s oxbow.Scope) error {
	var embedders []string
	if x.o.Vectors {
		var err error
		if embedders, err = x.r.EmbeddersOf(ctx, s); err != nil {
			return err
		}
	}
	after := ""
	for {
		ms, err := x.r.DumpMemories(ctx, s, after, exportPage)
		if err != nil {
			return err
		}
		lines, err := memoryLines(ctx, x.r, s, ms, embedders)
		if err != nil {
			return err
		}
		for i := range lines {
			if err := x.put(carry.Line{Memory: &lines[i]}); err != nil {
				return err
			}
		}
		if len(ms) < exportPage {
			return nil
		}
		after = ms[len(ms)-1].ID
	}
}

// memoryLines gives memories of a scope as an export has them, with what rests on
// each.
func memoryLines(ctx context.Context, r store.Reader, s oxbow.Scope, ms []oxbow.Memory, embedders []string) ([]carry.Memory, error) {
	ids, at := store.IDsOf(ms), map[string]*carry.Memory{}
	out := make([]carry.Memory, len(ms))
	for i, m := range ms {
		out[i].Memory = m
		at[m.ID] = &out[i]
	}
	links, err := r.Links(ctx, s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	for _, l := range links {
		if m := at[l.From]; m != nil {
			m.Links = append(m.Links, l)
		}
	}
	rests, err := r.EvidenceOf(ctx, s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	for _, e := range rests {
		at[e.Memory].Turns = append(at[e.Memory].Turns, e.Turn)
	}
	verdicts, err := r.Verdicts(ctx, s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	for _, v := range verdicts {
		if m := at[v.Newer]; m != nil {
			m.Verdicts = append(m.Verdicts, v)
		}
	}
	shown, err := r.Shown(ctx, s.Tenant, ids)
	if err != nil {
		return nil, err
	}
	for _, v := range shown {
		at[v.Memory].Shown = append(at[v.Memory].Shown, v)
	}
	parts, err := r.GraphOf(ctx, s, ids)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		at[p.Memory].Graph = carry.GraphOf(p)
	}
	for _, embedder := range embedders {
		vectors, err := r.VectorsOf(ctx, s, embedder, ids)
		if err != nil {
			return nil, err
		}
		for id, v := range vectors {
			at[id].Vectors = append(at[id].Vectors, carry.Vector{Embedder: embedder, Dimensions: len(v), Packed: store.PackVector(v)})
		}
	}
	return out, nil
}

// rest writes what waits: the jobs that are not finished, as an import enqueues
// them, and those that were given up.
func (x *exporter) rest(ctx context.Context) error {
	err := x.r.DumpJobs(ctx, x.o.Tenant, func(j store.Job) error {
		var of struct {
			Scope string `json:"scope"`
		}
		if err := json.Unmarshal(j.Args, &of); err != nil || !x.in[of.Scope] {
			return nil // of another scope, or of none
		}
		args, err := jobs.Decode(j.Kind, j.Args)
		if err != nil {
			return nil // a kind that this program does not know, and no import would
		}
		raw, err := json.Marshal(args) // databases order the names of an object in their own way
		if err != nil {
			return err
		}
		return x.put(carry.Line{Job: &carry.Job{Tenant: x.o.Tenant, Scope: of.Scope, Kind: j.Kind, Args: raw}})
	})
	if err != nil {
		return err
	}
	given, err := x.r.ListDiscarded(ctx, x.o.Tenant, maxDiscarded)
	if err != nil {
		return err
	}
	for _, d := range given {
		if !x.in[d.Scope] {
			continue
		}
		if err := x.put(carry.Line{Discarded: &d}); err != nil {
			return err
		}
	}
	return nil
}

// maxDiscarded bounds the jobs that were given up and go into an export.
const maxDiscarded = 100_000
