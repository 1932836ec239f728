package store

import (
	"context"
	"encoding/json"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/internal/trace"
)

// enqueuedIn is the key of a job's metadata that names the span in which it was
// enqueued. Arguments do not hold it: unique jobs are told apart by them.
const enqueuedIn = "traceparent"

// NamesSpan gives what has each job that is inserted carry the name of the span
// that it is inserted in, where spans are made. Implementations give it to the
// client that Enqueue uses.
func NamesSpan() rivertype.Middleware {
	return river.JobInsertMiddlewareFunc(func(ctx context.Context, many []*rivertype.JobInsertParams, insert func(context.Context) ([]*rivertype.JobInsertResult, error)) ([]*rivertype.JobInsertResult, error) {
		if from := trace.Carried(ctx); from != "" {
			for _, p := range many {
				about := map[string]any{}
				if len(p.Metadata) > 0 && json.Unmarshal(p.Metadata, &about) != nil {
					continue // somebody else's, and in no form that takes more
				}
				about[enqueuedIn] = from
				if b, err := json.Marshal(about); err == nil {
					p.Metadata = b
				}
			}
		}
		return insert(ctx)
	})
}

// EnqueuedIn gives the name of the span that a job was enqueued in; "" when there
// was none.
func EnqueuedIn(row *rivertype.JobRow) string {
	about := map[string]any{}
	_ = json.Unmarshal(row.Metadata, &about)
	from, _ := about[enqueuedIn].(string)
	return from
}
