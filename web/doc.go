// Package web is the console: pages on which a person sees what is believed and
// why, watches the jobs, and decides what no judge may decide.
//
// Pages are rendered here, with html/template, which escapes by context, and
// charts are SVG that is drawn here too; everything can be read without a
// script. One vendored script, htmx, saves reloads where it runs. No page asks
// another host for anything, and the policy of the pages forbids it.
//
// Memory text is hostile: it is shown as text, with the marks that reorder or
// hide text made visible. Whatever changes something is a form that asks once,
// says afterwards what it did, and acts in the name of the caller, which stands
// in the audit log.
//
// A reader starts at web.go, which lists the pages; each page is a file with a
// function that gathers and a template beside it. Only cmd imports it.
package web
