package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/access"
)

// unreadable refuses what the router would read as something else, or as
// nothing: a query that does not parse, and a body in an encoding. It writes the
// name of a media type as the router knows it.
func unreadable(r *http.Request) *access.Problem {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		return refusal(http.StatusBadRequest, "the query does not parse: write % and ; in a value as %25 and %3B")
	}
	if e := r.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return refusal(http.StatusUnsupportedMediaType, "the body comes encoded, by its Content-Encoding: send it as it is")
	}
	if name, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err == nil && strings.HasSuffix(name, "json") {
		r.Header.Set("Content-Type", "application/json")
	}
	return nil
}

func refusal(status int, detail string) *access.Problem {
	return &access.Problem{Title: http.StatusText(status), Status: status, Code: oxbow.CodeInvalid, Detail: detail}
}

// jsonFormat writes JSON. That the reader has left while it is written is no
// error of the answer, whose status has been sent.
var jsonFormat = huma.Format{
	Marshal: func(w io.Writer, v any) error {
		out := &leaving{Writer: w}
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil && !out.left {
			return err
		}
		return nil
	},
	Unmarshal: json.Unmarshal,
}

// leaving notices that nobody reads any more.
type leaving struct {
	io.Writer
	left bool
}

// Write implements io.Writer.
func (l *leaving) Write(b []byte) (int, error) {
	n, err := l.Writer.Write(b)
	l.left = l.left || err != nil
	return n, err
}

// brokenBody remembers that a body could not be read to its end, which the router
// calls a defect of its own.
type brokenBody struct {
	io.ReadCloser
	broken bool
}

// Read implements io.Reader.
func (b *brokenBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		late, isNet := errors.AsType[net.Error](err)
		b.broken = !isNet || !late.Timeout()
	}
	return n, err
}

// brokenAnswer answers for such a body with the caller's fault.
type brokenAnswer struct {
	http.ResponseWriter
	body *brokenBody
}

// WriteHeader implements http.ResponseWriter.
func (a *brokenAnswer) WriteHeader(status int) {
	if a.body.broken && status == http.StatusInternalServerError {
		status = http.StatusBadRequest
	}
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (a *brokenAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// plainly turns what the router itself refuses into a problem like every other,
// with all that is wrong in its detail and nothing of the request's words.
func plainly(ctx huma.Context, _ string, v any) (any, error) {
	m, ok := v.(*huma.ErrorModel)
	if !ok {
		return v, nil
	}
	if _, w := humago.Unwrap(ctx); m.Status == http.StatusInternalServerError {
		if a, ok := w.(*brokenAnswer); ok && a.body.broken {
			return refusal(http.StatusBadRequest, "the body breaks off, or is not cut into chunks as its headers say: send it again, whole"), nil
		}
	}
	p := &access.Problem{Title: m.Title, Status: m.Status, Detail: m.Detail, Code: oxbow.CodeInvalid}
	for i, d := range m.Errors {
		if i == 0 {
			p.Detail = ""
		} else {
			p.Detail += "; "
		}
		p.Detail += d.Location + ": " + wording(d.Message)
	}
	switch {
	case m.Detail == "request body is required":
		p.Detail = "a body is needed: send JSON, as /docs shows it for this route"
	case m.Status == http.StatusUnsupportedMediaType:
		p.Detail = "the body is no JSON by its Content-Type: send Content-Type: application/json"
	case m.Status == http.StatusRequestEntityTooLarge:
		p.Detail = access.TooLarge
	case m.Status >= http.StatusInternalServerError:
		p.Code = oxbow.CodeInternal
	}
	return p, nil
}

// wording says in a message what to do next, and keeps what the program is
// written in out of it.
func wording(message string) string {
	switch {
	case strings.Contains(message, "Go value") || strings.Contains(message, "Go struct"):
		return "a value of it does not fit: a number is too large, or of another kind"
	case message == "unexpected property":
		return "there is no such field: /docs shows those there are"
	case message == "unknown query parameter":
		return "there is no such parameter: /docs shows those there are"
	case strings.HasSuffix(message, "RFC 3339 date-time"):
		return message + ", such as 2027-03-31T09:00:00Z"
	}
	return message
}

// settleDocument says in the document what the router does not know: that a
// refusal is a Problem, that a body is JSON and nothing else, and that one of
// which nothing is required may be left out.
func (a *API) settleDocument() {
	doc := a.huma.OpenAPI()
	problem := doc.Components.Schemas.Schema(reflect.TypeFor[access.Problem](), true, "Problem")
	for _, item := range doc.Paths {
		for _, o := range operations(item) {
			for _, r := range o.Responses {
				if m := r.Content["application/problem+json"]; m != nil {
					m.Schema = problem
				}
			}
			if o.RequestBody != nil {
				delete(o.RequestBody.Content, "application/octet-stream")
				if m := o.RequestBody.Content["application/json"]; m != nil {
					o.RequestBody.Required = len(a.resolve(m.Schema).Required) > 0
				}
			}
		}
	}
	schemas := doc.Components.Schemas.Map()
	delete(schemas, "ErrorModel")
	delete(schemas, "ErrorDetail")
}

// operations gives those of a path, in the order in which they are shown.
func operations(item *huma.PathItem) []*huma.Operation {
	var out []*huma.Operation
	for _, o := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
		if o != nil {
			out = append(out, o)
		}
	}
	return out
}
