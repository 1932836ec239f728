package openai

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	chat "github.com/sashabaranov/go-openai"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// Judge asks one endpoint. It is safe for concurrent use.
type Judge struct {
	cfg     Config
	wire    *wire
	sheets  map[string]sheet
	ladder  ladder
	dropped atomic.Int64
}

var (
	_ llm.Judge    = (*Judge)(nil)
	_ llm.Selector = (*Judge)(nil)
	_ llm.Observer = (*Judge)(nil)
	_ llm.Signer   = (*Judge)(nil)
)

// New checks a configuration and gives a judge. It does no I/O: whether the
// endpoint is there, and knows the model, is found by the first question.
// Errors have the code invalid.
func New(cfg Config) (*Judge, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	cfg.BaseURL = strings.TrimRight(cfg.BaseURL, "/")
	extra, err := cfg.extra()
	if err != nil {
		return nil, err
	}
	sheets, err := loadSheets()
	if err != nil {
		return nil, err
	}
	return &Judge{
		cfg: cfg, sheets: sheets,
		ladder: ladder{models: map[string]*footing{}},
		wire: &wire{base: cfg.BaseURL, key: cfg.Key, version: cfg.AzureVersion, extra: extra, http: newHTTPClient(newDialer()),
			gate: newGate(cfg.BaseURL, cfg.RequestsPerSecond, cfg.BreakFor), meter: cfg.Meter},
	}, nil
}

// Name is openai/MODEL@VERSION; the version is that of the prompts and schemas.
func (j *Judge) Name() string { return fmt.Sprintf("openai/%s@%d", j.cfg.Model, promptVersion) }

// NameOf names SynthesisModel for a synthesis and a reflection.
func (j *Judge) NameOf(question string) string {
	if question == synthesize || question == reflection {
		return fmt.Sprintf("openai/%s@%d", j.cfg.SynthesisModel, promptVersion)
	}
	return j.Name()
}

// Dropped tells how many labels, groups and drafts were left out of answers
// since the judge was made, because they were never offered or over a bound.
func (j *Judge) Dropped() int64 { return j.dropped.Load() }

// Close lets go of idle connections. The judge can still be asked.
func (j *Judge) Close() { j.wire.http.CloseIdleConnections() }

// question is what one method asks.
type question struct {
	purpose string
	model   string
	timeout time.Duration
	data    any
	read    func(raw []byte) error // decodes and checks an answer; gives a *rejection
}

// ask puts a question, and once more with the reason when the answer was not
// of its form. Its errors are those of the contract.
func (j *Judge) ask(ctx context.Context, q question) error {
	var rej *rejection
	for try := range 2 {
		complaint := ""
		if rej != nil {
			complaint = rej.detail
		}
		at, err := j.descend(ctx, q, complaint)
		if err == nil {
			if try == 0 {
				j.ladder.held(q.model, at)
			}
			return nil
		}
		if !errors.As(err, &rej) {
			return err
		}
		j.ladder.failed(q.model, at)
	}
	return fmt.Errorf("%w: %w", llm.ErrUnparsable, rej)
}

// accept checks an answer: that it is one object, that it holds to its schema,
// that it decodes, and that it makes sense. On every rung alike, since
// endpoints that accept a schema do not always enforce it.
func (j *Judge) accept(q question, text string) error {
	raw, err := parse(text)
	if err != nil {
		return err
	}
	if err := j.sheets[q.purpose].holds(raw); err != nil {
		return err
	}
	return q.read(raw)
}

// descend asks on the model's rung and goes down while the endpoint refuses
// the form. It gives the rung that was answered on. Every round goes a step down
// or leaves the temperature out, so that it ends.
func (j *Judge) descend(ctx context.Context, q question, complaint string) (rung, error) {
	began := j.ladder.of(q.model).rung
	for {
		now := j.ladder.of(q.model)
		no, err := j.send(ctx, q, now, complaint)
		switch {
		case no == nil:
			return now.rung, err
		case no.refusesTemperature() && !now.noTemperature:
			j.ladder.withoutTemperature(q.model)
		case no.refusesForm() && now.rung < plain:
			j.ladder.refused(q.model, now.rung)
		case no.maybeText():
			err = j.blame(ctx, q, now, err)
			if errors.Is(err, llm.ErrRefused) {
				j.ladder.forget(q.model, began)
			}
			return now.rung, err
		default:
			return now.rung, err
		}
	}
}

// blame finds out what a no that may be about the text is about, by the same
// question with a harmless text: when that is taken, it is about the text. Else
// the configuration is at fault, and the first error stands.
func (j *Judge) blame(ctx context.Context, q question, on footing, err error) error {
	if llm.CallerOf(ctx).Job == llm.PurposePing {
		return err // it was harmless already
	}
	probe := q
	probe.data = confidenceData{Memory: pingMemory, Turn: j.turn(pingQuestion)}
	probe.read = func([]byte) error { return nil }
	switch no, failed := j.send(ctx, probe, on, ""); {
	case isAway(failed) || ctx.Err() != nil:
		return failed
	case no != nil || failed != nil && !usable(failed):
		return err
	}
	return refusal(j.cfg.BaseURL, q.model)
}

// send makes one request, when gate and meter let it, and reads its answer.
// The endpoint's no, if it said one, stands beside the error that it amounts to.
func (j *Judge) send(ctx context.Context, q question, on footing, complaint string) (no *fault, err error) {
	req, err := j.request(q, on.rung, complaint)
	if err != nil {
		return nil, err
	}
	x := &exchange{client: j.wire.http, extra: j.wire.extra, temperature: !on.noTemperature}
	var resp chat.ChatCompletionResponse
	err = j.wire.take(ctx, trip{
		call: j.call(ctx, q, req), timeout: q.timeout, exchange: x,
		send: func(ctx context.Context, c *chat.Client) (err error) {
			resp, err = c.CreateChatCompletion(ctx, req)
			return err
		},
		read: func(sendErr error) (_ chat.Usage, _ int, err error) {
			no, err = j.read(ctx, q, x, resp, sendErr)
			return resp.Usage, answerLength(resp), err
		},
	})
	return no, err
}

// read takes an exchange apart: the endpoint's no, or an answer that is checked.
func (j *Judge) read(ctx context.Context, q question, x *exchange, resp chat.ChatCompletionResponse, sendErr error) (*fault, error) {
	if x.status != 0 {
		if no := x.fault(); no != nil {
			return no, no.err(j.cfg.BaseURL, q.model)
		}
	}
	if sendErr != nil {
		return nil, x.sendError(ctx, sendErr, j.cfg.BaseURL)
	}
	text, err := answerText(resp)
	if err != nil {
		return nil, err
	}
	return nil, j.accept(q, text)
}

func (j *Judge) request(q question, on rung, complaint string) (chat.ChatCompletionRequest, error) {
	s := j.sheets[q.purpose]
	user, err := s.userText(q.data, complaint)
	if err != nil {
		return chat.ChatCompletionRequest{}, err
	}
	req := chat.ChatCompletionRequest{
		Model: q.model,
		Messages: []chat.ChatCompletionMessage{
			{Role: chat.ChatMessageRoleSystem, Content: s.systemText(on >= object || complaint != "")},
			{Role: chat.ChatMessageRoleUser, Content: user},
		},
		MaxCompletionTokens: j.cfg.MaxOutputTokens,
		ReasoningEffort:     j.cfg.ReasoningEffort,
	}
	switch on {
	case strict, loose:
		req.ResponseFormat = &chat.ChatCompletionResponseFormat{
			Type: chat.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &chat.ChatCompletionResponseFormatJSONSchema{
				Name: "oxbow_" + q.purpose, Schema: s.schema, Strict: on == strict,
			},
		}
	case object:
		req.ResponseFormat = &chat.ChatCompletionResponseFormat{Type: chat.ChatCompletionResponseFormatTypeJSONObject}
	}
	return req, nil
}

// answerText gives the text of an answer. One that was cut short, filtered or
// refused is final: asking again would give the same, and mending it would
// invent a verdict.
func answerText(resp chat.ChatCompletionResponse) (string, error) {
	if len(resp.Choices) == 0 {
		return "", reject("the response has no answer", "there was no answer")
	}
	c := resp.Choices[0]
	switch {
	case c.FinishReason == chat.FinishReasonLength:
		return "", fmt.Errorf("%w: the answer is cut short; allow more output tokens", llm.ErrUnparsable)
	case c.FinishReason == chat.FinishReasonContentFilter:
		return "", oxbow.WrapError(oxbow.CodeInvalid, llm.ErrRefused, "the endpoint's content filter stopped the answer")
	case c.Message.Refusal != "":
		return "", oxbow.WrapError(oxbow.CodeInvalid, llm.ErrRefused, "the model refused to answer")
	}
	text := c.Message.Content
	for _, part := range c.Message.MultiContent {
		text += part.Text
	}
	return text, nil
}
