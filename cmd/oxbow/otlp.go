package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// otlp sends spans by OTLP over HTTP. OpenTelemetry's own client does the same
// and brings gRPC into the program, which would be 2 MB of it.
type otlp struct {
	to     collector
	http   *http.Client
	log    *slog.Logger
	failed atomic.Bool // so that a collector that is away is a line of the log and not thousands
}

func newOTLP(to collector, log *slog.Logger) *otlp {
	return &otlp{to: to, log: log, http: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Start implements otlptrace.Client.
func (*otlp) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (o *otlp) Stop(context.Context) error {
	o.http.CloseIdleConnections()
	return nil
}

// sendAttempts and sendAgainAfter say how a collector that is busy is asked again.
const (
	sendAttempts   = 3
	sendAgainAfter = 500 * time.Millisecond
)

// UploadTraces implements otlptrace.Client. Spans that cannot be sent are lost,
// because nothing may wait for who only watches.
func (o *otlp) UploadTraces(ctx context.Context, rs []*spans.ResourceSpans) error {
	// The request of the protocol is this message under another name.
	body, err := proto.Marshal(&spans.TracesData{ResourceSpans: rs})
	if err == nil {
		ctx, cancel := context.WithTimeout(ctx, o.to.timeout)
		defer cancel()
		err = o.upload(ctx, body)
	}
	if was := o.failed.Swap(err != nil); err != nil && !was {
		o.log.WarnContext(ctx, "spans could not be sent", slog.String("error", err.Error()))
	}
	return nil
}

func (o *otlp) upload(ctx context.Context, body []byte) error {
	for try := 1; ; try++ {
		busy, err := o.post(ctx, body)
		if err == nil || !busy || try == sendAttempts {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(sendAgainAfter * time.Duration(try)):
		}
	}
}

// post sends once; busy says that the collector asks to be asked again.
func (o *otlp) post(ctx context.Context, body []byte) (busy bool, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, o.to.url, bytes.NewReader(body))
	if err != nil {
		return false, fmt.Errorf("the address of the collector cannot be read")
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for k, v := range o.to.headers {
		req.Header.Set(k, v)
	}
	resp, err := o.http.Do(req)
	if err != nil {
		return true, err
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<16)) // so that the connection can be used again
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		busy = true
	}
	if resp.StatusCode/100 != 2 {
		return busy, fmt.Errorf("the collector answers %s", resp.Status)
	}
	return false, nil
}

// headersOf reads name=value pairs with commas, as the environment has them.
func headersOf(s string) map[string]string {
	out := map[string]string{}
	for _, pair := range strings.Split(s, ",") {
		k, v, ok := strings.Cut(pair, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			continue
		}
		if plain, err := url.PathUnescape(strings.TrimSpace(v)); err == nil {
			out[k] = plain
		}
	}
	return out
}
