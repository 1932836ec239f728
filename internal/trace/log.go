package trace

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

type jobKey struct{}

// job is what the log says of the job in whose name it speaks.
type job struct{ kind, run string }

// Logs gives a handler that adds to each line in which job, run and trace it was
// written, as far as the context knows.
func Logs(h slog.Handler) slog.Handler { return lines{h} }

type lines struct{ slog.Handler }

// Handle implements slog.Handler.
func (l lines) Handle(ctx context.Context, r slog.Record) error {
	if j, ok := ctx.Value(jobKey{}).(job); ok {
		r.AddAttrs(slog.String("job_kind", j.kind))
		if j.run != "" {
			r.AddAttrs(slog.String("run_id", j.run))
		}
	}
	if c := trace.SpanContextFromContext(ctx); c.IsValid() {
		r.AddAttrs(slog.String("trace_id", c.TraceID().String()), slog.String("span_id", c.SpanID().String()))
	}
	return l.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (l lines) WithAttrs(as []slog.Attr) slog.Handler { return lines{l.Handler.WithAttrs(as)} }

// WithGroup implements slog.Handler.
func (l lines) WithGroup(name string) slog.Handler { return lines{l.Handler.WithGroup(name)} }
