// Package access stands before every HTTP door: it refuses requests that name a
// host which is not ours, that another site's page made a browser send, that are
// too large or too many, and it finds out who asks.
//
// The tenant of a request is its key's and nothing else's. Without a key there
// is one way in: on a loopback address, and only while the database holds no key
// at all, the person at the machine is let in as the operator of one tenant.
// A loopback address alone proves nothing, because every web page that the
// person visits can send requests to it, which is why the other checks are
// always on.
//
// The doors (api, mcp, web) import it, and cmd makes it; it knows the engine
// only to check keys.
package access
