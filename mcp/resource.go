package mcp

import (
	"context"
	"fmt"
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

// promptOf says what the one prompt is.
func promptOf(c Config) *sdk.Prompt {
	return &sdk.Prompt{Name: "context", Title: "What is known about this",
		Description: "The block to put before a message: the time, what this conversation was about, recent memories and those that fit. Ask for it anew at every turn.",
		Arguments: []*sdk.PromptArgument{{Name: "message", Description: "what the user said; may be left out when goal or step is given"},
			{Name: "scope", Description: fmt.Sprintf("whose memories, such as user:ada; %q when it is left out", c.Scope)},
			{Name: "conversation", Description: "the running one, as its turns are ingested"},
			{Name: "goal", Description: "what the agent is after"}, {Name: "step", Description: "what it is doing for that now"},
			{Name: "open", Description: "what it does not know yet"}, {Name: "budget", Description: "tokens of the block, 200 or more"}}}
}

// context renders the block that goes before a message. Nobody asked for these
// memories, so they do not count as used.
func (s *session) context(ctx context.Context, req *sdk.GetPromptRequest) (*sdk.GetPromptResult, error) {
	if err := s.caller.May(oxbow.MayRead); err != nil {
		return nil, s.refusal(ctx, err)
	}
	in := req.Params.Arguments
	takes := make([]string, len(s.prompt.Arguments))
	for i, a := range s.prompt.Arguments {
		takes[i] = a.Name
	}
	if err := known("the prompt "+s.prompt.Name, in, takes); err != nil {
		return nil, s.refusal(ctx, err)
	}
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
