package trace

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Serve makes a span of each request, under the caller's own when it sends one
// (W3C Trace Context). The span is named after the route and not after the path,
// which has ids in it. A request's context knows where spans go from base; where
// that knows nothing, handler is given back as it is.
func Serve(base context.Context, handler http.Handler) http.Handler {
	if tracer(base) == nil {
		return handler
	}
	to := trace.SpanFromContext(base).TracerProvider()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
		method := methodOf(r)
		ctx, s := to.Tracer(instrumentation, trace.WithSchemaURL(Conventions)).Start(ctx, method,
			trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attribute.String(httpMethod, method)))
		if !s.IsRecording() { // sampled out: what is below must not begin traces of its own
			handler.ServeHTTP(w, r.WithContext(ctx))
			s.End()
			return
		}
		seen := &answer{ResponseWriter: w, status: http.StatusOK}
		r = r.WithContext(ctx)
		defer func() {
			span := Span{s}
			if _, route, found := strings.Cut(r.Pattern, " "); found {
				span.set(attribute.String(httpRoute, route))
				s.SetName(method + " " + route)
			} else if r.Pattern != "" {
				span.set(attribute.String(httpRoute, r.Pattern))
				s.SetName(method + " " + r.Pattern)
			}
			span.set(attribute.Int(httpStatus, seen.status))
			if seen.status >= http.StatusInternalServerError {
				span.fail(http.StatusText(seen.status))
			}
			s.End()
		}()
		handler.ServeHTTP(seen, r)
	})
}

// methodOf keeps what somebody made up out of the names of spans.
func methodOf(r *http.Request) string {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		return r.Method
	}
	return "_OTHER"
}

// answer remembers the status of a response.
type answer struct {
	http.ResponseWriter
	status int
	sent   bool
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if !a.sent {
		a.status, a.sent = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

// Flush sends what was written; streams need it.
func (a *answer) Flush() {
	if f, ok := a.ResponseWriter.(http.Flusher); ok {
		f.Flush()
	}
}

// Unwrap gives the response to http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
