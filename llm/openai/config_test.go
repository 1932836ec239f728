package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/openai"
)

func TestNew(t *testing.T) {
	t.Parallel()
	t.Run("needs a model and nothing else", func(t *testing.T) {
		t.Parallel()
		j, err := openai.New(openai.Config{Model: "small"})
		if err != nil || j.Name() != "openai/small@4" {
			t.Fatalf("got %v, %v", j, err)
		}
	})
	t.Run("names the model that writes", func(t *testing.T) {
		t.Parallel()
		j := newJudge(t, "http://127.0.0.1:1/v1")
		if a, b := llm.NameOf(j, "relate"), llm.NameOf(j, "synthesize"); a != "openai/small@4" || b != "openai/large@4" {
			t.Errorf("the names are %s and %s", a, b)
		}
	})
	for name, change := range map[string]func(*openai.Config){
		"no model":                      func(c *openai.Config) { c.Model = "" },
		"an address without a scheme":   func(c *openai.Config) { c.BaseURL = "localhost:11434/v1" },
		"a file":                        func(c *openai.Config) { c.BaseURL = "file:///etc/passwd" },
		"credentials in the address":    func(c *openai.Config) { c.BaseURL = "https://me:" + testKey + "@host/v1" },
		"a query in the address":        func(c *openai.Config) { c.BaseURL = "https://host/v1?key=" + testKey },
		"an address that is no URL":     func(c *openai.Config) { c.BaseURL = "https://host/%zz" + testKey },
		"the whole path":                func(c *openai.Config) { c.BaseURL = "https://host/v1/chat/completions" },
		"an Azure version that is none": func(c *openai.Config) { c.AzureVersion = "v1" },
		"an Azure version beside a path": func(c *openai.Config) {
			c.BaseURL, c.AzureVersion = "https://name.openai.azure.com/openai/v1", "2024-10-21"
		},
		"a key with a line end":       func(c *openai.Config) { c.Key = testKey + "\n" },
		"a timeout below zero":        func(c *openai.Config) { c.Timeout = -time.Second },
		"a tiny text":                 func(c *openai.Config) { c.MaxTextBytes = 3 },
		"output tokens below zero":    func(c *openai.Config) { c.MaxOutputTokens = -1 },
		"an extra body with messages": func(c *openai.Config) { c.ExtraBody = map[string]any{"messages": nil} },
		"an extra body that no JSON can hold": func(c *openai.Config) {
			c.ExtraBody = map[string]any{"f": func() {}}
		},
	} {
		t.Run("refuses "+name, func(t *testing.T) {
			t.Parallel()
			cfg := openai.Config{Model: "small", Key: testKey}
			change(&cfg)
			_, err := openai.New(cfg)
			if oxbow.CodeOf(err) != oxbow.CodeInvalid || strings.Contains(err.Error(), testKey) {
				t.Fatalf("got %v", err)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	cfg := openai.Config{Model: "small", Key: testKey}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		fmt.Fprintf(&out, verb, cfg)
		fmt.Fprintf(&out, verb, cfg.Key)
	}
	fmt.Fprintf(&out, "%q %x %X", cfg.Key, cfg.Key, cfg.Key)
	if err := json.NewEncoder(&out).Encode(map[string]any{"key": cfg.Key}); err != nil {
		t.Fatal(err)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", cfg.Key, "config", cfg)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", cfg.Key)
	if s := out.String(); strings.Contains(s, testKey) || strings.Contains(s, fmt.Sprintf("%x", testKey)) || !strings.Contains(s, "[redacted]") {
		t.Errorf("the key is told: %s", s)
	}
	if openai.Secret("").String() != "" {
		t.Error("no key looks like a key")
	}
}

// TestAddresses asks by the line that docs/operations.md has for each endpoint:
// where the request goes, and what carries the key.
func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, path, version, model  string
		chat, embeddings, keyHeader string
	}{
		{"OpenAI, vLLM, Ollama and llama.cpp", "/v1", "", "small", "/v1/chat/completions", "/v1/embeddings", "Authorization"},
		{"OpenRouter", "/api/v1/", "", "vendor/model:free", "/api/v1/chat/completions", "/api/v1/embeddings", "Authorization"},
		{"Azure", "/openai/v1/", "", "deployed", "/openai/v1/chat/completions", "/openai/v1/embeddings", "Authorization"},
		{"Azure by deployments", "/", "2024-10-21", "my-gpt-5.4", "/openai/deployments/my-gpt-5.4/chat/completions?api-version=2024-10-21",
			"/openai/deployments/my-gpt-5.4/embeddings?api-version=2024-10-21", "Api-Key"},
	} {
		t.Run("reaches "+tt.name, func(t *testing.T) {
			t.Parallel()
			s := llmtest.New(t)
			base := strings.TrimSuffix(s.URL(), "/v1") + tt.path
			j := newJudge(t, base, func(c *openai.Config) { c.Model, c.AzureVersion = tt.model, tt.version })
			if _, err := j.Confidence(t.Context(), "x", aTurn); err != nil {
				t.Fatal(err)
			}
			e := newEmbedder(t, base, func(c *openai.EmbedderConfig) { c.Model, c.AzureVersion = tt.model, tt.version })
			if _, err := e.Embed(t.Context(), []string{"x"}); err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{tt.chat, tt.embeddings} {
				r := s.Requests()[i]
				if r.Path != want || r.Model != tt.model {
					t.Errorf("asked %s of %s, want %s", r.Path, r.Model, want)
				}
				for _, h := range []string{"Authorization", "Api-Key"} {
					if got := r.Header.Get(h); (strings.TrimPrefix(got, "Bearer ") == testKey) != (h == tt.keyHeader) || h != tt.keyHeader && got != "" {
						t.Errorf("the header %s is wrong", h)
					}
				}
			}
		})
	}
}
