package lab

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// Clock is the present of a test. It stands still until it is moved.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that stands at an instant.
func NewClock(now time.Time) *Clock { return &Clock{now: now} }

// Now gives the present.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set moves the present to an instant.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Add moves the present on.
func (c *Clock) Add(d time.Duration) { c.Set(c.Now().Add(d)) }

// Judge is a judge that follows a script. A question without one is answered
// plainly: every line of a turn is worth keeping, was clearly implied, and
// relates to what was said of the same topic.
//
//	tea: green is best           a line about the topic tea
//	user/timezone = Europe/Oslo  a fact
//
// Of two lines about one topic that say the same after "again", the newer one
// confirms; one that says "maybe" is unsure; else the newer one contradicts. The
// answer to a pair depends on nothing but the pair.
type Judge struct {
	OnExtract    func(llm.TurnText) (llm.Extraction, error)
	OnConfidence func(string) (llm.Rating, error)
	OnRelate     func(llm.Statement, []llm.Statement) ([]llm.Relation, error)
	OnExpiry     func(llm.Statement, *time.Location) (llm.Expiry, error)
	OnCluster    func([]llm.Statement) ([][]string, error)
	OnSynthesize func([]llm.Statement) (llm.Synthesis, error)
	// Names replaces the name for some questions.
	Names map[string]string
	// Down, when it is set, is the answer to everything.
	Down func() error
	// Wait, when it is set, is called before each answer and may hold it up.
	Wait func(ctx context.Context, question string) error

	mu    sync.Mutex
	calls map[string]int
}

var _ llm.Judge = (*Judge)(nil)

// Name implements llm.Judge.
func (j *Judge) Name() string { return "script@1" }

// NameOf implements llm.Signer.
func (j *Judge) NameOf(question string) string { return cmp.Or(j.Names[question], j.Name()) }

// Calls gives how often a question was asked.
func (j *Judge) Calls(question string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.calls[question]
}

func (j *Judge) asked(ctx context.Context, question string) error {
	j.mu.Lock()
	if j.calls == nil {
		j.calls = map[string]int{}
	}
	j.calls[question]++
	j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.Wait != nil {
		if err := j.Wait(ctx, question); err != nil {
			return err
		}
	}
	if j.Down != nil {
		return j.Down()
	}
	return nil
}

// Extract implements llm.Judge.
func (j *Judge) Extract(ctx context.Context, t llm.TurnText) (llm.Extraction, error) {
	if err := j.asked(ctx, "extract"); err != nil {
		return llm.Extraction{}, err
	}
	if j.OnExtract != nil {
		return j.OnExtract(t)
	}
	texts := []string{t.User, t.Assistant}
	for _, p := range t.Parts {
		texts = append(texts, p.Text)
	}
	var out llm.Extraction
	for _, line := range strings.Split(strings.Join(texts, "\n"), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			out.Drafts = append(out.Drafts, DraftOf(line))
		}
	}
	return out, nil
}

// DraftOf gives the draft that a line of a turn becomes.
func DraftOf(line string) llm.Draft {
	d := llm.Draft{Text: line, Kind: oxbow.Semantic, Importance: 5, Quote: line}
	address, value, ok := strings.Cut(line, " = ")
	slot, key, isFact := strings.Cut(address, "/")
	if ok && isFact {
		d.Kind, d.Slot, d.Key, d.Text = oxbow.Fact, slot, key, value
	}
	return d
}

// Confidence implements llm.Judge.
func (j *Judge) Confidence(ctx context.Context, memory string, _ llm.TurnText) (llm.Rating, error) {
	if err := j.asked(ctx, "confidence"); err != nil {
		return llm.Rating{}, err
	}
	if j.OnConfidence != nil {
		return j.OnConfidence(memory)
	}
	return llm.Rating{Confidence: 0.7}, nil
}

// Relate implements llm.Judge.
func (j *Judge) Relate(ctx context.Context, s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
	if err := j.asked(ctx, "relate"); err != nil {
		return nil, err
	}
	if j.OnRelate != nil {
		return j.OnRelate(s, others)
	}
	var out []llm.Relation
	for _, o := range others {
		if r := relate(s, o); r != oxbow.Unrelated {
			out = append(out, llm.Relation{Label: o.Label, Relation: r})
		}
	}
	return out, nil
}

func relate(s, o llm.Statement) oxbow.Relation {
	topic, says, ok := strings.Cut(s.Text, ": ")
	otherTopic, otherSays, otherOK := strings.Cut(o.Text, ": ")
	switch {
	case !ok || !otherOK || topic != otherTopic:
		return oxbow.Unrelated
	case strings.Contains(says+otherSays, "maybe"):
		return oxbow.Unsure
	case strings.TrimPrefix(says, "again ") == strings.TrimPrefix(otherSays, "again "):
		return oxbow.ConfirmsIt
	}
	return oxbow.Contradicts
}

// Expiry implements llm.Judge.
func (j *Judge) Expiry(ctx context.Context, s llm.Statement, zone *time.Location) (llm.Expiry, error) {
	if err := j.asked(ctx, "expiry"); err != nil {
		return llm.Expiry{}, err
	}
	if j.OnExpiry != nil {
		return j.OnExpiry(s, zone)
	}
	return llm.Expiry{}, nil
}

// Cluster implements llm.Judge.
func (j *Judge) Cluster(ctx context.Context, items []llm.Statement) ([][]string, error) {
	if err := j.asked(ctx, "cluster"); err != nil {
		return nil, err
	}
	if j.OnCluster != nil {
		return j.OnCluster(items)
	}
	return nil, nil
}

// Synthesize implements llm.Judge.
func (j *Judge) Synthesize(ctx context.Context, items []llm.Statement) (llm.Synthesis, error) {
	if err := j.asked(ctx, "synthesize"); err != nil {
		return llm.Synthesis{}, err
	}
	if j.OnSynthesize != nil {
		return j.OnSynthesize(items)
	}
	var texts []string
	for _, s := range items {
		texts = append(texts, s.Text)
	}
	return llm.Synthesis{Text: strings.Join(texts, "; ")}, nil
}
