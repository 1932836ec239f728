package schedule_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/riverqueue/river"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/jobs"
	"github.com/oxbow-memory/oxbow/schedule"
	"github.com/oxbow-memory/oxbow/store"
)

// alone runs a story in a store of its own, because a tick looks at every scope
// that there is.
func alone(t *testing.T, story func(*lab.Bench)) {
	t.Helper()
	t.Parallel()
	lab.Each(t, func(t *testing.T, db *lab.DB) {
		b := lab.New(t, db)
		_, _, err := b.Engine.SetScope(b.Ctx, b.Scope, "Europe/Stockholm", nil, nil)
		b.Must(err)
		story(b)
	})
}

// slots gives what waits in the queue, as name@instant, sorted.
func slots(b *lab.Bench) []string {
	b.Helper()
	var out []string
	for _, j := range b.Waiting() {
		args, err := jobs.Decode(j.Kind, j.Args)
		b.Must(err)
		out = append(out, j.Kind+"@"+now(args).UTC().Format("01-02T15:04"))
	}
	slices.Sort(out)
	return out
}

func now(args river.JobArgs) time.Time {
	switch a := args.(type) {
	case jobs.Decay:
		return a.Now
	case jobs.Expire:
		return a.Now
	case jobs.Prune:
		return a.Now
	case jobs.Cluster:
		return a.Now
	}
	return time.Time{}
}

func tick(b *lab.Bench, at time.Time) int {
	b.Helper()
	n, err := schedule.Tick(b.Ctx, b.DB, at)
	b.Must(err)
	return n
}

func scheduled(b *lab.Bench, name string) store.Schedule {
	b.Helper()
	all, err := b.DB.ListSchedules(b.Ctx, b.Scope)
	b.Must(err)
	for _, d := range all {
		if d.Name == name {
			return d
		}
	}
	b.Fatalf("there is no schedule %s", name)
	return store.Schedule{}
}

func utc(s string) time.Time {
	t, err := time.Parse("2006-01-02T15:04", s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestTick(t *testing.T) {
	t.Parallel()

	t.Run("gives a new scope its schedules, read in its zone", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			for name, want := range map[string]string{"decay": "2026-05-02T01:00", "prune": "2026-05-02T01:00", "expire": "2026-05-01T13:00", "cluster": "2026-05-03T02:00"} {
				if got := scheduled(b, name).NextAt; !got.Equal(utc(want)) {
					b.Errorf("%s is due at %s, want %s", name, got, want)
				}
			}
			if n := tick(b, lab.Start.Add(59*time.Minute)); n != 0 {
				b.Errorf("%d slots before any was due", n)
			}
		})
	})

	t.Run("enqueues a slot at its instant and moves on", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			if n := tick(b, utc("2026-05-01T13:00")); n != 1 {
				b.Errorf("%d slots", n)
			}
			if n := tick(b, utc("2026-05-01T13:00")); n != 0 {
				b.Errorf("%d slots the second time", n)
			}
			d := scheduled(b, "expire")
			if !d.LastAt.Equal(utc("2026-05-01T13:00")) || !d.NextAt.Equal(utc("2026-05-01T14:00")) {
				b.Errorf("the schedule stands at %s, next %s", d.LastAt, d.NextAt)
			}
		})
	})

	t.Run("runs what a week's absence missed once, and the latest of it", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			tick(b, lab.Start.Add(7*lab.Day+30*time.Minute))
			want := []string{"cluster@05-03T02:00", "decay@05-08T01:00", "expire@05-08T12:00", "prune@05-08T01:00"}
			if got := slots(b); !slices.Equal(got, want) {
				b.Errorf("enqueued %v, want %v", got, want)
			}
		})
	})

	t.Run("goes on from now when the clock was set back, and runs no slot twice", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			tick(b, lab.Start.Add(7*lab.Day)) // a week ahead
			ahead := len(slots(b))
			if n := tick(b, utc("2026-05-01T13:00")); n != 0 {
				b.Errorf("%d slots in the tick that moves the schedules back", n)
			}
			if d := scheduled(b, "expire"); !d.NextAt.Equal(utc("2026-05-01T14:00")) || !d.LastAt.IsZero() {
				b.Errorf("the schedule stands at %s, next %s", d.LastAt, d.NextAt)
			}
			if n := tick(b, utc("2026-05-02T01:00")); n != 3 { // decay, prune, expire
				b.Errorf("%d slots at three in the night, want 3", n)
			}
			tick(b, lab.Start.Add(7*lab.Day))
			if got := slots(b); len(got) != ahead+3 {
				b.Errorf("what ran ahead ran again: %v", got)
			}
		})
	})

	t.Run("runs every slot that was missed when the schedule says all", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			d := scheduled(b, "decay")
			d.CatchUp = schedule.All
			b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutSchedule(ctx, d) }))
			tick(b, lab.Start.Add(7*lab.Day))
			decays := slices.DeleteFunc(slots(b), func(s string) bool { return !strings.HasPrefix(s, "decay") })
			if len(decays) != 7 || decays[0] != "decay@05-02T01:00" || decays[6] != "decay@05-08T01:00" {
				b.Errorf("enqueued %v", decays)
			}
		})
	})

	t.Run("bounds how far it catches up and keeps the latest", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			d := scheduled(b, "expire")
			d.CatchUp = schedule.All
			b.Must(b.DB.InTx(b.Ctx, func(ctx context.Context, tx store.Tx) error { return tx.PutSchedule(ctx, d) }))
			tick(b, lab.Start.Add(30*lab.Day))
			hours := slices.DeleteFunc(slots(b), func(s string) bool { return !strings.HasPrefix(s, "expire") })
			if len(hours) != 100 || hours[99] != "expire@05-31T12:00" {
				b.Errorf("enqueued %d, the last %s", len(hours), hours[len(hours)-1])
			}
		})
	})

	t.Run("enqueues a slot once when two tick at the same moment", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					if _, err := schedule.Tick(b.Ctx, b.DB, lab.Start.Add(7*lab.Day)); err != nil {
						b.Error(err)
					}
				})
			}
			all.Wait()
			if got := slots(b); len(got) != 4 {
				b.Errorf("enqueued %v", got)
			}
		})
	})

	t.Run("leaves a paused schedule alone and goes on with the next slot when it is resumed", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			b.Must(b.Engine.SetSchedulePaused(b.Ctx, b.Scope, "expire", true))
			tick(b, utc("2026-05-01T20:10"))
			if got := slots(b); len(got) != 0 {
				b.Errorf("enqueued %v", got)
			}
			b.Clock.Set(utc("2026-05-01T20:10"))
			b.Must(b.Engine.SetSchedulePaused(b.Ctx, b.Scope, "expire", false))
			if n := tick(b, utc("2026-05-01T20:20")); n != 0 {
				b.Errorf("%d slots of the pause were made up for", n)
			}
			if n := tick(b, utc("2026-05-01T21:00")); n != 1 {
				b.Errorf("%d slots after the pause", n)
			}
		})
	})

	t.Run("moves the schedules of more scopes than fit in one transaction", func(t *testing.T) {
		alone(t, func(b *lab.Bench) {
			for i := range 30 {
				_, _, err := b.Engine.SetScope(b.Ctx, oxbow.Scope{Tenant: b.Scope.Tenant, Name: fmt.Sprint("s", i)}, "UTC", nil, nil)
				b.Must(err)
			}
			if n := tick(b, lab.Start.Add(7*lab.Day)); n != 31*4 {
				b.Errorf("%d slots", n)
			}
		})
	})
}

func TestNext(t *testing.T) {
	t.Parallel()
	stockholm, err := time.LoadLocation("Europe/Stockholm")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, spec, after, want string }{
		{"three in the morning in winter", "0 3 * * *", "2026-01-10T12:00", "2026-01-11T02:00"},
		{"three in the morning in summer", "0 3 * * *", "2026-07-10T12:00", "2026-07-11T01:00"},
		{"the night in which the clock goes forward", "0 3 * * *", "2026-03-28T12:00", "2026-03-29T01:00"},
		{"the night in which the clock goes back", "0 3 * * *", "2026-10-24T12:00", "2026-10-25T02:00"},
		{"the instant itself is not the next one", "0 3 * * *", "2026-01-11T02:00", "2026-01-12T02:00"},
		{"the hour that is there twice", "0 * * * *", "2026-10-25T00:00", "2026-10-25T01:00"},
		{"Sundays", "0 4 * * 0", "2026-05-01T12:00", "2026-05-03T02:00"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := schedule.Next(c.spec, stockholm, utc(c.after))
			if err != nil || !got.Equal(utc(c.want)) {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}

	t.Run("refuses what is no cron line", func(t *testing.T) {
		t.Parallel()
		for _, spec := range []string{"", "often", "61 * * * *", "0 3 * *", "0 0 31 2 * *"} {
			if _, err := schedule.Next(spec, stockholm, lab.Start); oxbow.CodeOf(err) != oxbow.CodeInvalid {
				t.Errorf("%q gave %v", spec, err)
			}
		}
	})

	t.Run("refuses a line that never comes", func(t *testing.T) {
		t.Parallel()
		if at, err := schedule.Next("0 0 31 2 *", stockholm, lab.Start); oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Errorf("got %s and %v", at, err)
		}
	})
}
