package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/access"
)

// ID is the part of an input that names a memory.
type ID struct {
	ID string `path:"id" maxLength:"64" doc:"an id, or the unique beginning of one"`
}

// Page is the part of an input that bounds a list.
type Page struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
	Cursor string `query:"cursor" maxLength:"64" doc:"next_cursor of the page before"`
}

// list is a page of things.
type list[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"next_cursor,omitempty" doc:"there is more: send it as cursor"`
}

// Named is Page for what is listed by name.
type Named struct {
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"50"`
	Cursor string `query:"cursor" maxLength:"300" doc:"next_cursor of the page before"`
}

// pageOf makes a page of all there is, behind the one whose name is the cursor.
func pageOf[T any](all []T, p Named, name func(T) string) (list[T], error) {
	page, next, err := engine.PageOf(all, p.Cursor, p.Limit, name)
	if err != nil {
		return list[T]{}, err
	}
	return list[T]{Items: append([]T{}, page...), NextCursor: next}, nil
}

// listOf makes a page; full says that there may be more behind it.
func listOf[T any](items []T, limit int, cursor func(T) string) list[T] {
	out := list[T]{Items: items}
	if items == nil {
		out.Items = []T{}
	}
	if len(items) == limit {
		out.NextCursor = cursor(items[limit-1])
	}
	return out
}

// written is what a write gives: the memory as it stands, and the run whose jobs
// may still change it.
type written struct {
	Memory   engine.View `json:"memory"`
	Run      string      `json:"run" doc:"the run of its jobs; GET /v1/runs/{id} shows how it goes"`
	Redacted int         `json:"redacted,omitempty" doc:"secret-shaped strings taken out before storing"`
}

func (w written) location() string { return "/v1/memories/" + w.Memory.ID }

// noCursor is the answer to a cursor that no page gave.
func noCursor(cursor string) error {
	return oxbow.Errorf(oxbow.CodeInvalid, "the cursor %q is none: send next_cursor of the page before", cursor)
}

func (c call) written(ctx context.Context, w engine.Written, err error) (written, error) {
	if err != nil {
		return written{}, err
	}
	views, err := c.e.Views(ctx, []oxbow.Memory{w.Memory})
	if err != nil {
		return written{}, err
	}
	return written{Memory: views[0], Run: w.Run, Redacted: w.Redacted}, nil
}

// Statement is a memory as a caller writes it.
type Statement struct {
	Scope      string       `json:"scope" doc:"such as user:ada" example:"user:ada"`
	Text       string       `json:"text" doc:"what is to be remembered, at most 64 KiB" example:"We moved from PostgreSQL to MySQL"`
	Summary    string       `json:"summary,omitempty"`
	Kind       oxbow.Kind   `json:"kind,omitempty" doc:"fact, semantic, episodic, procedural, preference, observation or reflection; semantic when it is empty"`
	Slot       string       `json:"slot,omitempty" doc:"of a fact: user, project or agent"`
	Key        string       `json:"key,omitempty" doc:"of a fact, such as timezone"`
	Importance *float64     `json:"importance,omitempty" minimum:"0" maximum:"10"`
	Tags       []string     `json:"tags,omitempty" maxItems:"64"`
	Source     oxbow.Source `json:"source,omitempty" doc:"who said it: user, assistant, tool, web or import; user when it is empty"`
	SaidAt     time.Time    `json:"said_at,omitzero" doc:"when it was said; now when it is empty"`
	ExpiresAt  time.Time    `json:"expires_at,omitzero" doc:"the instant at which it stops being true"`
	Pinned     bool         `json:"pinned,omitempty"`
}

func (s Statement) statement(scope oxbow.Scope) engine.Statement {
	return engine.Statement{Scope: scope, Text: s.Text, Summary: s.Summary, Kind: s.Kind, Slot: s.Slot, Key: s.Key, Importance: s.Importance,
		Tags: s.Tags, Source: s.Source, SaidAt: s.SaidAt, ExpiresAt: s.ExpiresAt, Pinned: s.Pinned}
}

type rememberInput struct {
	Once
	Body Statement
}

type listInput struct {
	Page
	Scope  string   `query:"scope"`
	Status []string `query:"status" doc:"active when it is empty; several with commas; all for every status"`
	Kind   string   `query:"kind"`
	Slot   string   `query:"slot"`
	Tag    string   `query:"tag"`
}

type memoryInput struct{ ID }

type actInput struct {
	Repeat
	ID
}

type editInput struct {
	Once
	ID
	IfMatch string `header:"If-Match" doc:"the version that you have seen, as ETag gave it; with another one nothing is changed (412)"`
	Body    struct {
		Text        *string    `json:"text,omitempty"`
		Tags        []string   `json:"tags,omitempty" maxItems:"64"`
		Importance  *float64   `json:"importance,omitempty" minimum:"0" maximum:"10"`
		Slot        *string    `json:"slot,omitempty"`
		Key         *string    `json:"key,omitempty"`
		ExpiresAt   *time.Time `json:"expires_at,omitempty"`
		NeverExpire bool       `json:"never_expires,omitempty" doc:"takes the date away"`
	}
}

type restoreInput struct {
	Once
	ID
	Body *struct {
		Replace   bool      `json:"replace,omitempty" doc:"sets aside what holds its place now"`
		ExpiresAt time.Time `json:"expires_at,omitzero" doc:"a new date, which a memory past its date needs"`
	}
}

type usedInput struct {
	Body struct {
		IDs []string `json:"ids" minItems:"1" maxItems:"200" doc:"memories that the agent really used"`
	}
}

type used struct {
	Counted int `json:"counted" doc:"how many uses counted: each memory once a day"`
}

func (a *API) memories() {
	writes(a, op{"POST", "/v1/memories", "remember", "memories", "Remember a statement; its jobs judge it afterwards", oxbow.MayWrite, http.StatusCreated},
		func(ctx context.Context, c call, in *rememberInput) (written, error) {
			w, err := c.e.Remember(ctx, in.Body.statement(c.scope(in.Body.Scope)))
			return c.written(ctx, w, err)
		})
	route(a, op{"GET", "/v1/memories", "list-memories", "memories", "List memories, newest said first", oxbow.MayRead, 0}, listMemories)
	taggedRoute(a, op{"GET", "/v1/memories/{id}", "get-memory", "memories", "One memory with what follows from it now", oxbow.MayRead, 0},
		func(v engine.View) int { return v.Version }, showMemory)
	writes(a, op{"PATCH", "/v1/memories/{id}", "edit-memory", "memories", "Change an active memory; its words are judged anew", oxbow.MayWrite, 0}, editMemory)
	route(a, op{"DELETE", "/v1/memories/{id}", "erase-memory", "memories", "Erase a memory's words for good", oxbow.MayAdmin, 0},
		func(ctx context.Context, c call, in *memoryInput) (engine.Erasure, error) {
			return c.e.EraseMemory(ctx, c.Tenant, in.ID.ID)
		})
	a.act("pin", "Keep a memory from fading and from being replaced", oxbow.MayMaintain, (*engine.Engine).Pin)
	a.act("unpin", "Take a pin away", oxbow.MayMaintain, (*engine.Engine).Unpin)
	a.act("archive", "Put a memory away; it can be restored", oxbow.MayWrite, (*engine.Engine).Archive)
	a.act("release", "Let a quarantined memory be believed", oxbow.MayMaintain, (*engine.Engine).Release)
	writes(a, op{"POST", "/v1/memories/{id}/restore", "restore-memory", "memories", "Make a memory active again", oxbow.MayMaintain, 0}, restoreMemory)
	route(a, op{"GET", "/v1/memories/{id}/history", "memory-history", "memories", "Every change of a memory, oldest first, and why", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *memoryInput) (engine.Story, error) {
			return c.e.Why(ctx, c.Tenant, in.ID.ID)
		})
	route(a, op{"POST", "/v1/used", "used", "memories", "Say which memories the agent really used", oxbow.MayWrite, 0},
		func(ctx context.Context, c call, in *usedInput) (used, error) {
			n, err := c.e.Used(ctx, c.Tenant, in.Body.IDs)
			return used{n}, err
		})
}

// act adds a route that does one thing to one memory.
func (a *API) act(verb, short string, may oxbow.Permission, do func(*engine.Engine, context.Context, string, string) (engine.Written, error)) {
	writes(a, op{"POST", "/v1/memories/{id}/" + verb, verb + "-memory", "memories", short, may, 0},
		func(ctx context.Context, c call, in *actInput) (written, error) {
			w, err := do(c.e, ctx, c.Tenant, in.ID.ID)
			return c.written(ctx, w, err)
		})
}

func listMemories(ctx context.Context, c call, in *listInput) (list[engine.View], error) {
	f, err := engine.Selection{Scope: in.Scope, Status: in.Status, Kind: in.Kind, Slot: in.Slot, Tag: in.Tag}.Filter(c.Tenant)
	if err != nil {
		return list[engine.View]{}, err
	}
	f.Limit = in.Limit
	last, err := engine.Behind(in.Cursor, func(id string) (oxbow.Memory, error) { return c.e.Store().Memory(ctx, c.Tenant, id) })
	if err != nil {
		return list[engine.View]{}, err
	}
	f.AfterID = last.ID
	ms, err := c.e.Store().ListMemories(ctx, f)
	if err != nil {
		return list[engine.View]{}, err
	}
	views, err := c.e.Views(ctx, ms)
	return listOf(views, in.Limit, func(v engine.View) string { return v.ID }), err
}

func editMemory(ctx context.Context, c call, in *editInput) (written, error) {
	b := in.Body
	change := engine.Change{Text: b.Text, Tags: b.Tags, Importance: b.Importance, Slot: b.Slot, Key: b.Key, ExpiresAt: b.ExpiresAt}
	if b.NeverExpire {
		change.ExpiresAt = &time.Time{}
	}
	var err error
	if change.IfVersion, err = versionOf(in.IfMatch); err != nil {
		return written{}, err
	}
	w, err := c.e.Edit(ctx, c.Tenant, in.ID.ID, change)
	if change.IfVersion > 0 && errors.Is(err, oxbow.ErrStale) {
		return written{}, access.Unmatched(err)
	}
	return c.written(ctx, w, err)
}

// versionOf reads If-Match: 0 where any version will do. The sign of a weak tag
// is left out, because proxies that compress put it there and the version is
// still the one that was given.
func versionOf(match string) (int, error) {
	tag := strings.TrimSpace(match)
	if tag == "" || tag == "*" {
		return 0, nil
	}
	v, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(tag, "W/"), `"`))
	if err != nil || v < 1 {
		return 0, oxbow.Errorf(oxbow.CodeInvalid, "If-Match is %q: send what one ETag gave", match)
	}
	return v, nil
}

func restoreMemory(ctx context.Context, c call, in *restoreInput) (written, error) {
	var r engine.Restoration
	if in.Body != nil {
		r = engine.Restoration{Replace: in.Body.Replace, ExpiresAt: in.Body.ExpiresAt}
	}
	w, err := c.e.Restore(ctx, c.Tenant, in.ID.ID, r)
	return c.written(ctx, w, err)
}

func etag(v int) string { return fmt.Sprintf("%q", strconv.Itoa(v)) }
