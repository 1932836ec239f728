package access

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/oxbow-memory/oxbow"
)

// Problem is what a door answers when it refuses (RFC 9457), with the code of
// package oxbow beside it.
type Problem struct {
	Title  string `json:"title" doc:"the HTTP status in words"`
	Status int    `json:"status" doc:"the HTTP status"`
	Detail string `json:"detail,omitempty" doc:"what is wrong, and what to do next"`
	Code   string `json:"code,omitempty" enum:"invalid,not_found,conflict,unauthorized,unavailable,budget,unsupported,internal"`
	// Request names the request in the log, where what is internal stands.
	Request string `json:"request,omitempty" doc:"of an internal error: the request's name in the log, as X-Request-Id has it"`

	after time.Duration // when to come again, if over 0
}

// GetHeaders gives the headers of the answer beside its type.
func (p *Problem) GetHeaders() http.Header {
	if p.after <= 0 {
		return nil
	}
	return http.Header{"Retry-After": {strconv.Itoa(int(math.Ceil(p.after.Seconds())))}}
}

// TooLarge says what to do about a body over the limit.
const TooLarge = "the body is too large: send less at once"

// Unmatched gives the problem of a caller who has seen another version than
// there is by now.
func Unmatched(err error) *Problem {
	p := ProblemOf(err)
	p.Status, p.Title = http.StatusPreconditionFailed, http.StatusText(http.StatusPreconditionFailed)
	return p
}

// Error gives the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus gives the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType gives the media type of a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// Answer writes a problem.
func Answer(w http.ResponseWriter, p *Problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the status is sent; nobody is left to tell
}

// Unidentified gives the problem of a caller whom no key lets in, and says in
// the header how to come in.
func Unidentified(w http.ResponseWriter, err error) *Problem {
	p := ProblemOf(err)
	if p.Code == oxbow.CodeUnauthorized {
		p.Status, p.Title = http.StatusUnauthorized, http.StatusText(http.StatusUnauthorized)
		w.Header().Set("WWW-Authenticate", `Bearer realm="oxbow"`)
	}
	return p
}

// statuses maps the codes of errors to HTTP's.
var statuses = map[string]int{
	oxbow.CodeInvalid:      http.StatusUnprocessableEntity,
	oxbow.CodeNotFound:     http.StatusNotFound,
	oxbow.CodeConflict:     http.StatusConflict,
	oxbow.CodeUnauthorized: http.StatusForbidden,
	oxbow.CodeUnavailable:  http.StatusServiceUnavailable,
	oxbow.CodeBudget:       http.StatusTooManyRequests,
	oxbow.CodeUnsupported:  http.StatusNotImplemented,
}

// ProblemOf gives an error as a problem; one that is a problem stays. What has no code, or is internal, is
// not shown: the caller logs it.
func ProblemOf(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	code := oxbow.CodeOf(err)
	status, known := statuses[code]
	if !known {
		status, code = http.StatusInternalServerError, oxbow.CodeInternal
		return &Problem{Title: http.StatusText(status), Status: status, Code: code,
			Detail: "something went wrong inside the server; its log names it"}
	}
	p := &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: message(err)}
	if slow, ok := errors.AsType[*tooFast](err); ok {
		p.after = slow.wait
	} else if status == http.StatusServiceUnavailable {
		p.after = time.Second
	}
	return p
}

// tooFast refuses a request that may be sent again in a while.
type tooFast struct {
	error
	wait time.Duration
}

// Unwrap gives what is told.
func (t *tooFast) Unwrap() error { return t.error }

// message is what an error says to people, without its cause.
func message(err error) string {
	for e := err; e != nil; {
		if o, ok := e.(*oxbow.Error); ok {
			return o.Message
		}
		u, ok := e.(interface{ Unwrap() error })
		if !ok {
			break
		}
		e = u.Unwrap()
	}
	return err.Error()
}
