package openai

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
)

// Bounds of what one answer about a conversation may hold.
const (
	maxNotes    = 120     // of one stretch
	maxNoteText = 2 << 10 // bytes of a note
)

type stretchData struct {
	Turns []labelledTurn `json:"turns"`
}

type labelledTurn struct {
	Label string `json:"label"`
	turnData
}

type reflectData struct {
	Target int        `json:"target"`
	Notes  []noteData `json:"notes"`
}

// noteData is a note as it is shown to be condensed.
type noteData struct {
	Label  string `json:"label"`
	Text   string `json:"text"`
	SaidAt string `json:"said_at,omitempty"`
}

// Observe asks for the notes of a stretch of a conversation, and of each how surely
// it is stated and when it ends. A stretch without a word is not asked about.
func (j *Judge) Observe(ctx context.Context, turns []llm.TurnText) ([]llm.Observation, error) {
	var data stretchData
	offered, zone := map[string]int{}, time.UTC
	for i, t := range turns {
		label := llm.TurnLabel(i)
		offered[label], zone = i, t.At.Location()
		if t.User != "" || t.Assistant != "" || len(t.Parts) > 0 {
			data.Turns = append(data.Turns, labelledTurn{Label: label, turnData: j.turn(t)})
		}
	}
	if len(data.Turns) == 0 {
		return nil, nil
	}
	var out []llm.Observation
	err := j.ask(ctx, j.judging(observe, data, func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readNotes(raw, offered, zone)
		j.dropped.Add(int64(dropped))
		return err
	}))
	return out, err
}

// Reflect asks SynthesisModel to put notes together. Fewer than two are not asked
// about.
func (j *Judge) Reflect(ctx context.Context, items []llm.Statement, target int) ([]llm.Reflection, error) {
	if len(items) < 2 {
		return nil, nil
	}
	offered, err := labels(items)
	if err != nil {
		return nil, err
	}
	data := reflectData{Target: target}
	for _, s := range items {
		d := noteData{Label: s.Label, Text: j.text(s.Text)}
		if !s.SaidAt.IsZero() {
			d.SaidAt = s.SaidAt.Format(time.RFC3339)
		}
		data.Notes = append(data.Notes, d)
	}
	var out []llm.Reflection
	q := j.judging(reflection, data, func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readReflections(raw, offered)
		j.dropped.Add(int64(dropped))
		return err
	})
	q.model, q.timeout = j.cfg.SynthesisModel, j.cfg.SynthesisTimeout
	return out, j.ask(ctx, q)
}

type noteAnswer struct {
	Turns      []string `json:"turns"`
	Quote      string   `json:"quote"`
	Text       string   `json:"text"`
	Importance float64  `json:"importance"`
	Confidence string   `json:"confidence"`
	expiryAnswer
}

// readNotes reads notes. Labels that were not offered are dropped, and a note that
// rests on none of those that were is dropped with them.
func readNotes(raw []byte, offered map[string]int, zone *time.Location) (out []llm.Observation, dropped int, err error) {
	var a struct {
		Notes []noteAnswer `json:"notes"`
	}
	if err := decode(raw, &a); err != nil {
		return nil, 0, err
	}
	for i, n := range a.Notes {
		o := llm.Observation{Text: line(n.Text), Quote: clean(n.Quote), Importance: n.Importance}
		switch {
		case o.Text == "" || len(o.Text) > maxNoteText:
			return nil, 0, reject("a note's text is out of bounds", "notes/%d: text must have 1 to %d bytes", i, maxNoteText)
		case strings.TrimSpace(o.Quote) == "" || len(o.Quote) > maxText:
			return nil, 0, reject("a note's quote is out of bounds", "notes/%d: quote must have 1 to %d bytes", i, maxText)
		case n.Importance < 0 || n.Importance > 10:
			return nil, 0, reject("an importance is out of bounds", "notes/%d: importance must be a number from 0 to 10", i)
		}
		o.Turns = among(n.Turns, offered, &dropped)
		if len(o.Turns) == 0 || len(out) == maxNotes {
			dropped++
			continue
		}
		if level, ok := levels[n.Confidence]; ok {
			o.Rating = &llm.Rating{Confidence: level}
		}
		if e, err := n.expiry(zone); err == nil {
			o.Expiry = &e
		}
		out = append(out, o)
	}
	return out, dropped, nil
}

// readReflections reads new notes, each of two or more offered labels that stand in
// no other one.
func readReflections(raw []byte, offered map[string]int) (out []llm.Reflection, dropped int, err error) {
	var a struct {
		Notes []struct {
			Of   []string `json:"of"`
			Text string   `json:"text"`
		} `json:"notes"`
	}
	if err := decode(raw, &a); err != nil {
		return nil, 0, err
	}
	free := map[string]int{}
	for l, i := range offered {
		free[l] = i
	}
	for i, n := range a.Notes {
		r := llm.Reflection{Text: line(n.Text)}
		if r.Text == "" || len(r.Text) > maxText {
			return nil, 0, reject("a note's text is out of bounds", "notes/%d: text must have 1 to %d bytes", i, maxText)
		}
		r.Of = among(n.Of, free, &dropped)
		for _, l := range r.Of {
			delete(free, l)
		}
		if len(r.Of) < 2 {
			dropped++
			continue
		}
		out = append(out, r)
	}
	return out, dropped, nil
}

// among gives the labels that were offered, each once, in the order in which they
// were, and counts the others.
func among(in []string, offered map[string]int, dropped *int) []string {
	var out []string
	for _, l := range in {
		if _, ok := offered[l]; !ok {
			*dropped++
		} else if !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(x, y string) int { return offered[x] - offered[y] })
	return out
}
