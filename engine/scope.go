package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// SetScope changes a scope's zone, policy or schedules; empty fields leave what
// is there. The scope is made when it is new. A new policy is applied by a run,
// whose id it gives ("" when the policy did not change, or only its rules of recall
// did): it can be watched, and goes on where it was when it is interrupted. To set
// what is set already changes nothing.
// Errors: invalid for what no rule can work with, and when nothing is to change;
// not_found for a schedule that is none.
func (e *Engine) SetScope(ctx context.Context, s oxbow.Scope, zone string, policy *oxbow.Policy, specs map[string]string) (oxbow.ScopeSettings, string, error) {
	if policy == nil {
		return e.setScope(ctx, s, zone, nil, specs)
	}
	return e.setScope(ctx, s, zone, func(oxbow.Policy) (oxbow.Policy, error) { return *policy, policy.Validate() }, specs)
}

// PatchScope is SetScope for fields of the policy, as PatchPolicy takes them, one
// patch after the other. Of two that come at once neither undoes the other's.
func (e *Engine) PatchScope(ctx context.Context, s oxbow.Scope, zone string, patches [][]byte, specs map[string]string) (oxbow.ScopeSettings, string, error) {
	if len(patches) == 0 {
		return e.setScope(ctx, s, zone, nil, specs)
	}
	return e.setScope(ctx, s, zone, func(p oxbow.Policy) (oxbow.Policy, error) {
		var err error
		for _, patch := range patches {
			if p, err = PatchPolicy(p, patch); err != nil {
				return p, err
			}
		}
		return p, nil
	}, specs)
}

// setScope is SetScope with what makes the new policy of the one that there is.
func (e *Engine) setScope(ctx context.Context, s oxbow.Scope, zone string, change func(oxbow.Policy) (oxbow.Policy, error), specs map[string]string) (oxbow.ScopeSettings, string, error) {
	if err := s.Validate(); err != nil {
		return oxbow.ScopeSettings{}, "", err
	}
	if zone == "" && change == nil && len(specs) == 0 {
		return oxbow.ScopeSettings{}, "", oxbow.Errorf(oxbow.CodeInvalid, "nothing is to change: give a zone, fields of the policy, or schedules")
	}
	if zone != "" {
		if _, err := zoneNamed(zone); err != nil {
			return oxbow.ScopeSettings{}, "", err
		}
	}
	var settings oxbow.ScopeSettings
	run := e.newRun(s, "apply_policy", "operator")
	applies := false
	err := e.st.InTx(ctx, func(ctx context.Context, tx store.Tx) error {
		var err error
		if settings, err = e.openScope(ctx, tx, s); err != nil {
			return err
		}
		moved := zone != "" && zone != settings.Zone
		if moved {
			settings.Zone = zone
		}
		reruled := false
		if change != nil {
			policy, err := change(settings.Policy)
			if err != nil {
				return err
			}
			reruled = !reflect.DeepEqual(settings.Policy, policy)
			applies = reruled && !onlyRecall(settings.Policy, policy)
			settings.Policy = policy
		}
		if !moved && !reruled && len(specs) == 0 {
			return nil
		}
		settings.Version++
		settings.UpdatedAt = e.now()
		if err := tx.PutScope(ctx, settings); err != nil {
			return err
		}
		if err := e.reschedule(ctx, tx, settings, moved, specs); err != nil || !applies {
			return err
		}
		// The run stands before its job begins, so that it can be watched, and
		// so that doctor knows what is still to be recomputed.
		run.Status, run.FinishedAt = oxbow.RunRunning, time.Time{}
		if err := tx.PutRun(ctx, run); err != nil {
			return err
		}
		return tx.Enqueue(ctx, []river.InsertManyParams{insert(jobs.ApplyPolicy{About: about(run), Version: settings.Version})})
	})
	if !applies {
		run.ID = ""
	}
	return settings, run.ID, err
}

// onlyRecall tells whether policies differ in nothing but what recall goes by:
// no memory has to be recomputed for that.
func onlyRecall(a, b oxbow.Policy) bool {
	if a.Recall == b.Recall {
		return false
	}
	a.Recall, b.Recall = oxbow.RecallRules{}, oxbow.RecallRules{}
	return reflect.DeepEqual(a, b)
}

// reschedule moves schedules to a new zone or to new cron lines.
func (e *Engine) reschedule(ctx context.Context, tx store.Tx, s oxbow.ScopeSettings, moved bool, specs map[string]string) error {
	all, err := tx.ListSchedules(ctx, s.Scope)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, d := range all {
		known[d.Name] = true
		spec, set := specs[d.Name]
		if set {
			d.Spec = spec
		}
		if !set && !moved {
			continue
		}
		if d.NextAt, err = schedule.Next(d.Spec, s.Location(), e.now()); err != nil {
			return err
		}
		if err := tx.PutSchedule(ctx, d); err != nil {
			return err
		}
	}
	for name := range specs {
		if !known[name] {
			return oxbow.Errorf(oxbow.CodeNotFound, "the scope %s has no schedule %q; oxbow schedule list shows those there are", s.Name, name)
		}
	}
	return nil
}

// PatchPolicy gives a policy with the fields of a JSON object set, such as
// {"strength": "classic", "half_life_days": {"fact": 90}}. Errors: invalid for
// a field that does not exist or a value that no rule can work with.
func PatchPolicy(p oxbow.Policy, patch []byte) (oxbow.Policy, error) {
	lives := map[oxbow.Kind]float64{}
	for k, d := range p.HalfLifeDays {
		lives[k] = d
	}
	p.HalfLifeDays = lives
	p.Recall = p.Recall.OrDefault()
	if err := strictJSON(patch, &p); err != nil {
		return p, unlikePolicy(err)
	}
	for k := range p.HalfLifeDays {
		if _, ok := oxbow.DefaultPolicy().HalfLifeDays[k]; !ok {
			return p, oxbow.Errorf(oxbow.CodeInvalid, "there is no kind %q: use %s", k, text.OneOf(oxbow.Kinds))
		}
	}
	return p, p.Validate()
}

// unlikePolicy names the field that a patch cannot set.
func unlikePolicy(err error) error {
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return oxbow.Errorf(oxbow.CodeInvalid, "%s cannot have the type %s: see a scope's policy for what it has", t.Field, t.Value)
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return oxbow.Errorf(oxbow.CodeInvalid, "a policy has no field %s: see a scope's policy for those it has", name)
	}
	return oxbow.WrapError(oxbow.CodeInvalid, err, "the policy does not parse: see a scope's policy for its form")
}

// zoneNamed gives a time zone by its IANA name. Go's Local is none: it is another
// one on every machine.
func zoneNamed(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, oxbow.Errorf(oxbow.CodeInvalid, "there is no time zone %q: use a name such as Europe/Stockholm", name)
	}
	return zone, nil
}

// Zone gives a scope's time zone; that of a scope that is not there is UTC.
func (e *Engine) Zone(ctx context.Context, s oxbow.Scope) (*time.Location, error) {
	settings, err := e.st.Scope(ctx, s)
	if oxbow.CodeOf(err) == oxbow.CodeNotFound {
		return time.UTC, nil
	}
	return settings.Location(), err
}

// LargestScopes gives at most n scopes of a tenant, and how many there are: all by
// name when n is enough, else those with the most memories, the largest first.
func (e *Engine) LargestScopes(ctx context.Context, tenant string, n int) (found []oxbow.ScopeSettings, all int, err error) {
	found, err = e.st.ListScopes(ctx, tenant)
	if all = len(found); all > n {
		slices.SortStableFunc(found, func(a, b oxbow.ScopeSettings) int { return cmp.Compare(b.Memories, a.Memories) })
		found = found[:n]
	}
	return found, all, err
}

// ScopesNamed gives a tenant's scopes by name, those alone whose names hold part,
// in letters of either case.
func (e *Engine) ScopesNamed(ctx context.Context, tenant, part string) ([]oxbow.ScopeSettings, error) {
	found, err := e.st.ListScopes(ctx, tenant)
	part = strings.ToLower(part)
	return slices.DeleteFunc(found, func(s oxbow.ScopeSettings) bool { return !strings.Contains(strings.ToLower(s.Name), part) }), err
}
