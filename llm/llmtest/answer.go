package llmtest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// The data of the prompts, read back.

type turnData struct {
	At        time.Time    `json:"at"`
	User      string       `json:"user"`
	Assistant string       `json:"assistant"`
	Parts     []oxbow.Part `json:"parts"`
}

func (d turnData) text() llm.TurnText {
	return llm.TurnText{User: d.User, Assistant: d.Assistant, Parts: d.Parts, At: d.At}
}

type statementData struct {
	Label  string       `json:"label"`
	Text   string       `json:"text"`
	Kind   oxbow.Kind   `json:"kind"`
	Key    string       `json:"key"`
	Source oxbow.Source `json:"source"`
	SaidAt time.Time    `json:"said_at"`
}

// statement gives what a prompt shows; it leaves out a source that is the user.
func (d statementData) statement() llm.Statement {
	if d.Source == "" {
		d.Source = oxbow.FromUser
	}
	return llm.Statement{Label: d.Label, Text: d.Text, Kind: d.Kind, Key: d.Key, Source: d.Source, SaidAt: d.SaidAt}
}

func statements(in []statementData) []llm.Statement {
	var out []llm.Statement
	for _, d := range in {
		out = append(out, d.statement())
	}
	return out
}

// object is an answer in the JSON that a prompt asks for.
type object = map[string]any

// ask puts the question in a request to a judge and gives the answer as a
// model would write it.
func ask(ctx context.Context, judge llm.Judge, req Request) (object, error) {
	questions := map[string]func(context.Context, llm.Judge, []byte) (object, error){
		"extract": askExtract, "confidence": askConfidence, "relate": askRelate,
		"expiry": askExpiry, "cluster": askCluster, "synthesize": askSynthesize,
		"select": askSelect, "graph": askGraph, "observe": askObserve, "reflect": askReflect,
	}
	question, ok := questions[req.Purpose]
	if !ok || req.Data == nil {
		return nil, fmt.Errorf("the request asks none of the judge's questions")
	}
	return question(ctx, judge, req.Data)
}

func askExtract(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d turnData
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	e, err := judge.Extract(ctx, d.text())
	if err != nil {
		return nil, err
	}
	memories := []object{}
	for _, m := range e.Drafts {
		slot := m.Slot
		if slot == "" {
			slot = "none"
		}
		memory := object{
			"quote": m.Quote, "text": m.Text, "summary": m.Summary, "tags": list(m.Tags),
			"kind": m.Kind, "slot": slot, "key": m.Key, "importance": m.Importance,
		}
		if err := sayAlong(ctx, judge, d.text(), m, memory); err != nil {
			return nil, err
		}
		memories = append(memories, memory)
	}
	return object{"memories": memories, "reason": reason(e)}, nil
}

// sayAlong adds how surely a memory is stated and when it ends, by asking the
// judge as it would be asked about the memory alone.
func sayAlong(ctx context.Context, judge llm.Judge, t llm.TurnText, m llm.Draft, memory object) error {
	rating, err := judge.Confidence(ctx, m.Text, t)
	if err != nil {
		return err
	}
	source := oxbow.FromUser
	if !strings.Contains(t.User, m.Quote) {
		source = oxbow.FromAssistant
	}
	e, err := judge.Expiry(ctx, llm.Statement{Label: "new", Text: m.Text, Kind: m.Kind, Key: m.Key, Source: source, SaidAt: t.At}, t.At.Location())
	if err != nil {
		return err
	}
	memory["confidence"] = level(rating.Confidence)
	maps.Copy(memory, ending(e, t.At.Location()))
	return nil
}

// reasons are the only ones that the form of the answer knows.
var reasons = []string{"a greeting", "small talk", "a question", "a request", "general knowledge", "a secret was taken out", "nothing was said"}

func reason(e llm.Extraction) string {
	switch {
	case len(e.Drafts) > 0:
		return "none"
	case slices.Contains(reasons, e.Reason):
		return e.Reason
	}
	return "nothing was said"
}

func askConfidence(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d struct {
		Memory string   `json:"memory"`
		Turn   turnData `json:"turn"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	r, err := judge.Confidence(ctx, d.Memory, d.Turn.text())
	if err != nil {
		return nil, err
	}
	return object{"level": level(r.Confidence)}, nil
}

// level gives the word whose number is nearest.
func level(confidence float64) string {
	words := []string{"explicit", "implied", "reasonable", "weak", "speculation"}
	numbers := []float64{1, 0.7, 0.5, 0.3, 0.1}
	best := 0
	for i, n := range numbers {
		if math.Abs(n-confidence) < math.Abs(numbers[best]-confidence) {
			best = i
		}
	}
	return words[best]
}

func askRelate(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d struct {
		Statement statementData   `json:"statement"`
		Others    []statementData `json:"others"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	relations, err := judge.Relate(ctx, d.Statement.statement(), statements(d.Others))
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, r := range relations {
		out = append(out, object{"label": r.Label, "relation": r.Relation})
	}
	return object{"relations": out}, nil
}

func askExpiry(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d struct {
		Statement statementData `json:"statement"`
		Zone      string        `json:"zone"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	zone, err := time.LoadLocation(d.Zone)
	if err != nil {
		zone = d.Statement.SaidAt.Location() // a zone without a name: its offset stands in the time
	}
	e, err := judge.Expiry(ctx, d.Statement.statement(), zone)
	if err != nil {
		return nil, err
	}
	return ending(e, zone), nil
}

func ending(e llm.Expiry, zone *time.Location) object {
	switch {
	case !e.Date.IsZero():
		// A day's end is given as its last instant or as the first of the next one.
		last := e.Date.In(zone).Add(-time.Nanosecond)
		return object{"phrase": e.Phrase, "ends": "date", "date": last.Format(time.DateOnly)}
	case e.Event:
		return object{"phrase": e.Phrase, "ends": "event", "date": ""}
	}
	return object{"phrase": "", "ends": "never", "date": ""}
}

func askCluster(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	items, err := readStatements(raw)
	if err != nil {
		return nil, err
	}
	groups, err := judge.Cluster(ctx, items)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, g := range groups {
		out = append(out, object{"labels": list(g)})
	}
	return object{"groups": out}, nil
}

func askSynthesize(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	items, err := readStatements(raw)
	if err != nil {
		return nil, err
	}
	s, err := judge.Synthesize(ctx, items)
	if err != nil {
		return nil, err
	}
	return object{"text": s.Text, "summary": s.Summary, "tags": list(s.Tags)}, nil
}

func askGraph(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d statementData
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	grapher, ok := judge.(llm.Grapher)
	if !ok {
		grapher = Plain{}
	}
	g, err := grapher.Graph(ctx, d.statement())
	if err != nil {
		return nil, err
	}
	entities, relations := []object{}, []object{}
	for _, e := range g.Entities {
		entities = append(entities, object{"name": e.Name, "type": e.Type, "description": e.Description, "aliases": list(e.Aliases)})
	}
	for _, r := range g.Relations {
		relations = append(relations, object{"from": r.From, "type": r.Type, "to": r.To, "words": r.Words})
	}
	return object{"entities": entities, "relations": relations}, nil
}

func askSelect(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d struct {
		Cue        string `json:"cue"`
		Limit      int    `json:"limit"`
		Statements []struct {
			Label  string `json:"label"`
			Text   string `json:"text"`
			SaidOn string `json:"said_on"`
		} `json:"statements"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	selector, ok := judge.(llm.Selector)
	if !ok {
		selector = Plain{}
	}
	var items []llm.Statement
	for _, s := range d.Statements {
		day, _ := time.Parse(time.DateOnly, s.SaidOn) // left out when it is not known
		items = append(items, llm.Statement{Label: s.Label, Text: s.Text, SaidAt: day})
	}
	labels, err := selector.Select(ctx, d.Cue, items, d.Limit)
	if err != nil {
		return nil, err
	}
	return object{"labels": list(labels)}, nil
}

func readStatements(raw []byte) ([]llm.Statement, error) {
	var d struct {
		Statements []statementData `json:"statements"`
	}
	err := json.Unmarshal(raw, &d)
	return statements(d.Statements), err
}

// list gives an array where JSON would write null.
func list(in []string) []string {
	if in == nil {
		return []string{}
	}
	return in
}
