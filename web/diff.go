package web

import "strings"

// piece is some words of a wording: kept, added or removed.
type piece struct {
	Kind string // "", "ins" or "del"
	Text string
}

// maxCells bounds the table of a comparison; longer texts are shown as one
// taken away and one put in.
const maxCells = 4_000_000

// diff compares two wordings word by word, by the longest common subsequence.
func diff(before, after string) []piece {
	a, b := strings.Fields(before), strings.Fields(after)
	if len(a)*len(b) > maxCells {
		return []piece{{"del", before}, {"ins", after}}
	}
	// best[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	best := make([][]int, len(a)+1)
	for i := range best {
		best[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				best[i][j] = best[i+1][j+1] + 1
			} else {
				best[i][j] = max(best[i+1][j], best[i][j+1])
			}
		}
	}
	var out []piece
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			out = joined(out, "", a[i])
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && best[i+1][j] >= best[i][j+1]:
			out = joined(out, "del", a[i])
			i++
		default:
			out = joined(out, "ins", b[j])
			j++
		}
	}
	return out
}

func joined(out []piece, kind, word string) []piece {
	if n := len(out); n > 0 && out[n-1].Kind == kind {
		out[n-1].Text += " " + word
		return out
	}
	return append(out, piece{kind, word})
}
