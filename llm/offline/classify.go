package offline

import (
	"regexp"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

// The sorts of sentence that are worth keeping, in the order in which they are
// looked for, each with its kind and importance.
var sorts = []struct {
	kind       oxbow.Kind
	importance float64
	is         func(*claim) bool
}{
	{oxbow.Procedural, 8, isInstruction},
	{oxbow.Preference, 7, isPreference},
	{oxbow.Semantic, 6, isChange},
	{oxbow.Episodic, 4, isExploration},
	{oxbow.Episodic, 6, isWaiting},
	{oxbow.Episodic, 7, isAppointment},
	{oxbow.Episodic, 5, isArrival},
	{oxbow.Semantic, 7, isDecision},
	{oxbow.Procedural, 6, isFinding},
	{oxbow.Semantic, 6, isPersonal},
	{oxbow.Semantic, 6, isUse},
	{oxbow.Semantic, 5, isState},
}

// minStems is how many words of meaning a memory has at least.
const minStems = 2

// classify says what sort of memory a sentence is, if it is one.
func classify(c *claim) (oxbow.Kind, float64, bool) {
	if len(c.stems) < minStems && !isChange(c) && len(c.dates)+len(c.numbers) == 0 || len(c.words) < 3 {
		return classifyShort(c)
	}
	for _, s := range sorts {
		if s.is(c) {
			return s.kind, s.importance, true
		}
	}
	return "", 0, false
}

var shortUse = regexp.MustCompile(`^ (?:i|we) (?:now |also |still |only |just )*(?:use|run|are on|am on) `)

// classifyShort is classify for a sentence with one word of meaning, such as
// "We use Redis": what one likes or uses.
func classifyShort(c *claim) (oxbow.Kind, float64, bool) {
	switch {
	case len(c.stems) != 1 || len(c.words) < 3:
	case isPreference(c):
		return oxbow.Preference, 6, true
	case len(c.mentions) > 0 && shortUse.MatchString(c.norm) && !c.conditional && !c.planned && !c.hedged:
		return oxbow.Semantic, 6, true
	}
	return "", 0, false
}

var instruction = regexp.MustCompile(`^ (?:please )?(?:always|never|from now on|in future|going forward|remember (?:that|to)|make sure|whenever|do not (?:ever|use|add|put|write|give|show|suggest|send|touch|commit|push|deploy|call|explain|start|bother)|when (?:you|i) (?:ask|write|review|suggest|answer|show|generate|explain)|keep|avoid|stop [a-z]+ing|no more|use [^?]+ (?:for all|everywhere|by default|when)|answer|default to|prefer|stick to|write (?:short|small|tests|plain|(?:[a-z]+ ){1,3}(?:in|with|as))) `)

func isInstruction(c *claim) bool {
	return instruction.MatchString(c.norm) || c.has("i want you to", "please always", "please never", "please do not ever", "must always", "must never", "should always", "should never") ||
		c.starts("please") && c.has("short", "plain", "brief", "always", "never", "from now on")
}

var preference = regexp.MustCompile(` (?:i|we|me) (?:still |really |much |also |do not |do |always |never |generally |would |strongly |actually |now |just |usually |tend to |can not |kind of )*(?:prefer|like|love|hate|dislike|enjoy|favour|rather|stand|care for|always|never|usually|tend to|tend|find [a-z]+ (?:annoying|distracting|easier|unreadable)) | (?:my (?:favourite|favorite|preferred|preference)|not a fan of|big fan of|a fan of|the way i like|for (?:function|code|naming|review) style|my pet peeve) `)

func isPreference(c *claim) bool {
	return preference.MatchString(c.norm) && !c.has("would like to know", "would like you", "i would like to", "like this", "like that", "feel like", "looks like") && !c.reported
}

func isChange(c *claim) bool {
	return len(c.gone)+len(c.came) > 0 && !c.planned && !c.conditional || c.upgraded && len(c.numbers)+versions(c) > 0 && c.settled()
}

func versions(c *claim) int {
	n := 0
	for _, m := range c.mentions {
		if m.version != "" {
			n++
		}
	}
	return n
}

var exploring = regexp.MustCompile(` (?:thinking (?:of|about)|considering|investigating|evaluating|trying out|experimenting with|toying with|playing (?:around )?with|tempted|looking (?:at|into)|curious about|might (?:move|switch|migrate|try|drop|replace)|may (?:move|switch|migrate|try)|maybe (?:we|i) (?:should|could|will)|wondering (?:if|whether)) `)

func isExploration(c *claim) bool {
	if !exploring.MatchString(c.norm) {
		return false
	}
	return len(c.mentions) > 0 || c.has("move", "switch", "moving", "switching", "replacing", "replace", "rewrite", "rewriting", "dropping", "hiring", "buying", "splitting", "new job")
}

func isWaiting(c *claim) bool {
	return waiting.MatchString(c.text) || c.has("on hold until", "awaiting", "for the time being", "temporarily", "paused until", "can not continue until")
}

// isArrival finds that somebody did what was waited for.
func isArrival(c *claim) bool {
	return arrived.MatchString(c.text) && len(c.words) > 2 && c.isName(0) && len(c.stems) >= 3 && c.settled()
}

func isAppointment(c *claim) bool {
	if len(c.dates) == 0 {
		return false
	}
	return c.has(occasions...) || c.has(limits...) || c.has(movePhrases...)
}

var decision = regexp.MustCompile(` (?:decided|decision|chose|chosen|picked|settled on|agreed|went with|opted|going with|committed to|ruled out|rejected|trade-off|tradeoff|trade off|instead of|the plan is|the rule is|not worth|signed off|approved|by design|on purpose|deliberately) `)

func isDecision(c *claim) bool { return decision.MatchString(c.norm) }

var finding = regexp.MustCompile(` (?:bug|root cause|turns out|turned out|the (?:problem|issue|culprit|cause|trick|fix|reason|workaround) (?:was|is)|fixed|solved|workaround|regression|flaky|deadlock|leak|leaks|leaking|crash(?:es|ed)?|broke|broken|does not work|did not work|found (?:out|that)|fails|failed|race condition|the lesson|lesson learned|memory leak|silently) `)

func isFinding(c *claim) bool { return finding.MatchString(c.norm) && len(c.stems) >= 3 }

var aboutMe = regexp.MustCompile(` (?:i am (?:a|an|the|now|based|on|working|responsible|vegetarian|vegan|allergic|colour|left)|i (?:work|live|have|own|study|studied|speak|lead|maintain|manage|moved|joined|grew|started|run|contribute)|my (?:wife|husband|partner|daughter|son|dog|cat|manager|boss|team|teammate|colleague|laptop|machine|monitor|keyboard|role|job|title|office|birthday|work|working|side project|desk|phone|editor|terminal|setup|hours|team's)|is (?:my|our|the) (?:new )?(?:manager|boss|colleague|teammate|designer|reviewer|contact|product|lead|tester|intern|accountant|on-call|client|ops)|(?:joined|left|leaves|leads|owns|runs) (?:the|our|my)|we are (?:a|four|five|three|six|seven|eight|two)|i go by) `)

func isPersonal(c *claim) bool {
	return aboutMe.MatchString(c.norm) && len(c.stems) >= 2 && !c.has("i have a question", "i have a bug", "i have this", "i have to", "i have no idea", "i have been", "i have an error", "i am a bit", "i am on it", "i am an idiot", "i have one more")
}

var useVerb = regexp.MustCompile(` (?:use|uses|using|run|runs|running|on|in|with|store|stores|stored|host|hosted|deploy|deployed|built|build|written|write|manage|manages|managed|handles|handle|is|are|has|have|keep|keeps|goes|go|holds|hold|live|lives|needs|sits|talks|serves|backs|via|through|pinned|lock|locks|install|installs) `)

func isUse(c *claim) bool {
	return len(c.mentions) > 0 && useVerb.MatchString(c.norm) && len(c.stems) >= 2 && !c.conditional && !c.has("error", "stack trace", "in this file", "looks")
}

var state = regexp.MustCompile(` (?:is|are|runs|run|lives|live|takes|lasts|expires|happens|goes|go|sits|stays|returns|holds|costs|was raised|was lowered|were raised) (?:now |all |currently |also |only |always )?(?:capped|set|limited|stored|hosted|deployed|called|named|in|at|on|under|every|from|to|kept|behind|written|about|around|[0-9][^ ]*|[a-z]+ed) `)

// present verbs tell how a thing stands or behaves.
var present = regexp.MustCompile(` (?:retr(?:y|ies)|expires?|handles?|sends?|pins?|promised|guarantees?|requires?|supports?|serves?|logs?|tags?|reviews?|keeps?|deletes?|allows?|accepts?|times out|backs? up|limits?|answers?|returns?|takes?|costs?|holds?|deploys?|only|targets?|charges?|weighs?) `)

// someNumber is a number in words.
var someNumber = regexp.MustCompile(` (?:two|three|four|five|six|seven|eight|nine|ten|twelve|twenty|thirty|sixty|hundred|once|twice) `)

var changedNumber = regexp.MustCompile(` (?:raised|lowered|bumped|increased|reduced|cut|moved|changed) .*(?:to|from) .*\d`)

func isState(c *claim) bool {
	if c.planned || c.conditional || c.hedged || len(c.stems) < 3 {
		return false
	}
	if c.starts("it", "that", "this", "he", "she", "they", "there", "something", "i") {
		return false
	}
	if present.MatchString(c.norm) && (len(c.numbers) > 0 || someNumber.MatchString(c.norm) || c.starts("we") || strings.Contains(c.text, "@")) {
		return true
	}
	return state.MatchString(c.norm) && (len(c.numbers) > 0 || len(c.mentions) > 0 || c.starts("the", "our", "my", "we", "all")) || changedNumber.MatchString(c.norm)
}
