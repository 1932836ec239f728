package api_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/history"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall/asked"
	"github.com/oxbow-memory/oxbow/worker"
)

func TestContext(t *testing.T) {
	tell(t,
		story{"answers the question of the story with what holds on the day", contextStory},
		story{"keeps the fields that it had", contextFields},
		story{"notices a cue that went stale", contextStale},
		story{"refuses what it cannot do", contextRefuses},
	)
}

// rules gives the bench an engine and a worker that judge by the offline rules,
// as the program does when nothing is configured.
func rules(b *lab.Bench) *worker.Worker {
	judge := offline.New()
	b.Engine = engine.New(engine.Config{Store: b.DB, Judge: judge, ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Embedder: offline.NewEmbedder(),
		Days: asked.Days, Classes: asked.Classes, Clock: b.Clock.Now})
	w, err := worker.New(jobs.Deps{Store: b.DB, Judge: judge, Embedder: offline.NewEmbedder(), ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Clock: b.Clock.Now},
		worker.Config{FetchCooldown: time.Millisecond, PollEvery: 5 * time.Millisecond})
	b.Must(err)
	b.Must(w.Start(b.Ctx))
	b.Cleanup(func() {
		if err := w.Stop(context.WithoutCancel(b.Ctx)); err != nil {
			b.Errorf("stop the worker: %v", err)
		}
	})
	return w
}

// theQuestion is asked of the project on two days of the story.
const theQuestion = "which database do I use, and what is due this week?"

// contextStory feeds the story turn by turn. Nine days before its end, on a
// Wednesday, the release is due on Saturday; on its last day that has passed and
// nothing else of the project ends in the week.
func contextStory(d *door) {
	w := rules(d.Bench)
	d = open(d.Bench)
	today := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	turns, err := history.Turns(today, d.Scope.Tenant)
	d.Must(err)
	asked := today.AddDate(0, 0, -9)
	feed := func(until time.Time) {
		for len(turns) > 0 && turns[0].At.Before(until) {
			t := turns[0]
			turns = turns[1:]
			d.Clock.Set(t.At)
			d.want(202, "POST", "/v1/turns", map[string]any{"turns": []any{map[string]any{"id": t.ID, "scope": t.Scope.Name, "conversation": t.Conversation,
				"user": t.User, "assistant": t.Assistant, "at": t.At}}})
			d.Finish(w)
		}
		d.Clock.Set(until)
	}
	feed(asked)
	block := d.askStory("due this week")
	d.holds(block, "due, ends Saturday 2026-11-14", "The general availability release got pushed to November 14")
	feed(today)
	block = d.askStory("after the release")
	if strings.Contains(block, "due, ends") || strings.Contains(block, "general availability release") {
		d.Errorf("a deadline that has passed is shown: %s", block)
	}
}

// askStory asks the question, and holds the block to what is true of it on any
// day: the database that is used now, nothing that was replaced or has ended, and
// a story behind every line.
func (d *door) askStory(when string) string {
	d.Helper()
	got := d.want(200, "POST", "/v1/context", map[string]any{"scope": "project:atlas", "query": theQuestion, "conversation": "atlas-now"})
	text := got["text"].(string)
	d.Logf("%s:\n%s", when, text)
	d.holds(text, "now: ", "MySQL")
	if !regexp.MustCompile(`(\d+% match|of the sort asked for), id \w+\] "[^"]*MySQL`).MatchString(text) {
		d.Errorf("%s: nothing says that MySQL is there because it was asked for: %s", when, text)
	}
	for _, old := range []string{"We use PostgreSQL", "PostgreSQL runs on", "The beta deadline", "release is planned"} {
		if strings.Contains(text, old) {
			d.Errorf("%s: the block says %q: %s", when, old, text)
		}
	}
	ids := got["memories"].([]any)
	lines := strings.Count(text, "\n- [")
	if len(ids) == 0 || len(ids) != lines {
		d.Errorf("%s: the block has %d lines and %d ids", when, lines, len(ids))
	}
	for _, id := range ids {
		m := d.want(200, "GET", "/v1/memories/"+id.(string), nil)
		d.equal("the status of a line", m["status"], any("active"))
		d.equal("whether it is live", m["live"], any(true))
		story := d.want(200, "GET", "/v1/memories/"+id.(string)[:8]+"/history", nil)
		if len(story["lines"].([]any)) == 0 {
			d.Errorf("%s: nothing tells why %v", when, m)
		}
		d.holds(text, "id "+id.(string)[:8])
	}
	return text
}

func (d *door) holds(text string, words ...string) {
	d.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			d.Errorf("%q is not in: %s", w, text)
		}
	}
}

func contextFields(d *door) {
	id := d.remember("tea: green")
	got := d.want(200, "POST", "/v1/context", map[string]any{"scope": "user:ada", "query": "which tea?", "strategy": "memories", "limit": 3, "budget": 400})
	d.holds(got["text"].(string), "tea: green", "evidence")
	d.equal("what it shows", at(got, "memories.0"), any(id))
	d.equal("the part", at(got, "parts.0.name"), any("recent"))
	d.equal("the line", at(got, "parts.0.lines.0.id"), any(id))
	d.equal("the budget", got["budget"], any(400.0))
	d.equal("whether it is stale", got["stale_cue"], any(false))
	d.equal("its uses", at(d.want(200, "GET", "/v1/memories/"+id, nil), "access_count"), any(0.0))
	past := d.want(200, "POST", "/v1/context", map[string]any{"scope": "user:ada", "query": "which tea?", "as_of": "2020-01-01T00:00:00Z"})
	d.equal("what was known before", len(past["memories"].([]any)), 0)
	none := d.want(200, "POST", "/v1/context", map[string]any{"scope": "nobody", "goal": "tea"})
	d.holds(none["text"].(string), "now: ", "nothing is remembered")
}

func contextStale(d *door) {
	ask := map[string]any{"scope": "user:ada", "query": "how goes the move?", "conversation": "c1"}
	say := func(id, user string, at time.Time) {
		d.want(202, "POST", "/v1/turns", map[string]any{"turns": []any{map[string]any{"id": id, "scope": "user:ada", "conversation": "c1", "user": user, "at": at}}})
	}
	say("one", "hello there", lab.Start.Add(-time.Hour))
	d.equal("the first cue", d.want(200, "POST", "/v1/context", ask)["stale_cue"], any(false))
	d.equal("the same cue", d.want(200, "POST", "/v1/context", ask)["stale_cue"], any(false))
	say("two", "how goes the move?", lab.Start)
	got := d.want(200, "POST", "/v1/context", ask)
	d.equal("the cue of a conversation that went on", got["stale_cue"], any(true))
	d.equal("how far it went", at(got, "stale.turns"), any(1.0))
	d.holds(at(got, "notes.0").(string), "stale cue", "1 turn")
	ask["goal"] = "find boxes"
	d.equal("another cue", d.want(200, "POST", "/v1/context", ask)["stale_cue"], any(false))
}

func contextRefuses(d *door) {
	for what, body := range map[string]map[string]any{
		"no words":          {"scope": "user:ada"},
		"blank words":       {"scope": "user:ada", "query": " \n"},
		"a strange zone":    {"scope": "user:ada", "query": "x", "zone": "Mars/Base"},
		"a small budget":    {"scope": "user:ada", "query": "x", "budget": 20},
		"an unknown part":   {"scope": "user:ada", "query": "x", "shares": map[string]any{"gossip": 1}},
		"no share at all":   {"scope": "user:ada", "query": "x", "shares": map[string]any{"recent": 0}},
		"a negative share":  {"scope": "user:ada", "query": "x", "shares": map[string]any{"recent": -1}},
		"a strange rule":    {"scope": "user:ada", "query": "x", "strategy": "best"},
		"a long name":       {"scope": "user:ada", "query": "x", "conversation": strings.Repeat("c", 2000)},
		"no scope":          {"query": "x"},
		"a floor too high":  {"scope": "user:ada", "query": "x", "floor": 2},
		"a kind of its own": {"scope": "user:ada", "query": "x", "kind": "rumour"},
	} {
		if got := d.want(422, "POST", "/v1/context", body); got["code"] != oxbow.CodeInvalid {
			d.Errorf("%s: %v", what, got)
		}
	}
	d.remember("tea: green")
	huge := d.want(200, "POST", "/v1/context", map[string]any{"scope": "user:ada", "query": strings.Repeat("tea and more tea ", 8000)})
	d.holds(at(huge, "notes.0").(string), "64 KiB")
}
