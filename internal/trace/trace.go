package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/oxbow-memory/oxbow"
)

// carrier is a span that is none and only knows where spans go.
type carrier struct {
	noop.Span
	to trace.TracerProvider
}

// TracerProvider gives where spans go.
func (c carrier) TracerProvider() trace.TracerProvider { return c.to }

// With gives a context whose spans go to a provider.
func With(ctx context.Context, p trace.TracerProvider) context.Context {
	return trace.ContextWithSpan(ctx, carrier{to: p})
}

// tracer gives who makes a context's spans; nil when nobody does.
func tracer(ctx context.Context) trace.Tracer {
	s := trace.SpanFromContext(ctx)
	if _, carries := s.(carrier); !carries && !s.IsRecording() {
		return nil // nobody asked, or the sampler leaves this trace out
	}
	return s.TracerProvider().Tracer(instrumentation, trace.WithSchemaURL(Conventions))
}

// Span is a span, or none. Its methods may be called on either.
type Span struct{ span trace.Span }

// start is called with a tracer, so that where there is none not even attributes
// are made.
func start(ctx context.Context, t trace.Tracer, name string, kind trace.SpanKind, attrs ...attribute.KeyValue) (context.Context, Span) {
	ctx, s := t.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(attrs...))
	return ctx, Span{s}
}

func (s Span) set(attrs ...attribute.KeyValue) { s.span.SetAttributes(attrs...) }

// End ends the span. Of an error it keeps the code, and none of its words.
func (s Span) End(err error) {
	if s.span == nil {
		return
	}
	if err != nil {
		s.fail(oxbow.CodeOf(err))
	}
	s.span.End()
}

func (s Span) fail(code string) {
	s.set(attribute.String(errorType, code))
	s.span.SetStatus(codes.Error, "")
}

// Memory begins a span of something that is done to memories or asked of them.
func Memory(ctx context.Context, op string) (context.Context, Span) {
	t := tracer(ctx)
	if t == nil {
		return ctx, Span{}
	}
	return start(ctx, t, op, trace.SpanKindInternal, attribute.String(operation, op), attribute.String(provider, oxbowProvider))
}

// Records says how many memories were written, or found.
func (s Span) Records(n int) {
	if s.span != nil {
		s.set(attribute.Int(recordCount, n))
	}
}

// Run says to which run it belongs, so that it is found beside the run's jobs.
func (s Span) Run(id string) {
	if s.span != nil && id != "" {
		s.set(attribute.String(runID, id))
	}
}

// Model begins a span of one request to a model. asked is the question, such as
// relate.
func Model(ctx context.Context, op, model, asked string) (context.Context, Span) {
	t := tracer(ctx)
	if t == nil {
		return ctx, Span{}
	}
	return start(ctx, t, op+" "+model, trace.SpanKindClient, attribute.String(operation, op), attribute.String(provider, openaiProvider),
		attribute.String(requestModel, model), attribute.String(question, asked))
}

// Spent says what a request took, in tokens, and how it ended.
func (s Span) Spent(in, out, cached int, outcome string) {
	if s.span != nil {
		s.set(attribute.Int(inputTokens, in), attribute.Int(outputTokens, out), attribute.Int(cachedTokens, cached), attribute.String(modelOutcome, outcome))
	}
}

// Record says which memory it is about, when it is about one. Its id is random and
// says nothing of it.
func (s Span) Record(id string) {
	if s.span != nil && id != "" {
		s.set(attribute.String(recordID, id))
	}
}

// Job begins a span of an attempt at a job, and tells the log which job it is. The
// span begins a trace, because a job may run days after what enqueued it, and is
// linked to the span that from names (Carried).
func Job(ctx context.Context, kind, run string, attempt int, from string) (context.Context, Span) {
	ctx = context.WithValue(ctx, jobKey{}, job{kind, run})
	t := tracer(ctx)
	if t == nil {
		return ctx, Span{}
	}
	ctx, s := start(ctx, t, "job "+kind, trace.SpanKindConsumer, attribute.String(jobKind, kind), attribute.Int(jobAttempt, attempt))
	if c := named(from); c.IsValid() {
		s.span.AddLink(trace.Link{SpanContext: c})
	}
	s.Run(run)
	return ctx, s
}

// carriedIn is the name of W3C Trace Context for what Carried gives, and of the
// property of a request of the Model Context Protocol that names its caller's span.
const carriedIn = "traceparent"

// Carried names the span of a context for who goes on with it elsewhere; "" when
// nobody makes spans.
func Carried(ctx context.Context) string {
	if tracer(ctx) == nil {
		return ""
	}
	to := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, to)
	return to[carriedIn]
}

// named gives the span that Carried names; what is none is not valid.
func named(s string) trace.SpanContext {
	return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{carriedIn: s}))
}

// Ended says how an attempt at a job ended.
func (s Span) Ended(outcome string) {
	if s.span != nil {
		s.set(attribute.String(jobOutcome, outcome))
	}
}
