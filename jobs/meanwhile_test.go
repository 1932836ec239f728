package jobs_test

import (
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

// TestMeanwhile changes things while a contradiction job has read its candidates
// and not written yet.
func TestMeanwhile(t *testing.T) {
	tell(t,
		story{"keeps what another job found about a memory that was not there yet", heardMeanwhile},
		story{"forgets what it judged by words that were edited", editedMeanwhile},
	)
}

// beforeNextTx does something once, before the next transaction of a job.
func beforeNextTx(b *lab.Bench, do func()) {
	b.BeforeTx = func() {
		b.BeforeTx = nil
		do()
	}
}

// workOn works the waiting jobs of one memory.
func workOn(b *lab.Bench, id string) {
	b.Helper()
	for _, j := range b.Waiting() {
		if strings.Contains(string(j.Args), id) {
			b.Must(b.Do(b.Ctx, b.Deps(), lab.Row(j, 1)))
		}
	}
}

func heardMeanwhile(b *lab.Bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	var newer oxbow.Memory
	beforeNextTx(b, func() {
		newer = b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
		workOn(b, newer.ID)
		equal(b, "the older one, before its own job ends", b.Get(old.ID).Status, oxbow.Superseded)
	})
	b.Drain()
	equal(b, "the older one", b.Get(old.ID).Status, oxbow.Superseded)
	equal(b, "what replaced it", b.Get(old.ID).ReplacedBy, newer.ID)
	b.Clean()
}

func editedMeanwhile(b *lab.Bench) {
	newer := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	beforeNextTx(b, func() {
		text := "coffee: black"
		_, err := b.Engine.Edit(b.Ctx, b.Scope.Tenant, newer.ID, lab.Edit{Text: &text})
		b.Must(err)
		workOn(b, newer.ID)
	})
	b.Drain()
	equal(b, "the one that was judged by the old words", b.Get(old.ID).Status, oxbow.Active)
	equal(b, "the edited one", b.Get(newer.ID).Status, oxbow.Active)
	b.Clean()
}
