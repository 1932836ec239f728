package eval

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

type clusterExample struct {
	ID      any    `json:"id"`
	Content string `json:"content"`
	Group   any    `json:"group"`
}

// Clusters are the figures of a judge on the groups of one scope, by pairs of
// memories that stand in one group.
type Clusters struct {
	N      int `json:"n"`
	Groups int `json:"groups"` // that the judge made
	Pairs  int `json:"pairs"`  // by label
	Found  int `json:"found"`  // by the judge
	Right  int `json:"right"`  // both

	Precision float64 `json:"precision"`
	Recall    float64 `json:"recall"`
	F1        float64 `json:"f1"`

	Misses []Miss `json:"misses,omitempty"`
}

// RateClusters asks the judge for the groups of all lines {id, content, group}
// of a file. A memory without a group stands alone.
func RateClusters(ctx context.Context, r io.Reader, j llm.Judge) (Clusters, error) {
	var out Clusters
	var items []llm.Statement
	var groups []string
	err := each(r, func(line int, e clusterExample) error {
		n := len(items)
		items = append(items, llm.Statement{
			Label: fmt.Sprintf("c%d", n+1), Text: e.Content, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: said.Add(time.Duration(n) * time.Hour),
		})
		g := fmt.Sprintf("alone %d", line)
		if e.Group != nil && e.Group != "" {
			g = fmt.Sprintf("group %v", e.Group)
		}
		groups = append(groups, g)
		return nil
	})
	if err != nil {
		return out, err
	}
	made, err := j.Cluster(ctx, items)
	if err != nil {
		return out, err
	}
	got := map[string]int{}
	for i, g := range made {
		for _, l := range g {
			got[l] = i + 1
		}
	}
	out.N, out.Groups = len(items), len(made)
	for a := range items {
		for b := a + 1; b < len(items); b++ {
			out.pair(a, b, items, groups[a] == groups[b], got)
		}
	}
	out.Precision, out.Recall = share(out.Right, out.Found), share(out.Right, out.Pairs)
	out.F1 = f1(out.Precision, out.Recall)
	return out, nil
}

func (c *Clusters) pair(a, b int, items []llm.Statement, want bool, got map[string]int) {
	found := got[items[a].Label] > 0 && got[items[a].Label] == got[items[b].Label]
	if want {
		c.Pairs++
	}
	if found {
		c.Found++
	}
	if want && found {
		c.Right++
	}
	if want != found {
		word := map[bool]string{true: "together", false: "apart"}
		c.Misses = append(c.Misses, Miss{Line: b + 1, Text: items[a].Text + " | " + items[b].Text, Want: word[want], Got: word[found]})
	}
}
