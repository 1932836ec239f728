// Package crash holds the tests that take the power away: worker processes that
// are killed while thousands of jobs run, a judge that is gone for two days, a
// disk that fills up, a clock that jumps. After each of them the same questions
// are asked: is anything lost, did anything happen twice, and is what is known
// the same as if nothing had been disturbed?
//
// The workers are real processes: the test binary starts itself (child_test.go),
// kills what it started (siege_test.go) and looks at what is left
// (check_test.go). A guarded worker must come through; with the guards taken
// off, the same test must find doublings, or it proves nothing.
//
// Its one export is History, the story that the tests ingest, so that benches
// can use it too. Everything else is test code and may import what it likes.
package crash
