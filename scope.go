package oxbow

import (
	"regexp"
	"slices"
	"time"
	_ "time/tzdata" // a scope's days begin and end alike on a machine that knows no zones
)

// Scope names a set of memories that belong together: a tenant and a name
// inside it, such as user:ada or project:apollo. Nothing crosses a scope.
type Scope struct {
	Tenant string `json:"tenant"`
	Name   string `json:"name"`
}

// String gives tenant/name.
func (s Scope) String() string { return s.Tenant + "/" + s.Name }

var nameForm = regexp.MustCompile(`^[\p{L}\p{N}][\p{L}\p{N}._:@/+-]{0,127}$`)

// Validate refuses names that are empty, longer than 128 characters, or hold
// anything but letters, digits and . _ : @ / + -.
func (s Scope) Validate() error {
	if !nameForm.MatchString(s.Tenant) {
		return Errorf(CodeInvalid, "the tenant %q is not a name: use up to 128 letters, digits and . _ : @ / + -", s.Tenant)
	}
	if !nameForm.MatchString(s.Name) {
		return Errorf(CodeInvalid, "the scope %q is not a name: use up to 128 letters, digits and . _ : @ / + -", s.Name)
	}
	return nil
}

// ScopeSettings are what an operator sets of a scope. They are versioned:
// every change makes a new version and a run that applies it.
type ScopeSettings struct {
	Scope
	Zone      string    `json:"zone"` // an IANA time zone; dates and schedules are read in it
	Policy    Policy    `json:"policy"`
	Version   int       `json:"version"`  // 1 for the defaults
	Memories  int       `json:"memories"` // how many it holds in any status but erased; the store counts
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// Location gives the time zone, UTC when the name does not load.
func (s ScopeSettings) Location() *time.Location {
	loc, err := time.LoadLocation(s.Zone)
	if err != nil {
		return time.UTC
	}
	return loc
}

// StrengthRule names a formula for strength.
type StrengthRule string

// The strength rules of DESIGN 4.
const (
	Stable  StrengthRule = "stable"
	Classic StrengthRule = "classic"
)

// Policy holds the rules of time of a scope.
type Policy struct {
	// Strength is the formula, classic or stable. Defaults to stable.
	Strength StrengthRule `json:"strength"`
	// HalfLifeDays is the half-life of a kind in days. Defaults to 15 for
	// episodic and observation, 60 for fact, preference and procedural, else 30.
	HalfLifeDays map[Kind]float64 `json:"half_life_days"`
	// ArchiveBelow is the strength under which a memory is archived. Defaults to 0.1.
	ArchiveBelow float64 `json:"archive_below"`
	// ListAbove is the strength above which a memory is listed. Defaults to 0.15.
	ListAbove float64 `json:"list_above"`
	// SlotCap is how many active memories a slot holds before prune archives
	// some; free memories count as one slot. Defaults to 500.
	SlotCap int `json:"slot_cap"`
	// PruneMinAgeDays protects newborns from prune, in days. Defaults to 14.
	PruneMinAgeDays float64 `json:"prune_min_age_days"`
	// PruneMinAccess protects what was used at least so often. Defaults to 3.
	PruneMinAccess int `json:"prune_min_access"`
	// MaxShare is the share of a scope that passes may change in 24 hours
	// before they stop (at least 20 memories). Defaults to 0.05.
	MaxShare float64 `json:"max_share"`
	// MaxRetired is how many memories one write may retire before it stops
	// and asks an operator. Defaults to 20.
	MaxRetired int `json:"max_retired"`
	// ClusterMin is how many candidates a scope needs before cluster looks
	// for groups. Defaults to 5.
	ClusterMin int `json:"cluster_min"`
	// ReviewAfterDays is when an event-bound memory is looked at again.
	// Defaults to 30.
	ReviewAfterDays float64 `json:"review_after_days"`
	// Observe says when a conversation is condensed. Defaults to DefaultObserveRules.
	Observe ObserveRules `json:"observe,omitzero"`
	// Reflect says when its observations are. Defaults to DefaultReflectRules.
	Reflect ReflectRules `json:"reflect,omitzero"`
	// Recall holds what of recall is set by scope. Defaults to DefaultRecallRules.
	Recall RecallRules `json:"recall,omitzero"`
}

// ObserveRules say when the new turns of a conversation become observations:
// whichever is reached first.
type ObserveRules struct {
	// Turns is how many new turns are enough. Defaults to 12.
	Turns int `json:"turns"`
	// Tokens is how many tokens of new turns are enough. Defaults to 2000.
	Tokens int `json:"tokens"`
}

// ReflectRules say when the observations of a conversation are condensed.
type ReflectRules struct {
	// Tokens is how many tokens the active observations of a conversation take
	// together before the older ones are condensed. Defaults to 1200.
	Tokens int `json:"tokens"`
	// Keep is the share of those tokens that the most recent observations keep
	// as they are. Defaults to 0.4.
	Keep float64 `json:"keep"`
}

// DefaultObserveRules gives the rules of a scope that nobody has set.
func DefaultObserveRules() ObserveRules { return ObserveRules{Turns: 12, Tokens: 2000} }

// DefaultReflectRules gives the rules of a scope that nobody has set.
func DefaultReflectRules() ReflectRules { return ReflectRules{Tokens: 1200, Keep: 0.4} }

// OrDefault gives the rules, or the default for those of a policy that was stored
// before there were any.
func (r ObserveRules) OrDefault() ObserveRules {
	if r == (ObserveRules{}) {
		return DefaultObserveRules()
	}
	return r
}

// Due tells whether so many new turns with so many tokens are enough.
func (r ObserveRules) Due(turns, tokens int) bool {
	r = r.OrDefault()
	return turns > 0 && (turns >= r.Turns || tokens >= r.Tokens)
}

// OrDefault is that of ObserveRules.
func (r ReflectRules) OrDefault() ReflectRules {
	if r == (ReflectRules{}) {
		return DefaultReflectRules()
	}
	return r
}

func (p Policy) validateNotes() error {
	o, r := p.Observe.OrDefault(), p.Reflect.OrDefault()
	switch {
	case o.Turns < 1 || o.Turns > 100 || o.Tokens < 1 || o.Tokens > 1_000_000:
		return Errorf(CodeInvalid, "observe.turns must be from 1 to 100 and observe.tokens from 1 to 1000000")
	case r.Tokens < 100 || r.Tokens > 1_000_000 || !(r.Keep >= 0 && r.Keep <= 0.9):
		return Errorf(CodeInvalid, "reflect.tokens must be from 100 to 1000000 and reflect.keep from 0 to 0.9")
	}
	return nil
}

// UseRule names what counts as use when memories are recalled.
type UseRule string

// The rules of use.
const (
	// UseAsked counts what somebody asked for; being shown is not use (DESIGN 4).
	UseAsked UseRule = "asked"
	// UseClassic counts every hit, as the published design of slots does. It keeps
	// what is shown often from ever fading.
	UseClassic UseRule = "classic"
)

// RecallRules are the weights of the recall strategy composite, and what counts
// as use. The weights are divided by their sum.
type RecallRules struct {
	// Similarity is the weight of how well a memory fits. Defaults to 0.6.
	Similarity float64 `json:"similarity"`
	// Recency is the weight of how lately it was said or used. Defaults to 0.25.
	Recency float64 `json:"recency"`
	// Salience is the weight of its importance. Defaults to 0.15.
	Salience float64 `json:"salience"`
	// RecencyHalfLifeDays is after how many days recency is half. Defaults to 7.
	RecencyHalfLifeDays float64 `json:"recency_half_life_days"`
	// Use says what counts as use, asked or classic. Defaults to asked.
	Use UseRule `json:"use"`
}

// DefaultRecallRules gives the published weights.
func DefaultRecallRules() RecallRules {
	return RecallRules{Similarity: 0.6, Recency: 0.25, Salience: 0.15, RecencyHalfLifeDays: 7, Use: UseAsked}
}

// OrDefault gives the rules, or the default for those of a policy that was stored
// before there were any.
func (r RecallRules) OrDefault() RecallRules {
	if r == (RecallRules{}) {
		return DefaultRecallRules()
	}
	return r
}

func (r RecallRules) validate() error {
	r = r.OrDefault()
	sum := r.Similarity + r.Recency + r.Salience
	switch {
	case !(r.Similarity >= 0 && r.Recency >= 0 && r.Salience >= 0 && sum > 0 && sum <= 1000):
		return Errorf(CodeInvalid, "recall.similarity, recall.recency and recall.salience must be at least 0, and one of them over 0")
	case !(r.RecencyHalfLifeDays > 0 && r.RecencyHalfLifeDays <= 36500):
		return Errorf(CodeInvalid, "recall.recency_half_life_days is %v: use a number over 0 and up to 36500", r.RecencyHalfLifeDays)
	case r.Use != UseAsked && r.Use != UseClassic:
		return Errorf(CodeInvalid, "recall.use is %q: use asked or classic", r.Use)
	}
	return nil
}

// DefaultPolicy gives the policy of a scope that nobody has set.
func DefaultPolicy() Policy {
	return Policy{
		Strength: Stable,
		HalfLifeDays: map[Kind]float64{
			Fact: 60, Semantic: 30, Episodic: 15, Procedural: 60,
			Preference: 60, Observation: 15, Reflection: 30,
		},
		ArchiveBelow: 0.1, ListAbove: 0.15,
		SlotCap: 500, PruneMinAgeDays: 14, PruneMinAccess: 3,
		MaxShare: 0.05, MaxRetired: 20, ClusterMin: 5, ReviewAfterDays: 30,
		Observe: DefaultObserveRules(), Reflect: DefaultReflectRules(),
		Recall: DefaultRecallRules(),
	}
}

// Validate refuses values that no rule can work with. Its conditions say what
// must hold, because a NaN passes every comparison that says what must not.
func (p Policy) Validate() error {
	switch {
	case p.Strength != Stable && p.Strength != Classic:
		return Errorf(CodeInvalid, "the strength rule %q is unknown: use stable or classic", p.Strength)
	case !(p.ArchiveBelow > 0 && p.ArchiveBelow < 1):
		return Errorf(CodeInvalid, "archive_below is %v: use a number between 0 and 1", p.ArchiveBelow)
	case !(p.ListAbove >= p.ArchiveBelow && p.ListAbove < 1):
		return Errorf(CodeInvalid, "list_above is %v: use a number from archive_below (%v) to 1", p.ListAbove, p.ArchiveBelow)
	case p.SlotCap < 1 || !(p.PruneMinAgeDays >= 0) || p.PruneMinAccess < 0:
		return Errorf(CodeInvalid, "slot_cap must be at least 1, prune_min_age_days and prune_min_access at least 0")
	case !(p.MaxShare > 0 && p.MaxShare <= 1):
		return Errorf(CodeInvalid, "max_share is %v: use a number over 0 and up to 1", p.MaxShare)
	case p.MaxRetired < 1 || p.ClusterMin < 2 || !(p.ReviewAfterDays > 0):
		return Errorf(CodeInvalid, "max_retired must be at least 1, cluster_min at least 2, review_after_days over 0")
	}
	if err := p.validateNotes(); err != nil {
		return err
	}
	if err := p.Recall.validate(); err != nil {
		return err
	}
	for k, d := range p.HalfLifeDays {
		if !slices.Contains(Kinds, k) {
			return Errorf(CodeInvalid, "there is no kind %q to give a half-life to: use one of %v", k, Kinds)
		}
		if !(d > 0 && d <= 36500) {
			return Errorf(CodeInvalid, "the half-life of %s is %v days: use a number over 0 and up to 36500", k, d)
		}
	}
	return nil
}
