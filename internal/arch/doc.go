// Package arch holds no code, only tests about the code: which package may
// import which (layers_test.go is the table), how long files and functions may
// be, that exported names are documented, that tests do not sleep, and that
// the pinned modules keep their versions.
//
// A package that is missing from the table fails the test, so a new package
// begins with the decision of where it stands. Nothing imports this package.
package arch
