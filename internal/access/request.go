package access

import (
	"context"
	"crypto/rand"
	"net/http"
	"regexp"
)

// requestHeader is where a request has its name, by which the log and the caller
// mean the same one. A caller, or a proxy, may give it.
const requestHeader = "X-Request-Id"

// requestForm is what a name may look like that goes into the log.
var requestForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)

type requestKey struct{}

// name gives a request its name, and the answer too. The request is changed in
// place, because what stands before looks which route it took.
func name(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(requestHeader)
	if !requestForm.MatchString(id) {
		id = rand.Text()
	}
	w.Header().Set(requestHeader, id)
	*r = *r.WithContext(context.WithValue(r.Context(), requestKey{}, id))
}

// RequestID gives the name of the request that a context is of, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestKey{}).(string)
	return id
}
