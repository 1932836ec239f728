package access

import (
	"net/http"

	"github.com/oxbow-memory/oxbow"
)

// Require lets in who has a permission, as the doors do, for a handler that asks
// nothing of its caller itself.
func (g *Guard) Require(p oxbow.Permission, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := g.Caller(r)
		if err != nil {
			Answer(w, Unidentified(w, err))
			return
		}
		if err := who.May(p); err != nil {
			Answer(w, ProblemOf(err))
			return
		}
		next.ServeHTTP(w, r.WithContext(WithCaller(r.Context(), who)))
	})
}
