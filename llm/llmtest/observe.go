package llmtest

import (
	"context"
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
)

// Observe notes the first five words of each turn's user.
func (Plain) Observe(_ context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	var out []llm.Observation
	for i, t := range turns {
		words := strings.Fields(t.User)
		if len(words) < 6 {
			continue
		}
		said := strings.Join(words[:5], " ")
		if !strings.Contains(t.User, said) {
			continue // spaces or lines in between
		}
		out = append(out, llm.Observation{Text: said, Quote: said, Turns: []string{llm.TurnLabel(i)}, Importance: 3,
			Rating: &llm.Rating{Confidence: 1}, Expiry: &llm.Expiry{}})
	}
	return out, nil
}

// Reflect puts the texts one after another.
func (Plain) Reflect(_ context.Context, items []llm.Statement, _ int) ([]llm.Reflection, error) {
	var r llm.Reflection
	var texts []string
	for _, s := range items {
		r.Of, texts = append(r.Of, s.Label), append(texts, strings.TrimRight(s.Text, "."))
	}
	if len(r.Of) < 2 {
		return nil, nil
	}
	r.Text = strings.Join(texts, "; ") + "."
	return []llm.Reflection{r}, nil
}

func observer(judge llm.Judge) llm.Observer {
	if o := llm.CanObserve(judge); o != nil {
		return o
	}
	return Plain{}
}

// askObserve gives back the labels that the request has, since turns without a
// word are left out of it.
func askObserve(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d struct {
		Turns []struct {
			Label string `json:"label"`
			turnData
		} `json:"turns"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	var turns []llm.TurnText
	label := map[string]string{}
	for i, t := range d.Turns {
		turns = append(turns, t.text())
		label[llm.TurnLabel(i)] = t.Label
	}
	found, err := observer(judge).Observe(ctx, turns)
	if err != nil {
		return nil, err
	}
	notes := []object{}
	for _, o := range found {
		of := []string{}
		for _, l := range o.Turns {
			of = append(of, label[l])
		}
		note := object{"turns": of, "quote": o.Quote, "text": o.Text, "importance": o.Importance, "confidence": "explicit"}
		if o.Rating != nil {
			note["confidence"] = level(o.Rating.Confidence)
		}
		var e llm.Expiry
		if o.Expiry != nil {
			e = *o.Expiry
		}
		maps.Copy(note, ending(e, turns[0].At.Location()))
		notes = append(notes, note)
	}
	return object{"notes": notes}, nil
}

func askReflect(ctx context.Context, judge llm.Judge, raw []byte) (object, error) {
	var d struct {
		Target int `json:"target"`
		Notes  []struct {
			Label  string    `json:"label"`
			Text   string    `json:"text"`
			SaidAt time.Time `json:"said_at"`
		} `json:"notes"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return nil, err
	}
	var items []llm.Statement
	for _, n := range d.Notes {
		items = append(items, llm.Statement{Label: n.Label, Text: n.Text, SaidAt: n.SaidAt})
	}
	found, err := observer(judge).Reflect(ctx, items, d.Target)
	if err != nil {
		return nil, err
	}
	notes := []object{}
	for _, r := range found {
		notes = append(notes, object{"of": list(r.Of), "text": r.Text})
	}
	return object{"notes": notes}, nil
}
