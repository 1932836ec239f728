package engine_test

import (
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

func TestDecide(t *testing.T) {
	tell(t,
		story{"keeps the newer one", func(b *bench) { decides(b, true) }},
		story{"keeps the older one", func(b *bench) { decides(b, false) }},
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
	b.Must(b.Engine.Decide(b.Ctx, b.tenant(), keep.ID, drop.ID))
	equal(b, "what was kept", b.Get(keep.ID).Status, oxbow.Active)
	equal(b, "what was set aside", b.Get(drop.ID).Status, oxbow.Superseded)
	b.drain()
	equal(b, "what was kept, after the judge", b.Get(keep.ID).Status, oxbow.Active)
	equal(b, "what was set aside, after the judge", b.Get(drop.ID).Status, oxbow.Superseded)
	conflicts, err := b.DB.Conflicts(b.Ctx, b.tenant(), 10)
	b.Must(err)
	equal(b, "conflicts that are left", len(conflicts), 0)
	findings, err := b.Engine.Doctor(b.Ctx, true, nil)
	b.Must(err)
	for _, f := range findings {
		b.Errorf("doctor: %+v", f)
	}
}

func decideRefused(b *bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0)})
	p := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(1), Pinned: true})
	code(b, "what is pinned", b.Engine.Decide(b.Ctx, b.tenant(), a.ID, p.ID), oxbow.CodeConflict)
	code(b, "with itself", b.Engine.Decide(b.Ctx, b.tenant(), a.ID, a.ID), oxbow.CodeInvalid)
	code(b, "with nothing", b.Engine.Decide(b.Ctx, b.tenant(), a.ID, "0000000000000000"), oxbow.CodeNotFound)
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), a.ID)
	b.Must(err)
	code(b, "what is gone", b.Engine.Decide(b.Ctx, b.tenant(), p.ID, a.ID), oxbow.CodeConflict)
	all, err := b.DB.ListRuns(b.Ctx, store.RunFilter{Tenant: b.tenant(), Name: "decide", Limit: 10})
	b.Must(err)
	equal(b, "runs of what was refused", len(all), 0)
}
