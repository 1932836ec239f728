package openai

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// maxWait is the longest wait that an endpoint is believed.
const maxWait = 24 * time.Hour

// fault is an endpoint's no, in a form that can be acted on. What the endpoint
// wrote is used for matching only: error messages are known to repeat the key
// and the prompt.
type fault struct {
	status  int
	code    string // one plain word, or ""
	message string // never shown
	wait    time.Duration
}

// errorBody covers the forms of errors that are met: an object under error, a
// text under error, and the flat ones.
type errorBody struct {
	Error   json.RawMessage `json:"error"`
	Choices []any           `json:"choices"`
	Code    any             `json:"code"`
	Type    any             `json:"type"`
}

// fault reads what the endpoint said against a request, nil when nothing. An
// error inside a 200 counts as the status that it names.
func (x *exchange) fault() *fault {
	f := &fault{status: x.status, wait: retryAfter(x.header)}
	var body errorBody
	parsed := json.Unmarshal(x.body, &body) == nil
	fine := x.status >= 200 && x.status < 300
	if fine && (!parsed || len(body.Choices) > 0 || len(body.Error) == 0 || string(body.Error) == "null") {
		return nil
	}
	f.message = string(x.body)
	words := body
	if json.Unmarshal(body.Error, &words) != nil {
		words = body
	}
	f.code = plainWord(words.Code)
	if f.code == "" {
		f.code = plainWord(words.Type)
	}
	if fine {
		f.status = insideStatus(words.Code, f)
	}
	return f
}

// insideStatus gives the status of an error inside a 200. One that does not
// say is taken for a passing one, except where it speaks of the form.
func insideStatus(code any, f *fault) int {
	n, ok := code.(float64)
	if s, text := code.(string); text {
		v, err := strconv.Atoi(s)
		n, ok = float64(v), err == nil
	}
	switch {
	case ok && n >= 400 && n < 600:
		return int(n)
	case f.aboutForm():
		return http.StatusBadRequest
	}
	return http.StatusBadGateway
}

var plainWordForm = regexp.MustCompile(`^[a-z]{2,20}(_[a-z]{2,20}){1,4}$`)

// plainWord gives a code such as model_not_found, and nothing that could be a
// piece of a key or a prompt.
func plainWord(v any) string {
	if s, ok := v.(string); ok && plainWordForm.MatchString(s) {
		return s
	}
	return ""
}

var formWords = regexp.MustCompile(`(?i)response_format|json_schema|schema`)

// aboutForm tells whether the endpoint speaks against the form of the answer.
func (f *fault) aboutForm() bool { return formWords.MatchString(f.message) }

// refusesForm tells whether a lower rung of the ladder may help.
func (f *fault) refusesForm() bool {
	return (f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity) && f.aboutForm()
}

// refusesTemperature tells whether the model takes no temperature, as models
// that reason do.
func (f *fault) refusesTemperature() bool {
	return (f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity) &&
		strings.Contains(strings.ToLower(f.message), "temperature")
}

// refusesDimensions tells whether the model cannot shorten its vectors.
func (f *fault) refusesDimensions() bool {
	m := strings.ToLower(f.message)
	return (f.status == http.StatusBadRequest || f.status == http.StatusUnprocessableEntity) &&
		(strings.Contains(m, "dimension") || strings.Contains(m, "matryoshka"))
}

// maybeText tells whether the endpoint may mean the text that it was sent: it is
// too long, or filtered. It may as well mean the model, or what is asked of it;
// endpoints differ too much in their words to tell by them.
func (f *fault) maybeText() bool {
	switch f.status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// refusal is the error for a text that an endpoint does not take, though it
// takes others.
func refusal(base, model string) error {
	return oxbow.WrapError(oxbow.CodeInvalid, llm.ErrRefused, "%s takes other texts for the model %s, and not this one", base, model)
}

// err gives the error of the contract: away for what passes, permanent with
// what to check for the rest.
func (f *fault) err(base, model string) error {
	said := fmt.Sprintf("HTTP %d", f.status)
	if f.code != "" {
		said += " " + f.code
	}
	switch s := f.status; {
	case s == http.StatusTooManyRequests, s == http.StatusPaymentRequired, s == http.StatusRequestTimeout,
		s == http.StatusConflict, s == http.StatusTooEarly, s >= 500:
		return &llm.AwayError{RetryAfter: f.wait, Err: fmt.Errorf("%s answered %s", base, said)}
	case s == http.StatusUnauthorized:
		return invalid("%s answered %s: check the key", base, said)
	case s == http.StatusForbidden:
		return invalid("%s answered %s: check that the key may use the model %s", base, said, model)
	case s == http.StatusNotFound:
		return invalid("%s answered %s: check the base URL, which mostly ends in /v1, and that the model %s exists there", base, said, model)
	case s == http.StatusRequestEntityTooLarge:
		return invalid("%s answered %s: check that the context of the model %s is large enough, or lower the max text", base, said, model)
	case s >= 300 && s < 400:
		return invalid("%s answered %s, a redirect, which is not followed: check the base URL and give the final address", base, said)
	}
	return invalid("%s answered %s: check the name and the context size of the model %s, and the base URL", base, said, model)
}

// sendError gives the error of the contract for a request that the client
// library did not bring to a response that it understands.
func (x *exchange) sendError(ctx context.Context, err error, base string) error {
	var lost *broken
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("ask the judge: %w", context.Canceled)
	case errors.Is(err, errMetadata):
		return invalid("%s: %s; check the base URL and what its name resolves to", base, errMetadata.Error())
	case errors.As(err, &lost):
		return &llm.AwayError{Err: fmt.Errorf("%s: %s", base, networkWords(lost.err))}
	case errors.Is(err, errTooLarge):
		return fmt.Errorf("%w: %w", llm.ErrUnparsable, errTooLarge)
	case x.status == 0:
		return oxbow.WrapError(oxbow.CodeInvalid, err, "the request cannot be made: check the judge's configuration")
	case strings.HasPrefix(strings.TrimSpace(string(x.body)), "{"):
		return fmt.Errorf("%w: the response is no chat completion", llm.ErrUnparsable)
	}
	return invalid("%s answered with something that is no answer of such an endpoint: check the base URL, which mostly ends in /v1", base)
}

// networkWords says what happened to a connection, in words of our own: the
// errors of net/http can quote what the other side sent.
func networkWords(err error) string {
	var dns *net.DNSError
	var timeout net.Error
	var cert *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused; check that the endpoint is running"
	case errors.As(err, &dns):
		return "the host name does not resolve"
	case errors.As(err, &cert), errors.As(err, &record):
		return "the TLS connection is not trusted; check the certificate and http or https"
	}
	return "the connection broke off"
}

// retryAfter reads how long to wait: milliseconds, seconds, or a date, which is
// taken against the endpoint's own clock when it says it. 0 when it does not say.
func retryAfter(h http.Header) time.Duration {
	wait := time.Duration(0)
	if ms, err := strconv.ParseInt(h.Get("Retry-After-Ms"), 10, 32); err == nil {
		wait = time.Duration(ms) * time.Millisecond
	} else if v := h.Get("Retry-After"); v != "" {
		if s, err := strconv.ParseFloat(v, 64); err == nil {
			wait = time.Duration(min(max(s, 0), maxWait.Seconds()) * float64(time.Second))
		} else if at, err := http.ParseTime(v); err == nil {
			from, err := http.ParseTime(h.Get("Date"))
			if err != nil {
				from = time.Now()
			}
			wait = at.Sub(from)
		}
	}
	return min(max(wait, 0), maxWait)
}
