// Package eval measures a judge, and recall, against labelled examples: one JSON
// object a line goes in, figures come out. An operator chooses a model or a
// strategy with it, and we know by it where the rules stand.
//
// Each function reads one form of file and answers with its figures: counts as
// whole numbers, shares from 0 to 1, and the misses, which a caller may show or
// drop. A share of nothing is 0. A line that does not parse is an error that
// names the line; a judge that fails ends the measuring. What the judge is shown
// stays in the figures it returns: nothing is logged.
//
// Recall needs memories to recall: Load puts the stores of a file into an open
// database that the caller made for it and takes away again.
//
// The files under testdata are the project's own sentences, labelled by hand
// before the rules were run on them. They are for tests and for oxbow eval.
//
// Commands and tests may import this package. It imports the root package, llm,
// store, recall and internal/text.
package eval
