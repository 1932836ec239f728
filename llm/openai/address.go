package openai

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// What a machine in a cloud can ask about itself, its credentials among it,
// stands at addresses that only it can reach. No model answers there, so no
// request goes there: a base URL, or a name in it that somebody else's server
// resolves, must not make Oxbow fetch them. They are link-local, or one of these.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("fd00:ec2::254"),   // AWS over IPv6
	netip.MustParseAddr("fd20:ce::254"),    // Google Cloud over IPv6
	netip.MustParseAddr("100.100.100.200"), // Alibaba Cloud
	netip.MustParseAddr("168.63.129.16"),   // Azure's wire server
	netip.MustParseAddr("192.0.0.192"),     // Oracle Cloud
}

// nat64 is the prefix under which a network shows IPv4 addresses as IPv6 ones
// (RFC 6052): the last four bytes are the address that is reached.
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// isMetadata tells whether an address is link-local or answers questions about
// the machine.
func isMetadata(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() || slices.Contains(metadataAddresses, a)
}

// metadataNames are what those addresses are called. Behind a proxy, it is the
// proxy that resolves names, so they are refused as names too.
var metadataNames = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

// namesMetadata tells whether the host of a URL is such an address or name as it
// is written.
func namesMetadata(u *url.URL) bool {
	host := strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))
	a, err := netip.ParseAddr(host)
	return err == nil && isMetadata(a) || slices.Contains(metadataNames, host)
}

var errMetadata = errors.New("the host resolves to a link-local or metadata address, where no model answers and which is never asked")

// newDialer gives a dialer that looks at each address that it is about to
// connect to, after the name was resolved. A name that resolves to another
// address the next time is looked at the next time.
//
// Limit: behind a proxy it is the proxy's address that is looked at.
func newDialer() *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		a, err := netip.ParseAddrPort(address)
		if err != nil || isMetadata(a.Addr()) { // what cannot be read is not connected to
			return errMetadata
		}
		return nil
	}}
}
