package mcp

import (
	"context"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/engine"
	"github.com/oxbow-memory/oxbow/recall"
)

// uriPrefix begins the address of a memory.
const uriPrefix = "memory://"

func (s *session) resource(ctx context.Context, req *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	uri := req.Params.URI
	var text string
	story, err := Story{}, s.caller.May(oxbow.MayRead)
	if err == nil {
		story, err = s.explain(ctx, IDInput{strings.TrimPrefix(uri, uriPrefix)})
	}
	if err == nil {
		text, err = asText(story)
	}
	switch {
	case err == nil:
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: "application/json", Text: text}}}, nil
	case oxbow.CodeOf(err) == oxbow.CodeNotFound:
		return nil, sdk.ResourceNotFoundError(uri)
	}
	return nil, s.refusal(ctx, err)
}

// refusal gives an error where the protocol has no other form for it: what was
// asked wrongly is a matter of its parameters, everything else is the server's.
func (s *session) refusal(ctx context.Context, err error) error {
	code := int64(jsonrpc.CodeInvalidParams)
	switch oxbow.CodeOf(err) {
	case oxbow.CodeInternal, oxbow.CodeUnavailable:
		code = jsonrpc.CodeInternalError
	}
	return &jsonrpc.Error{Code: code, Message: s.told(ctx, err)}
}

// context renders the block that goes before a message. Nobody asked for these
// memories, so they do not count as used.
func (s *session) context(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	if err := s.caller.May(oxbow.MayRead); err != nil {
		return nil, s.refusal(ctx, err)
	}
	in := req.Params.Arguments
	q := engine.ContextQuery{Scope: s.scope(in["scope"]), Text: in["message"], Conversation: in["conversation"], State: recall.State{Goal: in["goal"], Step: in["step"]}}
	if open := in["open"]; open != "" {
		q.State.Open = []string{open}
	}
	if v := in["budget"]; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return nil, s.refusal(ctx, oxbow.Errorf(oxbow.CodeInvalid, "the budget %s is no number of tokens: give 200 or more", short(v)))
		}
		q.Budget = n
	}
	got, err := s.e.Context(ctx, q)
	if err != nil {
		return nil, s.refusal(ctx, err)
	}
	about := "what is known that fits the message"
	for _, n := range got.Notes {
		about += "; " + n
	}
	return &sdk.GetPromptResult{Description: about,
		Messages: []*sdk.PromptMessage{{Role: "user", Content: &sdk.TextContent{Text: got.Text + "\n" + in["message"]}}}}, nil
}
