package oxbow_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
)

func TestEventJSON(t *testing.T) {
	t.Parallel()

	t.Run("reads back what it wrote", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			a, b := drawMemory(t, "a"), drawMemory(t, "a")
			b.Slot, b.Key, b.ReplacedBy = "user", "city", "b"
			b.Quote = oxbow.Quote{Part: "user", Start: 1, End: 4}
			e := oxbow.Event{
				Seq: 7, Scope: ada, Memory: "a", Version: 3, Type: oxbow.Edited,
				Links:  []oxbow.Link{{From: "b", To: "a", Type: oxbow.Confirms}},
				Reason: "drawn", Actor: "user", Judge: "offline@1", Run: "r",
				At: drawTime(t, "at", 900), RecordedAt: drawTime(t, "recorded_at", 900),
			}
			e.Before, e.After = oxbow.Diff(a, b)
			text, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			var got oxbow.Event
			if err := json.Unmarshal(text, &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, e) {
				t.Fatalf("wrote\n%+v\nread\n%+v\nas %s", e, got, text)
			}
		})
	})

	t.Run("tells no change from a change to nothing", func(t *testing.T) {
		t.Parallel()
		before, after := oxbow.Diff(oxbow.Memory{ExpiresAt: epoch, ReplacedBy: "b", Pinned: true}, oxbow.Memory{})
		text, err := json.Marshal(after)
		if want := `{"replaced_by":"","pinned":false,"expires_at":""}`; err != nil || string(text) != want {
			t.Fatalf("wrote %s, want %s, error %v", text, want, err)
		}
		var read oxbow.Patch
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		got := read.Apply(before.Apply(oxbow.Memory{}))
		if !got.ExpiresAt.IsZero() || got.ReplacedBy != "" || got.Pinned {
			t.Fatalf("applied to %+v", got)
		}
	})

	t.Run("writes an instant in UTC whatever its zone", func(t *testing.T) {
		t.Parallel()
		east := oxbow.Instant{Time: epoch.In(time.FixedZone("east", 5*3600))}
		text, err := json.Marshal(east)
		if err != nil || string(text) != `"2026-03-02T09:00:00Z"` {
			t.Fatalf("%s %v", text, err)
		}
		var bad oxbow.Instant
		if json.Unmarshal([]byte(`"yesterday"`), &bad) == nil || json.Unmarshal([]byte(`7`), &bad) == nil {
			t.Fatal("reads what is no instant")
		}
	})
}

func TestDiff(t *testing.T) {
	t.Parallel()

	t.Run("leads from one state to the other and back", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			a, b := logged(drawMemory(t, "a")), logged(drawMemory(t, "a"))
			before, after := oxbow.Diff(a, b)
			if !reflect.DeepEqual(after.Apply(a), b) || !reflect.DeepEqual(before.Apply(b), a) {
				t.Fatalf("%+v and %+v do not lead between them", before, after)
			}
		})
	})

	t.Run("names every field of the state", func(t *testing.T) {
		t.Parallel()
		var full oxbow.Memory
		fill(reflect.ValueOf(&full).Elem())
		_, after := oxbow.Diff(oxbow.Memory{}, full)
		if got := after.Apply(oxbow.Memory{}); !reflect.DeepEqual(got, logged(full)) {
			t.Fatalf("a field is missing from the patch:\n%+v\n%+v", got, logged(full))
		}
		if n := reflect.TypeFor[oxbow.Patch]().NumField(); len(after.Fields()) != n {
			t.Fatalf("the patch has %d fields and names %d", n, len(after.Fields()))
		}
	})
}

// fill sets every field to something that is not zero, so that a field added
// to Memory and forgotten in Patch is found.
func fill(v reflect.Value) {
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(epoch))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for _, f := range v.Fields() {
			fill(f)
		}
	}
}
