package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine bounds one message. What may be written at once is far smaller.
const maxLine = 4 << 20

// readSize is what is read at once.
const readSize = 64 << 10

// answerWithin bounds how long a client that has closed its end is still answered.
const answerWithin = 10 * time.Second

// pipe is the transport over standard input and output: one message a line.
//
// The library's own ends the session at the first line that is no message, and
// leaves calls unanswered whose client closes its end behind them, as every script
// does that pipes its calls in. This one answers such a line with the protocol's
// error and goes on, and ends when what was asked is answered.
type pipe struct {
	in  io.ReadCloser
	out io.Writer
}

// Connect implements sdk.Transport.
func (p pipe) Connect(context.Context) (sdk.Connection, error) {
	c := &lines{pipe: p, got: make(chan line), closed: make(chan struct{}), open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}, 1)}
	go c.read()
	return c, nil
}

// line is one that was read, or why there are no more.
type line struct {
	text []byte
	long bool // its end was left out
	err  error
}

// lines is the connection. Reading goes on in a goroutine of its own, which may
// outlive it by a read that nothing can interrupt.
type lines struct {
	pipe
	got    chan line
	once   sync.Once
	closed chan struct{}

	mu   sync.Mutex // of what follows, and of writing
	open map[jsonrpc.ID]bool
	idle chan struct{} // told when the last call is answered
}

// SessionID implements sdk.Connection: there is one session and it has no name.
func (c *lines) SessionID() string { return "" }

// Close implements sdk.Connection.
func (c *lines) Close() error {
	var err error
	c.once.Do(func() {
		close(c.closed)
		err = c.in.Close()
	})
	return err
}

func (c *lines) read() {
	r := bufio.NewReaderSize(c.in, readSize)
	give := func(l line) bool {
		select {
		case c.got <- l:
			return true
		case <-c.closed:
			return false
		}
	}
	var err error
	for err == nil {
		l := line{}
		for more := true; more && err == nil; {
			var part []byte
			part, more, err = r.ReadLine()
			if l.long = l.long || len(l.text)+len(part) > maxLine; !l.long {
				l.text = append(l.text, part...)
			}
		}
		// A last line without an end that just fills the buffer comes with the error.
		if (err == nil || len(l.text) > 0) && !give(l) {
			return
		}
	}
	give(line{err: err})
}

// Read implements sdk.Connection.
func (c *lines) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		var l line
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l = <-c.got:
		}
		switch text := bytes.TrimSpace(l.text); {
		case l.err != nil:
			c.answered(ctx)
			return nil, l.err
		case l.long:
			c.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Sprintf("the message is longer than %d bytes: send less at once", maxLine))
		case len(text) == 0:
		default:
			if m := c.message(text); m != nil {
				return m, nil
			}
		}
	}
}

// message reads a line, or answers it when it is none.
func (c *lines) message(text []byte) jsonrpc.Message {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if !json.Valid(text) {
		c.refuse(nil, jsonrpc.CodeParseError, "the line is no JSON: send one message a line")
		return nil
	}
	if text[0] == '[' {
		c.refuse(nil, jsonrpc.CodeInvalidRequest, "the line is a list: send one message a line")
		return nil
	}
	m, err := jsonrpc.DecodeMessage(text)
	if json.Unmarshal(text, &head) != nil || err != nil || string(head.ID) == "null" || head.Method == nil && head.Result == nil && head.Error == nil {
		c.refuse(head.ID, jsonrpc.CodeInvalidRequest, "the line is no message of JSON-RPC 2.0: a request has jsonrpc, method and an id that is a number or a text")
		return nil
	}
	if q, ok := m.(*jsonrpc.Request); ok {
		c.count(q)
	}
	return m
}

// count remembers what has to be answered before the session ends: calls, but for
// those that the client takes back, and streams, which have no end of their own.
func (c *lines) count(q *jsonrpc.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case q.Method == "notifications/cancelled":
		var about struct {
			ID any `json:"requestId"`
		}
		if json.Unmarshal(q.Params, &about) == nil {
			if id, err := jsonrpc.MakeID(about.ID); err == nil {
				delete(c.open, id)
			}
		}
	case q.ID.IsValid() && q.Method != "subscriptions/listen":
		c.open[q.ID] = true
	}
}

// answered waits until every call is answered, as far as the client can expect.
func (c *lines) answered(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-c.closed:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Write implements sdk.Connection.
func (c *lines) Write(_ context.Context, m jsonrpc.Message) error {
	b, err := jsonrpc.EncodeMessage(coded(m))
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r, ok := m.(*jsonrpc.Response); ok {
		if delete(c.open, r.ID); len(c.open) == 0 {
			defer func() {
				select {
				case c.idle <- struct{}{}:
				default:
				}
			}()
		}
	}
	_, err = c.out.Write(append(b, '\n'))
	return err
}

// coded gives an answer whose error has a code of the protocol. The library gives 0
// to what comes at the wrong time, such as a call before initialize.
func coded(m jsonrpc.Message) jsonrpc.Message {
	r, ok := m.(*jsonrpc.Response)
	if !ok || r.Error == nil {
		return m
	}
	if _, has := errors.AsType[*jsonrpc.Error](r.Error); has {
		return m
	}
	with := *r
	with.Error = &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: r.Error.Error()}
	return &with
}

// refuse answers a line that is no request. An id that cannot be read is null.
func (c *lines) refuse(id json.RawMessage, code int64, says string) {
	if len(id) == 0 || !strings.ContainsRune(`"-0123456789`, rune(id[0])) {
		id = json.RawMessage("null")
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": says}})
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, _ = c.out.Write(append(b, '\n')) // a client that is gone ends the session by its input
}
