package store

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Ranked is a memory's id with its RankKey.
type Ranked struct {
	ID      string
	RankKey float64
}

// rankChunk is how many rows a class gives at a time.
const rankChunk = 24

// MergeRanked gives the limit best of several half-life classes (in days, 0 for
// pinned). page gives n rows of a class in the order of its index after skip
// rows. A class is asked again only while its next row could still be among the
// best, so the work is about limit rows plus a chunk for each class.
func MergeRanked(classes []float64, now time.Time, limit int, page func(class float64, n, skip int) ([]Ranked, error)) ([]Ranked, error) {
	type row struct {
		Ranked
		score float64 // log2 of the standing at now
	}
	var best []row
	for _, class := range classes {
		age := 0.0
		if class > 0 {
			age = float64(now.UnixMilli()) / (86_400_000 * class)
		}
		for skip := 0; skip < limit; skip += rankChunk {
			rows, err := page(class, min(rankChunk, limit-skip), skip)
			if err != nil {
				return nil, err
			}
			for _, r := range rows {
				best = append(best, row{r, r.RankKey - age})
			}
			slices.SortFunc(best, func(a, b row) int {
				if a.score != b.score {
					return cmpDesc(a.score, b.score)
				}
				return strings.Compare(a.ID, b.ID)
			})
			full := len(best) >= limit
			best = best[:min(len(best), limit)]
			if len(rows) < rankChunk || full && rows[len(rows)-1].RankKey-age < best[limit-1].score {
				break
			}
		}
	}
	out := make([]Ranked, len(best))
	for i, r := range best {
		out[i] = r.Ranked
	}
	return out, nil
}

func cmpDesc(a, b float64) int {
	switch {
	case a > b:
		return -1
	case a < b:
		return 1
	}
	return 0
}

// ByStanding orders memories by importance * confidence * strength at now,
// descending, then by id, and leaves out what is not live or not over the
// policy's ListAbove.
func ByStanding(ms []oxbow.Memory, p oxbow.Policy, now time.Time, limit int) []oxbow.Memory {
	out := slices.DeleteFunc(slices.Clone(ms), func(m oxbow.Memory) bool {
		return !m.Live(now) || p.StrengthOf(m, now) <= p.ListAbove
	})
	slices.SortFunc(out, func(a, b oxbow.Memory) int {
		if d := cmpDesc(p.Standing(a, now), p.Standing(b, now)); d != 0 {
			return d
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out[:min(len(out), limit)]
}

// IDF is the weight of a term that stands in df of n texts, after Robertson
// and Spärck Jones, floored so that a common term never counts against a text.
func IDF(n, df int) float64 {
	return max(1e-6, math.Log((float64(n)-float64(df)+0.5)/(float64(df)+0.5)+1))
}
