package text_test

import (
	"strings"
	"testing"

	"github.com/oxbow-memory/oxbow/internal/text"
)

// The values of these tests are put together from pieces, so that nothing that
// searches the project for secrets takes one for real.
var (
	letters = "abcdefghij" + "KLMNOPQRST"
	digits  = "0123456789"
	mixed   = letters + digits + "uvwxyz"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, secret, after, mark string }{
		{"an API key", "use ", "sk" + "-proj-" + mixed, " for it", "[redacted: api key]"},
		{"a payment key", "use ", "rk" + "_live_" + mixed, "", "[redacted: api key]"},
		{"a GitHub token", "", "ghp" + "_" + mixed, "", "[redacted: token]"},
		{"a fine-grained GitHub token", "", "github" + "_pat_" + mixed, "", "[redacted: token]"},
		{"a GitLab token", "", "glp" + "at-" + mixed, "", "[redacted: token]"},
		{"a package registry's token", "", "npm" + "_" + mixed, "", "[redacted: token]"},
		{"a chat token", "", "xo" + "xb-" + digits + "-" + letters, "", "[redacted: token]"},
		{"a cloud access key", "id ", "AK" + "IA" + "ABCDEFGH" + "IJKLMNOP", ".", "[redacted: access key]"},
		{"a map key", "", "AI" + "za" + mixed[:35], "", "[redacted: api key]"},
		{"a signed token", "", "ey" + "J" + mixed + ".ey" + "J" + mixed + "." + mixed, "", "[redacted: token]"},
		{"a bearer header", "Authorization: ", "Bearer" + " " + mixed, "", "[redacted: token]"},
		{"a basic header", "Authorization: ", "Basic" + " " + mixed + "==", "", "[redacted: token]"},
		{"a URL with a password", "at ", "postgres" + "://ada:" + "hunter2" + "@", "db.example/x", "[redacted: credentials]@"},
		{"a URL with a password and no user", "", "redis" + "://:" + "hunter2" + "@", "cache:6379", "[redacted: credentials]@"},
		{"a private key", "key:\n", "-----BEGIN RSA PRIVATE" + " KEY-----\nMIIE\n-----END RSA PRIVATE" + " KEY-----", "\nend", "[redacted: private key]"},
		{"a private key that was cut off", "", "-----BEGIN PRIVATE" + " KEY-----\nMIIEabc", "", "[redacted: private key]"},
		{"a mail key", "", "-----BEGIN PGP PRIVATE" + " KEY BLOCK-----\nabc\n-----END PGP PRIVATE" + " KEY BLOCK-----", "", "[redacted: private key]"},
		{"an assigned password", "", "password" + "=" + "correcthorse", "", "[redacted: password]"},
		{"a labelled password", "my ", "Password" + ": " + "correcthorse", ", ok", "[redacted: Password]"},
		{"a password in the environment", "export ", "DB_" + "PASSWORD=" + "s3cr3t!!", "", "[redacted: DB_PASSWORD]"},
		{"an access key in the environment", "", "AWS_SECRET_" + "ACCESS_KEY=" + mixed, "", "[redacted: AWS_SECRET_ACCESS_KEY]"},
		{"a password in JSON", `{"`, `pass` + `word": "` + `hunter22"`, "}", "[redacted: password]"},
		{"a secret in YAML", "", "client_" + "secret: " + mixed, "", "[redacted: client_secret]"},
		{"a password in a sentence", "the ", "password" + " is " + "hunter22", "", "[redacted: password]"},
		{"a password of digits", "my ", "password" + " is " + "8675309", "", "[redacted: password]"},
		{"an API key in a sentence", "our ", "api key" + " is " + "abc" + "123" + "def", "", "[redacted: api key]"},
	} {
		t.Run("takes out "+c.name, func(t *testing.T) {
			t.Parallel()
			got, n := text.Redact(c.before + c.secret + c.after)
			if want := c.before + c.mark + c.after; got != want || n != 1 {
				t.Errorf("got %q and %d, want %q", got, n, want)
			}
		})
	}

	t.Run("counts every one and keeps the words between", func(t *testing.T) {
		t.Parallel()
		key := "gh" + "o_" + mixed
		got, n := text.Redact("first " + key + ", then token" + ": " + key + ", then " + "pass" + "word=" + "hunter22")
		if want := "first [redacted: token], then token: [redacted: token], then [redacted: password]"; got != want || n != 3 {
			t.Errorf("got %q and %d", got, n)
		}
	})
}

func TestRedactLeaves(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"the password is rotated weekly",
		"the token is 15 minutes valid",
		"The password is stored in the vault.",
		"Second pass: improve naming",
		"our secret is persistence",
		"token: bucket algorithm with a refill",
		"API key: rotate it every quarter",
		"the foreign key is pk_orders_customer_identifier",
		"basic internationalization and bearer authentication-schemes",
		"see https://example.org:8080/docs and mail ada@example.org",
		"git clone ssh://git@example.org/repo.git",
		"risk-assessment-of-the-whole-thing",
		"commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
		"the id is 01f454ff4a72bbce",
		"we count tokens: 4096 per turn",
		"",
	} {
		if got, n := text.Redact(s); got != s || n != 0 {
			t.Errorf("%q becomes %q", s, got)
		}
	}
}

func FuzzRedact(f *testing.F) {
	for _, s := range []string{
		"the password is rotated weekly", "token" + ": " + "gh" + "p_" + mixed, "pass" + "word=[redacted: token]",
		"a://a://b:c@d", "-----BEGIN PRIVATE" + " KEY-----", "secret=" + "token=" + "abcdef1", "\xff\x00pass" + "word='",
		"bearer " + "bearer " + mixed, "sk" + "-" + mixed + "://x:y@z",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once, n := text.Redact(s)
		if n == 0 && once != s {
			t.Fatalf("%q became %q and nothing was counted", s, once)
		}
		if n > 0 && strings.Count(once, "[redacted: ") < 1 {
			t.Fatalf("%q counts %d and shows none", once, n)
		}
		if twice, more := text.Redact(once); twice != once || more != 0 {
			t.Fatalf("%q becomes %q the second time", once, twice)
		}
	})
}
