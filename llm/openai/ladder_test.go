package openai_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/llm/llmtest"
	"github.com/oxbow-memory/oxbow/llm/openai"
)

func rate(t *testing.T, j *openai.Judge) {
	t.Helper()
	if _, err := j.Confidence(t.Context(), "x", aTurn); err != nil {
		t.Fatal(err)
	}
}

func wantFormats(t *testing.T, s *llmtest.Server, want ...string) {
	t.Helper()
	if got := formats(s); !slices.Equal(got, want) {
		t.Errorf("the formats asked for are %v, want %v", got, want)
	}
}

func TestLadderByRefusal(t *testing.T) {
	t.Parallel()
	const a, b, c, d = llmtest.StrictSchema, llmtest.LooseSchema, llmtest.JSONObject, llmtest.PlainText
	for _, tt := range []struct {
		name   string
		refuse []string
		want   []string // of two questions
	}{
		{"stays at the strict schema where it is known", nil, []string{a, a}},
		{"goes to the loose schema and remembers it", []string{a}, []string{a, b, b}},
		{"goes to a JSON object and remembers it", []string{a, b}, []string{a, b, c, c}},
		{"goes to plain text and remembers it", []string{a, b, c}, []string{a, b, c, d, d}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, j := setup(t)
			s.Refuse(tt.refuse...)
			rate(t, j)
			rate(t, j)
			wantFormats(t, s, tt.want...)
			last := s.Requests()[len(tt.want)-1]
			if shown := strings.Contains(last.System, "additionalProperties"); shown != (last.Format == c || last.Format == d) {
				t.Errorf("on %s the schema in the prompt is %v", last.Format, shown)
			}
		})
	}
	t.Run("stops where even plain text is refused", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Refuse(a, b, c, d)
		if _, err := j.Confidence(t.Context(), "x", aTurn); kindOf(err) != permanent {
			t.Fatalf("got %v", err)
		}
		wantFormats(t, s, a, b, c, d, d) // the last one with a harmless text
	})
	t.Run("forgets the way down that a refused text made it go", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		no := llmtest.Status(400, `{"error":"cannot read: my schema is ruined"}`) // as if it repeated the prompt
		s.Queue(no, no, no, no)
		if _, err := j.Confidence(t.Context(), "x", aTurn); kindOf(err) != refused {
			t.Fatalf("got %v", err)
		}
		rate(t, j)
		wantFormats(t, s, a, b, c, d, d, a)
	})
	t.Run("goes down on 422 and on an error inside a 200 too", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Queue(llmtest.Status(422, `{"detail":"response_format: unknown"}`), llmtest.ErrorIn200("json_schema is not supported", nil))
		rate(t, j)
		wantFormats(t, s, a, b, c)
	})
	t.Run("remembers for each model and for each judge", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Queue(llmtest.Status(400, `{"error":"response_format"}`))
		rate(t, j)
		if _, err := j.Synthesize(t.Context(), two()); err != nil {
			t.Fatal(err)
		}
		rate(t, newJudge(t, s.URL()))
		wantFormats(t, s, a, b, a, a)
		if m := s.Requests()[2].Model; m != "large" {
			t.Errorf("synthesis was asked of %q", m)
		}
	})
}

func TestLadderByAnswers(t *testing.T) {
	t.Parallel()
	const a, b, c, d = llmtest.StrictSchema, llmtest.LooseSchema, llmtest.JSONObject, llmtest.PlainText

	t.Run("goes down after two failures in one question", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Queue(rubbish, rubbish)
		if _, err := j.Confidence(t.Context(), "x", aTurn); kindOf(err) != unparsable {
			t.Fatalf("got %v", err)
		}
		rate(t, j)
		wantFormats(t, s, a, a, b)
	})
	t.Run("loses no verdict to an endpoint that ignores schemas", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Queue(rubbish, good, rubbish, good, rubbish, good, rubbish, good, good)
		for range 5 {
			rate(t, j)
		}
		wantFormats(t, s, a, a, a, b, b, b, b, c, c)
		if again := s.Requests()[1]; !strings.Contains(again.System, "additionalProperties") {
			t.Error("the second question does not show the schema")
		}
	})
	t.Run("forgives a failure after a good answer", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Queue(rubbish, good, good, rubbish, good, good)
		for range 4 {
			rate(t, j)
		}
		wantFormats(t, s, a, a, a, a, a, a)
	})
	t.Run("stays on the lowest rung", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Refuse(a, b, c)
		rate(t, j)
		s.Queue(rubbish, rubbish)
		if _, err := j.Confidence(t.Context(), "x", aTurn); kindOf(err) != unparsable {
			t.Fatalf("got %v", err)
		}
		rate(t, j)
		wantFormats(t, s, a, b, c, d, d, d, d)
	})
	t.Run("never goes down because the endpoint is away or the request is wrong", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		for _, r := range []llmtest.Reply{
			llmtest.Status(429, `{"error":"schema"}`), llmtest.Status(503, `{"error":"json_schema"}`),
			llmtest.Status(400, `{"error":"no such model"}`), llmtest.Status(404, `{"error":"response_format"}`),
			llmtest.Truncated("{"), llmtest.Refusal("no"), llmtest.HungUp(good),
		} {
			s.Queue(r)
			if _, err := j.Confidence(t.Context(), "x", aTurn); err == nil {
				t.Fatal("no error")
			}
		}
		rate(t, j)
		wantFormats(t, s, a, a, a, a, a, a, a, a, a) // and one harmless question after the 400
	})
}

func TestTemperature(t *testing.T) {
	t.Parallel()
	t.Run("is sent as 0, which the client library leaves out", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		rate(t, j)
		if temp := s.Requests()[0].Temperature; temp == nil || *temp != 0 {
			t.Errorf("the temperature is %v", temp)
		}
	})
	t.Run("is left out once a model has refused it", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		s.Queue(llmtest.Status(400, `{"error":{"message":"'temperature' does not support 0 with this model","type":"invalid_request_error"}}`))
		rate(t, j)
		rate(t, j)
		reqs := s.Requests()
		if len(reqs) != 3 || reqs[1].Temperature != nil || reqs[2].Temperature != nil {
			t.Errorf("%d requests; the later ones still send a temperature", len(reqs))
		}
		wantFormats(t, s, llmtest.StrictSchema, llmtest.StrictSchema, llmtest.StrictSchema)
	})
	t.Run("stops when it is refused although it was not sent", func(t *testing.T) {
		t.Parallel()
		s, j := setup(t)
		no := llmtest.Status(400, `{"error":"temperature"}`)
		s.Queue(no, no, no)
		if _, err := j.Confidence(t.Context(), "x", aTurn); kindOf(err) != permanent {
			t.Fatalf("got %v", err)
		}
	})
}
