package store_test

import (
	"slices"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/store"
)

func TestCounts(t *testing.T) {
	t.Parallel()

	t.Run("are stored as an object, also when there are none", func(t *testing.T) {
		t.Parallel()
		if got := store.CountsJSON(map[string]int{"expired": 4, "archived": 5}); got != `{"archived":5,"expired":4}` {
			t.Fatalf("got %s", got)
		}
		if got := store.CountsJSON(nil); got != "{}" {
			t.Fatalf("got %s", got)
		}
	})

	t.Run("give the brake what left the active memories", func(t *testing.T) {
		t.Parallel()
		got := store.Changed(map[string]int{"archived": 1, "compressed": 20, "superseded": 300, "expired": 4000, "created": 50000})
		if got != 321 {
			t.Fatalf("got %d", got)
		}
	})
}

func TestJobErrors(t *testing.T) {
	t.Parallel()

	t.Run("are the messages of the attempts, oldest first", func(t *testing.T) {
		t.Parallel()
		got, err := store.JobErrors(`[{"at":"2024-01-01T00:00:00Z","attempt":1,"error":"first","trace":""},{"error":"JobCancelError: second"}]`)
		if err != nil || !slices.Equal(got, []string{"first", "second"}) {
			t.Fatalf("got %v and %v", got, err)
		}
		if got, err := store.JobErrors("[]"); err != nil || len(got) != 0 {
			t.Fatalf("got %v and %v", got, err)
		}
		if _, err := store.JobErrors("nonsense"); oxbow.CodeOf(err) != oxbow.CodeInternal {
			t.Fatalf("got %v", err)
		}
	})
}
