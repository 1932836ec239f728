package engine_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/store"
)

func TestRefusals(t *testing.T) {
	tell(t,
		story{"of the last day stand in the status and in their run", refusalsCounted},
		story{"of more runs than a page holds are all counted", refusalsBeyondPages},
		story{"of an old history count by when it was read", refusalsOfOldTurns},
	)
}

func refusalsCounted(b *bench) {
	b.Judge.OnRelate = func(_ llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
		return []llm.Relation{{Label: "c99", Relation: oxbow.Contradicts}}, nil
	}
	b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) {
		return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf("tea: green"), lab.DraftOf("made up")}}, nil
	}
	b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(1)})
	b.drain()
	b.Say("c", "tea: green", at(2))
	b.drain()
	st, err := b.Engine.Status(b.Ctx, b.Bench.Scope)
	b.Must(err)
	equal(b, "the refusals: a draft and a verdict", st.Refused, 2)
	turns, err := b.DB.ListTurns(b.Ctx, store.TurnFilter{Tenant: b.tenant(), Limit: 9})
	b.Must(err)
	equal(b, "the turn's reason", turns[0].Reason, "1 of the judge's proposals refused")
	run, err := b.Engine.Run(b.Ctx, b.tenant(), turns[0].Run[:10])
	b.Must(err)
	equal(b, "the refusals of the run", run.Counts["refused"], 2)
	_, err = b.Engine.Run(b.Ctx, b.tenant(), "nothing")
	code(b, "a run that is not there", err, oxbow.CodeNotFound)
	b.Clock.Add(2 * day)
	st, err = b.Engine.Status(b.Ctx, b.Bench.Scope)
	b.Must(err)
	equal(b, "the refusals two days later", st.Refused, 0)
}

func refusalsOfOldTurns(b *bench) {
	b.Judge.OnExtract = func(llm.TurnText) (llm.Extraction, error) {
		return llm.Extraction{Drafts: []llm.Draft{lab.DraftOf("made up")}}, nil
	}
	b.Say("c", "tea: green", at(0).AddDate(-2, 0, 0))
	b.drain()
	st, err := b.Engine.Status(b.Ctx, oxbow.Scope{Tenant: b.tenant()})
	b.Must(err)
	equal(b, "the refusals", st.Refused, 1)
}

func refusalsBeyondPages(b *bench) {
	b.inTx(func(ctx context.Context, tx store.Tx) error {
		if _, err := tx.LockScope(ctx, b.Bench.Scope, at(0)); err != nil {
			return err
		}
		for i := range 1005 {
			r := oxbow.Run{ID: oxbow.NewID(fmt.Sprint(i)), Scope: b.Bench.Scope, Name: "write", Status: oxbow.RunDone, About: at(i),
				StartedAt: b.Clock.Now(), FinishedAt: b.Clock.Now(), Counts: map[string]int{"refused": 1, "created": 2}}
			if err := tx.PutRun(ctx, r); err != nil {
				return err
			}
		}
		return nil
	})
	st, err := b.Engine.Status(b.Ctx, b.Bench.Scope)
	b.Must(err)
	equal(b, "the refusals", st.Refused, 1005)
}
