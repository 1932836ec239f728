package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oxbow-memory/oxbow/llm"
)

// Pong is what a ping found out about a model.
type Pong struct {
	Model string
	Rung  string // how far it can be held to a form: strict, loose, object or plain
	// Latency is that of the last question, with all the requests that it took.
	Latency time.Duration
	// Asked is how many questions it took to find the rung.
	Asked int
}

// String names a rung.
func (r rung) String() string {
	return [...]string{"strict", "loose", "object", "plain"}[r]
}

// pingQuestion is a question that every model which can judge answers at once.
var pingQuestion = llm.TurnText{User: "I like tea.", Assistant: "Noted."}

const pingMemory = "The user likes tea."

// Ping asks each model of the configuration a small question and says on which
// rung of the ladder it answers. It goes down as questions of the lifecycle
// would, and what it finds is remembered. Errors are those of the contract.
func (j *Judge) Ping(ctx context.Context) ([]Pong, error) {
	c := llm.CallerOf(ctx)
	c.Job = llm.PurposePing
	ctx = llm.WithCaller(ctx, c)
	var out []Pong
	for _, model := range slices.Compact([]string{j.cfg.Model, j.cfg.SynthesisModel}) {
		p, err := j.pingModel(ctx, model)
		if err != nil {
			return out, fmt.Errorf("ask %s: %w", model, err)
		}
		out = append(out, p)
	}
	return out, nil
}

func (j *Judge) pingModel(ctx context.Context, model string) (Pong, error) {
	data := confidenceData{Memory: pingMemory, Turn: j.turn(pingQuestion)}
	q := j.judging(confidence, data, func(raw []byte) error {
		_, err := readRating(raw)
		return err
	})
	q.model = model
	for p := (Pong{Model: model}); ; {
		p.Asked++
		before := j.ladder.of(model).rung
		started := time.Now()
		err := j.ask(ctx, q)
		p.Latency = time.Since(started)
		now := j.ladder.of(model).rung
		if err == nil && (now == before || p.Asked > 1) {
			p.Rung = now.String()
			return p, nil
		}
		if err != nil && (!errors.Is(err, llm.ErrUnparsable) || p.Asked > int(plain)) {
			return p, err
		}
	}
}

// Identity says everything that an answer depends on beside the question: the
// endpoint, the models, the prompts and schemas word by word, and how they are
// asked. It holds no secret, and is the same for judges that answer alike.
func (j *Judge) Identity() string {
	h := sha256.New()
	for _, p := range purposes {
		s := j.sheets[p]
		fmt.Fprintf(h, "%s\x00%s\x00%s\x00%s\x00", p, s.system, s.after, s.schema)
	}
	settings, err := json.Marshal([]any{j.cfg.BaseURL, j.cfg.AzureVersion, j.cfg.Model, j.cfg.SynthesisModel, j.cfg.MaxTextBytes, j.cfg.MaxOutputTokens,
		j.cfg.ReasoningEffort, j.wire.extra, promptVersion})
	if err != nil { // strings, numbers and JSON that was checked
		panic(err)
	}
	h.Write(settings)
	return hex.EncodeToString(h.Sum(nil))
}
