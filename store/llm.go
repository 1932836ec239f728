package store

import (
	"context"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// LLMReader reads what models were asked, what that cost, and what they said.
// Days are of UTC, in the form 2006-01-02.
type LLMReader interface {
	// TokensOf gives how a tenant's budget of a day stands; one that was never
	// drawn on is empty.
	TokensOf(ctx context.Context, tenant, day string) (Tokens, error)
	// LLMCosts sums a tenant's requests since an instant by day, job and model,
	// in this order, the newest day first. A zero instant sums all.
	LLMCosts(ctx context.Context, tenant string, since time.Time) ([]LLMCost, error)
	// LLMAnswer gives an answer that was kept and whose time is not over at
	// now; not_found.
	LLMAnswer(ctx context.Context, tenant, key string, now time.Time) ([]byte, error)
}

// LLMWriter keeps the same.
type LLMWriter interface {
	// ReserveTokens draws n tokens of a tenant's budget of a day, in one
	// statement, unless more than limit would be drawn then: false, and the
	// budget remembers what did not fit. Not idempotent.
	ReserveTokens(ctx context.Context, tenant, day string, n, limit int64) (bool, error)
	// SettleTokens corrects a budget by what a request really took: more or,
	// below zero, less than was reserved. It never falls below zero.
	SettleTokens(ctx context.Context, tenant, day string, n int64) error
	// PutLLMCall adds a request to the ledger.
	PutLLMCall(ctx context.Context, c LLMCall) error
	// PutLLMAnswer keeps an answer, or replaces it, and takes away those whose
	// time is over at now. One that rests on words that are not there any more
	// is not kept: Erase and EraseTurn take away every answer of an owner, and
	// none may come after them.
	PutLLMAnswer(ctx context.Context, a LLMAnswer, now time.Time) error
}

// Tokens is a tenant's budget of a day.
type Tokens struct {
	Drawn int64 // reserved or spent
	Short int64 // what did not fit when a request was last turned away; 0 when none was
}

// LLMCall is one request that reached an endpoint.
type LLMCall struct {
	ID        string
	Scope     oxbow.Scope // the name is empty when it was about none
	Run       string
	Job       string // the kind of the job, or what an operator did
	Purpose   string // the question
	Model     string
	Outcome   string
	In, Out   int64    // tokens
	Cached    int64    // of In, those that the endpoint had already read
	Estimated bool     // the endpoint did not say the tokens; they are counted by length
	Cost      *float64 // US dollars; nil when no price is known
	Latency   time.Duration
	At        time.Time
}

// LLMCost is the sum of the requests of one day, job and model.
type LLMCost struct {
	Day       string   `json:"day"`
	Job       string   `json:"job"`
	Model     string   `json:"model"`
	Calls     int64    `json:"calls"`
	Failed    int64    `json:"failed"` // of Calls, those whose outcome is not ok
	In        int64    `json:"tokens_in"`
	Out       int64    `json:"tokens_out"`
	Cached    int64    `json:"tokens_cached"`
	Estimated int64    `json:"estimated"` // of Calls, those whose tokens are counted by length
	Cost      *float64 `json:"cost_usd"`  // null when the price of one of them is not known
}

// LLMOK is the outcome of a request whose answer could be used.
const LLMOK = "ok"

// LLMAnswer is an answer that is kept. It may hold words of its owners.
type LLMAnswer struct {
	Scope     oxbow.Scope
	Key       string   // says what was asked; the same key in another tenant is another answer
	Owners    []string // the turn and the memories whose words were asked about; at least one
	Answer    []byte   // JSON
	At        time.Time
	ExpiresAt time.Time
}
