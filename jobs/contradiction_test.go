package jobs_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/llm"
)

func TestContradiction(t *testing.T) {
	tell(t,
		story{"retires fourteen notes on the word of one", fourteenToOne},
		story{"counts and logs labels that were never offered, and changes nothing", foreignLabels},
		story{"stops at the limit of what one write may retire until an operator runs it", tooMany},
		story{"sets a late, older statement aside at once", lateOlder},
		story{"leaves both active when the judge is unsure", unsure},
		story{"never lets the less trusted supersede", lessTrusted},
		story{"never touches what is pinned", pinned},
		story{"lets a confirmation count once a day, from the user, in another conversation", confirms},
		story{"compresses an equal restatement", equalRestatement},
		story{"judges again what was edited, and forgets the old verdict", editedAgain},
		story{"looks past a page of memories that can no longer matter", pastThePage},
		story{"judges what comes back against what was said while it was replaced", broughtBack},
		story{"has no effect when its memory was put away meanwhile", putAwayMeanwhile},
		story{"gives up on a judge that never parses, and leaves everything as it was", neverParses},
		story{"asks nothing across scopes", acrossScopes},
	)
}

// fill writes n notes about PostgreSQL, a day apart.
func fill(b *lab.Bench, n int) []oxbow.Memory {
	b.Helper()
	b.Clock.Set(lab.Start.Add(100 * day))
	var out []oxbow.Memory
	for i := range n {
		out = append(out, b.Remember(lab.Statement{Text: fmt.Sprintf("database: PostgreSQL note %d", i), SaidAt: at(24 * i)}))
	}
	b.Judge.OnRelate = func(s llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
		var rs []llm.Relation
		for _, o := range others {
			if strings.Contains(s.Text, "MySQL") != strings.Contains(o.Text, "MySQL") {
				rs = append(rs, llm.Relation{Label: o.Label, Relation: oxbow.Contradicts})
			}
		}
		return rs, nil
	}
	b.Drain()
	return out
}

func fourteenToOne(b *lab.Bench) {
	notes := fill(b, 14)
	one := b.Remember(lab.Statement{Text: "database: MySQL it is, not PostgreSQL", SaidAt: at(24 * 20)})
	b.Drain()
	for _, n := range notes {
		m := b.Get(n.ID)
		equal(b, "the status of "+m.Content.Text, m.Status, oxbow.Superseded)
		equal(b, "what replaced it", m.ReplacedBy, one.ID)
		if !linked(b, one.ID, m.ID, oxbow.Supersedes) {
			b.Errorf("no link to %s", m.Content.Text)
		}
	}
	equal(b, "the one", b.Get(one.ID).Status, oxbow.Active)
	b.Clean()
}

func foreignLabels(b *lab.Bench) {
	old := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	b.Judge.OnRelate = func(llm.Statement, []llm.Statement) ([]llm.Relation, error) {
		return []llm.Relation{{Label: "c77", Relation: oxbow.Contradicts}, {Label: old.ID, Relation: oxbow.Replaces}, {Label: "c1", Relation: "destroy"}}, nil
	}
	m := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	before := b.State()
	b.Drain()
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("something changed:\n%s", d)
	}
	equal(b, "the refused events", count(b, m.ID, oxbow.Refused), 1)
	if !strings.HasPrefix(reason(b, m.ID, oxbow.Refused), "3 of the judge's verdicts") {
		b.Errorf("the reason is %q", reason(b, m.ID, oxbow.Refused))
	}
	b.Clean()
}

func tooMany(b *lab.Bench) {
	notes := fill(b, 21)
	one := b.Remember(lab.Statement{Text: "database: MySQL it is, not PostgreSQL", SaidAt: at(24 * 30)})
	b.Drain()
	for _, n := range notes {
		equal(b, "the status before", b.Get(n.ID).Status, oxbow.Active)
	}
	equal(b, "the refused events", count(b, one.ID, oxbow.Refused), 1)
	if why := reason(b, one.ID, oxbow.Refused); !strings.Contains(why, "21") || !strings.Contains(why, "oxbow job run contradiction --memory "+one.ID) {
		b.Errorf("the reason is %q", why)
	}
	_, err := b.Engine.RunJob(b.Ctx, lab.Order{Name: "contradiction", Tenant: b.Scope.Tenant, Memory: one.ID})
	b.Must(err)
	b.Drain()
	for _, n := range notes {
		equal(b, "the status after", b.Get(n.ID).Status, oxbow.Superseded)
	}
	b.Clean()
}

func lateOlder(b *lab.Bench) {
	now := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(10)})
	b.Drain()
	late := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	equal(b, "the late one", b.Get(late.ID).Status, oxbow.Superseded)
	equal(b, "what replaced it", b.Get(late.ID).ReplacedBy, now.ID)
	equal(b, "the newer one", b.Get(now.ID).Status, oxbow.Active)
	between := b.Remember(lab.Statement{Text: "tea: white", SaidAt: at(5)})
	b.Drain()
	equal(b, "the one between", b.Get(between.ID).ReplacedBy, now.ID)
	equal(b, "the late one, settled anew", b.Get(late.ID).ReplacedBy, between.ID)
	b.Clean()
}

func unsure(b *lab.Bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	c := b.Remember(lab.Statement{Text: "tea: maybe black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the older", b.Get(a.ID).Status, oxbow.Active)
	equal(b, "the newer", b.Get(c.ID).Status, oxbow.Active)
	equal(b, "the link", linked(b, c.ID, a.ID, oxbow.ConflictsWith), true)
	b.Clean()
}

func lessTrusted(b *lab.Bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	for i, src := range []oxbow.Source{oxbow.FromAssistant, oxbow.FromTool, oxbow.FromWeb, oxbow.FromImport} {
		m := b.Remember(lab.Statement{Text: "tea: black " + string(src), Source: src, SaidAt: at(2 + i)})
		b.Drain()
		equal(b, "the user's, against "+string(src), b.Get(a.ID).Status, oxbow.Active)
		equal(b, "the link", linked(b, m.ID, a.ID, oxbow.ConflictsWith), true)
	}
	b.Clean()
}

func pinned(b *lab.Bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1), Pinned: true})
	c := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the pinned one", b.Get(a.ID).Status, oxbow.Active)
	equal(b, "the newer one", b.Get(c.ID).Status, oxbow.Active)
	equal(b, "the link", linked(b, c.ID, a.ID, oxbow.ConflictsWith), true)
	b.Clean()
}

func confirms(b *lab.Bench) {
	b.Say("c1", "tea: green", at(0))
	b.Drain()
	m := b.Find("tea: green")
	confirmations := func(what string, want int) {
		b.Helper()
		b.Drain()
		equal(b, "the confirmations after "+what, b.Get(m.ID).Confirmations, want)
	}
	say := func(conversation string, day int, hour int) {
		b.Say(conversation, "tea: again green", at(24*day+hour))
	}
	say("c1", 1, 0)
	confirmations("the same conversation", 0)
	say("c2", 2, 0)
	confirmations("another conversation", 1)
	say("c3", 2, 5)
	confirmations("the same day", 1)
	say("c2", 3, 0)
	confirmations("a conversation that confirmed before", 1)
	b.Ingest(oxbow.Turn{Conversation: "c4", Assistant: "tea: again green", At: at(24 * 4)})
	confirmations("the assistant", 1)
	say("c5", 5, 0)
	confirmations("yet another one", 2)
	got := b.Get(m.ID)
	equal(b, "when it was confirmed last", got.ConfirmedAt, at(24*5))
	if got.Confidence() < 0.89 || got.Confidence() > 0.91 {
		b.Errorf("the confidence is %v", got.Confidence())
	}
	equal(b, "the idle clock", got.RefTime(), at(24*5))
	b.Clean()
}

func equalRestatement(b *lab.Bench) {
	a := b.Remember(lab.Statement{Text: "I drink green tea", SaidAt: at(1)})
	b.Drain()
	asked := b.Judge.Calls("relate")
	c := b.Remember(lab.Statement{Text: "i drink  green TEA.", SaidAt: at(30)})
	b.Drain()
	equal(b, "the restatement", b.Get(c.ID).Status, oxbow.Compressed)
	equal(b, "where it went", b.Get(c.ID).ReplacedBy, a.ID)
	equal(b, "the link", linked(b, c.ID, a.ID, oxbow.Confirms), true)
	equal(b, "the confirmations", b.Get(a.ID).Confirmations, 1)
	equal(b, "the questions", b.Judge.Calls("relate"), asked)
	for _, e := range b.EventsOf(c.ID) {
		if e.Type == oxbow.CompressedTo && e.Judge != "" {
			b.Errorf("equal words were compressed on the word of %s", e.Judge)
		}
	}
	b.Clean()
}

func editedAgain(b *lab.Bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	c := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the older, before", b.Get(a.ID).Status, oxbow.Superseded)
	text := "coffee: black"
	_, err := b.Engine.Edit(b.Ctx, b.Scope.Tenant, c.ID, lab.Edit{Text: &text})
	b.Must(err)
	b.Drain()
	equal(b, "the older, after", b.Get(a.ID).Status, oxbow.Active)
	if ls := b.Links(a.ID); len(ls) > 0 {
		b.Errorf("the links are %v", ls)
	}
	b.Clean()
}

func pastThePage(b *lab.Bench) {
	for i := range 14 {
		b.Remember(lab.Statement{Text: "tea: kind" + strconv.Itoa(i), SaidAt: at(i + 1)})
		b.Drain()
	}
	// The one that is still active ranks behind those it replaced, because it is longer.
	long := b.Remember(lab.Statement{Text: "tea: assam, from a shop that also has biscuits, jam, honey, kettles, cups and spoons", SaidAt: at(20)})
	b.Drain()
	last := b.Remember(lab.Statement{Text: "tea: oolong", SaidAt: at(21)})
	b.Drain()
	equal(b, "the long one", b.Get(long.ID).ReplacedBy, last.ID)
	b.Clean()
}

func broughtBack(b *lab.Bench) {
	first := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	again := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(3)})
	b.Drain()
	last := b.Remember(lab.Statement{Text: "tea: oolong", SaidAt: at(4)})
	b.Drain()
	equal(b, "the restatement, before", b.Get(again.ID).Status, oxbow.Compressed)
	late := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the first", b.Get(first.ID).ReplacedBy, late.ID)
	equal(b, "the late one", b.Get(late.ID).ReplacedBy, again.ID)
	equal(b, "the restatement", b.Get(again.ID).ReplacedBy, last.ID)
	equal(b, "the last", b.Get(last.ID).Status, oxbow.Active)
	b.Clean()
}

func putAwayMeanwhile(b *lab.Bench) {
	a := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	c := b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Judge.OnRelate = func(_ llm.Statement, others []llm.Statement) ([]llm.Relation, error) {
		_, err := b.Engine.Archive(b.Ctx, b.Scope.Tenant, c.ID)
		return []llm.Relation{{Label: others[0].Label, Relation: oxbow.Contradicts}}, err
	}
	b.Drain()
	equal(b, "the older", b.Get(a.ID).Status, oxbow.Active)
	equal(b, "the newer", b.Get(c.ID).Status, oxbow.Archived)
	b.Clean()
}

func neverParses(b *lab.Bench) {
	b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	b.Drain()
	asked := b.Judge.Calls("relate")
	b.Judge.OnRelate = func(llm.Statement, []llm.Statement) ([]llm.Relation, error) { return nil, llm.ErrUnparsable }
	b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	same(b, "the memories", b.Texts(), []string{"active tea: green", "active tea: black"})
	equal(b, "the questions", b.Judge.Calls("relate")-asked, 8)
	if ds := b.Discarded(); len(ds) != 1 || ds[0].Kind != "contradiction" {
		b.Fatalf("the discarded: %+v", ds)
	}
	b.Judge.OnRelate = nil
	b.Must(b.Engine.RetryDiscarded(b.Ctx, b.Scope.Tenant, b.Discarded()[0].ID))
	b.Drain()
	same(b, "the memories, judged at last", b.Texts(), []string{"superseded tea: green", "active tea: black"})
}

func acrossScopes(b *lab.Bench) {
	other := oxbow.Scope{Tenant: b.Scope.Tenant, Name: "user:bob"}
	b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1), Scope: other})
	b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1), Scope: oxbow.Scope{Tenant: b.Scope.Tenant + "x", Name: b.Scope.Name}})
	b.Remember(lab.Statement{Text: "tea: black", SaidAt: at(2)})
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("relate"), 0)
	same(b, "this scope", b.Texts(), []string{"active tea: black"})
}

func TestConfidence(t *testing.T) {
	tell(t,
		story{"rates a memory against its turn", rates},
		story{"leaves 0.5 and says so when the answer does not parse", unparsableRating},
		story{"holds a rating in its bounds", boundsRating},
		story{"rates no direct write", ratesNoDirectWrite},
	)
}

func rates(b *lab.Bench) {
	b.Judge.OnConfidence = func(string) (llm.Rating, error) { return llm.Rating{Confidence: 0.3}, nil }
	b.Say("c", "tea: green", at(1))
	b.Drain()
	m := b.Find("tea: green")
	equal(b, "the rating", m.Rating, 0.3)
	equal(b, "rated", m.Rated, true)
	equal(b, "the event", count(b, m.ID, oxbow.Rated), 1)
}

func unparsableRating(b *lab.Bench) {
	b.Judge.OnConfidence = func(string) (llm.Rating, error) { return llm.Rating{}, fmt.Errorf("read: %w", llm.ErrUnparsable) }
	b.Say("c", "tea: green", at(1))
	b.Drain()
	m := b.Find("tea: green")
	equal(b, "the rating", m.Rating, 0.5)
	equal(b, "rated", m.Rated, false)
	equal(b, "the reason", reason(b, m.ID, oxbow.Rated), "the judge's answer did not parse; left at 0.5")
	b.Clean()
}

func boundsRating(b *lab.Bench) {
	b.Judge.OnConfidence = func(text string) (llm.Rating, error) {
		if strings.Contains(text, "up") {
			return llm.Rating{Confidence: 17}, nil
		}
		return llm.Rating{Confidence: -4}, nil
	}
	b.Say("c", "one: up\ntwo: down", at(1))
	b.Drain()
	equal(b, "the high one", b.Find("one: up").Rating, 1)
	equal(b, "the low one", b.Find("two: down").Rating, 0)
}

func ratesNoDirectWrite(b *lab.Bench) {
	for src, want := range map[oxbow.Source]float64{oxbow.FromUser: 1, oxbow.FromAssistant: 0.7, oxbow.FromTool: 0.5, oxbow.FromWeb: 0.5, oxbow.FromImport: 0.5} {
		m := b.Remember(lab.Statement{Text: string(src) + ": wrote", Source: src})
		equal(b, "the rating of "+string(src), m.Rating, want)
	}
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("confidence"), 0)
}

func TestExpiry(t *testing.T) {
	tell(t,
		story{"ends at the end of the named day in the scope's zone", endsInZone},
		story{"reads a log that is imported late against its own day", importedLate},
		story{"gives what ends with an event a review date", eventBound},
		story{"refuses a date that does not lie after the statement", pastDate},
		story{"leaves a date alone that was given", givenDate},
		story{"gives up quietly on a judge that never parses", expiryNeverParses},
	)
}

func endsInZone(b *lab.Bench) {
	_, _, err := b.Engine.SetScope(b.Ctx, b.Scope, "Europe/Stockholm", nil, nil)
	b.Must(err)
	days := map[string]time.Time{"winter: a": date("2026-03-28"), "change: b": date("2026-03-29"), "autumn: c": date("2026-10-25")}
	b.Judge.OnExpiry = func(s llm.Statement, zone *time.Location) (llm.Expiry, error) {
		d := days[s.Text]
		return llm.Expiry{Date: time.Date(d.Year(), d.Month(), d.Day(), 23, 59, 59, 0, zone)}, nil
	}
	said := date("2026-02-01")
	for text := range days {
		b.Remember(lab.Statement{Text: text, SaidAt: said})
	}
	b.Drain()
	equal(b, "the day before summer time", b.Find("winter: a").ExpiresAt, date("2026-03-28").Add(23*time.Hour))
	equal(b, "the day of 23 hours", b.Find("change: b").ExpiresAt, date("2026-03-29").Add(22*time.Hour))
	equal(b, "the day of 25 hours", b.Find("autumn: c").ExpiresAt, date("2026-10-25").Add(23*time.Hour))
	b.Clean()
}

func date(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func importedLate(b *lab.Bench) {
	said := date("2024-06-03").Add(10 * time.Hour)
	b.Judge.OnExpiry = func(s llm.Statement, zone *time.Location) (llm.Expiry, error) {
		return llm.Expiry{Date: s.SaidAt.In(zone).AddDate(0, 0, 1)}, nil // "tomorrow"
	}
	b.Say("c", "meeting: tomorrow", said)
	b.Drain()
	m := b.Find("meeting: tomorrow")
	equal(b, "the date", m.ExpiresAt, date("2024-06-05"))
	equal(b, "live when it was said", m.Live(said), true)
	equal(b, "live now", m.Live(b.Clock.Now()), false)
	b.Pass("expire", b.Clock.Now())
	equal(b, "the status", b.Get(m.ID).Status, oxbow.Expired)
}

func eventBound(b *lab.Bench) {
	b.Judge.OnExpiry = func(llm.Statement, *time.Location) (llm.Expiry, error) { return llm.Expiry{Event: true}, nil }
	m := b.Remember(lab.Statement{Text: "freeze: until v2 ships", SaidAt: at(0)})
	b.Drain()
	equal(b, "the review", b.Get(m.ID).ReviewAt, at(0).Add(30*day))
	equal(b, "the date", b.Get(m.ID).ExpiresAt, time.Time{})
	b.Clean()
}

func pastDate(b *lab.Bench) {
	b.Judge.OnExpiry = func(s llm.Statement, _ *time.Location) (llm.Expiry, error) {
		if strings.HasPrefix(s.Text, "far") {
			return llm.Expiry{Date: s.SaidAt.AddDate(900, 0, 0)}, nil
		}
		return llm.Expiry{Date: s.SaidAt.AddDate(0, 0, -2)}, nil
	}
	for _, text := range []string{"past: a", "far: b"} {
		m := b.Remember(lab.Statement{Text: text, SaidAt: at(0)})
		b.Drain()
		equal(b, "the date", b.Get(m.ID).ExpiresAt, time.Time{})
		equal(b, "the refused events", count(b, m.ID, oxbow.Refused), 1)
	}
	b.Clean()
}

func givenDate(b *lab.Bench) {
	given := at(0).Add(3 * day)
	m := b.Remember(lab.Statement{Text: "offer: ends", SaidAt: at(0), ExpiresAt: given})
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("expiry"), 0)
	equal(b, "the date", b.Get(m.ID).ExpiresAt, given)
	asked := b.Remember(lab.Statement{Text: "other: ends", SaidAt: at(0)})
	b.Judge.OnExpiry = func(llm.Statement, *time.Location) (llm.Expiry, error) {
		_, err := b.Engine.Edit(b.Ctx, b.Scope.Tenant, asked.ID, lab.Edit{ExpiresAt: &given})
		return llm.Expiry{Date: at(0).Add(50 * day)}, err
	}
	b.Drain()
	equal(b, "the date set meanwhile", b.Get(asked.ID).ExpiresAt, given)
}

func expiryNeverParses(b *lab.Bench) {
	b.Judge.OnExpiry = func(llm.Statement, *time.Location) (llm.Expiry, error) { return llm.Expiry{}, llm.ErrUnparsable }
	m := b.Remember(lab.Statement{Text: "tea: green", SaidAt: at(1)})
	before := b.State()
	b.Drain()
	equal(b, "the questions", b.Judge.Calls("expiry"), 8)
	if d := lab.Differ(before, b.State()); d != "" {
		b.Errorf("something changed:\n%s", d)
	}
	equal(b, "the memory", b.Get(m.ID).Status, oxbow.Active)
}
