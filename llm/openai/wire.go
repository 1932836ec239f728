package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	chat "github.com/sashabaranov/go-openai"

	"github.com/oxbow-memory/oxbow/internal/trace"
	"github.com/oxbow-memory/oxbow/llm"
)

// wire is the way to one endpoint: where it is, by which key, past which gate,
// and who counts. The judge and the embedder have one each, so that one that is
// away does not keep the other from its work.
type wire struct {
	base    string
	key     Secret
	version string // of Azure's interface by deployments; "" everywhere else
	extra   map[string]json.RawMessage
	http    *http.Client
	gate    *gate
	meter   llm.Meter
}

// trip is one request and what is made of its response.
type trip struct {
	call     llm.Call
	timeout  time.Duration
	exchange *exchange
	// send brings the request to the endpoint by way of the client library.
	send func(ctx context.Context, c *chat.Client) error
	// read takes the exchange apart. It gives the error of the contract, what the
	// endpoint says that it took, and how many bytes its answer has.
	read func(sendErr error) (used chat.Usage, answered int, err error)
}

// take makes a trip when gate and meter let it, and settles it.
func (w *wire) take(ctx context.Context, t trip) error {
	return w.gate.pass(ctx, func() (err error) {
		call, err := w.reserve(ctx, t.call)
		if err != nil {
			return &mute{err}
		}
		ctx, span := trace.Model(ctx, operationOf(call), call.Model, call.Purpose)
		defer func() { span.End(err) }()
		started := time.Now()
		sendErr := w.within(ctx, t)
		used, answered, err := t.read(sendErr)
		spent := spentOn(call, t.exchange, used, answered, sendErr, err)
		spent.Latency = time.Since(started)
		span.Spent(spent.In, spent.Out, spent.Cached, string(spent.Outcome))
		err = errors.Join(err, w.settle(ctx, call, spent))
		if err != nil && ctx.Err() != nil {
			return &mute{err} // a recall waits for a second or two, and nobody is away because of that
		}
		return err
	})
}

func operationOf(c llm.Call) string {
	if c.Purpose == llm.PurposeEmbed {
		return trace.Embeddings
	}
	return trace.Chat
}

func (w *wire) within(ctx context.Context, t trip) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	conf := chat.DefaultConfig(string(w.key))
	if w.version != "" {
		conf = chat.DefaultAzureConfig(string(w.key), w.base)
		conf.APIVersion = w.version
		conf.AzureModelMapperFunc = func(model string) string { return model } // a deployment's name is left as it is
	}
	conf.BaseURL = w.base
	conf.HTTPClient = t.exchange
	return t.send(ctx, chat.NewClientWithConfig(conf))
}

func (w *wire) reserve(ctx context.Context, c llm.Call) (llm.Call, error) {
	if w.meter == nil {
		return c, nil
	}
	return w.meter.Reserve(ctx, c)
}

func (w *wire) settle(ctx context.Context, c llm.Call, s llm.Spent) error {
	if w.meter == nil {
		return nil
	}
	return w.meter.Settle(context.WithoutCancel(ctx), c, s)
}
