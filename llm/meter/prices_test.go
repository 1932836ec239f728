package meter

import (
	"math"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
)

func TestPrices(t *testing.T) {
	t.Parallel()

	t.Run("come with a date, and none is nonsense", func(t *testing.T) {
		t.Parallel()
		known, asOf := KnownPrices()
		if _, err := time.Parse(time.DateOnly, asOf); err != nil || len(known) == 0 {
			t.Fatalf("%d prices of %q", len(known), asOf)
		}
		for model, p := range known {
			if p.In <= 0 || p.Out < p.In || p.Cached <= 0 || p.Cached > p.In || p.Out > 1000 {
				t.Errorf("%s costs %+v", model, p)
			}
		}
	})

	t.Run("are read as they are configured, and put over the known ones", func(t *testing.T) {
		t.Parallel()
		got, err := ParsePrices(" small = 1/2 , org/large:free=3/0.5/9,")
		if err != nil || got["small"] != (Price{1, 1, 2}) || got["org/large:free"] != (Price{3, 0.5, 9}) || len(got) != 2 {
			t.Fatalf("got %+v, %v", got, err)
		}
		all := Prices{"small": {9, 9, 9}, "other": {1, 1, 1}}.With(got)
		if all["small"].In != 1 || all["other"].In != 1 || len(all) != 3 {
			t.Fatalf("got %+v", all)
		}
	})

	t.Run("count the cached part at its own price, and a snapshot as its model", func(t *testing.T) {
		t.Parallel()
		p := Prices{"small": {2, 0.5, 8}}
		cost := p.Cost("small-2026-03-01", 1_000_000, 400_000, 100_000)
		if cost == nil || math.Abs(*cost-(1.2+0.2+0.8)) > 1e-9 {
			t.Fatalf("got %v", cost)
		}
		if p.Cost("smaller", 1, 0, 1) != nil {
			t.Fatal("a model nobody knows the price of has a cost")
		}
	})
}

func FuzzParsePrices(f *testing.F) {
	for _, s := range []string{"", "a=1/2", "a=1/2/3,b=0/0", "a=1e309/1", "=1/2", "a=NaN/1", "a=-1/2", "a=1/2/3/4"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		prices, err := ParsePrices(s)
		if err != nil && oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Fatalf("%q: %v", s, err)
		}
		for model, p := range prices {
			if again, err := ParsePrices(model + "=" + p.String()); err != nil || again[model] != p {
				t.Fatalf("%q: %q became %+v, %v", s, model, again, err)
			}
		}
	})
}
