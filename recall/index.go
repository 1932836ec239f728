package recall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

const (
	indexSize  = 60
	indexPicks = 6
)

// index is the published design without an index: the judge reads the summaries
// of the 60 best active memories by importance * confidence * strength, of those
// whose strength is over the policy's list_above (0.15), and picks at most six.
// It sees labels and no ids. The score is the standing, importance * confidence *
// strength / 10; the order is the judge's.
func index(ctx context.Context, a *asking) ([]candidate, error) {
	if a.cfg.Selector == nil {
		return nil, oxbow.Errorf(oxbow.CodeUnsupported, "the judge cannot select memories: recall by another strategy")
	}
	listed, err := a.listed(ctx)
	if err != nil || len(listed) == 0 {
		return nil, err
	}
	items, byLabel, owners := make([]llm.Statement, len(listed)), map[string]oxbow.Memory{}, make([]string, len(listed))
	for i, m := range listed {
		label := fmt.Sprintf("c%d", i+1)
		byLabel[label], owners[i] = m, m.ID
		items[i] = llm.Statement{Label: label, Text: summary(m), Kind: m.Kind, Key: m.Key, Source: m.Source, SaidAt: m.SaidAt}
	}
	question := a.cue.words
	if a.cue.state != question {
		question = strings.TrimSpace(question + "\n" + a.cue.state)
	}
	ctx = llm.WithCaller(ctx, llm.Caller{Tenant: a.q.Scope.Tenant, Scope: a.q.Scope.Name, Job: "recall", Owners: owners})
	picked, err := a.cfg.Selector.Select(ctx, question, items, min(indexPicks, a.q.Limit))
	if errors.Is(err, llm.ErrUnparsable) {
		a.note("the judge's choice does not parse: nothing was picked")
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []candidate
	for _, label := range picked {
		m, offered := byLabel[label]
		if !offered || len(out) == indexPicks {
			continue
		}
		delete(byLabel, label) // once
		c := candidate{memory: m, match: []string{byIndex}, score: min(1, a.settings.Policy.Standing(m, a.at)/10)}
		c.stage("standing", 10*c.score)
		out = append(out, c)
	}
	return out, nil
}

func summary(m oxbow.Memory) string {
	if m.Content.Summary != "" {
		return m.Content.Summary
	}
	return m.Content.Text
}

const (
	listPage = 500
	// maxListed bounds how many memories of a scope are looked at when its live
	// listing cannot be asked.
	maxListed = 20_000
)

// listed gives the 60 memories that the judge reads: from the live listing, or,
// for another instant or further statuses, by looking at every memory.
func (a *asking) listed(ctx context.Context) ([]oxbow.Memory, error) {
	if a.past == nil && len(a.q.Include) == 0 && !a.wantsNotes() {
		n := indexSize
		if a.q.Kind != "" || a.q.Slot != "" || a.q.Tag != "" {
			n = maxHits // most of them may not fit
		}
		ms, err := a.cfg.Store.StrongestMemories(ctx, a.settings, a.at, n)
		return cutTo(slices.DeleteFunc(ms, func(m oxbow.Memory) bool { return !a.fits(m) }), indexSize), err
	}
	var all []oxbow.Memory
	for after, seen := "", 0; ; {
		page, err := a.cfg.Store.AllMemories(ctx, a.q.Scope, after, listPage)
		if err != nil {
			return nil, err
		}
		last := len(page) < listPage
		if seen += len(page); len(page) > 0 {
			after = page[len(page)-1].ID
		}
		if page, err = a.admitted(ctx, page); err != nil {
			return nil, err
		}
		all = append(all, page...)
		if last {
			break
		}
		if seen >= maxListed {
			a.note(fmt.Sprintf("the scope has more than %d memories: only so many were looked at", maxListed))
			break
		}
	}
	p := a.settings.Policy
	all = slices.DeleteFunc(all, func(m oxbow.Memory) bool {
		return m.Status == oxbow.Active && m.Live(a.at) && p.StrengthOf(m, a.at) <= p.ListAbove
	})
	slices.SortFunc(all, func(x, y oxbow.Memory) int {
		return cmp.Or(cmp.Compare(p.Standing(y, a.at), p.Standing(x, a.at)), strings.Compare(x.ID, y.ID))
	})
	return cutTo(all, indexSize), nil
}
