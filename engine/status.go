package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// Status is how a tenant's memory and the queue stand.
type Status struct {
	Database  string                  `json:"database,omitempty"`
	Judge     string                  `json:"judge"`
	Embedder  string                  `json:"embedder,omitempty"` // its id; empty when there is none
	Bare      int                     `json:"without_vector"`     // memories that have no vector of it
	Hintless  int                     `json:"without_hints"`      // memories that are not indexed by hints yet
	Memories  map[oxbow.Status]int    `json:"memories"`
	Turns     map[oxbow.TurnState]int `json:"turns"`
	Queues    []store.QueueStat       `json:"queues,omitzero"`
	Workers   int                     `json:"workers"` // alive
	Pending   int                     `json:"pending"` // jobs of the tenant that are not finished
	Discarded int                     `json:"discarded"`
	Refused   int                     `json:"refused"`           // what the gate refused in the last 24 hours
	Stopped   []oxbow.Run             `json:"stopped,omitempty"` // runs that a brake or a change stopped, newest first
	Next      []store.Schedule        `json:"next,omitempty"`    // the schedules that are due soonest
	Budget    *Budget                 `json:"budget,omitempty"`  // of the model's tokens; nil when nothing is limited
	// CountedAt is when those without a vector, those without hints, turns and what
	// was refused were counted: now, or for a tenant of many memories up to a minute ago.
	CountedAt time.Time `json:"counted_at"`
}

// Seen gives a status as a caller may see it: the instance's database, and its
// queues, in which other tenants' jobs are counted, are an operator's to see.
func (s Status) Seen(by Caller) Status {
	if by.May(oxbow.MayOperate) != nil {
		s.Database, s.Queues = "", nil
	}
	return s
}

// Budget is how a tenant's tokens of a day stand.
type Budget struct {
	Day     string    `json:"day"`   // of UTC
	Taken   int64     `json:"taken"` // tokens, those of requests that run among them
	Limit   int64     `json:"limit"`
	Waiting string    `json:"waiting,omitempty"` // who was turned away and waits: passes, or jobs
	Until   time.Time `json:"until"`             // when the next day's tokens can be taken
}

// budgetOf gives how a tenant's tokens of today stand.
func (e *Engine) budgetOf(ctx context.Context, tenant string) (*Budget, error) {
	if e.budget <= 0 {
		return nil, nil
	}
	b := &Budget{Limit: e.budget}
	b.Day, b.Until = llm.BudgetDay(e.now())
	got, err := e.st.TokensOf(ctx, tenant, b.Day)
	if err != nil {
		return nil, err
	}
	b.Taken = got.Drawn
	switch wanted := got.Drawn + got.Short; {
	case got.Short == 0:
	case wanted > b.Limit:
		b.Waiting = "jobs"
	case wanted > llm.PassLimit(b.Limit):
		b.Waiting = "passes"
	}
	return b, nil
}

// stock is what a status counts by reading every memory, turn or event of a day.
type stock struct {
	at                      time.Time
	bare, hintless, refused int
	turns                   map[oxbow.TurnState]int
}

// few is how many memories may be read for every status; of more the counts that
// need that are kept for a minute. To read so many takes some 10 ms.
const few = 5000

func (e *Engine) stock(ctx context.Context, s oxbow.Scope, memories map[oxbow.Status]int) (stock, error) {
	now, sum := e.now(), 0
	for _, n := range memories {
		sum += n
	}
	return e.stocks.get(ctx, s.Tenant+"\x00"+s.Name, now, e.anew || sum < few, func(ctx context.Context) (stock, error) {
		k := stock{at: now}
		var err error
		if em := e.deps.Embedder; em != nil {
			if _, k.bare, err = e.st.CountVectors(ctx, s, em.ID()); err != nil {
				return k, err
			}
		}
		if k.hintless, err = e.st.CountWithoutHints(ctx, s); err != nil {
			return k, err
		}
		if k.turns, err = e.st.CountTurns(ctx, s); err != nil {
			return k, err
		}
		k.refused, err = e.st.CountRefused(ctx, s, now.Add(-24*time.Hour))
		return k, err
	})
}

// soonest is how many schedules a status names.
const soonest = 5

// Status gives how a tenant stands; an empty scope name looks at all scopes.
func (e *Engine) Status(ctx context.Context, s oxbow.Scope) (Status, error) {
	out := Status{Database: e.st.Describe()}
	if e.judge != nil {
		out.Judge = e.judge.Name()
	}
	var err error
	keep := func(e2 error) {
		if err == nil {
			err = e2
		}
	}
	var e2 error
	out.Memories, e2 = e.CountMemories(ctx, s)
	keep(e2)
	if em := e.deps.Embedder; em != nil {
		out.Embedder = em.ID()
	}
	k, e2 := e.stock(ctx, s, out.Memories)
	out.Bare, out.Hintless, out.Turns, out.Refused, out.CountedAt = k.bare, k.hintless, k.turns, k.refused, k.at
	keep(e2)
	out.Queues, e2 = e.st.QueueStats(ctx)
	keep(e2)
	out.Workers, e2 = e.LiveWorkers(ctx)
	keep(e2)
	out.Pending, e2 = e.st.PendingJobs(ctx, s.Tenant, "")
	keep(e2)
	gone, e2 := e.st.ListDiscarded(ctx, s.Tenant, 1000)
	out.Discarded = len(gone)
	keep(e2)
	out.Stopped, e2 = e.st.ListRuns(ctx, store.RunFilter{Tenant: s.Tenant, Scope: s.Name, Status: oxbow.RunStopped, Limit: 10})
	keep(e2)
	all, e2 := e.st.ListSchedules(ctx, s)
	keep(e2)
	out.Next = nextDue(all)
	out.Budget, e2 = e.budgetOf(ctx, s.Tenant)
	keep(e2)
	return out, err
}

// LiveWorkers counts the workers that gave a sign of life lately.
func (e *Engine) LiveWorkers(ctx context.Context) (int, error) {
	return e.st.LiveWorkers(ctx, e.deps.RealNow().Add(-store.WorkerTTL))
}

// nextDue gives the schedules whose slots come soonest.
func nextDue(all []store.Schedule) []store.Schedule {
	out := slices.DeleteFunc(all, func(d store.Schedule) bool { return d.Paused })
	slices.SortStableFunc(out, func(a, b store.Schedule) int { return a.NextAt.Compare(b.NextAt) })
	return out[:min(len(out), soonest)]
}

func strictJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON object")
	}
	return nil
}
