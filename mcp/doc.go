// Package mcp is the door for agents: a server of the Model Context Protocol
// with tools to remember, to ask, to look closer and to say what was used, over
// standard input and output or over HTTP.
//
// An agent is not its user. What it writes is at most as trusted as an assistant
// is, what it forgets is put away and can be restored, and what is pinned or was
// said by the user stays. There is no tool that erases, edits policies or changes
// many memories at once. What tools give back is data: every memory comes with
// its origin, its age, how surely it was said and whether jobs still judge it.
//
// A reader starts at server.go, which names the tools; tools.go has one function
// for each. Only cmd imports it.
package mcp
