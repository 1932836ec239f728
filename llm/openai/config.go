package openai

import (
	"encoding/json"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// Secret is a string that prints, logs and marshals as [redacted].
type Secret string

const redacted = "[redacted]"

// String gives [redacted], or nothing when there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString gives what String gives, so that %#v is safe too.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue gives what String gives.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText gives what String gives, so that a printed configuration is safe.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// fits tells whether a secret can stand in a header.
func (s Secret) fits() bool {
	return !strings.ContainsFunc(string(s), func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) })
}

// Config says which endpoint and models to ask, and how.
type Config struct {
	// BaseURL is the endpoint up to, and without, /chat/completions.
	// Defaults to https://api.openai.com/v1.
	BaseURL string
	// Key is sent as a bearer token, or as Azure's api-key, to BaseURL only.
	// Defaults to none, which local servers accept.
	Key Secret
	// AzureVersion is the api-version of Azure's older interface, in which the
	// deployment, which is the model, stands in the address. BaseURL then ends with
	// the host. Defaults to "": every other endpoint, Azure's /openai/v1 included.
	AzureVersion string
	// Model answers every question but Synthesize. Defaults to nothing: New
	// refuses a configuration that names no model.
	Model string
	// SynthesisModel answers Synthesize. Defaults to Model.
	SynthesisModel string
	// Timeout bounds one request to Model, its answer included; a question
	// may take several requests. Defaults to 20 seconds.
	Timeout time.Duration
	// SynthesisTimeout bounds one request to SynthesisModel. Defaults to 60 seconds.
	SynthesisTimeout time.Duration
	// MaxTextBytes is how much of one text a model is shown; the rest is cut
	// off. Lower it for models with a small context. Defaults to 65536.
	MaxTextBytes int
	// MaxOutputTokens bounds an answer, hidden reasoning included; it is sent
	// as max_completion_tokens. Defaults to 0: not sent.
	MaxOutputTokens int
	// ReasoningEffort is sent as reasoning_effort. Defaults to "": not sent.
	ReasoningEffort string
	// RequestsPerSecond bounds how many requests are sent; those over it wait
	// for their turn. Defaults to 0: no bound.
	RequestsPerSecond float64
	// BreakFor is how long an endpoint is left alone that was away five times
	// in a row; questions are answered by *llm.AwayError meanwhile, and then one
	// request tries it. Defaults to 0: it is always asked.
	BreakFor time.Duration
	// Meter counts what requests spend, and may forbid them. Defaults to none.
	Meter llm.Meter
	// ExtraBody holds further fields of every request, such as OpenRouter's
	// provider. Defaults to none.
	ExtraBody map[string]any
}

// reserved are the fields of a request that ExtraBody may not set: what is
// asked, and how the answer is held to its form, is not configuration.
var reserved = []string{"model", "messages", "response_format", "temperature", "stream", "n", "tools"}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = "https://api.openai.com/v1"
	}
	if c.SynthesisModel == "" {
		c.SynthesisModel = c.Model
	}
	if c.Timeout == 0 {
		c.Timeout = 20 * time.Second
	}
	if c.SynthesisTimeout == 0 {
		c.SynthesisTimeout = 60 * time.Second
	}
	if c.MaxTextBytes == 0 {
		c.MaxTextBytes = 64 << 10
	}
	return c
}

func (c Config) validate() error {
	if err := validateURL(c.BaseURL); err != nil {
		return err
	}
	if err := validateAzure(c.BaseURL, c.AzureVersion); err != nil {
		return err
	}
	switch {
	case c.Model == "":
		return invalid("no model is named: set the model that is to judge")
	case !c.Key.fits():
		return invalid("the key holds white space or a line end: set it again without them")
	case c.Timeout < 0 || c.SynthesisTimeout < 0:
		return invalid("a timeout is below zero: use a duration such as 20s")
	case c.MaxTextBytes < 256:
		return invalid("max text is %d bytes: use at least 256", c.MaxTextBytes)
	case c.RequestsPerSecond < 0 || c.BreakFor < 0:
		return invalid("the rate limit or the breaker's time is below zero: use 0 for none")
	case c.MaxOutputTokens < 0:
		return invalid("max output tokens is %d: use 0 or more", c.MaxOutputTokens)
	}
	for _, field := range reserved {
		if _, ok := c.ExtraBody[field]; ok {
			return invalid("the extra body sets %q, which the judge sets itself: leave it out", field)
		}
	}
	return nil
}

func validateURL(raw string) error {
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return invalid("the base URL is not an http or https address: use one such as https://api.openai.com/v1")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return invalid("the base URL holds credentials, a query or a fragment: give the key separately and leave them out")
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"), strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/embeddings"):
		return invalid("the base URL ends in /chat/completions or /embeddings: leave that part out")
	case namesMetadata(u):
		return invalid("the base URL names a link-local or metadata address, where no model answers: give the address of the endpoint")
	}
	return nil
}

var azureVersionForm = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}(-preview)?$`)

func validateAzure(base, version string) error {
	switch u, _ := url.Parse(base); {
	case version == "":
		return nil
	case !azureVersionForm.MatchString(version):
		return invalid("the Azure version is %q: use one such as 2024-10-21, or none with a base URL that ends in /openai/v1", version)
	case strings.Trim(u.Path, "/") != "":
		return invalid("with an Azure version the base URL ends with the host, such as https://NAME.openai.azure.com")
	}
	return nil
}

// extra gives ExtraBody as it is merged into a request.
func (c Config) extra() (map[string]json.RawMessage, error) {
	out := make(map[string]json.RawMessage, len(c.ExtraBody))
	for field, v := range c.ExtraBody {
		b, err := json.Marshal(v)
		if err != nil {
			return nil, invalid("the extra body's field %q is not JSON: correct it", field)
		}
		out[field] = b
	}
	return out, nil
}

func invalid(format string, args ...any) error {
	return oxbow.Errorf(oxbow.CodeInvalid, format, args...)
}
