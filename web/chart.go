package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
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
// idle clock to a little after it fades or ends.
type curve struct {
	Points string
	Marks  []mark
	Under  float64 // where what fades is, from above; zero when it does not
	To     string
	About  string // the same in words
}

// mark is an instant on a curve.
type mark struct {
	X, Top, At   float64 // from the left; where its line begins, and where its words stand
	Text, Anchor string
}

// curveOf draws what the policy says, by the same function that decides.
func curveOf(c engine.Card, now time.Time) curve {
	m := c.Memory
	var out curve
	day := func(t time.Time) string { return engine.Day(t.In(c.Zone)) }
	if m.Pinned || m.Status != oxbow.Active {
		return out
	}
	from := m.RefTime()
	to := from.AddDate(0, 0, int(5*max(1, c.Policy.EffectiveHalfLife(m))))
	if !m.FadesAt.IsZero() {
		to = m.FadesAt.Add(m.FadesAt.Sub(from) / 5)
		out.Under = curveHeight * (1 - c.Policy.ArchiveBelow)
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
	out.Points, out.To = strings.TrimSpace(b.String()), day(to)
	out.About = fmt.Sprintf("Strength, 1 at most: %.2f now, from %s", c.View.Strength, day(from))
	if !m.FadesAt.IsZero() {
		out.Marks = append(out.Marks, markAt(at(m.FadesAt), 60, "fades "+day(m.FadesAt)))
		out.About += fmt.Sprintf("; unused, it is under %.2g and fades on %s", c.Policy.ArchiveBelow, day(m.FadesAt))
	}
	if !m.ExpiresAt.IsZero() && m.ExpiresAt.After(from) && m.ExpiresAt.Before(to) {
		out.Marks = append(out.Marks, markAt(at(m.ExpiresAt), 24, "ends "+day(m.ExpiresAt.Add(-time.Second))))
	}
	if c.Ends != "" {
		out.About += "; it holds until " + c.Ends
	}
	out.About += "."
	if x := at(now); x >= 0 {
		out.Marks = append(out.Marks, mark{X: x, Top: 0, At: curveHeight + 18, Text: "now", Anchor: anchor(x)})
	}
	return out
}

func markAt(x, top float64, words string) mark {
	m := mark{X: x, Top: top, At: top - 6, Text: words, Anchor: "start"} // above the curve, which falls
	if x > curveWidth*2/3 {
		m.Anchor = "end"
	}
	return m
}

// anchor keeps words at the edge of a drawing inside of it.
func anchor(x float64) string {
	switch {
	case x < 80:
		return "start"
	case x > curveWidth-80:
		return "end"
	}
	return "middle"
}

// graph is what a memory replaced on its left and what replaced it on its right.
type graph struct {
	Nodes  []node
	Edges  []edge
	Left   int // where the drawing begins
	Width  int
	Height int
	More   int    // neighbours that are not drawn
	About  string // for who cannot see it
}

// trimmed leaves out the column of a side on which nothing stands.
func (g graph) trimmed(left, right int) graph {
	if left == 0 {
		g.Left += nodeWidth + columnGap
		g.Width -= nodeWidth + columnGap
	}
	if right == 0 {
		g.Width -= nodeWidth + columnGap
	}
	// The frame of a node is drawn on both sides of its edge.
	g.Left, g.Width = g.Left-2, g.Width+4
	return g
}

type node struct {
	X, Y            int
	ID, Text, Label string
	Link            string // the page of it, below the console's root
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

// sides are a memory's neighbours: what it replaced, and what replaced it.
func sides(c engine.Card) (left, right []node) {
	for _, l := range c.Links {
		side, id, newer := &right, l.From, false
		if l.From == c.Memory.ID {
			side, id, newer = &left, l.To, true
		}
		o := c.Others[id]
		*side = append(*side, node{ID: id, Link: "memories/" + id, Text: o.Summary, Status: o.Status, Label: verb(l.Type, newer)})
	}
	return left, right
}

// near gives the neighbours with how each stands to the memory.
func near(c engine.Card) []node {
	left, right := sides(c)
	return append(left, right...)
}

func graphOf(c engine.Card) graph {
	left, right := sides(c)
	if len(left)+len(right) == 0 {
		return graph{}
	}
	g := graph{Width: 3*nodeWidth + 2*columnGap, About: "what it replaced on the left, what replaced it on the right; the list says the same"}
	g.More = max(0, len(left)-mostNodes) + max(0, len(right)-mostNodes)
	left, right = left[:min(len(left), mostNodes)], right[:min(len(right), mostNodes)]
	g.Height = max(len(left), len(right), 1)*(nodeHeight+nodeGap) + nodeGap
	at, middle := nodeWidth+columnGap, g.Height/2-nodeHeight/2
	m := c.Memory
	g.Nodes = append(g.Nodes, node{X: at, Y: middle, ID: m.ID, Link: "memories/" + m.ID, Text: m.Content.Summary, Status: m.Status, Label: engine.Short(m.ID) + " " + string(m.Status), Here: true})
	for i, side := range [][]node{left, right} {
		top := (g.Height - len(side)*(nodeHeight+nodeGap) + nodeGap) / 2
		for k, n := range side {
			n.X, n.Y = 2*i*(nodeWidth+columnGap), top+k*(nodeHeight+nodeGap)
			g.Edges = append(g.Edges, edge{X1: n.X + (1-i)*nodeWidth, Y1: n.Y + nodeHeight/2, X2: at + i*nodeWidth, Y2: middle + nodeHeight/2, Label: n.Label})
			n.Label = engine.Short(n.ID) + " " + string(n.Status)
			g.Nodes = append(g.Nodes, n)
		}
	}
	return g.trimmed(len(left), len(right))
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
	About         string // for who cannot see it
}

type bar struct {
	X, Y, W, H  float64
	Label, Said string
	Told, Last  bool // Said stands over it; and ends where it ends, for the drawing does
}

const (
	barsHeight = 150
	digitWidth = 9 // of what is said over a bar
)

// barsOf draws counts beside each other, the highest one filling the height. Where
// what is said of them would not have room beside each other, it is said of the
// highest only.
func barsOf(name string, counts []int, label func(i int) string) bars {
	out := bars{Width: 600, Height: barsHeight}
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	w := float64(out.Width) / math.Max(1, float64(len(counts)))
	said, room := make([]string, len(counts)), true
	fits := func(n int, in float64) bool { return float64(len(brief(n))*digitWidth) <= in }
	for _, n := range counts {
		room = room && (n == 0 || fits(n, w))
	}
	top := slices.Index(counts, most)
	for i, n := range counts {
		h := float64(n) / float64(most) * (barsHeight - 20)
		out.Bars = append(out.Bars, bar{X: float64(i) * w, Y: barsHeight - h, W: w * 0.85, H: h, Label: label(i), Said: brief(n), Told: n > 0 && (room || i == top), Last: i == len(counts)-1 && !fits(n, w*0.85)})
		said[i] = fmt.Sprintf("%s %d", label(i), n)
	}
	out.About = name + ": " + strings.Join(said, ", ")
	return out
}

// brief writes a number so that it stands over a bar.
func brief(n int) string {
	switch {
	case n < 10_000:
		return strconv.Itoa(n)
	case n < 1_000_000:
		return strconv.Itoa(n/1000) + "k"
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64) + "M"
}
