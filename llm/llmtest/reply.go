package llmtest

import (
	"encoding/json"
	"net/http"
)

// Reply is one scripted answer. Make it with the functions of this file.
type Reply struct {
	status int
	header []string // name, value, name, value …
	body   string
	wait   <-chan struct{} // before anything is sent
	stall  <-chan struct{} // in the middle of the body
	hangup bool            // in the middle of the body
	judge  bool
	counts *counted // of a chat completion, whose usage depends on the request
}

// counted is a chat completion without its usage.
type counted struct {
	choice map[string]any
	length int
}

// answering gives the reply with the usage that it has for a request: a token
// for every four bytes, as models count roughly.
func (r Reply) answering(req Request) Reply {
	if r.counts == nil {
		return r
	}
	in, out := (len(req.Body)+3)/4, (r.counts.length+3)/4
	r.body = mustJSON(map[string]any{
		"id": "fake", "object": "chat.completion", "created": 0, "model": "fake", "choices": []any{r.counts.choice},
		"usage": map[string]any{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out},
	})
	return r
}

// Text is a chat completion with the given content.
func Text(content string) Reply { return completion(content, "", "stop") }

// JSON is a chat completion whose content is a value as JSON. It panics on a
// value that JSON cannot hold.
func JSON(v any) Reply {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return Text(string(b))
}

// Truncated is a chat completion that ran out of tokens after the content.
func Truncated(content string) Reply { return completion(content, "", "length") }

// Filtered is a chat completion that a content filter stopped after the content.
func Filtered(content string) Reply { return completion(content, "", "content_filter") }

// Refusal is a chat completion in which the model refuses, in the field for it.
func Refusal(words string) Reply { return completion("", words, "stop") }

// EmptyChoices is a chat completion without a choice.
func EmptyChoices() Reply {
	return Status(http.StatusOK, `{"id":"fake","object":"chat.completion","model":"fake","choices":[]}`)
}

// ErrorIn200 is an error inside a response with status 200. The code is a
// number such as 429, a word, or nil.
func ErrorIn200(message string, code any) Reply {
	return Status(http.StatusOK, mustJSON(map[string]any{"error": map[string]any{"message": message, "code": code}}))
}

// Status is a raw response: a status, a body, and header names and values by
// turns.
func Status(status int, body string, header ...string) Reply {
	return Reply{status: status, body: body, header: header}
}

// Judged is what the server would answer if nothing were queued.
func Judged() Reply { return Reply{judge: true} }

// Slow holds a reply back until a channel is closed, the client leaves, or the
// server stops.
func Slow(release <-chan struct{}, r Reply) Reply {
	r.wait = release
	return r
}

// Stalled sends the head and half the body, and the rest when a channel is
// closed.
func Stalled(release <-chan struct{}, r Reply) Reply {
	r.stall = release
	return r
}

// HungUp sends the head and half the body, and breaks the connection.
func HungUp(r Reply) Reply {
	r.hangup = true
	return r
}

func (r Reply) write(w http.ResponseWriter, gone func(<-chan struct{}) bool) {
	w.Header().Set("Content-Type", "application/json")
	for i := 0; i+1 < len(r.header); i += 2 {
		w.Header().Set(r.header[i], r.header[i+1])
	}
	w.WriteHeader(r.status)
	half := 0
	if r.stall != nil || r.hangup {
		half = len(r.body) / 2
		send(w, r.body[:half])
		_ = http.NewResponseController(w).Flush() // fails when the client has gone, which is its right
	}
	if r.hangup {
		panic(http.ErrAbortHandler) // net/http's way to break a connection
	}
	if r.stall != nil && gone(r.stall) {
		return
	}
	send(w, r.body[half:])
}

// send writes what it can; the client may have gone.
func send(w http.ResponseWriter, s string) { _, _ = w.Write([]byte(s)) }

func completion(content, refusal, finish string) Reply {
	message := map[string]any{"role": "assistant", "content": content}
	if refusal != "" {
		message["content"], message["refusal"] = nil, refusal
	}
	choice := map[string]any{"index": 0, "message": message, "finish_reason": finish}
	return Reply{status: http.StatusOK, counts: &counted{choice: choice, length: len(content) + len(refusal)}}
}

func errorJSON(message, kind string) string {
	return mustJSON(map[string]any{"error": map[string]any{"message": message, "type": kind, "code": nil}})
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}
