package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	chat "github.com/sashabaranov/go-openai"

	"github.com/oxbow-memory/oxbow/llm"
)

// answerTokens is what an answer is taken to need at most where no bound is
// configured. The longest that is met, eight memories of a turn, has about 1,100.
const answerTokens = 1200

func (j *Judge) call(ctx context.Context, q question, req chat.ChatCompletionRequest) llm.Call {
	c := llm.Call{Caller: llm.CallerOf(ctx), Purpose: q.purpose, Model: q.model, In: llm.TokensOf(lengthOf(req)), MaxOut: j.cfg.MaxOutputTokens}
	if c.MaxOut == 0 {
		c.MaxOut = answerTokens
	}
	if c.Caller.Job == llm.PurposePing {
		c.Purpose = llm.PurposePing
	}
	return c
}

// lengthOf gives the bytes that a model reads: the messages, and the schema,
// which endpoints put in front of them.
func lengthOf(req chat.ChatCompletionRequest) int {
	n := 0
	for _, m := range req.Messages {
		n += len(m.Content)
	}
	if f := req.ResponseFormat; f != nil && f.JSONSchema != nil {
		if b, err := f.JSONSchema.Schema.MarshalJSON(); err == nil {
			n += len(b)
		}
	}
	return n
}

// spentOn gives what an exchange took. A no costs nothing. What was sent and
// never came back is counted as all that was set aside, since it may have been
// read and answered.
func spentOn(c llm.Call, x *exchange, u chat.Usage, answered int, sendErr, err error) llm.Spent {
	s := llm.Spent{Reached: true, Outcome: llm.OutcomeOK}
	switch {
	case x.status == 0 && (sendErr == nil || !arrived(sendErr)):
		return llm.Spent{Outcome: llm.OutcomeLost}
	case x.status == 0:
		s.Outcome, s.In, s.Out, s.Estimated = llm.OutcomeLost, c.In, c.MaxOut, true
		return s
	case isAway(err):
		s.Outcome = llm.OutcomeAway
		return s
	case errors.Is(err, llm.ErrRefused): // in an answer that is paid for
		s.Outcome = llm.OutcomeRefused
	case err != nil && !usable(err):
		s.Outcome = llm.OutcomeRefused
		return s
	case err != nil:
		s.Outcome = llm.OutcomeUnparsable
	}
	s.In, s.Out = max(0, u.PromptTokens), max(0, u.CompletionTokens)
	if d := u.PromptTokensDetails; d != nil {
		s.Cached = min(max(0, d.CachedTokens), s.In)
	}
	if s.In == 0 {
		s.In, s.Out, s.Estimated = c.In, llm.TokensOf(answered), true
	}
	return s
}

// usable tells whether an error is about an answer, and not a no.
func usable(err error) bool {
	_, off := errors.AsType[*rejection](err)
	return off || errors.Is(err, llm.ErrUnparsable)
}

func answerLength(resp chat.ChatCompletionResponse) int {
	n := 0
	for _, c := range resp.Choices {
		n += len(c.Message.Content) + len(c.Message.Refusal)
	}
	return n
}

// arrived tells whether a request that failed may have been seen by the
// endpoint: not when no connection was made.
func arrived(err error) bool {
	var lost *broken
	var dns *net.DNSError
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	if !errors.As(err, &lost) && !errors.Is(err, errTooLarge) || errors.As(err, &dns) || errors.As(err, &cert) || errors.As(err, &record) {
		return false
	}
	op, ok := errors.AsType[*net.OpError](err)
	return !ok || op.Op != "dial"
}
