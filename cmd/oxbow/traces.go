package main

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/oxbow-memory/oxbow/internal/trace"
)

// flushWithin bounds how long a program that ends waits for its last spans.
const flushWithin = 5 * time.Second

// traced gives a context whose spans are sent where the standard environment of
// OpenTelemetry says, and what sends the last of them. Without that environment
// there are none.
func (a *app) traced(ctx context.Context) (context.Context, func()) {
	to, ok := a.collector()
	if !ok {
		return ctx, func() {}
	}
	log := a.logger(slog.LevelInfo)
	// Neither of the two sends anything yet, so neither fails for where it sends.
	exporter, err := otlptrace.New(ctx, newOTLP(to, log))
	if err != nil {
		log.WarnContext(ctx, "no spans are sent", slog.String("error", err.Error()))
		return ctx, func() {}
	}
	about, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "oxbow"), attribute.String("service.version", version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil { // a part of the environment that cannot be read; the rest stands
		log.WarnContext(ctx, "the description of this service is incomplete", slog.String("error", err.Error()))
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithResource(about))
	return trace.With(ctx, provider), func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushWithin)
		defer cancel()
		_ = provider.Shutdown(ending) // what could not be sent was logged
	}
}

// collector is where spans go.
type collector struct {
	url     string
	headers map[string]string
	timeout time.Duration
}

// collector reads the environment: the variables for traces go before those for
// everything.
func (a *app) collector() (collector, bool) {
	get := func(name string) string {
		v, _ := a.env(name)
		return strings.TrimSpace(v)
	}
	either := func(name string) string {
		if v := get("OTEL_EXPORTER_OTLP_TRACES_" + name); v != "" {
			return v
		}
		return get("OTEL_EXPORTER_OTLP_" + name)
	}
	c := collector{url: get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), headers: headersOf(either("HEADERS")), timeout: 10 * time.Second}
	if base := get("OTEL_EXPORTER_OTLP_ENDPOINT"); c.url == "" && base != "" {
		c.url = strings.TrimRight(base, "/") + "/v1/traces"
	}
	if ms, err := strconv.Atoi(either("TIMEOUT")); err == nil && ms > 0 {
		c.timeout = time.Duration(ms) * time.Millisecond
	}
	kind := get("OTEL_TRACES_EXPORTER")
	off := strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || kind != "" && kind != "otlp"
	if c.url == "" || off {
		return collector{}, false
	}
	if p := either("PROTOCOL"); p != "" && p != "http/protobuf" {
		a.say("OTEL_EXPORTER_OTLP_PROTOCOL is %s and spans are sent as http/protobuf: give the address that takes it, usually port 4318", p)
	}
	return c, true
}
