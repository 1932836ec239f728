package jobs

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/oxbow-memory/oxbow"
)

// Instruction gives the reason why a text from a source reads like an order to
// the agent, "" when it does not. Only a user may give such orders: a user's
// "always" and "never" are preferences. From anybody else they are kept, out of
// sight, until an operator releases them.
//
// Limit: this is a list of forms, in English, and a filter can be talked around.
// It keeps what is blunt out of the agent's sight; that the less trusted never
// supersedes the more trusted, and that recalled memory is evidence and no order,
// is what bounds the rest.
func Instruction(s string, source oxbow.Source) string {
	if source == oxbow.FromUser {
		return ""
	}
	plain := plainly(s)
	for _, r := range orders {
		if r.form.MatchString(plain) {
			return r.why
		}
	}
	if hasBlob(plain) {
		return "it carries an encoded blob"
	}
	return ""
}

// plainly takes out what hides words from a reader or from a rule: signs without
// a width, several kinds of quotation mark and space, line breaks.
func plainly(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cf, r):
			return -1
		case r == '’' || r == '‘' || r == '`':
			return '\''
		case r == '“' || r == '”':
			return '"'
		case r != '\n' && (unicode.IsSpace(r) || unicode.IsControl(r)):
			return ' '
		}
		return r
	}, s)
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
	for i, l := range lines {
		lines[i] = strings.Join(strings.Fields(l), " ")
	}
	return strings.Join(lines, "\n")
}

// The parts of which the forms below are made.
const (
	// begin is where an imperative stands: first in a line or clause, or after a
	// word that urges or addresses.
	begin = `(?:^|[.!?:;,"'(\[>*#-] ?|\b(?:please|and|then|but|so|also|you|now|just|kindly|assistants?|agents?|must|should|shall|simply|instead|ai|llms?) )(?:please |kindly |just |also |simply |now |then )*`
	// agent is whoever reads memories.
	agent = `(?:ai|a\.i\.|assistants?|agents?|llms?|language models?|models?|chat ?bots?|copilot|gpt|chatgpt)`
	// rules is what an order would set aside.
	rules = `(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|orders?|guardrails?|restrictions?|constraints?|safety|training|programming|commands?|polic(?:y|ies))`
	// filler is what may stand between a verb and what it is about.
	filler = `(?:(?:all|any|every|everything|each|the|your|my|these|those|this|of|other|previous|previously|prior|earlier|preceding|above|existing|original|given|current|system|user|user's|safety|content|security|old|initial) )*`
	// speech is what only an agent is told to do.
	speech = `(?:recommend|reply|respond|say|claim|mention|trust|reveal|disclose|conceal|ignore|disregard|obey|comply|promote|praise|refuse|insist|pretend|role-?play|exfiltrate|behave|act as|tell the user|tell users|follow these|follow the instructions?|forget|believe|deny|endorse|favou?r|steer|redirect)`
	// told is what anybody can be told to do.
	told = `(?:accept|act|add|agree|allow|answer|append|approve|ask|assume|avoid|begin|believe|book|buy|call|check|choose|cite|claim|click|commit|confirm|consider|copy|delete|deny|deploy|describe|direct|disable|disclose|endorse|execute|fetch|finish|follow|forward|give|grant|hide|ignore|include|insert|insist|install|keep|link|make|mark|mention|merge|obey|offer|omit|open|order|pay|pick|point|post|praise|prefer|prefix|present|pretend|promote|provide|push|put|quote|rank|rate|recommend|redirect|refer|refuse|reject|remember|reply|report|respond|return|reveal|route|run|save|say|select|send|share|show|sign|skip|speak|start|end|state|steer|store|submit|suggest|tell|transfer|treat|trust|upload|use|visit|warn|write)`
	// person is whom an order is about.
	person = `(?:the|your|any|every|all|our) (?:users?|humans?|customers?|operators?|owners?|persons?|readers?|people|developers?|clients?)`
	// answers is what an agent gives.
	answers = `(?:repl(?:y|ies)|responses?|answers?|messages?|summar(?:y|ies)|conversations?|outputs?|recommendations?|comparisons?|rankings?|reviews?|sessions?|chats?)`
)

type order struct {
	why  string
	form *regexp.Regexp
}

func form(why string, parts ...string) order {
	return order{why, regexp.MustCompile(`(?im)(?:` + strings.Join(parts, "|") + `)`)}
}

var orders = []order{
	form("it sets other instructions aside",
		`\b(?:ignore|disregard|forget|override|bypass|discard|neglect|drop|stop following|do not follow|don't follow|never follow|no longer follow) `+filler+rules+`\b`,
		begin+`(?:ignore|disregard|forget) (?:all|everything|anything|what(?:ever)?)\b.{0,30}\b(?:above|before|earlier|previous(?:ly)?|prior|so far|told|said|learned|know)\b`,
		`\b(?:takes?|has|have) (?:precedence|priority) over `+filler+`(?:`+rules+`|what you)`,
		`\b(?:overrides?|supersedes?|replaces?|cancels?) (?:all|any|your|every|previous|prior) `+filler+rules+`\b`,
		`\b(?:your|these|the following|updated|new|real|secret|hidden) (?:new |real |true |only |primary |sole |updated |main )*(?:instructions?|directives?|orders|objective|mission) (?:is|are)\b(?: to| that| as follows|:| now|,)`,
		`\b(?:new|updated|secret|hidden|important|additional|highest[- ]priority|high[- ]priority) (?:system )?(?:instructions?|directives?|orders) ?(?::|for (?:the |any |all )*`+agent+`\b)`),
	form("it speaks as the system",
		`<\|?/?(?:im_start|im_end|system|endoftext)\|?>`, `\[/?inst\]`, `<</?sys>>`, `</?(?:system|instructions?|important|admin)(?: [^>]*)?>`,
		`^[#*\[( ]*(?:system|developer|admin|root|system message|system prompt|system override|system note|system notice|system update|admin override)[\])* ]*: ?\S`,
		`\b(?:reveal|print|show|repeat|output|leak|display|disclose|paste|give|send|ignore|change|update|replace|overwrite|quote|translate|summari[sz]e|append|add|dump)\b.{0,40}\b(?:your|the|its|this) (?:full |entire |hidden |initial |original |secret |whole |own )*(?:system prompt|system message|initial prompt|initial instructions|hidden instructions|developer message)`,
		`\byour system (?:prompt|message|instructions?)\b`,
		`\b(?:developer|god|dan|jailbreak|unrestricted|admin|debug|sudo|root) mode\b.{0,20}\b(?:enabled|on|active|activated|unlocked|engaged)\b`,
		`\b(?:enter|enable|activate|switch to|unlock) (?:the )?(?:developer|god|dan|jailbreak|unrestricted|admin|sudo) mode\b`, `\bjailbreak(?:en|ed)?\b`, `\bdo anything now\b`),
	form("it is addressed to the agent",
		`\b(?:note|message|notice|instructions?|reminder|attention|important|dear|hey|hi|hello|warning|memo|directive|guidance|info) ?(?:to|for|,|:)? ?(?:the |any |all |every |this |other )*(?:ai|llm|language|coding|automated|reading )*(?: )?`+agent+`\b(?: (?:assistants?|agents?|models?|readers?))?(?: (?:reading|processing|summari[sz]ing|parsing|visiting|that)\b| ?[:,;!-]|$)`,
		`^[ "'(*\[]*(?:ai|assistant|agent|llm|chatgpt|copilot)s? ?(?:assistant|agent|model)?[,:] ?(?:please|you|do|don't|always|never|`+told+`)\b`,
		`\bif you (?:are|'re) (?:an? |the )?(?:ai|llm|language model|assistant|bot|automated|agent)\b`, `\bas an? (?:ai|llm|language model)\b.{0,30}\byou\b`,
		`\b`+agent+`\b.{0,50}\b(?:must|should|shall|has to|have to|(?:is|are) (?:required|instructed|ordered|told|expected|obliged) to|needs? to|ought to|will now|may not|can only)\b (?:not |now |also |immediately )*(?:always|never|only|`+speech+`)\b`,
		`<!--.{0,200}\b(?:`+agent+`|ignore|instructions?|recommend)\b`),
	form("it gives the agent a role",
		`\byou are (?:now )?(?:no longer (?:an?|the|bound|limited|restricted|required|subject)|free (?:of|from|to)|unrestricted|dan\b|acting as|operating (?:as|in)|in (?:developer|admin|debug|god|unrestricted|maintenance) mode|my (?:agent|assistant|slave|servant))`,
		`\byou are now (?:an?|the|allowed|authori[sz]ed|permitted|required|instructed) `,
		begin+`(?:act|speak|pose|respond|reply|answer|talk|behave as|act as) (?:as |like )?(?:if|though|an?|the|my) (?:\w+ )*?(?:you\b|(?:\w+ ){0,2}(?:assistant|agent|administrator|admin|operator|expert|user|owner|developer|pirate|character|human|person|bot|model|system|terminal|billing|customer|support|hacker|representative|seller|advocate|promoter|fan)s?\b)`,
		`\bpretend (?:to be|you|that)\b`, `\byour (?:new |real |true |only |primary |sole |main )+(?:task|goal|objective|role|job|purpose|mission|name|identity|persona)\b`),
	form("it lays down a rule for the agent",
		`\b(?:from now on|from this point(?: on| onwards?| forward)?|going forward|henceforth|from here on(?: out)?|starting now|effective immediately|for (?:all |any )?future `+answers+`|in (?:all |any |every )?future `+answers+`|for the rest of (?:this|the) `+answers+`|until further notice)\b,? ?(?:and )?(?:you|always|never|do not|don't|only|please|be|`+told+`|(?:the |every |all |any )?`+agent+` (?:must|should|shall|will|is to|are to|needs? to|has to))\b`,
		begin+`(?:always|never|only|under no circumstances|do not ever|don't ever|at all times,?) (?:ever |again |to )?`+told+`\b`,
		`\b(?:remember|make sure|be sure|ensure|take care|be certain|it is (?:vital|essential|critical|important|mandatory|imperative)|you (?:need|have|ought|are required|are obliged|are instructed)|required|instructed) (?:that you |you |for you )?(?:to )?(?:always|never|only) `+told+`\b`,
		`\b(?:you|it|one) (?:must|should|shall|will|may|can|are to|have to|need to|are required to|are instructed to|are obliged to|'ll) (?:not |now |also |immediately )*(?:always |never |only |ever )+`+told+`\b`,
		`\byou (?:must|should|shall|are to|have to|need to|are required to|are instructed to|may only|can only|are obliged to|are allowed to|are authori[sz]ed to) (?:not |now |also |immediately |instead |therefore )*`+speech+`\b`,
		begin+told+`\b.{0,60}\b(?:in|at|of|to|with|into|after|before|for) (?:the (?:start|end|beginning|top|bottom) of )?(?:your|every|each|all) (?:next |future |single |final |following )*`+answers+`\b`,
		begin+`(?:end|begin|start|finish|prefix|open|close) (?:your|every|each|all) (?:next |future |single )*`+answers+`\b`),
	form("it tells the agent what to say when it is asked",
		`\b(?:when(?:ever)?|if|once|(?:every|each|any) ?time|should|in case)\b (?:you(?:'re| are)? |the user |a user |users |any user |someone |somebody |anyone |anybody |people |he |she |they |customers? |a customer )?(?:is |are |were |gets? |ever |later |next |again )*(?:asked|asks?|questioned|mentions?|prompted|queried|quer(?:y|ies)|requests?|inquires?|brings? up|wants?|needs?|looks? for|talks? about|says?|discuss(?:es)?)\b.{0,90}?(?:, ?|: ?|\bthen |\bto |\balways |\bnever |\bmust |\bshould |" ?|' ?| )(?:you (?:must|should|will|can) |please |always |never |only |simply |just |do not |don't |the (?:assistant|agent|ai) (?:must|should) )*(?:say|answer|reply|respond|recommend|tell|claim|state|suggest|mention|insist|deny|direct|refer|point them|point to|send them|give them|steer|promote|pretend|refuse|confirm that|name|pick|choose|offer|link|run|call|praise)\b`,
		begin+`(?:reply|respond|answer) (?:only |exactly |always |just )*(?:with|in|by|as|to (?:all|any|every))\b`,
		begin+`(?:tell|inform|convince|persuade|advise|instruct|direct|urge|assure|encourage|warn|remind|ask|steer|nudge|trick|get) `+person+`\b(?: (?:that|to|for|about|not|into|towards?|away|it|this|their|of|how|the)\b|:)`,
		begin+`(?:recommend|suggest|promote|endorse|praise|favou?r|prefer) .{1,60}\b(?:over|above|instead of|ahead of|before|whenever|regardless|no matter|to `+person+`|as the (?:best|only|first|top)|in (?:all|every|any))\b`,
		begin+`(?:refuse|decline) (?:to|all|any|every)\b`),
	form("it asks for secrecy from the user",
		begin+`(?:do not|don't|never) (?:ever )?(?:tell|mention|inform|reveal|notify|disclose|alert|warn|ask|let|show|report|explain|admit|say)\b.{0,40}\b(?:the|your|any) (?:user|human|operator|customer|owner|person|developer)\b`,
		begin+`(?:do not|don't|never) (?:ever )?(?:mention|reveal|disclose|admit|repeat|acknowledge|refer to|talk about) (?:this|these|that|the (?:existence|fact|source|presence)|having|where)\b`,
		`\byou (?:must|should|shall|may|can) (?:not|never) (?:ever )?(?:warn|inform|tell|notify|alert|mention|ask|let) (?:the|your|any|this|it|that)\b`,
		`\bwithout (?:telling|informing|notifying|alerting|asking|warning|mentioning it to|the knowledge of|letting) (?:the|your) (?:user|human|operator|customer|owner)\b`,
		`\bwithout the (?:user|human|operator|customer|owner)(?:'s)? (?:knowing|knowledge|noticing|consent|permission|approval)\b`,
		`\bkeep (?:this|it|that|these|them)\b.{0,30}\b(?:secret|hidden|confidential|private|to yourself)\b.{0,30}\b(?:user|human|operator|customer|owner|yourself)\b`,
		`\b(?:hide|conceal) (?:this|it|that|these|them|the)\b.{0,30}\bfrom (?:the|your) (?:user|human|operator|customer|owner)\b`),
	form("it asks for data to be sent away",
		begin+`(?:send|post|forward|upload|e-?mail|submit|transmit|leak|exfiltrate|copy|paste|append|include|share|curl|report|attach|encode|embed|put|add|deliver|dump|fetch|load|request|ping|call)\b.{0,80}\b(?:secrets?|passwords?|passwd|api[ _-]?keys?|tokens?|credentials?|private keys?|ssh keys?|cookies?|environment variables|env vars?|\.env|conversations?|chat (?:history|log)|histor(?:y|ies)|memor(?:y|ies)|user(?:'s)? (?:data|details|messages?|e-?mail|address|name|files?)|everything|personal data|card numbers?|what the user|contents? of)\b.{0,80}\b(?:to|at|into|via|in|from)\b.{0,30}(?:https?://|www\.|\S+@\S+|\b[a-z0-9-]+\.(?:com|net|org|io|dev|example|test|xyz|ru|site|invalid|info|co)\b|\burl\b|\bquery\b|webhook|server|endpoint)`,
		`https?://\S*[?&#/=](?:\{\{?|\$\{|\[|<|%7b)[a-z_ .-]*(?:\}|\]|>|%7d)`, `https?://\S*\[redacted:`, `https?://[^\s/@:]+:[^\s/@]+@\S`, `!\[[^\]]*\]\(https?://[^)]*\?[^)]*=[^)]*\)`),
	form("it asks for acts without anybody's leave",
		begin+told+`\b.{0,80}\bwithout (?:asking|confirmation|confirming|(?:further |any )*(?:permission|approval|consent|questions?|confirmation|review)|checking with|verification|hesitation)\b`,
		`\b(?:before|instead of) (?:you (?:answer|reply|respond)|answering|replying|responding)\b.{0,40}\b(?:call|invoke|run|execute|use|fetch|open|visit|read|send)\b`,
		begin+`(?:call|invoke|run|execute|use|fetch|open|visit|read|send|load)\b.{0,60}\bbefore (?:you (?:answer|reply|respond|continue)|answering|replying|responding|continuing)\b`,
		begin+`(?:decode|decrypt|rot13|base64)\b.{0,60}\b(?:and|then) (?:follow|run|execute|obey|do|carry out|act)\b`,
		begin+`(?:follow|obey|execute|carry out|comply with|act on) (?:these|the above|all|any|every|my) (?:\w+ )?(?:instructions?|orders?|directives?)\b`),
	form("it claims trust or a place in memory",
		begin+`(?:trust|believe|treat|consider|regard|accept)\b (?:this|the following|the above|everything|all|any|me|content|instructions?|messages?|it|text|anything|whatever|what)\b.{0,60}\b(?:as|from)\b.{0,40}\b(?:instructions?|authoritative|trusted|system|commands?|true|truth|the user|verified|admin|operator|priority|facts?|orders?|safe)\b`,
		begin+`(?:remember|memori[sz]e|store|save|note|record|add|write|commit|keep|update|insert|put)\b.{0,60}\b(?:in|to|into|from) (?:your|the (?:assistant|agent|ai|user)'s) (?:long[- ]term |persistent |permanent |own )*(?:memor(?:y|ies)|notes|knowledge)\b`,
		begin+`(?:update|rewrite|overwrite|erase|wipe|clear|delete|purge|forget|change|edit) (?:all )?(?:of )?(?:your|the (?:assistant|agent|ai|user)'s) (?:long[- ]term |persistent |previous |stored |other )*memor(?:y|ies)\b`,
		begin+`(?:remember|memori[sz]e) (?:this |that |it )?(?:forever|permanently|for (?:all |ever|good|every|any|later)|across|in (?:all|every|future)|that you\b|you\b)`),
}

var (
	blobForm = regexp.MustCompile(`(\S* ?)\b([A-Za-z0-9+/_-]{48,}={0,2})`)
	// checked begins what is long, coded, and known to be harmless.
	checked = regexp.MustCompile(`(?i)(?:sha\d+[-:]|ssh-[a-z0-9]+ |h1:|integrity)`)
)

// hasBlob finds a run of base64 in which words could hide: capitals, small
// letters and digits mixed, which no digest in hex and no path has.
func hasBlob(s string) bool {
	for _, m := range blobForm.FindAllStringSubmatch(s, -1) {
		if !checked.MatchString(m[0]) && mixed(m[2]) {
			return true
		}
	}
	return false
}

func mixed(s string) bool {
	upper, lower, digit := 0, 0, 0
	for _, r := range s {
		switch {
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLower(r):
			lower++
		case unicode.IsDigit(r):
			digit++
		}
	}
	return upper > 4 && lower > 4 && digit > 0 && strings.Count(s, "/")+strings.Count(s, "-")+strings.Count(s, "_") <= len(s)/12
}
