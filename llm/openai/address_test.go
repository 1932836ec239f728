package openai

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

func TestMetadataAddresses(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]bool{
		"169.254.169.254": true, "169.254.0.1": true, "169.254.170.2": true, "169.254.255.255": true,
		"::ffff:169.254.169.254": true, "64:ff9b::a9fe:a9fe": true, "fe80::1": true, "fe80::a9fe:a9fe%eth0": true, "febf::1": true,
		"fd00:ec2::254": true, "fd20:ce::254": true, "100.100.100.200": true, "168.63.129.16": true, "192.0.0.192": true, "64:ff9b::6464:64c8": true,
		"127.0.0.1": false, "::1": false, "192.168.1.20": false, "10.0.0.7": false, "169.253.255.255": false, "169.255.0.0": false,
		"fd00:ec2::253": false, "fec0::1": false, "64:ff9b::102:304": false, "8.8.8.8": false,
	} {
		if got := isMetadata(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: got %v, want %v", address, got, want)
		}
	}
	for raw, want := range map[string]bool{
		"http://169.254.169.254/v1": true, "http://[fd00:ec2::254]/v1": true, "https://[::ffff:a9fe:a9fe]:443/v1": true, "http://[fe80::1%25eth0]/v1": true,
		"http://metadata.google.internal/v1": true, "http://METADATA.google.internal./v1": true, "http://instance-data/v1": true,
		"http://127.0.0.1:11434/v1": false, "https://api.openai.com/v1": false, "http://metadata.example/v1": false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := namesMetadata(u); got != want {
			t.Errorf("%s: got %v, want %v", raw, got, want)
		}
	}
}

func TestMetadataConfiguration(t *testing.T) {
	t.Parallel()
	for _, base := range []string{"http://169.254.169.254/v1", "http://[fd00:ec2::254]/v1", "http://metadata.google.internal/computeMetadata/v1"} {
		if _, err := New(Config{BaseURL: base, Model: "m"}); oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "metadata") {
			t.Errorf("a judge at %s: %v", base, err)
		}
		if _, err := NewEmbedder(EmbedderConfig{BaseURL: base, Model: "m", Dimensions: 3}); oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "metadata") {
			t.Errorf("an embedder at %s: %v", base, err)
		}
	}
}

// names answers questions of the domain name system: each for an IPv4 address
// with the next one of a list, the last one for ever, and none for IPv6.
func names(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = conn.Close()
		<-done
	})
	go func() {
		defer close(done)
		buf, asked := make([]byte, 512), 0
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			end := 12 + bytes.IndexByte(buf[12:n], 0) + 5 // behind the question's name, type and class
			out := append([]byte{}, buf[:end]...)
			out[2], out[3] = 0x81, 0x80 // an answer, without an error
			clear(out[6:12])
			if binary.BigEndian.Uint16(buf[end-4:]) == 1 { // A
				out[7] = 1
				a := netip.MustParseAddr(addresses[min(asked, len(addresses)-1)]).As4()
				asked++
				out = append(append(out, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4), a[:]...)
			}
			_, _ = conn.WriteTo(out, from)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// askBoth makes a judge and an embedder that resolve names by a resolver, and asks
// both.
func askBoth(t *testing.T, base string, r *net.Resolver) (judged, embedded error) {
	t.Helper()
	j, err := New(Config{BaseURL: base, Model: "m", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	e, err := NewEmbedder(EmbedderConfig{BaseURL: base, Model: "m", Key: "k", Dimensions: 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []*wire{j.wire, e.wire} {
		d := newDialer()
		d.Resolver = r
		w.http = newHTTPClient(d)
	}
	defer j.Close()
	defer e.Close()
	_, judged = j.Confidence(t.Context(), "tea: green", llm.TurnText{User: "tea: green"})
	_, embedded = e.Embed(t.Context(), []string{"tea: green"})
	return judged, embedded
}

func TestMetadataNames(t *testing.T) {
	t.Parallel()
	t.Run("is refused when a harmless name resolves to one", func(t *testing.T) {
		t.Parallel()
		judged, embedded := askBoth(t, "http://models.example.test/v1", names(t, "169.254.169.254"))
		for who, err := range map[string]error{"the judge": judged, "the embedder": embedded} {
			if oxbow.CodeOf(err) != oxbow.CodeInvalid || !strings.Contains(err.Error(), "metadata") {
				t.Errorf("%s asked: %v", who, err)
			}
		}
	})

	t.Run("is refused when a name that was harmless is bound to one later", func(t *testing.T) {
		t.Parallel()
		var asked atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.Header().Set("Connection", "close") // so that the next request connects anew
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		defer s.Close()
		_, port, err := net.SplitHostPort(s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		judged, embedded := askBoth(t, "http://models.example.test:"+port+"/v1", names(t, "127.0.0.1", "169.254.169.254"))
		if _, away := errors.AsType[*llm.AwayError](judged); !away || asked.Load() != 1 {
			t.Fatalf("the first one was asked %d times: %v", asked.Load(), judged)
		}
		if oxbow.CodeOf(embedded) != oxbow.CodeInvalid || !strings.Contains(embedded.Error(), "metadata") {
			t.Errorf("the second one asked: %v", embedded)
		}
	})
}

func TestHeaderBound(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Endless", strings.Repeat("x", 2*maxHeader))
	}))
	defer s.Close()
	judged, embedded := askBoth(t, s.URL+"/v1", nil)
	for who, err := range map[string]error{"the judge": judged, "the embedder": embedded} {
		if _, away := errors.AsType[*llm.AwayError](err); !away {
			t.Errorf("%s read an endless header: %v", who, err)
		}
	}
}
