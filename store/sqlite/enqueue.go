package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riversqlite"
)

// inserting is River's driver but for one thing: jobs are inserted row by row,
// bound as they are. River's own statement takes them as one JSON text apart,
// which takes SQLite longer than everything else of a small write.
type inserting struct{ *riversqlite.Driver }

// UnwrapExecutor gives what River runs its statements on inside a transaction.
func (d inserting) UnwrapExecutor(tx *sql.Tx) riverdriver.ExecutorTx {
	return inserter{d.Driver.UnwrapExecutor(tx), tx}
}

type inserter struct {
	riverdriver.ExecutorTx
	tx *sql.Tx
}

// insertJob stores a row as River's statement does; the times are River's.
const insertJob = `
	INSERT INTO river_job (args, created_at, kind, max_attempts, metadata, priority, queue, scheduled_at, state, tags, unique_key, unique_states)
	VALUES (jsonb(?), coalesce(?, datetime('now', 'subsec')), ?, ?, jsonb(?), ?, ?, coalesce(?, datetime('now', 'subsec')), ?, jsonb(?), ?, ?)
	ON CONFLICT DO NOTHING`

// JobInsertFastManyNoReturning inserts jobs and passes over unique ones that are
// there; it gives how many it inserted.
func (i inserter) JobInsertFastManyNoReturning(ctx context.Context, params *riverdriver.JobInsertFastManyParams) (int, error) {
	n := 0
	for _, j := range params.Jobs {
		args, metadata, tags := j.EncodedArgs, j.Metadata, []byte("[]")
		if len(args) == 0 {
			args = []byte("{}")
		}
		if len(metadata) == 0 {
			metadata = []byte("{}")
		}
		if len(j.Tags) > 0 {
			var err error
			if tags, err = json.Marshal(j.Tags); err != nil {
				return n, err
			}
		}
		var key, states any
		if len(j.UniqueKey) > 0 {
			key = j.UniqueKey
		}
		if j.UniqueStates != 0 {
			states = int64(j.UniqueStates)
		}
		res, err := i.tx.ExecContext(ctx, insertJob, string(args), riversTime(j.CreatedAt), j.Kind, j.MaxAttempts, string(metadata),
			j.Priority, j.Queue, riversTime(j.ScheduledAt), string(j.State), string(tags), key, states)
		if err != nil {
			return n, err
		}
		added, err := res.RowsAffected()
		if err != nil {
			return n, err
		}
		n += int(added)
	}
	return n, nil
}

// riversTime gives a time in the form in which River compares it.
func riversTime(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UTC().Round(time.Millisecond).Format("2006-01-02 15:04:05.000")
}
