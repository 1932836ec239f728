package recall

import (
	"strings"

	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// restShare is the share of a budget that the summary of the rest may take.
const restShare = 4 // a quarter

// tokens estimates what a result takes in a prompt.
func tokens(line string) int { return llm.TokensOf(len(line) + 1) }

// withinBudget gives the results that fit into the query's budget as they are
// rendered, best first, and one block that sums up the others, rather than leave
// out what is left by accident. When everything fits, nothing is set aside.
func (a *asking) withinBudget(rs []Result) ([]Result, *Rest) {
	budget, zone := a.q.Budget, a.settings.Location()
	if budget == 0 {
		return rs, nil
	}
	cost, total := make([]int, len(rs)), 0
	for i, r := range rs {
		cost[i] = tokens(line(r, a.at, zone))
		total += cost[i]
	}
	if total <= budget {
		return rs, nil
	}
	room, kept := budget-budget/restShare, 0
	for kept < len(rs) && cost[kept] <= room {
		room -= cost[kept]
		kept++
	}
	return rs[:kept], sumUp(rs[kept:], room+budget/restShare)
}

// shortestClip is how many characters of a memory say anything.
const shortestClip = 16

// sumUp tells memories in few words: the beginning of each, as long as the
// budget allows, and how many are only counted.
func sumUp(rs []Result, budget int) *Rest {
	rest := &Rest{}
	for _, r := range rs {
		rest.IDs = append(rest.IDs, r.Memory.ID)
	}
	frame := len(restLine(&Rest{IDs: rest.IDs}))
	each := max(shortestClip, (4*budget-frame)/len(rs)-2)
	var parts []string
	left := 4*budget - frame
	for _, r := range rs {
		words := text.Clip(r.Memory.Content.Summary, each)
		if words == "" {
			words = text.Clip(r.Memory.Content.Text, each)
		}
		if left -= len(words) + 2; left < 0 {
			break
		}
		parts = append(parts, words)
	}
	rest.Text = strings.Join(parts, "; ")
	return rest
}
