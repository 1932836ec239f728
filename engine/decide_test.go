package engine_test

import (
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

func TestDecide(t *testing.T) {
	tell(t,
		story{"keeps the newer one", func(b *bench) { decides(b, true) }},
		story{"keeps the older one", func(b *bench) { decides(b, false) }},
		story{"keeps both", decidesBoth},
		story{"is told as decided", decisionTold},
		story{"is refused for what is pinned, gone or elsewhere", decideRefused},
	)
}

func decides(b *bench, newer bool) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0)})
	young := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(1)})
	keep, drop := old, young
	if newer {
		keep, drop = young, old
	}
	b.rule(keep.ID, engine.Ruling{Over: drop.ID})
	equal(b, "what was kept", b.Get(keep.ID).Status, oxbow.Active)
	equal(b, "what was set aside", b.Get(drop.ID).Status, oxbow.Superseded)
	b.drain()
	equal(b, "what was kept, after the judge", b.Get(keep.ID).Status, oxbow.Active)
	equal(b, "what was set aside, after the judge", b.Get(drop.ID).Status, oxbow.Superseded)
	equal(b, "conflicts that are left", len(b.conflicts()), 0)
	b.sound()
}

// decidesBoth has a conflict that a judge found, and one that it would find again.
func decidesBoth(b *bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0), Pinned: true})
	b.drain()
	young := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(1)})
	b.drain()
	found := b.conflicts()
	equal(b, "conflicts", len(found), 1)
	equal(b, "the older one", found[0].Older.ID, old.ID)
	equal(b, "the newer one", found[0].Newer.ID, young.ID)
	b.rule(young.ID, engine.Ruling{Beside: old.ID})
	equal(b, "conflicts that are left", len(b.conflicts()), 0)
	equal(b, "the older one", b.Get(old.ID).Status, oxbow.Active)
	equal(b, "the newer one", b.Get(young.ID).Status, oxbow.Active)
	why, err := b.Engine.Why(b.Ctx, b.tenant(), old.ID)
	b.Must(err)
	if told := why.Lines[len(why.Lines)-1].Text; !strings.Contains(told, "It no longer conflicts with "+engine.Short(young.ID)) || !strings.Contains(told, "an operator says that both hold") {
		b.Errorf("the story says %s", told)
	}
	code(b, "what is decided", b.Decide(young.ID, engine.Ruling{Beside: old.ID}), oxbow.CodeConflict)

	// No judge sets them against each other again.
	_, err = b.Engine.RunJob(b.Ctx, engine.Order{Name: "contradiction", Tenant: b.tenant(), Memory: young.ID})
	b.Must(err)
	b.drain()
	equal(b, "conflicts after the judge", len(b.conflicts()), 0)
	equal(b, "the newer one, after the judge", b.Get(young.ID).Status, oxbow.Active)

	// The operator may think again.
	_, err = b.Engine.Unpin(b.Ctx, b.tenant(), old.ID)
	b.Must(err)
	b.rule(young.ID, engine.Ruling{Over: old.ID})
	equal(b, "what was set aside", b.Get(old.ID).Status, oxbow.Superseded)
	b.sound()
}

// decisionTold has a story say that nobody decided for as long as nobody did.
func decisionTold(b *bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0), Pinned: true})
	b.drain()
	young := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(1)})
	b.drain()
	undecided := func(want bool) {
		b.Helper()
		why, err := b.Engine.Why(b.Ctx, b.tenant(), young.ID)
		b.Must(err)
		told := strings.Join(why.Now, " ")
		equal(b, "the newer one conflicts in "+told, strings.Contains(told, "It conflicts with "+engine.Short(old.ID)), true)
		equal(b, "nobody has decided in "+told, strings.Contains(told, "nobody has decided"), want)
	}
	undecided(true)
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), young.ID)
	b.Must(err)
	undecided(false)
	_, err = b.Engine.Restore(b.Ctx, b.tenant(), young.ID, engine.Restoration{})
	b.Must(err)
	undecided(true)
	b.rule(old.ID, engine.Ruling{Over: young.ID})
	undecided(false)
}

func (b *bench) Decide(id string, r engine.Ruling) error {
	_, err := b.Engine.Decide(b.Ctx, b.tenant(), id, r)
	return err
}

func (b *bench) rule(id string, r engine.Ruling) {
	b.Helper()
	b.Must(b.Decide(id, r))
}

func (b *bench) conflicts() []engine.Conflict {
	b.Helper()
	found, err := b.Engine.Conflicts(b.Ctx, store.ConflictFilter{Tenant: b.tenant(), Limit: 10})
	b.Must(err)
	return found
}

// sound asks the doctor.
func (b *bench) sound() {
	b.Helper()
	findings, err := b.Engine.Doctor(b.Ctx, true, nil)
	b.Must(err)
	for _, f := range findings {
		b.Errorf("doctor: %+v", f)
	}
}

func decideRefused(b *bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0)})
	p := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(1), Pinned: true})
	code(b, "what is pinned", b.Decide(a.ID, engine.Ruling{Over: p.ID}), oxbow.CodeConflict)
	code(b, "with itself", b.Decide(a.ID, engine.Ruling{Over: a.ID}), oxbow.CodeInvalid)
	code(b, "with nothing", b.Decide(a.ID, engine.Ruling{Over: "0000000000000000"}), oxbow.CodeNotFound)
	code(b, "over none", b.Decide(a.ID, engine.Ruling{}), oxbow.CodeInvalid)
	code(b, "over one and beside one", b.Decide(a.ID, engine.Ruling{Over: p.ID, Beside: p.ID}), oxbow.CodeInvalid)
	code(b, "both of what does not conflict", b.Decide(a.ID, engine.Ruling{Beside: p.ID}), oxbow.CodeConflict)
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), a.ID)
	b.Must(err)
	code(b, "what is gone", b.Decide(p.ID, engine.Ruling{Over: a.ID}), oxbow.CodeConflict)
	all, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.tenant(), Name: "decide", Limit: 10})
	b.Must(err)
	equal(b, "runs of what was refused", len(all), 0)
}

// TestCarryDecisions decides a conflict here, and asks there, where the conflict may
// have come before the decision.
func TestCarryDecisions(t *testing.T) {
	t.Parallel()
	for name, rule := range map[string]func(old, young string) (string, engine.Ruling){
		"both hold":      func(old, young string) (string, engine.Ruling) { return young, engine.Ruling{Beside: old} },
		"the older does": func(old, young string) (string, engine.Ruling) { return old, engine.Ruling{Over: young} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			from := carrying(t, lab.OpenSQLite(t))
			old := from.tells("We use PostgreSQL for the main database", true)
			young := from.tells("We moved the main database from PostgreSQL to MySQL", false)
			undecided := from.export(false)
			id, r := rule(old, young)
			_, err := from.engine.Decide(t.Context(), from.tenant, id, r)
			from.must(err)
			from.now = from.now.Add(lab.Day)
			decided := from.export(false)
			for _, to := range []*carrier{carrying(t, lab.OpenSQLite(t)), carrying(t, lab.OpenPostgres(t))} {
				to.now = from.now
				for i, step := range []struct {
					file []byte
					want int
				}{{undecided, 1}, {decided, 0}, {decided, 0}, {undecided, 0}} {
					to.imports(step.file)
					before := to.states()
					_, err := to.engine.RunJob(t.Context(), engine.Order{Name: "contradiction", Tenant: to.tenant, Memory: young})
					to.must(err)
					to.drain()
					found, err := to.engine.Conflicts(t.Context(), store.ConflictFilter{Tenant: to.tenant, Limit: 10})
					to.must(err)
					if len(found) != step.want || to.states() != before {
						t.Errorf("after import %d a judge leaves %d conflicts: %s became %s", i, len(found), before, to.states())
					}
					to.clean()
				}
			}
		})
	}
}

// tells remembers something, has it judged, and lets a day go by.
func (c *carrier) tells(words string, pinned bool) string {
	c.Helper()
	w, err := c.engine.Remember(c.Context(), engine.Statement{Scope: oxbow.Scope{Tenant: c.tenant, Name: "project:apollo"}, Text: words, Pinned: pinned})
	c.must(err)
	c.drain()
	c.now = c.now.Add(lab.Day)
	return w.Memory.ID
}
