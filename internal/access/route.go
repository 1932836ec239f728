package access

import (
	"net/http"

	"github.com/oxbow-memory/oxbow"
)

// Routed serves a mux, whose own refusals are plain text: a path that is none,
// and a method that the path has not. refuse answers these instead; its problem
// has the status, and the header Allow is set.
func Routed(mux *http.ServeMux, refuse func(w http.ResponseWriter, r *http.Request, p *Problem)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		s := &silent{header: http.Header{}, status: http.StatusOK}
		own.ServeHTTP(s, r)
		if s.status != http.StatusMethodNotAllowed {
			refuse(w, r, ProblemOf(oxbow.Errorf(oxbow.CodeNotFound, "there is nothing at this path")))
			return
		}
		allowed := s.header.Get("Allow")
		w.Header().Set("Allow", allowed)
		refuse(w, r, &Problem{Title: http.StatusText(s.status), Status: s.status, Code: oxbow.CodeInvalid,
			Detail: "this path takes no " + printable(r.Method) + ": it takes " + allowed})
	})
}

// silent takes an answer that nobody is to see.
type silent struct {
	header http.Header
	status int
}

func (s *silent) Header() http.Header         { return s.header }
func (s *silent) Write(b []byte) (int, error) { return len(b), nil }
func (s *silent) WriteHeader(status int)      { s.status = status }
