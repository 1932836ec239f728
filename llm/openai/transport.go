package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxAnswer is the largest response to a question that is read, 2 MiB. No answer
// of the schemas comes near it.
const maxAnswer = 2 << 20

var errTooLarge = errors.New("the response is far larger than any answer")

// broken is a request that got no complete response.
type broken struct{ err error }

func (b *broken) Error() string { return "no complete response" }
func (b *broken) Unwrap() error { return b.err }

// maxHeader is the most of a response's header that is read, in bytes.
const maxHeader = 64 << 10

// newHTTPClient gives a client that never follows a redirect: the next host is
// not the one that the key and the memories are meant for. It connects by the
// dialer, and reads no endless header.
func newHTTPClient(d *net.Dialer) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 8
	transport.DialContext = d.DialContext
	transport.MaxResponseHeaderBytes = maxHeader
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// exchange is one request and its response, used once. It is the client
// library's HTTPDoer: it adds the fields that the library cannot send, and
// keeps status, header and body, which the library loses on some errors.
type exchange struct {
	client      *http.Client
	extra       map[string]json.RawMessage
	temperature bool // send temperature 0, which the library leaves out as empty
	most        int  // bytes of a response that are read; maxAnswer when it is 0

	status int // 0 until a response is complete
	header http.Header
	body   []byte
}

// Do sends a request and reads its whole response.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	if err := x.complete(req); err != nil {
		return nil, err
	}
	resp, err := x.client.Do(req)
	if err != nil {
		return nil, &broken{err}
	}
	defer resp.Body.Close()
	most := cmp.Or(x.most, maxAnswer)
	body, err := io.ReadAll(io.LimitReader(resp.Body, int64(most)+1))
	if err != nil {
		return nil, &broken{err}
	}
	if len(body) > most {
		return nil, errTooLarge
	}
	x.status, x.header, x.body = resp.StatusCode, resp.Header, body
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func (x *exchange) complete(req *http.Request) error {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &fields); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	for name, v := range x.extra {
		fields[name] = v
	}
	if x.temperature {
		fields["temperature"] = json.RawMessage("0")
	}
	if raw, err = json.Marshal(fields); err != nil {
		return fmt.Errorf("write the request: %w", err)
	}
	req.Body = io.NopCloser(bytes.NewReader(raw))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(raw)), nil }
	req.ContentLength = int64(len(raw))
	return nil
}
