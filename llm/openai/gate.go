package openai

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"
	"golang.org/x/time/rate"

	"github.com/oxbow-memory/oxbow/llm"
)

// breakAfter is how many requests in a row must find the endpoint away for the
// breaker to open.
const breakAfter = 5

// probing is how long a request waits while another one tries an endpoint that
// was away.
const probing = time.Second

// gate is what every request to the endpoint passes: a breaker, which lets
// nothing through for a while after the endpoint was away several times, and a
// limit of requests per second. Either may be missing.
type gate struct {
	breaker *gobreaker.CircuitBreaker[struct{}]
	limiter *rate.Limiter
	base    string

	mu    sync.Mutex
	until time.Time // when the open breaker lets one through
}

// mute is an error that says nothing of the endpoint: it came before anything
// was sent, or whoever asks gave up before the endpoint's own time was over.
type mute struct{ err error }

func (m *mute) Error() string { return m.err.Error() }
func (m *mute) Unwrap() error { return m.err }

func newGate(base string, perSecond float64, breakFor time.Duration) *gate {
	g := &gate{base: base}
	if perSecond > 0 {
		g.limiter = rate.NewLimiter(rate.Limit(perSecond), max(1, int(math.Ceil(perSecond))))
	}
	if breakFor > 0 {
		g.breaker = gobreaker.NewCircuitBreaker[struct{}](gobreaker.Settings{
			Name:         "llm",
			Timeout:      breakFor,
			ReadyToTrip:  func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= breakAfter },
			IsSuccessful: func(err error) bool { return !isAway(err) },
			IsExcluded:   saysNothing,
			OnStateChange: func(_ string, _, to gobreaker.State) {
				if to == gobreaker.StateOpen {
					g.mu.Lock()
					defer g.mu.Unlock()
					g.until = time.Now().Add(breakFor)
				}
			},
		})
	}
	return g
}

func isAway(err error) bool {
	_, away := errors.AsType[*llm.AwayError](err)
	return away
}

// saysNothing tells whether an error is not about the endpoint.
func saysNothing(err error) bool {
	_, silent := errors.AsType[*mute](err)
	return silent || errors.Is(err, context.Canceled)
}

// pass runs ask when the endpoint may be asked. Its own errors are *AwayError,
// and those of ctx.
func (g *gate) pass(ctx context.Context, ask func() error) error {
	if g.breaker != nil && g.breaker.State() == gobreaker.StateOpen {
		return g.closed()
	}
	if g.limiter != nil {
		if err := g.limiter.Wait(ctx); err != nil {
			if errors.Is(err, context.Canceled) {
				return fmt.Errorf("ask the judge: %w", err)
			}
			return &llm.AwayError{RetryAfter: probing, Err: errors.New("too many requests wait for " + g.base)}
		}
	}
	if g.breaker == nil {
		return ask()
	}
	_, err := g.breaker.Execute(func() (struct{}, error) { return struct{}{}, ask() })
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		return g.closed()
	case errors.Is(err, gobreaker.ErrTooManyRequests):
		return &llm.AwayError{RetryAfter: probing, Err: errors.New(g.base + " was away, and another request tries it")}
	}
	return err
}

// closed says for how long nothing is let through.
func (g *gate) closed() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	left := max(time.Millisecond, time.Until(g.until))
	return &llm.AwayError{RetryAfter: left, Err: fmt.Errorf("%s was away several times in a row and is left alone", g.base)}
}
