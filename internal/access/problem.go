package access

import (
	"encoding/json"
	"net/http"

	"github.com/oxbow-memory/oxbow"
)

// Problem is what a door answers when it refuses (RFC 9457), with the code of
// package oxbow beside it.
type Problem struct {
	Title  string `json:"title" doc:"the HTTP status in words"`
	Status int    `json:"status" doc:"the HTTP status"`
	Detail string `json:"detail,omitempty" doc:"what is wrong, and what to do next"`
	Code   string `json:"code,omitempty" doc:"invalid, not_found, conflict, unauthorized, unavailable, budget, unsupported or internal"`
}

// Error gives the detail.
func (p *Problem) Error() string { return p.Detail }

// GetStatus gives the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType gives the media type of a problem.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// Answer writes a problem.
func Answer(w http.ResponseWriter, p *Problem) {
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

// ProblemOf gives an error as a problem. What has no code, or is internal, is
// not shown: the caller logs it.
func ProblemOf(err error) *Problem {
	code := oxbow.CodeOf(err)
	status, known := statuses[code]
	if !known {
		status, code = http.StatusInternalServerError, oxbow.CodeInternal
		return &Problem{Title: http.StatusText(status), Status: status, Code: code,
			Detail: "something went wrong inside the server; its log names it"}
	}
	return &Problem{Title: http.StatusText(status), Status: status, Code: code, Detail: message(err)}
}

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
