package openai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	chat "github.com/sashabaranov/go-openai"

	"github.com/oxbow-memory/oxbow/llm"
)

// embeddingVersion moves whenever the same model would be given other words for
// the same text, so that old vectors are not compared with new ones.
const embeddingVersion = 1

// maxBatch is how many texts go into one request where nothing else is said.
const maxBatch = 100

// maxDimensions is the longest vector that is asked for; no known model has more.
const maxDimensions = 16384

// known are the dimensions of models that are met often, so that they need not
// be configured. Source: the models' own pages.
var known = map[string]int{
	"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536,
	"nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384, "bge-m3": 1024,
}

// EmbedderConfig says which endpoint and model make vectors, and how.
type EmbedderConfig struct {
	// BaseURL is the endpoint up to, and without, /embeddings. Defaults to
	// https://api.openai.com/v1.
	BaseURL string
	// Key is sent as a bearer token, or as Azure's api-key, to BaseURL only.
	// Defaults to none.
	Key Secret
	// AzureVersion is that of Config. Defaults to "".
	AzureVersion string
	// Model makes the vectors. Defaults to nothing: NewEmbedder refuses a
	// configuration that names no model.
	Model string
	// Dimensions is the length of a vector. A model that can shorten its vectors
	// is asked for so many; another one must give so many. Defaults to the
	// model's own where that is known, and must be set where it is not.
	Dimensions int
	// Timeout bounds one request, its answer included. Defaults to 20 seconds.
	Timeout time.Duration
	// MaxTextBytes is how much of one text is embedded; the rest is cut off.
	// Defaults to 8192, about 2,000 tokens of English, far below what the usual
	// models take and above what a memory has.
	MaxTextBytes int
	// Batch is how many texts go into one request. Defaults to 100.
	Batch int
	// RequestsPerSecond and BreakFor are those of Config, and count apart from
	// the judge's. They default to 0: no bound, no breaker.
	RequestsPerSecond float64
	BreakFor          time.Duration
	// Meter counts what requests spend, and may forbid them. Defaults to none.
	Meter llm.Meter
}

// Embedder asks one endpoint for vectors. It is safe for concurrent use.
type Embedder struct {
	cfg   EmbedderConfig
	wire  *wire
	plain atomic.Bool // the endpoint refused to be told dimensions
}

var _ llm.Embedder = (*Embedder)(nil)

// NewEmbedder checks a configuration and gives an embedder; it does no I/O.
// Errors have the code invalid.
func NewEmbedder(cfg EmbedderConfig) (*Embedder, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	e := &Embedder{cfg: cfg, wire: &wire{base: cfg.BaseURL, key: cfg.Key, version: cfg.AzureVersion, http: newHTTPClient(newDialer()),
		gate: newGate(cfg.BaseURL, cfg.RequestsPerSecond, cfg.BreakFor), meter: cfg.Meter}}
	e.plain.Store(known[family(cfg.Model)] == cfg.Dimensions)
	return e, nil
}

func (c EmbedderConfig) withDefaults() EmbedderConfig {
	if c.BaseURL == "" {
		c.BaseURL = "https://api.openai.com/v1"
	}
	if c.Dimensions == 0 {
		c.Dimensions = known[family(c.Model)]
	}
	if c.Timeout == 0 {
		c.Timeout = 20 * time.Second
	}
	if c.MaxTextBytes == 0 {
		c.MaxTextBytes = 8 << 10
	}
	if c.Batch == 0 {
		c.Batch = maxBatch
	}
	return c
}

func (c EmbedderConfig) validate() error {
	if err := validateURL(c.BaseURL); err != nil {
		return err
	}
	if err := validateAzure(c.BaseURL, c.AzureVersion); err != nil {
		return err
	}
	switch {
	case c.Model == "":
		return invalid("no embedding model is named: set the model that makes the vectors")
	case !c.Key.fits():
		return invalid("the key holds white space or a line end: set it again without them")
	case c.Dimensions == 0:
		return invalid("the dimensions of %s are not known: set how long its vectors are", c.Model)
	case c.Dimensions < 0 || c.Dimensions > maxDimensions:
		return invalid("the dimensions are %d: use 1 to %d", c.Dimensions, maxDimensions)
	case c.Timeout < 0:
		return invalid("a timeout is below zero: use a duration such as 20s")
	case c.MaxTextBytes < 256:
		return invalid("max text is %d bytes: use at least 256", c.MaxTextBytes)
	case c.Batch < 0:
		return invalid("a batch has %d texts: use 1 or more", c.Batch)
	case c.RequestsPerSecond < 0 || c.BreakFor < 0:
		return invalid("the rate limit or the breaker's time is below zero: use 0 for none")
	}
	return nil
}

// family is a model's name without the publisher before it and the tag behind
// it, as routers and local servers write them.
func family(model string) string {
	model = model[strings.LastIndexByte(model, '/')+1:]
	name, _, _ := strings.Cut(model, ":")
	return strings.ToLower(name)
}

// ID is openai:MODEL/DIMENSIONS/VERSION; the model's name may hold a slash.
func (e *Embedder) ID() string {
	return fmt.Sprintf("openai:%s/%d/%d", e.cfg.Model, e.cfg.Dimensions, embeddingVersion)
}

// Dimensions is the configured length of a vector.
func (e *Embedder) Dimensions() int { return e.cfg.Dimensions }

// Close lets go of idle connections. The embedder can still be asked.
func (e *Embedder) Close() { e.wire.http.CloseIdleConnections() }

// Embed gives one vector of length one per text, in batches; zero for a text
// without a word, which is not sent, and for one among others that the endpoint
// refuses. Errors are those of the contract: llm.ErrRefused when all that was
// sent is refused.
func (e *Embedder) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	var send []string
	var at []int
	for i, s := range texts {
		out[i] = make([]float32, e.cfg.Dimensions)
		if s = cut(line(s), e.cfg.MaxTextBytes); s != "" {
			send, at = append(send, s), append(at, i)
		}
	}
	found := 0
	for from := 0; from < len(send); from += e.cfg.Batch {
		to := min(from+e.cfg.Batch, len(send))
		vs, err := e.batch(ctx, send[from:to])
		if err != nil {
			return nil, err
		}
		for i, v := range vs {
			if v != nil {
				out[at[from+i]], found = v, found+1
			}
		}
	}
	if found == 0 && len(send) > 0 {
		return nil, refusal(e.cfg.BaseURL, e.cfg.Model)
	}
	return out, nil
}

// batch embeds texts in one request, and in halves when the endpoint refuses
// them, so that one text that it does not take costs the others nothing. What is
// refused alone is nil.
func (e *Embedder) batch(ctx context.Context, texts []string) ([][]float32, error) {
	vs, err := e.ask(ctx, texts)
	if !errors.Is(err, llm.ErrRefused) {
		return vs, err
	}
	if len(texts) == 1 {
		return [][]float32{nil}, nil
	}
	half := len(texts) / 2
	first, err := e.batch(ctx, texts[:half])
	if err != nil {
		return nil, err
	}
	second, err := e.batch(ctx, texts[half:])
	return append(first, second...), err
}

var errNoJSON = errors.New("the response is no JSON object")

// harmless is a text that every model takes.
const harmless = "tea"

// ask sends texts. A no that may be about the texts is one when the endpoint
// takes a harmless text; else it is about the configuration.
func (e *Embedder) ask(ctx context.Context, texts []string) ([][]float32, error) {
	vs, no, err := e.send(ctx, texts)
	if no != nil && no.refusesDimensions() && e.plain.CompareAndSwap(false, true) {
		vs, no, err = e.send(ctx, texts)
	}
	if no == nil || !no.maybeText() {
		return vs, err
	}
	switch _, still, probe := e.send(ctx, []string{harmless}); {
	case isAway(probe):
		return nil, probe
	case still != nil || probe != nil:
		return nil, err
	}
	return nil, refusal(e.cfg.BaseURL, e.cfg.Model)
}

// numberBytes is more than a number of a vector takes in JSON.
const numberBytes = 32

// send makes one request. The endpoint's no, if it said one, stands beside the
// error that it amounts to.
func (e *Embedder) send(ctx context.Context, texts []string) (vs [][]float32, no *fault, err error) {
	req := chat.EmbeddingRequestStrings{Input: texts, Model: chat.EmbeddingModel(e.cfg.Model)}
	if !e.plain.Load() {
		req.Dimensions = e.cfg.Dimensions
	}
	length := 0
	for _, s := range texts {
		length += len(s)
	}
	call := llm.Call{Caller: llm.CallerOf(ctx), Purpose: llm.PurposeEmbed, Model: e.cfg.Model, In: llm.TokensOf(length)}
	if call.Caller.Job == llm.PurposePing {
		call.Purpose = llm.PurposePing
	}
	x := &exchange{client: e.wire.http, most: maxAnswer + len(texts)*e.cfg.Dimensions*numberBytes}
	err = e.wire.take(ctx, trip{
		call: call, timeout: e.cfg.Timeout, exchange: x,
		send: func(ctx context.Context, c *chat.Client) error {
			_, err := c.CreateEmbeddings(ctx, req)
			return err
		},
		read: func(sendErr error) (used chat.Usage, _ int, err error) {
			if x.status != 0 {
				if no = x.fault(); no != nil {
					return used, 0, no.err(e.cfg.BaseURL, e.cfg.Model)
				}
			}
			if x.status == 0 || !bytes.HasPrefix(bytes.TrimSpace(x.body), []byte("{")) {
				return used, 0, x.sendError(ctx, cmp.Or(sendErr, errNoJSON), e.cfg.BaseURL)
			}
			// What the library made of the body does not matter: it knows one
			// encoding at a time, and servers choose theirs.
			vs, used, err = readVectors(x.body, len(texts), e.cfg.Dimensions)
			return used, 0, err
		},
	})
	if err != nil {
		vs = nil
	}
	return vs, no, err
}
