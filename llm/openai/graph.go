package openai

import (
	"context"
	"strings"

	"github.com/oxbow-memory/oxbow/llm"
)

var _ llm.Grapher = (*Judge)(nil)

// The bounds of a graph's answer; the gate in package jobs has narrower ones.
const (
	maxThings = 64  // entities, and relations
	maxName   = 400 // bytes of a name, a type or a description
)

type graphAnswer struct {
	Entities []struct {
		Name        string   `json:"name"`
		Type        string   `json:"type"`
		Description string   `json:"description"`
		Aliases     []string `json:"aliases"`
	} `json:"entities"`
	Relations []struct {
		From  string `json:"from"`
		Type  string `json:"type"`
		To    string `json:"to"`
		Words string `json:"words"`
	} `json:"relations"`
}

// Graph asks what a statement names and how that relates. A statement without a
// word is not asked about.
func (j *Judge) Graph(ctx context.Context, s llm.Statement) (llm.Graph, error) {
	if strings.TrimSpace(s.Text) == "" {
		return llm.Graph{}, nil
	}
	data := compared(j.statement(s))
	data.Label, data.Key, data.SaidAt = "", "", ""
	var out llm.Graph
	err := j.ask(ctx, j.judging(graph, data, func(raw []byte) (err error) {
		var dropped int
		out, dropped, err = readGraph(raw)
		j.dropped.Add(int64(dropped))
		return err
	}))
	return out, err
}

// readGraph reads names and relations. What is empty or too long is dropped; whether
// it stands in the statement is the gate's matter.
func readGraph(raw []byte) (out llm.Graph, dropped int, err error) {
	var a graphAnswer
	if err := decode(raw, &a); err != nil {
		return out, 0, err
	}
	for _, e := range a.Entities {
		entity := llm.Entity{Name: line(e.Name), Type: line(e.Type), Description: line(e.Description)}
		if entity.Name == "" || len(entity.Name) > maxName || len(entity.Type) > maxName || len(entity.Description) > maxName || len(out.Entities) == maxThings {
			dropped++
			continue
		}
		for _, other := range e.Aliases {
			if other = line(other); other == "" || len(other) > maxName || len(entity.Aliases) == maxTags {
				dropped++
				continue
			}
			entity.Aliases = append(entity.Aliases, other)
		}
		out.Entities = append(out.Entities, entity)
	}
	for _, r := range a.Relations {
		tie := llm.EntityRelation{From: line(r.From), Type: line(r.Type), To: line(r.To), Words: line(r.Words)}
		if tie.From == "" || tie.To == "" || tie.Type == "" || len(tie.From)+len(tie.To)+len(tie.Type) > 3*maxName || len(out.Relations) == maxThings {
			dropped++
			continue
		}
		out.Relations = append(out.Relations, tie)
	}
	return out, dropped, nil
}
