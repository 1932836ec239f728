package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/pgtest"
)

// mute passes bytes on to a server until it is hushed: from then on what it had is
// cut, and whoever connects hears nothing, as from a machine that hangs.
type mute struct {
	net.Listener
	server string

	mu     sync.Mutex
	hushed bool
	conns  []net.Conn
}

func newMute(t *testing.T, server string) *mute {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m := &mute{Listener: ln, server: server}
	t.Cleanup(func() { _ = ln.Close(); m.cut() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			m.pass(c)
		}
	}()
	return m
}

func (m *mute) pass(c net.Conn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.conns = append(m.conns, c)
	if m.hushed {
		return
	}
	s, err := net.Dial("tcp", m.server)
	if err != nil {
		_ = c.Close()
		return
	}
	m.conns = append(m.conns, s)
	go func() { _, _ = io.Copy(s, c); _ = s.Close() }()
	go func() { _, _ = io.Copy(c, s); _ = c.Close() }()
}

func (m *mute) cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hushed = true
	for _, c := range m.conns {
		_ = c.Close()
	}
	m.conns = nil
}

func TestServerThatHangs(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(pgtest.URL(t))
	if err != nil {
		t.Fatal(err)
	}
	between := newMute(t, u.Host)
	defer between.cut() // the store would wait long for a good-bye
	u.Host = between.Addr().String()
	q := u.Query()
	q.Set("connect_timeout", "3") // a busy machine takes its time over the connections that are to be made
	u.RawQuery = q.Encode()
	s := open(t, u.String())
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.pool.Config().PingTimeout; got <= 0 {
		t.Error("a connection that went dumb while it was idle holds whoever asks")
	}
	between.cut()
	for late := false; !late; { // first those that break are used up
		_, _, err := s.SchemaVersion(t.Context())
		if oxbow.CodeOf(err) != oxbow.CodeUnavailable {
			t.Fatalf("it says %v", err)
		}
		late = errors.Is(err, context.DeadlineExceeded)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.SchemaVersion(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("of a caller who left it says %v", err)
	}
}
