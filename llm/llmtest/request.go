package llmtest

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
)

// Request is one request as the server saw it.
type Request struct {
	Purpose     string          // extract, confidence, relate, expiry, cluster, synthesize, select, observe, reflect or embed; "" when unknown
	Model       string          // as asked for
	Format      string          // one of the formats: strict, json_schema, json_object or text
	Temperature *float64        // nil when it was not sent
	Schema      json.RawMessage // of the answer; nil when it was not sent
	System      string          // the text of the system messages
	User        string          // the text of the other messages
	Data        json.RawMessage // what stands in the fence; nil when there is none
	Mark        string          // the fence's mark
	Input       []string        // the texts to embed
	Dimensions  int             // of the vectors asked for; 0 when it was not sent
	Path        string          // of the address, with its query
	Header      http.Header
	Body        []byte // as it came
}

type wireRequest struct {
	Model       string   `json:"model"`
	Temperature *float64 `json:"temperature"`
	Messages    []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
	ResponseFormat struct {
		Type       string `json:"type"`
		JSONSchema struct {
			Name   string          `json:"name"`
			Strict bool            `json:"strict"`
			Schema json.RawMessage `json:"schema"`
		} `json:"json_schema"`
	} `json:"response_format"`
	Input      []string `json:"input"`
	Dimensions int      `json:"dimensions"`
}

var (
	markerForm = regexp.MustCompile(`(?m)^oxbow/([a-z]+)@[0-9]+$`)
	fenceForm  = regexp.MustCompile(`(?m)^BEGIN DATA (\S+)\n(.*)\nEND DATA (\S+)$`)
)

// readRequest reads a request as far as it can; what it cannot read stays empty.
func readRequest(raw []byte, h http.Header) Request {
	req := Request{Header: h.Clone(), Body: raw, Format: PlainText}
	var w wireRequest
	if json.Unmarshal(raw, &w) != nil {
		return req
	}
	req.Model, req.Temperature, req.Input, req.Dimensions = w.Model, w.Temperature, w.Input, w.Dimensions
	req.Schema = w.ResponseFormat.JSONSchema.Schema
	for _, m := range w.Messages {
		if m.Role == "system" {
			req.System += m.Content
		} else {
			req.User += m.Content
		}
	}
	switch f := w.ResponseFormat; {
	case f.Type == "json_schema" && f.JSONSchema.Strict:
		req.Format = StrictSchema
	case f.Type == "json_schema":
		req.Format = LooseSchema
	case f.Type == "json_object":
		req.Format = JSONObject
	}
	if name, ok := strings.CutPrefix(w.ResponseFormat.JSONSchema.Name, "oxbow_"); ok {
		req.Purpose = name
	} else if m := markerForm.FindStringSubmatch(req.System); m != nil {
		req.Purpose = m[1]
	}
	if m := fenceForm.FindStringSubmatch(req.User); m != nil && m[1] == m[3] {
		req.Mark, req.Data = m[1], json.RawMessage(m[2])
	}
	return req
}
