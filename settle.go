package oxbow

import (
	"slices"
	"strings"
	"time"
)

// Group is a set of related memories: everything that verdicts connect, with
// the verdicts and the links among them.
type Group struct {
	Members  []Memory // a member with Version 0 is new and not stored yet
	Verdicts []Verdict
	Links    []Link
	Shown    []Shown        // of members, where statements may confirm them
	Zone     *time.Location // for "at most once a day"
}

// standing is where the fold has brought one member.
type standing struct {
	m             Memory
	frozen        bool // its status is not ours to change
	status        Status
	replacedBy    string
	replacedWhy   string
	confirmations int
	confirmedAt   time.Time
	conversations []string // of the confirmations that counted
	lastDay       string
}

// Settle replays the group's statements in the order in which they were said
// and gives the changes that bring the stored state to the one that follows.
// It is a function of the set, so any order of arrival ends the same
// (DESIGN 3, invariant 4):
//
//   - a statement retires the active older ones that it contradicts or
//     supersedes, unless they are pinned or more trusted: then they conflict,
//     and at the same address the newcomer is the one that is set aside;
//   - facts at one address replace each other, and equal values confirm, without
//     anybody's verdict; a stored verdict that decides the pair goes before that;
//   - an equal restatement is compressed into the active one that it repeats
//     (or takes its place, when it is more trusted or pinned);
//   - an observation or reflection of a conversation acts on nothing but others of
//     its kind; what contradicts or replaces it retires it, and nothing confirms it
//     or is compressed into it or out of it (MayRelate);
//   - a confirmation counts when a user said it, in another turn and another
//     conversation, whose agent had not been shown the memory, and at most
//     once a day.
//
// Archived, expired, erased and synthesised-away members keep their status, and
// what they retired stays retired. So does a reflection that was replaced: what it
// was made from comes back and stands for itself. Settling twice changes nothing.
func Settle(g Group) []Change {
	f := newFold(g)
	for _, s := range f.order {
		f.place(s)
	}
	return f.changes(g.Links)
}

type fold struct {
	zone     *time.Location
	order    []*standing
	byID     map[string]*standing
	verdicts map[string][]Verdict // by the newer one
	links    map[Link]bool
	shown    []Shown
}

func newFold(g Group) *fold {
	f := &fold{zone: g.Zone, shown: g.Shown, byID: map[string]*standing{}, verdicts: map[string][]Verdict{}, links: map[Link]bool{}}
	if f.zone == nil {
		f.zone = time.UTC
	}
	merged := map[string]bool{}
	for _, l := range g.Links {
		if l.Type == DerivedFrom {
			merged[l.To+" "+l.From] = true
		}
	}
	for _, m := range g.Members {
		s := &standing{m: m, status: Active}
		switch m.Status {
		case Archived, Expired, Erased, Quarantined:
			s.frozen = true
		case Compressed:
			s.frozen = merged[m.ID+" "+m.ReplacedBy]
		case Superseded:
			s.frozen = m.Derived && m.IsNote()
		}
		f.order = append(f.order, s)
		f.byID[m.ID] = s
	}
	slices.SortFunc(f.order, func(a, b *standing) int {
		if a.m.Before(b.m) {
			return -1
		}
		return 1
	})
	for _, v := range g.Verdicts {
		if f.byID[v.Older] != nil && f.byID[v.Newer] != nil {
			f.verdicts[v.Newer] = append(f.verdicts[v.Newer], v)
		}
	}
	for _, vs := range f.verdicts {
		slices.SortFunc(vs, func(a, b Verdict) int {
			if f.byID[a.Older].m.Before(f.byID[b.Older].m) {
				return -1
			}
			return 1
		})
	}
	return f
}

// place lets one statement act on those that were said before it.
func (f *fold) place(n *standing) {
	if n.m.Status == Quarantined {
		return
	}
	for _, v := range f.against(n) {
		m := f.byID[v.Older]
		if m.frozen || m.status != Active || !mayAct(n.m, m.m, v.Relation) {
			continue
		}
		switch v.Relation {
		case Contradicts, Replaces:
			f.retire(n, m, v.Judge == Operator)
		case Rejected:
			f.reject(n, m)
		case Unsure:
			f.links[Link{From: n.m.ID, To: m.m.ID, Type: ConflictsWith}] = true
		case ConfirmsIt:
			f.links[Link{From: n.m.ID, To: m.m.ID, Type: Confirms}] = true
			f.confirm(n, m)
		case Equal:
			f.merge(n, m)
		}
	}
}

// MayRelate tells whether what a judge says of two memories can have an effect. A
// note is judged against what was said after it, and no note against anything that
// is none; the words of one turn are not held against what they were condensed into.
func MayRelate(a, b Memory) bool {
	newer, older := a, b
	if a.Before(b) {
		newer, older = b, a
	}
	if !newer.IsNote() && !older.IsNote() {
		return true
	}
	return older.IsNote() && (older.Turn == "" || older.Turn != newer.Turn)
}

// mayAct tells whether a relation of a newer memory to an older one has an effect.
func mayAct(newer, older Memory, r Relation) bool {
	if !newer.IsNote() && !older.IsNote() {
		return true
	}
	return MayRelate(newer, older) && (r == Contradicts || r == Replaces)
}

// against gives the verdicts of n against older members: the stored ones, and
// for a fact those that follow from its address, which holds one value however
// unsure a judge was.
func (f *fold) against(n *standing) []Verdict {
	vs := f.verdicts[n.m.ID]
	if !n.m.IsFact() {
		return vs
	}
	judged := map[string]Relation{}
	for _, v := range vs {
		judged[v.Older] = v.Relation
	}
	for _, m := range f.order {
		if m == n {
			break
		}
		said := judged[m.m.ID]
		// A pin is a later word of the operator than a rejection.
		decided := said == Contradicts || said == Replaces || said == Equal || said == Rejected && !n.m.Pinned
		if !SameAddress(n.m, m.m) || decided || m.m.Status == Quarantined {
			continue
		}
		r := Replaces
		if said == ConfirmsIt || sameValue(n.m.Content, m.m.Content) {
			r = Equal
		}
		vs = append(vs, Verdict{Older: m.m.ID, Newer: n.m.ID, Relation: r})
	}
	return vs
}

// sameValue tells whether two facts of one address hold the same value: in the
// same words, or each in one detail that names the same thing and nothing that
// bounds it: "we use Postgres", "our database is PostgreSQL".
func sameValue(a, b Content) bool {
	if SameText(a.Text, b.Text) {
		return true
	}
	if len(a.Details) != 1 || len(b.Details) != 1 {
		return false
	}
	x, y := a.Details[0], b.Details[0]
	return x.Type == y.Type && x.Value == y.Value && x.names() && y.names()
}

// SameText tells whether two texts say the same words: equal but for case, white
// space and the marks at the end.
func SameText(a, b string) bool { return foldText(a) == foldText(b) }

func foldText(s string) string {
	return strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(s), " ")), ".!? ")
}

// retire lets n take m's place, if it may.
func (f *fold) retire(n, m *standing, operator bool) {
	if n.status != Active {
		return
	}
	// Of two facts at one address a pin decides: the pinned one may be the newer
	// one when the more trusted one arrives late.
	byPin := n.m.Pinned && SameAddress(n.m, m.m)
	if !m.m.Pinned && (byPin || operator || n.m.Source.Trust() >= m.m.Source.Trust()) {
		m.status, m.replacedBy, m.replacedWhy = Superseded, n.m.ID, "a newer statement replaced it"
		f.links[Link{From: n.m.ID, To: m.m.ID, Type: Supersedes}] = true
		return
	}
	f.links[Link{From: n.m.ID, To: m.m.ID, Type: ConflictsWith}] = true
	if !n.frozen && SameAddress(n.m, m.m) {
		n.status, n.replacedBy = Superseded, m.m.ID
		n.replacedWhy = "a more trusted fact holds this address"
		if m.m.Pinned {
			n.replacedWhy = "a pinned fact holds this address"
		}
	}
}

// reject sets n aside, because an operator kept m.
func (f *fold) reject(n, m *standing) {
	f.links[Link{From: n.m.ID, To: m.m.ID, Type: ConflictsWith}] = true
	if !n.frozen && !n.m.Pinned && n.status == Active {
		n.status, n.replacedBy, n.replacedWhy = Superseded, m.m.ID, "an operator kept the older one"
	}
}

// merge compresses an equal restatement into the one it repeats.
func (f *fold) merge(n, m *standing) {
	if n.status != Active || n.frozen {
		return
	}
	f.links[Link{From: n.m.ID, To: m.m.ID, Type: Confirms}] = true
	takesOver := !m.m.Pinned && (n.m.Pinned || n.m.Source.Trust() > m.m.Source.Trust())
	switch {
	case takesOver:
		m.status, m.replacedBy, m.replacedWhy = Compressed, n.m.ID, "a more trusted statement says the same"
	case n.m.Pinned: // both are pinned
	default:
		f.confirm(n, m)
		n.status, n.replacedBy, n.replacedWhy = Compressed, m.m.ID, "it repeats what was known"
	}
}

// confirm counts n as a confirmation of m, if it counts.
func (f *fold) confirm(n, m *standing) {
	if n.m.Source != FromUser || n.m.Turn != "" && n.m.Turn == m.m.Turn {
		return
	}
	if c := n.m.Conversation; c != "" {
		if c == m.m.Conversation && m.m.Source == FromUser || slices.Contains(m.conversations, c) || f.heard(n.m, m.m.ID) {
			return
		}
	}
	day := n.m.SaidAt.In(f.zone).Format(time.DateOnly)
	if day == m.lastDay {
		return
	}
	m.confirmations++
	m.confirmedAt, m.lastDay = n.m.SaidAt, day
	m.conversations = append(m.conversations, n.m.Conversation)
}

// heard tells whether the agent of a statement's conversation had been shown a
// memory before the statement was made, which is then an echo of it.
func (f *fold) heard(n Memory, memory string) bool {
	return slices.ContainsFunc(f.shown, func(s Shown) bool {
		return s.Memory == memory && s.Conversation == n.Conversation && !s.At.After(n.SaidAt)
	})
}

// SameAddress tells whether two memories are facts of the same slot and key.
func SameAddress(a, b Memory) bool {
	return a.IsFact() && a.Scope == b.Scope && a.Slot == b.Slot && a.Key == b.Key
}

// resettled is the reason of what follows from a change elsewhere in the group: a
// statement that came late, an edit, a restoration.
const resettled = "settled anew, because what it was compared with has changed"

// changes compares where the fold ended with what is stored. Retirements come
// before restorations and creations, so that an address is free before it is
// taken.
func (f *fold) changes(stored []Link) []Change {
	links := f.diffLinks(stored)
	var retired, raised, created []Change
	for _, s := range f.order {
		switch {
		case s.m.Version == 0:
			created = append(created, s.create(links))
		case s.frozen || s.status == s.m.Status && s.replacedBy == s.m.ReplacedBy:
		case s.status == Active:
			raised = append(raised, s.change(Restored, "what had replaced it no longer does"))
		default:
			if s.m.Status != Active {
				retired = append(retired, s.change(Restored, resettled))
			}
			retired = append(retired, s.retirement(links))
		}
		if c, ok := s.reinforcement(links); ok {
			raised = append(raised, c)
		}
	}
	return slices.Concat(retired, raised, created, f.leftover(links))
}

// pending holds the edges to add and take away that no change carries yet.
type pending struct{ add, remove map[Link]bool }

func (f *fold) diffLinks(stored []Link) pending {
	p := pending{add: map[Link]bool{}, remove: map[Link]bool{}}
	for l := range f.links {
		p.add[l] = true
	}
	for _, l := range stored {
		if p.add[l] {
			delete(p.add, l)
			continue
		}
		from, to := f.byID[l.From], f.byID[l.To]
		ours := l.Type != DerivedFrom && from != nil && to != nil && !from.frozen && !to.frozen
		if ours && !f.links[l] {
			p.remove[l] = true
		}
	}
	return p
}

// take gives, and strikes off, the edges that touch an id in a role.
func (p pending) take(keep func(Link) bool) (add, remove []Link) {
	for l := range p.add {
		if keep(l) {
			add = append(add, l)
			delete(p.add, l)
		}
	}
	for l := range p.remove {
		if keep(l) {
			remove = append(remove, l)
			delete(p.remove, l)
		}
	}
	sortLinks(add)
	sortLinks(remove)
	return add, remove
}

func sortLinks(ls []Link) {
	slices.SortFunc(ls, func(a, b Link) int {
		switch {
		case a.From != b.From:
			return cmpString(a.From, b.From)
		case a.To != b.To:
			return cmpString(a.To, b.To)
		}
		return cmpString(string(a.Type), string(b.Type))
	})
}

func cmpString(a, b string) int {
	if a < b {
		return -1
	}
	if a > b {
		return 1
	}
	return 0
}

func (s *standing) change(t EventType, reason string) Change {
	return Change{Type: t, Memory: s.m.ID, Reason: reason}
}

func (s *standing) create(p pending) Change {
	n := s.m
	if !s.frozen {
		n.Status, n.ReplacedBy = s.status, s.replacedBy
	}
	n.Confirmations, n.ConfirmedAt = s.confirmations, s.confirmedAt
	c := Change{Type: Created, Memory: n.ID, New: &n, Reason: s.replacedWhy}
	c.Links, c.Unlinks = p.take(func(l Link) bool { return l.To == n.ID || l.From == n.ID && n.Status == Compressed })
	return c
}

func (s *standing) retirement(p pending) Change {
	t := SupersededBy
	if s.status == Compressed {
		t = CompressedTo
	}
	c := s.change(t, s.replacedWhy)
	c.Set.ReplacedBy = &s.replacedBy
	c.Links, c.Unlinks = p.take(func(l Link) bool {
		if s.status == Compressed && l.Type == Confirms {
			return l.From == s.m.ID && l.To == s.replacedBy || l.To == s.m.ID && l.From == s.replacedBy
		}
		return l.To == s.m.ID && l.Type == Supersedes
	})
	return c
}

func (s *standing) reinforcement(p pending) (Change, bool) {
	if s.m.Version == 0 || s.frozen ||
		s.confirmations == s.m.Confirmations && s.confirmedAt.Equal(s.m.ConfirmedAt) {
		return Change{}, false
	}
	c := s.change(Reinforced, "a later statement confirms it")
	if s.confirmations < s.m.Confirmations {
		c.Reason = "a confirmation no longer counts"
	}
	c.Set.Confirmations, c.Set.ConfirmedAt = &s.confirmations, &Instant{s.confirmedAt}
	c.Links, c.Unlinks = p.take(func(l Link) bool { return l.To == s.m.ID && l.Type == Confirms })
	return c, true
}

// leftover gives one linked change per memory for the edges that no other
// change carries.
func (f *fold) leftover(p pending) []Change {
	var out []Change
	for _, s := range f.order {
		add, remove := p.take(func(l Link) bool { return l.To == s.m.ID })
		if len(add)+len(remove) == 0 {
			continue
		}
		c := s.change(Linked, linkReason(add))
		c.Links, c.Unlinks = add, remove
		out = append(out, c)
	}
	return out
}

func linkReason(add []Link) string {
	for _, l := range add {
		if l.Type == ConflictsWith {
			return "a newer statement conflicts with it"
		}
	}
	if len(add) == 0 {
		return resettled
	}
	return "a newer statement confirms it"
}
