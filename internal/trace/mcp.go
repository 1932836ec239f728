package trace

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// Asked is a request of the Model Context Protocol as its span says it.
type Asked struct {
	Method string
	Tool   string // one that there is, so that nobody makes up names of spans
	Prompt string // likewise
	From   string // what names the caller's span, in the form of Carried
}

// Request begins a span of a request of the Model Context Protocol. It stands under
// the caller's span where that is named, linked to what it came in by, else under
// that.
func Request(ctx context.Context, a Asked) (context.Context, Span) {
	t := tracer(ctx)
	if t == nil {
		return ctx, Span{}
	}
	name, attrs := a.Method, []attribute.KeyValue{attribute.String(mcpMethod, a.Method)}
	switch {
	case a.Tool != "":
		name += " " + a.Tool
		attrs = append(attrs, attribute.String(operation, executeTool), attribute.String(toolName, a.Tool))
	case a.Prompt != "":
		name += " " + a.Prompt
		attrs = append(attrs, attribute.String(promptName, a.Prompt))
	}
	by := trace.SpanContextFromContext(ctx)
	if by.IsValid() {
		attrs = append(attrs, attribute.String(transport, "tcp"))
	} else {
		attrs = append(attrs, attribute.String(transport, "pipe"))
	}
	var links []trace.Link
	if caller := named(a.From); caller.IsValid() {
		if by.IsValid() {
			links = append(links, trace.Link{SpanContext: by})
		}
		ctx = trace.ContextWithRemoteSpanContext(ctx, caller)
	}
	ctx, s := t.Start(ctx, name, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(attrs...), trace.WithLinks(links...))
	return ctx, Span{s}
}

// Refused says that a tool refused.
func (s Span) Refused() {
	if s.span != nil {
		s.fail(toolError)
	}
}
