package eval

import (
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// RecallStore is one line of a file for oxbow eval recall: what was said, in
// the order in which it was said, and questions about it.
type RecallStore struct {
	ID       string
	Memories []RecallMemory
	Queries  []RecallQuery
}

// RecallMemory is one thing said. At is never zero: a line without a time takes
// that of the line before it.
type RecallMemory struct {
	ID           string
	Conversation string
	At           time.Time
	Speaker      string // user, assistant, or a name
	Content      string
}

// RecallQuery is a question with the memories that answer it. Without any it
// is one that the store cannot answer. Old and New are the memories of an
// update: those that were true before it, and those that are true since.
type RecallQuery struct {
	ID       string
	Category string
	Text     string
	Relevant []string
	Old, New []string
}

// label reads an id or a category, which some files write as a number.
type label string

// UnmarshalJSON takes a string or a number.
func (l *label) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err == nil {
		*l = label(s)
		return nil
	}
	var n json.Number
	if err := json.Unmarshal(b, &n); err != nil {
		return err
	}
	*l = label(n.String())
	return nil
}

func plain(ls []label) []string {
	out := make([]string, len(ls))
	for i, l := range ls {
		out[i] = string(l)
	}
	return out
}

type recallLine struct {
	ID       label `json:"id"`
	Memories []struct {
		ID           label  `json:"id"`
		Conversation label  `json:"conversation"`
		At           string `json:"at"`
		Speaker      string `json:"speaker"`
		Content      string `json:"content"`
	} `json:"memories"`
	Queries []struct {
		ID       label   `json:"id"`
		Category label   `json:"category"`
		Query    string  `json:"query"`
		Relevant []label `json:"relevant"`
		Old      []label `json:"old"`
		New      []label `json:"new"`
	} `json:"queries"`
}

// firstDay is when a store begins that does not say when.
var firstDay = time.Date(2026, 1, 1, 9, 0, 0, 0, time.UTC)

// ReadRecall reads the stores of a file {id, memories[{id, conversation, at,
// speaker, content}], queries[{id, category, query, relevant[ids], old[ids],
// new[ids]}]}. A line that is not of this form is an invalid error that names
// its number: that is also one with an id twice, a memory without an id, or a
// time that cannot be read.
func ReadRecall(r io.Reader) ([]RecallStore, error) {
	var out []RecallStore
	seen := map[string]int{}
	err := each(r, func(n int, l recallLine) error {
		s, err := l.store(n)
		if err != nil {
			return err
		}
		if was := seen[s.ID]; was != 0 {
			return oxbow.Errorf(oxbow.CodeInvalid, "line %d is the store %q once more, which stands in line %d: give it another id", n, s.ID, was)
		}
		seen[s.ID] = n
		out = append(out, s)
		return nil
	})
	return out, err
}

func (l recallLine) store(n int) (RecallStore, error) {
	s := RecallStore{ID: string(l.ID)}
	if s.ID == "" {
		s.ID = "line " + strconv.Itoa(n)
	}
	if len(l.Memories) == 0 && len(l.Queries) == 0 {
		return s, oxbow.Errorf(oxbow.CodeInvalid, "line %d has neither memories nor queries; docs/evaluation.md has the form of a store", n)
	}
	at, ids := firstDay, map[label]bool{}
	for i, m := range l.Memories {
		if m.ID == "" || ids[m.ID] {
			return s, oxbow.Errorf(oxbow.CodeInvalid, "line %d: memory %d has no id of its own", n, i+1)
		}
		ids[m.ID] = true
		if m.At != "" {
			t, err := instant(m.At)
			if err != nil {
				return s, oxbow.WrapError(oxbow.CodeInvalid, err, "line %d: memory %d", n, i+1)
			}
			at = t.UTC()
		}
		s.Memories = append(s.Memories, RecallMemory{ID: string(m.ID), Conversation: string(m.Conversation), At: at, Speaker: m.Speaker, Content: m.Content})
	}
	for i, q := range l.Queries {
		if strings.TrimSpace(q.Query) == "" {
			return s, oxbow.Errorf(oxbow.CodeInvalid, "line %d: query %d has no words", n, i+1)
		}
		id := string(q.ID)
		if id == "" {
			id = s.ID + " " + strconv.Itoa(i+1)
		}
		s.Queries = append(s.Queries, RecallQuery{ID: id, Category: string(q.Category), Text: q.Query,
			Relevant: plain(q.Relevant), Old: plain(q.Old), New: plain(q.New)})
	}
	return s, nil
}

// Pool puts stores into one, as if one user had said it all. Ids get the store's
// in front, so that a memory of another store is never taken for the right one.
func Pool(stores []RecallStore) RecallStore {
	out := RecallStore{ID: "pooled"}
	for _, s := range stores {
		in := func(ids []string) []string {
			made := make([]string, len(ids))
			for i, id := range ids {
				made[i] = s.ID + "/" + id
			}
			return made
		}
		for _, m := range s.Memories {
			m.ID, m.Conversation = s.ID+"/"+m.ID, s.ID+"/"+m.Conversation
			out.Memories = append(out.Memories, m)
		}
		for _, q := range s.Queries {
			q.Relevant, q.Old, q.New = in(q.Relevant), in(q.Old), in(q.New)
			out.Queries = append(out.Queries, q)
		}
	}
	return out
}

// OfCategories leaves only the queries of some categories; none leaves all.
func OfCategories(stores []RecallStore, categories []string) []RecallStore {
	if len(categories) == 0 {
		return stores
	}
	out := slices.Clone(stores)
	for i := range out {
		var keep []RecallQuery
		for _, q := range out[i].Queries {
			if slices.Contains(categories, q.Category) {
				keep = append(keep, q)
			}
		}
		out[i].Queries = keep
	}
	return out
}

// Unknown counts the ids in answers that name no memory of their store: nothing
// can find them, so they hold every figure down.
func Unknown(stores []RecallStore) int {
	n := 0
	for _, s := range stores {
		ids := map[string]bool{}
		for _, m := range s.Memories {
			ids[m.ID] = true
		}
		for _, q := range s.Queries {
			for _, id := range slices.Concat(q.Relevant, q.Old, q.New) {
				if !ids[id] {
					n++
				}
			}
		}
	}
	return n
}
