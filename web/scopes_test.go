package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/oxbow-memory/oxbow"
	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/store"
	"github.com/oxbow-memory/oxbow/web"
)

// user gives the scope of one of many users.
func (c *console) user(i int) oxbow.Scope {
	return oxbow.Scope{Tenant: c.Scope.Tenant, Name: fmt.Sprintf("user:%05d", i)}
}

// users makes scopes of users from 0 on, without memories and schedules.
func (c *console) users(n int) {
	c.Helper()
	c.Must(c.DB.InTx(c.Ctx, func(ctx context.Context, tx store.Tx) error {
		for i := range n {
			if _, err := tx.LockScope(ctx, c.user(i), c.Clock.Now()); err != nil {
				return err
			}
		}
		return nil
	}))
}

// lacks fails when a page has any of these words.
func (c *console) lacks(page string, words ...string) {
	c.Helper()
	for _, w := range words {
		if strings.Contains(page, w) {
			c.Errorf("the page has %q:\n%s", w, page)
		}
	}
}

// withScope lists the pages that let a person choose one.
var withScope = []string{"memories", "graph", "runs", "schedule", "events"}

func TestScopes(t *testing.T) {
	tell(t,
		story{"that are few are picked from a list, which offers what is asked for though it is not there", func(c *console) {
			c.Remember(lab.Statement{Text: "tea: green"})
			for _, p := range withScope {
				page := c.see(200, p+"?scope=user:none")
				c.has(page, `<select name="scope">`, "<option>user:ada</option>", "<option selected>user:none</option>")
				c.lacks(page, "<datalist")
			}
			c.has(c.see(200, "runs?in=user:ada&scope=user:none"), `<select name="in">`, "<option selected>user:ada</option>")
			c.lacks(c.see(200, "runs?scope="), "selected")
		}},
		story{"that are many are typed, with the largest suggested", func(c *console) {
			c.users(250)
			c.Remember(lab.Statement{Text: "tea: green", Scope: c.user(240)})
			c.Remember(lab.Statement{Text: "tea: black", Scope: c.user(249)})
			c.Remember(lab.Statement{Text: "coffee: black", Scope: c.user(249)})
			for _, p := range withScope {
				page := c.see(200, p+"?scope=+user:00230+")
				c.has(page, `<input name="scope" value="user:00230" list="list-scope"`, `<datalist id="list-scope"><option value="user:00249"></option><option value="user:00240"></option><option value="user:00000">`)
				c.lacks(page, "<option>user:", `value="user:00199"`)
			}
			c.has(c.see(200, "runs?in=user:00001"), `<input name="in" value="user:00001" list="list-in"`)
			c.has(c.see(200, "memories?scope=user:00249"), "tea: black")
			c.lacks(c.see(200, "memories?scope=user:00249"), "tea: green")
			c.has(c.see(200, "graph"), `name="scope" value="user:00249"`)
			c.has(c.see(200, "runs?plan=decay"), "Nothing in user:00000, ", "user:00019 and 230 other scopes.")
			for i := range 22 {
				c.Remember(lab.Statement{Text: "tea: white", Scope: c.user(i), SaidAt: c.Clock.Now().Add(-300 * lab.Day)})
			}
			page := c.see(200, "runs?plan=decay")
			c.has(page, "<h3>In user:00000</h3>", "<h3>In user:00019</h3>", "Something in 2 other scopes too", "and 208 other scopes.")
			c.lacks(page, "<h3>In user:00020</h3>")
		}},
		story{"are listed by name in pages, and found by a part of it", func(c *console) {
			c.users(120)
			first := c.see(200, "scopes")
			c.has(first, ">user:00000<", ">user:00049<", `href="/console/scopes?after=user%3A00049"`)
			c.lacks(first, ">user:00050<")
			c.has(c.see(200, "scopes?after=user:00049"), ">user:00050<", ">user:00099<", `?after=user%3A00099`)
			last := c.see(200, "scopes?after=user:00099")
			c.has(last, ">user:00119<")
			c.lacks(last, "Next ones")
			found := c.see(200, "scopes?q=ER:0011")
			c.has(found, `value="ER:0011"`, ">user:00110<", ">user:00119<")
			c.lacks(found, ">user:00109<", "Next ones")
			c.has(c.see(200, "scopes?q=0"), `href="/console/scopes?after=user%3A00049&amp;q=0"`)
			c.has(c.see(200, "scopes?q=nobody"), "No scope has that in its name", "Look at all")
			c.has(c.see(404, "scopes?after=user:nobody"), "begin at the first page")
		}},
		story{"have schedules of their own, in pages when there are many", func(c *console) {
			for i := range 60 {
				_, _, err := c.Engine.SetScope(c.Ctx, c.user(i), "Europe/Stockholm", nil, nil)
				c.Must(err)
			}
			c.has(c.see(200, "schedule"), ">user:00000<", "Next ones")
			one := c.see(200, "schedule?scope=user:00031")
			c.has(one, ">user:00031<", "<option selected>user:00031</option>")
			c.lacks(one, ">user:00030</td>", "Next ones")
			c.has(c.see(200, "schedule?scope=user:none"), "No schedules there", "Look at all")
			seen := 0
			page := c.see(200, "schedule")
			for range 5 {
				seen += strings.Count(page, `<td class="name">`)
				_, rest, more := strings.Cut(page, `<p><a href="/console/schedule`)
				if !more {
					break
				}
				at, _, _ := strings.Cut(rest, `"`)
				page = c.see(200, "schedule"+at)
			}
			all, err := c.DB.ListSchedules(c.Ctx, c.user(0))
			c.Must(err)
			if seen != 60*len(all) {
				c.Errorf("%d schedules are shown of %d", seen, 60*len(all))
			}
		}},
	)
}

// TestScopesInBrowser looks at the pages of a tenant with more scopes than a list
// shows, and goes to one of them by typing its name.
func TestScopesInBrowser(t *testing.T) {
	t.Parallel()
	b := &tab{console: open(lab.New(t, lab.OpenSQLite(t))), ctx: browser(t)}
	b.listen()
	b.users(250)
	b.Remember(lab.Statement{Text: "tea: green", Scope: b.user(3)})
	b.Remember(lab.Statement{Text: "tea: black", Scope: b.user(4)})
	for _, theme := range []string{"light", "dark"} {
		for _, width := range []int64{1280, 360} {
			b.do(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
				emulation.SetDeviceMetricsOverride(width, 800, 1, width < 500))
			for _, p := range append(withScope, "scopes", "scopes?q=user:0001", "schedule?scope=user:00003", "runs?plan=decay&in=user:00003") {
				b.look(p, theme, width)
			}
		}
	}
	b.do(emulation.ClearDeviceMetricsOverride(), chromedp.Navigate(b.srv.URL+web.Root+"memories"), chromedp.WaitVisible(`//a[.="tea: green"]`, chromedp.BySearch),
		chromedp.SendKeys(`input[name=scope]`, "user:00004\r"), chromedp.WaitNotPresent(`//a[.="tea: green"]`, chromedp.BySearch),
		chromedp.WaitVisible(`//a[.="tea: black"]`, chromedp.BySearch), chromedp.Poll(`location.search.includes("scope=user%3A00004")`, nil),
		chromedp.WaitVisible(`//input[@name="scope" and @value="user:00004"]`, chromedp.BySearch))
	for _, p := range b.problems {
		t.Errorf("the browser complains: %s", p)
	}
}
