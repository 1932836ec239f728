// Package oxbow is the vocabulary of the lifecycle worker behind an agent's memory.
//
// It says what a memory is, which statuses it can be in, which moves between
// them are legal, how strength falls with time, and how a pile of statements
// and verdicts settles into what is believed now. Everything here is a pure
// function of its arguments: time is always a parameter called now, nothing
// reads a clock, a file or a database, and only the standard library is
// imported.
//
// Every other package may import this one; it imports none of them. Start with
// memory.go for the words, lifecycle.go for the legal moves, change.go for the
// one way a memory changes, strength.go for the rules of time, and settle.go
// for the rule that makes the order of arrival not matter.
//
// A program that wants to use Oxbow as a library starts in package engine.
package oxbow
