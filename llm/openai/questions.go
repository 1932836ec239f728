package openai

import (
	"context"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// The data of the questions, as the models see it. Times are RFC 3339; the
// weekday stands beside them because models count days badly.

type turnData struct {
	At        string     `json:"at,omitempty"`
	Weekday   string     `json:"weekday,omitempty"`
	User      string     `json:"user"`
	Assistant string     `json:"assistant"`
	Parts     []partData `json:"parts,omitempty"`
}

type partData struct {
	Source oxbow.Source `json:"source"`
	Text   string       `json:"text"`
}

type statementData struct {
	Label  string       `json:"label,omitempty"`
	Text   string       `json:"text"`
	Kind   oxbow.Kind   `json:"kind,omitempty"`
	Key    string       `json:"key,omitempty"`
	Source oxbow.Source `json:"source,omitempty"`
	SaidAt string       `json:"said_at,omitempty"`
}

type confidenceData struct {
	Memory string   `json:"memory"`
	Turn   turnData `json:"turn"`
}

type relateData struct {
	Statement statementData   `json:"statement"`
	Others    []statementData `json:"others"`
}

type expiryData struct {
	Statement statementData `json:"statement"`
	SaidOn    string        `json:"said_on"` // YYYY-MM-DD in the zone
	Weekday   string        `json:"weekday"`
	Zone      string        `json:"zone"`
}

type groupData struct {
	Statements []statementData `json:"statements"`
}

type selectData struct {
	Cue        string     `json:"cue"`
	Limit      int        `json:"limit"`
	Statements []itemData `json:"statements"`
}

// itemData is a statement that is only to be chosen: what one needs for it and
// no more, since there are many.
type itemData struct {
	Label  string `json:"label"`
	Text   string `json:"text"`
	SaidOn string `json:"said_on,omitempty"` // YYYY-MM-DD
}

// Extract asks for the memories of a turn, and of each how surely it is stated
// and when it ends: the turn is read once and not once for each question. A turn without a word is not asked
// about.
func (j *Judge) Extract(ctx context.Context, t llm.TurnText) (llm.Extraction, error) {
	if t.User == "" && t.Assistant == "" && len(t.Parts) == 0 {
		return llm.Extraction{Reason: nothingSaid}, nil
	}
	var out llm.Extraction
	err := j.ask(ctx, j.judging(extract, j.turn(t), func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readExtraction(raw, t.At.Location())
		j.dropped.Add(int64(dropped))
		return err
	}))
	return out, err
}

// Confidence asks how surely a memory was stated. The model chooses one of
// five words; the numbers are this package's.
func (j *Judge) Confidence(ctx context.Context, memory string, t llm.TurnText) (llm.Rating, error) {
	var out llm.Rating
	data := confidenceData{Memory: j.text(memory), Turn: j.turn(t)}
	err := j.ask(ctx, j.judging(confidence, data, func(raw []byte) (err error) {
		out, err = readRating(raw)
		return err
	}))
	return out, err
}

// Relate asks how a statement stands to others. Without others nothing is
// asked. The relations come in the order of the others.
func (j *Judge) Relate(ctx context.Context, s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
	if len(others) == 0 {
		return nil, nil
	}
	offered, err := labels(others)
	if err != nil {
		return nil, err
	}
	var out []llm.Relation
	data := relateData{Statement: compared(j.statement(s)), Others: j.statements(others)}
	data.Statement.Label = ""
	for i, o := range data.Others {
		data.Others[i] = compared(o)
		data.Others[i].Text = cut(o.Text, maxItemBytes)
	}
	err = j.ask(ctx, j.judging(relate, data, func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readRelations(raw, offered)
		j.dropped.Add(int64(dropped))
		return err
	}))
	return out, err
}

// Expiry asks whether a statement ends by itself. The model reads the words
// and names a day; the instant, the day's end in the zone, is counted here. A
// nil zone is UTC.
func (j *Judge) Expiry(ctx context.Context, s llm.Statement, zone *time.Location) (llm.Expiry, error) {
	if zone == nil {
		zone = time.UTC
	}
	said := s.SaidAt.In(zone)
	data := expiryData{
		Statement: j.statement(s),
		SaidOn:    said.Format(time.DateOnly),
		Weekday:   said.Weekday().String(),
		Zone:      zone.String(),
	}
	var out llm.Expiry
	err := j.ask(ctx, j.judging(expiry, data, func(raw []byte) (err error) {
		out, err = readExpiry(raw, zone)
		return err
	}))
	return out, err
}

// Cluster asks for groups of near-equal statements. Fewer than two are not
// asked about.
func (j *Judge) Cluster(ctx context.Context, items []llm.Statement) ([][]string, error) {
	if len(items) < 2 {
		return nil, nil
	}
	offered, err := labels(items)
	if err != nil {
		return nil, err
	}
	var out [][]string
	err = j.ask(ctx, j.judging(cluster, groupData{j.statements(items)}, func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readGroups(raw, offered)
		j.dropped.Add(int64(dropped))
		return err
	}))
	return out, err
}

// Synthesize asks SynthesisModel to rewrite a group as one statement. No
// statements at all are invalid.
func (j *Judge) Synthesize(ctx context.Context, items []llm.Statement) (llm.Synthesis, error) {
	if len(items) == 0 {
		return llm.Synthesis{}, invalid("there is nothing to synthesize: give at least one statement")
	}
	var out llm.Synthesis
	q := j.judging(synthesize, groupData{j.statements(items)}, func(raw []byte) (err error) {
		out, err = readSynthesis(raw)
		return err
	})
	q.model, q.timeout = j.cfg.SynthesisModel, j.cfg.SynthesisTimeout
	return out, j.ask(ctx, q)
}

// maxItemBytes is how much of a statement is shown where it is one of many, to be
// chosen or to be compared with: three or four sentences.
const maxItemBytes = 400

// Select asks which statements help with a cue. A cue without a word, no
// statements or no room for any are not asked about.
func (j *Judge) Select(ctx context.Context, cue string, items []llm.Statement, limit int) ([]string, error) {
	if strings.TrimSpace(cue) == "" || len(items) == 0 || limit < 1 {
		return nil, nil
	}
	offered, err := labels(items)
	if err != nil {
		return nil, err
	}
	data := selectData{Cue: j.text(cue), Limit: min(limit, len(items))}
	for _, s := range items {
		d := itemData{Label: s.Label, Text: cut(clean(s.Text), min(maxItemBytes, j.cfg.MaxTextBytes))}
		if !s.SaidAt.IsZero() {
			d.SaidOn = s.SaidAt.Format(time.DateOnly)
		}
		data.Statements = append(data.Statements, d)
	}
	var out []string
	err = j.ask(ctx, j.judging(selection, data, func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readSelection(raw, offered, limit)
		j.dropped.Add(int64(dropped))
		return err
	}))
	return out, err
}

// compared leaves out what a comparison does not go by; a source is said when it
// is not the user.
func compared(d statementData) statementData {
	d.Kind = ""
	if d.Source == oxbow.FromUser {
		d.Source = ""
	}
	return d
}

func (j *Judge) judging(purpose string, data any, read func([]byte) error) question {
	return question{purpose: purpose, model: j.cfg.Model, timeout: j.cfg.Timeout, data: data, read: read}
}

// labels gives the labels that are offered, each with its place.
func labels(items []llm.Statement) (map[string]int, error) {
	offered := make(map[string]int, len(items))
	for i, s := range items {
		if _, twice := offered[s.Label]; twice || s.Label == "" {
			return nil, invalid("a statement has no label of its own: label them c1, c2 and so on")
		}
		offered[s.Label] = i
	}
	return offered, nil
}

func (j *Judge) turn(t llm.TurnText) turnData {
	d := turnData{User: j.text(t.User), Assistant: j.text(t.Assistant)}
	if !t.At.IsZero() {
		d.At, d.Weekday = t.At.Format(time.RFC3339Nano), t.At.Weekday().String()
	}
	for _, p := range t.Parts {
		d.Parts = append(d.Parts, partData{Source: p.Source, Text: j.text(p.Text)})
	}
	return d
}

func (j *Judge) statements(items []llm.Statement) []statementData {
	out := make([]statementData, len(items))
	for i, s := range items {
		out[i] = j.statement(s)
	}
	return out
}

func (j *Judge) statement(s llm.Statement) statementData {
	d := statementData{Label: s.Label, Text: j.text(s.Text), Kind: s.Kind, Key: j.text(s.Key), Source: s.Source}
	if !s.SaidAt.IsZero() {
		d.SaidAt = s.SaidAt.Format(time.RFC3339Nano)
	}
	return d
}

func (j *Judge) text(s string) string { return cut(clean(s), j.cfg.MaxTextBytes) }
