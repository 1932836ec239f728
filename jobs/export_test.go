package jobs

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Do works one job as River would, once.
func Do(ctx context.Context, d Deps, row *rivertype.JobRow) error {
	switch row.Kind {
	case "extract":
		return doAs(ctx, row, &extractWorker{Deps: d})
	case "confidence":
		return doAs(ctx, row, &confidenceWorker{Deps: d})
	case "contradiction":
		return doAs(ctx, row, &contradictionWorker{Deps: d})
	case "expiry":
		return doAs(ctx, row, &expiryWorker{Deps: d})
	case "decay":
		return doAs(ctx, row, &decayWorker{Deps: d})
	case "expire":
		return doAs(ctx, row, &expireWorker{Deps: d})
	case "prune":
		return doAs(ctx, row, &pruneWorker{Deps: d})
	case "cluster":
		return doAs(ctx, row, &clusterWorker{Deps: d})
	case "synthesize":
		return doAs(ctx, row, &synthesizeWorker{Deps: d})
	case "apply_policy":
		return doAs(ctx, row, &policyWorker{Deps: d})
	case "embed":
		return doAs(ctx, row, &embedWorker{Deps: d})
	case "graph":
		return doAs(ctx, row, &graphWorker{Deps: d})
	case "reindex":
		return doAs(ctx, row, &reindexWorker{Deps: d})
	case "observe":
		return doAs(ctx, row, &observeWorker{Deps: d})
	case "reflect":
		return doAs(ctx, row, &reflectWorker{Deps: d})
	}
	return fmt.Errorf("no job of kind %q", row.Kind)
}

func doAs[T river.JobArgs](ctx context.Context, row *rivertype.JobRow, w river.Worker[T]) error {
	job := &river.Job[T]{JobRow: row}
	if err := json.Unmarshal(row.EncodedArgs, &job.Args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, w.Timeout(job))
	defer cancel()
	return w.Work(ctx, job)
}
