package text

import "testing"

func TestWords(t *testing.T) {
	t.Parallel()

	t.Run("stand in whatever a form matches", func(t *testing.T) {
		t.Parallel()
		heads := []string{"sk", "rk", "PK", "gh" + "p", "github_pat", "glpat", "npm", "hf", "dop_v1", "xo" + "xb", "AK" + "IA", "ASIA", "AI" + "za", "ey" + "J",
			"Bearer", "basic", "pass", "paſſword", "PASSWORD", "DB_pwd", "secret", "SECRET", "credentials", "api key", "api_\u212aey", "token",
			"-----BEGIN PRIVATE KEY", "https"}
		joints := []string{"-", "_", "=", ": ", " is ", " ", "-----", "://x:"}
		tails := []string{"abcdefghijKLMNOP0123456789abcdefghij012345", "ABCDEFGHIJKLMNOP", "hunter22@", "aaaaaaaaaaaa.bbbbbbbbbbbb.cc", "12345678"}
		matched := map[int]bool{}
		for _, head := range heads {
			for _, joint := range joints {
				for _, tail := range tails {
					for i, sec := range secrets {
						for _, s := range []string{head + joint + tail, head + tail} {
							if !sec.form.MatchString(s) {
								continue
							}
							matched[i] = true
							if !sec.possible(fold(s)) {
								t.Errorf("form %d matches %q and would not be tried", i, s)
							}
						}
					}
				}
			}
		}
		if len(matched) != len(secrets) {
			t.Errorf("only the forms %v ever matched", matched)
		}
	})
}
