// Package meter keeps count of what a model is asked and keeps what it said:
// the ledger, the budget and the cache around a judge that costs something.
//
// Meter is an llm.Meter. Before a request it draws what the request may take at
// most from the tenant's tokens of the day, in one statement, so that parallel
// workers on any number of machines cannot overshoot together; after it, it
// puts what was really taken in its place and writes a row of the ledger. The
// last quarter of a day's tokens is for new writes: passes and recalls stop before it. What
// does not fit waits for the next day of UTC.
//
// Cache is an llm.Judge around another one. It answers a question that was
// answered before, word by word the same, out of the store, so that a job that
// is tried again pays once. Answers may hold the words they are about, so they
// are kept under the names of their owners and are erased with them, and for a
// week at most.
//
// Neither holds a transaction open while a model thinks. Prices are a small
// dated table (prices.json) and what the configuration says; a model that
// neither knows has tokens and no cost. Only cmd imports this package.
//
// Limit: a worker that dies between the two leaves what it set aside drawn
// until the day ends. An answer that is longer than was set aside is paid for
// all the same, so a budget can be exceeded by so much for each request that
// runs at once; openai.max_output_tokens bounds it.
package meter
