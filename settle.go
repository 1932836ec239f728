package oxbow

import (
	"slices"
	"time"
)

// Group is a set of related memories: everything that verdicts connect, with
// the verdicts and the links among them.
type Group struct {
	Members  []Memory // a member with Version 0 is new and not stored yet
	Verdicts []Verdict
	Links    []Link
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
//   - an equal restatement is compressed into the active one that it repeats
//     (or takes its place, when it is more trusted or pinned);
//   - a confirmation counts when a user said it, in another conversation, and
//     at most once a day.
//
// Archived, expired, erased and synthesised-away members keep their status, and
// what they retired stays retired. Settling twice changes nothing.
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
}

func newFold(g Group) *fold {
	f := &fold{zone: g.Zone, byID: map[string]*standing{}, verdicts: map[string][]Verdict{}, links: map[Link]bool{}}
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
	for _, v := range f.verdicts[n.m.ID] {
		m := f.byID[v.Older]
		if m.frozen || m.status != Active {
			continue
		}
		switch v.Relation {
		case Contradicts, Replaces:
			f.retire(n, m)
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

// retire lets n take m's place, if it may.
func (f *fold) retire(n, m *standing) {
	if n.status != Active {
		return
	}
	if !m.m.Pinned && n.m.Source.Trust() >= m.m.Source.Trust() {
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
	if n.m.Source != FromUser {
		return
	}
	if c := n.m.Conversation; c != "" {
		if c == m.m.Conversation && m.m.Source == FromUser || slices.Contains(m.conversations, c) {
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

// SameAddress tells whether two memories are facts of the same slot and key.
func SameAddress(a, b Memory) bool {
	return a.IsFact() && a.Scope == b.Scope && a.Slot == b.Slot && a.Key == b.Key
}

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
				retired = append(retired, s.change(Restored, "settled anew after a late statement"))
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
		return "settled anew after a late statement"
	}
	return "a newer statement confirms it"
}
