package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const insertScope = `
	INSERT INTO scopes (tenant, name, zone, policy, version, memories, terms, created_at, updated_at)
	VALUES ($1, $2, 'UTC', $3, 1, 0, 0, $4, $4) ON CONFLICT (tenant, name) DO NOTHING`

// LockScope implements store.MemoryWriter.
func (t *tx) LockScope(ctx context.Context, s oxbow.Scope, now time.Time) (oxbow.ScopeSettings, error) {
	if err := s.Validate(); err != nil {
		return oxbow.ScopeSettings{}, err
	}
	t.in(s)
	if found, ok := t.lockKnown(s); ok {
		return found, nil
	}
	found, locked, err := t.lockScope(ctx, s)
	if !locked && err == nil {
		if _, known := t.known.Get(s); known {
			t.known.Forget() // it was there once, so this is another database
		}
		t.hold(s, held{changed: true})
		t.write("make the scope", insertScope, s.Tenant, s.Name, store.JSON(oxbow.DefaultPolicy()), ts(now))
		t.pipe.waiting.statements = append(t.pipe.waiting.statements, entering(s)) // now that it has a number
		found, _, err = t.lockScope(ctx, s)
	}
	return found, err
}

const lockAsKnown = `SELECT 1 FROM scopes WHERE seq = $1 AND version = $2 AND tenant = $3 AND name = $4 FOR NO KEY UPDATE`

// lockKnown locks a scope as this process has read it before, which costs no
// answer of its own: the server breaks the transaction off when the settings are
// others by now, or the number is another scope's, as after a backup was restored
// behind this process's back.
func (t *tx) lockKnown(s oxbow.Scope) (oxbow.ScopeSettings, bool) {
	h := t.scopes[s]
	if h.settings != nil {
		return *h.settings, true
	}
	k, ok := t.known.Get(s)
	if !ok || !t.assume || h.changed || k.Settings == nil {
		return oxbow.ScopeSettings{}, false
	}
	t.pipe.waiting.must("lock the scope", 1, errMissed, lockAsKnown, k.Seq, k.Settings.Version, s.Tenant, s.Name)
	t.hold(s, held{seq: k.Seq, settings: k.Settings})
	return *k.Settings, true
}

const lockScope = `SELECT seq FROM scopes WHERE tenant = $1 AND name = $2 FOR NO KEY UPDATE`

// lockScope locks a scope's row and then reads it; it tells whether there was
// one to lock. Another transaction may make the scope between the two
// statements, so that it is read is no sign that it is locked.
func (t *tx) lockScope(ctx context.Context, s oxbow.Scope) (oxbow.ScopeSettings, bool, error) {
	var found oxbow.ScopeSettings
	var seq int64
	b := &batch{}
	b.rows("lock the scope", func(rows pgx.Rows) error { return rows.Scan(&seq) }, lockScope, s.Tenant, s.Name)
	b.rows("read the scope", func(rows pgx.Rows) (err error) {
		found, err = scanScope(rows)
		return err
	}, scopeByName, s.Tenant, s.Name)
	err := t.send(ctx, b, "lock the scope")
	if err == nil && seq != 0 {
		changed := t.scopes[s].changed
		t.hold(s, held{seq: seq, settings: &found, changed: changed})
		if !changed {
			t.known.Put(s, store.Known{Seq: seq, Settings: &found})
		}
	}
	return found, seq != 0, err
}

// Apply implements store.MemoryWriter. It locks the scope before memories, so
// that two of its calls never wait for each other, and so that the policy and
// the counters of terms stand still.
func (t *tx) Apply(ctx context.Context, b store.Batch, changes []oxbow.Change) (store.Applied, error) {
	if len(changes) == 0 {
		return store.Applied{}, nil
	}
	policy, err := t.policyOf(ctx, b)
	if err != nil {
		return store.Applied{}, err
	}
	read := lockedBare
	if store.NeedsContent(changes) {
		read = lockedMemories
	}
	rows, err := t.lockMemories(ctx, b.Scope, store.IDs(changes), read)
	if err != nil {
		return store.Applied{}, err
	}
	plan, err := store.NewPlan(b, policy, rows, changes)
	if err != nil {
		return store.Applied{}, err
	}
	seq, err := t.scopeSeq(ctx, b.Scope)
	if err != nil {
		return store.Applied{}, err
	}
	if err := t.dropGraph(ctx, seq, store.IDsOf(plan.Reworded)); err != nil {
		return store.Applied{}, err
	}
	writes := &batch{}
	for _, write := range []func(*batch, int64, *store.Plan){
		writeContents, updateRows, insertRows, writeTerms, writeEvents, writeLinks,
	} {
		write(writes, seq, plan)
	}
	t.later(writes)
	return plan.Applied, nil
}

const ofScope = ` WHERE s.tenant = $1 AND ($2 = '' OR s.name = $2) AND m.id = ANY($3) ORDER BY m.id`

const lockRows = `SELECT m.id FROM memories m` + scopeOf + ofScope + ` FOR NO KEY UPDATE OF m`

const (
	lockedMemories = selectByID + ofScope
	lockedBare     = `SELECT` + memoryColumns + `, '{}' FROM memories m` + scopeOf + ofScope
)

// lockMemories locks rows in the order of their ids and then reads them. Both
// in one statement would give a row that somebody just edited together with
// the content that it had before. An empty scope name takes every scope.
// query is one of the two above: with the content or without it.
func (t *tx) lockMemories(ctx context.Context, s oxbow.Scope, ids []string, query string) ([]oxbow.Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	t.in(s)
	var out []oxbow.Memory
	locked := map[string]bool{} // one may be stored between the two statements
	b := &batch{}
	b.rows("lock memories", func(rows pgx.Rows) error {
		id, err := scanString(rows)
		locked[id] = true
		return err
	}, lockRows, s.Tenant, s.Name, ids)
	b.rows("read memories", func(rows pgx.Rows) error {
		m, err := scanMemory(rows)
		if locked[m.ID] {
			out = append(out, m)
		}
		return err
	}, query, s.Tenant, s.Name, ids)
	return out, t.send(ctx, b, "read memories")
}

const insertContent = `INSERT INTO contents (id, scope, owner, salt, body) VALUES ($1, $2, $3, $4, $5)`

func writeContents(b *batch, scope int64, p *store.Plan) {
	for _, c := range p.Contents {
		b.exec("store the content", insertContent, c.ContentID, scope, c.Owner, c.Salt, store.JSON(c.Content))
	}
}

const updateStatuses = `
	UPDATE memories m SET status = u.status, replaced_by = u.replaced_by, version = u.version
	FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::int[]) u (id, status, replaced_by, version, was)
	WHERE m.id = u.id AND m.version = u.was`

const updateMemory = `
	UPDATE memories SET status = $1, replaced_by = $2, version = $3, kind = $4, slot = $5, key = $6, content_id = $7, digest = $8,
		content_version = $9, importance = $10, rating = $11, rated = $12, confirmations = $13, source = $14, pinned = $15,
		said_at = $16, confirmed_at = $17, touched_at = $18, expires_at = $19, review_at = $20, turn = $21, conversation = $22,
		quote = $23, derived = $24, ref_time = $25, half_life = $26, fades_at = $27, rank_key = $28
	WHERE id = $29 AND version = $30`

// updateRows writes first what leaves an address and then what takes one,
// because each statement is held to the unique index by itself.
func updateRows(b *batch, _ int64, p *store.Plan) {
	for _, active := range []bool{false, true} {
		var narrow, wide []store.Update
		for _, u := range p.Updated {
			switch {
			case (u.Status == oxbow.Active) != active:
			case u.Narrow:
				narrow = append(narrow, u)
			default:
				wide = append(wide, u)
			}
		}
		updateNarrow(b, narrow)
		for _, u := range wide {
			args := append([]any{u.Status, u.ReplacedBy, u.Version}, stateArgs(u.Memory)...)
			args = append(args, derivedArgs(u.Memory)...)
			b.update("change memory "+u.ID, 1, updateMemory, append(args, u.ID, u.Was)...)
		}
	}
}

func updateNarrow(b *batch, us []store.Update) {
	if len(us) == 0 {
		return
	}
	var ids, statuses, replacedBy []string
	var versions, was []int
	for _, u := range us {
		ids, statuses, replacedBy = append(ids, u.ID), append(statuses, string(u.Status)), append(replacedBy, u.ReplacedBy)
		versions, was = append(versions, u.Version), append(was, u.Was)
	}
	b.update("change memories", len(us), updateStatuses, ids, statuses, replacedBy, versions, was)
}

// stateArgs are the columns kind to derived, in the order of the table.
func stateArgs(m oxbow.Memory) []any {
	return []any{m.Kind, m.Slot, m.Key, m.ContentID, m.Digest, m.ContentVersion, m.Importance, m.Rating, m.Rated,
		m.Confirmations, m.Source, m.Pinned, ts(m.SaidAt), orNull(m.ConfirmedAt), orNull(m.TouchedAt), orNull(m.ExpiresAt),
		orNull(m.ReviewAt), m.Turn, m.Conversation, store.JSON(m.Quote), m.Derived}
}

func derivedArgs(m oxbow.Memory) []any {
	return []any{ts(m.RefTime()), m.HalfLife, orNull(m.FadesAt), m.RankKey}
}

const insertMemory = `
	INSERT INTO memories (id, scope, status, replaced_by, kind, slot, key, content_id, digest, content_version, importance,
		rating, rated, confirmations, source, pinned, said_at, confirmed_at, touched_at, expires_at, review_at, turn,
		conversation, quote, derived, created_at, version, access_count, last_used_at, ref_time, half_life, fades_at, rank_key, hints, hint_rules)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
		$26, $27, $28, $29, $30, $31, $32, $33, $34, $35)`

func insertRows(b *batch, scope int64, p *store.Plan) {
	for _, m := range p.Created {
		args := append([]any{m.ID, scope, m.Status, m.ReplacedBy}, stateArgs(m)...)
		args = append(args, ts(m.CreatedAt), m.Version, m.AccessCount, orNull(m.LastUsedAt))
		b.exec("store memory "+m.ID, insertMemory, append(append(args, derivedArgs(m)...), p.IndexOf(m).Hints, text.HintRules)...)
	}
}

// insertTerms is about one memory: of a join with many the server, which keeps its
// plan from when the table was small, reads the whole table.
const insertTerms = `
	INSERT INTO memory_terms (scope, term, memory, tf, length)
	SELECT $1, u.term, m.seq, u.tf, $5 FROM memories m, unnest($3::bigint[], $4::int[]) u (term, tf) WHERE m.id = $2`

const countTerms = `UPDATE scopes SET memories = memories + $1, terms = terms + $2 WHERE seq = $3`

func writeTerms(b *batch, scope int64, p *store.Plan) {
	for _, m := range p.Reworded {
		dropTerms(b, scope, m)
	}
	dropVectors(b, scope, store.IDsOf(p.Reworded))
	if len(p.Indexed) == 0 {
		return
	}
	total := 0
	for _, m := range p.Indexed {
		in := p.IndexOf(m)
		pairs := in.Pairs()
		hashes, tfs := make([]int64, len(pairs)), make([]int64, len(pairs))
		for i, row := range pairs {
			hashes[i], tfs[i] = row[0], row[1]
		}
		b.exec("index memory "+m.ID, insertTerms, scope, m.ID, hashes, tfs, in.Length)
		if m.ContentVersion > 1 { // else it was noted when the row was made
			b.exec("index memory "+m.ID, noteHints, in.Hints, text.HintRules, m.ID)
		}
		total += in.Length
	}
	b.exec("count the terms", countTerms, len(p.Indexed), total, scope)
}

const deleteTerms = `
	DELETE FROM memory_terms WHERE scope = $1 AND term = ANY($2) AND memory = (SELECT seq FROM memories WHERE id = $3)`

// dropTerms takes a memory's words, as it has them in Content, out of the index.
func dropTerms(b *batch, scope int64, m oxbow.Memory) {
	dropHints(b, scope, m.ID)
	terms, length := store.TermsOf(m)
	hashes := make([]int64, len(terms))
	for i, term := range terms {
		hashes[i] = term.Hash
	}
	b.exec("take memory out of the index", deleteTerms, scope, hashes, m.ID)
	b.exec("count the terms", countTerms, -1, -length, scope)
}

const insertEvent = `
	INSERT INTO memory_events (scope, memory, memory_seq, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
	VALUES ($1, $2, (SELECT seq FROM memories WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) RETURNING seq`

// writeEvents writes the events in their order, which is that of their numbers.
//
// Limit: numbers are given before the commit, so of two scopes whose
// transactions overlap the higher number may be seen first. Inside a scope they
// are seen in order, because Apply holds the scope.
func writeEvents(b *batch, scope int64, p *store.Plan) {
	for i, e := range p.Events {
		b.rows("write the event", func(rows pgx.Rows) error { return rows.Scan(&p.Events[i].Seq) },
			insertEvent, scope, e.Memory, e.Version, e.Type, store.JSON(e.Before), store.JSON(e.After),
			store.LinksJSON(e.Links), store.LinksJSON(e.Unlinks), e.Reason, e.Actor, e.Judge, e.Run, ts(e.At), ts(e.RecordedAt))
	}
}

const (
	insertLink = `INSERT INTO links (from_id, to_id, type, scope) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`
	deleteLink = `DELETE FROM links WHERE from_id = $1 AND to_id = $2 AND type = $3`
)

func writeLinks(b *batch, scope int64, p *store.Plan) {
	for _, e := range p.Events {
		for _, l := range e.Unlinks {
			b.exec("take a link away", deleteLink, l.From, l.To, l.Type)
		}
		for _, l := range e.Links {
			b.exec("link memories", insertLink, l.From, l.To, l.Type, scope)
		}
	}
}

const putVerdict = `
	INSERT INTO verdicts (older, newer, scope, relation, judge, run, at) VALUES ($1, $2, $3, $4, $5, $6, $7)
	ON CONFLICT (older, newer) DO UPDATE SET relation = excluded.relation, judge = excluded.judge, run = excluded.run, at = excluded.at`

// PutVerdicts implements store.MemoryWriter.
func (t *tx) PutVerdicts(ctx context.Context, s oxbow.Scope, vs []oxbow.Verdict) error {
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return err
	}
	b := &batch{}
	for _, v := range vs {
		b.exec("store a verdict", putVerdict, v.Older, v.Newer, seq, v.Relation, v.Judge, v.Run, ts(v.At))
	}
	t.later(b)
	return nil
}

const dropVerdicts = `DELETE FROM verdicts WHERE scope = $1 AND (older = $2 OR newer = $2)`

// DropVerdicts implements store.MemoryWriter.
func (t *tx) DropVerdicts(ctx context.Context, s oxbow.Scope, memory string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	t.write("drop verdicts", dropVerdicts, seq, memory)
	return nil
}

// Use implements store.MemoryWriter.
func (t *tx) Use(ctx context.Context, tenant string, ids []string, now time.Time) (int, error) {
	found, err := t.lockMemories(ctx, oxbow.Scope{Tenant: tenant}, store.Sorted(ids), lockedBare)
	if err != nil {
		return 0, err
	}
	policies := map[oxbow.Scope]oxbow.Policy{}
	var used []oxbow.Memory
	for _, m := range found {
		m, ok := m.Use(ts(now))
		if !ok || m.Status == oxbow.Erased {
			continue
		}
		p, known := policies[m.Scope]
		if !known {
			settings, err := t.Scope(ctx, m.Scope)
			if err != nil {
				return 0, err
			}
			p = settings.Policy
			policies[m.Scope] = p
		}
		used = append(used, p.Derive(m))
	}
	return len(used), t.writeUse(ctx, used, "count uses")
}

const updateUse = `
	UPDATE memories m SET access_count = u.access_count, last_used_at = u.last_used_at, ref_time = u.ref_time,
		half_life = u.half_life, fades_at = u.fades_at, rank_key = u.rank_key
	FROM unnest($1::text[], $2::int[], $3::timestamptz[], $4::timestamptz[], $5::float8[], $6::timestamptz[], $7::float8[])
		u (id, access_count, last_used_at, ref_time, half_life, fades_at, rank_key)
	WHERE m.id = u.id`

// writeUse writes the counters and the derived columns of locked rows.
func (t *tx) writeUse(ctx context.Context, ms []oxbow.Memory, doing string) error {
	if len(ms) == 0 {
		return nil
	}
	var ids []string
	var counts []int
	var lastUsed, refs, fades []*time.Time
	var halfLives, rankKeys []float64
	for _, m := range ms {
		ids, counts, lastUsed = append(ids, m.ID), append(counts, m.AccessCount), append(lastUsed, orNull(m.LastUsedAt))
		ref := ts(m.RefTime())
		refs, fades = append(refs, &ref), append(fades, orNull(m.FadesAt))
		halfLives, rankKeys = append(halfLives, m.HalfLife), append(rankKeys, m.RankKey)
	}
	t.write(doing, updateUse, ids, counts, lastUsed, refs, halfLives, fades, rankKeys)
	return nil
}

// Rederive implements store.PassWriter.
func (t *tx) Rederive(ctx context.Context, s oxbow.Scope, p oxbow.Policy, ids []string) error {
	found, err := t.lockMemories(ctx, s, store.Sorted(ids), lockedBare)
	if err != nil {
		return err
	}
	for i, m := range found {
		found[i] = p.Derive(m)
	}
	return t.writeUse(ctx, found, "apply the policy")
}

const deleteContents = `DELETE FROM contents WHERE owner = $1 AND scope = $2`

// Erase implements store.MemoryWriter. It changes the scope's counters, so it
// locks the scope first, as Apply does.
func (t *tx) Erase(ctx context.Context, s oxbow.Scope, ids []string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	if _, _, err := t.lockScope(ctx, s); err != nil {
		return err
	}
	found, err := t.lockMemories(ctx, s, store.Sorted(ids), lockedMemories)
	if err != nil {
		return err
	}
	if err := t.dropGraph(ctx, seq, store.IDsOf(found)); err != nil {
		return err
	}
	b := &batch{}
	dropVectors(b, seq, store.IDsOf(found))
	for _, m := range found {
		if m.Content.Text != "" { // else it has left the index before
			dropTerms(b, seq, m)
		}
		b.exec("erase the content", deleteContents, m.ID, seq)
		b.exec("erase kept answers", eraseLLMAnswers, m.ID, s.Tenant)
	}
	t.later(b)
	return nil
}
