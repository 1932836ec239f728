package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/llm/offline"
	"github.com/oxbow-memory/oxbow/recall"
	"github.com/oxbow-memory/oxbow/recall/asked"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/store/sqlite"
	"github.com/oxbow-memory/oxbow/worker"
)

// An agent recalls what fits what it is told, answers, and has the exchange
// remembered. What it is told later replaces what it was told before.
func Example() {
	ctx := context.Background()
	st, shut := open(ctx)
	defer shut()
	rules := offline.New() // llm/openai has a judge that asks a model
	memory := engine.New(engine.Config{Store: st, Judge: rules, Grapher: rules, Embedder: offline.NewEmbedder(),
		ReadDate: offline.ReadDate, ReadDetails: offline.ReadDetails, Days: asked.Days, Classes: asked.Classes})
	w, err := worker.New(memory.Deps(), worker.Config{}) // works the jobs that judge what was said
	check(err)
	check(w.Start(ctx))

	ada := oxbow.Scope{Tenant: "default", Name: "user:ada"}
	for _, said := range []string{
		"We use PostgreSQL for the billing service.",
		"We migrated the billing service from PostgreSQL to MySQL.",
		"Which database does the billing service use?",
	} {
		known, err := memory.Recall(ctx, engine.Recall{Scope: ada, Text: said, Conversation: "monday"})
		check(err)
		reply := model(recall.Render(known, memory.Now(), time.UTC) + said)
		fmt.Println("Ada:  ", said)
		fmt.Println("Agent:", reply)
		_, err = memory.Ingest(ctx, []oxbow.Turn{{Scope: ada, Conversation: "monday", User: said, Assistant: reply, At: memory.Now()}})
		check(err)
		settled(ctx, st) // only so that the output is the same each time
	}
	check(w.Stop(ctx))

	// Output:
	// Ada:   We use PostgreSQL for the billing service.
	// Agent: Noted.
	// Ada:   We migrated the billing service from PostgreSQL to MySQL.
	// Agent: I know: "We use PostgreSQL for the billing service."
	// Ada:   Which database does the billing service use?
	// Agent: I know: "We migrated the billing service from PostgreSQL to MySQL."
}

// model stands for the language model of the agent, which is shown the block of
// memories before the user's words. This one says what it was shown.
func model(prompt string) string {
	var known []string
	for line := range strings.Lines(prompt) {
		if _, text, ok := strings.Cut(line, `] "`); ok {
			known = append(known, `"`+strings.TrimSpace(text))
		}
	}
	if len(known) == 0 {
		return "Noted."
	}
	return "I know: " + strings.Join(known, " ")
}

// open makes a database in a folder of its own.
func open(ctx context.Context) (store.Store, func()) {
	dir, err := os.MkdirTemp("", "oxbow-example-")
	check(err)
	st, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "agent.db")})
	check(err)
	check(st.Migrate(ctx))
	return st, func() {
		check(st.Close())
		check(os.RemoveAll(dir))
	}
}

// settled waits until the jobs of what was ingested are done.
func settled(ctx context.Context, st store.Store) {
	for range time.Tick(5 * time.Millisecond) {
		if n, err := st.PendingJobs(ctx, "", ""); err != nil || n == 0 {
			check(err)
			return
		}
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
