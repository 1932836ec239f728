package eval

import (
	"context"
	"fmt"
	"time"

	"github.com/oxbow-memory/oxbow/recall"
)

// Asker answers queries; a recall.Recaller does.
type Asker interface {
	// Ask answers one query.
	Ask(ctx context.Context, q recall.Query) (recall.Answer, error)
}

// Asking says how the queries of a file are asked.
type Asking struct {
	Strategy string
	// Limit is how many results each may have. Defaults to 0: the strategy's own.
	Limit int
	// Floor is the least score. Defaults to nil: the strategy's own.
	Floor *float64
	// Progress is told how many were asked so far. Defaults to nil.
	Progress func(n int)
}

// AskAll asks every query of the stores, each in the scope into which its store
// was loaded, one after the other. What comes back that was not in the file, such
// as a memory that a job has made, keeps its own id and so finds nothing.
func AskAll(ctx context.Context, r Asker, stores []RecallStore, loaded []Loaded, how Asking) ([]Recalled, error) {
	var out []Recalled
	for i, s := range stores {
		for _, q := range s.Queries {
			got, err := ask(ctx, r, q, loaded[i], how)
			if err != nil {
				return nil, fmt.Errorf("ask the query %s of the store %s: %w", q.ID, s.ID, err)
			}
			got.Store = s.ID
			out = append(out, got)
			if how.Progress != nil {
				how.Progress(len(out))
			}
		}
	}
	return out, nil
}

func ask(ctx context.Context, r Asker, q RecallQuery, in Loaded, how Asking) (Recalled, error) {
	begin := time.Now()
	answer, err := r.Ask(ctx, recall.Query{Scope: in.Scope, Text: q.Text, Strategy: how.Strategy, Limit: how.Limit, Floor: how.Floor, Now: in.Now})
	out := Recalled{Query: q, Took: time.Since(begin)}
	for _, found := range answer.Results {
		name, known := in.Names[found.Memory.ID]
		if !known {
			name = found.Memory.ID
		}
		out.Got = append(out.Got, name)
	}
	return out, err
}
