package oxbow_test

import (
	"math"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

// epoch is the day on which the generated histories begin.
var epoch = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)

var ada = oxbow.Scope{Tenant: "default", Name: "user:ada"}

func drawTime(t *rapid.T, label string, maxDays int) time.Time {
	return epoch.Add(time.Duration(rapid.Int64Range(0, int64(maxDays)*86_400_000).Draw(t, label)) * time.Millisecond)
}

func drawPolicy(t *rapid.T) oxbow.Policy {
	p := oxbow.DefaultPolicy()
	p.Strength = rapid.SampledFrom([]oxbow.StrengthRule{oxbow.Stable, oxbow.Classic}).Draw(t, "rule")
	p.ArchiveBelow = rapid.Float64Range(0.001, 0.5).Draw(t, "archive_below")
	p.ListAbove = rapid.Float64Range(p.ArchiveBelow, 0.9).Draw(t, "list_above")
	for _, k := range oxbow.Kinds {
		p.HalfLifeDays[k] = rapid.Float64Range(0.1, 1000).Draw(t, "half-life of "+string(k))
	}
	return p
}

// drawMemory gives a memory with any state that the rules of time look at.
func drawMemory(t *rapid.T, id string) oxbow.Memory {
	m := oxbow.Memory{
		ID: id, Scope: ada, Status: oxbow.Active,
		Kind:           rapid.SampledFrom(oxbow.Kinds).Draw(t, "kind"),
		Content:        oxbow.Content{Text: "note " + id},
		ContentVersion: 1, Version: 1,
		Importance:    math.Round(rapid.Float64Range(0, 10).Draw(t, "importance")*10) / 10,
		Rating:        rapid.SampledFrom([]float64{0.1, 0.3, 0.5, 0.7, 1}).Draw(t, "rating"),
		Rated:         rapid.Bool().Draw(t, "rated"),
		Confirmations: rapid.IntRange(0, 6).Draw(t, "confirmations"),
		Source:        rapid.SampledFrom(oxbow.Sources).Draw(t, "source"),
		Pinned:        rapid.IntRange(0, 9).Draw(t, "pinned") == 0,
		SaidAt:        drawTime(t, "said_at", 400),
		AccessCount:   rapid.IntRange(0, 200).Draw(t, "access_count"),
	}
	if rapid.Bool().Draw(t, "confirmed") {
		m.ConfirmedAt = drawTime(t, "confirmed_at", 400)
	}
	if m.AccessCount > 0 {
		m.LastUsedAt = drawTime(t, "last_used_at", 400)
	}
	return m
}
