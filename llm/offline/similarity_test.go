package offline

import (
	"context"
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestSimilarity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		why, a, near, far string
	}{
		{"the same in another order", "We ship logs to Loki", "Logs are shipped to Loki", "Logs are kept for 30 days"},
		{"one root", "The user is allergic to peanuts", "User has a peanut allergy", "The user is allergic to cats"},
		{"a kind of it", "The dog plays with a ball", "A puppy plays with a ball", "The dog sleeps in the garden"},
		{"another number", "The limit is 100 requests", "The limit is at 100 requests", "The limit is 250 requests"},
		{"another person", "A woman plays the flute", "The lady plays a flute", "A man plays the flute"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			if near, far := Similarity(c.a, c.near), Similarity(c.a, c.far); near <= far {
				t.Errorf("%.3f for the near one, %.3f for the far one", near, far)
			}
		})
	}
}

func TestSimilarityIsSymmetricAndBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"dog", "puppy", "Syria", "Syrian", "two", "3", "not", "man", "woman", "the", "-", "", "Ω", "open", "closed"}), 0, 8)
		join := func(ws []string) string {
			s := ""
			for _, w := range ws {
				s += w + " "
			}
			return s
		}
		a, b := join(words.Draw(t, "a")), join(words.Draw(t, "b"))
		there, back := Similarity(a, b), Similarity(b, a)
		if there != back || there < 0 || there > 1 || math.IsNaN(there) {
			t.Fatalf("%q and %q: %v one way, %v the other", a, b, there, back)
		}
	})
}

func TestEmbedder(t *testing.T) {
	t.Parallel()
	e := NewEmbedder()
	vs, err := e.Embed(context.Background(), []string{"We deploy from main", "", "We deploy from main"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []float64{1, 0, 1} {
		sum := 0.0
		for k, x := range vs[i] {
			sum += float64(x) * float64(x)
			if x != vs[2][k] && i == 0 {
				t.Fatal("the same text has two vectors")
			}
		}
		if len(vs[i]) != e.Dimensions() || math.Abs(sum-want) > 1e-5 {
			t.Errorf("vector %d: %d dimensions, length %v", i, len(vs[i]), sum)
		}
	}
}
