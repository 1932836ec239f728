package web_test

import (
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/oxbow-memory/oxbow/internal/lab"
	"github.com/oxbow-memory/oxbow/web"
)

// TestLiveInBrowser watches pages change by themselves, and what they say when the
// server goes away and comes back.
func TestLiveInBrowser(t *testing.T) {
	t.Parallel()
	b := &tab{console: open(lab.New(t, lab.OpenSQLite(t))), ctx: browser(t)}
	figure := func(n string) chromedp.Action {
		return chromedp.WaitVisible(`//a[contains(@href, "status=active")]/span[.="`+n+`"]`, chromedp.BySearch)
	}
	says := func(words string) chromedp.Action {
		return chromedp.WaitVisible(`//p[@id="live" and contains(., "`+words+`")]`, chromedp.BySearch)
	}
	b.Remember(lab.Statement{Text: "tea: green"})
	b.do(chromedp.Navigate(b.srv.URL+web.Root+"?did=pinned"), says("Live: this page changes by itself"), figure("1"))
	var at string
	b.do(chromedp.Evaluate(`location.search`, &at))
	if at != "" {
		b.Errorf("what was done would be said at each reload: %s", at)
	}
	b.Remember(lab.Statement{Text: "coffee: black"})
	b.do(figure("2"))

	addr := b.srv.Listener.Addr().String()
	b.srv.CloseClientConnections()
	b.srv.Close()
	b.do(says("The connection was lost at"))
	b.Remember(lab.Statement{Text: "water: still"})
	ln, err := net.Listen("tcp", addr)
	b.Must(err)
	again := httptest.NewUnstartedServer(b.srv.Config.Handler)
	b.Must(again.Listener.Close())
	again.Listener = ln
	again.Start()
	defer again.Close()
	b.do(says("Live again since"), figure("3"))

	// A form that somebody has opened stays open while the rest changes.
	b.do(chromedp.Navigate(b.srv.URL+web.Root+"jobs"), says("Live: this page changes by itself"), chromedp.Click(`//summary[contains(., "Pause")]`, chromedp.BySearch))
	b.Remember(lab.Statement{Text: "juice: apple"})
	b.do(chromedp.WaitVisible(`//div[@id="jobs"]//td[.="contradiction"]`, chromedp.BySearch), chromedp.Poll(`document.querySelectorAll("#queues details[open]").length === 1`, nil))

	// Another process makes the first key: who looks is asked to sign in.
	b.do(chromedp.Navigate(b.srv.URL+web.Root), says("Live"))
	b.lock()
	signedOut := chromedp.WaitVisible(`//p[@id="live" and contains(., "You were signed out.")]/a[contains(@href, "/login?next=")]`, chromedp.BySearch)
	b.do(signedOut)

	// So is the reader of a log in which nothing happens, whose key is revoked.
	secret := b.key("read")
	b.do(chromedp.Navigate(b.srv.URL+web.Root+"login?next="+url.QueryEscape(web.Root+"events?live=1")), chromedp.SendKeys(`input[name=key]`, secret, chromedp.ByQuery), chromedp.Submit(`input[name=key]`, chromedp.ByQuery), says("Live: this page changes by itself"))
	var menu int
	b.do(emulation.SetDeviceMetricsOverride(360, 800, 1, true), chromedp.Evaluate(`document.querySelector("nav").offsetWidth`, &menu), emulation.ClearDeviceMetricsOverride())
	if menu < 300 {
		b.Errorf("on a phone the menu has %d of 360 beside the way out", menu)
	}
	who, err := b.Engine.Authenticate(b.Ctx, secret)
	b.Must(err)
	_, err = b.Engine.RevokeKey(b.Ctx, b.Scope.Tenant, who.Key)
	b.Must(err)
	b.do(signedOut)
}

func TestLive(t *testing.T) {
	tell(t, story{"tells that something changed, and nothing of what", func(c *console) {
		res, err := c.client.Get(c.srv.URL + web.Root + "live?beat=1&scope=" + c.Scope.Name)
		c.Must(err)
		defer func() { _ = res.Body.Close() }()
		if got := res.Header.Get("Content-Type"); got != "text/event-stream" {
			c.Fatalf("it is %s", got)
		}
		c.Remember(lab.Statement{Text: "tea: green " + hostile})
		var heard strings.Builder
		for part := make([]byte, 4096); !strings.Contains(heard.String(), "event: changed"); {
			n, err := res.Body.Read(part)
			heard.Write(part[:n])
			c.Must(err)
		}
		if strings.Contains(heard.String(), "tea") {
			c.Errorf("it holds words: %s", heard.String())
		}
		c.see(422, "live?type=bogus")
		c.lock()
		defer time.AfterFunc(20*time.Second, c.srv.CloseClientConnections).Stop() // so that one that does not end is told
		_, err = io.Copy(io.Discard, res.Body)                                    // ends, for its reader is let in no more
		c.Must(err)
		c.see(401, "live")
	}})
}

// lock makes a key, so that nobody is let in without one.
func (c *console) lock() {
	c.Helper()
	c.key("read")
	c.Clock.Set(c.Clock.Now().Add(time.Minute))
}
