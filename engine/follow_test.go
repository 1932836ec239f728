package engine_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
)

func TestFollow(t *testing.T) {
	tell(t,
		story{"gives what comes after it began, each event once", func(b *bench) {
			b.Remember(lab.Statement{Text: "coffee: none", SaidAt: at(0)})
			followsOnce(b, 0)
		}},
		story{"does the same behind an event that has not come, as one of another database", func(b *bench) {
			b.Remember(lab.Statement{Text: "coffee: none", SaidAt: at(0)})
			followsOnce(b, 1<<40)
		}},
		story{"hears the first event of all, behind one that has not come", func(b *bench) { followsOnce(b, 1<<40) }},
		story{"goes on behind a number", followsOn},
	)
}

// errEnough ends following from inside.
var errEnough = errors.New("enough")

func followsOnce(b *bench, after int64) {
	ticks := make(chan time.Time)
	ctx, cancel := context.WithCancel(b.Ctx)
	got := make(chan oxbow.Event, 10)
	done := make(chan error)
	go func() {
		done <- b.Engine.Follow(ctx, store.EventFilter{Tenant: b.tenant(), AfterSeq: after}, ticks, func(es []oxbow.Event) error {
			for _, e := range es {
				got <- e
			}
			return nil
		})
	}()
	ticks <- time.Time{} // it has begun, and found nothing new
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	for range 3 {
		ticks <- time.Time{}
	}
	cancel()
	b.Must(<-done)
	close(got)
	n := 0
	for e := range got {
		equal(b, "the memory", e.Memory, m.ID)
		n++
	}
	equal(b, "how many events came", n, 1)
}

func followsOn(b *bench) {
	b.Remember(lab.Statement{Text: "coffee: none", SaidAt: at(0)})
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	all, err := b.DB.Events(b.Ctx, store.EventFilter{Tenant: b.tenant(), Limit: 10})
	b.Must(err)
	var got []oxbow.Event
	err = b.Engine.Follow(b.Ctx, store.EventFilter{Tenant: b.tenant(), AfterSeq: all[0].Seq}, nil, func(es []oxbow.Event) error {
		got = append(got, es...)
		return errEnough
	})
	if !errors.Is(err, errEnough) || len(got) == 0 || got[0].Memory != m.ID {
		b.Errorf("got %+v and %v", got, err)
	}
}
