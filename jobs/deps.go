package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

// The queues. write serves what somebody waits for, maintenance the passes,
// synthesis the slow rewriting.
const (
	QueueWrite       = "write"
	QueueMaintenance = "maintenance"
	QueueSynthesis   = "synthesis"
)

// Deps is what every job needs.
type Deps struct {
	Store store.Store
	Judge llm.Judge
	// Observer condenses conversations. Defaults to nil: none are.
	Observer llm.Observer
	// Embedder makes the vectors of memories. Defaults to nil: none are made.
	Embedder llm.Embedder
	// Grapher reads what memories name, for the graph. Defaults to nil: nothing is
	// read.
	Grapher llm.Grapher
	Log     *slog.Logger
	// Clock gives the processing time; jobs carry the instant that they are
	// about in their arguments. Defaults to time.Now.
	Clock func() time.Time
	// AwayFor is how long a job waits for a judge that does not say when it
	// will be back. Defaults to a minute.
	AwayFor time.Duration
	// ReadDate reads the day that a phrase names by rules; the gate holds a
	// judge's dates against it. Defaults to nil: a judge's dates stand alone.
	ReadDate DateReader
	// ReadDetails reads the typed details that are kept with a memory. Defaults
	// to the judge's own reading when it is an llm.Reader, else to none.
	ReadDetails DetailReader
	// PassBatch is how many memories a pass changes in one transaction. A page
	// that two batches touch is written twice, so batches are large; one of
	// 5000 takes a few tenths of a second. Defaults to 5000.
	PassBatch int
	// EmbedFor is how long one job gives a scope's memories vectors, or puts them
	// into the graph, before it hands on to another. Defaults to 30 s.
	EmbedFor time.Duration
	// Refused is told what the gate refused of a judge's answer, and how much of
	// it, once for each time that a job decides so. Defaults to nobody.
	Refused func(reason string, n int)
	// Unguarded leaves out ledger, fence and transactional completion. It
	// exists for the negative control of the crash test. Defaults to false.
	Unguarded bool
}

// The reasons that Deps.Refused is given: what it was that was refused.
const (
	RefusedDraft   = "draft"   // a memory from a turn, which rests on no quote or is of no form
	RefusedVerdict = "verdict" // one about a memory that was not offered
	RefusedLimit   = "limit"   // verdicts that would have retired too many memories at once
	RefusedDate    = "date"    // on which a memory ends, which does not follow from the words
	RefusedGroup   = "group"   // of memories that do not belong together
	RefusedMerge   = "merge"   // a rewriting that left something out or made something up
	RefusedGraph   = "graph"   // a name or a relation that does not stand in the words
	RefusedText    = "text"    // by the judge, which does not take the words
)

// RefusedReasons are all of them.
var RefusedReasons = []string{RefusedDraft, RefusedVerdict, RefusedLimit, RefusedDate, RefusedGroup, RefusedMerge, RefusedGraph, RefusedText}

// countRefused tells whoever counts.
func (d Deps) countRefused(reason string, n int) {
	if d.Refused != nil && n > 0 {
		d.Refused(reason, n)
	}
}

// DateReader gives the day, at midnight in a zone, that a phrase names when it is
// said at an instant, and whether it names one.
type DateReader func(phrase string, saidAt time.Time, zone *time.Location) (day time.Time, found bool)

// DetailReader gives the typed details of a text that was said at an instant.
type DetailReader func(text string, saidAt time.Time) []oxbow.Detail

// Detailed gives a memory with the details of its text, read anew.
func (d Deps) Detailed(m oxbow.Memory) oxbow.Memory {
	read := d.ReadDetails
	if r, ok := d.Judge.(llm.Reader); ok && read == nil {
		read = r.Details
	}
	m.Content.Details = nil
	if read == nil {
		return m
	}
	for _, detail := range read(m.Content.Text, m.SaidAt) {
		if detail.Valid() && len(m.Content.Details) < oxbow.MaxDetails {
			m.Content.Details = append(m.Content.Details, detail)
		}
	}
	return m
}

func (d Deps) detailed(ms []oxbow.Memory) []oxbow.Memory {
	for i := range ms {
		ms[i] = d.Detailed(ms[i])
	}
	return ms
}

// Now gives the processing time.
func (d Deps) Now() time.Time { return d.now() }

// RealNow gives the machine's time, whatever Clock says: signs of life are about
// processes and not about memories.
func (d Deps) RealNow() time.Time { return Milli(time.Now()) }

func (d Deps) now() time.Time {
	if d.Clock != nil {
		return Milli(d.Clock())
	}
	return Milli(time.Now())
}

func (d Deps) passBatch() int {
	if d.PassBatch <= 0 {
		return 5000
	}
	return d.PassBatch
}

// Milli cuts an instant to what both databases keep: UTC, whole milliseconds.
func Milli(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// About says what a job is about. It stands in every job's arguments.
type About struct {
	Tenant  string    `json:"tenant"`
	Scope   string    `json:"scope"`
	Run     string    `json:"run"`
	Now     time.Time `json:"now"` // the instant it is about, kept when it is retried
	Trigger string    `json:"trigger,omitempty"`
	// Again marks work that an operator asked for once more: it is part of the
	// ledger key.
	Again string `json:"again,omitempty"`
	// Fresh says that answers from before it do not count. It goes with Again.
	Fresh bool `json:"fresh,omitempty"`
	// Asked says that an operator asked for just this memory, so that the limit
	// on what one write may retire does not hold.
	Asked bool `json:"asked,omitempty"`
}

func (a About) scope() oxbow.Scope { return oxbow.Scope{Tenant: a.Tenant, Name: a.Scope} }

// asking gives the context in which a job asks the judge: what it spends is
// counted for the tenant, and what it says belongs to the owners of the words.
func asking(ctx context.Context, job string, s oxbow.Scope, run string, owners ...string) context.Context {
	return llm.WithCaller(ctx, llm.Caller{Tenant: s.Tenant, Scope: s.Name, Run: run, Job: job, Owners: owners, Anew: llm.CallerOf(ctx).Anew})
}

// anew gives the context of a job that an operator wants answered anew: the
// answers of its retries count, those from before do not.
func (a About) anew(ctx context.Context) context.Context {
	if !a.Fresh {
		return ctx
	}
	return llm.WithCaller(ctx, llm.Caller{Anew: a.Again})
}

func idsOf(ms []oxbow.Memory) []string {
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	return ids
}

func (d Deps) batch(a About) store.Batch {
	return store.Batch{Scope: a.scope(), Run: a.Run, Now: Milli(a.Now), RecordedAt: d.now()}
}

// aboutMemory is what the jobs of one memory are about.
type aboutMemory struct {
	About
	Memory         string `json:"memory"`
	ContentVersion int    `json:"content_version"`
}

func (a aboutMemory) key(kind string) string {
	return kind + ":" + a.Memory + ":" + itoa(a.ContentVersion) + ":" + a.Again
}
