// Package text is what Oxbow does to words before anything else sees them:
// it normalises what comes in, takes out strings that look like secrets,
// analyses text into the terms that both databases search by, and tells
// whether two texts say the same.
//
// It stands under internal because it is a tool, not a contract: store, jobs,
// llm/offline, recall and engine may use it. It keeps no state and knows no
// memory.
package text
