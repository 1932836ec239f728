package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river/rivertype"

	"github.com/oxbow-memory/oxbow/jobs"
)

// around stands around every attempt at a job and tells how it ended; one that
// panics is tried again, which River sees to.
func (w *Worker) around(ctx context.Context, row *rivertype.JobRow, work func(context.Context) error) error {
	began, outcome := time.Now(), jobs.OutcomeRetried
	defer func() {
		if w.cfg.Ended != nil {
			w.cfg.Ended(row.Kind, outcome, time.Since(began))
		}
	}()
	err := work(ctx)
	outcome = jobs.OutcomeOf(ctx, row, err)
	return err
}
