package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

// FollowUps gives the jobs that judge new memories: confidence for those that
// have a turn, contradiction and expiry for every one that is not quarantined
// and, for expiry, has no date yet.
func FollowUps(a About, ms []oxbow.Memory) []river.InsertManyParams {
	var out []river.InsertManyParams
	add := func(args river.JobArgs) { out = append(out, river.InsertManyParams{Args: args}) }
	for _, m := range ms {
		if m.Status == oxbow.Quarantined {
			continue
		}
		am := aboutMemory{About: a, Memory: m.ID, ContentVersion: max(1, m.ContentVersion)}
		if m.Turn != "" {
			add(Confidence{am})
		}
		add(Contradiction{am})
		if m.ExpiresAt.IsZero() {
			add(Expiry{am})
		}
	}
	return out
}

// Comparison gives the job that compares a memory with the others of its scope,
// once more in this run, whatever was compared before.
func Comparison(a About, m oxbow.Memory) []river.InsertManyParams {
	a.Again = a.Run
	return []river.InsertManyParams{{Args: Contradiction{aboutMemory{About: a, Memory: m.ID, ContentVersion: max(1, m.ContentVersion)}}}}
}

// Created gives the memories that events created, of those put.
func Created(put []oxbow.Memory, done store.Applied) []oxbow.Memory {
	made := map[string]bool{}
	for _, e := range done.Events {
		if e.Type == oxbow.Created {
			made[e.Memory] = true
		}
	}
	var out []oxbow.Memory
	for _, m := range put {
		if made[m.ID] {
			out = append(out, m)
		}
	}
	return out
}

// current reads a job's memory and tells whether the job still has something to
// judge: the words are those it was enqueued for, and it was not put away.
func (d Deps) current(ctx context.Context, r store.MemoryReader, a aboutMemory) (oxbow.Memory, bool, error) {
	m, err := r.Memory(ctx, a.Tenant, a.Memory)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return m, false, nil
	}
	if err != nil {
		return m, false, err
	}
	switch m.Status {
	case oxbow.Active, oxbow.Superseded, oxbow.Compressed:
		return m, m.ContentVersion == a.ContentVersion, nil
	}
	return m, false, nil
}

// counted adds to a run's counts what events say, and what was refused.
func counted(events []oxbow.Event, refused int) map[string]int {
	counts := map[string]int{}
	for _, e := range events {
		counts[string(e.Type)]++
	}
	if refused > 0 {
		counts["refused"] += refused
	}
	return counts
}

// writeRun is the run that groups the jobs of one turn or one direct write.
func (d Deps) writeRun(a About, counts map[string]int) oxbow.Run {
	now := d.now()
	return oxbow.Run{ID: a.Run, Scope: a.scope(), Name: "write", Trigger: "write", Status: oxbow.RunDone,
		About: Milli(a.Now), StartedAt: now, FinishedAt: now, Counts: counts}
}
