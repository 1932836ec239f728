package oxbow

import (
	"crypto/sha256"
	"encoding/base32"
	"strings"
)

// idEncoding is lower-case base32 without letters that are read as digits.
var idEncoding = base32.NewEncoding("0123456789abcdefghjkmnpqrstvwxyz").WithPadding(base32.NoPadding)

// NewID makes an id of 16 characters (80 bits) from the parts that make a
// thing what it is. The same parts give the same id, so a job that runs twice
// and a log that is ingested in another order make the same memories.
func NewID(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	return idEncoding.EncodeToString(h.Sum(nil)[:10])
}

// IsID tells whether a string could be an id or the beginning of one.
func IsID(s string) bool {
	if s == "" || len(s) > 16 {
		return false
	}
	return strings.Trim(s, "0123456789abcdefghjkmnpqrstvwxyz") == ""
}
