package store

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// Plan is what a call of Apply has to write, worked out before anything is
// written. Both databases write the same plan.
type Plan struct {
	index map[indexKey]Indexed // what IndexOf gave, so that a text is analysed once

	Applied
	Created  []oxbow.Memory // new rows, as they end
	Updated  []Update       // changed rows, as they end
	Contents []NewContent
	Indexed  []oxbow.Memory // memories whose text is to be indexed
	Reworded []oxbow.Memory // memories whose old text is to leave the index first, as they were
}

// Update is a row that changed. Narrow tells that nothing but status,
// replaced_by and version did, so that most indexes need not be touched.
type Update struct {
	oxbow.Memory
	Was    int // the version it had
	Narrow bool
}

// NewContent is a content row to insert.
type NewContent struct {
	oxbow.Seal
	Owner   string
	Content oxbow.Content
}

// IDs gives the ids of the memories that changes are about and that exist
// already, sorted: the rows to lock, in the order to lock them.
func IDs(changes []oxbow.Change) []string {
	var ids []string
	for _, c := range changes {
		if c.New == nil {
			ids = append(ids, c.Memory)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// NeedsContent tells whether changes take words out of the index, so that the
// plan has to know them; most passes touch no words.
func NeedsContent(changes []oxbow.Change) bool {
	return slices.ContainsFunc(changes, func(c oxbow.Change) bool {
		return c.New == nil && (c.Content != nil || c.Set.Key != nil || c.Set.ContentID != nil || c.Type == oxbow.ErasedEvent)
	})
}

// NewPlan applies the changes, each to what the one before it left, to the
// locked rows. A change of a memory that is not among them is not_found.
func NewPlan(b Batch, p oxbow.Policy, rows []oxbow.Memory, changes []oxbow.Change) (*Plan, error) {
	w := planner{plan: &Plan{}, batch: b, policy: p, now: map[string]*state{}}
	for _, m := range rows {
		w.now[m.ID] = &state{m: m, was: m}
	}
	for _, c := range changes {
		if err := w.apply(c); err != nil {
			return nil, err
		}
	}
	w.finish()
	return w.plan, nil
}

type state struct {
	m, was  oxbow.Memory
	created bool
	listed  bool
}

type planner struct {
	plan   *Plan
	batch  Batch
	policy oxbow.Policy
	now    map[string]*state
	order  []*state
}

func (w *planner) apply(c oxbow.Change) error {
	s := w.now[c.Memory]
	if c.New != nil {
		if s != nil {
			return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is there already", c.Memory)
		}
		s = &state{created: true}
	}
	if s == nil {
		return oxbow.Errorf(oxbow.CodeNotFound, "there is no memory %s", c.Memory)
	}
	if c.Type == oxbow.ErasedEvent && (s.created || s.m.ContentVersion != s.was.ContentVersion) {
		// Erase takes the stored words out of the index, so they must be those in it.
		return oxbow.Errorf(oxbow.CodeConflict, "the memory %s is changed and erased at once; erase it by itself", c.Memory)
	}
	if content := c.NewContent(); content != nil {
		c.Seal = seal(c.Memory, s.m.ContentVersion+1, *content)
	}
	after, e, err := c.Apply(s.m, w.policy, w.batch.Now)
	if errors.Is(err, oxbow.ErrStale) {
		w.plan.Stale = append(w.plan.Stale, c)
		return nil
	}
	if err != nil {
		return err
	}
	if content := c.NewContent(); content != nil {
		w.plan.Contents = append(w.plan.Contents, NewContent{Seal: c.Seal, Owner: after.ID, Content: *content})
	}
	s.m = after
	if w.now[after.ID] == nil {
		w.now[after.ID] = s
	}
	if !s.listed {
		s.listed = true
		w.order = append(w.order, s)
	}
	e.Scope, e.Run, e.RecordedAt = w.batch.Scope, w.batch.Run, w.batch.RecordedAt
	w.plan.Events = append(w.plan.Events, e)
	return nil
}

func seal(memory string, version int, c oxbow.Content) oxbow.Seal {
	salt := make([]byte, 16)
	if _, err := rand.Read(salt); err != nil { // never fails on supported systems
		panic(err)
	}
	s := oxbow.Seal{ContentID: oxbow.NewID("content", memory, strconv.Itoa(version)), Salt: hex.EncodeToString(salt)}
	s.Digest = oxbow.Digest(s.Salt, c)
	return s
}

// finish sorts what changed into what is to be written. Memories that leave an
// address come before those that take it.
func (w *planner) finish() {
	for _, s := range w.order {
		switch {
		case s.created:
			w.plan.Created = append(w.plan.Created, s.m)
			w.plan.Indexed = append(w.plan.Indexed, s.m)
			continue
		case (s.m.ContentID != s.was.ContentID || s.m.Key != s.was.Key) && s.m.Status != oxbow.Erased:
			w.plan.Reworded = append(w.plan.Reworded, s.was)
			w.plan.Indexed = append(w.plan.Indexed, s.m)
		}
		w.plan.Updated = append(w.plan.Updated, Update{Memory: s.m, Was: s.was.Version, Narrow: narrow(s.was, s.m)})
	}
	slices.SortStableFunc(w.plan.Updated, func(a, b Update) int { return activeLast(a.Status) - activeLast(b.Status) })
}

func activeLast(s oxbow.Status) int {
	if s == oxbow.Active {
		return 1
	}
	return 0
}

func narrow(was, m oxbow.Memory) bool {
	was.Status, was.ReplacedBy, was.Version = m.Status, m.ReplacedBy, m.Version
	was.Content, m.Content = oxbow.Content{}, oxbow.Content{}
	before, after := oxbow.Diff(was, m)
	return before == after && was.HalfLife == m.HalfLife && was.RankKey == m.RankKey && was.FadesAt.Equal(m.FadesAt)
}

// LinksJSON gives the links of an event as they are stored, "" for none.
func LinksJSON(ls []oxbow.Link) string {
	if len(ls) == 0 {
		return ""
	}
	b, err := json.Marshal(ls)
	if err != nil { // strings always marshal
		panic(err)
	}
	return string(b)
}

// JSON gives a value of the vocabulary as it is stored.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // the vocabulary always marshals
		panic(err)
	}
	return string(b)
}

// SearchText is what of a memory is indexed: who said it, its key, its text and
// its tags.
func SearchText(m oxbow.Memory) string {
	t := m.Content.Text
	if m.Key != "" {
		t = m.Key + " " + t
	}
	if strings.Contains(m.Key, "_") { // one word to the index, and several to people
		t = strings.ReplaceAll(m.Key, "_", " ") + " " + t
	}
	if m.Content.Speaker != "" {
		t = m.Content.Speaker + " " + t
	}
	for _, tag := range m.Content.Tags {
		t += " " + tag
	}
	return t
}

// IDsOf gives the ids of memories.
func IDsOf(ms []oxbow.Memory) []string {
	ids := make([]string, len(ms))
	for i, m := range ms {
		ids[i] = m.ID
	}
	return ids
}

// Sorted gives the ids in the order in which rows are locked, without repeats.
func Sorted(ids []string) []string {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.Compact(out)
}
