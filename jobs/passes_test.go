package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"

	"pgregory.net/rapid"
)

func TestDecay(t *testing.T) {
	tell(t,
		story{"archives at the very instant of fading, and not a millisecond before", fadesExactly},
		story{"does nothing more when it runs again at the same instant", idempotentAtOneInstant},
		story{"leaves alone what is pinned", decayPinned},
		story{"stops at the brake, says so, and goes on when it is lifted", brakeStops},
		story{"counts twenty for a small scope and a twentieth of a large one", brakeShare},
		story{"shares its allowance with a prune at the same hour", func(b *lab.Bench) { brakeShared(b, "decay", "prune") }},
		story{"leaves a prune that came second what it left of the allowance", func(b *lab.Bench) { brakeShared(b, "prune", "decay") }},
		story{"lets what is used between the reading and the writing stay", usedMeanwhile},
		story{"goes on behind a batch of which everything was used meanwhile", batchUsedMeanwhile},
		story{"goes on where a failure in its second batch left it", resumes},
		story{"ends well in a scope that nobody ever wrote to", unknownScope},
	)
}

func fadesExactly(b *lab.Bench) {
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0)})
	b.Drain()
	b.Pass("decay", m.FadesAt.Add(-time.Millisecond))
	equal(b, "a millisecond before", b.Get(m.ID).Status, oxbow.Active)
	equal(b, "live then", m.Live(m.FadesAt.Add(-time.Millisecond)), true)
	run := b.Pass("decay", m.FadesAt)
	equal(b, "at the instant", b.Get(m.ID).Status, oxbow.Archived)
	equal(b, "live at the instant", m.Live(m.FadesAt), false)
	equal(b, "the run's count", run.Counts["archived"], 1)
	equal(b, "the run", run.Status, oxbow.RunDone)
	equal(b, "the reason", reason(b, m.ID, oxbow.ArchivedEvent), "its strength fell under the threshold")
	es := b.EventsOf(m.ID)
	equal(b, "the event's instant", es[len(es)-1].At, m.FadesAt)
	b.Clean()
}

func idempotentAtOneInstant(b *lab.Bench) {
	for i := range 5 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("topic%d: x", i), SaidAt: at(24 * i)})
	}
	b.Drain()
	now := at(24 * 102)
	b.Pass("decay", now)
	once := b.State()
	for range 3 {
		run := b.Pass("decay", now)
		equal(b, "what the next run archived", run.Counts["archived"], 0)
	}
	if d := lab.Differ(once, b.State()); d != "" {
		b.Errorf("the next runs changed:\n%s", d)
	}
}

func decayPinned(b *lab.Bench) {
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0), Pinned: true})
	b.Drain()
	b.Pass("decay", lab.Start.AddDate(50, 0, 0))
	equal(b, "the pinned one", b.Get(m.ID).Status, oxbow.Active)
}

// fadeMany writes n memories that are all faded at the instant it gives, in one
// transaction, without their jobs.
func fadeMany(b *lab.Bench, n int) time.Time {
	b.Helper()
	var changes []oxbow.Change
	for i := range n {
		m := oxbow.Memory{ID: oxbow.NewID(b.Name(), fmt.Sprint(i)), Scope: b.Scope, Status: oxbow.Active, Kind: oxbow.Semantic,
			Content: oxbow.Content{Text: fmt.Sprintf("note %d", i)}, Importance: 5, Rating: 0.5, Source: oxbow.FromUser, SaidAt: at(i % 24), CreatedAt: at(0)}
		changes = append(changes, oxbow.Change{Type: oxbow.Created, Memory: m.ID, New: &m, Reason: "it was said", Actor: "user"})
	}
	b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, b.Scope, at(0)); err != nil {
			return err
		}
		_, err := tx.Apply(ctx, store.Batch{Scope: b.Scope, Run: "seed", Now: at(0), RecordedAt: at(0)}, changes)
		return err
	}))
	return at(0).Add(200 * day)
}

func active(b *lab.Bench) int {
	b.Helper()
	counts, err := b.DB.CountMemories(b.Ctx, b.Scope)
	b.Must(err)
	return counts[oxbow.Active]
}

func brakeStops(b *lab.Bench) {
	now := fadeMany(b, 30)
	run := b.Pass("decay", now)
	equal(b, "the run", run.Status, oxbow.RunStopped)
	equal(b, "what is left", active(b), 10)
	if !strings.Contains(run.Note, "--max-share") {
		b.Errorf("the note is %q", run.Note)
	}
	st, err := b.Engine.Status(b.Ctx, b.Scope)
	b.Must(err)
	equal(b, "the stopped runs of the status", len(st.Stopped), 1)
	b.Pass("decay", now.Add(time.Hour))
	equal(b, "what is left an hour later", active(b), 10)
	run = b.PassShare("decay", now.Add(2*time.Hour), 1)
	equal(b, "the run that goes on", run.Status, oxbow.RunDone)
	equal(b, "what is left then", active(b), 0)
}

func brakeShare(b *lab.Bench) {
	now := fadeMany(b, 600)
	b.Pass("decay", now)
	equal(b, "what is left after a twentieth", active(b), 570)
	b.Pass("decay", now.Add(25*time.Hour))
	equal(b, "what is left after another day", active(b), 540)
	b.Clean()
}

// brakeShared has the other pass run when the first one has read what it may
// change and has not changed it yet.
func brakeShared(b *lab.Bench, first, other string) {
	capped(b, 1)
	now := fadeMany(b, 60)
	begun := 0
	b.BeforeTx = func() {
		// The first transaction stores the run; the second one is its batch.
		if begun++; begun == 2 {
			b.BeforeTx = nil
			b.Must(b.Do(b.Ctx, b.Deps(), lab.RowOf(b, passArgs(b, other, oxbow.NewID(other), now))))
		}
	}
	run := b.Pass(first, now)
	equal(b, "the transactions of the first", begun, 2)
	equal(b, "the first run", run.Status, oxbow.RunStopped)
	equal(b, "what is left of both", active(b), 40)
}

func usedMeanwhile(b *lab.Bench) {
	used := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(0)})
	idle := b.Remember(lab.Statement{Text: "coffee: black", SaidAt: at(0)})
	b.Drain()
	b.Clock.Set(used.FadesAt.Add(day))
	once := false
	b.BeforeTx = func() {
		// The first transaction stores the run; the second one applies.
		if once {
			b.BeforeTx = nil
			_, err := b.Engine.Used(b.Ctx, b.Scope.Tenant, []string{used.ID})
			b.Must(err)
		}
		once = true
	}
	b.Pass("decay", b.Clock.Now())
	equal(b, "the one that was used", b.Get(used.ID).Status, oxbow.Active)
	equal(b, "the idle one", b.Get(idle.ID).Status, oxbow.Archived)
	b.Clean()
}

// taken is a store in which somebody used, while it was being locked, all that
// the first batch of a pass had found due.
type taken struct {
	store.Store
	left int
}

func (s *taken) InTx(ctx context.Context, fn func(context.Context, store.Tx) error) error {
	return s.Store.InTx(ctx, func(ctx context.Context, tx store.Tx) error { return fn(ctx, takenTx{tx, s}) })
}

type takenTx struct {
	store.Tx
	s *taken
}

// Retire gives what a database gives then; that Postgres does is tested there.
func (t takenTx) Retire(ctx context.Context, b store.Batch, r store.Retirement) (store.Retired, error) {
	if t.s.left == 0 {
		return t.Tx.Retire(ctx, b, r)
	}
	t.s.left--
	due, err := t.Faded(ctx, b.Scope, b.Now, r.After, r.Limit)
	if err != nil || len(due) == 0 {
		return store.Retired{Last: r.After}, err
	}
	last := due[len(due)-1]
	return store.Retired{Last: store.Place(last.FadesAt, last.ID)}, nil
}

func batchUsedMeanwhile(b *lab.Bench) {
	now := fadeMany(b, 12)
	deps := b.Deps()
	deps.Store, deps.PassBatch = &taken{deps.Store, 1}, 5
	b.Must(b.Do(b.Ctx, deps, lab.RowOf(b, passArgs(b, "decay", oxbow.NewID("run", b.Scope.Tenant), now))))
	equal(b, "those that were used", active(b), 5)
	b.Clean()
}

func resumes(b *lab.Bench) {
	now := fadeMany(b, 1200)
	batches := 0
	b.BeforeApply = func(cs []oxbow.Change) error {
		if batches++; batches == 2 {
			return errors.New("the disk is full")
		}
		return nil
	}
	run := b.PassShare("decay", now, 1)
	equal(b, "the run", run.Status, oxbow.RunDone)
	equal(b, "what is left", active(b), 0)
	equal(b, "the batches begun", batches, 4)
	equal(b, "the run's count", run.Counts["archived"], 1200)
	b.Clean()
}

func unknownScope(b *lab.Bench) {
	b.Scope.Name = "nobody"
	for _, name := range []string{"decay", "expire", "prune", "cluster"} {
		run := oxbow.NewID(name)
		row := lab.RowOf(b, passArgs(b, name, run, lab.Start))
		b.Must(b.Do(b.Ctx, b.Deps(), row))
	}
}

// TestHourlyEqualsDaily lets a scope live through some weeks with passes at
// whatever instants and compares it with one that saw the last of them only.
func TestHourlyEqualsDaily(t *testing.T) {
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			ages := rapid.SliceOfN(rapid.IntRange(0, 24*120), 1, 12).Draw(rt, "said hours ago")
			lives := rapid.SliceOfN(rapid.IntRange(0, 24*40), len(ages), len(ages)).Draw(rt, "expire after hours")
			often := rapid.SliceOfN(rapid.IntRange(0, 24*30), 0, 6).Draw(rt, "passes before the end")
			slices.Sort(often)
			end := lab.Start.Add(30 * day)
			play := func(passes []int) []string {
				n++
				b := benchOf(t, db, fmt.Sprint("user:", n))
				for i, age := range ages {
					s := lab.Statement{Text: fmt.Sprintf("t%d: x", i), Kind: oxbow.Episodic, SaidAt: lab.Start.Add(-time.Duration(age) * time.Hour)}
					if lives[i] > 0 {
						s.ExpiresAt = s.SaidAt.Add(time.Duration(lives[i]) * time.Hour)
					}
					b.Remember(s)
				}
				for _, h := range append(slices.Clone(passes), 24*30) {
					b.Pass("expire", lab.Start.Add(time.Duration(h)*time.Hour))
					b.Pass("decay", lab.Start.Add(time.Duration(h)*time.Hour))
				}
				return live(b, end)
			}
			if d := lab.Differ(play(nil), play(often)); d != "" {
				rt.Fatalf("with passes at %v:\n%s", often, d)
			}
		})
	})
}

// live gives what reads may serve at an instant, and fails when a row that a
// pass should have retired by then is still active.
func live(b *lab.Bench, now time.Time) []string {
	b.Helper()
	var out []string
	for _, m := range b.All() {
		if m.Status == oxbow.Active && !m.Live(now) {
			b.Errorf("%s is active and not live", m.Content.Text)
		}
		if m.Live(now) {
			out = append(out, m.Content.Text)
		}
	}
	return out
}

func TestExpirePass(t *testing.T) {
	tell(t,
		story{"retires at the very instant of the date, and not before", expiresExactly},
		story{"has no brake and takes pinned ones too", expireUnbraked},
		story{"does not count against the brake of other passes", expireBesideBrake},
	)
}

func expiresExactly(b *lab.Bench) {
	end := at(0).Add(5 * day)
	m := b.Remember(lab.Statement{Text: "offer: ends", SaidAt: at(0), ExpiresAt: end})
	b.Drain()
	b.Pass("expire", end.Add(-time.Millisecond))
	equal(b, "a millisecond before", b.Get(m.ID).Status, oxbow.Active)
	b.Pass("expire", end)
	equal(b, "at the instant", b.Get(m.ID).Status, oxbow.Expired)
	b.Pass("expire", end)
	equal(b, "the events", count(b, m.ID, oxbow.ExpiredEvent), 1)
	b.Clean()
}

func expireUnbraked(b *lab.Bench) {
	end := at(0).Add(5 * day)
	for i := range 40 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("offer%d: ends", i), SaidAt: at(0), ExpiresAt: end, Pinned: i == 0})
	}
	run := b.Pass("expire", end)
	equal(b, "the run", run.Status, oxbow.RunDone)
	equal(b, "what is left", active(b), 0)
}

func expireBesideBrake(b *lab.Bench) {
	now := fadeMany(b, 20)
	for i := range 30 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("offer%d: ends", i), SaidAt: at(0), ExpiresAt: at(1)})
	}
	b.Pass("expire", now)
	run := b.Pass("decay", now)
	equal(b, "the decay after it", run.Status, oxbow.RunDone)
	equal(b, "what is left", active(b), 0)
}

func TestPrune(t *testing.T) {
	tell(t,
		story{"archives the weakest claims over the cap", prunesWeakest},
		story{"leaves newborns, pins and what is used", prunesNoneSafe},
		story{"does nothing more when it runs again", prunesOnce},
		story{"stops at the brake", pruneBraked},
		story{"goes through every slot", prunesSlots},
		story{"looks at every slot when a failure came between", pruneResumes},
	)
}

func capped(b *lab.Bench, n int) {
	b.Helper()
	p := oxbow.DefaultPolicy()
	p.SlotCap = n
	_, _, err := b.Engine.SetScope(b.Ctx, b.Scope, "", &p, nil)
	b.Must(err)
	b.Drain()
}

func prunesWeakest(b *lab.Bench) {
	capped(b, 3)
	var ms []oxbow.Memory
	for i := range 6 {
		ms = append(ms, b.Remember(lab.Statement{Text: fmt.Sprintf("t%d: x", i), SaidAt: at(24 * i).Add(-60 * day)}))
	}
	b.Drain()
	run := b.Pass("prune", lab.Start)
	equal(b, "what it archived", run.Counts["archived"], 3)
	for i, m := range ms {
		want := oxbow.Active
		if i < 3 {
			want = oxbow.Archived
		}
		equal(b, m.Content.Text, b.Get(m.ID).Status, want)
	}
	b.Clean()
}

func prunesNoneSafe(b *lab.Bench) {
	capped(b, 1)
	b.Remember(lab.Statement{Text: "new: x", SaidAt: lab.Start.Add(-14 * day)})
	b.Remember(lab.Statement{Text: "pinned: x", SaidAt: lab.Start.Add(-60 * day), Pinned: true})
	used := b.Remember(lab.Statement{Text: "used: x", SaidAt: lab.Start.Add(-60 * day)})
	gone := b.Remember(lab.Statement{Text: "idle: x", SaidAt: lab.Start.Add(-60 * day)})
	for range 3 {
		b.Clock.Add(25 * time.Hour)
		_, err := b.Engine.Used(b.Ctx, b.Scope.Tenant, []string{used.ID})
		b.Must(err)
	}
	b.Drain()
	b.Pass("prune", lab.Start)
	equal(b, "the idle one", b.Get(gone.ID).Status, oxbow.Archived)
	equal(b, "what is left", active(b), 3)
}

func prunesOnce(b *lab.Bench) {
	capped(b, 2)
	for i := range 8 {
		b.Remember(lab.Statement{Text: fmt.Sprintf("t%d: x", i), SaidAt: at(i).Add(-60 * day)})
	}
	b.Pass("prune", lab.Start)
	once := b.State()
	b.Pass("prune", lab.Start)
	b.Pass("prune", lab.Start.Add(time.Hour))
	if d := lab.Differ(once, b.State()); d != "" {
		b.Errorf("the next runs changed:\n%s", d)
	}
}

func pruneBraked(b *lab.Bench) {
	capped(b, 1)
	fadeMany(b, 30)
	run := b.Pass("prune", at(0).Add(20*day))
	equal(b, "the run", run.Status, oxbow.RunStopped)
	equal(b, "what is left", active(b), 10)
	run = b.PassShare("prune", at(0).Add(20*day), 1)
	equal(b, "the run that goes on", run.Status, oxbow.RunDone)
	equal(b, "what is left then", active(b), 1)
}

func slotted(b *lab.Bench) {
	b.Helper()
	capped(b, 1)
	for i := range 3 {
		for _, slot := range []string{"", "user", "project", "agent"} {
			said := lab.Statement{Text: fmt.Sprintf("t%d%s: x", i, slot), Slot: slot, SaidAt: at(i).Add(-60 * day)}
			if slot != "" {
				said.Key = fmt.Sprint("key", i)
			}
			b.Remember(said)
		}
	}
	b.Drain()
}

func prunesSlots(b *lab.Bench) {
	slotted(b)
	run := b.Pass("prune", lab.Start)
	equal(b, "what it archived", run.Counts["archived"], 8)
	equal(b, "what is left", active(b), 4)
}

func pruneResumes(b *lab.Bench) {
	slotted(b)
	batches := 0
	b.BeforeApply = func([]oxbow.Change) error {
		if batches++; batches == 2 {
			return errors.New("the disk is full")
		}
		return nil
	}
	run := b.Pass("prune", lab.Start)
	equal(b, "the run's count", run.Counts["archived"], 8)
	equal(b, "what is left", active(b), 4)
}
