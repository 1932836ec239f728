package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/text"
	"github.com/oxbow-memory/oxbow/llm"
)

// offered is how many earlier messages are shown to the judge with each, those
// with the rarest words in common first: two pages of a contradiction job.
const offered = 20

type chatExample struct {
	ID       string `json:"id"`
	Memories []struct {
		ID      string `json:"id"`
		At      string `json:"at"`
		Speaker string `json:"speaker"`
		Content string `json:"content"`
	} `json:"memories"`
}

type updateExample struct {
	Chat string      `json:"chat"`
	Kind string      `json:"kind"`
	Old  []statement `json:"old"`
	New  []statement `json:"new"`
}

// statement is a message of a chat, by its number there.
type statement struct {
	ID json.Number `json:"id"`
}

// Updates are the figures of a judge on whole chats: for how many of the known
// updates and contradictions it flagged the two messages, be it as contradicted,
// superseded or conflicting, and how much it flagged in all.
type Updates struct {
	N       int `json:"n"`
	Flagged int `json:"flagged"`
	// Retired are those of Flagged that were superseded or contradicted.
	Retired int `json:"retired"`
	// Messages are the user messages read; Flags the older messages flagged by
	// newer ones, and Retirements those of them superseded or contradicted.
	Messages    int `json:"messages"`
	Flags       int `json:"flags"`
	Retirements int `json:"retirements"`

	Recall      float64           `json:"recall"`
	Low         float64           `json:"low"` // of the 95 % interval (Wilson)
	High        float64           `json:"high"`
	FlagsPer100 float64           `json:"flags_per_100"`
	ByKind      map[string]OfType `json:"by_kind"`

	Misses []Miss `json:"misses,omitempty"`
}

// RateUpdates reads the known pairs {chat, kind, old, new} and the chats {id,
// memories} they belong to, and asks the judge about each user message against
// the earlier ones of its chat.
func RateUpdates(ctx context.Context, pairs, chats io.Reader, j llm.Judge) (Updates, error) {
	out := Updates{ByKind: map[string]OfType{}}
	flags := map[string]oxbow.Relation{}
	err := each(chats, func(_ int, c chatExample) error { return out.chat(ctx, j, c, flags) })
	if err != nil {
		return out, err
	}
	err = each(pairs, func(line int, e updateExample) error {
		out.N++
		found, retired := false, false
		for _, o := range e.Old {
			for _, n := range e.New {
				r, ok := flags[flagKey(e.Chat, o.ID.String(), n.ID.String())]
				found, retired = found || ok, retired || ok && r != oxbow.Unsure
			}
		}
		k := out.ByKind[e.Kind]
		k.N++
		if found {
			out.Flagged++
			k.Right++
		} else {
			out.Misses = append(out.Misses, Miss{Line: line, Text: fmt.Sprintf("%s %v → %v", e.Chat, e.Old, e.New), Want: e.Kind, Got: "not flagged"})
		}
		if retired {
			out.Retired++
		}
		k.Exact = share(k.Right, k.N)
		out.ByKind[e.Kind] = k
		return nil
	})
	out.Recall, out.FlagsPer100 = share(out.Flagged, out.N), 100*share(out.Flags, out.Messages)
	out.Low, out.High = wilson(out.Flagged, out.N)
	return out, err
}

// flagKey names two messages of a chat, whichever is the newer one.
func flagKey(chat, a, b string) string {
	if a > b {
		a, b = b, a
	}
	return chat + " " + a + " " + b
}

func (u *Updates) chat(ctx context.Context, j llm.Judge, c chatExample, flags map[string]oxbow.Relation) error {
	var said []llm.Statement
	start := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i, m := range c.Memories {
		if m.Speaker != "user" {
			continue
		}
		said = append(said, llm.Statement{Label: m.ID, Text: m.Content, Kind: oxbow.Semantic, Source: oxbow.FromUser, SaidAt: start.Add(time.Duration(i) * time.Hour)})
	}
	u.Messages += len(said)
	near := newNeighbours(said)
	for i, s := range said {
		rs, err := j.Relate(ctx, s, near.before(i))
		if err != nil {
			return err
		}
		for _, r := range rs {
			if r.Relation != oxbow.Contradicts && r.Relation != oxbow.Replaces && r.Relation != oxbow.Unsure {
				continue
			}
			flags[flagKey(c.ID, r.Label, s.Label)] = r.Relation
			u.Flags++
			if r.Relation != oxbow.Unsure {
				u.Retirements++
			}
		}
	}
	return nil
}

// neighbours finds, for each statement, the earlier ones with the rarest words
// in common.
type neighbours struct {
	said  []llm.Statement
	terms [][]text.Term
	in    map[int64]int
}

func newNeighbours(said []llm.Statement) *neighbours {
	n := &neighbours{said: said, in: map[int64]int{}}
	for _, s := range said {
		ts, _ := text.Analyse(s.Text)
		for _, t := range ts {
			n.in[t.Hash]++
		}
		n.terms = append(n.terms, ts)
	}
	return n
}

func (n *neighbours) before(i int) []llm.Statement {
	type scored struct {
		at    int
		score float64
	}
	own := map[int64]bool{}
	for _, t := range n.terms[i] {
		own[t.Hash] = true
	}
	var all []scored
	for k := range i {
		score := 0.0
		for _, t := range n.terms[k] {
			if own[t.Hash] {
				score += math.Log(float64(len(n.said)+1) / float64(n.in[t.Hash]))
			}
		}
		if score > 0 {
			all = append(all, scored{k, score / math.Sqrt(float64(len(n.terms[k])+10))})
		}
	}
	slices.SortStableFunc(all, func(a, b scored) int {
		switch {
		case a.score > b.score:
			return -1
		case a.score < b.score:
			return 1
		}
		return b.at - a.at
	})
	var out []llm.Statement
	for _, s := range all[:min(offered, len(all))] {
		o := n.said[s.at]
		o.Text = strings.ToValidUTF8(o.Text, "")
		out = append(out, o)
	}
	return out
}

// wilson gives the 95 % interval of a share.
func wilson(k, n int) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z = 1.96
	p, m := float64(k)/float64(n), float64(n)
	mid := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m)) / (1 + z*z/m)
	return max(0, mid-half), min(1, mid+half)
}
