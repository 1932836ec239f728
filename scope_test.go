package oxbow_test

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

func TestScopeValidate(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"user:ada": true, "project:apollo/moon": true, "агент": true, "a@b.c+d_e-f": true, strings.Repeat("ü", 128): true,
		"": false, " ada": false, "ada ": false, ":ada": false, "ada\n": false, "a\x00b": false, "a'b": false, "a\"b": false,
		"a%b": false, "a\u202eb": false, "a\x1b[31m": false, "a\xffb": false, strings.Repeat("x", 129): false, "a;DROP TABLE": false,
	} {
		err := oxbow.Scope{Tenant: "default", Name: name}.Validate()
		if (err == nil) != want {
			t.Errorf("scope %q: %v", name, err)
		}
		if tenant := (oxbow.Scope{Tenant: name, Name: "agent"}).Validate(); (tenant == nil) != want {
			t.Errorf("tenant %q: %v", name, tenant)
		}
		if err != nil && oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Errorf("scope %q: the code is %s", name, oxbow.CodeOf(err))
		}
	}
}

func TestScopeLocation(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string]string{"Europe/Berlin": "Europe/Berlin", "": "UTC", "Mars/Olympus": "UTC"} {
		if got := (oxbow.ScopeSettings{Zone: zone}).Location(); got.String() != want {
			t.Errorf("%q is %s, want %s", zone, got, want)
		}
	}
}

func TestPolicyValidate(t *testing.T) {
	t.Parallel()

	t.Run("accepts the defaults, and every policy that the rules are tested with", func(t *testing.T) {
		t.Parallel()
		if err := oxbow.DefaultPolicy().Validate(); err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			if err := drawPolicy(t).Validate(); err != nil {
				t.Fatal(err)
			}
		})
	})

	t.Run("gives a half-life to every kind", func(t *testing.T) {
		t.Parallel()
		for _, k := range oxbow.Kinds {
			if oxbow.DefaultPolicy().HalfLifeDays[k] == 0 {
				t.Errorf("%s has none", k)
			}
		}
	})

	t.Run("refuses what no rule can work with", func(t *testing.T) {
		t.Parallel()
		for name, spoil := range map[string]func(*oxbow.Policy){
			"strength":                func(p *oxbow.Policy) { p.Strength = "eternal" },
			"archive_below 0":         func(p *oxbow.Policy) { p.ArchiveBelow = 0 },
			"archive_below 1":         func(p *oxbow.Policy) { p.ArchiveBelow = 1 },
			"archive_below NaN":       func(p *oxbow.Policy) { p.ArchiveBelow = math.NaN() },
			"list_above too low":      func(p *oxbow.Policy) { p.ListAbove = 0.05 },
			"list_above 1":            func(p *oxbow.Policy) { p.ListAbove = 1 },
			"list_above NaN":          func(p *oxbow.Policy) { p.ListAbove = math.NaN() },
			"slot_cap":                func(p *oxbow.Policy) { p.SlotCap = 0 },
			"prune_min_age_days":      func(p *oxbow.Policy) { p.PruneMinAgeDays = -1 },
			"prune_min_access":        func(p *oxbow.Policy) { p.PruneMinAccess = -1 },
			"max_share 0":             func(p *oxbow.Policy) { p.MaxShare = 0 },
			"max_share over 1":        func(p *oxbow.Policy) { p.MaxShare = 1.1 },
			"max_share NaN":           func(p *oxbow.Policy) { p.MaxShare = math.NaN() },
			"max_retired":             func(p *oxbow.Policy) { p.MaxRetired = 0 },
			"cluster_min":             func(p *oxbow.Policy) { p.ClusterMin = 1 },
			"review_after_days":       func(p *oxbow.Policy) { p.ReviewAfterDays = 0 },
			"half-life 0":             func(p *oxbow.Policy) { p.HalfLifeDays[oxbow.Fact] = 0 },
			"half-life of an age":     func(p *oxbow.Policy) { p.HalfLifeDays[oxbow.Fact] = 40_000 },
			"half-life NaN":           func(p *oxbow.Policy) { p.HalfLifeDays[oxbow.Fact] = math.NaN() },
			"half-life of an unknown": func(p *oxbow.Policy) { p.HalfLifeDays["mood"] = 30 },
		} {
			p := oxbow.DefaultPolicy()
			spoil(&p)
			if err := p.Validate(); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestID(t *testing.T) {
	t.Parallel()

	t.Run("is the same for the same parts and differs for others", func(t *testing.T) {
		t.Parallel()
		part := rapid.StringMatching(`[ -~]{0,8}`)
		rapid.Check(t, func(t *rapid.T) {
			a := rapid.SliceOfN(part, 0, 4).Draw(t, "a")
			b := rapid.SliceOfN(part, 0, 4).Draw(t, "b")
			id := oxbow.NewID(a...)
			same := strings.Join(a, "\x00") == strings.Join(b, "\x00") && len(a) == len(b)
			if (id == oxbow.NewID(b...)) != same || len(id) != 16 || !oxbow.IsID(id) || !oxbow.IsID(id[:1]) {
				t.Fatalf("%q and %q: %s", a, b, id)
			}
		})
	})

	t.Run("has a form that other words do not have", func(t *testing.T) {
		t.Parallel()
		for s, want := range map[string]bool{
			"0": true, "9zq": true, strings.Repeat("a", 16): true,
			"": false, strings.Repeat("a", 17): false, "A": false, "i": false, "l": false, "o": false, "u": false, "a-b": false, "é": false, "'": false,
		} {
			if oxbow.IsID(s) != want {
				t.Errorf("%q is an id: %v", s, !want)
			}
		}
	})
}

func TestError(t *testing.T) {
	t.Parallel()
	cause := fs.ErrNotExist
	err := oxbow.WrapError(oxbow.CodeNotFound, cause, "read %s", "notes")
	if !errors.Is(err, cause) || err.Error() != "read notes: file does not exist" {
		t.Errorf("loses its cause: %v", err)
	}
	for want, err := range map[string]error{
		"": nil, oxbow.CodeInternal: cause, oxbow.CodeNotFound: err,
		oxbow.CodeBudget: errors.Join(errors.New("stop"), oxbow.Errorf(oxbow.CodeBudget, "enough")),
	} {
		if got := oxbow.CodeOf(err); got != want {
			t.Errorf("%v has the code %q, want %q", err, got, want)
		}
	}
}

func TestTrust(t *testing.T) {
	t.Parallel()
	for i, a := range oxbow.Sources {
		for _, b := range oxbow.Sources[i:] {
			if a.Trust() < b.Trust() || oxbow.LeastTrusted(a, b).Trust() != b.Trust() || oxbow.LeastTrusted(b, a).Trust() != b.Trust() {
				t.Errorf("%s and %s", a, b)
			}
		}
	}
	if oxbow.Source("rumour").Trust() != 0 || oxbow.FromWeb.Trust() != oxbow.FromImport.Trust() {
		t.Error("an unknown source is trusted, or web and import are not trusted alike")
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	a, b := oxbow.Memory{ID: "a", SaidAt: epoch.Add(time.Hour)}, oxbow.Memory{ID: "b", SaidAt: epoch}
	if v := oxbow.NewVerdict(a, b, oxbow.Replaces); v != oxbow.NewVerdict(b, a, oxbow.Replaces) || v.Older != "b" || v.Newer != "a" {
		t.Errorf("depends on which one came first: %+v", v)
	}
	b.SaidAt = a.SaidAt
	if v := oxbow.NewVerdict(b, a, oxbow.Replaces); v.Older != "a" {
		t.Errorf("of two said at once the greater id is not the newer: %+v", v)
	}
}

func TestRecallRules(t *testing.T) {
	t.Parallel()

	t.Run("are the published ones for a policy that was stored before there were any", func(t *testing.T) {
		t.Parallel()
		var old oxbow.RecallRules
		want := oxbow.RecallRules{Similarity: 0.6, Recency: 0.25, Salience: 0.15, RecencyHalfLifeDays: 7, Use: oxbow.UseAsked}
		if got := old.OrDefault(); got != want || oxbow.DefaultPolicy().Recall != want {
			t.Errorf("got %+v", got)
		}
		p := oxbow.DefaultPolicy()
		p.Recall = old
		if err := p.Validate(); err != nil {
			t.Error(err)
		}
	})

	t.Run("refuse what cannot be weighed by", func(t *testing.T) {
		t.Parallel()
		for name, change := range map[string]func(*oxbow.RecallRules){
			"a negative weight":    func(r *oxbow.RecallRules) { r.Recency = -0.1 },
			"a weight that is NaN": func(r *oxbow.RecallRules) { r.Similarity = math.NaN() },
			"no weight at all":     func(r *oxbow.RecallRules) { r.Similarity, r.Recency, r.Salience = 0, 0, 0 },
			"an endless weight":    func(r *oxbow.RecallRules) { r.Salience = math.Inf(1) },
			"no half-life":         func(r *oxbow.RecallRules) { r.RecencyHalfLifeDays = 0 },
			"another rule of use":  func(r *oxbow.RecallRules) { r.Use = "always" },
		} {
			p := oxbow.DefaultPolicy()
			change(&p.Recall)
			if err := p.Validate(); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
