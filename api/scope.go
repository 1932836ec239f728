package api

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/store"
)

type scopesInput struct {
	Named
	Part string `query:"name" maxLength:"256" doc:"only those whose names hold it, in letters of either case"`
}

type scopeInput struct {
	Scope string `path:"scope" maxLength:"256"`
}

type setScopeInput struct {
	Scope string `path:"scope" maxLength:"256"`
	Body  struct {
		Zone      string            `json:"zone,omitempty" doc:"an IANA time zone, such as Europe/Stockholm"`
		Policy    map[string]any    `json:"policy,omitempty" doc:"fields of the policy to set; GET shows them all"`
		Schedules map[string]string `json:"schedules,omitempty" doc:"cron lines by job"`
	}
}

// setScope is a scope as it was set, and the run that applies a new policy.
type setScope struct {
	oxbow.ScopeSettings
	Run string `json:"run,omitempty"`
}

func (a *API) scopes() {
	route(a, op{"GET", "/v1/scopes", "list-scopes", "scopes", "The tenant's scopes by name", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *scopesInput) (list[oxbow.ScopeSettings], error) {
			ss, err := c.e.ScopesNamed(ctx, c.Tenant, in.Part)
			if err != nil {
				return list[oxbow.ScopeSettings]{}, err
			}
			return pageOf(ss, in.Named, func(s oxbow.ScopeSettings) string { return s.Scope.Name })
		})
	route(a, op{"GET", "/v1/scopes/{scope}", "get-scope", "scopes", "One scope's zone and policy", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *scopeInput) (oxbow.ScopeSettings, error) {
			return c.e.Store().Scope(ctx, c.scope(in.Scope))
		})
	route(a, op{"PATCH", "/v1/scopes/{scope}", "set-scope", "scopes", "Set a scope's zone, policy or schedules", oxbow.MayAdmin, 0}, patchScope)
}

func patchScope(ctx context.Context, c call, in *setScopeInput) (setScope, error) {
	var patches [][]byte
	if len(in.Body.Policy) > 0 {
		patch, err := json.Marshal(in.Body.Policy)
		if err != nil {
			return setScope{}, oxbow.WrapError(oxbow.CodeInvalid, err, "the policy does not parse")
		}
		patches = append(patches, patch)
	}
	settings, run, err := c.e.PatchScope(ctx, c.scope(in.Scope), in.Body.Zone, patches, in.Body.Schedules)
	return setScope{settings, run}, err
}

type schedulesInput struct {
	Named
	Scope string `query:"scope"`
}

type scheduleInput struct {
	Scope string `path:"scope" maxLength:"256"`
	Name  string `path:"name" maxLength:"64"`
}

func (a *API) schedules() {
	route(a, op{"GET", "/v1/schedules", "list-schedules", "schedules", "When passes run", oxbow.MayRead, 0},
		func(ctx context.Context, c call, in *schedulesInput) (list[store.Schedule], error) {
			ss, err := c.e.Store().ListSchedules(ctx, c.scope(in.Scope))
			if err != nil {
				return list[store.Schedule]{}, err
			}
			return pageOf(ss, in.Named, func(s store.Schedule) string { return s.Scope.Name + "/" + s.Name })
		})
	a.scheduleVerb("pause", "Leave a schedule's slots out", true)
	a.scheduleVerb("resume", "Go on with a schedule's next slot", false)
}

func (a *API) scheduleVerb(verb, short string, pause bool) {
	route(a, op{"POST", "/v1/scopes/{scope}/schedules/{name}/" + verb, verb + "-schedule", "schedules", short, oxbow.MayMaintain, 0},
		func(ctx context.Context, c call, in *scheduleInput) (paused, error) {
			return paused{in.Name, pause}, c.e.SetSchedulePaused(ctx, c.scope(in.Scope), in.Name, pause)
		})
}

type keysInput struct{ Named }

type keyInput struct {
	ID string `path:"id" maxLength:"128" doc:"the id or name of a key"`
}

type createKeyInput struct {
	Once
	Body struct {
		Name        string             `json:"name" doc:"who holds it; stands in the audit log" example:"my-agent"`
		Permissions []oxbow.Permission `json:"permissions" minItems:"1" maxItems:"5" doc:"read, write, maintain, admin, operate" example:"[\"read\",\"write\"]"`
		ExpiresAt   time.Time          `json:"expires_at,omitzero"`
	}
}

func (a *API) keys() {
	route(a, op{"GET", "/v1/keys", "list-keys", "keys", "The tenant's keys, without their secrets", oxbow.MayAdmin, 0},
		func(ctx context.Context, c call, in *keysInput) (list[oxbow.Key], error) {
			ks, err := c.e.Keys(ctx, c.Tenant)
			if err != nil {
				return list[oxbow.Key]{}, err
			}
			return pageOf(ks, in.Named, func(k oxbow.Key) string { return k.ID })
		})
	route(a, op{"POST", "/v1/keys", "create-key", "keys", "Make a key of the tenant; its secret is shown this once", oxbow.MayAdmin, 201}, createKey)
	route(a, op{"DELETE", "/v1/keys/{id}", "revoke-key", "keys", "End a key", oxbow.MayAdmin, 0},
		func(ctx context.Context, c call, in *keyInput) (oxbow.Key, error) {
			return c.e.RevokeKey(ctx, c.Tenant, in.ID)
		})
}

// createKey gives no more than the caller has: nobody makes a key that may do
// what its maker may not.
func createKey(ctx context.Context, c call, in *createKeyInput) (engine.NewKey, error) {
	for _, p := range in.Body.Permissions {
		if slices.Contains(oxbow.Permissions, p) {
			if err := c.May(p); err != nil {
				return engine.NewKey{}, err
			}
		}
	}
	return c.e.CreateKey(ctx, oxbow.Key{Tenant: c.Tenant, Name: in.Body.Name, Permissions: in.Body.Permissions, ExpiresAt: in.Body.ExpiresAt})
}
