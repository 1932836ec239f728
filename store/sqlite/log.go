package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

const (
	eventColumns = `
	e.seq, s.tenant, s.name, e.memory, e.version, e.type, e.before, e.after, e.links, e.unlinks, e.reason, e.actor,
		e.judge, e.run, e.at, e.recorded_at`

	// The index of scopes is for what reads a scope's log in its order: by it any
	// other question would read all that its scope ever had. So + keeps it out, here
	// and elsewhere.
	selectEvent = `SELECT` + eventColumns + `
	FROM memory_events e JOIN scopes s ON s.seq = +e.scope`

	eventsOfRun = `SELECT` + eventColumns + `
	FROM memory_events e INDEXED BY memory_events_run CROSS JOIN scopes s ON s.seq = e.scope`

	byScope = ` INDEXED BY memory_events_scope`

	eventsOfScope = `SELECT` + eventColumns + `
	FROM scopes s CROSS JOIN memory_events e ON e.seq IN (SELECT e.seq FROM memory_events e` + byScope
)

func scanEvent(rows *sql.Rows) (oxbow.Event, error) { return scanEventWith(rows) }

// scanEventWith reads an event and the columns behind it.
func scanEventWith(rows *sql.Rows, more ...any) (oxbow.Event, error) {
	var e oxbow.Event
	var before, after, links, unlinks string
	var at, recorded int64
	into := []any{&e.Seq, &e.Scope.Tenant, &e.Scope.Name, &e.Memory, &e.Version, &e.Type, &before, &after, &links,
		&unlinks, &e.Reason, &e.Actor, &e.Judge, &e.Run, &at, &recorded}
	if err := rows.Scan(append(into, more...)...); err != nil {
		return e, err
	}
	e.At, e.RecordedAt = time.UnixMilli(at).UTC(), time.UnixMilli(recorded).UTC()
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
// a range of an index, whose entries end with the number. Limit: who goes on in
// all scopes reads the log as a whole, because followers do so near its end.
func (r reader) Events(ctx context.Context, f store.EventFilter) ([]oxbow.Event, error) {
	query, args := eventQuery(f)
	return collect(ctx, r.q, "read events", scanEvent, query, args...)
}

func eventQuery(f store.EventFilter) (query string, args []any) {
	w := where{}
	w.addIf(f.Memory != "", "e.memory_seq = (SELECT seq FROM memories WHERE id = ?)", f.Memory)
	w.addIf(len(f.Types) > 0, "e.type IN (SELECT value FROM json_each(?))", jsonList(f.Types))
	w.addIf(!f.Since.IsZero(), "e.at >= ?", f.Since.UnixMilli())
	w.addIf(f.Run != "", "e.run = ?", f.Run)
	order := " ORDER BY e.seq"
	if f.Newest {
		w.addIf(f.AfterSeq > 0, "e.seq < ?", f.AfterSeq)
		order += " DESC"
	} else {
		w.add("e.seq > ?", f.AfterSeq)
	}
	from := selectEvent
	switch {
	case f.Run != "" && f.Memory == "":
		from = eventsOfRun
	case f.Run == "" && f.Memory == "" && f.Scope != "":
		w.add("e.scope = s.seq")
		from = eventsOfScope + w.String() + order + " LIMIT ?)"
		w = where{args: append(w.args, f.Limit)}
	case f.Run == "" && f.Memory == "" && (f.Newest || f.AfterSeq == 0):
		w.add("e.scope = s.seq")
		return overScopes(eventColumns, `memory_events e`, "e", "seq", order, byScope+w.String()), w.overScopesArgs(f.Tenant, f.Limit)
	}
	w.add("s.tenant = ?", f.Tenant)
	w.addIf(f.Scope != "", "s.name = ?", f.Scope)
	return from + w.String() + order + " LIMIT ?", append(w.args, f.Limit)
}

const eventsOf = selectEvent + `
	WHERE s.tenant = ? AND e.memory_seq IN (SELECT m.seq FROM memories m JOIN json_each(?) i ON m.id = i.value)
	ORDER BY e.memory, e.version`

// EventsOf implements store.LogReader.
func (r reader) EventsOf(ctx context.Context, tenant string, ids []string) ([]oxbow.Event, error) {
	return collect(ctx, r.q, "read events", scanEvent, eventsOf, tenant, jsonList(ids))
}

const linksOf = `
	SELECT l.from_id, l.to_id, l.type FROM links l JOIN scopes s ON s.seq = l.scope
	WHERE s.tenant = ?1 AND (l.from_id IN (SELECT value FROM json_each(?2)) OR l.to_id IN (SELECT value FROM json_each(?2)))
	ORDER BY l.from_id, l.to_id, l.type`

// Links implements store.LogReader.
func (r reader) Links(ctx context.Context, tenant string, ids []string) ([]oxbow.Link, error) {
	return collect(ctx, r.q, "read links", func(rows *sql.Rows) (oxbow.Link, error) {
		var l oxbow.Link
		err := rows.Scan(&l.From, &l.To, &l.Type)
		return l, err
	}, linksOf, tenant, jsonList(ids))
}

const verdictsOf = `
	SELECT v.older, v.newer, v.relation, v.judge, v.run, v.at FROM verdicts v JOIN scopes s ON s.seq = v.scope
	WHERE s.tenant = ?1 AND (v.older IN (SELECT value FROM json_each(?2)) OR v.newer IN (SELECT value FROM json_each(?2)))
	ORDER BY v.older, v.newer`

// Verdicts implements store.LogReader.
func (r reader) Verdicts(ctx context.Context, tenant string, ids []string) ([]oxbow.Verdict, error) {
	return collect(ctx, r.q, "read verdicts", func(rows *sql.Rows) (oxbow.Verdict, error) {
		var v oxbow.Verdict
		var at int64
		err := rows.Scan(&v.Older, &v.Newer, &v.Relation, &v.Judge, &v.Run, &at)
		v.At = time.UnixMilli(at).UTC()
		return v, err
	}, verdictsOf, tenant, jsonList(ids))
}

const runColumns = `
	r.id, s.tenant, s.name, r.name, r.trigger, r.status, r.about, r.started_at, r.finished_at, r.counts, r.cursor, r.note`

const selectRun = `
	SELECT` + runColumns + `
	FROM runs r JOIN scopes s ON s.seq = r.scope`

func scanRun(rows *sql.Rows) (oxbow.Run, error) {
	var v oxbow.Run
	var about, started int64
	var finished sql.NullInt64
	var counts string
	err := rows.Scan(&v.ID, &v.Scope.Tenant, &v.Scope.Name, &v.Name, &v.Trigger, &v.Status, &about, &started, &finished,
		&counts, &v.Cursor, &v.Note)
	if err != nil {
		return v, err
	}
	v.About, v.StartedAt, v.FinishedAt = time.UnixMilli(about).UTC(), time.UnixMilli(started).UTC(), fromMS(finished)
	return v, json.Unmarshal([]byte(counts), &v.Counts)
}

const runByID = selectRun + ` WHERE s.tenant = ? AND r.id = ?`

// Run implements store.LogReader.
func (r reader) Run(ctx context.Context, tenant, id string) (oxbow.Run, error) {
	found, err := collect(ctx, r.q, "read the run", scanRun, runByID, tenant, id)
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
		w.add("r.scope = s.seq")
		w.runs(f)
		query := overScopes(runColumns, `runs r`, "r", "id", latestRuns, w.String())
		return collect(ctx, r.q, "list runs", scanRun, query, w.overScopesArgs(f.Tenant, f.Limit)...)
	}
	seq, err := r.scopeSeq(ctx, oxbow.Scope{Tenant: f.Tenant, Name: f.Scope})
	if err != nil {
		return nil, err
	}
	w.add("r.scope = ?", seq)
	w.runs(f)
	return collect(ctx, r.q, "list runs", scanRun, selectRun+w.String()+latestRuns+` LIMIT ?`, append(w.args, f.Limit)...)
}

// runs adds what a filter asks of a run beside its tenant and scope.
func (w *where) runs(f store.RunFilter) {
	w.addIf(f.Name != "", "r.name = ?", f.Name)
	w.addIf(f.Status != "", "r.status = ?", f.Status)
	w.addIf(f.AfterID != "", "(r.about, r.started_at, r.id) < (SELECT about, started_at, id FROM runs WHERE id = ?)", f.AfterID)
}

const contentBody = `
	SELECT c.id, c.salt, c.body FROM contents c JOIN scopes s ON s.seq = c.scope WHERE s.tenant = ? AND c.id = ?`

// ContentBody implements store.LogReader.
func (r reader) ContentBody(ctx context.Context, tenant, id string) (oxbow.Content, oxbow.Seal, error) {
	var c oxbow.Content
	var seal oxbow.Seal
	var body string
	if err := r.q.row(ctx, contentBody, tenant, id).Scan(&seal.ContentID, &seal.Salt, &body); err != nil {
		return c, seal, translate(err, "read content "+id)
	}
	if err := json.Unmarshal([]byte(body), &c); err != nil {
		return c, seal, translate(err, "read content "+id)
	}
	seal.Digest = oxbow.Digest(seal.Salt, c)
	return c, seal, nil
}
