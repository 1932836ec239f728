package trace

// Conventions names what the names below follow: the semantic conventions for
// generative AI of OpenTelemetry, which are in development and have no version
// of their own, as they stood over version 1.41 of the others. A later one may
// rename them; then this file changes and nothing else.
const Conventions = "https://opentelemetry.io/schemas/1.41.0"

// instrumentation is who makes the spans.
const instrumentation = "github.com/oxbow-memory/oxbow"

// The operations on memories, and on models, by gen_ai.operation.name.
const (
	CreateMemory = "create_memory" // the caller asks for a new one
	UpsertMemory = "upsert_memory" // what comes of it, the program decides
	UpdateMemory = "update_memory"
	SearchMemory = "search_memory"
	DeleteMemory = "delete_memory"
	Chat         = "chat"
	Embeddings   = "embeddings"
	executeTool  = "execute_tool"
)

// The attributes.
const (
	operation    = "gen_ai.operation.name"
	provider     = "gen_ai.provider.name"
	recordCount  = "gen_ai.memory.record.count"
	requestModel = "gen_ai.request.model"
	inputTokens  = "gen_ai.usage.input_tokens"
	outputTokens = "gen_ai.usage.output_tokens"
	cachedTokens = "gen_ai.usage.cache_read.input_tokens"
	recordID     = "gen_ai.memory.record.id"
	toolName     = "gen_ai.tool.name"
	promptName   = "gen_ai.prompt.name"
	errorType    = "error.type"

	mcpMethod = "mcp.method.name"
	transport = "network.transport"

	httpMethod = "http.request.method"
	httpRoute  = "http.route"
	httpStatus = "http.response.status_code"

	// Our own, where the conventions have none.
	jobKind      = "oxbow.job.kind"
	jobOutcome   = "oxbow.job.outcome"
	jobAttempt   = "oxbow.job.attempt"
	runID        = "oxbow.run.id"
	question     = "oxbow.judge.question"
	modelOutcome = "oxbow.judge.outcome"
)

// toolError is the error.type of a tool that refuses, which is no error of the
// protocol.
const toolError = "tool_error"

// The values of gen_ai.provider.name: ours for memories, and for models the form
// of the interface that is spoken, whoever answers.
const (
	oxbowProvider  = "oxbow"
	openaiProvider = "openai"
)
