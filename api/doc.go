// Package api is the HTTP door: routes under /v1 that call the engine's use
// cases, problem+json for what is refused, an OpenAPI 3.1 document that is made
// from the same code, and a page that shows it without any other host.
//
// It has no logic of its own. A route names the permission that it needs, reads
// its input, calls one method of the engine in the name of the caller, and
// writes what it gives. Who the caller is, and so whose memories are meant, comes
// from package internal/access and never from a request's words.
//
// A reader starts at api.go, which makes the routes, and at memory.go, which
// shows what one looks like. Only cmd imports it.
package api
