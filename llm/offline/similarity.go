package offline

// DuplicateSimilarity is the likeness from which two texts count as duplicates.
const DuplicateSimilarity = 0.8

// Similarity says how alike two texts are.
func Similarity(a, b string) float64 {
	x, y := unique(stemsOf(a)), unique(stemsOf(b))
	n := len(common(x, y))
	if n == 0 {
		return 0
	}
	return float64(n) / float64(len(x)+len(y)-n)
}
