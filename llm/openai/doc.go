// Package openai is the judge that asks a model: llm.Judge over any endpoint
// that speaks OpenAI's chat completions. It is a transport, seven prompts, seven
// schemas and a great deal of distrust.
//
// What it promises is the contract of llm.Judge: an answer that does not hold
// to its schema, names labels that were not offered, is cut short, or
// ambiguous comes back as llm.ErrUnparsable and never as half an answer; a text
// that the endpoint does not take, while it takes a harmless one, is
// llm.ErrRefused; an endpoint that is down, slow, overloaded or out of quota is an *llm.AwayError;
// everything else is permanent and says what to check. Errors hold neither the
// key nor a word of a prompt or an answer.
//
// What it is not: it does not retry (the queue does), keeps no cache and knows
// no price (llm/meter does), and decides nothing. Only cmd imports it. The client library stays
// inside this package.
//
// One line of configuration each, as BaseURL:
//
//	OpenAI       https://api.openai.com/v1
//	Azure        https://NAME.openai.azure.com/openai/v1 (Model is the deployment)
//	Azure, older https://NAME.openai.azure.com, with AzureVersion
//	OpenRouter   https://openrouter.ai/api/v1 (ExtraBody: provider.require_parameters)
//	Ollama       http://127.0.0.1:11434/v1
//	vLLM         http://127.0.0.1:8000/v1
//	llama.cpp    http://127.0.0.1:8080/v1
//
// Endpoints differ in how far they can be held to a schema. The judge begins
// with the strictest form and goes down a ladder (ladder.go) to plain text; on
// every rung the answer is checked as if nothing had been enforced.
//
// Every request passes a gate: a breaker that leaves an endpoint alone for a
// while after it was away several times, and a limit of requests per second.
// A meter, when there is one, hears of each request before and after it.
//
// Embedder makes vectors by the same kind of endpoint, and is an llm.Embedder. It
// shares the way to the endpoint with the judge (wire.go), and the distrust: the
// vectors of an answer are counted, put in order, measured and brought to length
// one.
//
// Read judge.go first, then ladder.go; prompts/ and schemas/ are the words;
// embedder.go stands for itself.
package openai
