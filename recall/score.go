package recall

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// fuse puts what several arms found together: one candidate per memory, with all
// that found it and every stage, and the best of its scores.
func fuse(arms ...[]candidate) []candidate {
	at := map[string]int{}
	var out []candidate
	for _, arm := range arms {
		for _, c := range arm {
			i, known := at[c.memory.ID]
			if !known {
				at[c.memory.ID] = len(out)
				out = append(out, c)
				continue
			}
			out[i].match = append(out[i].match, c.match...)
			out[i].stages = append(out[i].stages, c.stages...)
			out[i].score = max(out[i].score, c.score)
		}
	}
	return out
}

// inOrder sorts candidates by score, then the later said first, then by id.
func inOrder(cs []candidate) []candidate {
	slices.SortStableFunc(cs, func(x, y candidate) int {
		return cmp.Or(cmp.Compare(y.score, x.score), y.memory.SaidAt.Compare(x.memory.SaidAt), strings.Compare(x.memory.ID, y.memory.ID))
	})
	return cs
}

// atLeast is the floor: it leaves out what scores less, before anything is cut.
func atLeast(cs []candidate, floor float64) []candidate {
	return slices.DeleteFunc(cs, func(c candidate) bool { return c.score < floor })
}

func cut(cs []candidate, n int) []candidate { return cs[:min(len(cs), n)] }

// halved gives how much is left after some time of what halves in halfLife days:
// 1 for what is not over yet.
func halved(since, now time.Time, halfLifeDays float64) float64 {
	return math.Exp2(-max(0, now.Sub(since).Hours()/24) / halfLifeDays)
}

// changedAt is when a memory last became what it is: said, confirmed or touched.
// Use changes nothing.
func changedAt(m oxbow.Memory) time.Time {
	m.LastUsedAt = time.Time{}
	return m.RefTime()
}

// results gives candidates as they are answered.
func (a *asking) results(cs []candidate) []Result {
	out := make([]Result, len(cs))
	for i, c := range cs {
		out[i] = Result{Memory: c.memory, Score: c.score, Match: strings.Join(c.match, "+"), Confidence: c.memory.Confidence(),
			Strength: a.settings.Policy.StrengthOf(c.memory, a.at), Age: Age(c.memory.SaidAt, a.at, a.settings.Location()),
			Stages: append(c.stages, Stage{"score", c.score})}
	}
	return out
}
