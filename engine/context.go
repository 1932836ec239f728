package engine

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/store"
)

// ContextBudget is how many tokens a context block takes where nothing else is
// said.
const ContextBudget = 1500

// How much of each part a block looks at. The published design takes ten recent
// memories and five relevant ones.
const (
	contextObservations = 100
	contextRecent       = 10
	contextDue          = 5
	contextOfClass      = 2 // of each class that is asked for
)

// ContextQuery asks for the block of memories that belongs before a user's turn.
type ContextQuery struct {
	Scope oxbow.Scope
	Text  string       // the user's message; may be empty when State is not
	State recall.State // what the agent is doing
	// Conversation is the running one: its observations come first, what is shown
	// in it is kept, and a cue that went stale in it is noticed. "" is none.
	Conversation string
	Budget       int                // tokens of the whole block, recall.MinBudget or more; 0 is ContextBudget
	Shares       map[string]float64 // of the budget, by part (recall.BlockParts); nil is recall.DefaultShares
	// At is the instant that the block is about: what is live, due and recent then,
	// of what was said by then. What was replaced since stays replaced, and nothing
	// is recorded. Zero is now.
	At   time.Time
	Zone string // for times and dates; "" is the scope's

	// The following say how the relevant part is found, as in Recall.
	Strategy string
	Limit    int      // 0 is recall.RelevantLimit
	Floor    *float64 // nil is recall.RelevantFloor
	Include  []oxbow.Status
	Slot     string
	Kind     oxbow.Kind
	Tag      string
	// AsOf asks for what was known then, and leaves out the parts that cannot be
	// replayed: only what is relevant remains.
	AsOf time.Time
}

// ContextBlock is a context block and what is to be known about it. Block.Text
// goes before the user's words: it is evidence, which belongs into the user's turn
// and never into a system prompt, which would make policy of it and is kept the
// same for the sake of its cache.
type ContextBlock struct {
	recall.Block
	// StaleCue says that the same cue was asked before and the conversation has
	// gone on since: whoever asks may have forgotten to rebuild it.
	StaleCue bool         `json:"stale_cue"`
	Stale    *StaleReason `json:"stale,omitempty"`
	Notes    []string     `json:"notes,omitempty"` // what the asker should know
}

// StaleReason says what changed since a cue was made.
type StaleReason struct {
	Since time.Time `json:"since"`          // when the same cue was first asked, or its words were said
	Turns int       `json:"turns"`          // that came since; at least so many when there are more than twenty
	Last  time.Time `json:"last"`           // when the newest of them was said
	Said  bool      `json:"said,omitempty"` // the message is one that stands further back in the conversation
}

// Context composes the block for one turn of a conversation: the time where the
// scope lives, the observations of the conversation, the ten most recent memories,
// up to five that fit the cue, and what ends in the time that it names. Only what
// is live is shown, once, within the budget. It is for being asked anew at every
// turn, with the goal and the step as they are then.
//
// What is put into a prompt unasked counts as shown and not as used, unless the
// scope's policy says recall.use=classic. An unknown scope has a block with the
// time. Errors: invalid for a query without words or with a value out of its
// range; those of Recall.
func (e *Engine) Context(ctx context.Context, q ContextQuery) (block ContextBlock, err error) {
	ctx, span := trace.Memory(ctx, trace.SearchMemory)
	defer func() {
		n := 0
		for _, p := range block.Parts {
			n += len(p.Lines)
		}
		span.Records(n)
		span.End(err)
	}()
	zone, err := e.checkContext(ctx, &q)
	if err != nil {
		return ContextBlock{}, err
	}
	g := &gathering{Engine: e, q: q, zone: zone, now: e.now(), parts: map[string][]recall.Result{}}
	if !q.At.IsZero() {
		g.now = q.At
	}
	if err := g.all(ctx); err != nil {
		return ContextBlock{}, err
	}
	links, err := e.st.Links(ctx, q.Scope.Tenant, g.ids())
	if err != nil {
		return ContextBlock{}, err
	}
	at := g.now
	if !q.AsOf.IsZero() {
		at = q.AsOf
	}
	out := ContextBlock{Notes: g.notes, Block: recall.Compose(recall.Pieces{Now: at, Zone: zone, Parts: g.parts, Links: links, Budget: q.Budget, Shares: q.Shares})}
	if q.Conversation == "" || !q.AsOf.IsZero() {
		return out, e.recordContext(ctx, q, out, nil)
	}
	cue, err := e.staleness(ctx, q, &out)
	if err != nil {
		return out, err
	}
	return out, e.recordContext(ctx, q, out, cue)
}

// checkContext refuses what no block can be made of, and fills in what is not
// said.
func (e *Engine) checkContext(ctx context.Context, q *ContextQuery) (*time.Location, error) {
	if err := q.Scope.Validate(); err != nil {
		return nil, err
	}
	q.Conversation = text.Normalise(q.Conversation)
	if q.Budget == 0 {
		q.Budget = ContextBudget
	}
	switch {
	case strings.TrimSpace(q.Text) == "" && cueOf(q.State) == "":
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is nothing to go by: give the user's message, or what the agent is after (goal, step, open)")
	case len(q.Conversation) > maxConversation:
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the conversation's name is %d bytes long and the limit is %d", len(q.Conversation), maxConversation)
	case q.Budget < recall.MinBudget:
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "the budget is %d tokens: a block takes %d or more", q.Budget, recall.MinBudget)
	}
	sum := 0.0
	for _, name := range slices.Sorted(maps.Keys(q.Shares)) {
		v := q.Shares[name]
		if !slices.Contains(recall.BlockParts, name) {
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no part %q: the budget is shared by %s", name, text.OneOf(recall.BlockParts))
		}
		if !(v >= 0) || math.IsInf(v, 0) { // a NaN passes no comparison
			return nil, oxbow.Errorf(oxbow.CodeInvalid, "the share of %s is %v: use a number from 0", name, v)
		}
		sum += v
	}
	if q.Shares != nil && sum == 0 {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "no part has a share of the budget: give at least one more than 0")
	}
	if q.Zone == "" {
		return e.Zone(ctx, q.Scope)
	}
	return zoneNamed(q.Zone)
}

// gathering is one block's memories on their way.
type gathering struct {
	*Engine
	q     ContextQuery
	zone  *time.Location
	now   time.Time
	parts map[string][]recall.Result
	notes []string
}

func (g *gathering) all(ctx context.Context) error {
	if !g.q.AsOf.IsZero() {
		g.notes = append(g.notes, "of the past there is only what fits the message: recent memories and observations are today's and left out")
		return g.relevant(ctx)
	}
	for _, part := range []func(context.Context) error{g.observations, g.recent, g.relevant, g.due} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (g *gathering) ids() []string {
	var ids []string
	for _, rs := range g.parts {
		for _, r := range rs {
			ids = append(ids, r.Memory.ID)
		}
	}
	return store.Sorted(ids)
}

// condensed are the kinds that conversations are condensed into.
var condensed = []oxbow.Kind{oxbow.Observation, oxbow.Reflection}

// observations are what the running conversation was condensed into, oldest
// first.
func (g *gathering) observations(ctx context.Context) error {
	if g.q.Conversation == "" {
		return nil
	}
	ms, err := g.said(ctx, store.MemoryFilter{Conversation: g.q.Conversation, Kinds: condensed}, contextObservations)
	if err != nil {
		return err
	}
	slices.Reverse(ms)
	for _, m := range ms {
		g.parts[recall.Observations] = append(g.parts[recall.Observations], recall.Result{Memory: m})
	}
	return nil
}

// recent are the memories that were said last.
func (g *gathering) recent(ctx context.Context) error {
	kinds := slices.DeleteFunc(slices.Clone(oxbow.Kinds), func(k oxbow.Kind) bool { return slices.Contains(condensed, k) })
	ms, err := g.said(ctx, store.MemoryFilter{Kinds: kinds}, contextRecent)
	for _, m := range ms {
		g.parts[recall.Recent] = append(g.parts[recall.Recent], recall.Result{Memory: m})
	}
	return err
}

// said gives the last n live memories of a filter that were said by now, the last
// first.
func (g *gathering) said(ctx context.Context, f store.MemoryFilter, n int) ([]oxbow.Memory, error) {
	f.Tenant, f.Scope, f.Status, f.LiveAt, f.Limit = g.q.Scope.Tenant, g.q.Scope.Name, []oxbow.Status{oxbow.Active}, g.now, n
	var out []oxbow.Memory
	for {
		page, err := g.st.ListMemories(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if len(out) < n && g.saidYet(m) {
				out = append(out, m)
			}
		}
		if len(page) < f.Limit || len(out) == n {
			return out, nil
		}
		f.AfterID, f.Limit = page[len(page)-1].ID, 200
	}
}

// saidYet is true of everything when the block is about the present.
func (g *gathering) saidYet(m oxbow.Memory) bool { return g.q.At.IsZero() || !m.SaidAt.After(g.now) }

// relevant is what fits the cue: what recall finds, and what names a thing of the
// sort that is asked for, in turns.
func (g *gathering) relevant(ctx context.Context) error {
	q := g.q
	got, err := g.recaller.Relevant(ctx, recall.Query{Scope: q.Scope, Text: q.Text, State: q.State, Strategy: q.Strategy, Limit: q.Limit, Floor: q.Floor,
		AsOf: q.AsOf, Include: q.Include, Slot: q.Slot, Kind: q.Kind, Tag: q.Tag, Now: g.now})
	if err != nil {
		return err
	}
	g.notes = append(g.notes, got.Notes...)
	var named []recall.Result
	if q.AsOf.IsZero() && q.Slot == "" && q.Kind == "" && q.Tag == "" {
		if named, err = g.recaller.OfClass(ctx, q.Scope, g.words(), g.now, contextOfClass); err != nil {
			return err
		}
	}
	limit := q.Limit
	if limit == 0 {
		limit = recall.RelevantLimit
	}
	for _, r := range recall.InTurns(limit, got.Results, named) {
		if g.saidYet(r.Memory) {
			g.parts[recall.Relevant] = append(g.parts[recall.Relevant], r)
		}
	}
	return nil
}

// words are the message, or the state where there is none.
func (g *gathering) words() string {
	if words := strings.TrimSpace(g.q.Text); words != "" {
		return words
	}
	return cueOf(g.q.State)
}

// due is what ends in the time that one of the clauses asks about.
func (g *gathering) due(ctx context.Context) error {
	for _, clause := range recall.Clauses(g.words()) {
		window, asked := g.recaller.DueWindow(clause, g.now, g.zone)
		if !asked {
			continue
		}
		rs, more, err := g.recaller.Due(ctx, g.q.Scope, window, g.now, contextDue)
		if err != nil {
			return err
		}
		if more {
			g.notes = append(g.notes, fmt.Sprintf("more than %d memories end in the time asked about: the soonest are shown", contextDue))
		}
		for _, r := range rs {
			if g.saidYet(r.Memory) {
				g.parts[recall.Due] = append(g.parts[recall.Due], r)
			}
		}
		return nil
	}
	return nil
}

// cueOf gives a state as one text.
func cueOf(s recall.State) string {
	return strings.TrimSpace(strings.Join(append([]string{s.Goal, s.Step}, s.Open...), "\n"))
}
