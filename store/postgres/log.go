package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	eventColumns = `
	e.seq, s.tenant, s.name, e.memory, e.version, e.type, e.before, e.after, e.links, e.unlinks, e.reason, e.actor,
		e.judge, e.run, e.at, e.recorded_at`

	// The index of scopes is for what reads a scope's log in its order: by it any
	// other question would read all that its scope ever had. So + 0 keeps it out, here
	// and elsewhere.
	selectEvent = `SELECT` + eventColumns + `
	FROM memory_events e JOIN scopes s ON s.seq = e.scope + 0`

	eventsOfScope = `SELECT` + eventColumns + `
	FROM scopes s CROSS JOIN LATERAL (SELECT e.* FROM memory_events e`
)

func scanEvent(rows pgx.Rows) (oxbow.Event, error) { return scanEventWith(rows) }

// scanEventWith reads an event and the columns behind it.
func scanEventWith(rows pgx.Rows, more ...any) (oxbow.Event, error) {
	var e oxbow.Event
	var before, after, links, unlinks string
	into := []any{&e.Seq, &e.Scope.Tenant, &e.Scope.Name, &e.Memory, &e.Version, &e.Type, &before, &after, &links,
		&unlinks, &e.Reason, &e.Actor, &e.Judge, &e.Run, &e.At, &e.RecordedAt}
	if err := rows.Scan(append(into, more...)...); err != nil {
		return e, err
	}
	e.At, e.RecordedAt = e.At.UTC(), e.RecordedAt.UTC()
	for _, part := range []struct {
		text string
		into any
	}{{before, &e.Before}, {after, &e.After}, {links, &e.Links}, {unlinks, &e.Unlinks}} {
		if part.text == "" {
			continue
		}
		if err := json.Unmarshal([]byte(part.text), part.into); err != nil {
			return e, err
		}
	}
	return e, nil
}

// Events implements store.LogReader. The events of a run and those of a scope are
// a range of an index, bounded by both of its columns at once: of an equal run and
// an ordered number the planner, whose plans are made for any run, thinks that it
// finds them soonest in the log as a whole, past all that others wrote. Limit: who
// goes on in all scopes reads the log as a whole, because followers do so near its end.
func (r reader) Events(ctx context.Context, f store.EventFilter) ([]oxbow.Event, error) {
	query, args := eventQuery(f)
	return collect(ctx, r.in(oxbow.Scope{Tenant: f.Tenant, Name: f.Scope}), "read events", scanEvent, query, args...)
}

func eventQuery(f store.EventFilter) (query string, args []any) {
	w := where{}
	w.addIf(f.Memory != "", "e.memory_seq = (SELECT seq FROM memories WHERE id = $)", f.Memory)
	w.addIf(len(f.Types) > 0, "e.type = ANY($)", texts(f.Types))
	w.addIf(!f.Since.IsZero(), "e.at >= $", ts(f.Since))
	from, along := selectEvent, ""
	switch {
	case f.Run != "" && f.Memory == "":
		along = "e.run"
		w.inRange(along, w.arg(f.Run), f)
	case f.Run == "" && f.Memory == "" && f.Scope != "":
		w.inRange("e.scope", "s.seq", f)
		from = eventsOfScope + w.String() + logOrder("e.scope", f) + w.limit(f.Limit) + ") e"
		w.conds = nil
	case f.Run == "" && f.Memory == "" && (f.Newest || f.AfterSeq == 0):
		w.inRange("e.scope", "s.seq", f)
		query = overScopes(eventColumns, `memory_events e`, "e", w.String()+logOrder("e.scope", f), logOrder("", f), w.arg(f.Tenant), w.limit(f.Limit)) + logOrder("", f)
		return query, w.args
	default:
		w.addIf(f.Run != "", "e.run = $", f.Run)
		w.addIf(f.Newest && f.AfterSeq > 0, "e.seq < $", f.AfterSeq)
		w.addIf(!f.Newest, "e.seq > $", f.AfterSeq)
	}
	w.add("s.tenant = $", f.Tenant)
	w.addIf(f.Scope != "", "s.name = $", f.Scope)
	query = from + w.String() + logOrder(along, f) + w.limit(f.Limit)
	return query, w.args
}

// inRange takes the events whose column has a value, and that a filter goes on to,
// as a range of the index of the column and the number.
func (w *where) inRange(column, value string, f store.EventFilter) {
	if f.Newest {
		w.conds = append(w.conds, "("+column+", e.seq) < ("+value+", "+w.arg(cmp.Or(f.AfterSeq, math.MaxInt64))+") AND "+column+" >= "+value)
		return
	}
	w.conds = append(w.conds, "("+column+", e.seq) > ("+value+", "+w.arg(f.AfterSeq)+") AND "+column+" <= "+value)
}

// logOrder is the order that a filter wants, along the index of a column.
func logOrder(column string, f store.EventFilter) string {
	down := ""
	if f.Newest {
		down = " DESC"
	}
	if column != "" {
		column += down + ", "
	}
	return " ORDER BY " + column + "e.seq" + down
}

const eventsOf = selectEvent + `
	WHERE s.tenant = $1 AND e.memory_seq = ANY(ARRAY(SELECT seq FROM memories WHERE id = ANY($2))) ORDER BY e.memory, e.version`

// EventsOf implements store.LogReader.
func (r reader) EventsOf(ctx context.Context, tenant string, ids []string) ([]oxbow.Event, error) {
	return collect(ctx, r.of(tenant), "read events", scanEvent, eventsOf, tenant, texts(ids))
}

const linksOf = `
	SELECT l.from_id, l.to_id, l.type FROM links l JOIN scopes s ON s.seq = l.scope
	WHERE s.tenant = $1 AND (l.from_id = ANY($2) OR l.to_id = ANY($2))
	ORDER BY l.from_id, l.to_id, l.type`

// Links implements store.LogReader.
func (r reader) Links(ctx context.Context, tenant string, ids []string) ([]oxbow.Link, error) {
	return collect(ctx, r.of(tenant), "read links", func(rows pgx.Rows) (oxbow.Link, error) {
		var l oxbow.Link
		err := rows.Scan(&l.From, &l.To, &l.Type)
		return l, err
	}, linksOf, tenant, texts(ids))
}

const verdictsOf = `
	SELECT v.older, v.newer, v.relation, v.judge, v.run, v.at FROM verdicts v JOIN scopes s ON s.seq = v.scope
	WHERE s.tenant = $1 AND (v.older = ANY($2) OR v.newer = ANY($2))
	ORDER BY v.older, v.newer`

// Verdicts implements store.LogReader.
func (r reader) Verdicts(ctx context.Context, tenant string, ids []string) ([]oxbow.Verdict, error) {
	return collect(ctx, r.of(tenant), "read verdicts", func(rows pgx.Rows) (oxbow.Verdict, error) {
		var v oxbow.Verdict
		err := rows.Scan(&v.Older, &v.Newer, &v.Relation, &v.Judge, &v.Run, &v.At)
		v.At = v.At.UTC()
		return v, err
	}, verdictsOf, tenant, texts(ids))
}

const runColumns = `
	r.id, s.tenant, s.name, r.name, r.trigger, r.status, r.about, r.started_at, r.finished_at, r.counts, r.cursor, r.note`

const selectRun = `
	SELECT` + runColumns + `
	FROM runs r JOIN scopes s ON s.seq = r.scope`

func scanRun(rows pgx.Rows) (oxbow.Run, error) {
	var v oxbow.Run
	var finished *time.Time
	var counts string
	err := rows.Scan(&v.ID, &v.Scope.Tenant, &v.Scope.Name, &v.Name, &v.Trigger, &v.Status, &v.About, &v.StartedAt, &finished,
		&counts, &v.Cursor, &v.Note)
	if err != nil {
		return v, err
	}
	v.About, v.StartedAt, v.FinishedAt = v.About.UTC(), v.StartedAt.UTC(), fromNull(finished)
	return v, json.Unmarshal([]byte(counts), &v.Counts)
}

const runByID = selectRun + ` WHERE s.tenant = $1 AND r.id = $2`

// Run implements store.LogReader.
func (r reader) Run(ctx context.Context, tenant, id string) (oxbow.Run, error) {
	found, err := collect(ctx, r.of(tenant), "read the run", scanRun, runByID, tenant, id)
	if err != nil {
		return oxbow.Run{}, err
	}
	if len(found) == 0 {
		return oxbow.Run{}, oxbow.Errorf(oxbow.CodeNotFound, "there is no run %s; oxbow run list shows those there are", id)
	}
	return found[0], nil
}

const latestRuns = ` ORDER BY r.about DESC, r.started_at DESC, r.id DESC`

// ListRuns implements store.LogReader.
func (r reader) ListRuns(ctx context.Context, f store.RunFilter) ([]oxbow.Run, error) {
	w := where{}
	if f.Scope == "" {
		w.conds = append(w.conds, "r.scope = s.seq")
		w.runs(f)
		query := overScopes(runColumns, `runs r`, "r", w.String()+latestRuns, latestRuns, w.arg(f.Tenant), w.limit(f.Limit)) + latestRuns
		return collect(ctx, r.of(f.Tenant), "list runs", scanRun, query, w.args...)
	}
	s := oxbow.Scope{Tenant: f.Tenant, Name: f.Scope}
	seq, err := r.scopeSeq(ctx, s)
	if err != nil {
		return nil, err
	}
	w.add("r.scope = $", seq)
	w.runs(f)
	return collect(ctx, r.in(s), "list runs", scanRun, selectRun+w.String()+latestRuns+w.limit(f.Limit), w.args...)
}

// runs adds what a filter asks of a run beside its tenant and scope.
func (w *where) runs(f store.RunFilter) {
	w.addIf(f.Name != "", "r.name = $", f.Name)
	w.addIf(f.Status != "", "r.status = $", f.Status)
	w.addIf(f.AfterID != "", "(r.about, r.started_at, r.id) < (SELECT about, started_at, id FROM runs WHERE id = $)", f.AfterID)
}

const contentBody = `
	SELECT c.id, c.salt, c.body FROM contents c JOIN scopes s ON s.seq = c.scope WHERE s.tenant = $1 AND c.id = $2`

// ContentBody implements store.LogReader.
func (r reader) ContentBody(ctx context.Context, tenant, id string) (oxbow.Content, oxbow.Seal, error) {
	var c oxbow.Content
	var seal oxbow.Seal
	var body string
	if err := r.of(tenant).QueryRow(ctx, contentBody, tenant, id).Scan(&seal.ContentID, &seal.Salt, &body); err != nil {
		return c, seal, translate(err, "read content "+id)
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		return c, seal, translate(err, "read content "+id)
	}
	seal.Digest = oxbow.Digest(seal.Salt, c)
	return c, seal, nil
}
