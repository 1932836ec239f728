package store_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/store"
)

func TestWeigh(t *testing.T) {
	t.Parallel()
	terms := func(ws []store.Weight) []int64 {
		out := []int64{}
		for _, w := range ws {
			out = append(out, w.Term)
		}
		return out
	}

	t.Run("keeps the words that stand in few texts, rarest first", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			bound  int
			counts []store.Posting
			want   []int64
		}{
			{0, []store.Posting{{Term: 1, DF: 900}, {Term: 2, DF: 3}, {Term: 3, DF: 0}}, []int64{2, 1}},
			{10, []store.Posting{{Term: 1, DF: 11}, {Term: 2, DF: 3}, {Term: 3, DF: 10}}, []int64{2, 3}},
			{10, []store.Posting{{Term: 5, DF: 11}, {Term: 4, DF: 11}}, []int64{4}},
			{10, []store.Posting{{Term: 5, DF: 0}}, []int64{}},
			{10, nil, []int64{}},
		} {
			if got := terms(store.Weigh(store.SearchQuery{MaxPostings: c.bound}, c.counts, 1000)); !slices.Equal(got, c.want) {
				t.Errorf("%v under %d gives %v, want %v", c.counts, c.bound, got, c.want)
			}
		}
	})

	t.Run("does not depend on the order in which a database counts", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) {
			counts := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) store.Posting {
				return store.Posting{Term: rapid.Int64().Draw(t, "term"), DF: rapid.IntRange(0, 5).Draw(t, "df")}
			}), 0, 12, func(p store.Posting) int64 { return p.Term }).Draw(t, "counts")
			q := store.SearchQuery{MaxPostings: rapid.IntRange(0, 5).Draw(t, "bound")}
			want := store.Weigh(q, slices.Clone(counts), 10)
			if got := store.Weigh(q, rapid.Permutation(counts).Draw(t, "shuffled"), 10); !slices.Equal(got, want) {
				t.Fatalf("got %v, want %v", got, want)
			}
		})
	})

	t.Run("is handed to a query as pairs", func(t *testing.T) {
		t.Parallel()
		b, err := json.Marshal([]store.Weight{{Term: -1 << 63, IDF: 0.5}})
		if err != nil || string(b) != "[[-9223372036854775808,0.5]]" {
			t.Fatalf("got %s and %v", b, err)
		}
	})
}

func TestHashes(t *testing.T) {
	t.Parallel()

	t.Run("are those of the first words of a long text", func(t *testing.T) {
		t.Parallel()
		words := make([]string, 500)
		for i := range words {
			words[i] = fmt.Sprintf("w%d", i)
		}
		terms, _ := text.Analyse(strings.Join(words, " "))
		got := store.Hashes(terms)
		if len(got) != 64 || got[0] != text.Hash("w0") || got[63] != text.Hash("w63") {
			t.Fatalf("got %d hashes", len(got))
		}
		if len(store.Hashes(nil)) != 0 {
			t.Fatal("no words have a hash")
		}
	})
}

func TestOneOf(t *testing.T) {
	t.Parallel()

	t.Run("gives the one id, or says why there is none", func(t *testing.T) {
		t.Parallel()
		for _, c := range []struct {
			ids        []string
			want, code string
		}{
			{nil, "", oxbow.CodeNotFound}, {[]string{"abc"}, "abc", ""}, {[]string{"ab", "abc"}, "ab", ""}, {[]string{"abc", "abd"}, "", oxbow.CodeConflict},
		} {
			got, err := store.OneOf("memory", "ab", c.ids)
			if got != c.want || oxbow.CodeOf(err) != c.code {
				t.Errorf("%v gives %q and %v", c.ids, got, err)
			}
		}
	})

	t.Run("takes an empty id for no id, also where there is only one", func(t *testing.T) {
		t.Parallel()
		got, err := store.OneOf("memory", "", []string{"abc"})
		if got != "" || oxbow.CodeOf(err) != oxbow.CodeInvalid {
			t.Errorf("an empty id gives %q and %v", got, err)
		}
	})
}

func TestTagTerms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := oxbow.Memory{Key: rapid.String().Draw(t, "key"), Content: oxbow.Content{Text: rapid.String().Draw(t, "text"), Tags: rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "tags")}}
		terms, _ := store.TermsOf(m)
		for _, tag := range m.Content.Tags {
			for _, h := range store.TagTerms(tag) {
				if !slices.ContainsFunc(terms, func(x text.Term) bool { return x.Hash == h }) {
					t.Fatalf("%+q is not indexed by its tag %+q", store.SearchText(m), tag)
				}
			}
		}
	})
}
