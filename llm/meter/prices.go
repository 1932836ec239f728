package meter

import (
	_ "embed" // the table
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/oxbow-memory/oxbow"
)

//go:embed prices.json
var priceTable []byte

// Price is what a million tokens cost, in US dollars.
type Price struct{ In, Cached, Out float64 }

// Prices are prices by the name of the model.
type Prices map[string]Price

// KnownPrices gives the table that comes with the program, and its date.
//
// Limit: a list price of that date. What an account really pays, with
// discounts, tiers and taxes, is on its bill.
func KnownPrices() (Prices, string) {
	var table struct {
		AsOf   string                `json:"as_of"`
		Models map[string][3]float64 `json:"models"`
	}
	if err := json.Unmarshal(priceTable, &table); err != nil { // a test reads it
		panic(err)
	}
	out := Prices{}
	for model, p := range table.Models {
		out[model] = Price{In: p[0], Cached: p[1], Out: p[2]}
	}
	return out, table.AsOf
}

// ParsePrices reads prices as they are configured, MODEL=IN/OUT or
// MODEL=IN/CACHED/OUT, separated by commas; "" is none. Errors are invalid.
func ParsePrices(s string) (Prices, error) {
	out := Prices{}
	for _, entry := range strings.Split(s, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		i := strings.LastIndexByte(entry, '=')
		if i <= 0 {
			return nil, badPrice()
		}
		var ns []float64
		for _, v := range strings.Split(entry[i+1:], "/") {
			n, err := strconv.ParseFloat(strings.TrimSpace(v), 64)
			if err != nil || n < 0 || math.IsInf(n, 0) || math.IsNaN(n) {
				return nil, badPrice()
			}
			ns = append(ns, n)
		}
		model := strings.TrimSpace(entry[:i])
		switch len(ns) {
		case 2:
			out[model] = Price{In: ns[0], Cached: ns[0], Out: ns[1]}
		case 3:
			out[model] = Price{In: ns[0], Cached: ns[1], Out: ns[2]}
		default:
			return nil, badPrice()
		}
	}
	return out, nil
}

func badPrice() error {
	return oxbow.Errorf(oxbow.CodeInvalid, "prices are written as MODEL=IN/OUT or MODEL=IN/CACHED/OUT, in US dollars for a million tokens")
}

// With gives the prices with others put over them.
func (p Prices) With(others Prices) Prices {
	out := maps.Clone(p)
	maps.Copy(out, others)
	return out
}

// snapshot is the date at the end of the name of a frozen model.
var snapshot = regexp.MustCompile(`-20\d\d-\d\d-\d\d$`)

// Cost gives what a request cost in US dollars, nil when no price is known. A
// dated snapshot of a model costs what the model does.
func (p Prices) Cost(model string, in, cached, out int) *float64 {
	price, ok := p[model]
	if !ok {
		price, ok = p[snapshot.ReplaceAllString(model, "")]
	}
	if !ok {
		return nil
	}
	cost := (float64(in-cached)*price.In + float64(cached)*price.Cached + float64(out)*price.Out) / 1e6
	return &cost
}

// String writes a price as it is configured.
func (p Price) String() string { return fmt.Sprintf("%g/%g/%g", p.In, p.Cached, p.Out) }
