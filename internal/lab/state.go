package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/worker"
)

// State gives what a scope holds, one line a memory and one a link, sorted. It
// names memories by what they say and when, so two scopes that came to the same
// end have the same state whatever their ids are.
func (b *Bench) State() []string {
	b.Helper()
	return b.StateOf(b.Scope)
}

// StateOf is State of another scope of the tenant.
func (b *Bench) StateOf(s oxbow.Scope) []string {
	b.Helper()
	ms, err := b.DB.AllMemories(b.Ctx, s, "", 1000)
	b.Must(err)
	names := map[string]string{}
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
		names[m.ID] = fmt.Sprintf("%s%s%q %s", m.Slot, m.Key, m.Content.Text, stamp(m.SaidAt))
	}
	var out []string
	for _, m := range ms {
		out = append(out, fmt.Sprintf("%s: %s by (%s) kind=%s v%d importance=%.2f rating=%.2f/%t confirmed=%d/%s source=%s pinned=%t expires=%s review=%s tags=%v%s details=%v uses=%d/%s fades=%s",
			names[m.ID], m.Status, names[m.ReplacedBy], m.Kind, m.ContentVersion, m.Importance, m.Rating, m.Rated,
			m.Confirmations, stamp(m.ConfirmedAt), m.Source, m.Pinned, stamp(m.ExpiresAt), stamp(m.ReviewAt), m.Content.Tags, m.Content.Speaker, m.Content.Details,
			m.AccessCount, stamp(m.LastUsedAt), stamp(m.FadesAt)))
	}
	ls, err := b.DB.Links(b.Ctx, s.Tenant, ids)
	b.Must(err)
	for _, l := range ls {
		out = append(out, fmt.Sprintf("link: (%s) %s (%s)", names[l.From], l.Type, names[l.To]))
	}
	slices.Sort(out)
	return out
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04:05.000")
}

// Differ gives the lines that only one of two states has, "" when they are the
// same.
func Differ(a, b []string) string {
	var out []string
	for _, l := range a {
		if !slices.Contains(b, l) {
			out = append(out, "- "+l)
		}
	}
	for _, l := range b {
		if !slices.Contains(a, l) {
			out = append(out, "+ "+l)
		}
	}
	if len(out) == 0 && len(a) != len(b) {
		return fmt.Sprintf("%d lines against %d", len(a), len(b))
	}
	return strings.Join(out, "\n")
}

// Worker starts a real worker on the bench's store and stops it when the test
// ends.
func (b *Bench) Worker(cfg worker.Config) *worker.Worker {
	b.Helper()
	w, err := worker.New(jobs.Deps{Store: b.DB, Judge: b.Judge, Observer: b.Observer, Embedder: b.Embedder, Grapher: b.Grapher, Clock: b.Clock.Now, ReadDate: b.ReadDate, ReadDetails: offline.ReadDetails}, cfg)
	b.Must(err)
	b.Must(w.Start(b.Ctx))
	b.Cleanup(func() {
		if err := w.Stop(context.WithoutCancel(b.Ctx)); err != nil {
			b.Errorf("stop the worker: %v", err)
		}
	})
	return w
}

// Finish waits until a worker has nothing left that could run now.
func (b *Bench) Finish(w *worker.Worker) {
	b.Helper()
	b.Must(w.Drain(b.Ctx, "", nil))
}

// Clean fails the test when the doctor finds anything.
func (b *Bench) Clean() {
	b.Helper()
	found, err := b.Engine.Doctor(b.Ctx, true, nil)
	b.Must(err)
	for _, f := range found {
		b.Errorf("the doctor says of %s: %s", f.Memory, f.Text)
	}
}

// Discarded gives the jobs that were given up.
func (b *Bench) Discarded() []store.Discarded {
	b.Helper()
	ds, err := b.DB.ListDiscarded(b.Ctx, b.Scope.Tenant, 100)
	b.Must(err)
	return ds
}
