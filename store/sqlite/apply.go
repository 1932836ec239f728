package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

const insertScope = `
	INSERT INTO scopes (tenant, name, zone, policy, version, memories, terms, created_at, updated_at)
	VALUES (?, ?, 'UTC', ?, 1, 0, 0, ?, ?) ON CONFLICT (tenant, name) DO NOTHING`

// LockScope implements store.MemoryWriter. SQLite has one writer, so there is
// nothing to lock.
func (t *tx) LockScope(ctx context.Context, s oxbow.Scope, now time.Time) (oxbow.ScopeSettings, error) {
	if err := s.Validate(); err != nil {
		return oxbow.ScopeSettings{}, err
	}
	found, err := t.scope(ctx, s)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		_, err = t.q.exec(ctx, insertScope, s.Tenant, s.Name, store.JSON(oxbow.DefaultPolicy()), now.UnixMilli(), now.UnixMilli())
		if err != nil {
			return oxbow.ScopeSettings{}, translate(err, "make the scope")
		}
		found, err = t.scope(ctx, s)
	}
	if err == nil {
		t.hold(s, found)
	}
	return found.settings, err
}

// Apply implements store.MemoryWriter.
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
	for _, write := range []func(context.Context, int64, *store.Plan) error{
		t.writeContents, t.updateRows, t.insertRows, t.writeTerms, t.writeEvents, t.writeLinks,
	} {
		if err := write(ctx, seq, plan); err != nil {
			return store.Applied{}, err
		}
	}
	return plan.Applied, nil
}

const ofScope = ` WHERE s.tenant = ? AND s.name = ? AND m.id IN (SELECT value FROM json_each(?)) ORDER BY m.id`

const (
	lockedMemories = selectByID + ofScope
	lockedBare     = `SELECT` + memoryColumns + `, '{}' FROM memories m CROSS JOIN scopes s ON s.seq = m.scope` + ofScope
)

// lockMemories reads memories to change them, by one of the two queries above:
// with their content or without it.
func (t *tx) lockMemories(ctx context.Context, s oxbow.Scope, ids []string, query string) ([]oxbow.Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	return collect(ctx, t.q, "read memories", scanMemory, query, s.Tenant, s.Name, jsonList(ids))
}

const insertContent = `INSERT INTO contents (id, scope, owner, salt, body) VALUES (?, ?, ?, ?, ?)`

func (t *tx) writeContents(ctx context.Context, scope int64, p *store.Plan) error {
	for _, c := range p.Contents {
		if _, err := t.q.exec(ctx, insertContent, c.ContentID, scope, c.Owner, c.Salt, store.JSON(c.Content)); err != nil {
			return translate(err, "store the content")
		}
	}
	return nil
}

const updateStatus = `UPDATE memories SET status = ?, replaced_by = ?, version = ? WHERE id = ? AND version = ?`

const updateMemory = `
	UPDATE memories SET status = ?, replaced_by = ?, version = ?, kind = ?, slot = ?, key = ?, content_id = ?, digest = ?,
		content_version = ?, importance = ?, rating = ?, rated = ?, confirmations = ?, source = ?, pinned = ?, said_at = ?,
		confirmed_at = ?, touched_at = ?, expires_at = ?, review_at = ?, turn = ?, conversation = ?, quote = ?, derived = ?,
		ref_time = ?, half_life = ?, fades_at = ?, rank_key = ?
	WHERE id = ? AND version = ?`

func (t *tx) updateRows(ctx context.Context, _ int64, p *store.Plan) error {
	for _, u := range p.Updated {
		var res sql.Result
		var err error
		if u.Narrow {
			res, err = t.q.exec(ctx, updateStatus, u.Status, u.ReplacedBy, u.Version, u.ID, u.Was)
		} else {
			args := append([]any{u.Status, u.ReplacedBy, u.Version}, stateArgs(u.Memory)...)
			args = append(args, derivedArgs(u.Memory)...)
			res, err = t.q.exec(ctx, updateMemory, append(args, u.ID, u.Was)...)
		}
		if err != nil {
			return translate(err, "change memory "+u.ID)
		}
		if n, err := res.RowsAffected(); err != nil || n != 1 {
			return oxbow.ErrStale
		}
	}
	return nil
}

// stateArgs are the columns kind to derived, in the order of the table.
func stateArgs(m oxbow.Memory) []any {
	return []any{m.Kind, m.Slot, m.Key, m.ContentID, m.Digest, m.ContentVersion, m.Importance, m.Rating, m.Rated,
		m.Confirmations, m.Source, m.Pinned, m.SaidAt.UnixMilli(), ms(m.ConfirmedAt), ms(m.TouchedAt), ms(m.ExpiresAt),
		ms(m.ReviewAt), m.Turn, m.Conversation, store.JSON(m.Quote), m.Derived}
}

func derivedArgs(m oxbow.Memory) []any {
	return []any{m.RefTime().UnixMilli(), m.HalfLife, ms(m.FadesAt), m.RankKey}
}

const insertMemory = `
	INSERT INTO memories (id, scope, status, replaced_by, kind, slot, key, content_id, digest, content_version, importance,
		rating, rated, confirmations, source, pinned, said_at, confirmed_at, touched_at, expires_at, review_at, turn,
		conversation, quote, derived, created_at, version, access_count, last_used_at, ref_time, half_life, fades_at, rank_key, hints, hint_rules)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (t *tx) insertRows(ctx context.Context, scope int64, p *store.Plan) error {
	for _, m := range p.Created {
		args := append([]any{m.ID, scope, m.Status, m.ReplacedBy}, stateArgs(m)...)
		args = append(args, m.CreatedAt.UnixMilli(), m.Version, m.AccessCount, ms(m.LastUsedAt))
		args = append(append(args, derivedArgs(m)...), jsonList(p.IndexOf(m).Hints), text.HintRules)
		if _, err := t.q.exec(ctx, insertMemory, args...); err != nil {
			return translate(err, "store memory "+m.ID)
		}
	}
	return nil
}

const insertTerms = `
	INSERT INTO memory_terms (scope, term, memory, tf, length)
	SELECT ?, json_extract(e.value, '$[0]'), (SELECT seq FROM memories WHERE id = ?), json_extract(e.value, '$[1]'), ?
	FROM json_each(?) e`

const countTerms = `UPDATE scopes SET memories = memories + ?, terms = terms + ? WHERE seq = ?`

func (t *tx) writeTerms(ctx context.Context, scope int64, p *store.Plan) error {
	for _, m := range p.Reworded {
		if err := t.dropTerms(ctx, scope, m); err != nil {
			return err
		}
	}
	if err := t.forget(ctx, scope, store.IDsOf(p.Reworded)); err != nil {
		return err
	}
	total := 0
	for _, m := range p.Indexed {
		in := p.IndexOf(m)
		if _, err := t.q.exec(ctx, insertTerms, scope, m.ID, in.Length, jsonList(in.Pairs())); err != nil {
			return translate(err, "index memory "+m.ID)
		}
		if m.ContentVersion > 1 { // else it was noted when the row was made
			if _, err := t.q.exec(ctx, noteHints, jsonList(in.Hints), text.HintRules, m.ID); err != nil {
				return translate(err, "index memory "+m.ID)
			}
		}
		total += in.Length
	}
	if len(p.Indexed) == 0 {
		return nil
	}
	_, err := t.q.exec(ctx, countTerms, len(p.Indexed), total, scope)
	return translate(err, "count the terms")
}

const deleteTerms = `
	DELETE FROM memory_terms WHERE scope = ? AND term IN (SELECT value FROM json_each(?))
	AND memory = (SELECT seq FROM memories WHERE id = ?)`

// dropTerms takes a memory's words, as it has them in Content, out of the index.
func (t *tx) dropTerms(ctx context.Context, scope int64, m oxbow.Memory) error {
	if err := t.dropHints(ctx, scope, m.ID); err != nil {
		return err
	}
	terms, length := store.TermsOf(m)
	hashes := make([]int64, len(terms))
	for i, term := range terms {
		hashes[i] = term.Hash
	}
	if _, err := t.q.exec(ctx, deleteTerms, scope, jsonList(hashes), m.ID); err != nil {
		return translate(err, "take memory out of the index")
	}
	_, err := t.q.exec(ctx, countTerms, -1, -length, scope)
	return translate(err, "count the terms")
}

const insertEvent = `
	INSERT INTO memory_events (scope, memory, memory_seq, version, type, before, after, links, unlinks, reason, actor, judge, run, at, recorded_at)
	VALUES (?1, ?2, (SELECT seq FROM memories WHERE id = ?2), ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)`

func (t *tx) writeEvents(ctx context.Context, scope int64, p *store.Plan) error {
	for i, e := range p.Events {
		res, err := t.q.exec(ctx, insertEvent, scope, e.Memory, e.Version, e.Type, store.JSON(e.Before), store.JSON(e.After),
			store.LinksJSON(e.Links), store.LinksJSON(e.Unlinks), e.Reason, e.Actor, e.Judge, e.Run, e.At.UnixMilli(), e.RecordedAt.UnixMilli())
		if err != nil {
			return translate(err, "write the event")
		}
		if p.Events[i].Seq, err = res.LastInsertId(); err != nil {
			return translate(err, "write the event")
		}
	}
	return nil
}

const (
	insertLink = `INSERT INTO links (from_id, to_id, type, scope) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`
	deleteLink = `DELETE FROM links WHERE from_id = ? AND to_id = ? AND type = ?`
)

func (t *tx) writeLinks(ctx context.Context, scope int64, p *store.Plan) error {
	for _, e := range p.Events {
		for _, l := range e.Unlinks {
			if _, err := t.q.exec(ctx, deleteLink, l.From, l.To, l.Type); err != nil {
				return translate(err, "take a link away")
			}
		}
		for _, l := range e.Links {
			if _, err := t.q.exec(ctx, insertLink, l.From, l.To, l.Type, scope); err != nil {
				return translate(err, "link memories")
			}
		}
	}
	return nil
}

const putVerdict = `
	INSERT INTO verdicts (older, newer, scope, relation, judge, run, at) VALUES (?, ?, ?, ?, ?, ?, ?)
	ON CONFLICT (older, newer) DO UPDATE SET relation = excluded.relation, judge = excluded.judge, run = excluded.run, at = excluded.at`

// PutVerdicts implements store.MemoryWriter.
func (t *tx) PutVerdicts(ctx context.Context, s oxbow.Scope, vs []oxbow.Verdict) error {
	seq, err := t.knownScope(ctx, s)
	if err != nil {
		return err
	}
	for _, v := range vs {
		if _, err := t.q.exec(ctx, putVerdict, v.Older, v.Newer, seq, v.Relation, v.Judge, v.Run, v.At.UnixMilli()); err != nil {
			return translate(err, "store a verdict")
		}
	}
	return nil
}

const dropVerdicts = `DELETE FROM verdicts WHERE scope = ? AND (older = ? OR newer = ?)`

// DropVerdicts implements store.MemoryWriter.
func (t *tx) DropVerdicts(ctx context.Context, s oxbow.Scope, memory string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	_, err = t.q.exec(ctx, dropVerdicts, seq, memory, memory)
	return translate(err, "drop verdicts")
}

const updateUse = `
	UPDATE memories SET access_count = ?, last_used_at = ?, ref_time = ?, half_life = ?, fades_at = ?, rank_key = ? WHERE id = ?`

// Use implements store.MemoryWriter.
func (t *tx) Use(ctx context.Context, tenant string, ids []string, now time.Time) (int, error) {
	found, err := t.Memories(ctx, tenant, store.Sorted(ids))
	if err != nil {
		return 0, err
	}
	policies := map[oxbow.Scope]oxbow.Policy{}
	n := 0
	for _, m := range found {
		used, ok := m.Use(now)
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
		used = p.Derive(used)
		args := append([]any{used.AccessCount, ms(used.LastUsedAt)}, derivedArgs(used)...)
		if _, err := t.q.exec(ctx, updateUse, append(args, m.ID)...); err != nil {
			return 0, translate(err, "count a use")
		}
		n++
	}
	return n, nil
}

const rederive = `UPDATE memories SET ref_time = ?, half_life = ?, fades_at = ?, rank_key = ? WHERE id = ?`

// Rederive implements store.PassWriter.
func (t *tx) Rederive(ctx context.Context, s oxbow.Scope, p oxbow.Policy, ids []string) error {
	found, err := t.lockMemories(ctx, s, store.Sorted(ids), lockedBare)
	if err != nil {
		return err
	}
	for _, m := range found {
		if _, err := t.q.exec(ctx, rederive, append(derivedArgs(p.Derive(m)), m.ID)...); err != nil {
			return translate(err, "apply the policy")
		}
	}
	return nil
}

// forget takes away what was made of the words of memories.
func (t *tx) forget(ctx context.Context, scope int64, ids []string) error {
	if err := t.dropVectors(ctx, scope, ids); err != nil {
		return err
	}
	return t.dropGraph(ctx, scope, ids)
}

const deleteContents = `DELETE FROM contents WHERE owner = ? AND scope = ?`

// Erase implements store.MemoryWriter.
func (t *tx) Erase(ctx context.Context, s oxbow.Scope, ids []string) error {
	seq, err := t.scopeSeq(ctx, s)
	if err != nil {
		return err
	}
	found, err := t.lockMemories(ctx, s, store.Sorted(ids), lockedMemories)
	if err != nil {
		return err
	}
	if err := t.forget(ctx, seq, store.IDsOf(found)); err != nil {
		return err
	}
	for _, m := range found {
		if m.Content.Text != "" { // else it has left the index before
			if err := t.dropTerms(ctx, seq, m); err != nil {
				return err
			}
		}
		if _, err := t.q.exec(ctx, deleteContents, m.ID, seq); err != nil {
			return translate(err, "erase the content")
		}
		if _, err := t.q.exec(ctx, eraseLLMAnswers, m.ID, s.Tenant); err != nil {
			return translate(err, "erase kept answers")
		}
	}
	return nil
}
