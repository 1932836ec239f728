package engine_test

import (
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/internal/lab"
)

func TestRestore(t *testing.T) {
	tell(t,
		story{"makes what was superseded conflict with what had replaced it", restoreBeside},
		story{"sets aside what had replaced it when it is asked to", restoreReplacing},
		story{"of a fact needs its address to be free, or replaces who holds it", restoreFact},
		story{"of what ended by itself needs a new date", restoreExpired},
		story{"of a restatement makes it stand by itself", restoreCompressed},
		story{"of a source of a merge leaves the merge alone", restoreMerged},
		story{"is the operator's word, which no judge undoes", restoreStays},
		story{"of what time had put away has it compared with what was said meanwhile", restoreArchived},
		story{"of what was in quarantine has it judged, as a release does", restoreQuarantined},
	)
}

func restoreQuarantined(b *bench) {
	old := b.Remember(lab.Statement{Text: "topicquarantined: y", SaidAt: at(0)})
	m := inStatus(b, oxbow.Quarantined)
	b.drain()
	b.Must(b.restore(m.ID, engine.Restoration{}))
	b.drain()
	equal(b, "the status", b.Get(m.ID).Status, oxbow.Active)
	equal(b, "what it contradicts", b.Get(old.ID).ReplacedBy, m.ID)
	b.Clean()
}

func restoreArchived(b *bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.drain()
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), old.ID)
	b.Must(err)
	newer := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.drain()
	b.Must(b.restore(old.ID, engine.Restoration{}))
	equal(b, "at once", b.Get(old.ID).Status, oxbow.Active)
	b.drain()
	equal(b, "what was said meanwhile", b.Get(newer.ID).Status, oxbow.Active)
	equal(b, "the restored one", b.Get(old.ID).ReplacedBy, newer.ID)
	b.Clean()
}

func (b *bench) restore(id string, r engine.Restoration) error {
	_, err := b.Engine.Restore(b.Ctx, b.tenant(), id, r)
	return err
}

// contradicted writes two statements the newer of which replaced the older.
func contradicted(b *bench) (older, newer oxbow.Memory) {
	b.Helper()
	older = b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	newer = b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.drain()
	equal(b, "the older, at first", b.Get(older.ID).Status, oxbow.Superseded)
	return older, newer
}

func restoreBeside(b *bench) {
	older, newer := contradicted(b)
	b.Must(b.restore(older.ID, engine.Restoration{}))
	equal(b, "the older", b.Get(older.ID).Status, oxbow.Active)
	equal(b, "what replaced it", b.Get(older.ID).ReplacedBy, "")
	equal(b, "the newer", b.Get(newer.ID).Status, oxbow.Active)
	equal(b, "the conflict", linked(b, newer.ID, older.ID, oxbow.ConflictsWith), true)
	equal(b, "the old link", linked(b, newer.ID, older.ID, oxbow.Supersedes), false)
	b.Clean()
}

func restoreReplacing(b *bench) {
	older, newer := contradicted(b)
	b.Must(b.restore(older.ID, engine.Restoration{Replace: true}))
	equal(b, "the older", b.Get(older.ID).Status, oxbow.Active)
	equal(b, "the newer", b.Get(newer.ID).Status, oxbow.Superseded)
	b.Must(b.restore(newer.ID, engine.Restoration{Replace: true}))
	equal(b, "the older, the other way round", b.Get(older.ID).Status, oxbow.Superseded)
	equal(b, "the newer, the other way round", b.Get(newer.ID).Status, oxbow.Active)
	b.Clean()
}

func restoreFact(b *bench) {
	oslo := b.Remember(lab.Statement{Text: "Oslo", Slot: "user", Key: "city", SaidAt: at(1)})
	rome := b.Remember(lab.Statement{Text: "Rome", Slot: "user", Key: "city", SaidAt: at(2)})
	code(b, "an occupied address", b.restore(oslo.ID, engine.Restoration{}), oxbow.CodeConflict)
	b.Must(b.restore(oslo.ID, engine.Restoration{Replace: true}))
	equal(b, "the restored one", b.Get(oslo.ID).Status, oxbow.Active)
	equal(b, "the one that held it", b.Get(rome.ID).Status, oxbow.Superseded)
	lima := b.Remember(lab.Statement{Text: "Lima", Slot: "user", Key: "city", SaidAt: at(3)})
	equal(b, "a later word", b.Get(lima.ID).Status, oxbow.Active)
	equal(b, "the restored one, then", b.Get(oslo.ID).ReplacedBy, lima.ID)
	_, err := b.Engine.Archive(b.Ctx, b.tenant(), lima.ID)
	b.Must(err)
	b.Must(b.restore(rome.ID, engine.Restoration{}))
	equal(b, "into a free address", b.Get(rome.ID).Status, oxbow.Active)
	b.drain()
	b.Clean()
}

func restoreExpired(b *bench) {
	m := b.Remember(lab.Statement{Text: "offer: ends", SaidAt: at(0), ExpiresAt: at(24)})
	b.drain()
	_, err := b.Engine.RunJob(b.Ctx, engine.Order{Name: "expire", Tenant: b.tenant()})
	b.Must(err)
	b.drain()
	equal(b, "the status", b.Get(m.ID).Status, oxbow.Expired)
	code(b, "without a date", b.restore(m.ID, engine.Restoration{}), oxbow.CodeConflict)
	code(b, "with a date gone by", b.restore(m.ID, engine.Restoration{ExpiresAt: at(48)}), oxbow.CodeInvalid)
	b.Must(b.restore(m.ID, engine.Restoration{ExpiresAt: lab.Start.Add(day)}))
	equal(b, "the new date", b.Get(m.ID).ExpiresAt, lab.Start.Add(day))
	equal(b, "live", b.Get(m.ID).Live(lab.Start), true)
	b.Clean()
}

func restoreCompressed(b *bench) {
	one := b.Remember(lab.Statement{Text: "I drink green tea", SaidAt: at(1)})
	two := b.Remember(lab.Statement{Text: "i drink green tea.", SaidAt: at(30)})
	b.drain()
	equal(b, "at first", b.Get(two.ID).Status, oxbow.Compressed)
	b.Must(b.restore(two.ID, engine.Restoration{}))
	equal(b, "the restatement", b.Get(two.ID).Status, oxbow.Active)
	equal(b, "the first one", b.Get(one.ID).Status, oxbow.Active)
	equal(b, "its confirmations", b.Get(one.ID).Confirmations, 1)
	b.Clean()
}

// merged makes five notes, three of which become one.
func merged(b *bench) (sources []oxbow.Memory, merge oxbow.Memory) {
	b.Helper()
	for i, text := range []string{"short names please", "short names always", "short names are nicer", "lunch is at noon", "my cat sleeps"} {
		sources = append(sources, b.Remember(lab.Statement{Text: text, SaidAt: at(i)}))
	}
	b.Judge.OnCluster = groupShort
	b.drain()
	_, err := b.Engine.RunJob(b.Ctx, engine.Order{Name: "cluster", Tenant: b.tenant()})
	b.Must(err)
	b.drain()
	return sources[:3], b.Find("short names please; short names always; short names are nicer")
}

func restoreMerged(b *bench) {
	sources, merge := merged(b)
	b.Must(b.restore(sources[0].ID, engine.Restoration{}))
	equal(b, "the source", b.Get(sources[0].ID).Status, oxbow.Active)
	equal(b, "the merge", b.Get(merge.ID).Status, oxbow.Active)
	equal(b, "another source", b.Get(sources[1].ID).Status, oxbow.Compressed)
	equal(b, "the link to the merge", linked(b, merge.ID, sources[0].ID, oxbow.DerivedFrom), true)
	b.Clean()
}

func restoreStays(b *bench) {
	older, newer := contradicted(b)
	b.Must(b.restore(older.ID, engine.Restoration{Replace: true}))
	_, err := b.Engine.RunJob(b.Ctx, engine.Order{Name: "contradiction", Tenant: b.tenant()})
	b.Must(err)
	b.drain()
	equal(b, "the restored one", b.Get(older.ID).Status, oxbow.Active)
	equal(b, "the one set aside", b.Get(newer.ID).Status, oxbow.Superseded)
	b.Clean()
}
