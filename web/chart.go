package web

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
)

// The size of a memory's curve, in units of its drawing.
const (
	curveWidth, curveHeight = 600, 140
	curvePoints             = 60
)

// curve is a memory's strength over time as a drawing: from the start of its
// idle clock to a little after it fades.
type curve struct {
	Points         string
	Now, Fades     float64 // where they stand from the left; below zero when they do not
	From, To, Fade string
	Strength       float64
}

// curveOf draws what the policy says, by the same function that decides.
func curveOf(c engine.Card, now time.Time) curve {
	m := c.Memory
	out := curve{Now: -1, Fades: -1, Strength: c.View.Strength}
	if m.Pinned || m.Status != oxbow.Active {
		return out
	}
	from := m.RefTime()
	to := from.AddDate(0, 0, int(5*max(1, c.Policy.EffectiveHalfLife(m))))
	if !m.FadesAt.IsZero() {
		to = m.FadesAt.Add(m.FadesAt.Sub(from) / 5)
	}
	if !to.After(now) {
		to = now.AddDate(0, 0, 1)
	}
	span := to.Sub(from).Seconds()
	at := func(t time.Time) float64 { return t.Sub(from).Seconds() / span * curveWidth }
	var b strings.Builder
	for i := range curvePoints + 1 {
		t := from.Add(time.Duration(float64(i) / curvePoints * span * float64(time.Second)))
		fmt.Fprintf(&b, "%.1f,%.1f ", at(t), curveHeight*(1-c.Policy.StrengthOf(m, t)))
	}
	out.Points = strings.TrimSpace(b.String())
	out.Now = at(now)
	out.From, out.To = engine.Day(from), engine.Day(to)
	if !m.FadesAt.IsZero() {
		out.Fades, out.Fade = at(m.FadesAt), engine.Day(m.FadesAt)
	}
	return out
}

// graph is what a memory replaced on its left and what replaced it on its right.
type graph struct {
	Nodes  []node
	Edges  []edge
	Width  int
	Height int
	More   int // neighbours that are not drawn
}

type node struct {
	X, Y            int
	ID, Text, Label string
	Status          oxbow.Status
	Here            bool
}

type edge struct {
	X1, Y1, X2, Y2 int
	Label          string
}

// The sizes of the graph.
const (
	nodeWidth, nodeHeight, nodeGap = 200, 44, 14
	columnGap                      = 90
	mostNodes                      = 8 // on one side
)

func graphOf(c engine.Card) graph {
	type side struct{ id, label string }
	var left, right []side
	for _, l := range c.Links {
		switch {
		case l.From == c.Memory.ID:
			left = append(left, side{l.To, verb(l.Type, true)})
		default:
			right = append(right, side{l.From, verb(l.Type, false)})
		}
	}
	g := graph{Width: 3*nodeWidth + 2*columnGap}
	if len(left)+len(right) == 0 {
		return graph{}
	}
	g.More = max(0, len(left)-mostNodes) + max(0, len(right)-mostNodes)
	left, right = left[:min(len(left), mostNodes)], right[:min(len(right), mostNodes)]
	tall := max(len(left), len(right), 1)
	g.Height = tall*(nodeHeight+nodeGap) + nodeGap
	middle := g.Height/2 - nodeHeight/2
	at := nodeWidth + columnGap
	g.Nodes = append(g.Nodes, node{X: at, Y: middle, ID: c.Memory.ID, Text: c.Memory.Content.Summary, Status: c.Memory.Status, Here: true})
	place := func(ss []side, x int, toRight bool) {
		top := (g.Height - len(ss)*(nodeHeight+nodeGap) + nodeGap) / 2
		for i, s := range ss {
			y := top + i*(nodeHeight+nodeGap)
			o := c.Others[s.id]
			g.Nodes = append(g.Nodes, node{X: x, Y: y, ID: s.id, Text: o.Summary, Status: o.Status})
			e := edge{X1: x + nodeWidth, Y1: y + nodeHeight/2, X2: at, Y2: middle + nodeHeight/2, Label: s.label}
			if toRight {
				e = edge{X1: at + nodeWidth, Y1: middle + nodeHeight/2, X2: x, Y2: y + nodeHeight/2, Label: s.label}
			}
			g.Edges = append(g.Edges, e)
		}
	}
	place(left, 0, false)
	place(right, 2*(nodeWidth+columnGap), true)
	return g
}

// verb says what a link means, seen from its newer end or from its older one.
func verb(t oxbow.LinkType, newer bool) string {
	words := map[oxbow.LinkType][2]string{oxbow.Supersedes: {"replaced", "replaced by"}, oxbow.DerivedFrom: {"made from", "part of"},
		oxbow.Confirms: {"confirms", "confirmed by"}, oxbow.ConflictsWith: {"conflicts", "conflicts"}}[t]
	if newer {
		return words[0]
	}
	return words[1]
}

// bars is a bar chart.
type bars struct {
	Bars          []bar
	Width, Height int
}

type bar struct {
	X, Y, W, H  float64
	Label, Name string
	N           int
}

const barsHeight = 150

// barsOf draws counts beside each other, the highest one filling the height.
func barsOf(counts []int, label func(i int) string) bars {
	out := bars{Width: 600, Height: barsHeight}
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	w := float64(out.Width) / math.Max(1, float64(len(counts)))
	for i, n := range counts {
		h := float64(n) / float64(most) * (barsHeight - 20)
		out.Bars = append(out.Bars, bar{X: float64(i) * w, Y: barsHeight - h, W: w * 0.85, H: h, Label: label(i), N: n})
	}
	return out
}
