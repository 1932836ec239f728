package openai

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/llm"
)

// The bounds of answers. The schemas cannot say them: endpoints differ in
// which bounds of a schema they know.
const (
	maxDrafts  = 32       // of one turn
	maxText    = 16 << 10 // bytes of a drafted or synthesized memory, and of a quote
	maxSummary = 100      // characters
	maxPhrase  = 200      // bytes
	maxTags    = 10
	maxWord    = 64 // bytes of a tag or a key
)

// nothingSaid is the reason where no better one is known.
const nothingSaid = "nothing was said"

type extractAnswer struct {
	Memories []draftAnswer `json:"memories"`
	Reason   string        `json:"reason"`
}

type draftAnswer struct {
	Quote      string     `json:"quote"`
	Text       string     `json:"text"`
	Summary    string     `json:"summary"`
	Tags       []string   `json:"tags"`
	Kind       oxbow.Kind `json:"kind"`
	Slot       string     `json:"slot"`
	Key        string     `json:"key"`
	Importance float64    `json:"importance"`
	Confidence string     `json:"confidence"`
	expiryAnswer
}

type expiryAnswer struct {
	Phrase string `json:"phrase"`
	Ends   string `json:"ends"`
	Date   string `json:"date"`
}

// readExtraction reads drafts. The reason is one of the schema's phrases, so
// that none of the turn's words can travel in it.
func readExtraction(raw []byte, zone *time.Location) (out llm.Extraction, dropped int, err error) {
	var a extractAnswer
	if err := decode(raw, &a); err != nil {
		return out, 0, err
	}
	if n := len(a.Memories); n > maxDrafts {
		dropped = n - maxDrafts
		a.Memories = a.Memories[:maxDrafts]
	}
	for i, m := range a.Memories {
		d, err := m.draft(i, zone)
		if err != nil {
			return llm.Extraction{}, 0, err
		}
		out.Drafts = append(out.Drafts, d)
	}
	if len(out.Drafts) == 0 {
		out.Reason = a.Reason
		if a.Reason == "none" {
			out.Reason = nothingSaid
		}
	}
	return out, dropped, nil
}

// draft checks one draft. A fact without an address is kept as free knowledge,
// because losing the statement would be worse than not addressing it; and when
// what is said of its end makes no sense, it is asked for once more, alone.
func (m draftAnswer) draft(i int, zone *time.Location) (llm.Draft, error) {
	d := llm.Draft{
		Text: strings.TrimSpace(clean(m.Text)), Summary: summary(m.Summary), Tags: tags(m.Tags),
		Kind: m.Kind, Importance: m.Importance, Quote: clean(m.Quote),
	}
	switch {
	case d.Text == "" || len(d.Text) > maxText:
		return d, reject("a memory's text is out of bounds", "memories/%d: text must have 1 to %d bytes", i, maxText)
	case strings.TrimSpace(d.Quote) == "" || len(d.Quote) > maxText:
		return d, reject("a memory's quote is out of bounds", "memories/%d: quote must have 1 to %d bytes", i, maxText)
	case m.Importance < 0 || m.Importance > 10:
		return d, reject("an importance is out of bounds", "memories/%d: importance must be a number from 0 to 10", i)
	}
	if d.Kind == oxbow.Fact {
		d.Slot, d.Key = m.Slot, sameKey(m.Slot, line(m.Key))
		if d.Slot == "none" || d.Key == "" || len(d.Key) > maxWord {
			d.Kind, d.Slot, d.Key = oxbow.Semantic, "", ""
		}
	}
	if n, ok := levels[m.Confidence]; ok {
		d.Rating = &llm.Rating{Confidence: n}
	}
	if e, err := m.expiry(zone); err == nil {
		d.Expiry = &e
	}
	return d, nil
}

// sameKey gives the name under which the rules keep what models name in several
// ways, because two names of one attribute would be two addresses.
func sameKey(slot, key string) string {
	plain := strings.Trim(strings.ReplaceAll(strings.ReplaceAll(strings.ToLower(key), " ", "_"), "-", "_"), "_")
	if known, ok := sameKeys[slot+"/"+strings.TrimPrefix(strings.TrimPrefix(plain, slot+"_"), "current_")]; ok {
		return known
	}
	return key
}

var sameKeys = func() map[string]string {
	out := map[string]string{}
	for slot, keys := range map[string]map[string]string{
		"user": {
			"name": "name full_name first_name preferred_name", "timezone": "timezone time_zone tz", "location": "location city home home_city residence place_of_residence lives_in town",
			"employer": "employer company workplace works_at", "role": "role job job_title profession occupation position", "diet": "diet dietary_preference dietary_restriction",
			"email": "email email_address e_mail", "phone": "phone phone_number mobile mobile_number", "manager": "manager boss line_manager", "partner": "partner wife husband spouse",
			"editor": "editor code_editor text_editor ide preferred_editor", "browser": "browser web_browser", "operating_system": "operating_system os", "birthday": "birthday birth_date date_of_birth",
			"native_language": "native_language mother_tongue first_language", "language": "language preferred_language", "github_username": "github_username github_handle github",
		},
		"project": {
			"database": "database db primary_database main_database database_engine", "hosting": "hosting host deploy_target deployment_target hosting_provider cloud_provider", "ci": "ci ci_system ci_provider ci_cd",
			"main_branch": "main_branch default_branch", "repository": "repository repo repository_url repo_url", "license": "license licence", "stack": "stack tech_stack",
			"language": "language programming_language", "issue_tracker": "issue_tracker tracker", "name": "name project_name", "team_chat": "team_chat chat",
		},
		"agent": {
			"name": "name assistant_name agent_name", "language": "language response_language answer_language reply_language", "format": "format response_format answer_format output_format",
			"tone": "tone style response_tone", "answer_length": "answer_length response_length length verbosity",
		},
	} {
		for key, names := range keys {
			for n := range strings.FieldsSeq(names) {
				out[slot+"/"+n] = key
			}
		}
	}
	return out
}()

// levels are the words for confidence and their numbers, as DESIGN 1 has them.
var levels = map[string]float64{
	"explicit": 1, "implied": 0.7, "reasonable": 0.5, "weak": 0.3, "speculation": 0.1,
}

func readRating(raw []byte) (llm.Rating, error) {
	var a struct {
		Level string `json:"level"`
	}
	if err := decode(raw, &a); err != nil {
		return llm.Rating{}, err
	}
	n, ok := levels[a.Level]
	if !ok {
		return llm.Rating{}, reject("the level is unknown", "level must be one of the five words")
	}
	return llm.Rating{Confidence: n}, nil
}

var relations = []oxbow.Relation{oxbow.Contradicts, oxbow.Replaces, oxbow.ConfirmsIt, oxbow.Unsure, oxbow.Unrelated}

// readRelations reads relations to offered labels, in the order in which they
// were offered. A label that was not offered is dropped; two different
// relations for one label are no answer.
func readRelations(raw []byte, offered map[string]int) (out []llm.Relation, dropped int, err error) {
	var a struct {
		Relations []struct {
			Label    string         `json:"label"`
			Relation oxbow.Relation `json:"relation"`
		} `json:"relations"`
	}
	if err := decode(raw, &a); err != nil {
		return nil, 0, err
	}
	said := map[string]oxbow.Relation{}
	for i, r := range a.Relations {
		if !slices.Contains(relations, r.Relation) {
			return nil, 0, reject("a relation is unknown", "relations/%d: relation is not one of the five words", i)
		}
		if _, ok := offered[r.Label]; !ok {
			dropped++
			continue
		}
		if before, ok := said[r.Label]; ok {
			if before != r.Relation {
				return nil, 0, reject("a label has two relations", "relations/%d: the label already has another relation", i)
			}
			continue
		}
		said[r.Label] = r.Relation
		out = append(out, llm.Relation{Label: r.Label, Relation: r.Relation})
	}
	slices.SortFunc(out, func(x, y llm.Relation) int { return cmp.Compare(offered[x.Label], offered[y.Label]) })
	return out, dropped, nil
}

// readExpiry reads a day and gives its end in the zone, the last whole second,
// as the offline judge does. Whether a day is believable is the gate's matter.
func readExpiry(raw []byte, zone *time.Location) (llm.Expiry, error) {
	var a expiryAnswer
	if err := decode(raw, &a); err != nil {
		return llm.Expiry{}, err
	}
	return a.expiry(zone)
}

func (a expiryAnswer) expiry(zone *time.Location) (llm.Expiry, error) {
	out := llm.Expiry{Phrase: cut(line(a.Phrase), maxPhrase)}
	switch {
	case a.Ends != "date" && a.Date != "":
		return llm.Expiry{}, reject("a date stands where there is none", `date must be "" unless ends is "date"`)
	case a.Ends == "never":
		return llm.Expiry{}, nil
	case out.Phrase == "":
		return llm.Expiry{}, reject("the phrase is missing", "phrase must hold the words of the statement that say when it ends")
	case a.Ends == "event":
		out.Event = true
		return out, nil
	}
	day, err := time.Parse(time.DateOnly, a.Date)
	if err != nil || day.Year() < 1900 || day.Year() > 2999 {
		return llm.Expiry{}, reject("the date is not a date", "date must be a day of the calendar as YYYY-MM-DD")
	}
	out.Date = time.Date(day.Year(), day.Month(), day.Day(), 23, 59, 59, 0, zone)
	return out, nil
}

// readGroups reads groups of offered labels. Labels that were not offered or
// already stand in a group are dropped, and so are groups of one.
func readGroups(raw []byte, offered map[string]int) (out [][]string, dropped int, err error) {
	var a struct {
		Groups []struct {
			Labels []string `json:"labels"`
		} `json:"groups"`
	}
	if err := decode(raw, &a); err != nil {
		return nil, 0, err
	}
	used := map[string]bool{}
	for _, g := range a.Groups {
		var group []string
		for _, l := range g.Labels {
			if _, ok := offered[l]; !ok || used[l] {
				dropped++
				continue
			}
			used[l] = true
			group = append(group, l)
		}
		if len(group) < 2 {
			dropped += len(group)
			continue
		}
		slices.SortFunc(group, func(x, y string) int { return cmp.Compare(offered[x], offered[y]) })
		out = append(out, group)
	}
	return out, dropped, nil
}

// readSelection reads labels of offered items in the order of the answer, which
// is its ranking. Labels that were not offered, stand there already or are over
// the limit are dropped.
func readSelection(raw []byte, offered map[string]int, limit int) (out []string, dropped int, err error) {
	var a struct {
		Labels []string `json:"labels"`
	}
	if err := decode(raw, &a); err != nil {
		return nil, 0, err
	}
	for _, l := range a.Labels {
		if _, ok := offered[l]; !ok || slices.Contains(out, l) || len(out) >= limit {
			dropped++
			continue
		}
		out = append(out, l)
	}
	return out, dropped, nil
}

func readSynthesis(raw []byte) (llm.Synthesis, error) {
	var a struct {
		Text    string   `json:"text"`
		Summary string   `json:"summary"`
		Tags    []string `json:"tags"`
	}
	if err := decode(raw, &a); err != nil {
		return llm.Synthesis{}, err
	}
	out := llm.Synthesis{Text: strings.TrimSpace(clean(a.Text)), Summary: summary(a.Summary), Tags: tags(a.Tags)}
	if out.Text == "" || len(out.Text) > maxText {
		return llm.Synthesis{}, reject("the text is out of bounds", "text must have 1 to %d bytes", maxText)
	}
	return out, nil
}

// line gives text without line ends and unseen characters.
func line(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

func summary(s string) string {
	s = line(s)
	if utf8.RuneCountInString(s) <= maxSummary {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:maxSummary-1])) + "…"
}

func tags(in []string) []string {
	var out []string
	for _, t := range in {
		if t = line(t); t != "" && len(t) <= maxWord && len(out) < maxTags && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return out
}
